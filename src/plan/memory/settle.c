// SPDX-License-Identifier: Apache-2.0
// Walks over the steps with a vector clock for each lane. Counts for each block the lanes that
// still have to learn that its last user on some lane has ended. A lane without nodes ahead has
// nothing to learn.
#include "plan/memory/lifetimes.h"

#include <string.h>

#include "base/error.h"
#include "base/store.h"

struct settle {
    const braid_schedule *schedule;
    struct lifetimes *lifetimes;
    uint32_t num_lanes;
    uint32_t *lanes, *records; // clocks; index l: so many nodes of lane l are known to have ended
    uint32_t *left;            // per block: pairs of a lane and a last user that it does not know
    // Blocks by their last users on each lane: those of position p of lane l are
    // blocks[first[lane_first[l] + p]] and so on.
    uint32_t *first, *blocks;
};

static uint32_t lane_size(const struct settle *settle, uint32_t lane)
{
    const uint32_t *first = settle->schedule->lane_first;
    return first[lane + 1] - first[lane];
}

static const uint32_t *ended_of(const struct settle *settle, uint32_t block)
{
    return settle->lifetimes->ended + (size_t)block * settle->num_lanes;
}

static void list_last_users(struct settle *settle)
{
    const uint32_t *lane_first = settle->schedule->lane_first;
    uint32_t num_nodes = settle->schedule->info.num_nodes;
    for (uint32_t block = 0; block < settle->lifetimes->num; block++) {
        for (uint32_t lane = 0; lane < settle->num_lanes; lane++) {
            uint32_t ended = ended_of(settle, block)[lane];
            settle->first[ended ? lane_first[lane] + ended : 0] += ended != 0;
            settle->left[block] += ended ? settle->num_lanes - 1 : 0;
        }
    }
    for (uint32_t i = 0; i <= num_nodes; i++)
        settle->first[i + 1] += settle->first[i];
    for (uint32_t block = settle->lifetimes->num; block-- > 0;) {
        for (uint32_t lane = 0; lane < settle->num_lanes; lane++) {
            uint32_t ended = ended_of(settle, block)[lane];
            if (ended)
                settle->blocks[--settle->first[lane_first[lane] + ended]] = block;
        }
    }
}

// A lane learns that the nodes of another from one position to another have ended.
static void learn(struct settle *settle, uint32_t of, uint32_t from, uint32_t to, uint64_t index)
{
    const uint32_t *first = settle->first + settle->schedule->lane_first[of] + 1;
    for (uint32_t at = from; at < to; at++) {
        for (uint32_t i = first[at]; i < first[at + 1]; i++) {
            uint32_t block = settle->blocks[i];
            if (--settle->left[block] == 0)
                settle->lifetimes->settled[block] = index;
        }
    }
}

static void wait_for(struct settle *settle, uint32_t lane, const uint32_t *record, uint64_t index)
{
    uint32_t *clock = settle->lanes + (size_t)lane * settle->num_lanes;
    for (uint32_t of = 0; of < settle->num_lanes; of++) {
        if (record[of] <= clock[of])
            continue;
        if (of != lane)
            learn(settle, of, clock[of], record[of], index);
        clock[of] = record[of];
    }
}

// Behind its last node a lane has nothing to learn any more.
static void run(struct settle *settle, uint32_t lane, uint64_t index)
{
    uint32_t *clock = settle->lanes + (size_t)lane * settle->num_lanes;
    if (++clock[lane] < lane_size(settle, lane))
        return;
    for (uint32_t of = 0; of < settle->num_lanes; of++) {
        if (of != lane)
            learn(settle, of, clock[of], lane_size(settle, of), index + 1);
    }
}

static void walk_step(struct settle *settle, uint64_t index)
{
    const braid_step *step = &settle->schedule->program.ops[index];
    size_t num_lanes = settle->num_lanes;
    uint32_t *clock = settle->lanes + step->lane * num_lanes;
    uint32_t *record = settle->records + step->position * num_lanes;
    if (program_has_node(step))
        run(settle, step->lane, index);
    else if (step->kind == BRAID_STEP_RECORD)
        memcpy(record, clock, num_lanes * sizeof(*record));
    else if (clock[step->lane] < lane_size(settle, step->lane))
        wait_for(settle, step->lane, record, index);
}

static void walk(struct settle *settle)
{
    struct lifetimes *lifetimes = settle->lifetimes;
    for (uint32_t block = 0; block < lifetimes->num; block++)
        lifetimes->settled[block] = settle->left[block] ? settle->schedule->program.num_ops : 0;
    for (uint64_t index = 0; index < settle->schedule->program.num_ops; index++)
        walk_step(settle, index);
    for (uint32_t block = 0; block < lifetimes->num; block++) {
        if (lifetimes->settled[block] <= lifetimes->last[block])
            lifetimes->settled[block] = lifetimes->last[block] + 1;
    }
}

braid_status braid_settle(const braid_schedule *schedule, struct lifetimes *lifetimes)
{
    size_t num_lanes = lifetimes->num_lanes, cells = lifetimes->num * num_lanes;
    struct store store = { 0 };
    struct settle settle = {
        .schedule = schedule,
        .lifetimes = lifetimes,
        .num_lanes = lifetimes->num_lanes,
        .lanes = braid_store_take(&store, num_lanes * num_lanes, sizeof(uint32_t)),
        .records = braid_store_take(&store, num_lanes * (schedule->info.num_records + (size_t)1),
                                    sizeof(uint32_t)),
        .left = braid_store_take(&store, lifetimes->num, sizeof(uint32_t)),
        .first = braid_store_take(&store, schedule->info.num_nodes + (size_t)2, sizeof(uint32_t)),
        .blocks = braid_store_take(&store, cells, sizeof(uint32_t)),
    };
    if (!store.failed) {
        list_last_users(&settle);
        walk(&settle);
    }
    braid_store_finish(&store);
    return store.failed ? braid_error_no_memory("the memory of a plan") : BRAID_OK;
}
