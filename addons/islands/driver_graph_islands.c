// SPDX-License-Identifier: Apache-2.0
// Stretches of lanes that are one kernel node of the driver's graph.
//
// Arguments of all its calls are parameters of that node, and their grids where these may vary. A
// change is a copy of some bytes here; the driver is told once an update, and a frame in flight
// keeps its own. A loop or branch is such a node as well, if all of it can be inside.
#include "backends/driver_graph/driver_graph_islands.h"

#include <stdlib.h>
#include <string.h>

#include "backends/driver_graph/driver_graph_loops.h"
#include "backends/driver_graph/driver_graph_tally.h"
#include "backends/driver_graph/driver_graph_times.h"
#include "backends/gpu/gpu_kept_memory.h"
#include "base/array.h"
#include "base/error.h"
#include "islands/gpu_island.h"
#include "islands/island_program.h"

static uint32_t count_loops(const struct program *program)
{
    uint32_t num = 0;
    for (uint32_t i = 0; i < program->num_bodies; i++)
        num += program->bodies[i].is_island + count_loops(&program->bodies[i]); // at most
    return num;
}

static void finish(struct gpu_backend *gpu, struct graph_islands *islands)
{
    for (uint32_t i = 0; islands->items && i < islands->num; i++)
        braid_gpu_island_destroy(gpu, islands->items[i].island);
    braid_gpu_kept_memory_leave(gpu, islands->notes);
    free(islands->items);
    free(islands->island_of);
    free(islands->call_of);
    *islands = (struct graph_islands){ 0 };
}

static braid_status create(struct gpu_backend *gpu, const struct program *program,
                           struct graph_loops *loops, struct graph_islands *out_islands)
{
    braid_status status = BRAID_OK;
    uint32_t num_tasks = program->tasks->num;
    struct graph_islands islands = { .num = program->num_islands + count_loops(program),
                                     .num_stretches = program->num_islands,
                                     .loops = loops };
    if (islands.num == 0) {
        *out_islands = islands;
        return BRAID_OK;
    }
    islands.items = braid_allocate_zeroed(islands.num, sizeof(*islands.items));
    islands.island_of = braid_allocate_zeroed(num_tasks, sizeof(uint32_t));
    islands.call_of = braid_allocate_zeroed(num_tasks, sizeof(uint32_t));
    if (!islands.items || !islands.island_of || !islands.call_of)
        status = braid_error_no_memory("the islands of a program");
    else
        status = braid_gpu_island_notes_take(gpu, islands.num_stretches, &islands.notes);
    if (status) {
        finish(gpu, &islands);
        return status;
    }
    for (uint32_t i = 0; i < num_tasks; i++)
        islands.island_of[i] = GRAPH_OUTSIDE;
    *out_islands = islands;
    return BRAID_OK;
}

static braid_status make_lists(const struct stage *stage, const struct program_island *island,
                               struct island_lists *out_lists)
{
    struct island_lists lists = { .num_lanes = 1,
                                  .num_calls = island->num_calls,
                                  .timed = stage->num_profiled != 0 };
    lists.calls = braid_allocate_zeroed(island->num_calls, sizeof(*lists.calls));
    lists.lane_first = braid_allocate_zeroed(2, sizeof(*lists.lane_first));
    if (!lists.calls || !lists.lane_first) {
        braid_island_lists_finish(&lists);
        return braid_error_no_memory("an island");
    }
    lists.lane_first[1] = lists.num_calls;
    for (uint32_t i = 0; i < lists.num_calls; i++)
        lists.calls[i].task = &stage->frame->tasks[island->calls[i]];
    *out_lists = lists;
    return BRAID_OK;
}

// The lists are taken over. If there is no memory for an island, there may be some for ordinary
// nodes; the log tells of it.
static braid_status try_to_make(struct gpu_backend *gpu, const struct stage *stage,
                                struct island_lists *lists, struct gpu_island **out_island)
{
    struct error_attempt attempt;
    uint32_t num_calls = lists->num_calls;
    bool chain = lists->num_lanes == 1;
    if (stage->must_have_islands)
        return braid_gpu_island_create(gpu, lists, chain, out_island);
    braid_error_begin_attempt(&attempt);
    braid_status status = braid_gpu_island_create(gpu, lists, chain, out_island);
    if (status == BRAID_NO_MEMORY) {
        status = braid_error(status, "%u nodes stay outside of an island: %s", num_calls,
                             braid_error_message());
        braid_error_end_noted(&attempt, status);
        return BRAID_OK;
    }
    status = status == BRAID_UNSUPPORTED ? BRAID_OK : status;
    braid_error_end_attempt(&attempt, status);
    return status;
}

static void describe(struct graph_island *item, const struct backend_launch *first)
{
    item->task.launch = *braid_gpu_island_launch(item->island, 1);
    item->task.launch.priority = first->priority;
    if (item->task.launch.kernel->waits_first)
        item->task.launch.start = first->start;
}

static void tell_times(struct gpu_island *island, struct graph_times *times,
                       const struct program_island *from)
{
    braid_gpu_island_set_times(island, braid_driver_graph_times_of_island(times, from->calls[0]),
                               from->num_calls, 1);
    for (uint32_t i = 0; i < from->num_calls; i++)
        braid_driver_graph_times_note_inside(times, from->calls[i]);
}

static braid_status make(struct graph_islands *islands, struct gpu_backend *gpu,
                         const struct stage *stage, uint32_t index, struct graph_times *times)
{
    const struct program_island *island = &stage->program->islands[index];
    struct graph_island *item = &islands->items[index];
    struct island_lists lists;
    struct backend_launch launch = { 0 };
    braid_status status = make_lists(stage, island, &lists);
    if (!status) {
        launch.priority = braid_island_lists_priority(&lists);
        status = try_to_make(gpu, stage, &lists, &item->island);
    }
    if (status || !item->island)
        return status;
    if (islands->notes)
        braid_gpu_island_set_note(item->island, &islands->notes[index]);
    if (times)
        tell_times(item->island, times, island);
    const struct backend_task *first = &stage->frame->tasks[island->calls[0]];
    item->task = *first;
    item->task.kind = WORK_KERNEL;
    item->task.detour = NULL;
    item->task.disabled = false;
    if (first->kind == WORK_KERNEL)
        launch.start = first->launch.start;
    describe(item, &launch);
    for (uint32_t i = 0; i < island->num_calls; i++) {
        islands->island_of[island->calls[i]] = index;
        islands->call_of[island->calls[i]] = i;
    }
    return BRAID_OK;
}

static braid_status set_scope(const struct graph_islands *islands, const struct graph_island *item,
                              const struct backend_task *task)
{
    struct island_scope scope;
    braid_status status = braid_driver_graph_loops_describe(islands->loops, task, &scope);
    if (status)
        return status;
    scope.kind |= item->scope_kind;
    braid_gpu_island_set_scope(item->island, islands->call_of[task->node], &scope);
    return BRAID_OK;
}

static braid_status take_nodes(struct graph_islands *islands, const struct stage *stage,
                               const struct program *program, uint32_t index)
{
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < program->num_ops && !status; i++) {
        const braid_step *op = &program->ops[i];
        if (!program_takes_time(program, op))
            continue;
        islands->island_of[op->node] = index;
        if (op->kind == BRAID_STEP_LOOP)
            status = set_scope(islands, &islands->items[index], &stage->frame->tasks[op->node]);
    }
    for (uint32_t i = 0; i < program->num_bodies && !status; i++)
        status = take_nodes(islands, stage, &program->bodies[i], index);
    return status;
}

// Notes all nodes in the bodies of a plan's program.
static void note_times(const struct graph_islands *islands, const struct gpu_island *island,
                       const struct program *program, struct graph_times *times)
{
    struct graph_tallies *tallies = braid_driver_graph_times_tallies(times);
    for (uint32_t i = 0; i < program->num_bodies; i++) {
        const struct program *body = &program->bodies[i];
        for (size_t k = 0; k < body->num_ops; k++) {
            const uint32_t task = body->ops[k].node;
            if (body->ops[k].kind == BRAID_STEP_LOOP) {
                braid_driver_graph_tallies_note(
                    tallies, task, braid_gpu_island_tally_of_scope(island, islands->call_of[task]));
            } else if (program_runs(body, &body->ops[k])) {
                braid_driver_graph_tallies_note(
                    tallies, task,
                    (uint32_t)braid_gpu_island_stamp_of(island, islands->call_of[task]));
                braid_driver_graph_times_note_inside(times, task);
            }
        }
        note_times(islands, island, body, times);
    }
}

static braid_status take_times(const struct graph_islands *islands, struct gpu_island *island,
                               const struct program *around, struct graph_times *times)
{
    if (!times)
        return BRAID_OK;
    struct gpu_tally *memory;
    const struct graph_stamps *stamps;
    braid_status status = braid_driver_graph_tallies_add_island(
        braid_driver_graph_times_tallies(times), braid_gpu_island_count_tallies(island), &memory,
        &stamps);
    if (status)
        return status;
    braid_gpu_island_set_tallies(island, memory, stamps->room, stamps->counter,
                                 stamps->keep_blocks);
    note_times(islands, island, around, times);
    return BRAID_OK;
}

static braid_status make_loop(struct graph_islands *islands, struct gpu_backend *gpu,
                              const struct stage *stage, const struct program *body, bool is_inside,
                              struct graph_times *times, struct graph_island **out_item)
{
    const uint32_t index = islands->num_stretches + islands->num_loops++;
    struct graph_island *item = &islands->items[index];
    braid_step enter = { .kind = BRAID_STEP_LOOP, .node = body->node };
    struct program around = *stage->program; // which has nothing but the loop or branch
    struct stage inner = *stage;
    struct island_lists lists;
    around.ops = &enter;
    around.num_ops = 1;
    around.num_lanes = 0;
    around.bodies = (struct program *)(uintptr_t)body;
    around.num_bodies = 1 + body->has_else;
    inner.program = &around;
    item->task = stage->frame->tasks[body->node];
    *out_item = NULL;
    braid_status status = braid_island_lists_of_program(&inner, islands->call_of, &lists);
    if (status)
        return status;
    const struct backend_launch first = { .priority = braid_island_lists_priority(&lists) };
    status = try_to_make(gpu, stage, &lists, &item->island);
    if (status || !item->island)
        return status;
    item->scope_kind = is_inside ? ISLAND_SCOPE_INSIDE : 0;
    item->task.kind = WORK_KERNEL;
    describe(item, &first);
    status = braid_gpu_island_take_notes(gpu, item->island);
    if (!status)
        status = take_nodes(islands, stage, &around, index);
    if (!status)
        status = take_times(islands, item->island, &around, times);
    if (!status)
        *out_item = item;
    return status;
}

// The executable's node gets the new kernel with the next changes.
static braid_status let_grids_vary(struct graph_island *item, struct gpu_backend *gpu,
                                   const struct backend_task *task)
{
    const struct backend_launch before = item->task.launch;
    struct gpu_scope scope;
    braid_status status = braid_gpu_enter_task(gpu, &scope, task);
    if (status)
        return status;
    status = braid_gpu_island_let_grids_vary(gpu, &item->island);
    if (!status)
        describe(item, &before);
    braid_gpu_leave(gpu, &scope);
    return status;
}

static braid_status check(const struct graph_islands *islands, const struct backend_task *task)
{
    const struct graph_island *item = &islands->items[islands->island_of[task->node]];
    if (task->kind != WORK_KERNEL)
        return BRAID_OK;
    return braid_gpu_island_check_call(item->island, islands->call_of[task->node], task);
}

static braid_status set_call(struct graph_islands *islands, struct graph_island *item,
                             struct gpu_backend *gpu, const struct backend_task *task)
{
    uint32_t call = islands->call_of[task->node];
    braid_status status = BRAID_OK;
    if (braid_gpu_island_must_change(item->island, call, task))
        status = let_grids_vary(item, gpu, task);
    return status ? status : braid_gpu_island_set(gpu, item->island, call, task);
}

static braid_status enter_to_set_scope(const struct graph_islands *islands,
                                       const struct graph_island *item, struct gpu_backend *gpu,
                                       const struct backend_task *task)
{
    struct gpu_scope scope;
    braid_status status = braid_gpu_enter_task(gpu, &scope, task);
    if (status)
        return status;
    status = set_scope(islands, item, task);
    braid_gpu_leave(gpu, &scope);
    return status;
}

static braid_status set(struct graph_islands *islands, struct gpu_backend *gpu,
                        const struct backend_task *task)
{
    struct graph_island *item = &islands->items[islands->island_of[task->node]];
    item->changed = islands->changed = true; // also if it fails half-way
    return work_has_body((enum work_kind)task->kind) ? enter_to_set_scope(islands, item, gpu, task)
                                                     : set_call(islands, item, gpu, task);
}

static braid_status apply(struct graph_islands *islands, const struct gpu_backend *gpu,
                          gpu_executable executable)
{
    for (uint32_t i = 0; islands->changed && i < islands->num; i++) {
        struct graph_island *item = &islands->items[i];
        if (!item->changed)
            continue;
        gpu_result result =
            gpu->vendor->nodes->set_kernel(gpu, executable, item->node, &item->task.launch);
        if (result)
            return braid_gpu_check_task(gpu, result, &gpu->api->executable_set_kernel, &item->task,
                                        NULL);
        item->changed = false;
    }
    islands->changed = false;
    return BRAID_OK;
}

static void find_running(const struct graph_islands *islands, struct running *running)
{
    for (uint32_t i = 0; i < islands->num; i++) {
        if (islands->items[i].island)
            braid_gpu_island_find_running(islands->items[i].island, &i, running);
    }
}

static const struct graph_islands_ops operations = {
    .create = create,
    .finish = finish,
    .make = make,
    .make_loop = make_loop,
    .check = check,
    .set = set,
    .apply = apply,
    .find_running = find_running,
};
const struct graph_islands_ops *const braid_graph_islands = &operations;
