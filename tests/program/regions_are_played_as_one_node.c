// SPDX-License-Identifier: Apache-2.0
// A region is one node from outside and a small frame from inside: it is planned, proved, drawn and
// played so, on lanes and by streams. Here its body runs twice.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <braid/schedule.h>
#include <braid/timeline.h>

#include "exec/exec.h"
#include "graph/regions.h"
#include "program/change_programs.h"
#include "support/check.h"
#include "support/wide_plan.h"
#include "verify/verify_program.h"

enum { MOST_CALLS = 64, NUM_FRAMES = 20 };

// The calls of a frame in the order in which they ended.
static atomic_uint num_calls;
static char calls[MOST_CALLS];

static void note(void *user)
{
    calls[atomic_fetch_add(&num_calls, 1) % MOST_CALLS] = *(const char *)user;
}

static braid_resource add_resource(braid_graph *graph, const char *name)
{
    braid_resource resource;
    check_ok(braid_graph_add_resource(graph, name, &resource));
    return resource;
}

static void add_call(braid_graph *graph, const char *name, braid_resource read,
                     braid_resource write)
{
    braid_node node;
    const braid_access accesses[] = { { write, BRAID_READ_WRITE }, { read, BRAID_READ } };
    check_ok(braid_graph_add_host_call(
        graph,
        &(braid_host_call){ .call = note,
                            .user = (void *)(uintptr_t)name,
                            .node = { .name = name,
                                      .cost_ns = 50000,
                                      .accesses = accesses,
                                      .num_accesses = read.graph ? 2 : 1 } },
        &node));
}

static void begin(braid_graph *graph, const char *name, bool is_there)
{
    if (is_there)
        check_ok(
            braid_graph_begin_loop(graph, &(braid_loop){ .node.name = name, .times = 2 }, NULL));
}

static void end(braid_graph *graph, bool is_there)
{
    if (is_there)
        check_ok(braid_graph_end(graph));
}

// 'a' is before the loop, 'v' and 'w' are behind it; 'o' has nothing to do with it. Inside, 'p' is
// before 'q' and 'r', which are before 's'; with `nested` these two are in a loop of their own.
static braid_graph *make_graph(bool nested)
{
    const braid_resource none = { 0 };
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    braid_resource x = add_resource(graph, "x"), y = add_resource(graph, "y");
    braid_resource z = add_resource(graph, "z"), other = add_resource(graph, "other");
    add_call(graph, "a", none, x);
    add_call(graph, "o", none, other);
    begin(graph, "twice", true);
    add_call(graph, "p", none, x);
    begin(graph, "inner", nested);
    add_call(graph, "q", x, y);
    add_call(graph, "r", x, z);
    end(graph, nested);
    add_call(graph, "s", y, z);
    end(graph, true);
    add_call(graph, "w", z, y);
    add_call(graph, "v", none, x);
    return graph;
}

static braid_schedule *plan(const braid_graph *graph)
{
    braid_schedule *schedule;
    const braid_schedule_options options = { .costs = &free_costs,
                                             .max_lanes = 3,
                                             .fixed_lanes = true };
    check_ok(braid_schedule_create(graph, &options, &schedule));
    check_ok(braid_schedule_verify(schedule, graph));
    return schedule;
}

// Where a call is for the nth time, from 0.
static long place_of(char call, int n)
{
    for (long i = 0; i < (long)atomic_load(&num_calls); i++)
        if (calls[i] == call && n-- == 0)
            return i;
    fail_msg("%c did not run", call);
    return -1;
}

static void check_frame(bool nested)
{
    assert_int_equal(atomic_load(&num_calls), nested ? 16 : 12);
    int num = nested ? 4 : 2;
    assert_true(place_of('a', 0) < place_of('p', 0));
    assert_true(place_of('s', 1) < place_of('w', 0) && place_of('s', 1) < place_of('v', 0));
    for (int run = 0; run < 2; run++) {
        int last = (run + 1) * num / 2 - 1, first = run * num / 2;
        assert_true(place_of('p', run) < place_of('q', first));
        assert_true(place_of('p', run) < place_of('r', first));
        assert_true(place_of('q', last) < place_of('s', run));
        assert_true(place_of('r', last) < place_of('s', run));
    }
    assert_true(place_of('s', 0) < place_of('p', 1)); // the second run is behind the first
    for (int i = 1; nested && i < num; i++) {
        assert_true(place_of('q', i - 1) < place_of('r', i));
        assert_true(place_of('r', i - 1) < place_of('q', i));
    }
}

static void play(bool nested, braid_exec_mode mode, uint32_t num_workers)
{
    braid_device *device;
    braid_exec *exec;
    braid_graph *graph = make_graph(nested);
    braid_schedule *schedule = plan(graph);
    const braid_device_options cpu = { .backend = "cpu", .num_workers = num_workers };
    const braid_exec_options options = { .mode = mode, .schedule = schedule };
    check_ok(braid_device_open(&cpu, &device));
    check_ok(braid_exec_create(device, graph, &options, &exec));
    for (int frame = 0; frame < NUM_FRAMES; frame++) {
        atomic_store(&num_calls, 0);
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        check_frame(nested);
    }
    braid_exec_destroy(exec);
    check_ok(braid_device_close(device));
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
}

static void a_region_runs_its_body_twice(void **state)
{
    (void)state;
    for (uint32_t num_workers = 1; num_workers <= 3; num_workers++) {
        for (int nested = 0; nested < 2; nested++) {
            play(nested, BRAID_MODE_GRAPH, num_workers);
        }
    }
}

static void the_plan_has_one_node_and_a_frame_inside(void **state)
{
    (void)state;
    braid_graph *graph = make_graph(true);
    braid_schedule *schedule = plan(graph);
    const struct program *program = &schedule->program;
    assert_int_equal(program->num_bodies, 1);
    const struct program *body = &program->bodies[0];
    assert_int_equal(body->num_bodies, 1);
    assert_int_equal(body->bodies[0].num_lanes, 2); // 'q' and 'r' are free
    assert_int_equal(body->most, 2);
    unsigned num_waits = 0; // the frame's, for the end of the region
    for (size_t i = 0; i < program->num_ops; i++)
        num_waits += program->ops[i].kind == BRAID_STEP_WAIT && program->ops[i].node == body->node;
    assert_int_equal(num_waits, 1);
    assert_int_equal(schedule->cost_ns[body->node], 2 * 200000);
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
}

static void every_operation_inside_and_outside_is_needed(void **state)
{
    (void)state;
    unsigned num = 0;
    for (int nested = 0; nested < 2; nested++) {
        braid_graph *graph = make_graph(nested);
        braid_schedule *schedule = plan(graph);
        num += change_each_op(schedule, graph, &schedule->program);
        check_ok(braid_schedule_verify(schedule, graph));
        braid_schedule_destroy(schedule);
        braid_graph_destroy(graph);
    }
    assert_true(num > 20);
    print_message("summary: %u wrong programs with regions refused\n", num);
}

// 'w' of the outside beside the region, whose body uses the same.
static void an_outer_access_during_the_region_is_found(void **state)
{
    (void)state;
    braid_graph *graph = make_graph(false);
    braid_schedule *schedule = plan(graph);
    struct program *program = &schedule->program;
    size_t enter = 0, run = program->num_ops - 1;
    while (program->ops[enter].kind != BRAID_STEP_LOOP)
        enter++;
    while (strcmp(braid_schedule_node_name(schedule, program->ops[run].node), "w") != 0)
        run--;
    uint32_t lane = program->ops[run].lane;
    assert_int_equal(program->ops[run].kind, BRAID_STEP_RUN);
    program->ops[run].lane = (program->ops[enter].lane + 1) % program->num_lanes;
    check_fails(braid_schedule_verify(schedule, graph), BRAID_INTERNAL, "start before");
    program->ops[run].lane = lane;
    check_ok(braid_schedule_verify(schedule, graph));
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
}

static void a_region_that_hides_an_access_is_found(void **state)
{
    (void)state;
    braid_graph *graph = make_graph(false);
    braid_schedule *schedule = plan(graph);
    const struct graph_node *node = &graph_nodes(graph)[graph_regions(graph)[0].node];
    struct graph_access *access = (struct graph_access *)graph->accesses.items + node->first_access;
    access->mode = BRAID_READ;
    check_fails(braid_schedule_verify(schedule, graph), BRAID_INTERNAL, "accesses more than");
    access->mode = BRAID_READ_WRITE;
    check_ok(braid_schedule_verify(schedule, graph));
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
}

// 'start' writes the condition before the loop and 'next' at its end; both are the only ones.
static void a_condition_that_is_not_the_loops_own_is_found(void **state)
{
    (void)state;
    static uint32_t word;
    braid_graph *graph;
    braid_resource left, other;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_buffer(graph, "left", &word, sizeof(word), &left));
    other = add_resource(graph, "other");
    add_call(graph, "start", (braid_resource){ 0 }, left);
    check_ok(braid_graph_begin_loop(
        graph, &(braid_loop){ .condition = left, .most = 9, .tests_first = true }, NULL));
    add_call(graph, "next", (braid_resource){ 0 }, left);
    check_ok(braid_graph_end(graph));
    braid_schedule *schedule = plan(graph);
    const struct graph_node *nodes = graph_nodes(graph);
    struct graph_access *accesses = graph->accesses.items;
    struct program *body = &schedule->program.bodies[0];
    accesses[nodes[1].first_access].resource = other.index; // the loop's own
    check_fails(braid_schedule_verify(schedule, graph), BRAID_INTERNAL, "accesses more than");
    accesses[nodes[1].first_access].resource = left.index;
    accesses[nodes[2].first_access].mode = BRAID_READ; // for 'next'
    check_fails(braid_schedule_verify(schedule, graph), BRAID_INTERNAL, "does not write its condi");
    accesses[nodes[2].first_access].mode = BRAID_READ_WRITE;
    body->most = 10;
    check_fails(braid_schedule_verify(schedule, graph), BRAID_INTERNAL, "ends otherwise");
    body->most = 9;
    body->has_condition = false;
    check_fails(braid_schedule_verify(schedule, graph), BRAID_INTERNAL, "ends otherwise");
    body->has_condition = true;
    check_ok(braid_schedule_verify(schedule, graph));
    // The loop, which reads its condition first, before what writes that before it.
    braid_step *ops = schedule->program.ops, last = ops[schedule->program.num_ops - 1];
    assert_int_equal(last.kind, BRAID_STEP_LOOP);
    ops[schedule->program.num_ops - 1] = ops[0];
    ops[0] = last;
    assert_true(braid_program_list_lanes(&schedule->program));
    check_fails(braid_schedule_verify(schedule, graph), BRAID_INTERNAL, "");
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
}

static void drawings_nest(void **state)
{
    (void)state;
    braid_graph *graph = make_graph(true);
    braid_schedule *schedule = plan(graph);
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    check_ok(braid_schedule_write(schedule, BRAID_DRAWING_DOT, NULL, file));
    fclose(file);
    const char *outer = strstr(text, "subgraph cluster_region_2 {");
    assert_non_null(outer);
    assert_non_null(strstr(outer, "subgraph cluster_region_2_lane_0 {"));
    assert_non_null(strstr(outer, "subgraph cluster_region_4 {"));
    assert_non_null(strstr(outer, "subgraph cluster_region_4_lane_1 {"));
    assert_non_null(strstr(outer, "label=\"loop, 2 times\""));
    free(text);
    file = open_memstream(&text, &size);
    check_ok(braid_schedule_write(schedule, BRAID_DRAWING_SVG, NULL, file));
    fclose(file);
    unsigned num = 0;
    for (const char *next = text; (next = strstr(next, "node inside")); next++)
        num++;
    assert_int_equal(num, 5); // p, q, r, s and the inner region
    free(text);
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
}

static uint64_t planned_ns(const braid_graph *graph, uint64_t iteration_ns)
{
    const braid_schedule_options options = {
        .max_lanes = 4, .costs = &(braid_cost_model){ .iteration_ns = iteration_ns }
    };
    braid_schedule *schedule;
    braid_schedule_info info;
    check_ok(braid_schedule_create(graph, &options, &schedule));
    braid_schedule_get_info(schedule, &info);
    braid_schedule_destroy(schedule);
    return info.makespan_ns;
}

static void iterations_take_time_beyond_their_nodes(void **state)
{
    (void)state;
    enum { ITERATION_NS = 700 };
    braid_graph *once = make_graph(false), *nested = make_graph(true);
    assert_int_equal(planned_ns(once, ITERATION_NS), planned_ns(once, 0) + 2 * ITERATION_NS);
    // Each iteration of the outer loop has two of the inner one.
    assert_int_equal(planned_ns(nested, ITERATION_NS), planned_ns(nested, 0) + 6 * ITERATION_NS);
    braid_graph_destroy(once);
    braid_graph_destroy(nested);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_region_runs_its_body_twice),
        cmocka_unit_test(the_plan_has_one_node_and_a_frame_inside),
        cmocka_unit_test(every_operation_inside_and_outside_is_needed),
        cmocka_unit_test(an_outer_access_during_the_region_is_found),
        cmocka_unit_test(a_region_that_hides_an_access_is_found),
        cmocka_unit_test(a_condition_that_is_not_the_loops_own_is_found),
        cmocka_unit_test(drawings_nest),
        cmocka_unit_test(iterations_take_time_beyond_their_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
