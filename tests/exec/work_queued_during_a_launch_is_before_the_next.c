// SPDX-License-Identifier: Apache-2.0
// Work that somebody queues on the stream of a launch, at whichever call of the launch, is before
// the next launch there. Otherwise the next frame may begin where this one did.
#include "support/check.h"

#include "trace_backend.h"

static void nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static const braid_kernel kernel = { .name = "kernel", .cpu = nothing };

// Two nodes that the frames share nothing of: two frames overlap.
static braid_exec *make_exec(braid_device *device)
{
    braid_graph *graph;
    braid_resource read;
    braid_exec *exec;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_resource(graph, "read", &read));
    for (int i = 0; i < 2; i++)
        check_ok(braid_graph_add_kernel(
            graph,
            &(braid_kernel_node){ BRAID_ACCESSES({ read, BRAID_READ }), .node.name = i ? "b" : "a",
                                  .node.cost_ns = 100, .kernel = &kernel },
            NULL));
    const braid_exec_options options = {
        .mode = BRAID_MODE_STREAMS, .frames_in_flight = 2, .max_lanes = 2, .fixed_lanes = true
    };
    check_ok(braid_exec_create(device, graph, &options, &exec));
    braid_graph_destroy(graph);
    return exec;
}

struct scene {
    struct trace trace;
    braid_device *device;
    braid_stream *stream;
    int work; // the entry of the work that is queued meanwhile
};

// On this thread: no call of a launch keeps others from queueing.
static void queue_work(void *user)
{
    struct scene *scene = user;
    static char memory[4];
    scene->trace.while_calling = NULL;
    check_ok(braid_stream_fill(scene->stream, memory, 0, 1, sizeof(memory)));
    scene->work = scene->trace.num_entries - 1;
}

// False: the launch makes fewer calls.
static bool queue_at_call(int call, bool *out_may_overlap)
{
    struct scene scene = { .work = -1 };
    check_ok(trace_open(&scene.trace, false, &scene.device));
    check_ok(braid_stream_create(scene.device, NULL, &scene.stream));
    braid_exec *exec = make_exec(scene.device);
    scene.trace.user = &scene;
    scene.trace.while_calling = queue_work;
    scene.trace.call_at = call;
    scene.trace.num_calls = 0;
    check_ok(braid_exec_launch(exec, scene.stream));
    bool queued = scene.work >= 0;
    scene.trace.while_calling = NULL;
    int first = trace_find_task(&scene.trace, "a", 0), next = scene.trace.num_entries;
    check_ok(braid_exec_launch(exec, scene.stream));
    for (int i = 0; i < 2; i++) {
        int node = trace_find_task(&scene.trace, i ? "b" : "a", next);
        assert_true(!queued || trace_is_ordered(&scene.trace, scene.work, node));
        *out_may_overlap = !trace_is_ordered(&scene.trace, first, node);
    }
    braid_exec_destroy(exec);
    braid_stream_destroy(scene.stream);
    braid_device_close(scene.device);
    return queued;
}

static void work_queued_at_any_call_is_before_the_next_launch(void **state)
{
    (void)state;
    bool may_overlap;
    int call = 1;
    while (queue_at_call(call, &may_overlap))
        call++;
    assert_true(call > 4);
    assert_true(may_overlap); // where nothing was queued, so that the test shows something
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_queued_at_any_call_is_before_the_next_launch),
    };
    return cmocka_run_group_tests_name("work queued during a launch is before the next", tests,
                                       NULL, NULL);
}
