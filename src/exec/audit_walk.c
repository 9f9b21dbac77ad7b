// SPDX-License-Identifier: Apache-2.0
// Walks through a frame's program as one thread would run it, with its loops and branches.
#include "exec/audit_walk.h"

#include "base/inside.h"

static const struct backend_task *task_of(const struct audit_walk *walk, uint32_t node)
{
    return &walk->exec->frames.slots[0].frame.tasks[node];
}

static braid_status run_program(const struct audit_walk *walk, const struct program *program);

static bool is_set(const struct work_loop *loop)
{
    return *(const volatile uint32_t *)loop->condition;
}

static braid_status run_region(const struct audit_walk *walk, const struct program *body)
{
    const struct work_loop *loop = &task_of(walk, body->node)->work.loop;
    braid_status status = BRAID_OK;
    bool tests_first = loop->condition && loop->tests_first;
    if (body->has_else && !is_set(loop))
        return run_program(walk, body + 1);
    for (uint64_t i = 0; i < loop->most && !status; i++) {
        bool tests = i ? loop->condition != NULL : tests_first;
        if (tests && !is_set(loop))
            break;
        status = run_program(walk, body);
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
    return run_program(walk, &walk->exec->program);
}

static braid_status run_queue_call(const braid_exec *exec, const struct backend_task *task)
{
    struct backend *backend = exec->device->backend;
    struct inside inside;
    braid_inside_begin(&inside, "a queue call", exec);
    braid_status status = braid_player_queue_call(exec->device, task, NULL);
    braid_inside_end(&inside);
    return status ? status : backend->ops->stream_synchronize(backend, NULL);
}

braid_status braid_audit_run_task(const braid_exec *exec, const struct backend_task *task)
{
    struct backend *backend = exec->device->backend;
    return task->kind == WORK_QUEUE ? run_queue_call(exec, task)
                                    : backend->ops->run_here(backend, task);
}
