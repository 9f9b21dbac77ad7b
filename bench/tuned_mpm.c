// SPDX-License-Identifier: Apache-2.0
// sparse_mpm, the example, for the tuning bench: without the costs that it gives.
#include <stdlib.h>

#include "../examples/sparse_mpm/frame.h"
#include "tuned.h"

enum { PARTICLES = 16000 };

struct mpm {
    struct mpm_scene scene;
    struct mpm_world world;
    struct mpm_frame frame;
};

static void finish(struct tuned_graph *graph)
{
    struct mpm *mpm = graph->more;
    mpm_frame_finish(&mpm->frame);
    mpm_world_finish(&mpm->world);
    mpm_scene_finish(&mpm->scene);
    free(mpm);
}

struct tuned_graph tuned_mpm(braid_device *device)
{
    struct mpm *mpm = calloc(1, sizeof(*mpm));
    if (!mpm)
        exit(1);
    mpm_scene_init(&mpm->scene, PARTICLES);
    mpm_world_init(&mpm->world, device, &mpm->scene);
    mpm_frame_init(&mpm->frame, &mpm->world);
    braid_graph *graph = mpm->frame.graph;
    for (uint32_t i = 0; i < braid_graph_get_num_nodes(graph); i++)
        tuned_check(braid_graph_set_cost(graph, braid_graph_get_node(graph, i), 0));
    return (struct tuned_graph){ .name = "sparse_mpm",
                                 .graph = graph,
                                 .memory = tuned_allocate(device, sizeof(double)),
                                 .more = mpm,
                                 .finish = finish };
}
