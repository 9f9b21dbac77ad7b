// SPDX-License-Identifier: Apache-2.0
// Nodes of the test kernels.
#include "contract/nodes.h"

braid_node add_empty(braid_graph *graph, braid_node_options options)
{
    braid_node node;
    contract_choose_place(graph, &options);
    check_ok(braid_graph_add_empty(graph, &(braid_empty){ options }, &node));
    return node;
}

static braid_node add_kernel(braid_graph *graph, const braid_kernel_node *launch)
{
    braid_node node;
    braid_kernel_node own = *launch;
    contract_choose_place(graph, &own.node);
    check_ok(braid_graph_add_kernel(graph, &own, &node));
    return node;
}

braid_node add_axpy(braid_graph *graph, braid_node_options options, uint32_t *to,
                    const uint32_t *from, uint32_t factor, uint32_t addend, uint32_t num)
{
    braid_kernel_node launch = { .node = options,
                                 .kernel = &test_axpy,
                                 .grid = { 4, 1, 1 },
                                 .block = { 32, 1, 1 },
                                 BRAID_ARGS(BRAID_ARG(to), BRAID_ARG(from), BRAID_ARG(factor),
                                            BRAID_ARG(addend), BRAID_ARG(num)) };
    return add_kernel(graph, &launch);
}

void add_axpy_of(braid_graph *graph, braid_resource to, braid_resource from, uint32_t factor,
                 uint32_t addend, uint32_t num)
{
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .node = { USES({ from, BRAID_READ }, { to, BRAID_WRITE }) },
                              .kernel = &test_axpy,
                              .grid = { 4, 1, 1 },
                              .block = { 32, 1, 1 },
                              BRAID_ARGS(braid_resource_address(&to), braid_resource_address(&from),
                                         BRAID_ARG(factor), BRAID_ARG(addend), BRAID_ARG(num)) },
        NULL));
}

braid_node add_add(braid_graph *graph, braid_node_options options, uint32_t *to, const uint32_t *a,
                   const uint32_t *b, uint32_t num)
{
    braid_kernel_node launch = { .node = options,
                                 .kernel = &test_add,
                                 .grid = { 4, 1, 1 },
                                 .block = { 32, 1, 1 },
                                 BRAID_ARGS(BRAID_ARG(to), BRAID_ARG(a), BRAID_ARG(b),
                                            BRAID_ARG(num)) };
    return add_kernel(graph, &launch);
}

braid_node add_busy(braid_graph *graph, braid_node_options options, uint64_t *interval, uint64_t ns)
{
    braid_kernel_node launch = { .node = options,
                                 .kernel = &test_busy,
                                 BRAID_ARGS(BRAID_ARG(interval), BRAID_ARG(ns)) };
    return add_kernel(graph, &launch);
}

braid_node add_count_blocks(braid_graph *graph, braid_node_options options, uint32_t *counts,
                            uint32_t *seen, braid_dim3 grid)
{
    braid_kernel_node launch = { .node = options,
                                 .kernel = &test_count_blocks,
                                 .grid = grid,
                                 .block = { 32, 1, 1 },
                                 BRAID_ARGS(BRAID_ARG(counts), BRAID_ARG(seen)) };
    return add_kernel(graph, &launch);
}

braid_node add_alone(braid_graph *graph, braid_node_options options, uint32_t *to, uint32_t addend)
{
    braid_kernel_node launch = { .node = options,
                                 .kernel = &test_alone,
                                 BRAID_ARGS(BRAID_ARG(to), BRAID_ARG(addend)) };
    return add_kernel(graph, &launch);
}

braid_node add_handshake(braid_graph *graph, braid_node_options options, uint32_t *flags,
                         uint32_t *met, uint32_t me)
{
    uint32_t other = 1 - me;
    uint64_t timeout_ns = TEST_TIMEOUT_NS;
    braid_kernel_node launch = { .node = options,
                                 .kernel = &test_handshake,
                                 BRAID_ARGS(BRAID_ARG(flags), BRAID_ARG(met), BRAID_ARG(me),
                                            BRAID_ARG(other), BRAID_ARG(timeout_ns)) };
    return add_kernel(graph, &launch);
}

braid_node add_meet(braid_graph *graph, braid_node_options options, uint32_t *arrived,
                    uint32_t num_blocks)
{
    uint32_t *met = arrived + 1;
    uint64_t timeout_ns = TEST_TIMEOUT_NS;
    braid_kernel_node launch = { .node = options,
                                 .kernel = &test_meet,
                                 .grid = { num_blocks, 1, 1 },
                                 .block = { 256, 1, 1 },
                                 .cooperative = true,
                                 BRAID_ARGS(BRAID_ARG(arrived), BRAID_ARG(met),
                                            BRAID_ARG(timeout_ns)) };
    return add_kernel(graph, &launch);
}

braid_node add_gate(braid_graph *graph, braid_node_options options, struct gate gate)
{
    uint64_t timeout_ns = TEST_TIMEOUT_NS;
    braid_kernel_node launch = { .node = options,
                                 .kernel = &test_gate,
                                 BRAID_ARGS(BRAID_ARG(gate.open), BRAID_ARG(gate.report),
                                            BRAID_ARG(timeout_ns)) };
    return add_kernel(graph, &launch);
}

braid_node add_stamp(braid_graph *graph, braid_node_options options, uint32_t *counter,
                     uint32_t *stamps, uint32_t index, uint64_t delay_ns)
{
    braid_kernel_node launch = { .node = options,
                                 .kernel = &test_stamp,
                                 BRAID_ARGS(BRAID_ARG(counter), BRAID_ARG(stamps), BRAID_ARG(index),
                                            BRAID_ARG(delay_ns)) };
    return add_kernel(graph, &launch);
}

braid_node add_copy(braid_graph *graph, braid_node_options options, void *to, const void *from,
                    uint64_t bytes)
{
    braid_node node;
    braid_copy copy = { .node = options, .to = to, .from = from, .bytes = bytes };
    contract_choose_place(graph, &copy.node);
    check_ok(braid_graph_add_copy(graph, &copy, &node));
    return node;
}

braid_node add_fill(braid_graph *graph, braid_node_options options, uint32_t *to, uint32_t value,
                    uint64_t num)
{
    braid_node node;
    braid_fill fill = {
        .node = options, .to = to, .value = value, .value_bytes = 4, .num_values = num
    };
    contract_choose_place(graph, &fill.node);
    check_ok(braid_graph_add_fill(graph, &fill, &node));
    return node;
}

braid_node add_host(braid_graph *graph, braid_node_options options, braid_host_function *call,
                    void *user)
{
    braid_node node;
    braid_host_call host_call = { .node = options, .call = call, .user = user };
    contract_choose_place(graph, &host_call.node);
    check_ok(braid_graph_add_host_call(graph, &host_call, &node));
    return node;
}

braid_node add_blocking(braid_graph *graph, braid_node_options options, braid_host_function *call,
                        void *user)
{
    braid_node node;
    braid_host_call host_call = { .node = options, .call = call, .user = user, .blocking = true };
    contract_choose_place(graph, &host_call.node);
    check_ok(braid_graph_add_host_call(graph, &host_call, &node));
    return node;
}

braid_node add_queue_call(braid_graph *graph, braid_node_options options,
                          braid_queue_function *call, void *user)
{
    braid_node node;
    braid_queue_call queued = { .node = options, .call = call, .user = user };
    check_ok(braid_graph_add_queue_call(graph, &queued, &node));
    return node;
}

static void add_list_kernels(braid_graph *graph, uint32_t *words)
{
    uint32_t *list = words, *other = words + 64, none = 0;
    braid_kernel_node launches[] = {
        { .kernel = &test_clear_list, BRAID_ARGS(BRAID_ARG(list)) },
        { .kernel = &test_generate_list,
          BRAID_ARGS(BRAID_ARG(list), BRAID_ARG(other), BRAID_ARG(none)) },
        { .kernel = &test_generate_from_parent,
          BRAID_ARGS(BRAID_ARG(list), BRAID_ARG(other), BRAID_ARG(other), BRAID_ARG(none)) },
        { .kernel = &test_loop_over_list,
          BRAID_ARGS(BRAID_ARG(list), BRAID_ARG(other), BRAID_ARG(none)) },
    };
    for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]); i++)
        add_kernel(graph, &launches[i]);
}

void add_every_kernel(braid_graph *graph, void *memory)
{
    const braid_node_options options = { 0 };
    uint32_t *words = memory, zero = 0;
    uint64_t *cells = memory, none = 0;
    add_axpy(graph, options, words, words, 1, 0, 1);
    add_add(graph, options, words, words, words, 1);
    add_list_kernels(graph, words);
    add_stamp(graph, options, words + 8, words + 16, 0, 0);
    braid_kernel_node keep = { .kernel = &test_keep,
                               BRAID_ARGS(BRAID_ARG(words), BRAID_ARG(words), BRAID_ARG(zero),
                                          BRAID_ARG(zero), BRAID_ARG(none)) };
    add_kernel(graph, &keep);
    braid_kernel_node mix = { .kernel = &test_mix,
                              BRAID_ARGS(BRAID_ARG(cells), BRAID_ARG(cells), BRAID_ARG(words),
                                         BRAID_ARG(zero), BRAID_ARG(zero), BRAID_ARG(words),
                                         BRAID_ARG(none), BRAID_ARG(none)) };
    braid_kernel_node handshake = { .kernel = &test_handshake,
                                    BRAID_ARGS(BRAID_ARG(words), BRAID_ARG(words), BRAID_ARG(zero),
                                               BRAID_ARG(zero), BRAID_ARG(none)) };
    braid_kernel_node gate = { .kernel = &test_gate,
                               BRAID_ARGS(BRAID_ARG(words), BRAID_ARG(words), BRAID_ARG(none)) };
    add_kernel(graph, &mix);
    add_kernel(graph, &handshake);
    add_kernel(graph, &gate);
    add_busy(graph, options, cells, 0);
    add_count_blocks(graph, options, words + 24, words + 25, (braid_dim3){ 1, 1, 1 });
}

braid_resource add_resource(braid_graph *graph, const char *name)
{
    braid_resource resource;
    check_ok(braid_graph_add_resource(graph, name, &resource));
    return resource;
}
