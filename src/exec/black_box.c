// SPDX-License-Identifier: Apache-2.0
// The part that tells which nodes run: rows of notes (note.h).
//
// A report takes no lock and waits for nothing: launches may be stuck. Of several frames that queue
// for one slot, the first runs that has not ended (exec_ended.c).
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/append.h"
#include "base/error.h"
#include "base/error_details.h"
#include "base/host_memory.h"
#include "base/node_text.h"
#include "exec/exec.h"
#include "exec/exec_memory.h"
#include "exec/exec_parts.h"
#include "graph/graph_ranks.h"

// ---- rows of notes ----

// The last node of the only lane that is joined; PLAN_NONE: several lanes are, or other arms of the
// branch run after it.
static uint32_t find_last(const struct program *program)
{
    uint32_t last = PLAN_NONE, num = 0;
    for (uint32_t i = 0; i < program->num_lanes; i++) {
        const struct program_lane *lane = &program->lanes[i];
        num += lane->needs_join && lane->has_work;
        for (size_t k = 0; k < lane->num_ops && lane->needs_join && lane->has_work; k++) {
            const braid_step *op = program_lane_op(program, i, k);
            last = program_takes_time(program, op) ? op->node : last;
        }
    }
    bool is_arm = program->region != PLAN_NONE && program->kinds[program->node] == WORK_BRANCH;
    return num == 1 && !is_arm ? last : PLAN_NONE;
}

static uint32_t find_row(const struct program *program, uint32_t lane)
{
    for (size_t i = 0; i < program->lanes[lane].num_ops; i++) {
        const braid_step *op = program_lane_op(program, lane, i);
        if (program_takes_time(program, op))
            return op->node;
    }
    return PLAN_NONE;
}

// Gives each node the row of its lane, which has the number of a node there. The kernel behind a
// node on its lane tells of its end, unless a wait or an island is between. Of a region the last
// node, if all others end before it, has no end: where others run, it does not.
static void notes_assign(const struct program *program, struct task_note *notes)
{
    uint32_t island = 0, last = find_last(program);
    for (uint32_t i = 0; i < program->num_lanes; i++) {
        uint32_t before = PLAN_NONE;
        uint32_t row = find_row(program, i);
        for (size_t k = 0; k < program->lanes[i].num_ops; k++) {
            const braid_step *op = program_lane_op(program, i, k);
            bool waits = program_waits(op);
            bool is_inside = program_in_island(program, program->lanes[i].first_op + k, &island);
            if (!waits && !program_takes_time(program, op))
                continue;
            if (before != PLAN_NONE)
                notes[before].ends = waits || is_inside || op->kind == BRAID_STEP_LOOP;
            before = waits ? PLAN_NONE : op->node;
            if (before != PLAN_NONE)
                notes[before].row = row;
        }
        if (before != PLAN_NONE)
            notes[before].ends = before != last;
    }
    for (uint32_t i = 0; i < program->num_bodies; i++)
        notes_assign(&program->bodies[i], notes);
}

static void add(const struct program *program, const struct frame *frame, uint32_t node,
                uint32_t lane, struct running *running);

// Adds the nodes that run by the frame's rows.
static void notes_find_running(const struct program *program, const struct frame *frame,
                               struct running *running)
{
    uint32_t before = running->num, last = find_last(program), last_lane = PLAN_NONE;
    for (uint32_t i = 0; i < program->num_lanes; i++) {
        uint32_t row = find_row(program, i);
        uint32_t node = row == PLAN_NONE ? row : note_running_node(&frame->notes[row]);
        if (node == last && node != PLAN_NONE)
            last_lane = i;
        else if (node < frame->num_tasks)
            add(program, frame, node, i, running);
    }
    if (last_lane != PLAN_NONE && running->num == before)
        add(program, frame, last, last_lane, running);
}

static void add(const struct program *program, const struct frame *frame, uint32_t node,
                uint32_t lane, struct running *running)
{
    uint32_t before = running->num;
    for (uint32_t i = 0; i < program->num_bodies; i++) {
        if (program->bodies[i].node == node)
            notes_find_running(&program->bodies[i], frame, running);
    }
    if (running->num == before)
        braid_running_add(running, node, program->tasks->items[node].name, lane, UINT32_MAX);
}

// ---- words ----

// Words on devices: whether the exec was cancelled, and how many blocks of a kernel have ended.

static const char words_text[] = "words of a black box";

// Allocates the words of a black box on devices whose kernels note that they run.
// Errors: those of braid_exec_allocate_zeros.
static braid_status exec_allocate_box_words(braid_exec *exec)
{
    const uint64_t bytes = (1 + (uint64_t)exec->frames.num * exec->tasks.num) * sizeof(uint64_t);
    struct exec_arena *words =
        braid_store_take(&exec->store, exec_num_places(exec), sizeof(*words));
    braid_status status = words ? BRAID_OK : braid_error_no_memory(words_text);
    exec->memory.box_words = words;
    for (uint32_t i = 0; i < exec_num_places(exec) && !status; i++)
        status = braid_exec_allocate_zeros(exec->places.devices[i], words_text, bytes,
                                           sizeof(uint64_t), &words[i]);
    return status;
}

void braid_exec_free_box_words(braid_exec *exec)
{
    for (uint32_t i = 0; exec->memory.box_words && i < exec_num_places(exec); i++)
        braid_exec_free_arena(exec->places.devices[i], &exec->memory.box_words[i]);
}

void braid_exec_find_box_words(const braid_exec *exec, uint32_t slot, struct box_words *out_words)
{
    const struct exec_arena *words = exec->memory.box_words;
    for (uint32_t i = 0; i < exec_num_places(exec); i++) {
        out_words[i] = (struct box_words){ 0 };
        if (!words)
            continue;
        uint64_t *begin = (uint64_t *)(void *)words[i].begin;
        out_words[i].cancelled = (uint32_t *)(void *)begin;
        out_words[i].block_counts = begin + 1 + (size_t)slot * exec->tasks.num;
    }
}

// Copies the word, in memory that all devices reach, to all places. It waits for no frame. Errors:
// BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
// By copies, which need no room on a device beside a kernel that fills it.
static braid_status exec_tell_cancelled(const braid_exec *exec, const uint32_t *from)
{
    const struct exec_arena *words = exec->memory.box_words;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; words && i < exec_num_places(exec); i++) {
        const struct backend_task copy = {
            .kind = WORK_COPY,
            .name = words_text,
            .node = BACKEND_NO_NODE,
            .copy = { .to = words[i].begin, .from = from, .bytes = sizeof(*from) },
        };
        braid_status told = braid_device_run_now(exec->places.devices[i], &copy);
        status = status ? status : told;
    }
    return status;
}

// ---- the part ----

enum { MOST_DETAILED = 16 };

struct black_box {
    struct exec_part part;
    uint32_t rank;
    bool is_of_ranks;
    // In memory that the device reaches: slot by slot, one for each task and one for all. Behind
    // them, one has the words 0 and 1, from which devices are told.
    struct note *notes;
    atomic_bool is_launching, is_cancelled;
};

static const struct exec_part_ops ops;

static struct black_box *find(const braid_exec *exec)
{
    return (struct black_box *)braid_exec_find_part(exec->parts, &ops);
}

static bool has_rows_of_lanes(const braid_exec *exec)
{
    return exec->device->backend->ops->notes == BACKEND_NOTES_LANES;
}

// The first frame of the slot that is not known to have ended.
static uint64_t frame_of(const braid_exec *exec, uint64_t num_ended, uint32_t slot)
{
    uint64_t num = exec->frames.num;
    return num_ended + (slot + num - num_ended % num) % num;
}

static void clear(struct note *notes, size_t num)
{
    for (size_t i = 0; i < num; i++) {
        atomic_store_explicit(&notes[i].begun, 0, memory_order_relaxed);
        atomic_store_explicit(&notes[i].ended, 0, memory_order_relaxed);
    }
}

struct note *braid_exec_notes(const braid_exec *exec, uint32_t slot)
{
    const struct black_box *box = find(exec);
    return box ? box->notes + (size_t)slot * (exec->tasks.num + 1) : NULL;
}

static braid_status set_words(const braid_exec *exec, bool is_cancelled)
{
    for (uint32_t i = 0; i < exec->frames.num; i++)
        atomic_store(&braid_exec_notes(exec, i)[exec->tasks.num].begun, is_cancelled);
    const struct note *words = braid_exec_notes(exec, exec->frames.num);
    return exec_tell_cancelled(exec,
                               (const uint32_t *)(is_cancelled ? &words->ended : &words->begun));
}

// Calls may meet. They end with no word set, or with the flag, which has a later launch clear the
// words. For this the flag comes last here, and first where it is cleared.
static braid_status cancel(const braid_exec *exec, struct black_box *box)
{
    braid_status status = set_words(exec, true);
    atomic_store(&box->is_cancelled, true);
    return status;
}

// If it fails, the next launch tries again.
static braid_status clear_cancelled(const braid_exec *exec, struct black_box *box)
{
    atomic_store(&box->is_cancelled, false);
    braid_status status = set_words(exec, false);
    if (status)
        atomic_store(&box->is_cancelled, true);
    return status;
}

// The ends of all slots tell of failed launches, too, which get no mark.
static braid_status clear_once_ended(braid_exec *exec, struct black_box *box)
{
    braid_status status = braid_exec_ask_frames(exec, exec->device->backend->ops->event_query);
    if (status == BRAID_NOT_READY)
        return braid_error(BRAID_BUSY, "launch on %s: frames that were cancelled have not ended",
                           exec->device->label);
    return status ? status : clear_cancelled(exec, box);
}

static braid_status before_launch(struct exec_part *part, braid_exec *exec,
                                  const struct exec_launch *launch)
{
    struct black_box *box = (struct black_box *)part;
    uint32_t slot = (uint32_t)(launch->slot - exec->frames.slots);
    uint64_t num_ended = launch->first;
    braid_status status = BRAID_OK;
    if (atomic_load(&box->is_cancelled))
        status = clear_once_ended(exec, box);
    if (!status && has_rows_of_lanes(exec))
        status = braid_exec_ask_ended(exec, &num_ended);
    if (status)
        return status;
    // Else the last node of the frame before may be taken for one of this frame.
    if (has_rows_of_lanes(exec) && frame_of(exec, num_ended, slot) >= launch->first)
        clear(braid_exec_notes(exec, slot), exec->tasks.num);
    atomic_store(&box->is_launching, true);
    return BRAID_OK;
}

static braid_status after_launch(struct exec_part *part, braid_exec *exec,
                                 const struct exec_launch *launch)
{
    (void)exec;
    (void)launch;
    atomic_store(&((struct black_box *)part)->is_launching, false);
    return BRAID_OK;
}

static void finish(struct exec_part *part, braid_exec *exec)
{
    struct black_box *box = (struct black_box *)part;
    struct backend *backend = exec->device->backend;
    backend->ops->release(backend, BRAID_MEMORY_HOST, box->notes);
    braid_free(box);
}

static const struct exec_part_ops ops = {
    .before_launch = before_launch,
    .after_launch = after_launch,
    .finish = finish,
};

static size_t num_notes(const braid_exec *exec)
{
    return (size_t)exec->frames.num * (exec->tasks.num + 1) + 1;
}

braid_status braid_exec_add_black_box(braid_exec *exec, const braid_graph *graph,
                                      const braid_exec_options *options)
{
    struct backend *backend = exec->device->backend;
    void *notes = NULL;
    if (!options->black_box)
        return BRAID_OK;
    if (backend->ops->notes == BACKEND_NOTES_NOTHING)
        return braid_error(BRAID_UNSUPPORTED, "braid_exec_create: %s has no black boxes",
                           exec->device->label);
    if (options->frames_kept && has_rows_of_lanes(exec))
        return braid_error(BRAID_UNSUPPORTED,
                           "braid_exec_create: kernels on %s write either times (profile) or that "
                           "they run (black_box)",
                           exec->device->label);
    struct black_box *box = braid_allocate_zeroed(1, sizeof(*box));
    if (!box)
        return braid_error_no_memory("a black box");
    box->part.ops = &ops;
    box->is_of_ranks = graph->ranks;
    box->rank = graph->ranks ? graph->ranks->rank : 0;
    braid_exec_add_part(&exec->parts, &box->part);
    braid_status status = backend->ops->allocate(backend, BRAID_MEMORY_HOST,
                                                 num_notes(exec) * sizeof(*box->notes), &notes);
    box->notes = notes;
    return status || !has_rows_of_lanes(exec) ? status : exec_allocate_box_words(exec);
}

void braid_exec_assign_notes(braid_exec *exec)
{
    const struct black_box *box = find(exec);
    if (!box)
        return;
    clear(box->notes, num_notes(exec));
    atomic_store(&braid_exec_notes(exec, exec->frames.num)->ended, 1);
    if (has_rows_of_lanes(exec))
        notes_assign(&exec->program, exec->tasks.notes);
}

static bool has_islands(const braid_exec *exec)
{
    return exec->player->find_running && exec->frames.slots[0].playing->num_islands;
}

bool braid_exec_knows_running(const braid_exec *exec)
{
    return find(exec) || has_islands(exec);
}

static void find_in_slot(const braid_exec *exec, uint32_t slot, struct running *running)
{
    const struct frame *frame = &exec->frames.slots[slot].frame;
    const struct backend_task *tasks = exec->tasks.items; // a launch may change those of the frame
    running->slot = slot;
    if (frame->notes && has_rows_of_lanes(exec))
        notes_find_running(&exec->program, frame, running);
    for (uint32_t i = 0; frame->notes && !has_rows_of_lanes(exec) && i < exec->tasks.num; i++) {
        if (note_is_running(&frame->notes[i]))
            braid_running_add(running, i, tasks[i].name, tasks[i].lane, UINT32_MAX);
    }
    if (has_islands(exec))
        exec->player->find_running(exec->frames.slots[slot].playing, running);
}

static void find_running(const braid_exec *exec, struct running *running, uint64_t *out_num_ended)
{
    struct black_box *box = find(exec);
    uint64_t num_launched = atomic_load(&exec->frames.num_launched);
    num_launched += box && atomic_load(&box->is_launching);
    *running = (struct running){ .has_notes = box };
    *out_num_ended = box ? braid_exec_count_ended(exec) : 0;
    for (uint32_t i = 0; i < exec->frames.num; i++) {
        if (!box || frame_of(exec, *out_num_ended, i) < num_launched ||
            braid_exec_slot_has_work(exec, i))
            find_in_slot(exec, i, running);
    }
}

// The innermost loop that the node is in; `around`: it is in none. NULL: the node is elsewhere.
static const struct program *find_loop(const struct program *program, uint32_t node,
                                       const struct program *around)
{
    const struct program *found = NULL;
    for (size_t k = 0; k < program->num_ops && !found; k++)
        if (program_has_node(&program->ops[k]) && program->ops[k].node == node)
            found = around;
    for (uint32_t i = 0; i < program->num_bodies && !found; i++) {
        const struct program *body = &program->bodies[i];
        found = find_loop(body, node, program->kinds[body->node] == WORK_LOOP ? body : around);
    }
    return found;
}

const struct program *braid_exec_find_loop(const braid_exec *exec, uint32_t node)
{
    const struct program *whole = &exec->program, *found = find_loop(whole, node, whole);
    return found == whole ? NULL : found;
}

static uint64_t find_iteration(const braid_exec *exec, const struct running_node *node)
{
    const struct frame_slot *slot = &exec->frames.slots[node->slot];
    const struct program *loop = braid_exec_find_loop(exec, node->node);
    if (!loop)
        return 0;
    return braid_exec_count_iterations(exec, slot, tasks_loop_number(&exec->tasks, loop->node),
                                       ITERATIONS_SINCE_ENTRY);
}

// Each argument begins a word. With the lock held.
static void copy_arguments(const struct backend_task *task, braid_running_node *node)
{
    const uint32_t most = sizeof(node->arguments) / sizeof(node->arguments[0]);
    for (uint32_t i = 0; task->kind == WORK_KERNEL && i < task->launch.num_args; i++) {
        uint32_t bytes = task->launch.arg_bytes[i], words = (bytes + 7) / 8;
        if (node->num_words + words > most)
            return;
        memcpy(&node->arguments[node->num_words], task->launch.args[i], bytes);
        node->num_words += words;
    }
}

static braid_running_node describe(braid_exec *exec, const struct running_node *from,
                                   uint64_t num_ended, bool is_locked)
{
    braid_running_node node = {
        .node = { .graph = exec->schedule->graph_id, .index = from->node },
        .name = from->name,
        .frame = frame_of(exec, num_ended, from->slot),
        .iteration = find_iteration(exec, from),
        .lane = from->lane,
        .place = graph_place_number(exec->tasks.items[from->node].place),
        .rank = find(exec)->rank,
    };
    if (is_locked)
        copy_arguments(&exec->frames.slots[from->slot].frame.tasks[from->node], &node);
    return node;
}

// Setters and launches have the lock while they change arguments.
static void describe_all(braid_exec *exec, const struct running *running, uint64_t num_ended,
                         braid_running_node *nodes, size_t room)
{
    bool is_locked = pthread_mutex_trylock(&exec->turn.lock) == 0;
    for (uint32_t i = 0; i < running->num && i < room && i < MOST_RUNNING; i++)
        nodes[i] = describe(exec, &running->nodes[i], num_ended, is_locked);
    if (is_locked)
        pthread_mutex_unlock(&exec->turn.lock);
}

size_t braid_exec_find_nodes(braid_exec *exec, braid_running_node *nodes, size_t room)
{
    struct running running;
    uint64_t num_ended = 0;
    if (!find(exec))
        return 0;
    find_running(exec, &running, &num_ended);
    describe_all(exec, &running, num_ended, nodes, room);
    return running.num;
}

braid_status braid_exec_get_running(braid_exec *exec, braid_running_node *nodes, size_t room,
                                    size_t *out_num)
{
    EXEC_MEMORY(exec);
    static const char function[] = "braid_exec_get_running";
    if (!exec || !out_num || (room && !nodes))
        return braid_error_null(function, !exec ? "exec" : !out_num ? "out_num" : "nodes");
    if (!device_is_here(exec->device))
        return braid_device_check_open(function, exec->device);
    if (!find(exec))
        return braid_error(BRAID_UNSUPPORTED, "%s: the exec was made without black_box", function);
    *out_num = braid_exec_find_nodes(exec, nodes, room);
    return BRAID_OK;
}

braid_status braid_exec_cancel(braid_exec *exec)
{
    EXEC_MEMORY(exec);
    static const char function[] = "braid_exec_cancel";
    if (!exec)
        return braid_error_null(function, "exec");
    if (!device_is_here(exec->device))
        return braid_device_check_open(function, exec->device);
    struct black_box *box = find(exec);
    if (!box || box->is_of_ranks)
        return braid_error(BRAID_UNSUPPORTED, "%s: %s", function,
                           box ? "other ranks wait for operations of its graph"
                               : "the exec was made without black_box");
    braid_status status = cancel(exec, box);
    // If the device has failed, the question tells more than the copy.
    return status && !braid_exec_has_failed(exec) ? status : braid_exec_ask(function, exec);
}

static void write_node(const braid_running_node *node, char *text, size_t size)
{
    braid_append(text, size,
                 "%s: frame %" PRIu64 ", iteration %" PRIu64
                 ", lane %u, place %u, rank %u; arguments",
                 braid_node_text(node->node.index, node->name).text, node->frame, node->iteration,
                 node->lane, node->place, node->rank);
    for (uint32_t i = 0; i < node->num_words; i++)
        braid_append(text, size, " %" PRIx64, node->arguments[i]);
    braid_append(text, size, "\n");
}

static void set_details(braid_exec *exec, const struct running *running, uint64_t num_ended)
{
    braid_running_node nodes[MOST_DETAILED];
    char text[MOST_DETAILED * 512] = "";
    describe_all(exec, running, num_ended, nodes, MOST_DETAILED);
    for (uint32_t i = 0; i < running->num && i < MOST_DETAILED; i++)
        write_node(&nodes[i], text, sizeof(text));
    braid_error_set_details("\n", text);
}

braid_status braid_exec_add_running(const braid_exec *exec, braid_status status)
{
    char text[ERROR_MESSAGE_BYTES / 2];
    struct running running;
    uint64_t num_ended = 0;
    find_running(exec, &running, &num_ended);
    braid_running_write(&running, text, sizeof(text));
    status = braid_error(status, "%.400s; %s", braid_error_get_message(), text);
    if (running.has_notes)
        set_details((braid_exec *)(uintptr_t)exec, &running, num_ended);
    return status;
}
