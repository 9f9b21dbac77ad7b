// SPDX-License-Identifier: Apache-2.0
// Compiling a plan's program into the steps of the lane walker.
#include "backends/cpu/walker/walker.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

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
    program->gates = aligned_alloc(CPU_LINE_BYTES, from->num_lanes * sizeof(*program->gates));
    if (!program->frame_steps || !program->gates)
        return false;
    for (uint32_t i = 0; i < from->num_lanes; i++)
        program->gates[i] = (struct cpu_lane){ 0 };
    for (uint32_t i = 0; i < from->num_frame_positions; i++)
        atomic_fetch_add_explicit(&program->gates[from->frame_positions[i].lane].progress,
                                  2 * (uint64_t)num_slots, memory_order_relaxed);
    return true;
}

braid_status braid_cpu_program_compile(const struct stage *stage, const struct cpu_work *works,
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
