// SPDX-License-Identifier: Apache-2.0
// A kernel runs with the priority of its node, or else with that of its exec, in each mode and
// whatever stream the exec is launched on.
#include <string.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"
#include "support/without_islands.h"

int cuStreamGetPriority(void *stream, int *priority);

enum { WIDTH = 4, MOST_SEEN = 64 };

static int seen[MOST_SEEN];
static int num_seen;

static void note_priority(const char *kernel, int priority)
{
    if (strcmp(kernel, "sum") == 0 && num_seen < MOST_SEEN)
        seen[num_seen++] = priority;
}

static void note_any_priority(const char *kernel, int priority)
{
    (void)kernel;
    if (num_seen < MOST_SEEN)
        seen[num_seen++] = priority;
}

static int count_seen(int priority)
{
    int num = 0;
    for (int i = 0; i < num_seen; i++)
        num += seen[i] == priority;
    return num;
}

// The first kernel has a priority of its own. Costs make the plan take several lanes.
static void add_kernels(braid_graph *graph, struct frame *frame, int32_t own)
{
    for (uint32_t i = 0; i < WIDTH; i++) {
        uint32_t *to = frame->words + i, *from = frame->words + WIDTH, one = 1;
        check_ok(braid_graph_add_kernel(
            graph,
            &(braid_kernel_node){
                .node.cost_ns = 1000000,
                .kernel = &sum_kernel,
                .priority = i ? 0 : own,
                BRAID_ARGS(BRAID_ARG(to), BRAID_ARG(from), BRAID_ARG(from), BRAID_ARG(one)) },
            NULL));
    }
}

static void launch(struct frame *frame, int32_t own, braid_exec_options options, int32_t of_stream,
                   char *reason)
{
    braid_stream *stream = NULL;
    braid_exec_info info;
    braid_graph *graph = own_graph();
    add_kernels(graph, frame, own);
    options.islands = BRAID_ISLANDS_NEVER;
    braid_exec *exec = own_exec(frame->device, graph, &options);
    braid_exec_get_info(exec, &info);
    strcpy(reason, info.reason);
    check_ok(braid_stream_create(frame->device, &(braid_stream_options){ of_stream }, &stream));
    num_seen = 0;
    standin_watch_priorities(note_priority);
    check_ok(braid_exec_launch(exec, stream));
    check_ok(braid_exec_wait(exec));
    standin_watch_priorities(NULL);
    destroy_now(exec);
    braid_stream_destroy(stream);
}

static void check_modes(int32_t own, int32_t of_exec, int32_t of_stream, int expected_own,
                        int expected)
{
    for (braid_exec_mode mode = BRAID_MODE_STREAMS; mode <= BRAID_MODE_GRAPH; mode++) {
        for (uint32_t frames = 1; frames <= 2; frames++) {
            struct frame frame;
            char reason[256];
            reset_standin();
            check_ok(frame_open(&frame, "cuda"));
            launch(&frame, own,
                   (braid_exec_options){
                       .mode = mode, .frames_in_flight = frames, .priority = of_exec },
                   of_stream, reason);
            assert_int_equal(num_seen, WIDTH);
            assert_int_equal(seen[0], expected_own);
            assert_int_equal(count_seen(expected), WIDTH - (expected_own != expected));
            assert_null(strstr(reason, "priority"));
            frame_finish(&frame);
            check_nothing_is_left();
        }
    }
}

static void a_node_has_its_own(void **state)
{
    (void)state;
    check_modes(-4, -2, 0, -4, -2);
    check_modes(-1, -3, -5, -1, -3); // also where it is the less urgent one
    check_modes(1, -3, 0, 0, -3);    // beyond the range: the least urgent
    check_modes(-9, 0, 0, -5, 0);
}

static void a_node_without_one_has_the_execs(void **state)
{
    (void)state;
    check_modes(0, -3, 0, -3, -3);
    check_modes(0, -3, -5, -3, -3);
    check_modes(0, -99, 0, -5, -5);
}

// Stretches of lanes, and the whole graph, are as urgent as the most urgent node in them.
static void an_island_has_the_most_urgent_of_its_nodes(void **state)
{
    (void)state;
    skip_without_islands();
    for (braid_islands islands = BRAID_ISLANDS_WHOLE; islands <= BRAID_ISLANDS_ALWAYS; islands++) {
        struct frame frame;
        uint32_t *words, one = 1;
        reset_standin();
        check_ok(frame_open(&frame, "cuda"));
        words = frame.words;
        braid_graph *graph = own_graph();
        for (uint32_t i = 0; i < WIDTH; i++) {
            uint32_t *to = words + i + 1, *from = words + i;
            check_ok(braid_graph_add_kernel(
                graph,
                &(braid_kernel_node){
                    .kernel = &sum_kernel,
                    .node.lane_hint = 1,
                    .priority = i == 2 ? -4 : 0,
                    BRAID_ARGS(BRAID_ARG(to), BRAID_ARG(from), BRAID_ARG(from), BRAID_ARG(one)) },
                NULL));
        }
        braid_exec *exec = own_exec(frame.device, graph,
                                    &(braid_exec_options){ .islands = islands, .priority = -2 });
        num_seen = 0;
        standin_watch_priorities(note_any_priority);
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        standin_watch_priorities(NULL);
        assert_int_equal(num_seen, 1);
        assert_int_equal(seen[0], -4);
        destroy_now(exec);
        destroy_now(graph);
        frame_finish(&frame);
        check_nothing_is_left();
    }
}

static void add_loop(braid_graph *graph, struct frame *frame)
{
    uint32_t *words = frame->words, one = 1;
    check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = 2 }, NULL));
    check_ok(
        braid_graph_add_kernel(graph,
                               &(braid_kernel_node){ .kernel = &sum_kernel,
                                                     BRAID_ARGS(BRAID_ARG(words), BRAID_ARG(words),
                                                                BRAID_ARG(words), BRAID_ARG(one)) },
                               NULL));
    check_ok(braid_graph_end(graph));
}

// The root of many nodes, the kernels of a loop, and those that keep times.
static void kernels_that_a_graph_adds_have_the_execs(void **state)
{
    (void)state;
    for (uint32_t profile = 0; profile <= 1; profile++) {
        struct frame frame;
        reset_standin();
        check_ok(frame_open(&frame, "cuda"));
        braid_graph *graph = own_graph();
        add_kernels(graph, &frame, 0);
        add_kernels(graph, &frame, 0);
        add_loop(graph, &frame);
        braid_exec *exec = own_exec(frame.device, graph,
                                    &(braid_exec_options){ .mode = BRAID_MODE_GRAPH,
                                                           .islands = BRAID_ISLANDS_NEVER,
                                                           .frames_kept = profile,
                                                           .priority = -2 });
        num_seen = 0;
        standin_watch_priorities(note_any_priority);
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        standin_watch_priorities(NULL);
        assert_true(num_seen > 2 * WIDTH + 1);
        assert_int_equal(count_seen(-2), num_seen);
        destroy_now(exec);
        destroy_now(graph);
        frame_finish(&frame);
        check_nothing_is_left();
    }
}

static int priority_of_stream;

static braid_status look_at_stream(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    (void)user;
    return cuStreamGetPriority(braid_stream_get_handle(stream), &priority_of_stream)
               ? BRAID_DEVICE_ERROR
               : BRAID_OK;
}

static void the_stream_of_a_queue_call_has_the_execs(void **state)
{
    (void)state;
    for (braid_exec_mode mode = BRAID_MODE_STREAMS; mode <= BRAID_MODE_GRAPH; mode++) {
        struct frame frame;
        reset_standin();
        check_ok(frame_open(&frame, "cuda"));
        braid_graph *graph = own_graph();
        check_ok(
            braid_graph_add_queue_call(graph, &(braid_queue_call){ .call = look_at_stream }, NULL));
        priority_of_stream = 0;
        braid_exec *exec =
            own_exec(frame.device, graph, &(braid_exec_options){ .mode = mode, .priority = -2 });
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        assert_int_equal(priority_of_stream, -2);
        destroy_now(exec);
        destroy_now(graph);
        frame_finish(&frame);
        check_nothing_is_left();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(a_node_has_its_own),
        standin_test(a_node_without_one_has_the_execs),
        standin_test(an_island_has_the_most_urgent_of_its_nodes),
        standin_test(kernels_that_a_graph_adds_have_the_execs),
        standin_test(the_stream_of_a_queue_call_has_the_execs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
