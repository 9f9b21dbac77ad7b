// SPDX-License-Identifier: Apache-2.0
// CUDA: costs of launches, waits and islands, for the planner.
#include "backends/cuda/cuda_vendor.h"

#include "backends/gpu/gpu_backend.h"

// bench_gpu_launch measured the numbers on an H200 with driver 580; docs/measured/cuda.md has the
// tables.
//
// Inside a driver graph: a chain of empty kernels takes 505 ns a node, of 2 us kernels 2494 ns.
// However many lanes there are, about 1000 empty kernels take 177 us and more with waits. The other
// numbers are those whose choice of lanes was nearest to the best over a sweep of 1 to 128 lanes.
// Those of islands were measured by bench_gpu_islands and bench_gpu_island_lanes, and that of loops
// by bench_gpu_loops.
static const braid_cost_model graph_model = {
    .default_cost_ns = 5000,
    .node_ns = 500,
    .wait_ns = 800,
    .root_ns = 100,
    .max_concurrent = 128,
    .issue_ns = 160,
    .issue_wait_ns = 8,
    .early_ns = 220,
    .island_call_ns = 50,
    .island_start_ns = 700,
    .island_round_ns = 600,
    .iteration_ns = 4500,
};

// A kernel launched early starts 220 ns sooner behind one of 0.5 to 10 us.
//
// On streams the host queues. A launch takes 2.5 to 3.3 us in the cells of the table, and 2.6 to
// 4.3 in six processes of sparse_mpm. A wait with its share of a record takes 0.1 to 1.6 us. Frames
// took the larger of the host's time and the lanes' time. A kernel begins 1.4 us after its
// predecessor in the stream has ended, or 0.6 us sooner with an early start. Nearly all kernels
// start early, since those behind a wait are the exception. So plans count on it: otherwise one
// lane would look slower than it is.
static const braid_cost_model stream_model = {
    .default_cost_ns = 5000,
    .node_ns = 1440,
    .wait_ns = 2500,
    .root_ns = 500,
    .max_concurrent = 32,
    .host_issues = 1,
    .issue_ns = 3500,
    .issue_wait_ns = 1000,
    .early_ns = 600,
    .iteration_ns = 4500,
};

// `starts_early`: the driver has the call that launches a kernel early.
static void copy_model(const struct gpu_backend *gpu, const braid_cost_model *model,
                       bool starts_early, braid_cost_model *out_model)
{
    *out_model = *model;
    if (!starts_early || gpu->attributes[GPU_MAJOR] < 9)
        out_model->early_ns = 0;
    out_model->max_threads =
        (uint64_t)gpu->attributes[GPU_NUM_UNITS] * (uint64_t)gpu->attributes[GPU_UNIT_THREADS];
}

void braid_cuda_stream_cost_model(const struct gpu_backend *gpu, braid_cost_model *out_model)
{
    copy_model(gpu, &stream_model, gpu->api->launch_config, out_model);
    out_model->node_ns -= out_model->early_ns;
}

void braid_cuda_graph_cost_model(const struct gpu_backend *gpu, braid_cost_model *out_model)
{
    copy_model(gpu, &graph_model, gpu->api->graph_add_edges, out_model);
}
