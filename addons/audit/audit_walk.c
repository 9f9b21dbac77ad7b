// SPDX-License-Identifier: Apache-2.0
// Walks through a frame's program as one thread would run it, with its loops and branches.
#include "audit/audit_walk.h"

static const struct backend_task *task_of(const struct audit_walk *walk, uint32_t node)
{
    return &walk->reach->exec->frames.slots[0].frame.tasks[node];
}

static braid_status run_program(const struct audit_walk *walk, const struct program *program);

static braid_status read_condition(const struct audit_walk *walk, const struct work_loop *loop,
                                   bool *out_is_set)
{
    const unsigned char *bytes = NULL;
    braid_status status =
        braid_audit_reach_read(walk->reach, loop->condition, sizeof(uint32_t), &bytes);
    *out_is_set = !status && *(const volatile uint32_t *)(const void *)bytes != 0;
    return status;
}

static braid_status run_iteration(const struct audit_walk *walk, const struct program *body)
{
    struct audit_loop *loop = walk->loops ? &walk->loops->items[audit_order_of(body)] : NULL;
    if (loop && loop->num++ >= loop->most) {
        walk->loops->endless = body->node;
        return BRAID_TIMEOUT;
    }
    return run_program(walk, body);
}

static braid_status run_region(const struct audit_walk *walk, const struct program *body)
{
    const struct work_loop *loop = &task_of(walk, body->node)->work.loop;
    braid_status status = BRAID_OK;
    bool tests_first = loop->condition && loop->tests_first, is_set = true;
    if (body->has_else)
        status = read_condition(walk, loop, &is_set);
    if (!status && !is_set)
        return run_program(walk, body + 1);
    for (uint64_t i = 0; i < loop->most && !status; i++) {
        bool tests = i ? loop->condition != NULL : tests_first;
        if (tests)
            status = read_condition(walk, loop, &is_set);
        if (status || !is_set)
            break;
        status = run_iteration(walk, body);
    }
    return status;
}

static braid_status run_node(const struct audit_walk *walk, uint32_t node)
{
    const struct backend_task *task = task_of(walk, node);
    return task->disabled || task->kind == WORK_EMPTY ? BRAID_OK : walk->run(walk->context, node);
}

static braid_status run_program(const struct audit_walk *walk, const struct program *program)
{
    const struct audit_order *order = walk->orders ? &walk->orders[audit_order_of(program)] : NULL;
    size_t num = order ? order->num : program->num_ops;
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < num && !status; i++) {
        const braid_step *op = &program->ops[order ? order->ops[i] : i];
        if (op->kind == BRAID_STEP_RUN)
            status = run_node(walk, op->node);
        else if (op->kind == BRAID_STEP_LOOP)
            status = run_region(walk, &program->bodies[op->position]);
    }
    return status;
}

braid_status braid_audit_walk(const struct audit_walk *walk)
{
    braid_status status = run_program(walk, &walk->reach->exec->program);
    return walk->loops && walk->loops->endless != GRAPH_NONE ? BRAID_OK : status;
}
