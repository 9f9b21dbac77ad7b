// SPDX-License-Identifier: Apache-2.0
// Runs nodes and copies memory for an audit, and waits for the end of each. Walks through frames.
#include "audit/audit_reach.h"

#include <string.h>

#include "base/error.h"
#include "base/inside.h"
#include "base/node_text.h"

static struct backend *backend_of(const struct audit_reach *reach)
{
    return reach->exec->device->backend;
}

braid_status braid_audit_reach_open(braid_exec *exec, struct audit_reach *out_reach)
{
    struct audit_reach reach = { .exec = exec };
    const struct backend_ops *ops = exec->device->backend->ops;
    void *staging = NULL;
    braid_status status = BRAID_OK;
    if (!ops->run_here)
        status = ops->allocate(backend_of(&reach), BRAID_MEMORY_HOST, AUDIT_PIECE_BYTES, &staging);
    reach.staging = staging;
    if (!status && !staging)
        reach.stream = &exec->device->default_stream;
    else if (!status)
        status = braid_device_lease_stream(exec->device, 0, &reach.stream);
    if (status)
        braid_audit_reach_close(&reach);
    else
        *out_reach = reach;
    return status;
}

void braid_audit_reach_close(struct audit_reach *reach)
{
    if (reach->stream && reach->staging)
        braid_device_return_stream(reach->exec->device, reach->stream);
    if (reach->staging)
        backend_of(reach)->ops->release(backend_of(reach), BRAID_MEMORY_HOST, reach->staging);
    *reach = (struct audit_reach){ 0 };
}

// A part may be queued although queueing failed. A node whose work fails is told by its name.
static braid_status await(const struct audit_reach *reach, const struct backend_task *task,
                          braid_status queued)
{
    struct backend *backend = backend_of(reach);
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = backend->ops->stream_synchronize(backend, reach->stream->backend);
    if (queued && backend->ops->task_goes_on)
        (void)backend->ops->task_goes_on(backend, task, true);
    if (status && task->node != BACKEND_NO_NODE)
        braid_error(status, "node %s: %s", braid_node_text(task->node, task->name).text,
                    braid_error_get_message());
    braid_error_end_attempt(&attempt, queued ? BRAID_OK : status);
    return queued ? queued : status;
}

static braid_status run_queue_call(const struct audit_reach *reach, const struct backend_task *task)
{
    struct inside inside;
    braid_inside_begin(&inside, "a queue call", reach->exec);
    braid_status status = braid_player_queue_call(reach->exec->device, task, reach->stream);
    braid_inside_end(&inside);
    return await(reach, task, status);
}

// The frame's tasks may be made for early starts.
static braid_status submit(const struct audit_reach *reach, const struct backend_task *task)
{
    struct backend *backend = backend_of(reach);
    struct backend_task in_order = *task;
    if (task->kind == WORK_KERNEL)
        in_order.launch.start = BACKEND_STARTS_IN_ORDER;
    braid_status status = backend->ops->submit(backend, reach->stream->backend, &in_order);
    return await(reach, task, status);
}

braid_status braid_audit_reach_run(const struct audit_reach *reach, const struct backend_task *task)
{
    if (task->kind == WORK_QUEUE)
        return run_queue_call(reach, task);
    return reach->staging ? submit(reach, task)
                          : backend_of(reach)->ops->run_here(backend_of(reach), task);
}

braid_status braid_audit_reach_copy(const struct audit_reach *reach, void *to, const void *from,
                                    uint64_t bytes)
{
    return submit(reach,
                  &(struct backend_task){ .kind = WORK_COPY,
                                          .name = "a copy of an audit",
                                          .node = BACKEND_NO_NODE,
                                          .copy = { .to = to, .from = from, .bytes = bytes } });
}

braid_status braid_audit_reach_read(const struct audit_reach *reach, const void *memory,
                                    uint64_t bytes, const unsigned char **out_bytes)
{
    *out_bytes = reach->staging ? reach->staging : memory;
    return reach->staging ? braid_audit_reach_copy(reach, reach->staging, memory, bytes) : BRAID_OK;
}

braid_status braid_audit_reach_write(const struct audit_reach *reach, void *memory,
                                     const void *from, uint64_t bytes)
{
    memcpy(reach->staging ? reach->staging : memory, from, bytes);
    return reach->staging ? braid_audit_reach_copy(reach, memory, reach->staging, bytes) : BRAID_OK;
}

// The backend readies a copy within memory of the host otherwise than one within a device's.
braid_status braid_audit_reach_is_hosts(const struct audit_reach *reach, const void *memory,
                                        bool *out_is_hosts)
{
    struct backend *backend = backend_of(reach);
    struct backend_task within = {
        .kind = WORK_COPY,
        .name = "a copy of an audit",
        .node = BACKEND_NO_NODE,
        .copy = { .to = (void *)(uintptr_t)memory, .from = memory, .bytes = 1 }
    };
    *out_is_hosts = !reach->staging;
    if (!reach->staging || !backend->ops->task_prepare)
        return BRAID_OK;
    braid_status status = backend->ops->task_prepare(backend, &within);
    *out_is_hosts = within.detour != NULL;
    backend->ops->task_finish(backend, &within);
    return status;
}

// ---- a frame's program, with its loops and branches ----

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
    const struct work_loop *loop = &audit_task_of(walk->reach, body->node)->work.loop;
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
    const struct backend_task *task = audit_task_of(walk->reach, node);
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
