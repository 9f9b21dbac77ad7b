// SPDX-License-Identifier: Apache-2.0
// Graphs run in a random order that their edges allow, so that a missing edge shows.
#include <stdio.h>
#include <string.h>

#include "driver.h"

enum { NUM_NODES = 8 };

// Each host node notes its letter.
static char trace[NUM_NODES + 1];
static atomic_size_t trace_length;
static char letters[NUM_NODES];

static void note(void *letter)
{
    trace[atomic_fetch_add(&trace_length, 1)] = *(char *)letter;
}

static CUgraphNode add_note(CUgraph graph, int which, const CUgraphNode *after, size_t num_after)
{
    CUgraphNode node = NULL;
    letters[which] = (char)('a' + which);
    const CUDA_HOST_NODE_PARAMS params = { note, &letters[which] };
    must(cuGraphAddHostNode(&node, graph, after, num_after, &params));
    return node;
}

static CUgraphExec instantiate(CUgraph graph)
{
    CUgraphExec exec = NULL;
    must(cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

static void run(CUgraphExec exec, CUstream stream)
{
    memset(trace, 0, sizeof(trace));
    atomic_store(&trace_length, 0);
    must(cuGraphLaunch(exec, stream));
    must(cuStreamSynchronize(stream));
    assert_int_equal(strlen(trace), NUM_NODES);
}

// A graph without edges: two launches hardly agree, and every node comes first some time.
static void free_nodes_come_in_any_order(void **state)
{
    (void)state;
    bool was_first[NUM_NODES] = { false };
    CUgraph graph;
    CUstream stream = make_stream();
    must(cuGraphCreate(&graph, 0));
    for (int i = 0; i < NUM_NODES; i++)
        add_note(graph, i, NULL, 0);
    CUgraphExec exec = instantiate(graph);
    for (int launch = 0; launch < 200; launch++) {
        run(exec, stream);
        was_first[trace[0] - 'a'] = true;
    }
    for (int i = 0; i < NUM_NODES; i++)
        assert_true(was_first[i]);
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
    must(cuStreamDestroy_v2(stream));
}

// A binary tree in the heap's numbering: node i after node (i - 1) / 2.
static CUgraph make_tree(void)
{
    CUgraph graph;
    CUgraphNode nodes[NUM_NODES];
    must(cuGraphCreate(&graph, 0));
    for (int i = 0; i < NUM_NODES; i++)
        nodes[i] = add_note(graph, i, NULL, 0);
    for (int i = 1; i < NUM_NODES; i++)
        must(cuGraphAddDependencies(graph, &nodes[(i - 1) / 2], &nodes[i], 1));
    return graph;
}

static void check_tree_order(void)
{
    for (int i = 1; i < NUM_NODES; i++) {
        const char *child = strchr(trace, 'a' + i), *parent = strchr(trace, 'a' + (i - 1) / 2);
        assert_non_null(child);
        assert_non_null(parent);
        assert_true(parent < child);
    }
}

static void edges_are_kept(void **state)
{
    (void)state;
    CUgraph graph = make_tree();
    CUstream stream = make_stream();
    CUgraphExec exec = instantiate(graph);
    for (int launch = 0; launch < 100; launch++) {
        run(exec, stream);
        check_tree_order();
    }
    assert_true(standin_configure("BRAID_STANDIN_GRAPH_THREADS", "2"));
    assert_true(standin_configure("BRAID_STANDIN_SLOW_US", "20"));
    for (int launch = 0; launch < 20; launch++) {
        run(exec, stream);
        check_tree_order();
    }
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
    must(cuStreamDestroy_v2(stream));
}

// Two nodes that each wait for the other run together only where two may run at once.
static atomic_int num_met;

static void meet(void *unused)
{
    (void)unused;
    atomic_fetch_add(&num_met, 1);
    while (atomic_load(&num_met) < 2)
        ;
}

static void two_threads_run_two_nodes_at_once(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphNode node;
    const CUDA_HOST_NODE_PARAMS params = { meet, NULL };
    assert_true(standin_configure("BRAID_STANDIN_GRAPH_THREADS", "2"));
    must(cuGraphCreate(&graph, 0));
    must(cuGraphAddHostNode(&node, graph, NULL, 0, &params));
    must(cuGraphAddHostNode(&node, graph, NULL, 0, &params));
    CUgraphExec exec = instantiate(graph);
    must(cuGraphLaunch(exec, NULL));
    must(cuStreamSynchronize(NULL));
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
}

// memory[1] = memory[0] after memory[0] was incremented; the edge may be missing.
static bool result_is_right(const struct words *words, unsigned *memory, bool with_edge, int seed)
{
    char text[16];
    CUgraph graph;
    CUgraphNode add, copy;
    unsigned *to = &memory[1], *from = &memory[0];
    void *add_params[] = { &from }, *copy_params[] = { &to, &from };
    const CUDA_KERNEL_NODE_PARAMS add_node = { words->add_one, 1, 1, 1, 1, 1, 1, 0, add_params };
    const CUDA_KERNEL_NODE_PARAMS copy_node = {
        words->copy_word, 1, 1, 1, 1, 1, 1, 0, copy_params
    };
    snprintf(text, sizeof(text), "%d", seed);
    assert_true(standin_configure("BRAID_STANDIN_SEED", text));
    must(cuMemsetD32_v2(device(memory), 0, 2));
    must(cuGraphCreate(&graph, 0));
    must(cuGraphAddKernelNode_v2(&add, graph, NULL, 0, &add_node));
    must(cuGraphAddKernelNode_v2(&copy, graph, &add, with_edge ? 1 : 0, &copy_node));
    CUgraphExec exec = instantiate(graph);
    must(cuGraphLaunch(exec, NULL));
    must(cuStreamSynchronize(NULL));
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
    return memory[1] == 1;
}

static void a_missing_edge_is_caught_by_some_seed(void **state)
{
    (void)state;
    struct words words = load_words();
    unsigned *memory = make_memory(2);
    int num_right = 0, num_wrong = 0;
    for (int seed = 1; seed <= 40; seed++) {
        assert_true(result_is_right(&words, memory, true, seed));
        bool right = result_is_right(&words, memory, false, seed);
        num_right += right;
        num_wrong += !right;
    }
    assert_true(num_right > 0);
    assert_true(num_wrong > 0);
    free_memory(memory);
    must(cuModuleUnload(words.module));
}

static void a_child_graph_runs_between_its_neighbours(void **state)
{
    (void)state;
    CUgraph graph, child;
    CUgraphNode nodes[2], inner, last;
    CUstream stream = make_stream();
    must(cuGraphCreate(&graph, 0));
    must(cuGraphCreate(&child, 0));
    for (int i = 1; i < NUM_NODES - 1; i++)
        add_note(child, i, NULL, 0);
    nodes[0] = add_note(graph, 0, NULL, 0);
    must(cuGraphAddChildGraphNode(&inner, graph, nodes, 1, child));
    must(cuGraphDestroy(child)); // the node has a copy
    must(cuGraphAddEmptyNode(&nodes[1], graph, &inner, 1));
    last = add_note(graph, NUM_NODES - 1, &nodes[1], 1);
    assert_non_null(last);
    CUgraphExec exec = instantiate(graph);
    for (int launch = 0; launch < 20; launch++) {
        run(exec, stream);
        assert_int_equal(trace[0], 'a');
        assert_int_equal(trace[NUM_NODES - 1], 'a' + NUM_NODES - 1);
    }
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
    must(cuStreamDestroy_v2(stream));
}

static void a_cycle_cannot_be_instantiated(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphNode a, b;
    CUgraphExec exec;
    must(cuGraphCreate(&graph, 0));
    must(cuGraphAddEmptyNode(&a, graph, NULL, 0));
    must(cuGraphAddEmptyNode(&b, graph, &a, 1));
    must_be(cuGraphAddDependencies(graph, &a, &b, 1), CUDA_ERROR_INVALID_VALUE); // twice
    must_be(cuGraphAddDependencies(graph, &a, &a, 1), CUDA_ERROR_INVALID_VALUE);
    must(cuGraphAddDependencies(graph, &b, &a, 1));
    must_be(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
    must(cuGraphRemoveDependencies(graph, &b, &a, 1));
    must(cuGraphInstantiateWithFlags(&exec, graph, 0));
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
}

static void a_graph_tells_its_nodes_and_edges(void **state)
{
    (void)state;
    CUgraph graph = make_tree();
    CUgraphNode nodes[NUM_NODES], from[NUM_NODES], to[NUM_NODES];
    CUgraphNodeType type;
    size_t count = NUM_NODES;
    must(cuGraphGetNodes(graph, nodes, &count));
    assert_int_equal(count, NUM_NODES);
    must(cuGraphNodeGetType(nodes[0], &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_HOST);
    count = 0;
    must(cuGraphGetEdges(graph, NULL, NULL, &count));
    assert_int_equal(count, NUM_NODES - 1);
    must(cuGraphGetEdges(graph, from, to, &count));
    assert_ptr_equal(from[0], nodes[0]);
    assert_ptr_equal(to[0], nodes[1]);
    must(cuGraphGetRootNodes(graph, from, &count));
    assert_int_equal(count, 1);
    must(cuGraphDestroyNode(nodes[0]));
    count = 0;
    must(cuGraphGetRootNodes(graph, NULL, &count));
    assert_int_equal(count, 2);
    must_be(cuGraphNodeGetType(nodes[0], &type), CUDA_ERROR_INVALID_VALUE);
    must(cuGraphDestroy(graph));
}

static void programmatic_edges_are_kept_and_told(void **state)
{
    (void)state;
    struct words words = load_words();
    unsigned *memory = make_memory(1);
    void *params[] = { &memory };
    const CUDA_KERNEL_NODE_PARAMS kernel = { words.add_one, 1, 1, 1, 1, 1, 1, 0, params };
    const CUgraphEdgeData programmatic = { .from_port = 1, .type = 1 };
    CUgraphEdgeData data[1];
    CUgraph graph;
    CUgraphNode a, b, from[1], to[1];
    size_t count = 1;
    must(cuGraphCreate(&graph, 0));
    must(cuGraphAddKernelNode_v2(&a, graph, NULL, 0, &kernel));
    must(cuGraphAddKernelNode_v2(&b, graph, NULL, 0, &kernel));
    must(cuGraphAddDependencies_v2(graph, &a, &b, &programmatic, 1));
    must(cuGraphGetEdges_v2(graph, from, to, data, &count));
    assert_memory_equal(data, &programmatic, sizeof(programmatic));
    must_be(cuGraphGetEdges(graph, from, to, &count), CUDA_ERROR_LOSSY_QUERY);
    must(cuGraphDestroy(graph));
    free_memory(memory);
    must(cuModuleUnload(words.module));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(free_nodes_come_in_any_order, open_driver, close_driver),
        cmocka_unit_test_setup_teardown(edges_are_kept, open_driver, close_driver),
        cmocka_unit_test_setup_teardown(two_threads_run_two_nodes_at_once, open_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(a_missing_edge_is_caught_by_some_seed, open_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(a_child_graph_runs_between_its_neighbours, open_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(a_cycle_cannot_be_instantiated, open_driver, close_driver),
        cmocka_unit_test_setup_teardown(a_graph_tells_its_nodes_and_edges, open_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(programmatic_edges_are_kept_and_told, open_driver,
                                        close_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
