// SPDX-License-Identifier: Apache-2.0
// Execs with several frames in flight: their queues, and how their frames are ordered.
//
// Frames in one slot follow each other on its queue. The next frame waits inside for positions of
// this one, or, where that cannot be, as a whole.
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "exec/exec.h"
#include "exec/exec_ended.h"
#include "exec/exec_islands.h"
#include "exec/exec_memory.h"
#include "graph/frame_links.h"
#include "tasks/program_frames.h"
#include "verify/verify_program.h"

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

static void tell_gain(braid_exec_info *info)
{
    size_t length = strlen(info->frames_reason);
    uint64_t least_ns = info->frame_alone_ns / LEAST_GAIN;
    if (info->frame_period_ns + least_ns >= info->frame_alone_ns)
        snprintf(info->frames_reason + length, sizeof(info->frames_reason) - length,
                 "; no gain: a further frame takes as long as one alone, by the plan's times");
    else
        snprintf(info->frames_reason + length, sizeof(info->frames_reason) - length,
                 "; a further frame takes %s of one alone, by the plan's times",
                 braid_text_decimal((double)info->frame_period_ns / (double)info->frame_alone_ns, 2)
                     .text);
}

// Writes how far frames overlap, the reason against more, and the gain.
static void tell(braid_exec *exec, const braid_graph *graph, uint32_t undeclared, size_t num_links)
{
    char *reason = exec->info.frames_reason;
    size_t size = sizeof(exec->info.frames_reason);
    if (undeclared != GRAPH_NONE)
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
    tell_gain(&exec->info);
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
    exec->info.num_frames = exec->frames.num;
    exec->info.num_frame_waits = 0;
    exec->info.frames_reason[0] = '\0';
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
            status = braid_exec_find_period(exec, graph, &exec->info.frame_period_ns);
        tell(exec, graph, undeclared, links.num);
    }
    braid_array_finish(&links);
    return status;
}

// There is no other launch meanwhile, so the slot stays its own.
static braid_status wait_for_room(braid_exec *exec, const struct frame_slot *slot)
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
        return wait_for_room(exec, slot);
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
