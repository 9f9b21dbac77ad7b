// SPDX-License-Identifier: Apache-2.0
// Costs of calls and waits in each shape of an island, and its room for the blocks of a call.
//
// In an island a node is a call. A lane that is not alone looks for waits and publications. The
// warps of one block see each other's progress in shared memory; lanes of several blocks see it in
// the device's second cache.
#include "islands/island_model.h"

#include "backends/gpu/gpu_backend.h"
#include "islands/plan_inside.h"

enum {
    // From the end of a call to the start of one on another lane that waits for it, in the same
    // block or in another. Measured by bench_gpu_islands.
    LANE_WAIT_NS = 140,
    BLOCK_WAIT_NS = 1200,
    // Fitted to bench_gpu_island_lanes, whose 38 plans of several lanes these predict within 3 %
    // (root mean square). CALL is a call's time beyond that of a chain's call. BUSY is the lane's
    // extra time for a call that waits. LANE is for one block, BLOCK for several.
    LANE_CALL_NS = 36,
    LANE_BUSY_NS = 115,
    BLOCK_CALL_NS = 60,
    BLOCK_BUSY_NS = 500,
    LANES_OF_A_BLOCK = 32,
    MOST_LANES = 128,
};

static void get_model(struct backend *backend, uint32_t num_lanes, bool in_a_block,
                      braid_cost_model *out_model)
{
    const struct gpu_backend *gpu = gpu_from(backend);
    braid_cost_model graph;
    gpu->vendor->graph_cost_model(gpu, &graph);
    *out_model = (braid_cost_model){
        .default_cost_ns = graph.default_cost_ns,
        .node_ns = graph.island_call_ns,
        .wait_ns = in_a_block ? LANE_WAIT_NS : BLOCK_WAIT_NS,
        .root_ns = 20,
        .max_concurrent = num_lanes,
        .island_start_ns = graph.island_start_ns,
        .iteration_ns = PLAN_ITERATION_INSIDE_NS,
    };
    if (num_lanes > 1)
        out_model->node_ns += in_a_block ? LANE_CALL_NS : BLOCK_CALL_NS;
}

// A lane's blocks run one after another.
static void get_room(struct backend *backend, uint64_t wait_busy_ns, struct plan_room *out_room)
{
    const struct gpu_backend *gpu = gpu_from(backend);
    braid_cost_model graph;
    gpu->vendor->graph_cost_model(gpu, &graph);
    *out_room = (struct plan_room){ .groups = 1,
                                    .round_ns = graph.island_round_ns,
                                    .max_threads = graph.max_threads,
                                    .wait_busy_ns = wait_busy_ns };
}

static void get_chain_model(struct backend *backend, braid_cost_model *out_model)
{
    get_model(backend, 1, true, out_model);
}

static bool get_chain_room(struct backend *backend, const struct island_fit *fits, uint32_t num,
                           braid_cost_model *model, struct plan_room *out_room)
{
    (void)model;
    get_room(backend, 0, out_room);
    out_room->groups = braid_plan_groups_of(fits, num);
    return true;
}

static void get_narrow_model(struct backend *backend, braid_cost_model *out_model)
{
    get_model(backend, LANES_OF_A_BLOCK, true, out_model);
}

// As many lanes as the threads of a block hold.
static bool get_narrow_room(struct backend *backend, const struct island_fit *fits, uint32_t num,
                            braid_cost_model *model, struct plan_room *out_room)
{
    get_room(backend, LANE_BUSY_NS, out_room);
    out_room->shares_unit = true;
    model->max_concurrent = braid_plan_groups_of(fits, num);
    return model->max_concurrent > 1;
}

static void get_wide_model(struct backend *backend, braid_cost_model *out_model)
{
    get_model(backend, MOST_LANES, false, out_model);
}

static bool get_wide_room(struct backend *backend, const struct island_fit *fits, uint32_t num,
                          braid_cost_model *model, struct plan_room *out_room)
{
    (void)fits, (void)num, (void)model;
    get_room(backend, BLOCK_BUSY_NS, out_room);
    return true;
}

const struct island_shape braid_island_shapes[ISLAND_NUM_SHAPES] = {
    { "island of one lane", get_chain_model, get_chain_room },
    { "island", get_narrow_model, get_narrow_room },
    { "wide island", get_wide_model, get_wide_room },
};
