// SPDX-License-Identifier: Apache-2.0
// Execs with several frames in flight: their queues, and how their frames are ordered.
//
// Frames in one slot follow each other on its queue. The next frame waits inside for positions of
// this one, or, where that cannot be, as a whole.
#include <stdio.h>
#include <string.h>

#include "base/append.h"
#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "exec/exec.h"
#include "exec/exec_islands.h"
#include "exec/exec_memory.h"
#include "exec/exec_parts.h"
#include "graph/links.h"
#include "graph/regions.h"
#include "plan/plan_costs.h"
#include "plan/schedule.h"
#include "tasks/program_frames.h"
#include "verify/verify_program.h"

// ---- the period ----

struct lane_clock {
    uint64_t planned_ns; // when the plan could start the next node; that it starts later is kept
    uint64_t ready_ns;   // when this frame can
};

struct frames_clock {
    const struct program *program;
    const struct braid_schedule *schedule;
    uint32_t num_slots;
    struct lane_clock *lanes;
    struct lane_clock *positions;
    uint64_t *frame_positions; // for as many frames as there are slots
    uint64_t *ends;            // for as many frames
};

static uint64_t later_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t *find_frame_position(const struct frames_clock *clock, uint32_t frame,
                                     uint32_t position)
{
    size_t slot = frame % clock->num_slots;
    return &clock->frame_positions[slot * clock->program->num_frame_positions + position];
}

static void run_node(const struct frames_clock *clock, struct lane_clock *lane, uint32_t node)
{
    uint64_t start = clock->schedule->start_ns[node], cost = clock->schedule->cost_ns[node];
    uint64_t held_ns = start > lane->planned_ns ? start - lane->planned_ns : 0;
    lane->planned_ns = start + cost;
    lane->ready_ns += held_ns + cost;
}

static void play_step(const struct frames_clock *clock, uint32_t frame, const braid_step *step)
{
    struct lane_clock *lane = &clock->lanes[step->lane];
    uint32_t before = program_frames_before(clock->program, step);
    if (program_has_node(step)) {
        run_node(clock, lane, step->node);
    } else if (step->kind == BRAID_STEP_RECORD) {
        clock->positions[step->position] = *lane;
    } else if (step->kind == BRAID_STEP_WAIT) {
        const struct lane_clock *other = &clock->positions[step->position];
        lane->planned_ns = later_of(lane->planned_ns, other->planned_ns);
        lane->ready_ns = later_of(lane->ready_ns, other->ready_ns);
    } else if (step->kind == PROGRAM_RECORD_FRAME) {
        *find_frame_position(clock, frame, step->position) = lane->ready_ns;
    } else if (step->kind == PROGRAM_AWAIT_FRAME && before <= frame) {
        uint32_t position = program_position_index(clock->program, step);
        lane->ready_ns =
            later_of(lane->ready_ns, *find_frame_position(clock, frame - before, position));
    }
}

// A frame begins when the one whose place it takes has ended. Returns when it ends.
static uint64_t play_frame(const struct frames_clock *clock, uint32_t frame)
{
    const struct program *program = clock->program;
    uint64_t *end = &clock->ends[frame % clock->num_slots], last = *end;
    for (uint32_t i = 0; i < program->num_lanes; i++)
        clock->lanes[i] = (struct lane_clock){ 0, *end };
    for (size_t i = 0; i < program->num_ops; i++)
        play_step(clock, frame, &program->ops[i]);
    for (uint32_t i = 0; i < program->num_lanes; i++)
        last = later_of(last, clock->lanes[i].ready_ns);
    *end = last;
    return last;
}

// Slots are taken in turn, so the times of frames repeat after as many.
static uint64_t play_frames(const struct frames_clock *clock)
{
    uint64_t first = 0, last = 0;
    uint32_t num = clock->num_slots;
    for (uint32_t i = 0; i < 3 * num; i++) {
        last = play_frame(clock, i);
        if (i == num - 1)
            first = last;
    }
    return (last - first) / (2 * num);
}

// All that the device must run of a frame, if it were full all the time. The driver of a GPU makes
// calls that compute one after another, on a thread of its own.
static uint64_t find_busy_ns(const struct braid_schedule *schedule, const braid_graph *graph)
{
    const braid_cost_model *model = &schedule->options.costs;
    uint64_t awake_ns = 0, area_ns = 0, calls_ns = 0;
    for (uint32_t i = 0; i < schedule->info.num_nodes; i++) {
        if (graph_node_blocks(graph, i) || braid_graph_region_of(graph, i) != GRAPH_NONE)
            continue; // the cost of a loop has that of its body
        awake_ns += schedule->cost_ns[i];
        if (!model->max_threads)
            continue;
        if (graph_nodes(graph)[i].kind == WORK_HOST)
            calls_ns += schedule->cost_ns[i];
        else
            area_ns += schedule->cost_ns[i] / PLAN_WHOLE_DEVICE *
                       braid_plan_share_of_node(graph, i, model->max_threads);
    }
    return later_of(later_of(area_ns, calls_ns),
                    model->max_concurrent ? awake_ns / model->max_concurrent : 0);
}

// The time of each further frame while several are in flight. Plays frames through, each on lanes
// of its own: nodes take the plan's times, and start behind the nodes that the program orders
// before them. A frame takes at least as long as all its work on a full device. Errors:
// BRAID_NO_MEMORY.
static braid_status exec_find_period(const braid_exec *exec, const braid_graph *graph,
                                     uint64_t *out_ns)
{
    const struct program *program = &exec->program;
    size_t num = exec->frames.num;
    struct store store = { 0 };
    struct frames_clock clock = {
        .program = program,
        .schedule = exec->schedule,
        .num_slots = exec->frames.num,
        .lanes = braid_store_take(&store, program->num_lanes, sizeof(*clock.lanes)),
        .positions = braid_store_take(&store, program->num_positions, sizeof(*clock.positions)),
        .frame_positions = braid_store_take(&store, num * program->num_frame_positions,
                                            sizeof(*clock.frame_positions)),
        .ends = braid_store_take(&store, num, sizeof(*clock.ends)),
    };
    if (!store.failed)
        *out_ns = later_of(play_frames(&clock), find_busy_ns(exec->schedule, graph));
    braid_store_finish(&store);
    return store.failed ? braid_error_no_memory("what frames in flight bring") : BRAID_OK;
}

// ---- frames in flight ----

braid_status braid_exec_lease_queues(braid_exec *exec)
{
    braid_status status = BRAID_OK;
    bool has_queues = exec->frames.num > 1 || exec->priority;
    for (uint32_t i = 0; i < exec->frames.num && !status; i++) {
        struct frame_slot *slot = &exec->frames.slots[i];
        status = braid_device_lease_event(exec->device, &slot->done);
        if (!status && has_queues)
            status = braid_device_lease_stream(exec->device, exec->priority, &slot->queue);
        if (!status && has_queues)
            status = braid_device_lease_event(exec->device, &slot->fork);
    }
    return status;
}

void braid_exec_return_queues(braid_exec *exec)
{
    for (uint32_t i = 0; exec->frames.slots && i < exec->frames.num; i++) {
        struct frame_slot *slot = &exec->frames.slots[i];
        if (slot->done)
            braid_device_return_event(exec->device, slot->done);
        if (slot->fork)
            braid_device_return_event(exec->device, slot->fork);
        if (slot->mark)
            braid_device_return_event(exec->device, slot->mark);
        if (slot->queue)
            braid_device_return_stream(exec->device, slot->queue);
    }
}

// Frames so far apart that the later one takes the place of the earlier are ordered by that.
static void drop_far_links(const braid_exec *exec, struct array *links)
{
    struct frame_link *all = links->items;
    size_t num = 0;
    for (size_t i = 0; i < links->num; i++) {
        if (all[i].frames_before < exec->frames.num)
            all[num++] = all[i];
    }
    links->num = num;
}

// An order between neighbouring frames holds between all. With n versions of a buffer, an order
// among 2 n frames does. No more frames than slots are ever in flight.
static uint32_t num_proven(const braid_exec *exec, const braid_graph *graph)
{
    const struct graph_resource *resources = graph->resources.items;
    uint32_t num = 2;
    for (size_t i = 0; i < graph->resources.num; i++) {
        if (2 * resources[i].num_versions > num)
            num = 2 * resources[i].num_versions;
    }
    return num < exec->frames.num ? num : exec->frames.num;
}

static braid_status order_nodes(braid_exec *exec, const braid_graph *graph,
                                const struct array *links)
{
    _Static_assert(sizeof(struct frame_link) == sizeof(struct program_frame_link),
                   "links are handed on as they are");
    braid_status status = braid_program_order_frames(&exec->program, links->items, links->num);
    if (!status)
        status = braid_program_verify_frames(&exec->program, graph, num_proven(exec, graph));
    exec->info.num_frame_waits = exec->program.num_frame_waits;
    return status;
}

// A frame in flight costs a copy of all that a frame has: less than one part of this is no gain.
enum { LEAST_GAIN = 50 };

static void tell_gain(const braid_exec_info *info, char *text, size_t size)
{
    uint64_t least_ns = info->frame_alone_ns / LEAST_GAIN;
    if (info->frame_period_ns + least_ns >= info->frame_alone_ns)
        braid_append(text, size,
                     "; no gain: a further frame takes as long as one alone, by the plan's times");
    else
        braid_append(
            text, size, "; a further frame takes %s of one alone, by the plan's times",
            braid_text_decimal((double)info->frame_period_ns / (double)info->frame_alone_ns, 2)
                .text);
}

// Writes how far frames overlap, the reason against more, and the gain.
static void tell(braid_exec *exec, const braid_graph *graph, uint32_t undeclared, size_t num_links)
{
    char *reason = exec->texts.frames_reason;
    size_t size = sizeof(exec->texts.frames_reason);
    if (graph->imported_places)
        snprintf(reason, size, "whole frames: the graph was imported");
    else if (undeclared != GRAPH_NONE)
        snprintf(reason, size, "whole frames: node %u '%.100s' declares no access", undeclared,
                 braid_graph_name(graph, undeclared));
    else if (exec->info.whole_frames && exec->program.num_bodies)
        snprintf(reason, size, "whole frames: the graph has a %s, '%.100s'",
                 braid_work_words[exec->program.kinds[exec->program.bodies[0].node]].kind,
                 braid_graph_name(graph, exec->program.bodies[0].node));
    else if (exec->info.whole_frames)
        snprintf(reason, size, "whole frames: %s replay does not order nodes of two frames",
                 exec->shape ? exec->shape->name : exec->player->name);
    else if (num_links == 0)
        snprintf(reason, size, "frames in flight share nothing that is written");
    else
        snprintf(reason, size, "node by node: %u wait%s for frames before",
                 exec->info.num_frame_waits, exec->info.num_frame_waits == 1 ? "" : "s");
    tell_gain(&exec->info, reason, size);
}

static bool orders_frames(const braid_exec *exec)
{
    return exec->player->orders_frames && !exec->program.num_bodies && !exec->shape &&
           exec->player->orders_frames(exec->device->backend, exec->placed);
}

braid_status braid_exec_order_frames(braid_exec *exec, const braid_graph *graph)
{
    struct array links = { 0 };
    uint32_t undeclared = GRAPH_NONE;
    exec->info.frames_in_flight = exec->frames.num;
    exec->info.num_frame_waits = 0;
    exec->texts.frames_reason[0] = '\0';
    exec->info.whole_frames = true;
    exec->info.frame_alone_ns = exec->schedule->info.makespan_ns;
    exec->info.frame_period_ns = exec->info.frame_alone_ns;
    exec->frames.behind_last = exec->player->launches_overlap;
    if (exec->frames.num == 1)
        return BRAID_OK;
    braid_status status = braid_graph_find_frame_links(graph, &links, &undeclared);
    drop_far_links(exec, &links);
    if (!status) {
        exec->frames.behind_last = undeclared != GRAPH_NONE || (links.num && !orders_frames(exec));
        exec->info.whole_frames = exec->frames.behind_last;
        if (!exec->frames.behind_last && links.num)
            status = order_nodes(exec, graph, &links);
        if (!status && !exec->frames.behind_last)
            status = exec_find_period(exec, graph, &exec->info.frame_period_ns);
        tell(exec, graph, undeclared, links.num);
    }
    braid_array_finish(&links);
    return status;
}

// There is no other launch meanwhile, so the slot stays its own.
braid_status braid_exec_await_slot(braid_exec *exec, const struct frame_slot *slot)
{
    struct backend *backend = exec->device->backend;
    braid_exec_begin_wait(exec);
    braid_status status = backend->ops->event_synchronize(backend, slot->done->backend);
    braid_exec_end_wait(exec);
    return status;
}

// A slot whose last launch failed half-way holds more than frames.
static bool has_place(const braid_exec *exec, const struct frame_slot *slot)
{
    const struct exec_frames *frames = &exec->frames;
    return !slot->is_partial && frames->num_launched >= frames->num &&
           braid_exec_knows_ended(exec, frames->num_launched - frames->num + 1);
}

static braid_status find_slot(braid_exec *exec)
{
    struct backend *backend = exec->device->backend;
    const struct frame_slot *slot =
        &exec->frames.slots[exec->frames.num_launched % exec->frames.num];
    if (exec->frames.num == 1 || exec->frames.when_full == BRAID_FULL_QUEUES)
        return BRAID_OK;
    if (exec->frames.when_full == BRAID_FULL_WAITS)
        return braid_exec_await_slot(exec, slot);
    braid_status status = backend->ops->event_query(backend, slot->done->backend);
    if (status == BRAID_NOT_READY && has_place(exec, slot))
        return BRAID_OK;
    if (status == BRAID_NOT_READY)
        return braid_error(BRAID_BUSY, "launch on %s: %u frames are in flight", exec->device->label,
                           exec->frames.num);
    return status;
}

braid_status braid_exec_make_room(braid_exec *exec)
{
    braid_status status = find_slot(exec);
    if (!status && braid_exec_parts_are_unsettled(exec->parts))
        status = braid_exec_await_frames(exec);
    if (!status)
        status = braid_exec_grow_scratch(exec);
    return braid_exec_explain_launch(exec, status);
}
