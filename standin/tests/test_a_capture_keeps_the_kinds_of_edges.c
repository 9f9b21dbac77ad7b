// SPDX-License-Identifier: Apache-2.0
// A capture tells by the edges of a kernel that it may come early, by its own wish or by an event.
#include "driver.h"

// The words' kernels, a word, two streams, and events without timing.
struct scene {
    struct words words;
    unsigned *word;
    CUstream a, b;
    CUevent early, join;
};

static struct scene open_scene(void)
{
    return (struct scene){ .words = load_words(),
                           .word = make_memory(1),
                           .a = make_stream(),
                           .b = make_stream(),
                           .early = make_event(),
                           .join = make_event() };
}

static void close_scene(struct scene *scene)
{
    must(cuEventDestroy_v2(scene->early));
    must(cuEventDestroy_v2(scene->join));
    must(cuStreamDestroy_v2(scene->a));
    must(cuStreamDestroy_v2(scene->b));
    free_memory(scene->word);
    must(cuModuleUnload(scene->words.module));
}

static CUresult launch_with(const struct scene *scene, CUstream stream, CUlaunchAttribute attribute)
{
    void *params[] = { (void *)&scene->word };
    const CUlaunchConfig config = { 1, 1, 1, 1, 1, 1, 0, stream, &attribute, 1 };
    return cuLaunchKernelEx(&config, scene->words.add_one, params, NULL);
}

static CUlaunchAttribute comes_early(void)
{
    return (CUlaunchAttribute){ .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                .value.programmaticStreamSerializationAllowed = 1 };
}

static CUlaunchAttribute records(CUevent event, bool at_block_start)
{
    return (CUlaunchAttribute){ .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT,
                                .value.programmaticEvent = { event, 0, at_block_start } };
}

static CUlaunchAttribute records_begin(CUevent event)
{
    return (CUlaunchAttribute){ .id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
                                .value.launchCompletionEvent = { event, 0 } };
}

static void begin(CUstream stream)
{
    must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
}

// The data of the one edge that leads to a node.
static CUgraphEdgeData edge_to(CUgraph graph, size_t index)
{
    CUgraphNode nodes[4], before;
    CUgraphEdgeData edge = { 0 };
    size_t count = 4;
    must(cuGraphGetNodes(graph, nodes, &count));
    assert_true(index < count);
    count = 1;
    must(cuGraphNodeGetDependencies_v2(nodes[index], &before, &edge, &count));
    assert_int_equal(count, 1);
    return edge;
}

static void a_kernel_may_follow_early_on_its_stream(void **state)
{
    (void)state;
    struct scene scene = open_scene();
    CUgraph graph;
    CUgraphNode from[3], to[3];
    size_t count = 3;
    begin(scene.a);
    must(cuMemsetD32Async(device(scene.word), 0, 1, scene.a));
    must(launch_with(&scene, scene.a, comes_early())); // behind a fill: it waits for the end
    must(launch_with(&scene, scene.a, comes_early()));
    must(cuMemsetD32Async(device(scene.word), 0, 1, scene.a));
    must(cuStreamEndCapture(scene.a, &graph));
    assert_int_equal(edge_to(graph, 1).type, 0);
    assert_int_equal(edge_to(graph, 2).type, 1);
    assert_int_equal(edge_to(graph, 2).from_port, 1);
    assert_int_equal(edge_to(graph, 2).to_port, 0);
    assert_int_equal(edge_to(graph, 3).type, 0);
    must_be(cuGraphGetEdges(graph, from, to, &count), CUDA_ERROR_LOSSY_QUERY);
    must(cuGraphDestroy(graph));
    close_scene(&scene);
}

static void an_event_of_a_launch_leads_to_an_early_kernel(void **state)
{
    (void)state;
    const unsigned char ports[] = { 1, 2, 2 }, types[] = { 1, 1, 0 };
    struct scene scene = open_scene();
    const CUlaunchAttribute attributes[] = { records(scene.early, false),
                                             records(scene.early, true),
                                             records_begin(scene.early) };
    for (int i = 0; i < 3; i++) {
        CUgraph graph;
        begin(scene.a);
        must(launch_with(&scene, scene.a, attributes[i]));
        must(cuStreamWaitEvent(scene.b, scene.early, 0));
        launch_add_one(&scene.words, scene.word, scene.b);
        must(cuEventRecord(scene.join, scene.b));
        must(cuStreamWaitEvent(scene.a, scene.join, 0));
        must(cuStreamEndCapture(scene.a, &graph));
        assert_int_equal(edge_to(graph, 1).type, types[i]);
        assert_int_equal(edge_to(graph, 1).from_port, ports[i]);
        must(cuGraphDestroy(graph));
    }
    close_scene(&scene);
}

static void a_kernel_may_follow_several_early(void **state)
{
    (void)state;
    struct scene scene = open_scene();
    CUgraph graph;
    CUgraphNode nodes[3], before[2];
    CUgraphEdgeData edges[2];
    size_t count = 3;
    begin(scene.a);
    launch_add_one(&scene.words, scene.word, scene.a);
    must(cuEventRecord(scene.early, scene.a));
    must(cuStreamWaitEvent(scene.b, scene.early, 0));
    launch_add_one(&scene.words, scene.word, scene.b);
    must(cuEventRecord(scene.join, scene.b));
    must(cuStreamWaitEvent(scene.a, scene.join, 0));
    must(launch_with(&scene, scene.a, comes_early()));
    must(cuStreamEndCapture(scene.a, &graph));
    assert_int_equal(edge_to(graph, 1).type, 0);
    must(cuGraphGetNodes(graph, nodes, &count));
    count = 2;
    must(cuGraphNodeGetDependencies_v2(nodes[2], before, edges, &count));
    assert_int_equal(count, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(edges[i].type, 1);
        assert_int_equal(edges[i].from_port, 1);
    }
    must(cuGraphDestroy(graph));
    close_scene(&scene);
}

static void other_work_follows_by_the_same_edges(void **state)
{
    (void)state;
    struct scene scene = open_scene();
    CUgraph graph;
    begin(scene.a);
    must(launch_with(&scene, scene.a, records(scene.early, false)));
    must(cuStreamWaitEvent(scene.b, scene.early, 0));
    must(cuMemsetD32Async(device(scene.word), 0, 1, scene.b));
    must(cuEventRecord(scene.join, scene.b));
    must(cuStreamWaitEvent(scene.a, scene.early, 0)); // which comes behind the kernel anyway
    launch_add_one(&scene.words, scene.word, scene.a);
    must(cuStreamWaitEvent(scene.a, scene.join, 0));
    must(cuStreamEndCapture(scene.a, &graph));
    assert_int_equal(edge_to(graph, 1).type, 1);
    assert_int_equal(edge_to(graph, 1).from_port, 1);
    assert_int_equal(edge_to(graph, 2).type, 0);
    must(cuGraphDestroy(graph));
    close_scene(&scene);
}

static void a_wait_for_the_end_outweighs_an_early_one(void **state)
{
    (void)state;
    struct scene scene = open_scene();
    CUgraph graph;
    begin(scene.a);
    must(launch_with(&scene, scene.a, records(scene.early, false)));
    must(cuEventRecord(scene.join, scene.a));
    must(cuStreamWaitEvent(scene.b, scene.early, 0));
    must(cuStreamWaitEvent(scene.b, scene.join, 0));
    launch_add_one(&scene.words, scene.word, scene.b);
    must(cuEventRecord(scene.join, scene.b));
    must(cuStreamWaitEvent(scene.a, scene.join, 0));
    must(cuStreamEndCapture(scene.a, &graph));
    assert_int_equal(edge_to(graph, 1).type, 0);
    must(cuGraphDestroy(graph));
    close_scene(&scene);
}

static void outside_a_capture_the_event_comes_with_the_kernel(void **state)
{
    (void)state;
    struct scene scene = open_scene();
    struct gate gate;
    CUevent timed;
    must(cuEventCreate(&timed, 0));
    close_gate(&gate, scene.a);
    must(launch_with(&scene, scene.a, records(scene.early, false)));
    must(cuStreamWaitEvent(scene.b, scene.early, 0));
    launch_add_one(&scene.words, scene.word, scene.b);
    must_be(cuEventQuery(scene.early), CUDA_ERROR_NOT_READY);
    open_gate(&gate);
    must(cuStreamSynchronize(scene.b));
    assert_int_equal(scene.word[0], 2);
    must_be(launch_with(&scene, scene.a, records(timed, false)), CUDA_ERROR_NOT_SUPPORTED);
    CUlaunchAttribute external = records(scene.early, false);
    external.value.programmaticEvent.flags = CU_EVENT_RECORD_EXTERNAL;
    must_be(launch_with(&scene, scene.a, external), CUDA_ERROR_ILLEGAL_STATE);
    must_be(launch_with(&scene, scene.a, records_begin(NULL)), CUDA_ERROR_INVALID_HANDLE);
    must(cuStreamSynchronize(scene.a));
    assert_int_equal(scene.word[0], 2); // what was refused did not run
    must(cuEventDestroy_v2(timed));
    close_scene(&scene);
}

static void a_program_can_say_the_kinds_itself(void **state)
{
    (void)state;
    const CUgraphEdgeData early = { .from_port = 2, .type = 1 }, wrong = { .type = 2 };
    struct scene scene = open_scene();
    CUstreamCaptureStatus status;
    CUgraph graph, ended;
    CUgraphNode node;
    const CUgraphNode *after = NULL;
    const CUgraphEdgeData *edges = NULL;
    size_t count = 0;
    void *params[] = { &scene.word };
    const CUDA_KERNEL_NODE_PARAMS kernel = { scene.words.add_one, 1, 1, 1, 1, 1, 1, 0, params };
    must(cuGraphCreate(&graph, 0));
    must(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &kernel));
    must_be(cuStreamBeginCaptureToGraph(scene.a, graph, &node, &wrong, 1,
                                        CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_ERROR_INVALID_VALUE);
    must(cuStreamBeginCaptureToGraph(scene.a, graph, &node, &early, 1,
                                     CU_STREAM_CAPTURE_MODE_RELAXED));
    must_be(cuStreamGetCaptureInfo_v2(scene.a, &status, NULL, NULL, &after, &count),
            CUDA_ERROR_LOSSY_QUERY);
    must(cuStreamGetCaptureInfo_v3(scene.a, &status, NULL, NULL, &after, &edges, &count));
    assert_int_equal(count, 1);
    assert_ptr_equal(after[0], node);
    assert_int_equal(edges[0].from_port, 2);
    must_be(cuStreamGetCaptureInfo_v3(scene.a, &status, NULL, NULL, NULL, &edges, &count),
            CUDA_ERROR_INVALID_VALUE);
    launch_add_one(&scene.words, scene.word, scene.a);
    must_be(cuStreamUpdateCaptureDependencies_v2(scene.a, &node, &wrong, 1,
                                                 CU_STREAM_SET_CAPTURE_DEPENDENCIES),
            CUDA_ERROR_INVALID_VALUE);
    must(cuStreamGetCaptureInfo_v2(scene.a, &status, NULL, NULL, &after, &count));
    assert_int_equal(count, 1); // as before the refused call
    must(cuStreamUpdateCaptureDependencies_v2(scene.a, &node, &early, 1,
                                              CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    launch_add_one(&scene.words, scene.word, scene.a);
    CUgraphNode nodes[3];
    count = 3;
    must(cuGraphGetNodes(graph, nodes, &count));
    must(cuStreamUpdateCaptureDependencies(scene.a, &nodes[1], 1, 0));
    must(cuStreamEndCapture(scene.a, &ended));
    assert_int_equal(edge_to(graph, 1).from_port, 2);
    assert_int_equal(edge_to(graph, 2).from_port, 2);
    must(cuGraphDestroy(graph));
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_may_follow_early_on_its_stream),
        cmocka_unit_test(an_event_of_a_launch_leads_to_an_early_kernel),
        cmocka_unit_test(a_kernel_may_follow_several_early),
        cmocka_unit_test(other_work_follows_by_the_same_edges),
        cmocka_unit_test(a_wait_for_the_end_outweighs_an_early_one),
        cmocka_unit_test(outside_a_capture_the_event_comes_with_the_kernel),
        cmocka_unit_test(a_program_can_say_the_kinds_itself),
    };
    return cmocka_run_group_tests(tests, open_driver, close_driver);
}
