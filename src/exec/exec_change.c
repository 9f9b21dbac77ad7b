// SPDX-License-Identifier: Apache-2.0
// Changing values of nodes, in all frames of an exec or in none.
//
// Node by node and frame by frame, the bytes are replaced, the task is made anew from them and the
// player is told. Frames in flight have captured what they run with, or keep it (program/frame.h).
// Whatever fails, all that was done before it is taken back in reverse, what of that fails as well
// excepted.
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/inside.h"
#include "base/node_text.h"
#include "exec/exec.h"
#include "graph/placed.h"
#include "plan/schedule.h"

enum {
    LEAST_EDITS = 4, // of calls that change one node other than by its arguments
    LEAST_BYTES = 64,
};

struct exec_changed {
    const struct exec_edit *edits;
    uint32_t num;
    uint32_t slot;
    unsigned char *bytes; // what the edits have replaced, one behind the other
    struct backend_task task;
};

static size_t argument_bytes(const struct tasks *tasks, uint32_t node)
{
    const struct backend_launch *launch = &tasks->items[node].launch;
    size_t bytes = 0;
    for (uint32_t i = 0; tasks->items[node].kind == WORK_KERNEL && i < launch->num_args; i++)
        bytes += launch->arg_bytes[i];
    return bytes;
}

braid_status braid_exec_prepare_changes(braid_exec *exec)
{
    const struct exec_params *params = &exec->params;
    size_t most_edits = LEAST_EDITS, most_bytes = LEAST_BYTES;
    for (uint32_t i = 0; i < exec->tasks.num; i++) {
        size_t bytes = argument_bytes(&exec->tasks, i);
        most_bytes = bytes > most_bytes ? bytes : most_bytes;
    }
    most_edits = exec->tasks.max_args > most_edits ? exec->tasks.max_args : most_edits;
    size_t num_versions = exec->tasks.num_versions;
    most_edits = num_versions > most_edits ? num_versions : most_edits;
    size_t num_addresses = exec->tasks.num_addresses; // of scratch that grows, with all others
    most_edits = num_addresses > most_edits ? num_addresses : most_edits;
    size_t address_bytes =
        (num_versions > num_addresses ? num_versions : num_addresses) * sizeof(void *);
    most_bytes = address_bytes > most_bytes ? address_bytes : most_bytes;
    for (uint32_t p = 0; p < params->num; p++) {
        size_t num = params->first_use[p + 1] - params->first_use[p], bytes = 0;
        for (uint32_t i = params->first_use[p]; i < params->first_use[p + 1]; i++)
            bytes += params->uses[i].bytes;
        most_edits = num > most_edits ? num : most_edits;
        most_bytes = bytes > most_bytes ? bytes : most_bytes;
    }
    struct exec_room *room = &exec->room;
    room->edits = braid_allocate_zeroed(most_edits, sizeof(*room->edits));
    room->changed = braid_allocate_zeroed(most_edits * exec->num_slots, sizeof(*room->changed));
    room->bytes = braid_allocate_zeroed(most_bytes * exec->num_slots, 1);
    if (!room->edits || !room->changed || !room->bytes)
        return braid_error_no_memory("the changes of an exec");
    return BRAID_OK;
}

void braid_exec_finish_changes(braid_exec *exec)
{
    free(exec->room.edits);
    free(exec->room.changed);
    free(exec->room.bytes);
}

static void put_bytes(struct frame *frame, const struct exec_changed *changed)
{
    unsigned char *old = changed->bytes;
    for (uint32_t i = 0; i < changed->num; i++) {
        const struct exec_edit *edit = &changed->edits[i];
        memcpy(old, frame->slots[edit->slot] + edit->offset, edit->bytes);
        memcpy(frame->slots[edit->slot] + edit->offset, edit->from, edit->bytes);
        old += edit->bytes;
    }
}

// In reverse, since edits may overlap.
static void put_bytes_back(struct frame *frame, const struct exec_changed *changed)
{
    const unsigned char *old = changed->bytes;
    for (uint32_t i = 0; i < changed->num; i++)
        old += changed->edits[i].bytes;
    for (uint32_t i = changed->num; i-- > 0;) {
        const struct exec_edit *edit = &changed->edits[i];
        old -= edit->bytes;
        memcpy(frame->slots[edit->slot] + edit->offset, old, edit->bytes);
    }
}

static braid_status tell_player(braid_exec *exec, const struct frame_slot *slot, uint32_t node)
{
    if (!exec->player->set_bindings)
        return BRAID_OK;
    struct inside inside; // native calls may be made on this thread
    braid_inside_begin(&inside, "a native call", exec);
    braid_status status = exec->player->set_bindings(slot->playing, &slot->frame.tasks[node]);
    braid_inside_end(&inside);
    return status;
}

// Of several places: what a node leaves that does nothing is where it was, and nobody copies it.
static braid_status check_rest(const braid_exec *exec, const struct backend_task *task)
{
    if (!task->disabled || !exec->placed || !graph_nodes(exec->placed->graph)[task->node].must_run)
        return BRAID_OK;
    return braid_error(BRAID_UNSUPPORTED,
                       "node %s writes (BRAID_WRITE) on a device where what it would leave is not: "
                       "disable it by a parameter (BRAID_TARGET_ENABLED), or let it access that by "
                       "BRAID_READ_WRITE",
                       braid_node_text(task->node, task->name).text);
}

static braid_status check_end(const braid_exec *exec, const struct backend_task *task,
                              const char *end, const void *address, uint64_t bytes)
{
    uint32_t buffer = 0;
    uint64_t beyond = 0;
    if (!braid_extents_overrun(&exec->extents, address, bytes, &buffer, &beyond))
        return BRAID_OK;
    return braid_extents_refuse(braid_node_text(task->node, task->name).text, end, bytes, beyond,
                                braid_plan_resource_name(exec->schedule->graph, buffer));
}

// A copy or fill ends where the buffer ends that it begins in, as where it was planned.
static braid_status check_reach(const braid_exec *exec, const struct backend_task *task)
{
    if (task->kind == WORK_FILL)
        return check_end(exec, task, "to", task->fill.to,
                         task->fill.num_values * task->fill.value_bytes);
    if (task->kind != WORK_COPY)
        return BRAID_OK;
    braid_status status = check_end(exec, task, "to", task->copy.to, task->copy.bytes);
    return status ? status : check_end(exec, task, "from", task->copy.from, task->copy.bytes);
}

// The values from before are the frame's again; `out_made` is the task with those of the change.
static void put_back(const braid_exec *exec, const struct exec_changed *changed,
                     struct backend_task *out_made)
{
    struct frame *frame = &exec->slots[changed->slot].frame;
    *out_made = frame->tasks[changed->task.node];
    put_bytes_back(frame, changed);
    braid_frame_put(&exec->tasks, frame, &changed->task);
}

// A change that fails leaves nothing of itself.
static braid_status change(braid_exec *exec, struct exec_changed *changed)
{
    struct frame_slot *slot = &exec->slots[changed->slot];
    struct backend_task made;
    uint32_t node = changed->edits[0].node;
    changed->task = slot->frame.tasks[node];
    put_bytes(&slot->frame, changed);
    braid_status status = braid_frame_change(&exec->tasks, &slot->frame, node);
    if (status) {
        put_bytes_back(&slot->frame, changed);
        return status;
    }
    status = check_rest(exec, &slot->frame.tasks[node]);
    if (!status)
        status = check_reach(exec, &slot->frame.tasks[node]);
    if (!status)
        status = tell_player(exec, slot, node);
    if (!status)
        return BRAID_OK;
    put_back(exec, changed, &made);
    braid_frame_discard(&slot->frame, &made);
    return status;
}

// What the player has may be freed only once it has something else. Where it refuses, the change
// stands, in the frame as there: with two failures a node keeps its new values, but none is torn.
static braid_status take_back_one(braid_exec *exec, const struct exec_changed *changed)
{
    struct frame_slot *slot = &exec->slots[changed->slot];
    struct backend_task made;
    put_back(exec, changed, &made);
    braid_status status = tell_player(exec, slot, made.node);
    if (!status) {
        braid_frame_discard(&slot->frame, &made);
        return BRAID_OK;
    }
    put_bytes(&slot->frame, changed);
    braid_frame_put(&exec->tasks, &slot->frame, &made);
    braid_frame_settle(&slot->frame, &changed->task);
    return braid_error(status, "node %s keeps new values of a change that failed: %s",
                       braid_node_text(made.node, made.name).text, braid_error_message());
}

static void take_back(braid_exec *exec, uint32_t num)
{
    while (num-- > 0) {
        struct error_attempt attempt;
        braid_error_begin_attempt(&attempt);
        braid_error_end_noted(&attempt, take_back_one(exec, &exec->room.changed[num]));
    }
}

// Errors: those of event_query.
static braid_status ask(const braid_exec *exec, const braid_event *event, bool *out_ended)
{
    struct backend *backend = exec->device->backend;
    braid_status status = backend->ops->event_query(backend, event->backend);
    *out_ended = status == BRAID_OK;
    return status == BRAID_NOT_READY ? BRAID_OK : status;
}

// A change lacks nothing without: what is kept stays until a later one gets the event, or all
// frames have ended.
static void lease_mark(braid_exec *exec, struct frame_slot *slot)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_error_end_noted(&attempt, braid_device_lease_event(exec->device, &slot->mark));
}

// Frees what was kept for frames in flight, once those have ended; where their end is not known it
// stays. Nothing waits for that: with one frame always in flight `done` never stands for the end of
// all, but the mark for that of those which what stood there then was kept for.
static braid_status free_replaced(braid_exec *exec, struct frame_slot *slot)
{
    struct frame *frame = &slot->frame;
    if (!frame->num_replaced || atomic_load(&exec->is_unrecorded))
        return BRAID_OK;
    bool all = false, marked = false;
    braid_status status = ask(exec, slot->done, &all);
    if (!status && !all && slot->num_marked)
        status = ask(exec, slot->mark, &marked);
    if (!status && !all && !slot->mark)
        lease_mark(exec, slot);
    if (status || (!all && !marked))
        return status;
    braid_frame_free_replaced(frame, all ? frame->num_replaced : slot->num_marked);
    slot->num_marked = 0;
    return BRAID_OK;
}

void braid_exec_mark_replaced(braid_exec *exec, struct frame_slot *slot, braid_stream *stream)
{
    struct backend *backend = exec->device->backend;
    if (!slot->frame.num_replaced || slot->num_marked || !slot->mark)
        return;
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status =
        backend->ops->event_record(backend, slot->mark->backend, device_backend_stream(stream));
    slot->num_marked = status ? 0 : slot->frame.num_replaced;
    braid_error_end_noted(&attempt, status);
}

static uint32_t count_of_node(const struct exec_edit *edits, uint32_t num)
{
    uint32_t of_node = 1;
    while (of_node < num && edits[of_node].node == edits[0].node)
        of_node++;
    return of_node;
}

static braid_status change_slots(braid_exec *exec, uint32_t first_slot, uint32_t end_slot,
                                 const struct exec_edit *edits, uint32_t num)
{
    unsigned char *bytes = exec->room.bytes;
    uint32_t num_changed = 0;
    for (uint32_t i = first_slot; i < end_slot; i++) {
        braid_status status = free_replaced(exec, &exec->slots[i]);
        if (status)
            return status;
    }
    for (uint32_t first = 0, of_node; first < num; first += of_node) {
        of_node = count_of_node(edits + first, num - first);
        size_t node_bytes = 0;
        for (uint32_t i = 0; i < of_node; i++)
            node_bytes += edits[first + i].bytes;
        for (uint32_t slot = first_slot; slot < end_slot; slot++) {
            struct exec_changed *changed = &exec->room.changed[num_changed];
            *changed = (struct exec_changed){ edits + first, of_node, slot, bytes, { 0 } };
            braid_status status = change(exec, changed);
            if (status) {
                take_back(exec, num_changed);
                return status;
            }
            bytes += node_bytes;
            num_changed++;
        }
    }
    for (uint32_t i = 0; i < num_changed; i++)
        braid_frame_settle(&exec->slots[exec->room.changed[i].slot].frame,
                           &exec->room.changed[i].task);
    return BRAID_OK;
}

braid_status braid_exec_change(braid_exec *exec, const struct exec_edit *edits, uint32_t num)
{
    return change_slots(exec, 0, exec->num_slots, edits, num);
}

braid_status braid_exec_empty_grids(braid_exec *exec, const braid_graph *graph)
{
    const struct graph_kernel *kernels = graph->kernels.items;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < exec->tasks.num && !status; i++) {
        const struct graph_node *node = &graph_nodes(graph)[i];
        if (node->kind != WORK_KERNEL || !kernels[node->payload].empty)
            continue;
        const braid_dim3 grid = graph_kernel_grid(&kernels[node->payload]);
        struct exec_edit edit = braid_exec_edit_of(&exec->tasks, i, BRAID_TARGET_GRID);
        edit.from = (const unsigned char *)&grid;
        edit.bytes = sizeof(grid);
        status = braid_exec_change(exec, &edit, 1);
    }
    return status;
}

braid_status braid_exec_change_slot(braid_exec *exec, uint32_t slot, const struct exec_edit *edits,
                                    uint32_t num)
{
    return change_slots(exec, slot, slot + 1, edits, num);
}
