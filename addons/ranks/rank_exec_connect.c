// SPDX-License-Identifier: Apache-2.0
// Execs on devices with communicators. Their ranks are connected first, and agree on their plans
// before operations are captured, since capturing may already wait for the other ranks.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "ranks/rank_exec.h"
#include "ranks/rank_plan.h"

static int compare_numbers(const void *a, const void *b)
{
    const braid_communicator *x = *(braid_communicator *const *)a;
    const braid_communicator *y = *(braid_communicator *const *)b;
    return (x->number > y->number) - (x->number < y->number);
}

// In the order in which all ranks have made them.
static bool list_communicators(const struct rank_exec *own, struct array *list)
{
    braid_communicator **items = braid_array_append(list, own->num_communicators, sizeof(*items));
    for (uint32_t i = 0; items && i < own->num_communicators; i++)
        items[i] = own->communicators[i].communicator;
    if (items)
        qsort(items, list->num, sizeof(*items), compare_numbers);
    return items;
}

static braid_status check_device(const braid_exec *exec, const struct array *list)
{
    braid_communicator *const *communicators = list->items;
    for (size_t i = 0; i < list->num; i++) {
        const struct rank_link *link = communicators[i]->link;
        if (link && link->device != exec->device)
            return braid_error(BRAID_UNSUPPORTED,
                               "braid_exec_create: communicator '%s' is connected on %s, not on %s",
                               communicators[i]->name, link->device->label, exec->device->label);
    }
    return BRAID_OK;
}

// Exchanges facts that all ranks need before any of them waits inside of the engine.
static braid_status introduce(const braid_exec *exec, const struct array *list, braid_status status)
{
    braid_communicator *const *communicators = list->items;
    struct rank_plan_parts parts = { .head = { .engine = exec->device->backend->ops->rank_engine,
                                               .introduces = true,
                                               .status = status } };
    bool told = !status || braid_rank_plan_add_text(&parts, braid_error_message()) != UINT32_MAX;
    for (size_t i = 0; i < list->num && !status && told; i++)
        told = braid_rank_plan_add_communicator(&parts, communicators[i]);
    uint64_t num_bytes;
    struct rank_verdict verdict;
    void *bytes = told ? braid_rank_plan_write(&parts, &num_bytes) : NULL;
    braid_status agreed = bytes ? braid_rank_exchange(rank_exec_of(exec)->ranks, bytes, num_bytes,
                                                      braid_rank_judge_links, &verdict)
                                : braid_error_no_memory("what a rank tells of its plan");
    if (agreed != BRAID_DEVICE_ERROR) // or else MPI may still read them
        free(bytes);
    if (!agreed && verdict.status && !status)
        agreed =
            braid_error((braid_status)verdict.status, "braid_exec_create: %s", verdict.message);
    braid_rank_plan_finish(&parts);
    return agreed;
}

static braid_status connect_all(const braid_exec *exec, const struct nccl_api *api,
                                const struct array *list)
{
    braid_communicator *const *communicators = list->items;
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < list->num && !status; i++) {
        if (!communicators[i]->link)
            status = braid_rank_link_connect(communicators[i], api, exec->device);
    }
    return status;
}

braid_status braid_rank_exec_connect(braid_exec *exec, const braid_exec_options *options,
                                     braid_status status)
{
    const struct nccl_api *api = NULL;
    struct array list = { 0 };
    if (!list_communicators(rank_exec_of(exec), &list)) {
        braid_array_finish(&list);
        return braid_error_no_memory("the communicators of an exec");
    }
    if (!status)
        status = braid_nccl_open(exec->device->backend->ops->rank_engine, &api);
    if (!status)
        status = check_device(exec, &list);
    if (!status && options->schedule)
        status = braid_error(BRAID_UNSUPPORTED,
                             "braid_exec_create: %s: a schedule of the program's own does not know "
                             "which operations between ranks are queued together",
                             exec->device->label);
    braid_status agreed = introduce(exec, &list, status);
    status = status ? status : agreed;
    if (!status)
        status = connect_all(exec, api, &list);
    braid_array_finish(&list);
    return status;
}

braid_status braid_rank_exec_hear(braid_exec *exec, braid_status status)
{
    const struct array none = { 0 };
    struct rank_exec *own = rank_exec_of(exec);
    own->has_met = true;
    braid_status agreed = introduce(exec, &none, status);
    own->parted = status ? status : agreed;
    return own->parted;
}

static uint32_t collect_operations(const struct frame *frame,
                                   const braid_communicator *communicator,
                                   struct rank_operation *operations)
{
    uint32_t num = 0;
    for (uint32_t i = 0; i < frame->num_tasks; i++) {
        const struct backend_task *task = &frame->tasks[i];
        const struct rank_operation *operation =
            task->kind == WORK_POST ? (const struct rank_operation *)task->post.operation : NULL;
        if (!operation || operation->what.communicator != communicator)
            continue;
        operations[num] = (struct rank_operation){ .what = operation->what,
                                                   .from = task->post.from,
                                                   .to = task->post.to };
        memcpy(operations[num].name, operation->name, sizeof(operations[num].name));
        num++;
    }
    return num;
}

// Goes by communicators in the order that all ranks have, and by operations as they are queued. So
// no two ranks wait for each other.
static braid_status connect_operations(const struct rank_exec *own, const struct frame *frame)
{
    struct array list = { 0 };
    struct rank_operation *operations =
        braid_allocate_zeroed(own->num_operations, sizeof(*operations));
    braid_status status = BRAID_OK;
    if (!operations || !list_communicators(own, &list))
        status = braid_error_no_memory("the communicators of an exec");
    for (size_t i = 0; i < list.num && !status; i++) {
        braid_communicator *communicator = ((braid_communicator *const *)list.items)[i];
        uint32_t num_own = collect_operations(frame, communicator, operations);
        if (num_own)
            status = braid_rank_operations_connect(communicator, operations, num_own);
    }
    free(operations);
    braid_array_finish(&list);
    return status;
}

braid_status braid_rank_exec_meet(struct exec_part *part, braid_exec *exec,
                                  const struct frame *frame)
{
    const struct rank_exec *own = (const struct rank_exec *)part;
    if (!own->is_linked || own->has_met)
        return own->parted;
    braid_status status = braid_rank_exec_hear(exec, BRAID_OK);
    return status ? status : connect_operations(own, frame);
}

static bool has_ended(void *of)
{
    braid_exec *exec = of;
    struct backend *backend = exec->device->backend;
    bool ended = true;
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    for (uint32_t i = 0; i < exec->frames.num && ended; i++)
        ended = backend->ops->event_query(backend, exec->frames.slots[i].done->backend) !=
                BRAID_NOT_READY;
    braid_error_end_attempt(&attempt, BRAID_OK);
    return ended;
}

void braid_rank_exec_watch(braid_exec *exec)
{
    struct rank_exec *own = rank_exec_of(exec);
    if (!own->num_operations)
        return;
    own->watch = (struct rank_watch){ .has_ended = has_ended,
                                      .of = exec,
                                      .label = exec->device->label,
                                      .operations = own->operations,
                                      .num_operations = own->num_operations };
    own->is_watched = true;
    braid_rank_watch_add(own->ranks, &own->watch);
}
