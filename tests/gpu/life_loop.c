// SPDX-License-Identifier: Apache-2.0
// What a life does with a loop, and with a branch in it.
#include "gpu/life_loop.h"

#include "gpu/frame.h"
#include "support/left_out.h"

static braid_status add_word(braid_graph *graph, const char *name, uint32_t value,
                             braid_resource *out_word)
{
    braid_status status = braid_graph_add_transient(graph, name, 4, 0, out_word);
    const braid_access access = { *out_word, BRAID_WRITE };
    const braid_fill fill = {
        .node = { .accesses = &access, .num_accesses = 1 },
        .to_resource = *out_word,
        .value = value,
        .value_bytes = 4,
        .num_values = 1,
    };
    return status ? status : braid_graph_add_fill(graph, &fill, NULL);
}

// The kernel adds one as well. With many blocks it is in no island.
static braid_status add_sum(braid_graph *graph, braid_resource to, braid_resource from,
                            uint32_t num_blocks)
{
    const uint32_t one = 1;
    const braid_access accesses[] = { { to, BRAID_READ_WRITE }, { from, BRAID_READ } };
    const braid_kernel_node launch = {
        .node = { .accesses = accesses, .num_accesses = 2 },
        .kernel = &sum_kernel,
        .grid = { num_blocks, 1, 1 },
        BRAID_ARGS(braid_resource_address(&to), braid_resource_address(&to),
                   braid_resource_address(&from), BRAID_ARG(one)),
    };
    return braid_graph_add_kernel(graph, &launch, NULL);
}

// Its memory grows, and with it all addresses of the frame change.
static braid_status add_scratch(braid_graph *graph, braid_resource from,
                                braid_resource *out_scratch)
{
    const uint32_t one = 1;
    braid_status status =
        braid_graph_add_scratch(graph, "scratch", LIFE_SCRATCH_BYTES, 0, out_scratch);
    const braid_access access = { from, BRAID_READ };
    const braid_kernel_node launch = {
        .node = { .accesses = &access, .num_accesses = 1 },
        .kernel = &sum_kernel,
        BRAID_ARGS(braid_resource_address(out_scratch), braid_resource_address(&from),
                   braid_resource_address(&from), BRAID_ARG(one)),
    };
    return status ? status : braid_graph_add_kernel(graph, &launch, NULL);
}

static braid_status add_branch(braid_graph *graph, braid_resource condition, braid_resource to,
                               braid_resource from)
{
    braid_status status = braid_graph_begin_if(graph, &(braid_if){ .condition = condition }, NULL);
    if (!status)
        status = add_sum(graph, to, from, 3000);
    if (!status)
        status = braid_graph_else(graph);
    if (!status)
        status = add_sum(graph, to, condition, 1);
    return status ? status : braid_graph_end(graph);
}

static void call_nothing(void *user)
{
    (void)user;
}

// Drivers' graphs have none inside a loop.
static braid_status add_host_call(braid_graph *graph)
{
    return braid_graph_add_host_call(graph, &(braid_host_call){ .call = call_nothing }, NULL);
}

static braid_status fill_graph(braid_graph *graph, struct life_loop *loop)
{
    braid_resource left, less, other;
    braid_status status = add_word(graph, "left", LIFE_ITERATIONS, &left);
    if (!status)
        status = add_word(graph, "less", UINT32_MAX - 1, &less);
    if (!status)
        status = add_word(graph, "other", 1, &other);
    const braid_loop outer = { .condition = left, .most = 50 }, inner = { .times = 2 };
    if (!status)
        status = braid_graph_begin_loop(graph, &outer, &loop->node);
    if (!status)
        status = add_sum(graph, left, less, 1);
    if (!status && loop->is_driven)
        status = add_host_call(graph);
    if (!status) // first, since sweeps fail the first and the last call of each kind
        status = add_branch(graph, left, other, less);
    if (!status)
        status = braid_graph_begin_loop(graph, &inner, NULL);
    if (!status)
        status = add_sum(graph, other, less, 1);
    if (!status)
        status = add_scratch(graph, other, &loop->scratch);
    if (!status)
        status = braid_graph_end(graph);
    return status ? status : braid_graph_end(graph);
}

braid_status life_create_loop(braid_device *device, braid_exec_mode mode, struct life_loop *loop)
{
    braid_graph *graph = NULL;
    braid_status status = BRAID_OK;
    if (!loop->is_alone)
        status = unless_left_out(braid_memory_pool_create(device, NULL, &loop->pool));
    const braid_exec_options options = { .mode = mode,
                                         .black_box = !loop->is_driven || loop->is_noted,
                                         .pool = loop->pool };
    const braid_exec_options timed = { .mode = mode, .frames_kept = 1, .pool = loop->pool };
    if (!status)
        status = braid_graph_create(&graph);
    if (!status)
        status = fill_graph(graph, loop);
    if (!status)
        status = braid_exec_create(device, graph, &options, &loop->exec);
    if (!status && !loop->is_driven)
        status = braid_exec_create(device, graph, &timed, &loop->timed);
    braid_graph_destroy(graph);
    if (status) {
        braid_exec_destroy(loop->exec);
        braid_memory_pool_destroy(loop->pool);
        *loop = (struct life_loop){ .is_alone = loop->is_alone,
                                    .is_driven = loop->is_driven,
                                    .is_noted = loop->is_noted };
    }
    loop->scratch_bytes = LIFE_SCRATCH_BYTES;
    return status;
}

braid_status life_grow_loop(struct life_loop *loop)
{
    loop->scratch_bytes *= 2;
    return braid_exec_set_scratch(loop->exec, loop->scratch, loop->scratch_bytes);
}

braid_status life_run_loop(struct life_loop *loop, braid_stream *stream)
{
    braid_status status = braid_exec_launch(loop->exec, stream);
    if (!status)
        status = braid_exec_wait(loop->exec);
    if (!status)
        status = braid_exec_get_iterations(loop->exec, loop->node, &loop->num);
    braid_timings timings;
    if (status || loop->is_driven)
        return status;
    status = braid_exec_launch(loop->timed, stream);
    if (!status)
        status = braid_exec_wait(loop->timed);
    return status ? status : unless_left_out(braid_exec_get_timings(loop->timed, &timings));
}

void life_finish_loop(struct life_loop *loop)
{
    braid_exec_destroy(loop->exec);
    braid_exec_destroy(loop->timed);
    braid_memory_pool_destroy(loop->pool);
}
