// SPDX-License-Identifier: Apache-2.0
// Several frames of an island in one launch, and what its lanes noted of the last.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_island.h"
#include "backends/gpu/gpu_island_maker.h"
#include "base/error.h"
#include "base/node_text.h"

enum {
    ROWS_BYTES = 65536, // up to which a driver has read pageable memory when a copy is queued
    MOST_NAMED = 4,     // nodes in a message
};

static size_t row_bytes(const struct gpu_island *island)
{
    return (size_t)16 * island->layout.num_args;
}

// HIP's runtime waits for the stream where the memory that is copied from is not its own.
braid_status braid_gpu_island_reserve_rows(struct gpu_backend *gpu, struct gpu_island *island)
{
    uint32_t most = (uint32_t)(ROWS_BYTES / row_bytes(island));
    if (most < 2 || gpu->vendor->index != GPU_CUDA)
        return BRAID_OK;
    island->host_rows = malloc(most * row_bytes(island));
    if (!island->host_rows)
        return braid_error_no_memory("an island");
    braid_status status = braid_gpu_allocate(&gpu->base, BRAID_MEMORY_DEVICE,
                                             most * row_bytes(island), &island->rows);
    island->most_rows = status ? 0 : most;
    return status;
}

static braid_status reserve_notes(struct gpu_backend *gpu, struct gpu_island *island)
{
    size_t lanes = (size_t)island->layout.num_blocks * island->layout.num_groups;
    const char *wish = getenv("BRAID_NOTE_NODES");
    void *notes = NULL;
    if (wish && strcmp(wish, "0") == 0)
        return BRAID_OK;
    braid_status status =
        braid_gpu_allocate(&gpu->base, BRAID_MEMORY_HOST, lanes * sizeof(uint32_t), &notes);
    if (status)
        return status;
    memset(notes, 0, lanes * sizeof(uint32_t));
    island->notes = notes;
    return BRAID_OK;
}

braid_status braid_gpu_island_reserve(struct gpu_backend *gpu, struct gpu_island *island)
{
    braid_status status = braid_gpu_island_reserve_rows(gpu, island);
    return status ? status : reserve_notes(gpu, island);
}

// Progress is compared as a difference of 32 bits with a sign.
uint32_t braid_gpu_island_most_frames(const struct gpu_island *island, bool in_rows)
{
    uint32_t most = (UINT32_C(1) << 30) / island->layout.span;
    if (in_rows && island->most_rows < most)
        most = island->most_rows;
    return most ? most : 1;
}

void braid_gpu_island_keep_row(struct gpu_island *island, uint32_t frame)
{
    memcpy(island->host_rows + frame * row_bytes(island), island->args, row_bytes(island));
}

gpu_result braid_gpu_island_launch_in_rows(struct gpu_backend *gpu, struct gpu_island *island,
                                           gpu_stream stream, uint32_t num_frames,
                                           const struct backend_launch **out_launch)
{
    *out_launch = braid_gpu_island_launch(island, num_frames);
    island->rows_now = island->rows;
    return gpu->api->copy(island->rows, island->host_rows, num_frames * row_bytes(island), stream);
}

// The node that a lane noted; NULL: it has none at hand.
static const struct backend_task *noted_task(const struct gpu_island *island, uint32_t lane,
                                             uint32_t note)
{
    const struct island_lists *lists = &island->lists;
    uint32_t call = lists->lane_first[lane] + (note - 1) / 2;
    return note && call < lists->lane_first[lane + 1] ? lists->calls[call].task : NULL;
}

static void append_node(char *text, size_t size, const struct backend_task *task, uint32_t lane,
                        uint32_t before)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s (lane %u)", before ? ", " : "",
             braid_node_text(task->node, task->name).text, lane);
}

void braid_gpu_island_describe(const struct gpu_island *island, char *text, size_t size)
{
    const struct island_lists *lists = &island->lists;
    const volatile uint32_t *notes = island->notes;
    uint32_t num = 0;
    if (!notes) {
        snprintf(text, size, "its island of %u calls may have been running", lists->num_calls);
        return;
    }
    snprintf(text, size, "in its island these nodes were running: ");
    for (uint32_t lane = 0; lane < lists->num_lanes; lane++) {
        uint32_t note = notes[lane];
        const struct backend_task *task = note % 2 == 0 ? noted_task(island, lane, note) : NULL;
        if (task && num < MOST_NAMED)
            append_node(text, size, task, lane, num);
        num += task != NULL;
    }
    size_t used = strlen(text);
    if (num > MOST_NAMED)
        snprintf(text + used, size - used, " and %u more", num - MOST_NAMED);
    else if (num == 0)
        snprintf(text, size, "no node of its island was running");
}

void braid_gpu_island_set_times(struct gpu_island *island, void *stamps, uint32_t num_in_lane,
                                uint32_t num_frames)
{
    island->times = stamps;
    island->times_of_lane = num_in_lane;
    island->times_room = num_frames;
}

void braid_gpu_island_set_first(struct gpu_island *island, uint32_t frame)
{
    island->times_first = frame;
}

uint64_t braid_gpu_island_count_stamps(const struct gpu_island *island, uint32_t *out_num_in_lane)
{
    const struct island_lists *lists = &island->lists;
    uint32_t most = 1;
    for (uint32_t lane = 0; lane < lists->num_lanes; lane++) {
        uint32_t num = lists->lane_first[lane + 1] - lists->lane_first[lane];
        most = num > most ? num : most;
    }
    *out_num_in_lane = most;
    const struct island_layout *layout = &island->layout;
    return (uint64_t)most * (layout->chain ? 1 : layout->num_blocks * layout->num_groups);
}

uint64_t braid_gpu_island_stamp_of(const struct gpu_island *island, uint32_t call)
{
    const struct island_lists *lists = &island->lists;
    uint32_t lane = 0;
    while (call >= lists->lane_first[lane + 1])
        lane++;
    return (uint64_t)lane * island->times_of_lane + call - lists->lane_first[lane];
}
