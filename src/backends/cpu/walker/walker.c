// SPDX-License-Identifier: Apache-2.0
// The walker: making, launching and freeing programs; and the player's table.
#include "backends/cpu/walker/walker.h"

#include <string.h>

#include "backends/players.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/node_text.h"

// ---- compiling a plan's program into the steps of the lane walker ----

struct compiler {
    const struct program *from;
    const struct cpu_work *works; // an operation
    struct cpu_program *program;
    size_t num_steps, num_blocks;
    size_t *op_of_step; // SIZE_MAX: of none. NULL: nobody asks
    uint32_t slot, num_slots;
};

static void emit(struct compiler *compiler, struct cpu_step step)
{
    if (compiler->op_of_step)
        compiler->op_of_step[compiler->num_steps] = SIZE_MAX;
    compiler->program->steps[compiler->num_steps++] = step;
}

// Neighbours often have one shape and then share it, which keeps the walk's data small.
static const braid_blocks *keep_blocks(struct compiler *compiler, const braid_blocks *blocks)
{
    braid_blocks *kept = compiler->program->blocks;
    size_t num = compiler->num_blocks;
    if (num && memcmp(&kept[num - 1], blocks, sizeof(*blocks)) == 0)
        return &kept[num - 1];
    kept[num] = *blocks;
    compiler->num_blocks++;
    return &kept[num];
}

static void emit_run(struct compiler *compiler, const braid_step *op)
{
    const struct cpu_work *work = &compiler->works[op - compiler->from->ops];
    struct cpu_program *program = compiler->program;
    program->changing[op->node].step = (uint32_t)compiler->num_steps;
    bool is_called = work->grid_from || work->is_blocking || work->note;
    if (is_called || (program->shares && work->blocks.end > 1)) {
        struct cpu_work *kept = &program->works[program->num_works++];
        *kept = *work;
        emit(compiler, (struct cpu_step){ .kind = CPU_STEP_SHARE, .work = kept });
        return;
    }
    emit(compiler, (struct cpu_step){ .kind = CPU_STEP_RUN,
                                      .call = work->call,
                                      .blocks = keep_blocks(compiler, &work->blocks),
                                      .args = work->args });
}

static void emit_wait(struct compiler *compiler, const struct program_position *position)
{
    emit(compiler, (struct cpu_step){ .kind = CPU_STEP_WAIT,
                                      .wanted = 2 * (uint64_t)position->number,
                                      .producer = &compiler->program->lanes[position->lane] });
}

// A run step publishes by itself; after anything else it takes a step of its own.
static void emit_publish(struct compiler *compiler, size_t first_step, uint32_t number)
{
    struct cpu_step *steps = compiler->program->steps;
    size_t num = compiler->num_steps;
    if (num > first_step && steps[num - 1].kind == CPU_STEP_RUN)
        steps[num - 1].position = number;
    else
        emit(compiler, (struct cpu_step){ .kind = CPU_STEP_PUBLISH, .position = number });
}

// Frame f makes (f + num_slots) * per_frame and the position of a gate. A gate begins where the
// frame before the first would have left it: frames that are awaited and were none are fewer slots
// before. The first frame of slot s is number s, and its start adds the stride.
static void emit_frame_step(struct compiler *compiler, const braid_step *op)
{
    struct cpu_program *program = compiler->program;
    bool awaits = op->kind == PROGRAM_AWAIT_FRAME;
    uint32_t frames_before = program_frames_before(compiler->from, op);
    const struct program_position *position = program_position_of(compiler->from, op);
    uint64_t stride =
        atomic_load_explicit(&program->gates[position->lane].progress, memory_order_relaxed);
    uint64_t per_frame = stride / compiler->num_slots;
    uint64_t frame = compiler->slot + compiler->num_slots - frames_before;
    program->frame_steps[program->num_frame_steps++] =
        (struct cpu_frame_step){ .step = &program->steps[compiler->num_steps],
                                 .stride = stride,
                                 .lane = position->lane,
                                 .frames_before = frames_before };
    emit(compiler, (struct cpu_step){
                       .kind = awaits ? CPU_STEP_WAIT : CPU_STEP_PUBLISH_FRAME,
                       .wanted = frame * per_frame + 2 * (uint64_t)position->number - stride,
                       .producer = awaits ? NULL : &program->gates[position->lane],
                   });
}

static void emit_loop(struct compiler *compiler, const braid_step *op)
{
    compiler->program->changing[op->node].step = (uint32_t)compiler->num_steps;
    emit(compiler, (struct cpu_step){ .kind = CPU_STEP_LOOP,
                                      .body = compiler->program->bodies[op->position],
                                      .args = compiler->works[op - compiler->from->ops].args });
}

static void emit_lane(struct compiler *compiler, uint32_t lane)
{
    const struct program *from = compiler->from;
    size_t first_step = compiler->num_steps;
    for (size_t i = 0; i < from->lanes[lane].num_ops; i++) {
        const braid_step *op = program_lane_op(from, lane, i);
        size_t step = compiler->num_steps;
        if (op->kind == BRAID_STEP_RUN && !program_runs(from, op))
            continue;
        if (op->kind == BRAID_STEP_RUN)
            emit_run(compiler, op);
        else if (op->kind == BRAID_STEP_LOOP)
            emit_loop(compiler, op);
        else if (op->kind == BRAID_STEP_WAIT)
            emit_wait(compiler, &from->positions[op->position]);
        else if (op->kind != BRAID_STEP_RECORD)
            emit_frame_step(compiler, op);
        else
            emit_publish(compiler, first_step, from->positions[op->position].number);
        bool records = op->kind == BRAID_STEP_RECORD || op->kind == PROGRAM_RECORD_FRAME;
        if (compiler->op_of_step && !records)
            compiler->op_of_step[step] = (size_t)(op - from->ops);
    }
    struct cpu_lane *to = &compiler->program->lanes[lane];
    to->steps = &compiler->program->steps[first_step];
    to->program = compiler->program;
    to->job.run = compiler->op_of_step ? braid_cpu_lane_run_timed : braid_cpu_lane_run;
    to->job.pass = braid_cpu_lane_pass;
    if (from->lanes[lane].has_work)
        compiler->program->active[compiler->program->num_active++] = to;
    emit(compiler, (struct cpu_step){ .kind = CPU_STEP_END });
}

// Each gate's progress is 2 for each frame position of its lane, of as many frames as there are
// slots.
static bool make_gates(const struct program *from, uint32_t num_slots, struct cpu_program *program)
{
    size_t num = 0;
    for (size_t i = 0; i < from->num_ops; i++)
        num +=
            from->ops[i].kind == PROGRAM_RECORD_FRAME || from->ops[i].kind == PROGRAM_AWAIT_FRAME;
    if (!num)
        return true;
    program->frame_steps = braid_store_take(&program->store, num, sizeof(*program->frame_steps));
    program->gates =
        braid_allocate_aligned(CPU_LINE_BYTES, from->num_lanes * sizeof(*program->gates));
    if (!program->frame_steps || !program->gates)
        return false;
    for (uint32_t i = 0; i < from->num_lanes; i++)
        program->gates[i] = (struct cpu_lane){ 0 };
    for (uint32_t i = 0; i < from->num_frame_positions; i++)
        atomic_fetch_add_explicit(&program->gates[from->frame_positions[i].lane].progress,
                                  2 * (uint64_t)num_slots, memory_order_relaxed);
    return true;
}

// Fills the lanes and steps; `works` has one an operation.
static braid_status cpu_program_compile(const struct stage *stage, const struct cpu_work *works,
                                        struct cpu_program *program)
{
    const struct program *from = stage->program;
    uint32_t num_frames = stage->num_profiled;
    size_t most_steps = from->num_ops + from->num_lanes; // and their ends
    size_t *op_of_step = NULL;
    struct store *store = &program->store;
    if (num_frames)
        op_of_step = braid_store_take(store, most_steps, sizeof(*op_of_step));
    program->steps = braid_store_take(store, most_steps, sizeof(*program->steps));
    program->blocks = braid_store_take(store, from->num_ops, sizeof(*program->blocks));
    program->works = braid_store_take(store, from->num_ops, sizeof(*program->works));
    program->active = braid_store_take(store, from->num_lanes, sizeof(*program->active));
    if (store->failed || !make_gates(from, stage->num_slots, program))
        return braid_error_no_memory("the steps of a program");
    program->shares = cpu_backend_of(program->backend)->num_workers > 1;
    struct compiler compiler = {
        .from = from,
        .works = works,
        .program = program,
        .op_of_step = op_of_step,
        .slot = stage->slot,
        .num_slots = stage->num_slots,
    };
    for (uint32_t i = 0; i < from->num_lanes; i++)
        emit_lane(&compiler, i);
    if (!num_frames)
        return BRAID_OK;
    program->play.start = braid_cpu_profile_start;
    return braid_cpu_profile_create(program, from, num_frames, compiler.num_steps, op_of_step);
}

// ---- patches: changed tasks, from being set to the frame they are for ----

// Launches of one program run in turn. So the steps and arguments of the frame that runs
// are the only ones anybody reads. A change waits in a patch until the launch it is for begins;
// then it is written in place. Frames queued earlier do not see it, and a change costs its own
// bytes only. Patches are made by updates and recycled by launches, never the other way round.

struct entry {
    uint32_t task;
    size_t offset; // where its bytes are in the patch
    struct cpu_work work;
};

struct cpu_patch {
    struct cpu_patch *next; // free list
    struct array entries;   // struct entry
    struct array bytes;
};

static struct cpu_patch *take_patch(struct cpu_program *program)
{
    struct cpu_patch *patch = program->free_patches;
    if (!patch)
        return braid_allocate_zeroed(1, sizeof(*patch));
    program->free_patches = patch->next;
    patch->entries.num = 0;
    patch->bytes.num = 0;
    return patch;
}

static size_t total_bytes(const struct cpu_values *values)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < values->num; i++)
        bytes += values->bytes[i];
    return bytes;
}

// The task's entry in the pending patch, made if it is not there; NULL: no memory.
static struct entry *find_entry(struct cpu_program *program, uint32_t task)
{
    struct cpu_patch *patch = program->pending;
    struct cpu_changing *changing = &program->changing[task];
    struct entry *entries = patch->entries.items;
    if (changing->entry < patch->entries.num && entries[changing->entry].task == task)
        return &entries[changing->entry];
    size_t bytes = total_bytes(&changing->values);
    if (!braid_array_reserve(&patch->entries, 1, sizeof(struct entry)) ||
        !braid_array_reserve(&patch->bytes, bytes, 1))
        return NULL;
    changing->entry = (uint32_t)patch->entries.num;
    struct entry *entry = braid_array_append(&patch->entries, 1, sizeof(*entry));
    *entry = (struct entry){ .task = task, .offset = patch->bytes.num };
    if (bytes)
        braid_array_append(&patch->bytes, bytes, 1);
    return entry;
}

// Whether the task's step, which shares its blocks with its neighbours, gets others. While no step
// has blocks of its own, none has been changed, so they can be read.
static bool needs_own_blocks(const struct cpu_program *program, uint32_t step,
                             const struct cpu_work *work)
{
    const struct cpu_step *changed = &program->steps[step];
    return !program->own_blocks && changed->kind == CPU_STEP_RUN &&
           memcmp(changed->blocks, &work->blocks, sizeof(work->blocks)) != 0;
}

static bool make_own_blocks(struct cpu_program *program)
{
    program->own_blocks =
        braid_store_take(&program->store, program->num_tasks, sizeof(*program->own_blocks));
    return program->own_blocks;
}

static braid_status set(struct cpu_program *program, const struct backend_task *task)
{
    const struct cpu_changing *changing = &program->changing[task->node];
    struct cpu_program *own = changing->program;
    struct cpu_work work;
    braid_cpu_task_describe(task, &changing->values, &work);
    if (needs_own_blocks(own, changing->step, &work) && !make_own_blocks(own))
        return braid_error_no_memory("a changed task");
    if (!program->pending)
        program->pending = take_patch(program);
    // The next launch applies each entry that it finds: nothing fails behind that.
    struct entry *entry = program->pending ? find_entry(program, task->node) : NULL;
    if (!entry)
        return braid_error_no_memory("a changed task");
    unsigned char *bytes = program->pending->bytes.items; // NULL where nothing has any
    braid_cpu_task_recapture(task, &changing->values, bytes ? bytes + entry->offset : NULL);
    entry->work = work;
    return BRAID_OK;
}

// Changed tasks, from being set to the frame they are for.
static braid_status cpu_program_update(struct playing *playing,
                                       const struct backend_task *const *tasks, uint32_t num,
                                       uint32_t frame)
{
    struct cpu_program *program = cpu_program_of(playing);
    braid_status status = BRAID_OK;
    (void)frame; // one at a time
    pthread_mutex_lock(&program->patch_lock);
    for (uint32_t i = 0; i < num && !status; i++) {
        if (program->changing[tasks[i]->node].step != CPU_NO_STEP)
            status = set(program, tasks[i]);
        if (status)
            status = braid_error(status, "node %s: %s",
                                 braid_node_text(tasks[i]->node, tasks[i]->name).text,
                                 braid_error_get_message());
    }
    pthread_mutex_unlock(&program->patch_lock);
    return status;
}

static void apply_values(const struct cpu_values *values, const unsigned char *from)
{
    for (uint32_t i = 0; i < values->num; i++) {
        memcpy(values->pointers[i], from, values->bytes[i]);
        from += values->bytes[i];
    }
}

// One thread runs a step that publishes by itself, with any number of blocks: a helper that went on
// behind it could not publish.
static void apply_work(struct cpu_program *program, uint32_t task, const struct cpu_work *work)
{
    struct cpu_step *step = &program->steps[program->changing[task].step];
    if (step->kind == CPU_STEP_LOOP)
        return; // it reads its values
    if (step->kind == CPU_STEP_RUN && step->position == 0 && program->shares &&
        work->blocks.end > 1) {
        step->kind = CPU_STEP_SHARE;
        step->work = &program->works[program->num_works++];
    }
    if (step->kind == CPU_STEP_SHARE) {
        *step->work = *work;
        return;
    }
    step->call = work->call;
    if (memcmp(step->blocks, &work->blocks, sizeof(work->blocks)) == 0)
        return;
    program->own_blocks[task] = work->blocks;
    step->blocks = &program->own_blocks[task];
}

void braid_cpu_patch_apply(struct cpu_program *program, struct cpu_patch *patch)
{
    if (!patch)
        return;
    const struct entry *entries = patch->entries.items;
    const unsigned char *bytes = patch->bytes.items;
    for (size_t i = 0; i < patch->entries.num; i++) {
        const struct entry *entry = &entries[i];
        if (bytes)
            apply_values(&program->changing[entry->task].values, bytes + entry->offset);
        apply_work(program->changing[entry->task].program, entry->task, &entry->work);
    }
    pthread_mutex_lock(&program->patch_lock);
    patch->next = program->free_patches;
    program->free_patches = patch;
    pthread_mutex_unlock(&program->patch_lock);
}

static void free_patch(struct cpu_patch *patch)
{
    if (!patch)
        return;
    braid_array_finish(&patch->entries);
    braid_array_finish(&patch->bytes);
    braid_free(patch);
}

static void cpu_patches_finish(struct cpu_program *program)
{
    free_patch(program->pending);
    while (program->free_patches) {
        struct cpu_patch *patch = program->free_patches;
        program->free_patches = patch->next;
        free_patch(patch);
    }
}

// ---- playing ----

static braid_status refuse_queue_calls(const struct program *program)
{
    const struct tasks *tasks = program->tasks;
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < program->num_ops; i++) {
        uint32_t node = program->ops[i].node;
        if (program->ops[i].kind == BRAID_STEP_RUN && tasks->items[node].kind == WORK_QUEUE)
            return braid_error(BRAID_UNSUPPORTED,
                               "cpu: node %s is a queue call, which needs a stream to queue on",
                               braid_node_text(node, tasks->items[node].name).text);
    }
    for (uint32_t i = 0; i < program->num_bodies && !status; i++)
        status = refuse_queue_calls(&program->bodies[i]);
    return status;
}

static braid_status check(const struct stage *stage)
{
    return refuse_queue_calls(stage->program);
}

static void *allocate_lines(size_t num, size_t bytes)
{
    // Sizes of types with line alignment are multiples of it, as aligned_alloc asks.
    if (num > SIZE_MAX / bytes)
        return NULL;
    return braid_allocate_aligned(CPU_LINE_BYTES, num ? num * bytes : bytes);
}

// A task is in one body, or in the whole. So all programs of a frame have one table.
static bool share_changing(const struct stage *stage, struct cpu_program *program)
{
    const struct cpu_program *other =
        program->around ? program->around : (const struct cpu_program *)stage->beside;
    program->num_tasks = stage->program->tasks->num;
    program->shares_changing = other;
    program->changing = other
                            ? other->changing
                            : braid_allocate_zeroed(program->num_tasks, sizeof(*program->changing));
    for (uint32_t i = 0; !other && program->changing && i < program->num_tasks; i++)
        program->changing[i].step = CPU_NO_STEP;
    return program->changing;
}

static bool allocate(const struct stage *stage, struct cpu_program *program)
{
    const struct program *from = stage->program;
    size_t arena_bytes = 0;
    for (size_t i = 0; i < from->num_ops; i++)
        if (program_takes_time(from, &from->ops[i]))
            arena_bytes += braid_cpu_task_bytes(&stage->frame->tasks[from->ops[i].node]);
    program->lanes = allocate_lines(from->num_lanes, sizeof(*program->lanes));
    program->arena = braid_allocate(arena_bytes ? arena_bytes : 1);
    program->bodies = braid_store_take(&program->store, from->num_bodies, sizeof(*program->bodies));
    for (uint32_t i = 0; program->lanes && i < from->num_lanes; i++)
        program->lanes[i] = (struct cpu_lane){ 0 };
    return share_changing(stage, program) && program->lanes && program->arena && program->bodies;
}

// Tasks are captured in the order of the lanes' steps, so that a walk reads memory in order.
static void capture_tasks(const struct stage *stage, struct cpu_program *program,
                          struct cpu_work *works)
{
    unsigned char *memory = program->arena;
    for (size_t i = 0; i < stage->program->num_ops; i++) {
        size_t index = stage->program->lane_ops[i];
        const braid_step *op = &stage->program->ops[index];
        if (!program_takes_time(stage->program, op))
            continue;
        const struct backend_task *task = &stage->frame->tasks[op->node];
        memory = braid_cpu_task_capture(task, memory, &works[index]);
        program->changing[op->node].program = program;
        program->changing[op->node].values = braid_cpu_task_values(task, &works[index]);
    }
}

static braid_status create_program(const struct stage *stage, struct cpu_program *around,
                                   struct cpu_program **out_program);

static braid_status create_bodies(const struct stage *stage, struct cpu_program *program)
{
    const struct program *from = stage->program;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < from->num_bodies && !status; i++) {
        struct stage inner = *stage;
        inner.program = &from->bodies[i];
        status = create_program(&inner, program, &program->bodies[program->num_bodies]);
        program->num_bodies += !status;
        if (!status && inner.program->is_else)
            program->bodies[i - 1]->other = program->bodies[i];
    }
    return status;
}

static braid_status fill_program(const struct stage *stage, struct cpu_program *program)
{
    if (!allocate(stage, program))
        return braid_error_no_memory("a program");
    braid_status status = create_bodies(stage, program);
    if (status)
        return status;
    struct cpu_work *works = braid_allocate_zeroed(stage->program->num_ops, sizeof(*works));
    if (!works)
        return braid_error_no_memory("a program");
    capture_tasks(stage, program, works);
    status = cpu_program_compile(stage, works, program);
    braid_free(works);
    return status;
}

// Half-built programs included.
static void free_program(struct cpu_program *program)
{
    for (uint32_t i = 0; i < program->num_bodies; i++)
        free_program(program->bodies[i]);
    braid_cpu_program_await_polls(program);
    cpu_patches_finish(program);
    pthread_mutex_destroy(&program->patch_lock);
    braid_free(program->lanes);
    braid_free(program->arena);
    if (!program->shares_changing)
        braid_free(program->changing);
    braid_free(program->gates);
    braid_store_finish(&program->store);
    braid_cpu_profile_destroy(program->profile);
    braid_free(program);
}

// `around` has the loop whose body it is; NULL: it is the whole.
static braid_status create_program(const struct stage *stage, struct cpu_program *around,
                                   struct cpu_program **out_program)
{
    struct cpu_program *program = allocate_lines(1, sizeof(*program));
    if (!program)
        return braid_error_no_memory("a program");
    *program = (struct cpu_program){
        .play = { braid_cpu_program_start },
        .backend = stage->device->backend,
        .around = around,
        .is_else = stage->program->is_else,
    };
    if (around)
        program->cancelled = stage->frame->tasks[stage->program->node].cancelled;
    if (around)
        program->iterations =
            stage->frame->iterations[stage->frame->tasks[stage->program->node].work.loop.number];
    program->traps_frame = stage->frame;
    if (around && stage->frame->tasks[stage->program->node].kind == WORK_LOOP &&
        stage->program->tasks->num_traps)
        program->traps_of = stage->program;
    pthread_mutex_init(&program->patch_lock, NULL);
    braid_status status = fill_program(stage, program);
    if (status != BRAID_OK)
        free_program(program);
    else
        *out_program = program;
    return status;
}

static braid_status create(const struct stage *stage, struct playing **out_playing)
{
    struct cpu_program *program = NULL;
    braid_status status = create_program(stage, NULL, &program);
    if (!status)
        *out_playing = &program->base;
    return status;
}

static bool append_launch(struct cpu_backend *backend, struct cpu_program *program,
                          struct cpu_stream *stream);

static braid_status launch(struct playing *playing, braid_stream *stream,
                           struct play_result *out_result)
{
    struct cpu_program *program = cpu_program_of(playing);
    struct cpu_backend *backend = cpu_backend_of(program->backend);
    struct cpu_stream *queue = braid_cpu_stream_of(backend, stream->backend);
    pthread_mutex_lock(&program->patch_lock);
    cpu_issue_lock(backend);
    out_result->queued = append_launch(backend, program, queue);
    cpu_issue_unlock(backend);
    pthread_mutex_unlock(&program->patch_lock);
    return out_result->queued ? BRAID_OK : braid_error_no_memory("a launch");
}

// The command waits for the launch before, wherever that was queued, and makes a point of its own
// for the next one. Patch lock and issue lock held. False: no memory.
static bool append_launch(struct cpu_backend *backend, struct cpu_program *program,
                          struct cpu_stream *stream)
{
    struct cpu_command *command =
        braid_cpu_command_reserve(backend, stream, CPU_COMMAND_BYTES(launch));
    struct cpu_point *end = command ? braid_cpu_point_create(backend, false) : NULL;
    if (!end)
        return false;
    command->kind = CPU_COMMAND_LAUNCH;
    command->launch = (struct cpu_launch){
        .before = program->last_end,
        .end = end,
        .play = &program->play,
        .patch = program->pending,
    };
    program->pending = NULL;
    program->last_end = end;
    braid_cpu_point_add_reference(end);
    end->stream = &stream->job;
    braid_cpu_stream_append(backend, stream, command);
    return true;
}

// Finds the gates that the program's steps wait for, as far as it is known yet which program
// follows which.
static void find_gates(struct cpu_program *program)
{
    for (size_t i = 0; i < program->num_frame_steps; i++) {
        const struct cpu_frame_step *frame_step = &program->frame_steps[i];
        struct cpu_program *before = program;
        for (uint32_t k = 0; k < frame_step->frames_before && before; k++)
            before = before->before;
        if (frame_step->frames_before && before)
            frame_step->step->producer = &before->gates[frame_step->lane];
    }
}

static void follow(struct playing *playing, struct playing *playing_before)
{
    struct cpu_program *program = cpu_program_of(playing);
    program->before = cpu_program_of(playing_before);
    program->before->after = program;
    find_gates(program);
    for (struct cpu_program *after = program->after; after && after != program;
         after = after->after)
        find_gates(after);
}

// Walkers that lost a lane of the programs behind may still look at the gates of this one.
static void leave_slots(struct cpu_program *program)
{
    for (struct cpu_program *after = program->after; after && after != program;
         after = after->after)
        braid_cpu_program_await_polls(after);
    if (program->after)
        program->after->before = NULL;
    if (program->before)
        program->before->after = NULL;
}

static void destroy(struct playing *playing)
{
    struct cpu_program *program = cpu_program_of(playing);
    leave_slots(program);
    struct cpu_backend *backend = cpu_backend_of(program->backend);
    braid_cpu_point_release(backend, program->last_end);
    free_program(program);
}

// Measured as those of streams, in cpu_backend.c. A kernel takes 4 ns on one lane. A wait takes 430
// ns on two lanes in turn, 104 at best.
enum { NODE_NS = 4, WAIT_NS = 300 };

static void get_cost_model(struct backend *backend, braid_cost_model *out_model)
{
    backend->ops->get_cost_model(backend, out_model);
    out_model->node_ns = NODE_NS;
    out_model->wait_ns = WAIT_NS;
}

static bool orders_frames(struct backend *backend, bool several_places)
{
    (void)backend, (void)several_places;
    return true;
}

const struct player braid_walker_player = {
    .name = "walker",
    .mode = BRAID_MODE_GRAPH,
    .plays_loops = true,
    .get_cost_model = get_cost_model,
    .check = check,
    .create = create,
    .update = cpu_program_update,
    .orders_frames = orders_frames,
    .follow = follow,
    .launch = launch,
    .read_times = braid_cpu_profile_read,
    .read_clock = braid_cpu_profile_read_clock,
    .destroy = destroy,
};
