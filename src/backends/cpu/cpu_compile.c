// SPDX-License-Identifier: Apache-2.0
// Compiling a plan into the steps of the lane walker.
#include "backends/cpu/cpu_program.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

// What is left out: empty tasks, records that nobody waits for, waits for something that an earlier
// wait of the lane covers, and lanes that are empty then.

struct record {
    uint32_t lane;
    uint32_t position; // 0: there is nothing before it to wait for
    bool waited;
};

struct compiler {
    const struct backend_plan *plan;
    const struct cpu_work *works; // a task
    struct backend_program *program;
    bool shares; // there is somebody to share a grid with
    struct record *records;
    uint32_t *covered;      // a lane: the position that the current lane has waited for
    uint32_t *covered_lane; // and the lane, plus 1, that this is about
    size_t num_steps, num_blocks, num_works;
};

static bool is_empty(const struct compiler *compiler, uint32_t task)
{
    return compiler->plan->tasks[task].kind == BACKEND_TASK_EMPTY;
}

static void note_waited_records(struct compiler *compiler)
{
    const struct backend_plan *plan = compiler->plan;
    for (uint32_t i = 0; i < plan->num_lanes; i++)
        for (size_t j = 0; j < plan->lanes[i].num_steps; j++)
            if (plan->lanes[i].steps[j].kind == BRAID_STEP_WAIT)
                compiler->records[plan->lanes[i].steps[j].index].waited = true;
}

// Two records with nothing between them have one position; one with nothing before it has 0.
static void place_records(struct compiler *compiler, uint32_t lane)
{
    const struct backend_lane *steps = &compiler->plan->lanes[lane];
    uint32_t position = 0;
    bool something_since = false;
    for (size_t i = 0; i < steps->num_steps; i++) {
        const struct backend_step *step = &steps->steps[i];
        if (step->kind != BRAID_STEP_RECORD) {
            something_since |= step->kind == BRAID_STEP_WAIT || !is_empty(compiler, step->index);
            continue;
        }
        struct record *record = &compiler->records[step->index];
        if (!record->waited)
            continue;
        position += something_since;
        something_since = false;
        record->lane = lane;
        record->position = position;
    }
}

static void emit(struct compiler *compiler, struct cpu_step step)
{
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

static void emit_run(struct compiler *compiler, uint32_t task)
{
    const struct cpu_work *work = &compiler->works[task];
    if (is_empty(compiler, task))
        return;
    if (compiler->shares && work->blocks.end > 1) {
        struct cpu_work *kept = &compiler->program->works[compiler->num_works++];
        *kept = *work;
        emit(compiler, (struct cpu_step){ .kind = CPU_STEP_SHARE, .work = kept });
        return;
    }
    emit(compiler, (struct cpu_step){ .kind = CPU_STEP_RUN,
                                      .call = work->call,
                                      .blocks = keep_blocks(compiler, &work->blocks),
                                      .args = work->args });
}

static void emit_wait(struct compiler *compiler, uint32_t lane, const struct record *record)
{
    uint32_t producer = record->lane;
    if (compiler->covered_lane[producer] != lane + 1) {
        compiler->covered_lane[producer] = lane + 1;
        compiler->covered[producer] = 0;
    }
    if (producer == lane || record->position <= compiler->covered[producer])
        return;
    compiler->covered[producer] = record->position;
    emit(compiler, (struct cpu_step){ .kind = CPU_STEP_WAIT,
                                      .position = record->position,
                                      .producer = &compiler->program->lanes[producer] });
}

// A run step publishes by itself; after anything else it takes a step of its own.
static void emit_record(struct compiler *compiler, size_t first_step, const struct record *record,
                        uint32_t *published)
{
    if (!record->waited || record->position == *published)
        return;
    *published = record->position;
    struct cpu_step *steps = compiler->program->steps;
    size_t num = compiler->num_steps;
    if (num > first_step && steps[num - 1].kind == CPU_STEP_RUN && !steps[num - 1].position)
        steps[num - 1].position = record->position;
    else
        emit(compiler, (struct cpu_step){ .kind = CPU_STEP_PUBLISH, .position = record->position });
}

static void emit_lane(struct compiler *compiler, uint32_t lane)
{
    const struct backend_lane *steps = &compiler->plan->lanes[lane];
    size_t first_step = compiler->num_steps;
    uint32_t published = 0;
    for (size_t i = 0; i < steps->num_steps; i++) {
        uint32_t index = steps->steps[i].index;
        if (steps->steps[i].kind == BRAID_STEP_RUN)
            emit_run(compiler, index);
        else if (steps->steps[i].kind == BRAID_STEP_WAIT)
            emit_wait(compiler, lane, &compiler->records[index]);
        else
            emit_record(compiler, first_step, &compiler->records[index], &published);
    }
    struct cpu_lane *to = &compiler->program->lanes[lane];
    to->steps = &compiler->program->steps[first_step];
    to->program = compiler->program;
    to->job.run = braid_cpu_lane_run;
    if (compiler->num_steps > first_step)
        compiler->program->active[compiler->program->num_active++] = to;
    emit(compiler, (struct cpu_step){ .kind = CPU_STEP_END });
}

static bool allocate(struct compiler *compiler)
{
    const struct backend_plan *plan = compiler->plan;
    struct backend_program *program = compiler->program;
    size_t num_steps = plan->num_lanes; // their ends
    for (uint32_t i = 0; i < plan->num_lanes; i++)
        num_steps += plan->lanes[i].num_steps;
    program->steps = braid_allocate_zeroed(num_steps, sizeof(*program->steps));
    program->blocks = braid_allocate_zeroed(plan->num_tasks, sizeof(*program->blocks));
    program->works = braid_allocate_zeroed(plan->num_tasks, sizeof(*program->works));
    program->active = braid_allocate_zeroed(plan->num_lanes, sizeof(*program->active));
    compiler->records = braid_allocate_zeroed(plan->num_records, sizeof(*compiler->records));
    compiler->covered = braid_allocate_zeroed(plan->num_lanes, sizeof(*compiler->covered));
    compiler->covered_lane =
        braid_allocate_zeroed(plan->num_lanes, sizeof(*compiler->covered_lane));
    return program->steps && program->blocks && program->works && program->active &&
           compiler->records && compiler->covered && compiler->covered_lane;
}

braid_status braid_cpu_program_compile(const struct cpu_backend *backend,
                                       const struct backend_plan *plan,
                                       const struct cpu_work *works,
                                       struct backend_program *program)
{
    struct compiler compiler = {
        .plan = plan,
        .works = works,
        .program = program,
        .shares = backend->num_workers > 1,
    };
    bool allocated = allocate(&compiler);
    if (allocated) {
        note_waited_records(&compiler);
        for (uint32_t i = 0; i < plan->num_lanes; i++)
            place_records(&compiler, i);
        for (uint32_t i = 0; i < plan->num_lanes; i++)
            emit_lane(&compiler, i);
    }
    free(compiler.records);
    free(compiler.covered);
    free(compiler.covered_lane);
    return allocated ? BRAID_OK : braid_error_no_memory("the steps of a program");
}
