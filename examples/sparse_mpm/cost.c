// SPDX-License-Identifier: Apache-2.0
// Estimates: the planner needs to know which branch is the heavy one, not the exact time.
#include "cost.h"

static const uint32_t BLOCK_SIZE = 64;

// Nanoseconds an element takes on one worker, measured on a 2.5 GHz Xeon (Cascade Lake).
static const uint32_t cpu_element_ns[MPM_NUM_KERNELS] = {
    [MPM_CLEAR_LIST] = 1,         [MPM_LIST_POINTERS] = 2, [MPM_LIST_PARTS] = 4,
    [MPM_CLEAR_CELLS] = 1,        [MPM_MARK_SLOTS] = 18,   [MPM_ACTIVATE] = 2,
    [MPM_PARTICLES_TO_GRID] = 70, [MPM_UPDATE_GRID] = 12,  [MPM_UPDATE_FROM] = 12,
    [MPM_GRID_TO_PARTICLES] = 55, [MPM_FADE_FOAM] = 3,     [MPM_DEACTIVATE] = 20,
    [MPM_FREE_RECYCLED] = 1,
};

// A GPU does all elements of these small kernels at once: what counts is the length of one thread,
// and how many add to the same words. From the first start of a block to the last end, as blocks
// wrote them down (the device's global timer) on an H200.
static const uint32_t gpu_kernel_ns[MPM_NUM_KERNELS] = {
    [MPM_CLEAR_LIST] = 500,         [MPM_LIST_POINTERS] = 1000, [MPM_LIST_PARTS] = 1000,
    [MPM_CLEAR_CELLS] = 1000,       [MPM_MARK_SLOTS] = 6000,    [MPM_ACTIVATE] = 900,
    [MPM_PARTICLES_TO_GRID] = 6500, [MPM_UPDATE_GRID] = 1700,   [MPM_UPDATE_FROM] = 1700,
    [MPM_GRID_TO_PARTICLES] = 2300, [MPM_FADE_FOAM] = 1100,     [MPM_DEACTIVATE] = 13000,
    [MPM_FREE_RECYCLED] = 900,
};

// The elements that a kernel visits. The blocks that will be active are not known here: about one
// for every 128 particles (half the 8 x 8 cells x 4 particles of a full one).
static uint32_t num_elements(const struct mpm_frame *frame, enum mpm_kernel kernel, int material)
{
    const struct mpm_scene *scene = frame->world->scene;
    uint32_t num_particles = scene->num_particles[material];
    uint32_t num_active = num_particles / 128 + 1;
    switch (kernel) {
    case MPM_CLEAR_LIST:
        return 1;
    case MPM_LIST_POINTERS:
    case MPM_ACTIVATE:
        return frame->world->grids.of[material].num_slots;
    case MPM_LIST_PARTS:
        return num_active * MPM_ENTRIES_A_BLOCK;
    case MPM_CLEAR_CELLS:
    case MPM_UPDATE_GRID:
    case MPM_UPDATE_FROM:
    case MPM_FADE_FOAM:
        return num_active * MPM_BLOCK_CELLS;
    case MPM_DEACTIVATE:
    case MPM_FREE_RECYCLED:
        return num_active;
    default:
        return num_particles;
    }
}

// Atomic sums would make this kernel twice as slow on a CPU, so there it has one block, which no
// one may split: its concurrency comes from the other materials' nodes.
static bool is_alone(const struct mpm_frame *frame, enum mpm_kernel kernel)
{
    return kernel == MPM_CLEAR_LIST || (frame->on_cpu && kernel == MPM_PARTICLES_TO_GRID);
}

struct mpm_shape mpm_shape_of(const struct mpm_frame *frame, enum mpm_kernel kernel, int material)
{
    uint32_t elements = num_elements(frame, kernel, material);
    bool alone = is_alone(frame, kernel);
    return (struct mpm_shape){
        .num_blocks = alone ? 1 : (elements + BLOCK_SIZE - 1) / BLOCK_SIZE,
        .block_size = alone ? 1 : BLOCK_SIZE,
        .cost_ns = frame->on_cpu ? 100 + (uint64_t)elements * cpu_element_ns[kernel]
                                 : gpu_kernel_ns[kernel],
    };
}
