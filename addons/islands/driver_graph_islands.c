// SPDX-License-Identifier: Apache-2.0
// Stretches of lanes, loops, branches and whole graphs as tasks: each is one kernel, in a program
// written anew.
//
// Arguments of all its calls are parameters of that kernel, and their grids where these may vary. A
// change is a copy of some bytes here; the driver is told once an update, and a frame in flight
// keeps its own.
#include "backends/driver_graph/driver_graph_islands.h"

#include <string.h>

#include "backends/driver_graph/driver_graph_loops.h"
#include "backends/driver_graph/driver_graph_tally.h"
#include "backends/driver_graph/driver_graph_times.h"
#include "backends/gpu/gpu_kept_memory.h"
#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "islands/gpu_island.h"
#include "islands/gpu_island_lists.h"
#include "tasks/player.h"

// ---- the lists of a program ----

// The tree of scopes is walked once for each lane, and a step ends wherever a scope begins or ends.
// All that was issued before is in earlier steps, and all lanes meet behind each. So only waits for
// positions of the same step are left.
//
// Waits gather until the lane's next call. If the lane's last call cannot publish, or the step ends
// with waits, a call without a task does it.
struct list_builder {
    const struct stage *stage;
    struct island_lists *lists;
    uint32_t *call_of;
    uint32_t lane;
    uint32_t step, scope; // at hand
    uint32_t first_wait;
    bool may_publish; // the lane's last call can
};

static struct island_call *add_call(struct list_builder *builder, const struct backend_task *task)
{
    struct island_lists *lists = builder->lists;
    struct island_call *call = &lists->calls[lists->num_calls++];
    *call = (struct island_call){ .task = task,
                                  .first_wait = builder->first_wait,
                                  .num_waits = lists->num_waits - builder->first_wait };
    builder->first_wait = lists->num_waits;
    return call;
}

// A wait for the nth position of a lane, of which some were recorded before the step.
static void add_wait(struct list_builder *builder, const struct program *program,
                     const struct program_position *position, size_t first_op)
{
    struct island_lists *lists = builder->lists;
    uint32_t num_before = 0;
    for (size_t i = 0; i < first_op; i++)
        num_before +=
            program->ops[i].kind == BRAID_STEP_RECORD && program->ops[i].lane == position->lane;
    if (position->number <= num_before)
        return;
    lists->waits[lists->num_waits++] =
        (struct island_wait){ position->lane, position->number - num_before };
    builder->may_publish = false;
}

// The step at hand began with first_op.
static void add_op(struct list_builder *builder, const struct program *program,
                   const braid_step *op, size_t first_op)
{
    struct island_lists *lists = builder->lists;
    if (op->kind == BRAID_STEP_RUN) {
        if (!program_runs(program, op))
            return;
        builder->call_of[op->node] = lists->num_calls;
        add_call(builder, &builder->stage->frame->tasks[op->node]);
        builder->may_publish = true;
    } else if (op->kind == BRAID_STEP_WAIT) {
        add_wait(builder, program, &program->positions[op->position], first_op);
    } else {
        struct island_call *call =
            builder->may_publish ? &lists->calls[lists->num_calls - 1] : add_call(builder, NULL);
        call->publishes = true;
        builder->may_publish = false;
    }
}

// Returns the step. The next one is `then`, unless that is set otherwise.
static struct island_step *end_step(struct list_builder *builder, enum island_test test,
                                    uint32_t scope)
{
    struct island_lists *lists = builder->lists;
    if (builder->first_wait != lists->num_waits)
        add_call(builder, NULL);
    builder->may_publish = false;
    lists->step_ends[(size_t)builder->step * lists->num_lanes + builder->lane] = lists->num_calls;
    struct island_step *step = &lists->steps[builder->step++];
    *step = (struct island_step){ test, scope, builder->step, builder->step };
    return step;
}

static void add_ops(struct list_builder *builder, const struct program *program);

static void add_loop(struct list_builder *builder, const struct program *body, uint32_t scope)
{
    struct island_step *enter = end_step(builder, ISLAND_TEST_ENTER, scope);
    uint32_t first = builder->step;
    add_ops(builder, body);
    end_step(builder, ISLAND_TEST_AGAIN, scope)->then = first;
    enter->otherwise = builder->step;
}

static void add_branch(struct list_builder *builder, const struct program *arms, uint32_t scope)
{
    struct island_step *choose = end_step(builder, ISLAND_TEST_CHOOSE, scope);
    add_ops(builder, arms);
    struct island_step *last = end_step(builder, ISLAND_TEST_NONE, scope);
    choose->otherwise = builder->step;
    if (!arms->has_else && !builder->lists->timed)
        return;
    if (arms->has_else)
        add_ops(builder, arms + 1);
    end_step(builder, ISLAND_TEST_NONE, scope);
    last->then = builder->step;
}

static void add_scope(struct list_builder *builder, const struct program *body)
{
    uint32_t scope = builder->scope++;
    builder->call_of[body->node] = scope;
    if (builder->stage->frame->tasks[body->node].kind == WORK_LOOP)
        add_loop(builder, body, scope);
    else
        add_branch(builder, body, scope);
}

static void add_ops(struct list_builder *builder, const struct program *program)
{
    size_t first_op = 0;
    for (size_t i = 0; i < program->num_ops; i++) {
        const braid_step *op = &program->ops[i];
        if (op->kind == BRAID_STEP_LOOP) {
            add_scope(builder, &program->bodies[op->position]);
            first_op = i + 1;
        } else if (op->lane == builder->lane) {
            add_op(builder, program, op, first_op);
        }
    }
}

// The lists' needs.
struct list_needs {
    uint32_t num_lanes, num_scopes;
    size_t num_ops;
};

static void find_needs(const struct program *program, struct list_needs *needs)
{
    needs->num_ops += program->num_ops;
    if (program->num_lanes > needs->num_lanes)
        needs->num_lanes = program->num_lanes;
    for (uint32_t i = 0; i < program->num_bodies; i++) {
        needs->num_scopes += !program->bodies[i].is_else;
        find_needs(&program->bodies[i], needs);
    }
}

// A scope begins a step, and ends two at most.
static bool allocate_lists(const struct list_needs *needs, struct island_lists *lists)
{
    const size_t num_steps = 3 * (size_t)needs->num_scopes + 1;
    const size_t num_ends = num_steps * needs->num_lanes;
    lists->num_lanes = needs->num_lanes;
    lists->num_scopes = needs->num_scopes;
    lists->calls = braid_allocate_zeroed(needs->num_ops + num_ends, sizeof(*lists->calls));
    lists->lane_first =
        braid_allocate_zeroed((size_t)needs->num_lanes + 1, sizeof(*lists->lane_first));
    lists->waits = braid_allocate_zeroed(needs->num_ops, sizeof(*lists->waits));
    lists->steps = braid_allocate_zeroed(num_steps, sizeof(*lists->steps));
    lists->step_ends = braid_allocate_zeroed(num_ends, sizeof(*lists->step_ends));
    return lists->calls && lists->lane_first && lists->waits && lists->steps && lists->step_ends;
}

// The last step's calls are those behind the last scope, if there are any.
static void add_lane(struct list_builder *builder, const struct program *program)
{
    builder->step = builder->scope = 0;
    add_ops(builder, program);
    if (program->num_ops == 0 || program->ops[program->num_ops - 1].kind != BRAID_STEP_LOOP)
        end_step(builder, ISLAND_TEST_NONE, 0);
    builder->lists->lane_first[builder->lane + 1] = builder->lists->num_calls;
}

static bool has_calls(const struct island_lists *lists, uint32_t step)
{
    bool has = false;
    for (uint32_t lane = 0; lane < lists->num_lanes && !has; lane++) {
        struct island_range range = braid_island_range(lists, step, lane);
        has = range.first < range.end;
    }
    return has;
}

static uint32_t next_step(const struct island_lists *lists, uint32_t step)
{
    return step < lists->num_steps ? step : ISLAND_END;
}

// A step without a test takes over that of a next step without calls, so that lanes meet once. An
// arm at the end of an iteration ends so. Where the branch is timed, its end is behind that step.
static void connect_steps(struct island_lists *lists)
{
    for (uint32_t i = lists->num_steps; i-- > 0;) {
        struct island_step *step = &lists->steps[i];
        step->then = next_step(lists, step->then);
        step->otherwise = next_step(lists, step->otherwise);
        if (step->test == ISLAND_TEST_NONE && !lists->timed && step->then != ISLAND_END &&
            !has_calls(lists, step->then))
            *step = lists->steps[step->then];
    }
}

// All lanes of a stage's program. call_of[node] becomes the call of each task that runs, and the
// scope of each loop and branch. Errors: BRAID_NO_MEMORY.
static braid_status lists_of_program(const struct stage *stage, uint32_t *call_of,
                                     struct island_lists *out_lists)
{
    struct list_needs needs = { 0 };
    struct island_lists lists = { .timed = stage->num_profiled != 0,
                                  .spread = stage->program->is_island == ISLAND_SPREAD,
                                  .whole =
                                      stage->program->is_island && !stage->program->num_bodies };
    find_needs(stage->program, &needs);
    if (!allocate_lists(&needs, &lists)) {
        braid_island_lists_finish(&lists);
        return braid_error_no_memory("an island");
    }
    struct list_builder builder = { .stage = stage, .lists = &lists, .call_of = call_of };
    for (; builder.lane < lists.num_lanes; builder.lane++)
        add_lane(&builder, stage->program);
    lists.num_steps = builder.step;
    connect_steps(&lists);
    *out_lists = lists;
    return BRAID_OK;
}

// ---- one island ----

static void finish(struct gpu_backend *gpu, struct graph_islands *islands)
{
    for (uint32_t i = 0; islands->items && i < islands->num; i++)
        braid_gpu_island_destroy(gpu, islands->items[i].island);
    braid_gpu_kept_memory_leave(gpu, islands->notes);
    braid_free(islands->items);
    braid_free(islands->island_of);
    braid_free(islands->call_of);
    braid_free(islands->program.kinds);
    braid_free(islands->frame.tasks);
    *islands = (struct graph_islands){ 0 };
}

// If there is no memory for an island, there may be some for ordinary nodes; the log tells of it.
// The lists are taken over.
static braid_status try_to_make(struct gpu_backend *gpu, const struct stage *stage,
                                struct island_lists *lists, struct gpu_island **out_island)
{
    struct error_attempt attempt;
    uint32_t num_calls = lists->num_calls;
    if (stage->must_have_islands)
        return braid_gpu_island_create(gpu, lists, out_island);
    braid_error_begin_attempt(&attempt);
    braid_status status = braid_gpu_island_create(gpu, lists, out_island);
    if (status == BRAID_NO_MEMORY) {
        status = braid_error(status, "%u nodes stay outside of an island: %s", num_calls,
                             braid_error_get_message());
        braid_error_end_noted(&attempt, status);
        return BRAID_OK;
    }
    status = status == BRAID_UNSUPPORTED ? BRAID_OK : status;
    braid_error_end_attempt(&attempt, status);
    return status;
}

// Its parameters are read when it is launched, or handed to the driver.
static void describe(struct graph_island *item, const struct backend_launch *first)
{
    item->task.launch = *braid_gpu_island_launch(item->island);
    item->task.launch.priority = first->priority;
    if (item->task.launch.kernel->waits_first)
        item->task.launch.start = first->start;
}

// The kernel takes the place of its first task. The notes of a black box are its calls', if any.
static void fill_task(struct graph_island *item, const struct backend_task *first, int32_t priority)
{
    const struct backend_launch launch = {
        .priority = priority,
        .start = first->kind == WORK_KERNEL ? first->launch.start : BACKEND_STARTS_IN_ORDER,
    };
    item->task = (struct backend_task){ .kind = WORK_KERNEL,
                                        .name = first->name,
                                        .lane = first->lane,
                                        .node = first->node,
                                        .place = first->place };
    describe(item, &launch);
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

// All that takes time in a part of the stage's program is in an island now.
static braid_status take_nodes(struct graph_islands *islands, const struct stage *stage,
                               const struct program *part, struct graph_island *item)
{
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < part->num_ops && !status; i++) {
        const braid_step *op = &part->ops[i];
        if (!program_takes_time(part, op))
            continue;
        islands->island_of[op->node] = (uint32_t)(item - islands->items);
        islands->num_nodes += op->kind == BRAID_STEP_RUN;
        if (op->kind == BRAID_STEP_LOOP)
            status = set_scope(islands, item, &stage->frame->tasks[op->node]);
    }
    for (uint32_t i = 0; i < part->num_bodies && !status; i++)
        status = take_nodes(islands, stage, &part->bodies[i], item);
    return status;
}

// Makes an island of a part of the stage's program, in the place of node `first`. *out_item is NULL
// if it cannot be.
static braid_status make(struct graph_islands *islands, struct gpu_backend *gpu,
                         const struct stage *stage, const struct program *part, uint32_t first,
                         struct graph_island *item, struct graph_island **out_item)
{
    struct stage inner = *stage;
    struct island_lists lists;
    inner.program = part;
    *out_item = NULL;
    braid_status status = lists_of_program(&inner, islands->call_of, &lists);
    if (status)
        return status;
    int32_t priority = braid_island_lists_priority(&lists);
    status = try_to_make(gpu, stage, &lists, &item->island);
    if (status || !item->island)
        return status;
    fill_task(item, &stage->frame->tasks[first], priority);
    status = take_nodes(islands, stage, part, item);
    if (status)
        return status;
    islands->num_made++;
    islands->frame.tasks[first] = item->task;
    *out_item = item;
    return BRAID_OK;
}

// ---- stretches ----

static void take_stamps(const struct graph_islands *islands, struct gpu_island *island,
                        const struct program_island *from)
{
    if (!islands->times)
        return;
    braid_gpu_island_set_times(island,
                               braid_driver_graph_times_of_island(islands->times, from->calls[0]),
                               from->num_calls, 1);
    for (uint32_t i = 0; i < from->num_calls; i++)
        braid_driver_graph_times_note_inside(islands->times, from->calls[i]);
}

// All that a stretch waits for stands before its first operation, and nothing between its calls.
static braid_status make_stretch(struct graph_islands *islands, struct gpu_backend *gpu,
                                 const struct stage *stage, uint32_t index)
{
    const struct program_island *from = &stage->program->islands[index];
    struct graph_island *item = NULL;
    braid_step *ops = braid_allocate_zeroed(from->num_calls, sizeof(*ops));
    struct program part = *stage->program;
    if (!ops)
        return braid_error_no_memory("an island");
    for (uint32_t i = 0; i < from->num_calls; i++)
        ops[i] = (braid_step){ .kind = BRAID_STEP_RUN, .node = from->calls[i] };
    part.ops = ops;
    part.num_ops = from->num_calls;
    part.num_lanes = 1;
    part.num_bodies = 0;
    braid_status status =
        make(islands, gpu, stage, &part, from->calls[0], &islands->items[index], &item);
    braid_free(ops);
    if (!item)
        return status;
    if (islands->notes)
        braid_gpu_island_set_note(item->island, &islands->notes[index]);
    take_stamps(islands, item->island, from);
    for (uint32_t i = 1; i < from->num_calls; i++)
        islands->program.kinds[from->calls[i]] = WORK_EMPTY;
    return BRAID_OK;
}

// ---- loops and branches ----

// Notes all nodes in the bodies of a plan's program.
static void note_times(const struct graph_islands *islands, const struct gpu_island *island,
                       const struct program *program)
{
    struct graph_tallies *tallies = braid_driver_graph_times_tallies(islands->times);
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
                braid_driver_graph_times_note_inside(islands->times, task);
            }
        }
        note_times(islands, island, body);
    }
}

static braid_status take_tallies(const struct graph_islands *islands, struct gpu_island *island,
                                 const struct program *around)
{
    if (!islands->times)
        return BRAID_OK;
    struct gpu_tally *memory;
    const struct graph_stamps *stamps;
    braid_status status = braid_driver_graph_tallies_add_island(
        braid_driver_graph_times_tallies(islands->times), braid_gpu_island_count_tallies(island),
        &memory, &stamps);
    if (status)
        return status;
    braid_gpu_island_set_tallies(island, memory, stamps->room, stamps->counter,
                                 stamps->keep_blocks);
    note_times(islands, island, around);
    return BRAID_OK;
}

// `body` is the first one of the loop or branch.
static braid_status make_loop(struct graph_islands *islands, struct gpu_backend *gpu,
                              const struct stage *stage, const struct program *body, bool is_inside,
                              bool *out_made)
{
    struct graph_island *item = &islands->items[islands->num_stretches + islands->num_loops++];
    braid_step enter = { .kind = BRAID_STEP_LOOP, .node = body->node };
    struct program around = *stage->program; // which has nothing but the loop or branch
    around.ops = &enter;
    around.num_ops = 1;
    around.num_lanes = 0;
    around.bodies = (struct program *)(uintptr_t)body;
    around.num_bodies = 1 + body->has_else;
    item->scope_kind = is_inside ? ISLAND_SCOPE_INSIDE : 0;
    braid_status status = make(islands, gpu, stage, &around, body->node, item, &item);
    *out_made = item;
    if (!item)
        return status;
    status = braid_gpu_island_take_notes(gpu, item->island);
    return status ? status : take_tallies(islands, item->island, &around);
}

static uint32_t count_loops(const struct program *program)
{
    uint32_t num = 0;
    for (uint32_t i = 0; i < program->num_bodies; i++)
        num += program->bodies[i].is_island + count_loops(&program->bodies[i]); // at most
    return num;
}

// Inside one that is no island, others may be.
static braid_status make_loops(struct graph_islands *islands, struct gpu_backend *gpu,
                               const struct stage *stage, const struct program *program)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < program->num_bodies && !status; i += 1 + program->bodies[i].has_else) {
        const struct program *body = &program->bodies[i];
        bool made = false;
        if (body->is_island)
            status = make_loop(islands, gpu, stage, body, program->region != PLAN_NONE, &made);
        for (uint32_t arm = 0; arm <= body->has_else && !made && !status; arm++)
            status = make_loops(islands, gpu, stage, &body[arm]);
    }
    return status;
}

// ---- whole programs ----

static braid_status take_ring(const struct graph_islands *islands, struct gpu_island *island,
                              const struct stage *stage)
{
    uint32_t num_in_lane;
    void *stamps = NULL;
    if (!islands->times)
        return BRAID_OK;
    uint64_t num = braid_gpu_island_count_stamps(island, &num_in_lane);
    braid_status status =
        braid_driver_graph_times_add_whole(islands->times, (uint32_t)num, &stamps);
    if (status)
        return status;
    braid_gpu_island_set_times(island, stamps, num_in_lane, stage->num_profiled);
    for (uint32_t i = 0; i < stage->program->tasks->num; i++) {
        if (graph_islands_have(islands, i))
            braid_driver_graph_times_note_stamp(
                islands->times, i,
                (uint32_t)braid_gpu_island_stamp_of(island, islands->call_of[i]));
    }
    return BRAID_OK;
}

// The program becomes one operation of one lane.
static void write_whole(struct graph_islands *islands, const struct backend_task *task)
{
    islands->is_whole = true;
    islands->op = (braid_step){ .kind = BRAID_STEP_RUN, .node = task->node };
    islands->lane = (struct program_lane){
        .place = task->place, .needs_fork = true, .needs_join = true, .has_work = true, .num_ops = 1
    };
    islands->program.ops = &islands->op;
    islands->program.lanes = &islands->lane;
    islands->program.lane_ops = &islands->lane_op;
    islands->program.num_ops = islands->program.num_lanes = 1;
    islands->program.num_positions = islands->program.num_islands = 0;
}

// If it cannot be made, the exec plans anew.
static braid_status make_whole(struct graph_islands *islands, struct gpu_backend *gpu,
                               const struct stage *stage)
{
    const struct program *program = stage->program;
    struct graph_island *item = &islands->items[0];
    struct stage whole = *stage;
    size_t first = 0;
    while (first < program->num_ops && !program_runs(program, &program->ops[first]))
        first++;
    if (first == program->num_ops)
        return braid_error(BRAID_UNSUPPORTED, "there is nothing to put into an island");
    whole.must_have_islands = true;
    braid_status status =
        make(islands, gpu, &whole, program, program->ops[first].node, item, &item);
    if (!status)
        status = braid_gpu_island_reserve(gpu, item->island);
    if (!status)
        status = take_ring(islands, item->island, stage);
    if (!status)
        write_whole(islands, &item->task);
    return status;
}

static gpu_result begin(struct graph_islands *islands, const struct gpu_backend *gpu,
                        gpu_stream stream, uint32_t num_frames, uint32_t first, bool *out_queued)
{
    return braid_gpu_island_begin(gpu, islands->items[0].island, stream, num_frames, first,
                                  out_queued);
}

static uint32_t most_frames(const struct graph_islands *islands, bool in_rows)
{
    return braid_gpu_island_most_frames(islands->items[0].island, in_rows);
}

static void keep_rows(struct graph_islands *islands, uint32_t frame)
{
    braid_gpu_island_keep_rows(islands->items[0].island, frame);
}

// ---- all ----

static bool allocate(const struct stage *stage, struct graph_islands *islands)
{
    const struct program *program = stage->program;
    uint32_t num_tasks = program->tasks->num;
    islands->items = braid_allocate_zeroed(islands->num, sizeof(*islands->items));
    islands->island_of = braid_allocate_zeroed(num_tasks, sizeof(uint32_t));
    islands->call_of = braid_allocate_zeroed(num_tasks, sizeof(uint32_t));
    islands->program = *program;
    islands->program.kinds = braid_allocate_zeroed(program->num_nodes, 1);
    islands->frame = *stage->frame;
    islands->frame.tasks = braid_allocate_zeroed(num_tasks, sizeof(*islands->frame.tasks));
    if (!islands->items || !islands->island_of || !islands->call_of || !islands->program.kinds ||
        !islands->frame.tasks)
        return false;
    memset(islands->island_of, 0xff, num_tasks * sizeof(uint32_t)); // GRAPH_OUTSIDE
    memcpy(islands->program.kinds, program->kinds, program->num_nodes);
    memcpy(islands->frame.tasks, stage->frame->tasks, num_tasks * sizeof(*islands->frame.tasks));
    return true;
}

static braid_status fill(struct graph_islands *islands, struct gpu_backend *gpu,
                         const struct stage *stage)
{
    if (!allocate(stage, islands))
        return braid_error_no_memory("the islands of a program");
    if (stage->program->is_island)
        return make_whole(islands, gpu, stage);
    braid_status status = braid_gpu_island_notes_take(gpu, islands->num_stretches, &islands->notes);
    for (uint32_t i = 0; i < islands->num_stretches && !status; i++)
        status = make_stretch(islands, gpu, stage, i);
    return status ? status : make_loops(islands, gpu, stage, stage->program);
}

static braid_status create(struct gpu_backend *gpu, const struct stage *stage,
                           struct graph_loops *loops, struct graph_times *times,
                           struct graph_islands *out_islands)
{
    const struct program *program = stage->program;
    struct graph_islands *islands = out_islands;
    *islands = (struct graph_islands){ .num_stretches = program->num_islands,
                                       .loops = loops,
                                       .times = times };
    islands->num = program->is_island ? 1 : islands->num_stretches + count_loops(program);
    braid_status status = islands->num ? fill(islands, gpu, stage) : BRAID_OK;
    if (status)
        finish(gpu, islands);
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

static void find_running(const struct graph_islands *islands, struct running *running)
{
    for (uint32_t i = 0; i < islands->num; i++) {
        if (islands->items[i].island)
            braid_gpu_island_find_running(islands->items[i].island, islands->is_whole ? NULL : &i,
                                          running);
    }
}

static const struct graph_islands_ops operations = {
    .create = create,
    .finish = finish,
    .check = check,
    .set = set,
    .begin = begin,
    .most_frames = most_frames,
    .keep_rows = keep_rows,
    .find_running = find_running,
};
const struct graph_islands_ops *const braid_graph_islands = &operations;
