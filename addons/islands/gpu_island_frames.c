// SPDX-License-Identifier: Apache-2.0
// The frames of an island: several in one launch, the times that its calls write, and notes on the
// nodes that run.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_kept_memory.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/running.h"
#include "islands/gpu_island.h"

// ---- notes of its lanes on the nodes they are at, and reading them after a fault ----

// Only messages after a fault need them.
static void tell_of_none(const struct error_attempt *attempt, braid_status status)
{
    if (status)
        (void)braid_error(status,
                          "no memory for the notes of islands, so that none of their nodes can be "
                          "named after a fault: %s",
                          braid_error_get_message());
    braid_error_end_noted(attempt, status);
}

braid_status braid_gpu_island_notes_take(struct gpu_backend *gpu, size_t num, uint32_t **out_notes)
{
    const char *wish = secure_getenv("BRAID_NOTE_NODES");
    void *notes = NULL;
    if (num == 0 || (wish && strcmp(wish, "0") == 0))
        return BRAID_OK;
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status =
        braid_gpu_kept_memory_take(gpu, BRAID_MEMORY_HOST, num * sizeof(uint32_t), &notes);
    if (status && status != BRAID_NO_MEMORY) {
        braid_error_end_attempt(&attempt, status);
        return status;
    }
    tell_of_none(&attempt, status);
    if (notes)
        memset(notes, 0, num * sizeof(uint32_t));
    *out_notes = notes;
    return BRAID_OK;
}

braid_status braid_gpu_island_take_notes(struct gpu_backend *gpu, struct gpu_island *island)
{
    size_t num_groups =
        (size_t)island->layout.num_blocks * island->layout.num_groups; // with idle ones
    braid_status status = braid_gpu_island_notes_take(gpu, num_groups, &island->own_notes);
    island->notes = island->own_notes;
    return status;
}

void braid_gpu_island_set_note(struct gpu_island *island, uint32_t *note)
{
    island->notes = note;
}

// The node that a lane noted as running; NULL: it has none at hand, or waits before one.
static const struct backend_task *running_task(const struct gpu_island *island, uint32_t lane,
                                               uint32_t note)
{
    const struct island_lists *lists = &island->lists;
    uint32_t call = lists->lane_first[lane] + (note - 1) / 2;
    bool runs = note && note % 2 == 0 && call < lists->lane_first[lane + 1];
    return runs ? lists->calls[call].task : NULL;
}

void braid_gpu_island_find_running(const struct gpu_island *island, const uint32_t *index,
                                   struct running *running)
{
    const struct island_lists *lists = &island->lists;
    const _Atomic uint32_t *notes = (const _Atomic uint32_t *)island->notes; // lanes may still run
    running->num_islands++;
    running->num_calls += lists->num_calls;
    running->is_unknown |= !notes;
    for (uint32_t lane = 0; notes && lane < lists->num_lanes; lane++) {
        uint32_t note = atomic_load_explicit(&notes[lane], memory_order_relaxed);
        const struct backend_task *task = running_task(island, lane, note);
        if (task)
            braid_running_add(running, task->node, task->name, lane, index ? *index : UINT32_MAX);
    }
}

// ---- several frames in one launch, and the times of their calls ----

enum { ROWS_BYTES = 65536 }; // up to which a driver has read pageable memory when a copy is queued

static size_t row_bytes(const struct gpu_island *island)
{
    return (size_t)16 * island->layout.num_args;
}

braid_status braid_gpu_island_reserve_rows(struct gpu_backend *gpu, struct gpu_island *island)
{
    uint32_t most = (uint32_t)(ROWS_BYTES / row_bytes(island));
    if (most < 2 || island->away)
        return BRAID_OK;
    island->host_rows = braid_allocate(most * row_bytes(island));
    if (!island->host_rows)
        return braid_error_no_memory("an island");
    braid_status status = braid_gpu_kept_memory_take(gpu, BRAID_MEMORY_DEVICE,
                                                     most * row_bytes(island), &island->rows);
    island->most_rows = status ? 0 : most;
    return status;
}

braid_status braid_gpu_island_reserve(struct gpu_backend *gpu, struct gpu_island *island)
{
    braid_status status = braid_gpu_island_reserve_rows(gpu, island);
    return status ? status : braid_gpu_island_take_notes(gpu, island);
}

// Progress is compared as a difference of 32 bits with a sign.
uint32_t braid_gpu_island_most_frames(const struct gpu_island *island, bool in_rows)
{
    uint32_t most = (UINT32_C(1) << 30) / island->layout.span;
    if (in_rows && island->most_rows < most)
        most = island->most_rows;
    return most ? most : 1;
}

void braid_gpu_island_keep_rows(struct gpu_island *island, uint32_t frame)
{
    if (frame == 0)
        island->num_rows = 0;
    for (; island->num_rows < frame; island->num_rows++)
        memcpy(island->host_rows + island->num_rows * row_bytes(island), island->args,
               row_bytes(island));
}

// In parts that leave the host's memory free behind each call. Frames before the launch have ended
// when they arrive: a launch behind a change waits for them.
static gpu_result copy_args(const struct gpu_backend *gpu, struct gpu_island *island,
                            gpu_stream stream, bool *out_queued)
{
    const size_t bytes = braid_gpu_island_args_bytes(island);
    gpu_result result = GPU_SUCCESS;
    for (size_t at = 0; at < bytes && !result; at += ROWS_BYTES) {
        const size_t part = bytes - at < ROWS_BYTES ? bytes - at : ROWS_BYTES;
        result = gpu->api->copy((char *)island->rows + at, island->args + at, part, stream);
        *out_queued = *out_queued || !result;
    }
    island->args_wait = result;
    return result;
}

gpu_result braid_gpu_island_begin(const struct gpu_backend *gpu, struct gpu_island *island,
                                  gpu_stream stream, uint32_t num_frames, uint32_t first,
                                  bool *out_queued)
{
    const bool in_rows = num_frames > 1 && island->num_rows;
    island->num_frames = num_frames;
    island->times_first = first;
    if (island->away)
        return island->args_wait ? copy_args(gpu, island, stream, out_queued) : GPU_SUCCESS;
    island->rows_now = in_rows ? island->rows : NULL;
    if (!in_rows)
        return GPU_SUCCESS;
    braid_gpu_island_keep_rows(island, num_frames);
    island->num_rows = 0;
    gpu_result result =
        gpu->api->copy(island->rows, island->host_rows, num_frames * row_bytes(island), stream);
    *out_queued = !result;
    return result;
}

void braid_gpu_island_set_times(struct gpu_island *island, void *stamps, uint32_t num_in_lane,
                                uint32_t num_frames)
{
    island->times = stamps;
    island->times_of_lane = num_in_lane;
    island->times_room = num_frames;
}

// The most calls of a lane.
static uint32_t count_in_lane(const struct island_lists *lists)
{
    uint32_t most = 1;
    for (uint32_t lane = 0; lane < lists->num_lanes; lane++) {
        uint32_t num = lists->lane_first[lane + 1] - lists->lane_first[lane];
        most = num > most ? num : most;
    }
    return most;
}

uint64_t braid_gpu_island_count_stamps(const struct gpu_island *island, uint32_t *out_num_in_lane)
{
    const struct island_layout *layout = &island->layout;
    *out_num_in_lane = count_in_lane(&island->lists);
    return (uint64_t)*out_num_in_lane * layout->num_blocks * island_lanes_of_a_block(layout);
}

uint64_t braid_gpu_island_stamp_of(const struct gpu_island *island, uint32_t call)
{
    const struct island_lists *lists = &island->lists;
    uint32_t lane = 0;
    while (call >= lists->lane_first[lane + 1])
        lane++;
    return (uint64_t)lane * island->times_of_lane + call - lists->lane_first[lane];
}

uint32_t braid_gpu_island_count_tallies(const struct gpu_island *island)
{
    const struct island_lists *lists = &island->lists;
    return count_in_lane(lists) * lists->num_lanes + lists->num_scopes;
}

void braid_gpu_island_set_tallies(struct gpu_island *island, struct gpu_tally *tallies,
                                  uint32_t num_frames, const void *counter,
                                  uint32_t counts_of_frame)
{
    braid_gpu_island_set_times(island, tallies, count_in_lane(&island->lists), num_frames);
    island->counter = counter;
    island->counts_of_frame = counts_of_frame;
    island->num_tallies = island->times_of_lane * island->lists.num_lanes;
}

uint32_t braid_gpu_island_tally_of_scope(const struct gpu_island *island, uint32_t scope)
{
    return island->num_tallies + scope;
}
