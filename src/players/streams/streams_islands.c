// SPDX-License-Identifier: Apache-2.0
// Stretches of lanes that are one kernel, launched on the stream of their lane. On GPUs only.
//
// A launch copies what the kernel's parameters are then, so a frame in flight keeps its arguments
// and a change costs no call of the driver.
#include "players/streams/streams.h"

#include <stdlib.h>

#include "backends/gpu/gpu_island_fit.h"
#include "base/error.h"
#include "players/graph/graph_islands.h"

struct streams_islands {
    struct gpu_backend *gpu;
    struct graph_islands all;
};

// What is inside costs the same wherever it is launched from.
void braid_streams_get_divided_model(struct backend *backend, braid_cost_model *out_model)
{
    const struct gpu_backend *gpu = gpu_from(backend);
    braid_cost_model graph;
    gpu->vendor->graph_cost_model(gpu, &graph);
    backend->ops->get_cost_model(backend, out_model);
    out_model->island_call_ns = graph.island_call_ns;
    out_model->island_start_ns = graph.island_start_ns;
    out_model->island_round_ns = graph.island_round_ns;
}

braid_status braid_streams_find_fits(struct backend *backend, const struct backend_task *tasks,
                                     uint32_t num, struct island_fit *out_fits)
{
    return braid_gpu_island_fits(gpu_from(backend), tasks, num, out_fits);
}

static braid_status make_all(struct streams_playing *streams, const struct stage *stage)
{
    struct streams_islands *islands = streams->islands;
    const struct program *program = stage->program;
    braid_status status = braid_graph_islands_create(islands->gpu, program, &islands->all);
    for (uint32_t i = 0; i < program->num_islands && !status; i++) {
        status = braid_graph_islands_make(&islands->all, islands->gpu, stage, i, NULL);
        if (status || !islands->all.items[i].island)
            continue;
        streams->base.num_islands++;
        streams->base.num_island_nodes += (uint32_t)program->islands[i].num_ops;
    }
    return status;
}

braid_status braid_streams_islands_create(struct streams_playing *streams,
                                          const struct stage *stage)
{
    struct gpu_scope scope;
    if (stage->program->num_islands == 0)
        return BRAID_OK;
    if (stage->num_profiled)
        return braid_error(BRAID_UNSUPPORTED, "islands have no times in streams mode");
    streams->islands = calloc(1, sizeof(*streams->islands));
    if (!streams->islands)
        return braid_error_no_memory("the islands of an exec");
    streams->islands->gpu = gpu_from(stage->device->backend);
    braid_status status = braid_gpu_enter(streams->islands->gpu, &scope, "creation of an exec");
    if (status)
        return status;
    status = make_all(streams, stage);
    braid_gpu_leave(streams->islands->gpu, &scope);
    return status;
}

void braid_streams_islands_destroy(struct streams_islands *islands)
{
    if (islands)
        braid_graph_islands_finish(islands->gpu, &islands->all);
    free(islands);
}

bool braid_streams_islands_have(const struct streams_islands *islands, uint32_t task)
{
    return islands && braid_graph_islands_have(&islands->all, task);
}

braid_status braid_streams_islands_submit(const struct streams_islands *islands, uint32_t task,
                                          struct backend_stream *stream)
{
    const struct graph_island *item = &islands->all.items[islands->all.island_of[task]];
    struct backend *backend = &islands->gpu->base;
    return islands->all.call_of[task] == 0 ? backend->ops->submit(backend, stream, &item->task)
                                           : BRAID_OK;
}

braid_status braid_streams_islands_set(struct playing *playing, const struct backend_task *task)
{
    struct streams_islands *islands = ((struct streams_playing *)playing)->islands;
    return braid_streams_islands_have(islands, task->node)
               ? braid_graph_islands_set(&islands->all, islands->gpu, task)
               : BRAID_OK;
}

void braid_streams_find_running(const struct playing *playing, struct running *running)
{
    const struct streams_islands *islands = ((const struct streams_playing *)playing)->islands;
    if (islands)
        braid_graph_islands_find_running(&islands->all, running);
}
