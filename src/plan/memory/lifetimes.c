// SPDX-License-Identifier: Apache-2.0
// Finds lifetimes by one walk over the steps with a vector clock for each lane.
#include "plan/memory/lifetimes.h"

#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "graph/links.h"

// Place l of a clock: so many nodes of lane l are known to have ended.
struct clocks {
    uint32_t num_lanes;
    uint32_t *lanes;     // num_lanes clocks
    uint32_t *positions; // a clock for each position: when it is recorded
};

// A node that is left out has no accesses.
static void find_blocks_of(const braid_graph *graph, const struct graph_node *node,
                           struct lifetimes *out)
{
    const struct graph_resource *resources = graph->resources.items;
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        uint32_t buffer = resources[graph_access_of(graph, node, i)->resource].buffer;
        if (!resources[buffer].alignment || out->block_of[buffer] != LIFETIMES_NONE)
            continue;
        out->block_of[buffer] = out->num;
        out->resources[out->num] = buffer;
        out->alignments[out->num] = resources[buffer].alignment;
        out->bytes[out->num++] =
            lifetimes_round_up(resources[buffer].bytes, resources[buffer].alignment);
    }
}

static bool find_blocks(const braid_graph *graph, struct lifetimes *out)
{
    const struct graph_resource *resources = graph->resources.items;
    uint32_t num = (uint32_t)graph->resources.num;
    out->block_of = braid_store_take(&out->store, num, sizeof(uint32_t));
    out->resources = braid_store_take(&out->store, num, sizeof(uint32_t));
    out->bytes = braid_store_take(&out->store, num, sizeof(uint64_t));
    out->alignments = braid_store_take(&out->store, num, sizeof(uint64_t));
    if (out->store.failed)
        return false;
    for (uint32_t i = 0; i < num; i++)
        out->block_of[i] = LIFETIMES_NONE;
    for (uint32_t i = 0; i < graph->nodes.num; i++)
        find_blocks_of(graph, &graph_nodes(graph)[i], out);
    for (uint32_t i = 0; i < num; i++) // ranges follow their buffers
        out->block_of[i] = out->block_of[resources[i].buffer];
    return true;
}

static braid_status check_first_access(const braid_graph *graph, uint32_t node, uint32_t buffer,
                                       uint32_t mode)
{
    if (mode == BRAID_WRITE || mode == BRAID_EXCLUSIVE)
        return BRAID_OK;
    char name[256];
    return braid_error_invalid("transient '%s': node %u '%s' %s it before any node writes it",
                               braid_graph_resource_name(graph, buffer, name, sizeof(name)), node,
                               braid_graph_name(graph, node),
                               mode == BRAID_ACCUMULATE ? "accumulates into" : "reads");
}

// A read before the first write would see the bytes that another buffer or frame has left there.
static braid_status check_first_accesses(const braid_graph *graph,
                                         const struct lifetimes *lifetimes)
{
    struct graph_units units = { 0 };
    braid_status status = braid_graph_find_units(graph, &units);
    bool *seen = braid_allocate_zeroed(lifetimes->num, sizeof(bool));
    if (!status && !seen)
        status = braid_error_no_memory("the memory of a plan");
    for (uint32_t i = 0; !status && i < graph_num_nodes(graph); i++) {
        uint32_t node = units.members[i];
        const struct graph_node *graph_node = &graph_nodes(graph)[node];
        for (uint32_t k = 0; !status && k < graph_node->num_accesses; k++) {
            const struct graph_access *access = graph_access_of(graph, graph_node, k);
            uint32_t block = lifetimes->block_of[access->resource];
            if (block == LIFETIMES_NONE || seen[block])
                continue;
            seen[block] = true;
            status = check_first_access(graph, node, lifetimes->resources[block], access->mode);
        }
    }
    braid_free(seen);
    braid_graph_units_finish(&units);
    return status;
}

static bool allocate_times(struct lifetimes *lifetimes)
{
    size_t cells = (size_t)lifetimes->num * lifetimes->num_lanes;
    lifetimes->first = braid_store_take(&lifetimes->store, lifetimes->num, sizeof(uint64_t));
    lifetimes->last = braid_store_take(&lifetimes->store, lifetimes->num, sizeof(uint64_t));
    lifetimes->settled = braid_store_take(&lifetimes->store, lifetimes->num, sizeof(uint64_t));
    lifetimes->ended = braid_store_take(&lifetimes->store, cells, sizeof(uint32_t));
    lifetimes->known = braid_store_take(&lifetimes->store, cells, sizeof(uint32_t));
    if (lifetimes->store.failed)
        return false;
    for (uint32_t i = 0; i < lifetimes->num; i++)
        lifetimes->first[i] = UINT64_MAX;
    for (size_t i = 0; i < cells; i++)
        lifetimes->known[i] = UINT32_MAX;
    return true;
}

// The clock counts the nodes of each lane that have ended when the node starts. Its count of the
// node's own lane is the node's position there.
static void use_block(struct lifetimes *lifetimes, uint32_t block, const uint32_t *clock,
                      uint32_t lane, uint64_t position)
{
    uint32_t *ended = lifetimes->ended + (size_t)block * lifetimes->num_lanes;
    uint32_t *known = lifetimes->known + (size_t)block * lifetimes->num_lanes;
    for (uint32_t i = 0; i < lifetimes->num_lanes; i++)
        known[i] = clock[i] < known[i] ? clock[i] : known[i];
    ended[lane] = clock[lane] + 1;
    if (lifetimes->first[block] == UINT64_MAX)
        lifetimes->first[block] = position;
    lifetimes->last[block] = position;
}

static void walk_node(struct lifetimes *lifetimes, const braid_graph *graph, const braid_step *step,
                      uint32_t *clock, uint64_t position)
{
    const struct graph_node *node = &graph_nodes(graph)[step->node];
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        uint32_t block = lifetimes->block_of[graph_access_of(graph, node, i)->resource];
        if (block != LIFETIMES_NONE)
            use_block(lifetimes, block, clock, step->lane, position);
    }
    clock[step->lane]++;
}

static void walk_steps(const braid_schedule *schedule, const braid_graph *graph,
                       const struct clocks *clocks, struct lifetimes *lifetimes)
{
    size_t num_lanes = clocks->num_lanes;
    for (size_t i = 0; i < schedule->program.num_ops; i++) {
        const braid_step *step = &schedule->program.ops[i];
        uint32_t *clock = clocks->lanes + step->lane * num_lanes;
        uint32_t *position = clocks->positions + step->position * num_lanes;
        if (program_has_node(step))
            walk_node(lifetimes, graph, step, clock, i);
        else if (step->kind == BRAID_STEP_RECORD)
            memcpy(position, clock, num_lanes * sizeof(*position));
        else
            for (size_t lane = 0; lane < num_lanes; lane++)
                clock[lane] = position[lane] > clock[lane] ? position[lane] : clock[lane];
    }
}

static braid_status find_times(const braid_schedule *schedule, const braid_graph *graph,
                               struct lifetimes *lifetimes)
{
    size_t num_lanes = schedule->info.num_lanes;
    struct store store = { 0 };
    struct clocks clocks = {
        .num_lanes = (uint32_t)num_lanes,
        .lanes = braid_store_take(&store, num_lanes, num_lanes * sizeof(uint32_t)),
        .positions = braid_store_take(&store, schedule->info.num_records + (size_t)1,
                                      num_lanes * sizeof(uint32_t)),
    };
    bool done = !store.failed && allocate_times(lifetimes);
    if (done)
        walk_steps(schedule, graph, &clocks, lifetimes);
    braid_store_finish(&store);
    return done ? BRAID_OK : braid_error_no_memory("the memory of a plan");
}

void braid_lifetimes_finish(struct lifetimes *lifetimes)
{
    braid_store_finish(&lifetimes->store);
    *lifetimes = (struct lifetimes){ 0 };
}

braid_status braid_lifetimes_create(const braid_schedule *schedule, const braid_graph *graph,
                                    struct lifetimes *out_lifetimes)
{
    struct lifetimes lifetimes = { .num_lanes = schedule->info.num_lanes };
    braid_status status = find_blocks(graph, &lifetimes)
                              ? check_first_accesses(graph, &lifetimes)
                              : braid_error_no_memory("the memory of a plan");
    if (!status && lifetimes.num)
        status = find_times(schedule, graph, &lifetimes);
    if (status)
        braid_lifetimes_finish(&lifetimes);
    else
        *out_lifetimes = lifetimes;
    return status;
}

static void copy_block(const struct lifetimes *from, uint32_t block, uint32_t index,
                       struct lifetimes *to)
{
    size_t num_lanes = from->num_lanes, row = num_lanes * sizeof(uint32_t);
    to->bytes[index] = from->bytes[block];
    to->alignments[index] = from->alignments[block];
    to->first[index] = from->first[block];
    to->last[index] = from->last[block];
    to->settled[index] = from->settled[block];
    if (!row)
        return;
    memcpy(to->ended + index * num_lanes, from->ended + block * num_lanes, row);
    memcpy(to->known + index * num_lanes, from->known + block * num_lanes, row);
}

braid_status braid_lifetimes_select(const struct lifetimes *lifetimes, const uint32_t *chosen,
                                    uint32_t num_chosen, struct lifetimes *out_lifetimes)
{
    struct lifetimes some = { .num = num_chosen, .num_lanes = lifetimes->num_lanes };
    some.bytes = braid_store_take(&some.store, num_chosen, sizeof(uint64_t));
    some.alignments = braid_store_take(&some.store, num_chosen, sizeof(uint64_t));
    if (some.store.failed || !allocate_times(&some)) {
        braid_lifetimes_finish(&some);
        return braid_error_no_memory("the memory of a plan");
    }
    for (uint32_t i = 0; i < num_chosen; i++)
        copy_block(lifetimes, chosen[i], i, &some);
    *out_lifetimes = some;
    return BRAID_OK;
}

braid_status braid_lifetimes_most_alive(const struct lifetimes *lifetimes, uint64_t *out_bytes)
{
    uint64_t end = 0, alive = 0, most = 0;
    for (uint32_t i = 0; i < lifetimes->num; i++)
        end = lifetimes->last[i] >= end ? lifetimes->last[i] + 1 : end;
    // Bytes that begin, less bytes that have ended; the sums are right modulo 2^64.
    uint64_t *changes = braid_allocate_zeroed(end + 1, sizeof(*changes));
    if (!changes)
        return braid_error_no_memory("the memory of a plan");
    for (uint32_t i = 0; i < lifetimes->num; i++) {
        changes[lifetimes->first[i]] += lifetimes->bytes[i];
        changes[lifetimes->last[i] + 1] -= lifetimes->bytes[i];
    }
    for (uint64_t i = 0; i < end; i++) {
        alive += changes[i];
        most = alive > most ? alive : most;
    }
    braid_free(changes);
    *out_bytes = most;
    return BRAID_OK;
}

// ---- settled blocks ----

// Walks over the steps with a vector clock for each lane. Counts for each block the lanes that
// still have to learn that its last user on some lane has ended. A lane without nodes ahead has
// nothing to learn.

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
