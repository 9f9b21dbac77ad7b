// SPDX-License-Identifier: Apache-2.0
// Connecting the ranks of a communicator on their devices, and parting them.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/host_memory.h"
#include "exec/exec.h"
#include "ranks/ranks.h"

// ---- calls apart ----

// Calls of an engine that wait for other ranks, on threads of their own. If those ranks never come,
// the thread is left behind and the program goes on.

enum { LOOK_NS = 1000000 }; // how often the communication thread looks at all else meanwhile

struct rank_apart {
    struct own_thread thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void (*call)(struct rank_apart *apart, void *user);
    void *user;
    bool ended; // lock
    bool left;  // lock
};

// With the lock held.
static void stay_if_left(struct rank_apart *apart)
{
    if (!apart->left)
        return;
    pthread_mutex_unlock(&apart->lock);
    for (;;)
        (void)pause();
}

// Behind each call of the engine. If the thread was left behind they never return, since its memory
// may be gone. After rank_apart_end it is not left behind any more.
static void rank_apart_go_on(struct rank_apart *apart)
{
    pthread_mutex_lock(&apart->lock);
    stay_if_left(apart);
    pthread_mutex_unlock(&apart->lock);
}

static void rank_apart_end(struct rank_apart *apart)
{
    pthread_mutex_lock(&apart->lock);
    stay_if_left(apart);
    apart->ended = true;
    pthread_cond_signal(&apart->changed);
    pthread_mutex_unlock(&apart->lock);
}

static void *apart_thread(void *user)
{
    struct rank_apart *apart = user;
    apart->call(apart, apart->user);
    return NULL;
}

static bool await_end(struct rank_apart *apart)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    int error = 0;
    pthread_mutex_lock(&apart->lock);
    while (!apart->ended && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&apart->changed, &apart->lock, &until);
    bool ended = apart->ended;
    pthread_mutex_unlock(&apart->lock);
    return ended;
}

// On the communication thread, which gives up in time as with every call that all ranks make.
static void make_await(braid_ranks *ranks, struct rank_call *call)
{
    bool moved;
    while (!await_end(call->arguments) && braid_rank_progress(ranks, &moved)) {
    }
}

static bool leave(struct rank_apart *apart)
{
    pthread_mutex_lock(&apart->lock);
    apart->left = !apart->ended;
    bool left = apart->left;
    pthread_mutex_unlock(&apart->lock);
    return left;
}

// Makes a call that may wait for other ranks, and that nothing may end, on a thread of its own.
// Meanwhile the communication thread asks for the progress of the others. *out_left: the thread was
// left behind in the call, and `user` is its own. Errors: BRAID_DEVICE_ERROR (the ranks have
// failed), BRAID_NO_MEMORY.
static braid_status rank_call_apart(braid_ranks *ranks,
                                    void (*call)(struct rank_apart *apart, void *user), void *user,
                                    bool *out_left)
{
    struct rank_apart *apart = braid_allocate_pages(sizeof(*apart));
    *out_left = false;
    if (!apart)
        return braid_error_no_memory("a thread that connects a communicator");
    *apart = (struct rank_apart){ .lock = PTHREAD_MUTEX_INITIALIZER,
                                  .changed = PTHREAD_COND_INITIALIZER,
                                  .call = call,
                                  .user = user };
    if (braid_own_thread_start(&apart->thread, "braid-connect", apart_thread, apart)) {
        braid_free(apart);
        return braid_error_no_memory("a thread that connects a communicator");
    }
    struct rank_call await = { .make = make_await,
                               .what = "braid_exec_create",
                               .arguments = apart };
    braid_status status = braid_rank_call(ranks, &await);
    *out_left = leave(apart);
    if (*out_left) {
        pthread_detach(apart->thread.handle);
        return status;
    }
    braid_own_thread_join(&apart->thread);
    pthread_mutex_destroy(&apart->lock);
    pthread_cond_destroy(&apart->changed);
    braid_free(apart);
    return status;
}

// ---- operations ----

// Operations on a device: queued on a stream, or captured there, those that belong together as one.

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

// The engine's calls for an operation and those that join it, which stand before it. If a call
// inside a group fails, the group is ended all the same. The result is that of the failed call.
static nccl_result rank_enqueue(const struct rank_link *link, const struct rank_operation *last,
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

static braid_status rank_enqueue_explain(const struct rank_link *link,
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
    nccl_result result = rank_enqueue(communicator->link, operation, stream, &failed);
    if (result == NCCL_SUCCESS)
        return BRAID_OK;
    status = braid_ranks_check(communicator->ranks); // what was aborted fails for that reason
    return status ? status : rank_enqueue_explain(communicator->link, failed, result);
}

// ---- connecting ----

// Shows operations to the engine of a device before any is run. So the engine connects ranks in a
// call that can be given up, and not in a launch.

// All that the thread uses, which may be left behind with it. The link stays then: it was aborted.
struct showing {
    struct rank_apart *apart;
    const struct rank_link *link;
    uint32_t num;
    uint32_t failed; // the operation that did
    nccl_result result;
    braid_status status; // the device's
    char words[ERROR_MESSAGE_BYTES];
    struct rank_operation operations[];
};

static braid_status show_all(void *user, void *stream)
{
    struct showing *showing = user;
    const struct rank_operation *failed = showing->operations;
    for (uint32_t i = 0; i < showing->num && showing->result == NCCL_SUCCESS; i++) {
        const struct rank_operation *operation = &showing->operations[i];
        if (operation->what.joins_next)
            continue;
        showing->result = rank_enqueue(showing->link, operation, stream, &failed);
        rank_apart_go_on(showing->apart);
    }
    showing->failed = (uint32_t)(failed - showing->operations);
    rank_apart_end(showing->apart);
    return BRAID_OK;
}

static void show(struct rank_apart *apart, void *user)
{
    struct showing *showing = user;
    struct backend *backend = showing->link->device->backend;
    showing->apart = apart;
    showing->status = backend->ops->call_capturing(backend, show_all, showing);
    if (showing->status)
        snprintf(showing->words, sizeof(showing->words), "%s", braid_error_get_message());
    rank_apart_end(apart);
}

// The engine's error goes first: a capture in which the engine failed has failed, too.
static braid_status explain_shown(const struct showing *showing)
{
    if (showing->result != NCCL_SUCCESS)
        return rank_enqueue_explain(showing->link, &showing->operations[showing->failed],
                                    showing->result);
    return showing->status ? braid_error(showing->status, "%s", showing->words) : BRAID_OK;
}

braid_status braid_rank_operations_connect(braid_communicator *communicator,
                                           const struct rank_operation *operations, uint32_t num)
{
    bool left;
    struct showing *showing =
        braid_allocate_zeroed(1, sizeof(*showing) + num * sizeof(*operations));
    if (!showing)
        return braid_error_no_memory("operations between ranks");
    showing->link = communicator->link;
    showing->num = num;
    memcpy(showing->operations, operations, num * sizeof(*operations));
    braid_status status = rank_call_apart(communicator->ranks, show, showing, &left);
    if (left)
        return status;
    status = status ? status : explain_shown(showing);
    braid_free(showing);
    return status;
}

// ---- links ----

// The id that one rank makes for all, or why it could not.
struct invitation {
    struct nccl_id id;
    char why[RANK_WHY_BYTES / 2]; // empty: it could
};

// The connecting thread has it, and may be left behind with it.
struct connecting {
    struct rank_apart *apart;
    struct rank_link link;
    struct nccl_id id;
    int num, rank;
    nccl_result result;
    char words[RANK_WHY_BYTES / 2];
};

static void explain(const struct nccl_api *api, nccl_communicator handle, const char *call,
                    nccl_result result, char *why, size_t size)
{
    const char *last = api->get_last_error(handle);
    snprintf(why, size, "%s: %s: %s%s%s", api->name, call, api->get_error_string(result),
             last && *last ? ": " : "", last ? last : "");
}

static braid_status make_id(void *user)
{
    void **both = user;
    const struct nccl_api *api = both[0];
    struct invitation *invitation = both[1];
    nccl_result result = api->get_unique_id(&invitation->id);
    if (result != NCCL_SUCCESS)
        explain(api, NULL, "ncclGetUniqueId", result, invitation->why, sizeof(invitation->why));
    return BRAID_OK;
}

struct inviting {
    braid_communicator *communicator;
    struct invitation *invitation;
};

// On the communication thread.
static void make_invite(braid_ranks *ranks, struct rank_call *call)
{
    const struct inviting *inviting = call->arguments;
    bool ended = false;
    const struct rank_transfer broadcast = { .communicator = inviting->communicator->engine,
                                             .operation = BRAID_RANK_BROADCAST,
                                             .element = BRAID_ELEMENT_BYTE,
                                             .to = inviting->invitation,
                                             .count = sizeof(*inviting->invitation) };
    if (braid_rank_begin(ranks, &broadcast, &ended))
        (void)braid_rank_progress_until(ranks, &ended);
}

// Memory that MPI may still write to stays, as in rank_plan.c.
static braid_status invite(braid_communicator *communicator, const struct nccl_api *api,
                           struct backend *backend, struct nccl_id *out_id)
{
    struct invitation *invitation = braid_allocate_zeroed(1, sizeof(*invitation));
    if (!invitation)
        return braid_error_no_memory("a communicator");
    braid_status status = BRAID_OK;
    if (communicator->rank == 0) {
        status = backend->ops->call_current(backend, make_id,
                                            (void *[]){ (void *)(uintptr_t)api, invitation });
        if (status)
            snprintf(invitation->why, sizeof(invitation->why), "%s", braid_error_get_message());
    }
    struct inviting inviting = { communicator, invitation };
    struct rank_call call = { .make = make_invite,
                              .what = "braid_exec_create",
                              .arguments = &inviting };
    status = braid_rank_call(communicator->ranks, &call);
    if (status)
        return status;
    if (invitation->why[0])
        status = braid_error(BRAID_DEVICE_ERROR, "communicator '%s': %s", communicator->name,
                             invitation->why);
    *out_id = invitation->id;
    braid_free(invitation);
    return status;
}

static braid_status make_handle(void *user)
{
    struct connecting *connecting = user;
    struct rank_link *link = &connecting->link;
    connecting->result =
        link->api->init_rank(&link->handle, connecting->num, connecting->id, connecting->rank);
    if (connecting->result != NCCL_SUCCESS)
        explain(link->api, NULL, "ncclCommInitRank", connecting->result, connecting->words,
                sizeof(connecting->words));
    rank_apart_end(connecting->apart);
    return BRAID_OK;
}

static void make_connection(struct rank_apart *apart, void *user)
{
    struct connecting *connecting = user;
    struct backend *backend = connecting->link.device->backend;
    connecting->apart = apart;
    if (backend->ops->call_current(backend, make_handle, connecting)) {
        connecting->result = -1;
        snprintf(connecting->words, sizeof(connecting->words), "%s", braid_error_get_message());
    }
    rank_apart_end(apart);
}

static void make_failure(braid_ranks *ranks, struct rank_call *call)
{
    braid_rank_fail(ranks, call->arguments, true);
}

static braid_status fail(braid_communicator *communicator, const char *words)
{
    char why[RANK_WHY_BYTES];
    snprintf(why, sizeof(why), "communicator '%s' is not connected on rank %u: %s",
             communicator->name, communicator->ranks->rank, words);
    struct rank_call call = { .make = make_failure, .what = "braid_exec_create", .arguments = why };
    return braid_rank_call(communicator->ranks, &call);
}

static braid_status connect_ranks(braid_communicator *communicator, struct connecting *connecting,
                                  bool *out_left)
{
    braid_status status =
        rank_call_apart(communicator->ranks, make_connection, connecting, out_left);
    if (status == BRAID_NO_MEMORY)
        return fail(communicator, "out of host memory");
    if (!status && connecting->result != NCCL_SUCCESS)
        return fail(communicator, connecting->words);
    return status;
}

braid_status braid_rank_link_connect(braid_communicator *communicator, const struct nccl_api *api,
                                     braid_device *device)
{
    struct rank_link *link = braid_allocate_zeroed(1, sizeof(*link));
    struct connecting *connecting = braid_allocate_zeroed(1, sizeof(*connecting));
    if (!link || !connecting) {
        braid_free(link);
        braid_free(connecting);
        return fail(communicator, "out of host memory");
    }
    bool left = false;
    connecting->link = (struct rank_link){ .api = api, .device = device };
    connecting->num = (int)communicator->num;
    connecting->rank = (int)communicator->rank;
    braid_status status = invite(communicator, api, device->backend, &connecting->id);
    if (!status)
        status = connect_ranks(communicator, connecting, &left);
    if (!status)
        *link = connecting->link;
    if (!left)
        braid_free(connecting);
    if (status) {
        braid_free(link);
        return status;
    }
    braid_device_hold(device, &device->num_links, 1);
    rank_lock(communicator->ranks);
    communicator->link = link;
    rank_unlock(communicator->ranks);
    return BRAID_OK;
}

// The engine's abort tells kernels to end at once, and then waits for graphs that hold captured
// operations to be destroyed. The link is its own from here on.
static void *abort_thread(void *user)
{
    struct rank_link *link = user;
    (void)link->api->abort(link->handle);
    return NULL;
}

void braid_rank_link_abort(struct rank_link *link)
{
    if (link->aborting)
        return;
    link->aborting = true;
    if (braid_own_thread_start(&link->aborter, "braid-abort", abort_thread, link) == 0)
        pthread_detach(link->aborter.handle);
}

void braid_rank_link_close(struct rank_link *link)
{
    if (!link)
        return;
    braid_device_hold(link->device, &link->device->num_links, -1);
    if (link->aborting)
        return; // its thread may still be there
    (void)link->api->destroy(link->handle);
    braid_free(link);
}

bool braid_rank_link_has_failed(const struct rank_link *link, char *why, size_t size)
{
    nccl_result error = NCCL_SUCCESS;
    if (link->aborting)
        return false;
    nccl_result result = link->api->get_async_error(link->handle, &error);
    if (result == NCCL_SUCCESS && (error == NCCL_SUCCESS || error == NCCL_IN_PROGRESS))
        return false;
    explain(link->api, link->handle, "ncclCommGetAsyncError", result ? result : error, why, size);
    return true;
}
