// SPDX-License-Identifier: Apache-2.0
// The proof of a program takes what the planner made of random graphs, and finds every wait that is
// taken out of it, every task that is, and every lane that publishes too early.
#include <stdlib.h>
#include <string.h>

#include "base/host_memory.h"
#include "exec/exec.h"
#include "support/check.h"
#include "support/random_choice.h"
#include "verify/verify_program.h"

enum { NUM_GRAPHS = 300, MAX_NODES = 40 };

static void nothing(void *user)
{
    (void)user;
}

// So many of ten nodes have no work.
static braid_graph *make_graph(struct random *random, uint32_t num_empty)
{
    braid_graph *graph = NULL;
    braid_node nodes[MAX_NODES];
    uint32_t num_nodes = 2 + random_below(random, MAX_NODES - 2);
    check_ok(braid_graph_create(&graph));
    for (uint32_t i = 0; i < num_nodes; i++) {
        struct random_choice choice;
        random_choose(random, &(struct random_shape){ .edges = 2 }, nodes, i, NULL, &choice);
        choice.options.cost_ns = 1000;
        if (random_below(random, 10) < num_empty)
            check_ok(braid_graph_add_empty(graph, &(braid_empty){ choice.options }, &nodes[i]));
        else
            check_ok(braid_graph_add_host_call(graph, &(braid_host_call){ choice.options, nothing },
                                               &nodes[i]));
    }
    return graph;
}

// An exec for its program, which may be changed while it is not launched.
static braid_exec *make_exec(braid_device *device, const braid_graph *graph)
{
    braid_exec *exec = NULL;
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS,
                                         .max_lanes = 4,
                                         .fixed_lanes = true };
    check_ok(braid_exec_create(device, graph, &options, &exec));
    return exec;
}

static braid_device *open_device(void)
{
    braid_device *device = NULL;
    check_ok(
        braid_device_open(&(braid_device_options){ .backend = "cpu", .num_workers = 2 }, &device));
    return device;
}

// The proof of a copy of a program, which has been changed.
static braid_status verify_changed(struct program *copy, const braid_graph *graph)
{
    assert_true(braid_program_list_lanes(copy));
    braid_status status = braid_program_verify(copy, graph, NULL);
    free(copy->ops);
    free(copy->lanes);
    braid_free(copy->lane_ops);
    return status;
}

static struct program copy_program(const struct program *program)
{
    struct program copy = *program;
    copy.ops = malloc((program->num_ops + 1) * sizeof(*copy.ops));
    copy.lanes = malloc((program->num_lanes + 1) * sizeof(*copy.lanes));
    copy.lane_ops = NULL;
    assert_true(copy.ops && copy.lanes);
    memcpy(copy.ops, program->ops, program->num_ops * sizeof(*copy.ops));
    memcpy(copy.lanes, program->lanes, program->num_lanes * sizeof(*copy.lanes));
    return copy;
}

// The proof with an operation taken out of its lane.
static braid_status verify_without(const struct program *program, const braid_graph *graph,
                                   size_t op)
{
    struct program copy = copy_program(program);
    copy.num_ops--;
    memmove(&copy.ops[op], &copy.ops[op + 1], (copy.num_ops - op) * sizeof(*copy.ops));
    return verify_changed(&copy, graph);
}

static unsigned take_out_each(const struct program *program, const braid_graph *graph)
{
    for (size_t op = 0; op < program->num_ops; op++)
        assert_int_equal(verify_without(program, graph, op), BRAID_INTERNAL);
    return (unsigned)program->num_ops;
}

static void every_operation_is_needed(void **state)
{
    (void)state;
    struct random random = { 1 };
    braid_device *device = open_device();
    unsigned num = 0;
    for (int i = 0; i < NUM_GRAPHS; i++) {
        braid_graph *graph = make_graph(&random, 0);
        braid_exec *exec = make_exec(device, graph);
        num += take_out_each(&exec->program, graph);
        check_ok(braid_program_verify(&exec->program, graph, NULL));
        braid_exec_destroy(exec);
        braid_graph_destroy(graph);
    }
    print_message("summary: %u operations taken out of programs, every one missed\n", num);
    braid_device_close(device);
}

static void nodes_without_work_order_what_is_behind_them(void **state)
{
    (void)state;
    struct random random = { 2 };
    braid_device *device = open_device();
    unsigned num_found = 0;
    for (int i = 0; i < NUM_GRAPHS; i++) {
        braid_graph *graph = make_graph(&random, 4);
        braid_exec *exec = make_exec(device, graph); // verifies
        const struct program *program = &exec->program;
        for (size_t op = 0; op < program->num_ops; op++)
            if (program->ops[op].kind == BRAID_STEP_WAIT)
                num_found += verify_without(program, graph, op) == BRAID_INTERNAL;
        braid_exec_destroy(exec);
        braid_graph_destroy(graph);
    }
    assert_true(num_found > NUM_GRAPHS);
    braid_device_close(device);
}

// A lane that publishes before the task that others wait for.
static void a_position_published_too_early_is_found(void **state)
{
    (void)state;
    struct random random = { 3 };
    braid_device *device = open_device();
    unsigned num_found = 0;
    for (int i = 0; i < NUM_GRAPHS; i++) {
        braid_graph *graph = make_graph(&random, 0);
        braid_exec *exec = make_exec(device, graph);
        const struct program *program = &exec->program;
        for (size_t op = 1; op < program->num_ops; op++) {
            if (program->ops[op].kind != BRAID_STEP_RECORD)
                continue;
            assert_int_equal(program->ops[op - 1].node, program->ops[op].node);
            struct program copy = copy_program(program);
            copy.ops[op - 1] = program->ops[op];
            copy.ops[op] = program->ops[op - 1];
            assert_int_equal(verify_changed(&copy, graph), BRAID_INTERNAL);
            num_found++;
        }
        braid_exec_destroy(exec);
        braid_graph_destroy(graph);
    }
    assert_true(num_found > 0);
    braid_device_close(device);
}

static braid_status verify_with(struct program *program, const braid_graph *graph,
                                struct program_island *islands, uint32_t num)
{
    struct program_island *before = program->islands;
    uint32_t num_before = program->num_islands;
    program->islands = islands;
    program->num_islands = num;
    braid_status status = braid_program_verify(program, graph, NULL);
    program->islands = before;
    program->num_islands = num_before;
    return status;
}

static bool only_runs(const struct program *program, size_t first, size_t num)
{
    for (size_t op = first; op < first + num; op++) {
        if (program->ops[program->lane_ops[op]].kind != BRAID_STEP_RUN)
            return false;
    }
    return true;
}

// Each stretch of a lane, and each that reaches over its ends.
static unsigned try_islands(struct program *program, const braid_graph *graph, uint32_t index)
{
    const struct program_lane *lane = &program->lanes[index];
    size_t end = lane->first_op + lane->num_ops;
    unsigned num_refused = 0;
    for (size_t first = lane->first_op ? lane->first_op - 1 : 0; first < end; first++) {
        for (size_t num = 0; num <= 4 && first + num <= program->num_ops; num++) {
            struct program_island island = { index, first, num, NULL, (uint32_t)num };
            bool is_right = num > 0 && first >= lane->first_op && first + num <= end &&
                            only_runs(program, first, num);
            braid_status status = verify_with(program, graph, &island, 1);
            assert_int_equal(status, is_right ? BRAID_OK : BRAID_INTERNAL);
            num_refused += !is_right;
            struct program_island twice[] = { island, island };
            if (is_right)
                assert_int_equal(verify_with(program, graph, twice, 2), BRAID_INTERNAL);
        }
    }
    return num_refused;
}

static void islands_that_are_no_stretches_are_found(void **state)
{
    (void)state;
    enum { FEW_GRAPHS = 20 };
    struct random random = { 4 };
    braid_device *device = open_device();
    unsigned num_refused = 0;
    for (int i = 0; i < FEW_GRAPHS; i++) {
        braid_graph *graph = make_graph(&random, 0);
        braid_exec *exec = make_exec(device, graph);
        struct program *program = &exec->program;
        for (uint32_t lane = 0; lane < program->num_lanes; lane++)
            num_refused += try_islands(program, graph, lane);
        struct program_island nowhere = { program->num_lanes, 0, 1, NULL, 1 };
        assert_int_equal(verify_with(program, graph, &nowhere, 1), BRAID_INTERNAL);
        braid_exec_destroy(exec);
        braid_graph_destroy(graph);
    }
    print_message("summary: %u wrong islands found\n", num_refused);
    assert_true(num_refused > 500);
    braid_device_close(device);
}

// Everything that players read beside the operations.
static void wrong_tables_are_found(void **state)
{
    (void)state;
    struct random random = { 5 };
    braid_device *device = open_device();
    braid_graph *graph = make_graph(&random, 3);
    braid_exec *exec = make_exec(device, graph);
    const struct program *program = &exec->program;
    assert_true(program->num_lanes > 1 && program->num_positions > 0);
    for (uint32_t i = 0; i < program->num_positions; i++) {
        struct program_position *position = &program->positions[i], old = *position;
        const struct program_position wrong[] = { { old.lane + 1, old.number, old.node },
                                                  { old.lane, old.number + 1, old.node },
                                                  { old.lane, old.number, old.node + 1 } };
        for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
            *position = wrong[k];
            check_fails(braid_program_verify(program, graph, NULL), BRAID_INTERNAL, "recorded");
        }
        *position = old;
    }
    for (uint32_t i = 0; i < program->num_lanes; i++) {
        struct program_lane *lane = &program->lanes[i], old = *lane;
        lane->needs_fork = false;
        if (old.needs_fork)
            check_fails(braid_program_verify(program, graph, NULL), BRAID_INTERNAL, "forked from");
        *lane = old;
        lane->needs_join = false;
        if (old.needs_join)
            check_fails(braid_program_verify(program, graph, NULL), BRAID_INTERNAL, "joined to");
        *lane = old;
        lane->has_work = !old.has_work;
        check_fails(braid_program_verify(program, graph, NULL), BRAID_INTERNAL, "played in");
        *lane = old;
        lane->num_ops--;
        assert_int_equal(braid_program_verify(program, graph, NULL), BRAID_INTERNAL);
        *lane = old;
    }
    uint32_t first = program->lane_ops[0];
    program->lane_ops[0] = program->lane_ops[program->num_ops - 1];
    check_fails(braid_program_verify(program, graph, NULL), BRAID_INTERNAL, "another lane's");
    program->lane_ops[0] = first;
    program->kinds[0]++;
    check_fails(braid_program_verify(program, graph, NULL), BRAID_INTERNAL, "another kind");
    program->kinds[0]--;
    check_ok(braid_program_verify(program, graph, NULL));
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_device_close(device);
}

static void keep(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
}

static const braid_kernel keeper = { .name = "keep", .cpu = keep };

static void use(braid_graph *graph, braid_parameter parameter, braid_node node, braid_target target,
                braid_parameter_use how)
{
    how.node = node;
    how.target = target;
    check_ok(braid_graph_use_parameter(graph, parameter, &how));
}

// Two kernels, a copy and a fill, which share a parameter of a grid and one of an address.
static braid_graph *make_users(void)
{
    static uint32_t words[4];
    const braid_dim3 grid = { 1, 1, 1 };
    const void *address = words;
    braid_graph *graph = NULL;
    braid_parameter size, place;
    braid_node kernels[2], copy, fill;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_parameter(graph, "size", sizeof(braid_dim3), &size));
    check_ok(braid_graph_add_parameter(graph, "place", sizeof(void *), &place));
    for (int i = 0; i < 2; i++)
        check_ok(braid_graph_add_kernel(
            graph,
            &(braid_kernel_node){ .kernel = &keeper,
                                  BRAID_ARGS(BRAID_ARG(address), BRAID_ARG(grid)) },
            &kernels[i]));
    check_ok(braid_graph_add_copy(
        graph, &(braid_copy){ .to = words, .from = words + 2, .bytes = 8 }, &copy));
    check_ok(braid_graph_add_fill(
        graph, &(braid_fill){ .to = words, .value = 1, .value_bytes = 4, .num_values = 1 }, &fill));
    for (int i = 0; i < 2; i++) {
        use(graph, place, kernels[i], BRAID_TARGET_ARGUMENT, (braid_parameter_use){ 0 });
        use(graph, size, kernels[i], BRAID_TARGET_ARGUMENT,
            (braid_parameter_use){ .argument = 1, .offset = 4, .bytes = 4, .argument_offset = 8 });
        use(graph, size, kernels[i], BRAID_TARGET_ARGUMENT,
            (braid_parameter_use){ .argument = 1, .bytes = 4 });
    }
    use(graph, size, kernels[1], BRAID_TARGET_GRID, (braid_parameter_use){ 0 });
    use(graph, size, kernels[0], BRAID_TARGET_ENABLED, (braid_parameter_use){ .bytes = 4 });
    use(graph, place, copy, BRAID_TARGET_TO, (braid_parameter_use){ 0 });
    use(graph, size, fill, BRAID_TARGET_VALUE, (braid_parameter_use){ .offset = 8, .bytes = 4 });
    return graph;
}

static braid_status verify_users(const braid_exec *exec, const braid_graph *graph,
                                 const struct frame *const *frames)
{
    return braid_exec_params_verify(&exec->params, graph, &exec->tasks, frames, exec->frames.num);
}

static void check_wrong(const braid_exec *exec, const braid_graph *graph,
                        const struct frame *const *frames, const char *message)
{
    check_fails(verify_users(exec, graph, frames), BRAID_INTERNAL, message);
}

// Whatever of a binding is another, the proof names the parameter.
static void check_each_binding(braid_exec *exec, const braid_graph *graph,
                               const struct frame *const *frames)
{
    struct exec_params *params = &exec->params;
    uint32_t num = params->first_use[params->num];
    assert_int_equal(num, 10);
    for (uint32_t i = 0; i < num; i++) {
        const struct value_edit old = params->uses[i];
        const struct value_edit wrong[] = {
            { old.from, old.offset + 4, old.slot, old.node, old.bytes },
            { old.from, old.offset + 1000000, old.slot, old.node, old.bytes },
            { old.from, old.offset, (old.slot + 1) % TASK_NUM_SLOTS, old.node, old.bytes },
            { old.from, old.offset, old.slot, old.node + 1, old.bytes },
            { old.from, old.offset, old.slot, old.node, old.bytes - 1 },
        };
        for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
            params->uses[i] = wrong[k];
            check_wrong(exec, graph, frames, "parameter");
        }
        params->uses[i] = old;
        params->offsets[i] += 4;
        check_wrong(exec, graph, frames, "has no bytes that are set");
        params->offsets[i] -= 4;
    }
}

static void parameters_that_miss_their_users_are_found(void **state)
{
    (void)state;
    braid_device *device = NULL;
    braid_exec *exec = NULL;
    braid_graph *graph = make_users();
    check_ok(
        braid_device_open(&(braid_device_options){ .backend = "cpu", .num_workers = 1 }, &device));
    check_ok(
        braid_exec_create(device, graph, &(braid_exec_options){ .frames_in_flight = 3 }, &exec));
    const struct frame *frames[3] = { &exec->frames.slots[0].frame, &exec->frames.slots[1].frame,
                                      &exec->frames.slots[2].frame };
    check_ok(verify_users(exec, graph, frames));
    check_each_binding(exec, graph, frames);
    check_ok(verify_users(exec, graph, frames));
    exec->params.first_use[exec->params.num]--; // one is left out
    check_wrong(exec, graph, frames, "'place'");
    exec->params.first_use[exec->params.num]++;
    frames[2] = frames[0];
    check_wrong(exec, graph, frames, "frames 0 and 2 in flight share bytes");
    struct frame shared = exec->frames.slots[2].frame;
    shared.arguments = exec->tasks.slot_bytes[TASK_SLOT_ARGUMENTS];
    frames[2] = &shared;
    check_wrong(exec, graph, frames, "frame 2 shares bytes with the master copy");
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    check_ok(braid_device_close(device));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_is_needed),
        cmocka_unit_test(nodes_without_work_order_what_is_behind_them),
        cmocka_unit_test(a_position_published_too_early_is_found),
        cmocka_unit_test(islands_that_are_no_stretches_are_found),
        cmocka_unit_test(wrong_tables_are_found),
        cmocka_unit_test(parameters_that_miss_their_users_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
