// SPDX-License-Identifier: Apache-2.0
// The content of all timelines: times of nodes on their lanes, waits, and critical nodes.
#include "report/timeline.h"

#include <inttypes.h>

#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/text.h"
#include "report/dot.h"

static bool raw_interval(const struct timeline *timeline, size_t frame, uint32_t node,
                         braid_interval *out_interval)
{
    const braid_schedule *schedule = timeline->schedule;
    if (schedule_left_out(schedule, node))
        return false;
    if (!timeline->options.intervals) {
        uint64_t start = schedule->start_ns[node];
        *out_interval = (braid_interval){ start, start + schedule->cost_ns[node] };
        return true;
    }
    *out_interval = timeline->options.intervals[frame * timeline->num_nodes + node];
    return out_interval->start_ns > 0 || out_interval->end_ns > 0;
}

bool braid_timeline_interval(const struct timeline *timeline, size_t frame, uint32_t node,
                             braid_interval *out_interval)
{
    uint64_t origin = timeline->zero_ns;
    if (!raw_interval(timeline, frame, node, out_interval))
        return false;
    out_interval->start_ns -= origin;
    out_interval->end_ns -= origin;
    return true;
}

braid_interval braid_timeline_frame(const struct timeline *timeline, size_t frame)
{
    uint64_t start = timeline->frame_origin[frame] - timeline->zero_ns;
    braid_interval whole = { start, start }, interval;
    for (uint32_t node = 0; node < timeline->num_nodes; node++) {
        if (braid_timeline_interval(timeline, frame, node, &interval) &&
            interval.end_ns > whole.end_ns)
            whole.end_ns = interval.end_ns;
    }
    return whole;
}

bool braid_timeline_launch(const struct timeline *timeline, size_t frame,
                           braid_interval *out_interval)
{
    const braid_interval *launches = timeline->options.launches;
    if (!launches || !timeline->options.intervals)
        return false;
    *out_interval = (braid_interval){ launches[frame].start_ns - timeline->zero_ns,
                                      launches[frame].end_ns - timeline->zero_ns };
    return true;
}

static bool allocate(struct timeline *timeline)
{
    timeline->waits = braid_store_take(&timeline->store, timeline->schedule->info.num_waits,
                                       sizeof(*timeline->waits));
    timeline->is_critical = braid_store_take(&timeline->store, timeline->num_nodes, sizeof(bool));
    timeline->lane_before =
        braid_store_take(&timeline->store, timeline->num_nodes, sizeof(uint32_t));
    timeline->last_waited =
        braid_store_take(&timeline->store, timeline->num_nodes, sizeof(uint32_t));
    timeline->frame_origin =
        braid_store_take(&timeline->store, timeline->options.num_frames, sizeof(uint64_t));
    timeline->lane_y =
        braid_store_take(&timeline->store, timeline->num_lanes + 1, sizeof(*timeline->lane_y));
    return !timeline->store.failed;
}

// A wait is for the next node run on its lane: going backwards, the latest one seen.
static bool find_waits(struct timeline *timeline)
{
    const braid_schedule *schedule = timeline->schedule;
    uint32_t *next_run = braid_allocate_zeroed(timeline->num_lanes, sizeof(*next_run));
    if (!next_run)
        return false;
    timeline->num_waits = schedule->info.num_waits;
    size_t num = timeline->num_waits;
    for (size_t i = schedule->program.num_ops; i-- > 0;) {
        const braid_step *step = &schedule->program.ops[i];
        if (program_has_node(step))
            next_run[step->lane] = step->node;
        else if (step->kind == BRAID_STEP_WAIT)
            timeline->waits[--num] =
                (struct timeline_wait){ step->node, next_run[step->lane], step->position };
    }
    braid_free(next_run);
    return true;
}

static void find_neighbours(struct timeline *timeline)
{
    const braid_schedule *schedule = timeline->schedule;
    for (uint32_t lane = 0; lane < timeline->num_lanes; lane++) {
        uint32_t before = PLAN_NONE;
        for (uint32_t i = schedule->lane_first[lane]; i < schedule->lane_first[lane + 1]; i++) {
            timeline->lane_before[schedule->lane_nodes[i]] = before;
            before = schedule->lane_nodes[i];
        }
    }
}

static void find_last_waited(struct timeline *timeline)
{
    for (uint32_t i = 0; i < timeline->num_nodes; i++)
        timeline->last_waited[i] = PLAN_NONE;
    for (size_t i = 0; i < timeline->num_waits; i++) {
        const struct timeline_wait *wait = &timeline->waits[i];
        uint32_t last = timeline->last_waited[wait->to];
        braid_interval before = { 0 }, now = { 0 };
        if (last != PLAN_NONE)
            raw_interval(timeline, 0, last, &before);
        raw_interval(timeline, 0, wait->from, &now);
        if (last == PLAN_NONE || now.end_ns > before.end_ns)
            timeline->last_waited[wait->to] = wait->from;
    }
}

static uint64_t end_of(const struct timeline *timeline, uint32_t node)
{
    braid_interval interval = { 0 };
    if (node != PLAN_NONE)
        raw_interval(timeline, 0, node, &interval);
    return interval.end_ns;
}

// As planned. With measured times, from the node that ended last back to the cause of each start.
// This is the last to end of its lane predecessor and the nodes that it waits for.
static void find_critical(struct timeline *timeline)
{
    const braid_schedule *schedule = timeline->schedule;
    if (!timeline->options.intervals) {
        for (size_t i = 0; i < schedule->num_critical; i++)
            timeline->is_critical[schedule->critical[i]] = true;
        return;
    }
    uint32_t node = timeline->num_nodes ? 0 : PLAN_NONE;
    for (uint32_t i = 0; i < timeline->num_nodes; i++)
        node = end_of(timeline, i) > end_of(timeline, node) ? i : node;
    while (node != PLAN_NONE) {
        uint32_t before = timeline->lane_before[node], waited = timeline->last_waited[node];
        timeline->is_critical[node] = true;
        node = end_of(timeline, waited) > end_of(timeline, before) ? waited : before;
    }
}

static braid_status find_frames(struct timeline *timeline)
{
    for (size_t frame = 0; frame < timeline->options.num_frames; frame++) {
        uint64_t first = UINT64_MAX, last = 0;
        for (uint32_t i = 0; i < timeline->num_nodes; i++) {
            braid_interval interval;
            if (!raw_interval(timeline, frame, i, &interval))
                continue;
            if (interval.end_ns < interval.start_ns)
                return braid_error_invalid("braid_schedule_write: the interval of node %" PRIu32
                                           " in frame %zu ends before it starts",
                                           i, frame);
            first = interval.start_ns < first ? interval.start_ns : first;
            last = interval.end_ns > last ? interval.end_ns : last;
        }
        bool is_planned = !timeline->options.intervals;
        timeline->frame_origin[frame] = is_planned ? 0 : first;
        if (frame == 0)
            timeline->span_ns = first > last ? 0 : last - timeline->frame_origin[0];
    }
    return BRAID_OK;
}

// The first node of all frames: of those in flight a later one may begin first. A frame none of
// whose nodes ran stands there.
static void find_first(struct timeline *timeline)
{
    uint64_t first = UINT64_MAX;
    for (size_t frame = 0; frame < timeline->options.num_frames; frame++)
        if (timeline->frame_origin[frame] < first)
            first = timeline->frame_origin[frame];
    if (first == UINT64_MAX)
        first = timeline->options.launches ? timeline->options.launches[0].start_ns : 0;
    timeline->zero_ns = first;
    for (size_t frame = 0; frame < timeline->options.num_frames; frame++)
        if (timeline->frame_origin[frame] == UINT64_MAX)
            timeline->frame_origin[frame] = timeline->zero_ns;
    timeline->span_ns += timeline->frame_origin[0] - timeline->zero_ns;
}

// Launches move time 0 to before the frame. A frame that the clocks' error puts before its launch
// begins at time 0 all the same.
static braid_status find_zero(struct timeline *timeline)
{
    const braid_interval *launches = timeline->options.launches;
    find_first(timeline);
    if (!launches || !timeline->options.intervals)
        return BRAID_OK;
    for (size_t frame = 0; frame < timeline->options.num_frames; frame++)
        if (launches[frame].end_ns < launches[frame].start_ns ||
            launches[frame].start_ns < launches[0].start_ns)
            return braid_error_invalid("braid_schedule_write: the launch of frame %zu ends before "
                                       "it starts, or starts before the first",
                                       frame);
    if (launches[0].start_ns >= timeline->zero_ns)
        return BRAID_OK;
    timeline->span_ns += timeline->zero_ns - launches[0].start_ns;
    timeline->zero_ns = launches[0].start_ns;
    return BRAID_OK;
}

braid_status braid_timeline_create(const braid_schedule *schedule,
                                   const braid_timeline_options *options,
                                   struct timeline *out_timeline)
{
    braid_status status = BRAID_OK;
    struct timeline timeline = { .schedule = schedule,
                                 .num_nodes = schedule->info.num_nodes,
                                 .num_lanes = schedule->info.num_lanes,
                                 .options = *options };
    if (timeline.options.num_frames == 0 || !timeline.options.intervals)
        timeline.options.num_frames = 1;
    if (timeline.options.unit_ns == 0)
        timeline.options.unit_ns = 1;
    if (!allocate(&timeline) || !find_waits(&timeline))
        status = braid_error_no_memory("a timeline");
    if (!status)
        status = find_frames(&timeline);
    if (!status)
        status = find_zero(&timeline);
    if (!status) {
        find_neighbours(&timeline);
        find_last_waited(&timeline);
        find_critical(&timeline);
        *out_timeline = timeline;
    } else {
        braid_timeline_finish(&timeline);
    }
    return status;
}

void braid_timeline_finish(struct timeline *timeline)
{
    braid_store_finish(&timeline->store);
    *timeline = (struct timeline){ 0 };
}

void braid_timeline_write_time(const struct timeline *timeline, uint64_t time_ns, FILE *file)
{
    const char *unit = timeline->options.unit;
    uint64_t unit_ns = timeline->options.unit_ns;
    if (!unit) {
        fputs(braid_dot_time(time_ns).text, file);
        return;
    }
    uint64_t whole = time_ns / unit_ns;
    unsigned parts = (unsigned)((double)(time_ns % unit_ns) * 1e3 / (double)unit_ns + 0.5);
    fprintf(file, "%" PRIu64, whole + parts / 1000);
    if (parts % 1000 > 0)
        fprintf(file, ".%03u", parts % 1000);
    if (*unit) {
        fputc(' ', file);
        braid_text_write_xml(file, unit);
    }
}

const char *braid_timeline_kind(const struct timeline *timeline, uint32_t node)
{
    uint8_t kind = timeline->schedule->program.kinds[node];
    return kind == WORK_KERNEL ? "" : braid_work_words[kind].kind;
}

bool braid_timeline_is_bundled(const struct timeline *timeline, uint32_t node)
{
    const struct plan_graph *graph = timeline->schedule->graph;
    return plan_main_of(graph, plan_unit_of(graph, node)) != node;
}

uint32_t braid_timeline_island(const struct timeline *timeline, uint32_t node)
{
    const uint32_t *island_of = timeline->schedule->division.island_of;
    return island_of ? island_of[node] : PLAN_NONE;
}

bool braid_timeline_is_guess(const struct timeline *timeline, uint32_t node)
{
    const unsigned char *unknown = timeline->schedule->unknown;
    return unknown && unknown[node] == PLAN_GUESSED && !timeline->options.intervals;
}

void braid_timeline_write_role(const struct timeline *timeline, uint32_t node,
                               void (*write)(FILE *file, const char *text), FILE *file)
{
    const struct plan_graph *graph = timeline->schedule->graph;
    if (!braid_timeline_is_bundled(timeline, node))
        return;
    uint32_t unit = plan_unit_of(graph, node), main = plan_main_of(graph, unit), i = 0;
    while (plan_unit_member(graph, unit, i) != main && plan_unit_member(graph, unit, i) != node)
        i++;
    fputs(plan_unit_member(graph, unit, i) == node ? "prelude of " : "epilogue of ", file);
    write(file, braid_schedule_node_name(timeline->schedule, main));
}
