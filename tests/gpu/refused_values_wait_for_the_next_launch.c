// SPDX-License-Identifier: Apache-2.0
// Setters call no driver. If the driver refuses a value, the launch that needs it fails: the error
// names the node, nothing is queued, and the next launch hands over the same values again.
#include <stdio.h>
#include <string.h>

#include "backends/gpu/gpu_backend.h"
#include "device/device.h"
#include "gpu/gpu_testing.h"
#include "support/check.h"

enum { NUM_NODES = 3 };

// Host calls, one behind the other, that each note what one parameter has them called with.
struct changed {
    braid_device *device;
    braid_exec *exec;
    braid_node nodes[NUM_NODES];
    braid_parameter parameter;
    int values[3]; // that it points to
    void *had[NUM_NODES];
    int num_run;
};

static struct changed *running;

static void note(void *user)
{
    running->had[running->num_run++ % NUM_NODES] = user;
}

static void open_changed(struct changed *changed, uint32_t num_frames)
{
    braid_node *nodes = changed->nodes;
    *changed = (struct changed){ 0 };
    running = changed;
    reset_standin();
    changed->device = own_device("cuda");
    braid_graph *graph = own_graph();
    void *first = &changed->values[0];
    check_ok(braid_graph_add_parameter(graph, "value", sizeof(first), &changed->parameter));
    for (int i = 0; i < NUM_NODES; i++) {
        const braid_host_call call = {
            .node = { .after = nodes + i - (i > 0), .num_after = i > 0 },
            .call = note,
            .user = first,
        };
        check_ok(braid_graph_add_host_call(graph, &call, &nodes[i]));
        const braid_parameter_use use = { .node = nodes[i], .target = BRAID_TARGET_USER };
        check_ok(braid_graph_use_parameter(graph, changed->parameter, &use));
    }
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH, .frames_in_flight = num_frames };
    check_ok(braid_exec_create(changed->device, graph, &options, &changed->exec));
}

static void fail_by(const char *rule)
{
    fail_calls(rule);
}

static void set(const struct changed *changed, int value)
{
    const void *const pointer = &changed->values[value];
    fail_by("cuGraphExecHostNodeSetParams:1+=999"); // which nobody calls here
    check_ok(braid_exec_set_parameter(changed->exec, changed->parameter, &pointer));
    fail_by(NULL);
}

static void check_refused(struct changed *changed, const char *rule, const char *node)
{
    uint64_t num_frames = braid_exec_get_num_launched(changed->exec);
    int num_run = changed->num_run;
    fail_by(rule);
    for (int i = 0; i < 2; i++) {
        check_fails(braid_exec_launch(changed->exec, NULL), BRAID_DEVICE_ERROR,
                    "cuGraphExecHostNodeSetParams");
        if (i == 0)
            assert_non_null(strstr(braid_error_get_message(), node));
    }
    fail_by(NULL);
    check_ok(braid_exec_wait(changed->exec));
    assert_int_equal(braid_exec_get_num_launched(changed->exec), num_frames);
    assert_int_equal(changed->num_run, num_run);
}

static void run_and_check(struct changed *changed, const int expected[NUM_NODES])
{
    check_ok(braid_exec_launch(changed->exec, NULL));
    check_ok(braid_exec_wait(changed->exec));
    for (int i = 0; i < NUM_NODES; i++)
        assert_ptr_equal(changed->had[i], &changed->values[expected[i]]);
}

static void finish_changed(struct changed *changed)
{
    braid_exec_destroy(changed->exec);
    finish_standin();
}

// The nth node's call fails, and in the second launch the nth again: those before it have been
// taken by then, and are handed over once more.
static void and_then_reaches_all_nodes(void **state)
{
    (void)state;
    for (int nth = 1; nth <= NUM_NODES; nth++) {
        struct changed changed;
        char rule[96], node[16];
        open_changed(&changed, 1);
        run_and_check(&changed, (const int[]){ 0, 0, 0 });
        set(&changed, 1);
        snprintf(rule, sizeof(rule),
                 "cuGraphExecHostNodeSetParams:%d=999,cuGraphExecHostNodeSetParams:%d=999", nth,
                 2 * nth);
        snprintf(node, sizeof(node), "node %d", nth - 1);
        check_refused(&changed, rule, node);
        run_and_check(&changed, (const int[]){ 1, 1, 1 });
        finish_changed(&changed);
    }
}

static void unless_it_is_replaced_by_then(void **state)
{
    (void)state;
    struct changed changed;
    open_changed(&changed, 1);
    set(&changed, 1);
    check_refused(&changed, "cuGraphExecHostNodeSetParams:2+=999", "node 1");
    set(&changed, 2);
    run_and_check(&changed, (const int[]){ 2, 2, 2 });
    finish_changed(&changed);
}

// Frame after frame, each place of a frame in flight takes the value by itself.
static void in_each_of_several_frames(void **state)
{
    (void)state;
    struct changed changed;
    open_changed(&changed, 2);
    set(&changed, 1);
    run_and_check(&changed, (const int[]){ 1, 1, 1 });
    check_refused(&changed, "cuGraphExecHostNodeSetParams:2+=999", "node 1");
    check_ok(braid_exec_set(changed.exec, changed.nodes[0], BRAID_TARGET_USER, 0,
                            &(void *){ &changed.values[2] }));
    run_and_check(&changed, (const int[]){ 2, 1, 1 });
    check_refused(&changed, "cuGraphExecHostNodeSetParams:1+=999", "node 0");
    run_and_check(&changed, (const int[]){ 2, 1, 1 });
    finish_changed(&changed);
}

enum { FILLED = 5 };

// Two kernels with scratch, one behind the other, that read a transient buffer.
struct scratched {
    struct frame frame;
    braid_resource scratch;
    braid_node nodes[2];
    uint64_t memory_bytes; // before any change
};

static uint64_t memory_bytes(const braid_exec *exec)
{
    braid_exec_info info;
    braid_exec_get_info(exec, &info);
    return info.memory_bytes;
}

static void open_scratched(struct scratched *scratched, uint32_t num_frames)
{
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH,
                                         .islands = BRAID_ISLANDS_NEVER,
                                         .frames_in_flight = num_frames };
    struct frame *frame = &scratched->frame;
    braid_node *nodes = scratched->nodes;
    reset_standin();
    check_ok(frame_open(frame, "cuda"));
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_scratch(graph, "scratch", 256, 256, &scratched->scratch));
    braid_resource buffer;
    check_ok(braid_graph_add_transient(graph, "buffer", 256, 256, &buffer));
    const braid_access writes = { buffer, BRAID_WRITE }, reads = { buffer, BRAID_READ };
    const braid_fill fill = {
        .node = { .accesses = &writes, .num_accesses = 1 },
        .to_resource = buffer,
        .value = FILLED,
        .value_bytes = 4,
        .num_values = 1,
    };
    check_ok(braid_graph_add_fill(graph, &fill, NULL));
    for (int i = 0; i < 2; i++) {
        const uint32_t c = 0;
        const braid_kernel_node launch = {
            .node = { .after = nodes, .num_after = i > 0, .accesses = &reads, .num_accesses = 1 },
            .kernel = &sum_kernel,
            BRAID_ARGS(braid_resource_address(&scratched->scratch), BRAID_ARG(frame->words),
                       braid_resource_address(&buffer), BRAID_ARG(c)),
        };
        check_ok(braid_graph_add_kernel(graph, &launch, &nodes[i]));
    }
    check_ok(braid_exec_create(frame->device, graph, &options, &frame->exec));
    scratched->memory_bytes = memory_bytes(frame->exec);
}

static void run_scratched(struct scratched *scratched, int num_frames)
{
    for (int i = 0; i < num_frames; i++)
        check_ok(braid_exec_launch(scratched->frame.exec, scratched->frame.stream));
    check_ok(braid_exec_wait(scratched->frame.exec));
    assert_int_equal(standin_bad_accesses(), 0);
}

// Has a kernel write a word of the program's instead of scratch.
static void set_own(struct scratched *scratched, int kernel)
{
    uint32_t *own = &scratched->frame.words[1 + kernel];
    check_ok(
        braid_exec_set_arg(scratched->frame.exec, scratched->nodes[kernel], 0, BRAID_ARG(own)));
}

// So many of them, which read what was filled.
static void run_with_own(struct scratched *scratched, int num_kernels)
{
    struct frame *frame = &scratched->frame;
    check_ok(braid_stream_fill(frame->stream, frame->words, 0, 4, FRAME_WORDS));
    run_scratched(scratched, 1);
    check_ok(frame_read(frame));
    for (int i = 0; i < num_kernels; i++)
        assert_int_equal(frame->read[1 + i], FILLED);
}

static void check_growth(uint32_t num_frames, const char *rule, int own)
{
    struct scratched scratched;
    open_scratched(&scratched, num_frames);
    braid_exec *exec = scratched.frame.exec;
    if (own >= 0)
        set_own(&scratched, own);
    run_scratched(&scratched, 2);
    check_ok(braid_exec_set_scratch(exec, scratched.scratch, 4096));
    assert_int_equal(memory_bytes(exec), scratched.memory_bytes);
    uint32_t num_launched = 0;
    fail_by(rule);
    while (num_launched < 4 && !braid_exec_launch(exec, scratched.frame.stream))
        num_launched++;
    assert_true(num_launched < num_frames);
    assert_non_null(strstr(braid_error_get_message(), "cuGraphExecKernelNodeSetParams"));
    fail_by(NULL);
    assert_int_equal(memory_bytes(exec),
                     scratched.memory_bytes + (uint64_t)num_frames * (4096 - 256));
    run_scratched(&scratched, 4);
    if (own >= 0)
        run_with_own(&scratched, own + 1);
    check_ok(braid_exec_set_scratch(exec, scratched.scratch, 8192));
    run_scratched(&scratched, 4);
    for (int i = 0; i < 2; i++)
        set_own(&scratched, i);
    for (uint32_t i = 0; i < num_frames; i++)
        run_with_own(&scratched, 2);
    frame_finish(&scratched.frame);
    check_nothing_is_left();
}

// The first kernel is moved, the second refuses; then likewise in the second frame.
static void nor_does_a_node_write_to_freed_scratch(void **state)
{
    (void)state;
    static const char call[] = "cuGraphExecKernelNodeSetParams";
    char rule[160];
    for (int nth = 1; nth <= 4; nth++) {
        snprintf(rule, sizeof(rule), "%s:%d+=999", call, nth);
        if (nth <= 2)
            check_growth(1, rule, -1);
        check_growth(2, rule, -1);
    }
}

// One of two addresses is the program's.
static void nor_is_what_the_program_has_set_given_up(void **state)
{
    (void)state;
    check_growth(1, "cuGraphExecKernelNodeSetParams:2+=999", 0);
}

// A kernel that is enabled and disabled.
struct toggled {
    struct frame frame;
    braid_node node;
};

static void open_toggled(struct toggled *toggled, uint32_t num_frames)
{
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH,
                                         .islands = BRAID_ISLANDS_NEVER,
                                         .frames_in_flight = num_frames };
    struct frame *frame = &toggled->frame;
    reset_standin();
    check_ok(frame_open(frame, "cuda"));
    braid_graph *graph = own_graph();
    uint32_t *to = &frame->words[1];
    const uint32_t c = 7;
    const braid_kernel_node launch = {
        .node.name = "toggled",
        .kernel = &sum_kernel,
        BRAID_ARGS(BRAID_ARG(to), BRAID_ARG(frame->words), BRAID_ARG(frame->words), BRAID_ARG(c)),
    };
    check_ok(braid_graph_add_kernel(graph, &launch, &toggled->node));
    check_ok(braid_exec_create(frame->device, graph, &options, &frame->exec));
}

// Whether the kernel runs in the next frame.
static bool runs(struct toggled *toggled)
{
    struct frame *frame = &toggled->frame;
    check_ok(braid_stream_fill(frame->stream, frame->words, 0, 4, FRAME_WORDS));
    check_ok(braid_exec_launch(frame->exec, frame->stream));
    check_ok(frame_read(frame));
    return frame->read[1] == 7;
}

static void check_toggled(uint32_t num_frames, bool was_enabled)
{
    struct toggled toggled;
    struct frame *frame = &toggled.frame;
    open_toggled(&toggled, num_frames);
    check_ok(
        braid_exec_set(frame->exec, toggled.node, BRAID_TARGET_ENABLED, 0, &(bool){ was_enabled }));
    for (int i = 0; i < 3; i++)
        assert_true(runs(&toggled) == was_enabled);
    for (int half = 0; half < 2; half++) { // the driver takes the one half, and not the other
        fail_by(half ? "cuGraphNodeSetEnabled:1+=999" : "cuGraphExecKernelNodeSetParams:1+=999");
        check_ok(braid_exec_set(frame->exec, toggled.node, BRAID_TARGET_ENABLED, 0,
                                &(bool){ !was_enabled }));
        for (int i = 0; i < 2; i++)
            check_fails(braid_exec_launch(frame->exec, frame->stream), BRAID_DEVICE_ERROR,
                        "'toggled'");
        fail_by(NULL);
        if (half)
            check_ok(braid_exec_set(frame->exec, toggled.node, BRAID_TARGET_ENABLED, 0,
                                    &(bool){ was_enabled }));
        for (int i = 0; i < 3; i++)
            assert_true(runs(&toggled) == (half ? was_enabled : !was_enabled));
        check_ok(braid_exec_set(frame->exec, toggled.node, BRAID_TARGET_ENABLED, 0,
                                &(bool){ was_enabled }));
        for (int i = 0; i < 3; i++)
            assert_true(runs(&toggled) == was_enabled);
    }
    frame_finish(frame);
    check_nothing_is_left();
}

static void and_a_node_is_what_the_exec_says_when_it_runs(void **state)
{
    (void)state;
    for (uint32_t num_frames = 1; num_frames <= 2; num_frames++) {
        check_toggled(num_frames, true);
        check_toggled(num_frames, false);
    }
}

// A kernel without blocks is a disabled node to the driver, and a setter refuses what has no call.
static void but_a_call_that_the_driver_lacks_is_refused_at_once(void **state)
{
    (void)state;
    static const char reason[] = "node 0 'toggled' cannot change in a graph of the driver: the "
                                 "driver has no call for it";
    struct toggled toggled;
    struct frame *frame = &toggled.frame;
    open_toggled(&toggled, 1);
    struct gpu_backend *gpu = gpu_from(frame->device->backend);
    const struct gpu_api *api = gpu->api;
    struct gpu_api less = *api;
    less.node_set_enabled = NULL;
    gpu->api = &less;
    check_fails(braid_exec_set(frame->exec, toggled.node, BRAID_TARGET_GRID, 0, &(braid_dim3){ 0 }),
                BRAID_UNSUPPORTED, reason);
    check_fails(braid_exec_set(frame->exec, toggled.node, BRAID_TARGET_ENABLED, 0, &(bool){ 0 }),
                BRAID_UNSUPPORTED, reason);
    assert_true(runs(&toggled));
    gpu->api = api;
    check_ok(braid_exec_set(frame->exec, toggled.node, BRAID_TARGET_GRID, 0, &(braid_dim3){ 0 }));
    assert_false(runs(&toggled));
    frame_finish(frame);
    check_nothing_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(and_then_reaches_all_nodes),
        standin_test(unless_it_is_replaced_by_then),
        standin_test(in_each_of_several_frames),
        standin_test(nor_does_a_node_write_to_freed_scratch),
        standin_test(nor_is_what_the_program_has_set_given_up),
        standin_test(and_a_node_is_what_the_exec_says_when_it_runs),
        standin_test(but_a_call_that_the_driver_lacks_is_refused_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
