// SPDX-License-Identifier: Apache-2.0
// Connecting the ranks of a communicator on their devices, and parting them.
//
// The engine's calls that wait for other ranks are made on threads of their own: where those never
// come, the thread is left behind and the program goes on.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "rank/ranks.h"

enum { LOOK_NS = 5000000 }; // how often one who waits looks whether the ranks have failed

// The id that one rank makes for all, or why it could not.
struct invitation {
    struct nccl_id id;
    char why[RANK_WHY_BYTES / 2]; // empty: it could
};

// Shared by the thread that connects and the one that waits for it; the last frees it.
struct connecting {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t num_users; // lock
    bool ended;         // lock
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

// Memory that MPI may still write to stays, as in exchange.c.
static braid_status invite(braid_communicator *communicator, const struct nccl_api *api,
                           const struct rank_device *device, struct nccl_id *out_id)
{
    struct invitation *invitation = calloc(1, sizeof(*invitation));
    if (!invitation)
        return braid_error_no_memory("a communicator");
    braid_status status = BRAID_OK;
    if (communicator->rank == 0) {
        status =
            device->call(device->device, make_id, (void *[]){ (void *)(uintptr_t)api, invitation });
        if (status)
            snprintf(invitation->why, sizeof(invitation->why), "%s", braid_error_message());
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
    free(invitation);
    return status;
}

static void release(struct connecting *connecting)
{
    pthread_mutex_lock(&connecting->lock);
    bool last = --connecting->num_users == 0;
    pthread_mutex_unlock(&connecting->lock);
    if (!last)
        return;
    pthread_mutex_destroy(&connecting->lock);
    pthread_cond_destroy(&connecting->changed);
    free(connecting);
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
    return BRAID_OK;
}

static void *connect_thread(void *user)
{
    struct connecting *connecting = user;
    const struct rank_device *device = &connecting->link.device;
    if (device->call(device->device, make_handle, connecting)) {
        connecting->result = -1;
        snprintf(connecting->words, sizeof(connecting->words), "%s", braid_error_message());
    }
    pthread_mutex_lock(&connecting->lock);
    connecting->ended = true;
    pthread_cond_signal(&connecting->changed);
    pthread_mutex_unlock(&connecting->lock);
    release(connecting);
    return NULL;
}

static bool have_failed(braid_ranks *ranks)
{
    rank_lock(ranks);
    bool failed = ranks->failed;
    rank_unlock(ranks);
    return failed;
}

// False: the ranks have failed, or the time is over.
static bool await_thread(braid_ranks *ranks, struct connecting *connecting)
{
    uint64_t since_ns = braid_rank_now_ns();
    bool ended = false, goes_on = true;
    while (!ended && goes_on) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_mutex_lock(&connecting->lock);
        int error = 0;
        while (!connecting->ended && error != ETIMEDOUT)
            error = pthread_cond_timedwait(&connecting->changed, &connecting->lock, &until);
        ended = connecting->ended;
        pthread_mutex_unlock(&connecting->lock);
        goes_on = !have_failed(ranks) && braid_rank_now_ns() - since_ns <= ranks->timeout_ns;
    }
    return ended;
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

static braid_status start(struct connecting *connecting)
{
    pthread_t thread;
    connecting->num_users = 2;
    if (pthread_create(&thread, NULL, connect_thread, connecting)) {
        connecting->num_users = 1;
        return braid_error_no_memory("a thread that connects a communicator");
    }
    pthread_detach(thread);
    return BRAID_OK;
}

static braid_status connect_ranks(braid_communicator *communicator, struct connecting *connecting,
                                  struct rank_link *link)
{
    braid_status status = start(connecting);
    if (status)
        return status;
    if (!await_thread(communicator->ranks, connecting))
        return fail(communicator, "the other ranks did not come in time");
    if (connecting->result != NCCL_SUCCESS)
        return fail(communicator, connecting->words);
    *link = connecting->link;
    return BRAID_OK;
}

braid_status braid_rank_link_connect(braid_communicator *communicator, const struct nccl_api *api,
                                     const struct rank_device *device)
{
    struct rank_link *link = calloc(1, sizeof(*link));
    struct connecting *connecting = calloc(1, sizeof(*connecting));
    if (!link || !connecting) {
        free(link);
        free(connecting);
        return fail(communicator, "out of host memory");
    }
    pthread_mutex_init(&connecting->lock, NULL);
    pthread_cond_init(&connecting->changed, NULL);
    connecting->num_users = 1;
    connecting->link = (struct rank_link){ .api = api, .device = *device };
    connecting->num = (int)communicator->num;
    connecting->rank = (int)communicator->rank;
    braid_status status = invite(communicator, api, device, &connecting->id);
    if (!status)
        status = connect_ranks(communicator, connecting, link);
    release(connecting);
    if (status) {
        free(link);
        return status;
    }
    device->hold(device->device, 1);
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
    pthread_t thread;
    if (link->aborting)
        return;
    link->aborting = true;
    if (pthread_create(&thread, NULL, abort_thread, link) == 0)
        pthread_detach(thread);
}

void braid_rank_link_close(struct rank_link *link)
{
    if (!link)
        return;
    link->device.hold(link->device.device, -1);
    if (link->aborting)
        return; // its thread may still be there
    (void)link->api->destroy(link->handle);
    free(link);
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
