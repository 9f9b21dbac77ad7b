// SPDX-License-Identifier: Apache-2.0
// Operations on a device: queued on a stream, or captured there, those that belong together as one.
#include "ranks/ranks.h"

static nccl_result enqueue_one(const struct rank_link *link, const struct rank_operation *operation,
                               void *stream)
{
    const struct nccl_api *api = link->api;
    const struct rank_description *what = &operation->what;
    const void *from = operation->from;
    void *to = operation->to;
    int type = braid_nccl_type(what->element), reduction = braid_nccl_reduction(what->reduction);
    switch (what->operation) {
    case BRAID_RANK_SEND:
        return api->send(from, what->count, type, (int)what->peer, link->handle, stream);
    case BRAID_RANK_RECEIVE:
        return api->receive(to, what->count, type, (int)what->peer, link->handle, stream);
    case BRAID_RANK_BROADCAST:
        return api->broadcast(to, to, what->count, type, (int)what->peer, link->handle, stream);
    case BRAID_RANK_ALL_REDUCE:
        return api->all_reduce(from, to, what->count, type, reduction, link->handle, stream);
    case BRAID_RANK_ALL_GATHER:
        return api->all_gather(from, to, what->count, type, link->handle, stream);
    default:
        return api->reduce_scatter(from, to, what->count, type, reduction, link->handle, stream);
    }
}

// If a call inside a group fails, the group is ended all the same. The result is that of the failed
// call.
nccl_result braid_rank_enqueue(const struct rank_link *link, const struct rank_operation *last,
                               void *stream, const struct rank_operation **out_failed)
{
    const struct nccl_api *api = link->api;
    const struct rank_operation *operation = last - last->what.num_joined;
    *out_failed = operation;
    if (operation == last)
        return enqueue_one(link, last, stream);
    nccl_result result = api->group_start();
    if (result != NCCL_SUCCESS)
        return result;
    for (; operation <= last && result == NCCL_SUCCESS; operation++) {
        *out_failed = operation;
        result = enqueue_one(link, operation, stream);
    }
    nccl_result ended = api->group_end();
    return result ? result : ended;
}

braid_status braid_rank_enqueue_explain(const struct rank_link *link,
                                        const struct rank_operation *operation, nccl_result result)
{
    const char *last = link->api->get_last_error(link->handle);
    char text[200];
    const struct rank_description *what = &operation->what;
    braid_rank_describe(text, sizeof(text), what->operation, operation->name, what->count,
                        what->peer);
    return braid_error(BRAID_DEVICE_ERROR, "%s on communicator '%s': %s: %s%s%s", text,
                       what->communicator->name, link->api->name,
                       link->api->get_error_string(result), last && *last ? ": " : "",
                       last ? last : "");
}

braid_status braid_rank_operation_enqueue(struct work_operation *base, const void *from, void *to,
                                          void *stream)
{
    struct rank_operation *operation = (struct rank_operation *)base;
    braid_communicator *communicator = operation->what.communicator;
    const struct rank_operation *failed;
    operation->from = from;
    operation->to = to;
    if (operation->what.joins_next)
        return BRAID_OK;
    braid_status status = braid_ranks_check(communicator->ranks);
    if (status)
        return status;
    nccl_result result = braid_rank_enqueue(communicator->link, operation, stream, &failed);
    if (result == NCCL_SUCCESS)
        return BRAID_OK;
    status = braid_ranks_check(communicator->ranks); // what was aborted fails for that reason
    return status ? status : braid_rank_enqueue_explain(communicator->link, failed, result);
}
