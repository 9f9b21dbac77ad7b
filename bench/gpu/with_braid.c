// SPDX-License-Identifier: Apache-2.0
// A shape as a Braid graph, on streams or as a driver graph.
#include <stdlib.h>

#include "gpu/bench.h"

struct with_braid {
    braid_device *device;
    braid_stream *stream;
    braid_exec *exec;
};

static void launch_exec(void *user)
{
    const struct with_braid *run = user;
    must(braid_exec_launch(run->exec, run->stream));
}

static void wait_for_exec(void *user)
{
    const struct with_braid *run = user;
    must(braid_stream_wait(run->stream));
}

static braid_graph *make_graph(const struct shape *shape, const struct body *body)
{
    braid_graph *graph;
    must(braid_graph_create(&graph));
    braid_node *nodes = calloc(shape->num_nodes, sizeof(*nodes));
    braid_node *after = calloc(shape->num_nodes, sizeof(*after));
    if (!nodes || !after)
        abort();
    for (uint32_t node = 0; node < shape->num_nodes; node++) {
        size_t num_after = 0;
        for (uint32_t i = shape->first[node]; i < shape->first[node + 1]; i++)
            after[num_after++] = nodes[shape->before[i]];
        const braid_kernel_node launch = {
            .node = { .after = after,
                      .num_after = num_after,
                      .cost_ns = body->ns ? body->ns : 1 }, // 0 would mean "not known"
            .kernel = body->starts_early ? &bench_spin_early : &bench_spin,
            .grid = { body->num_blocks, 1, 1 },
            .block = { body->num_blocks ? LARGE_BLOCK : 32, 1, 1 },
            .code_use = body->code_use,
            BRAID_ARGS(BRAID_ARG(body->cycles)),
        };
        must(braid_graph_add_kernel(graph, &launch, &nodes[node]));
    }
    free(nodes);
    free(after);
    return graph;
}

struct with_braid *braid_run_shape_as(braid_device *device, const struct shape *shape,
                                      const struct body *body, const braid_exec_options *options,
                                      struct system *out_system)
{
    struct with_braid *run = calloc(1, sizeof(*run));
    if (!run)
        abort();
    run->device = device;
    must(braid_stream_create(device, NULL, &run->stream));
    braid_graph *graph = make_graph(shape, body);
    double start = now_us();
    braid_status status = braid_exec_create(device, graph, options, &run->exec);
    double build_us = now_us() - start;
    braid_graph_destroy(graph);
    if (status == BRAID_UNSUPPORTED) {
        braid_finish_shape(run);
        return NULL;
    }
    must(status);
    braid_schedule_info info;
    braid_schedule_get_info(braid_exec_get_schedule(run->exec), &info);
    *out_system = (struct system){
        .name = options->mode == BRAID_MODE_STREAMS ? "Braid streams" : "Braid graph",
        .launch = launch_exec,
        .wait = wait_for_exec,
        .user = run,
        .build_us = build_us,
        .num_lanes = info.num_lanes,
        .num_waits = info.num_waits,
    };
    return run;
}

struct with_braid *braid_run_shape(braid_device *device, const struct shape *shape,
                                   const struct body *body, braid_exec_mode mode,
                                   uint32_t max_lanes, struct system *out_system)
{
    const braid_exec_options options = {
        .mode = mode,
        .max_lanes = max_lanes,
        .fixed_lanes = max_lanes != 0,
    };
    struct with_braid *run = braid_run_shape_as(device, shape, body, &options, out_system);
    if (!run)
        must(BRAID_UNSUPPORTED);
    return run;
}

const braid_exec *braid_shape_exec(const struct with_braid *run)
{
    return run->exec;
}

void braid_finish_shape(struct with_braid *run)
{
    braid_exec_destroy(run->exec);
    braid_stream_destroy(run->stream);
    free(run);
}
