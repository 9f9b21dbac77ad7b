// SPDX-License-Identifier: Apache-2.0
// The walker: making, launching and freeing programs; and the player's table.
#include "backends/cpu/walker/walker.h"

#include <stdlib.h>

#include "backends/players.h"
#include "base/error.h"
#include "base/node_text.h"

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
    return aligned_alloc(CPU_LINE_BYTES, num ? num * bytes : bytes);
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
    program->arena = malloc(arena_bytes ? arena_bytes : 1);
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
    status = braid_cpu_program_compile(stage, works, program);
    free(works);
    return status;
}

// Half-built programs included.
static void free_program(struct cpu_program *program)
{
    for (uint32_t i = 0; i < program->num_bodies; i++)
        free_program(program->bodies[i]);
    braid_cpu_program_await_polls(program);
    braid_cpu_patches_finish(program);
    pthread_mutex_destroy(&program->patch_lock);
    free(program->lanes);
    free(program->arena);
    if (!program->shares_changing)
        free(program->changing);
    free(program->gates);
    braid_store_finish(&program->store);
    braid_cpu_profile_destroy(program->profile);
    free(program);
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

static braid_status launch(struct playing *playing, braid_stream *stream,
                           struct play_result *out_result)
{
    struct cpu_program *program = cpu_program_of(playing);
    struct cpu_backend *backend = cpu_backend_of(program->backend);
    struct cpu_stream *queue = braid_cpu_stream_of(backend, device_backend_stream(stream));
    pthread_mutex_lock(&program->patch_lock);
    cpu_issue_lock(backend);
    out_result->queued = append_launch(backend, program, queue);
    cpu_issue_unlock(backend);
    pthread_mutex_unlock(&program->patch_lock);
    return out_result->queued ? BRAID_OK : braid_error_no_memory("a launch");
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
    .update = braid_cpu_program_update,
    .orders_frames = orders_frames,
    .follow = follow,
    .launch = launch,
    .read_times = braid_cpu_profile_read,
    .read_clock = braid_cpu_profile_read_clock,
    .destroy = destroy,
};
