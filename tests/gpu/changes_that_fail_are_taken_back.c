// SPDX-License-Identifier: Apache-2.0
// A change of several nodes that the driver refuses halfway is taken back, node by node. What
// cannot be taken back either stands in the graph and in what Braid knows of it, and the log tells.
#include <stdio.h>
#include <string.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"

enum { NUM_NODES = 3 };

static char logged[2048];

static void take_log(void *user, braid_status status, const char *message)
{
    (void)user, (void)status;
    strncat(logged, message, sizeof(logged) - strlen(logged) - 1);
}

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
    braid_graph *graph;
    braid_node *nodes = changed->nodes;
    *changed = (struct changed){ 0 };
    running = changed;
    reset_standin();
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &changed->device));
    check_ok(braid_graph_create(&graph));
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
    const braid_exec_options options = { .mode = BRAID_MODE_NATIVE, .frames = num_frames };
    check_ok(braid_exec_create(changed->device, graph, &options, &changed->exec));
    braid_graph_destroy(graph);
}

static braid_status set(struct changed *changed, int value, const char *rule)
{
    void *const pointer = &changed->values[value];
    logged[0] = '\0';
    braid_log_set(take_log, NULL);
    assert_true(standin_configure("BRAID_STANDIN_FAIL", rule));
    braid_status status = braid_exec_set_param(changed->exec, changed->parameter, &pointer);
    assert_true(standin_configure("BRAID_STANDIN_FAIL", NULL));
    braid_log_set(NULL, NULL);
    return status;
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
    check_ok(set(changed, 2, NULL));
    run_and_check(changed, (const int[]){ 2, 2, 2 });
    braid_exec_destroy(changed->exec);
    check_ok(braid_device_close(changed->device));
    check_nothing_is_left();
}

static void where_one_call_fails(void **state)
{
    (void)state;
    for (int nth = 1; nth <= NUM_NODES; nth++) {
        struct changed changed;
        char rule[64];
        open_changed(&changed, 1);
        snprintf(rule, sizeof(rule), "cuGraphExecHostNodeSetParams:%d=999", nth);
        check_fails(set(&changed, 1, rule), BRAID_DEVICE_ERROR, "cuGraphExecHostNodeSetParams");
        assert_null(strstr(logged, "keeps"));
        run_and_check(&changed, (const int[]){ 0, 0, 0 });
        finish_changed(&changed);
    }
}

// The third node's, and then the second's when it is taken back: the first is all the same.
static void but_for_what_fails_then(void **state)
{
    (void)state;
    struct changed changed;
    open_changed(&changed, 1);
    check_fails(
        set(&changed, 1, "cuGraphExecHostNodeSetParams:3=999,cuGraphExecHostNodeSetParams:4=2"),
        BRAID_DEVICE_ERROR, "cuGraphExecHostNodeSetParams");
    assert_non_null(strstr(logged, "keeps new values of a change that failed"));
    run_and_check(&changed, (const int[]){ 0, 1, 0 });
    run_and_check(&changed, (const int[]){ 0, 1, 0 });
    finish_changed(&changed);
}

// One node, in two frames that may be in flight: the second refuses, and then the first does. What
// was given is what that frame goes on with.
static void of_a_node_in_several_frames(void **state)
{
    (void)state;
    struct changed changed;
    open_changed(&changed, 2);
    logged[0] = '\0';
    braid_log_set(take_log, NULL);
    assert_true(
        standin_configure("BRAID_STANDIN_FAIL",
                          "cuGraphExecHostNodeSetParams:2=999,cuGraphExecHostNodeSetParams:3=2"));
    check_fails(braid_exec_set_user(changed.exec, changed.nodes[1], &changed.values[1]),
                BRAID_DEVICE_ERROR, "cuGraphExecHostNodeSetParams");
    assert_true(standin_configure("BRAID_STANDIN_FAIL", NULL));
    braid_log_set(NULL, NULL);
    assert_non_null(strstr(logged, "keeps new values of a change that failed"));
    run_and_check(&changed, (const int[]){ 0, 1, 0 });
    run_and_check(&changed, (const int[]){ 0, 0, 0 });
    run_and_check(&changed, (const int[]){ 0, 1, 0 });
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
    const braid_exec_options options = { .mode = BRAID_MODE_NATIVE,
                                         .islands = BRAID_ISLANDS_NEVER,
                                         .frames = num_frames };
    struct frame *frame = &scratched->frame;
    braid_graph *graph;
    braid_node *nodes = scratched->nodes;
    reset_standin();
    check_ok(frame_open(frame, "cuda"));
    check_ok(braid_graph_create(&graph));
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
    braid_graph_destroy(graph);
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
    check_ok(braid_stream_fill(frame->device, frame->stream, frame->words, 0, 4, FRAME_WORDS));
    run_scratched(scratched, 1);
    check_ok(frame_read(frame));
    for (int i = 0; i < num_kernels; i++)
        assert_int_equal(frame->read[1 + i], FILLED);
}

// Kernels run all the same, and `num_stuck` frames keep the memory that some of them write to.
static void check_growth(uint32_t num_frames, const char *rule, uint64_t num_stuck)
{
    struct scratched scratched;
    open_scratched(&scratched, num_frames);
    braid_exec *exec = scratched.frame.exec;
    assert_true(standin_configure("BRAID_STANDIN_FAIL", rule));
    check_fails(braid_exec_set_scratch(exec, scratched.scratch, 4096), BRAID_DEVICE_ERROR,
                "cuGraphExecKernelNodeSetParams");
    assert_true(standin_configure("BRAID_STANDIN_FAIL", NULL));
    assert_int_equal(memory_bytes(exec), scratched.memory_bytes + num_stuck * (4096 + 256));
    run_scratched(&scratched, 4);
    check_ok(braid_exec_set_scratch(exec, scratched.scratch, 8192));
    run_scratched(&scratched, 4);
    for (int i = 0; i < 2; i++)
        set_own(&scratched, i);
    for (uint32_t i = 0; i < num_frames; i++)
        run_with_own(&scratched, 2);
    frame_finish(&scratched.frame);
    check_nothing_is_left();
}

// The first kernel is moved, the second refuses.
static void so_that_no_node_writes_to_freed_scratch(void **state)
{
    (void)state;
    static const char call[] = "cuGraphExecKernelNodeSetParams";
    char rule[160];
    snprintf(rule, sizeof(rule), "%s:2=999", call);
    check_growth(1, rule, 0);
    snprintf(rule, sizeof(rule), "%s:2=999,%s:3=2", call, call); // nor is the first taken back
    check_growth(1, rule, 0);
    snprintf(rule, sizeof(rule), "%s:2=999,%s:3=2,%s:4=2", call, call, call); // ever
    check_growth(1, rule, 1);
}

// Those of the first frame are moved, and the first of the second one; the second refuses.
static void nor_one_of_an_earlier_frame(void **state)
{
    (void)state;
    static const char call[] = "cuGraphExecKernelNodeSetParams";
    char rule[160];
    snprintf(rule, sizeof(rule), "%s:4=999", call);
    check_growth(2, rule, 0);
    snprintf(rule, sizeof(rule), "%s:4=999,%s:6=2", call, call);
    check_growth(2, rule, 1);
    snprintf(rule, sizeof(rule), "%s:4+=999", call);
    check_growth(2, rule, 2);
}

// One of two addresses in the first kernel is the program's. The second kernel refuses to be moved.
static void nor_is_what_the_program_has_set_given_up(void **state)
{
    (void)state;
    struct scratched scratched;
    open_scratched(&scratched, 1);
    struct frame *frame = &scratched.frame;
    set_own(&scratched, 0);
    assert_true(standin_configure("BRAID_STANDIN_FAIL", "cuGraphExecKernelNodeSetParams:2=999"));
    check_fails(braid_exec_set_scratch(frame->exec, scratched.scratch, 4096), BRAID_DEVICE_ERROR,
                "cuGraphExecKernelNodeSetParams");
    assert_true(standin_configure("BRAID_STANDIN_FAIL", NULL));
    run_with_own(&scratched, 1);
    check_ok(braid_exec_set_scratch(frame->exec, scratched.scratch, 8192));
    run_with_own(&scratched, 1);
    frame_finish(frame);
    check_nothing_is_left();
}

// A kernel that is enabled and disabled.
struct toggled {
    struct frame frame;
    braid_node node;
};

static void open_toggled(struct toggled *toggled, uint32_t num_frames)
{
    const braid_exec_options options = { .mode = BRAID_MODE_NATIVE,
                                         .islands = BRAID_ISLANDS_NEVER,
                                         .frames = num_frames };
    struct frame *frame = &toggled->frame;
    braid_graph *graph;
    reset_standin();
    check_ok(frame_open(frame, "cuda"));
    check_ok(braid_graph_create(&graph));
    uint32_t *to = &frame->words[1];
    const uint32_t c = 7;
    const braid_kernel_node launch = {
        .node.name = "toggled",
        .kernel = &sum_kernel,
        BRAID_ARGS(BRAID_ARG(to), BRAID_ARG(frame->words), BRAID_ARG(frame->words), BRAID_ARG(c)),
    };
    check_ok(braid_graph_add_kernel(graph, &launch, &toggled->node));
    check_ok(braid_exec_create(frame->device, graph, &options, &frame->exec));
    braid_graph_destroy(graph);
}

// Whether the kernel runs in the next frame.
static bool runs(struct toggled *toggled)
{
    struct frame *frame = &toggled->frame;
    check_ok(braid_stream_fill(frame->device, frame->stream, frame->words, 0, 4, FRAME_WORDS));
    check_ok(braid_exec_launch(frame->exec, frame->stream));
    check_ok(frame_read(frame));
    return frame->read[1] == 7;
}

// The driver takes the one half, then neither the other nor the first one back.
static void tear(struct toggled *toggled, bool enabled)
{
    assert_true(standin_configure("BRAID_STANDIN_FAIL", "cuGraphExecKernelNodeSetParams:1=999,"
                                                        "cuGraphNodeSetEnabled:2=2"));
    check_fails(braid_exec_set_enabled(toggled->frame.exec, toggled->node, enabled),
                BRAID_DEVICE_ERROR, "cuGraphExecKernelNodeSetParams");
    assert_true(standin_configure("BRAID_STANDIN_FAIL", NULL));
}

static void check_torn(uint32_t num_frames, bool was_enabled)
{
    struct toggled toggled;
    struct frame *frame = &toggled.frame;
    open_toggled(&toggled, num_frames);
    check_ok(braid_exec_set_enabled(frame->exec, toggled.node, was_enabled));
    tear(&toggled, !was_enabled);
    assert_true(standin_configure("BRAID_STANDIN_FAIL", "cuGraphNodeSetEnabled:1=999"));
    check_fails(braid_exec_launch(frame->exec, frame->stream), BRAID_DEVICE_ERROR,
                was_enabled ? "'toggled' is disabled still" : "'toggled' is enabled still");
    assert_true(standin_configure("BRAID_STANDIN_FAIL", NULL));
    assert_int_equal(braid_exec_num_frames(frame->exec), 0);
    for (int i = 0; i < 3; i++)
        assert_true(runs(&toggled) == was_enabled);
    for (int i = 0; i < 2; i++) { // a change brings it right as well
        tear(&toggled, i ? was_enabled : !was_enabled);
        check_ok(braid_exec_set_enabled(frame->exec, toggled.node, !was_enabled));
        for (int k = 0; k < 3; k++)
            assert_true(runs(&toggled) == !was_enabled);
    }
    frame_finish(frame);
    check_nothing_is_left();
}

static void and_a_node_is_what_the_exec_says_when_it_runs(void **state)
{
    (void)state;
    for (uint32_t num_frames = 1; num_frames <= 2; num_frames++) {
        check_torn(num_frames, true);
        check_torn(num_frames, false);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_one_call_fails),
        cmocka_unit_test(but_for_what_fails_then),
        cmocka_unit_test(of_a_node_in_several_frames),
        cmocka_unit_test(so_that_no_node_writes_to_freed_scratch),
        cmocka_unit_test(nor_one_of_an_earlier_frame),
        cmocka_unit_test(nor_is_what_the_program_has_set_given_up),
        cmocka_unit_test(and_a_node_is_what_the_exec_says_when_it_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
