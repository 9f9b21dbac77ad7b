// SPDX-License-Identifier: Apache-2.0
// How much nodes slow each other, from the intervals of frames in which they overlap.
//
// Of a node's time, `alone` has nothing beside it, and during the rest `others` nodes run beside it
// in the mean. While k others run, it takes 1 + c * k times as long. So its time alone would be
// alone + rest / (1 + c * others). That gives c, of which the median of the frames counts. A frame
// counts if others run for half of the node's time. The rest is at most MOST_SLOWER times as long
// as it would be alone, since a cold cache may slow the node as well.
#include "exec/measure_crowding.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/store.h"
#include "graph/graph.h"

enum { ONE = GRAPH_CROWDING_ONE, MOST_CROWDING = UINT16_MAX };

#define MOST_SLOWER 4.0

struct event {
    uint64_t at_ns;
    uint32_t node;
    bool is_end;
};

// Sums up to an event: of the time in which two nodes or more ran, and of nodes times time.
struct sums {
    uint64_t crowded_ns, nodes_ns;
};

// Of one frame. `sums` are those at the begin of each node, and then those of its own time.
struct sweep {
    struct event *events;
    struct sums *sums;
};

// Ends come before begins, so that nodes one after another do not overlap.
static int compare_events(const void *a, const void *b)
{
    const struct event *first = a, *second = b;
    if (first->at_ns != second->at_ns)
        return first->at_ns < second->at_ns ? -1 : 1;
    return (int)second->is_end - (int)first->is_end;
}

static size_t list_events(const struct measured_frames *frames, const braid_interval *at,
                          const struct measured_crowding *nodes, struct event *events)
{
    size_t num = 0;
    for (uint32_t i = 0; i < frames->num_nodes; i++) {
        if (!nodes[i].counts || at[i].end_ns <= at[i].start_ns)
            continue;
        events[num++] = (struct event){ at[i].start_ns, i, false };
        events[num++] = (struct event){ at[i].end_ns, i, true };
    }
    qsort(events, num, sizeof(*events), compare_events);
    return num;
}

static void sweep_frame(const struct measured_frames *frames, const braid_interval *at,
                        const struct measured_crowding *nodes, const struct sweep *sweep)
{
    const size_t num = list_events(frames, at, nodes, sweep->events);
    struct sums now = { 0 };
    uint64_t num_running = 0;
    for (size_t i = 0; i < num; i++) {
        const struct event *event = &sweep->events[i];
        const uint64_t ns = i ? event->at_ns - sweep->events[i - 1].at_ns : 0;
        struct sums *own = &sweep->sums[event->node];
        now.nodes_ns += num_running * ns;
        now.crowded_ns += num_running > 1 ? ns : 0;
        if (event->is_end)
            *own = (struct sums){ now.crowded_ns - own->crowded_ns, now.nodes_ns - own->nodes_ns };
        else
            *own = now;
        num_running += event->is_end ? UINT64_MAX : 1; // modulo 2^64
    }
}

// A node's crowding by one frame.
static double crowding_in(const struct measured_crowding *node, const braid_interval *at,
                          const struct sums *sums)
{
    const double length = (double)(at->end_ns - at->start_ns) - (double)node->added_ns;
    const double crowded = (double)sums->crowded_ns, alone = length - crowded;
    const double others = ((double)sums->nodes_ns - (double)(at->end_ns - at->start_ns)) / crowded;
    const double left = (double)node->alone_ns - alone; // of its time, while others run
    const double slower = left * MOST_SLOWER > crowded ? crowded / left : MOST_SLOWER;
    return (double)node->alone_ns >= length ? 0 : (slower - 1) / others;
}

static int compare(const void *a, const void *b)
{
    const double first = *(const double *)a, second = *(const double *)b;
    return first < second ? -1 : first > second;
}

// `told` has a number of each frame, negative where the node had too little beside it.
static void take_median(struct measured_crowding *node, double *told, uint32_t num_frames)
{
    if (!node->counts)
        return;
    qsort(told, num_frames, sizeof(*told), compare);
    const double crowding = told[num_frames / 2] * ONE;
    node->overlaps = crowding >= 0;
    if (node->overlaps && node->alone_ns)
        node->crowding = crowding < MOST_CROWDING ? (uint16_t)crowding : MOST_CROWDING;
}

static void tell_frame(const struct measured_frames *frames, uint32_t frame,
                       const struct measured_crowding *nodes, const struct sums *sums, double *told)
{
    const braid_interval *at = frames->intervals + (size_t)frame * frames->num_nodes;
    for (uint32_t i = 0; i < frames->num_nodes; i++) {
        const bool is_timed = nodes[i].counts && at[i].end_ns > at[i].start_ns;
        const bool overlaps = is_timed && sums[i].crowded_ns >= (at[i].end_ns - at[i].start_ns) / 2;
        told[(size_t)i * frames->num_frames + frame] =
            overlaps ? crowding_in(&nodes[i], &at[i], &sums[i]) : -1;
    }
}

braid_status braid_measure_crowding(const struct measured_frames *frames,
                                    struct measured_crowding *nodes)
{
    const uint32_t num = frames->num_nodes, num_frames = frames->num_frames;
    struct store store = { 0 };
    const struct sweep sweep = { braid_store_take(&store, num, 2 * sizeof(*sweep.events)),
                                 braid_store_take(&store, num, sizeof(*sweep.sums)) };
    double *told = braid_store_take(&store, num, num_frames * sizeof(*told));
    for (uint32_t frame = 0; frame < num_frames && !store.failed; frame++) {
        sweep_frame(frames, frames->intervals + (size_t)frame * num, nodes, &sweep);
        tell_frame(frames, frame, nodes, sweep.sums, told);
    }
    for (uint32_t i = 0; i < num && num_frames && !store.failed; i++)
        take_median(&nodes[i], &told[(size_t)i * num_frames], num_frames);
    braid_store_finish(&store);
    return store.failed ? braid_error_no_memory("the times of nodes beside others") : BRAID_OK;
}
