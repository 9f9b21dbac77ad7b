// SPDX-License-Identifier: Apache-2.0
// Plans in graphs of the program: a launch into a capture, and the plan's graph by itself.
//
// Each time a graph of the driver is made anew, also where the exec plays its frames otherwise. It
// has the values of the moment, and nodes that are disabled are not in it. Its frame, its transient
// buffers and its pinned memory are its own, until the exec is destroyed. So setters and launches
// change nothing that a replay uses, and scratch may grow. Versions of buffers are those of the
// exec's next frame. A replay is no frame of the exec's.
//
// The black box and the traps are those of the slot that the next frame would take.
#include <braid/export.h>

#include "backends/driver_graph/driver_graph_export.h"
#include "backends/players.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/inside.h"
#include "base/node_text.h"
#include "exec/exec.h"
#include "exec/exec_memory.h"
#include "exec/exec_parts.h"
#include "tasks/program_tasks.h"

struct exported {
    struct exported *next;
    struct program program; // without the order of two frames
    struct exec_arena arenas[MOST_PLACES];
    struct frame frame;
    struct playing *playing; // NULL: there is none yet
    void *graph;
};

static void destroy(const braid_exec *exec, struct exported *exported)
{
    if (exported->playing)
        braid_graph_player.destroy(exported->playing);
    braid_frame_finish(&exported->frame);
    for (uint32_t i = 0; i < exec_num_places(exec); i++)
        braid_exec_free_arena(exec->places.devices[i], &exported->arenas[i]);
    braid_program_finish(&exported->program);
    braid_free(exported);
}

// Replays have ended, as the program sees to.
void braid_exec_free_exported(braid_exec *exec)
{
    while (exec->exported) {
        struct exported *exported = exec->exported;
        exec->exported = exported->next;
        destroy(exec, exported);
    }
}

// ---- refusals ----

static braid_status refuse_node(const braid_exec *exec, uint32_t node, const char *reason)
{
    return braid_error(BRAID_UNSUPPORTED, "node %s %s",
                       braid_node_text(node, exec->tasks.items[node].name).text, reason);
}

// A queue call that the driver could not capture would spoil the program's capture.
static braid_status check_nodes(const braid_exec *exec)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < exec->tasks.num && !status; i++) {
        enum work_kind kind = exec->tasks.items[i].kind;
        if (kind == WORK_POST || kind == WORK_AWAIT)
            status = refuse_node(exec, i, "is an operation between ranks");
        else if (kind == WORK_QUEUE && exec->player != &braid_graph_player)
            status = refuse_node(exec, i,
                                 "is a queue call, and only execs with BRAID_MODE_GRAPH have "
                                 "captured it before");
    }
    return status;
}

// A queue call is captured by Braid, and later values of an exec inside would not reach it.
static braid_status check(const braid_exec *exec)
{
    const struct player *const *players = exec->device->backend->ops->players;
    while (*players && *players != &braid_graph_player)
        players++;
    if (!*players)
        return braid_error(BRAID_UNSUPPORTED, "%s has no graphs", exec->device->label);
    if (braid_inside_is_queue_call())
        return braid_error(BRAID_UNSUPPORTED, "a queue call launches it");
    return check_nodes(exec);
}

// ---- the graph ----

static braid_status allocate_arenas(const braid_exec *exec, uint32_t slot,
                                    struct exported *exported)
{
    const uint32_t num = exec_num_places(exec);
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; exec->memory.arenas && i < num && !status; i++)
        status = braid_exec_allocate_zeros(exec->places.devices[i], "transient buffers",
                                           exec->memory.arenas[slot * num + i].bytes,
                                           exec->memory.plan.info.alignment, &exported->arenas[i]);
    return status;
}

// Frames are made as the graph says; then each task takes its grid, and whether it is disabled. No
// value changes later, so no node must be able to change.
static braid_status make_frame(const braid_exec *exec, uint64_t number, uint32_t slot,
                               struct exported *exported)
{
    unsigned char *begins[MOST_PLACES] = { NULL };
    struct box_words words[MOST_PLACES];
    struct frame *frame = &exported->frame;
    for (uint32_t i = 0; i < exec_num_places(exec); i++)
        begins[i] = exported->arenas[i].begin;
    braid_exec_find_box_words(exec, slot, words);
    braid_status status =
        braid_frame_create(&exec->tasks, begins, number, braid_exec_notes(exec, slot), words,
                           braid_exec_traps(exec, slot), frame);
    for (uint32_t i = 0; i < exec->tasks.num && !status; i++) {
        bool changed;
        status = braid_frame_resolve(&exec->tasks, frame, i, number, &changed);
        if (frame->tasks[i].kind != WORK_KERNEL)
            frame->tasks[i].varies = 0;
    }
    return status;
}

static braid_status make_graph(const braid_exec *exec, struct exported *exported)
{
    const struct stage stage = {
        .player = &braid_graph_player,
        .device = exec->device,
        .places = exec->placed ? &exec->places : NULL,
        .program = &exported->program,
        .frame = &exported->frame,
        .num_slots = 1,
        .priority = exec->priority,
        .no_early_start = !exec->info.num_early_starts,
    };
    braid_status status = braid_graph_player.check(&stage);
    if (!status)
        status = braid_graph_player.create(&stage, &exported->playing);
    return status ? status : braid_driver_graph_export(exported->playing, &stage, &exported->graph);
}

static braid_status fill(braid_exec *exec, struct exported *exported)
{
    const uint64_t number = exec->frames.num_launched;
    const uint32_t slot = (uint32_t)(number % exec->frames.num);
    struct inside inside; // queue calls are made on this thread
    braid_exec_idle_update(exec);
    braid_status status = braid_program_create(exec->schedule, &exec->tasks,
                                               exec->program.is_island, &exported->program);
    if (!status)
        status = allocate_arenas(exec, slot, exported);
    if (!status)
        status = make_frame(exec, number, slot, exported);
    if (status)
        return status;
    braid_inside_begin(&inside, "a queue call", exec);
    status = make_graph(exec, exported);
    braid_inside_end(&inside);
    return status;
}

// With a stream it is added to the capture there.
static braid_status make(braid_exec *exec, const braid_stream *stream, struct exported *exported)
{
    braid_status status = braid_exec_grow_scratch(exec);
    if (!status)
        status = fill(exec, exported);
    if (!status && stream)
        status = braid_driver_graph_add_to_capture(gpu_from(exec->device->backend), exported->graph,
                                                   gpu_stream_of(stream->backend));
    return status;
}

// The lock is taken, and no launch is under way.
static braid_status export_now(braid_exec *exec, const braid_stream *stream, void **out_graph)
{
    struct exported *exported = braid_allocate_zeroed(1, sizeof(*exported));
    if (!exported)
        return braid_error_no_memory("a graph of an exec");
    braid_exec_begin_launch(exec);
    braid_status status = make(exec, stream, exported);
    if (status) {
        destroy(exec, exported);
    } else {
        exported->next = exec->exported;
        exec->exported = exported;
        *out_graph = exported->graph;
    }
    braid_exec_end_launch(exec);
    return status;
}

static braid_status export(const char *what, braid_exec *exec, const braid_stream *stream,
                           void **out_graph)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = check(exec);
    if (!status)
        status = export_now(exec, stream, out_graph);
    if (status)
        status = braid_error(status, "%s (%s): %s", what, exec->device->label,
                             braid_error_get_message());
    braid_error_end_attempt(&attempt, status);
    return braid_exec_explain_launch(exec, status);
}

braid_status braid_exec_launch_captured(braid_exec *exec, braid_stream *stream)
{
    void *graph;
    return export("launch of an exec, whose stream is being captured", exec, stream, &graph);
}

braid_status braid_exec_make_cuda_graph(braid_exec *exec, void **out_graph)
{
    static const char function[] = "braid_exec_make_cuda_graph";
    EXEC_MEMORY(exec);
    braid_status status = braid_exec_enter(function, exec);
    if (status)
        return status;
    status = out_graph ? export(function, exec, NULL, out_graph)
                       : braid_error_null(function, "out_graph");
    device_leave(exec->device);
    return status;
}
