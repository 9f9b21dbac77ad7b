// SPDX-License-Identifier: Apache-2.0
// What ordering costs on CUDA, for the planner. The numbers were measured on an H200 with driver
// 580 by bench_gpu_launch; docs/measured/cuda.md has the tables.
#include "backends/cuda/cuda_vendor.h"
#include "backends/gpu/gpu_backend.h"

// Inside a driver graph: a chain of empty kernels takes 505 ns a node, of 2 us kernels 2494 ns.
// However many lanes there are, about 1000 empty kernels take 177 us and more with waits. The other
// numbers are those whose choice of lanes was nearest to the best over a sweep of 1 to 128 lanes.
// Those of islands were measured by bench_gpu_islands and bench_gpu_island_lanes.
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
};

// A kernel launched early starts 220 ns sooner behind one of 0.5 to 10 us.
//
// On streams the host queues: 2.5 to 3.3 us a launch in the cells of the table, 2.6 to 4.3 in six
// processes of sparse_mpm, and 0.1 to 1.6 us for a wait with its share of a record. What it takes
// decides where it is longer than what the lanes take: frames took the larger of the two. Kernels
// of one stream begin 1.4 us after the one before has ended, or 0.6 us sooner where they are
// launched early. They are nearly always, since what comes after a wait is the exception; so a plan
// counts on it, or one lane would look slower than it is.
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
