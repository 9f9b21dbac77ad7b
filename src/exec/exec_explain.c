// SPDX-License-Identifier: Apache-2.0
// Explains how the frames of an exec that are in flight are ordered among each other.
#include "base/error.h"
#include "base/node_text.h"
#include "exec/exec.h"
#include "plan/plan_text.h"

// A wait stands before the task that it is for, behind other waits at most.
static const struct program_op *task_behind(const struct program_op *op)
{
    while (op->kind != PROGRAM_RUN)
        op++;
    return op;
}

static bool begins_island(const struct program *program, const struct program_op *op)
{
    bool begins = false;
    for (uint32_t i = 0; i < program->num_islands; i++)
        begins |= program->islands[i].first_op == (size_t)(op - program->ops);
    return begins;
}

// Before an island stand the waits of all that is inside.
static void add_wait(const braid_exec *exec, const struct program_op *op, struct plan_text *text)
{
    const struct program *program = &exec->program;
    const struct program_op *behind = task_behind(op);
    uint32_t later = behind->index, earlier = program->frame_positions[op->index].task;
    plan_text_begin_line(text);
    plan_text_add(text, "%s%s waits for ",
                  begins_island(program, behind) ? "the island that begins with " : "",
                  braid_node_text(later, exec->tasks.items[later].name).text);
    plan_text_add(text, "%s of ", braid_node_text(earlier, exec->tasks.items[earlier].name).text);
    if (op->frames_before == 1)
        plan_text_add(text, "the frame before");
    else
        plan_text_add(text, "%u frames before", op->frames_before);
}

static void explain(const braid_exec *exec, struct plan_text *text)
{
    const braid_exec_info *info = &exec->info;
    if (info->num_frames == 1) {
        plan_text_add(text, "1 frame in flight: each begins when the one before has ended");
        return;
    }
    plan_text_add(text, "%u frames in flight, %s", info->num_frames, info->frames_reason);
    if (exec->whole_frames) {
        plan_text_add(text, ": each begins when the one before has ended");
        return;
    }
    for (size_t i = 0; i < exec->program.num_ops; i++)
        if (exec->program.ops[i].kind == PROGRAM_AWAIT_FRAME)
            add_wait(exec, &exec->program.ops[i], text);
}

braid_status braid_exec_explain_frames(const braid_exec *exec, char *out_text, size_t size)
{
    if (!exec || !out_text || size == 0)
        return braid_error(BRAID_INVALID_ARGUMENT, "braid_exec_explain_frames: %s",
                           !exec       ? "exec is NULL"
                           : !out_text ? "out_text is NULL"
                                       : "size is 0");
    out_text[0] = '\0';
    explain(exec, &(struct plan_text){ .bytes = out_text, .size = size });
    return BRAID_OK;
}
