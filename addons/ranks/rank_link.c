// SPDX-License-Identifier: Apache-2.0
// Connecting the ranks of a communicator on their devices, and parting them.
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "exec/exec.h"
#include "ranks/ranks.h"

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

// Memory that MPI may still write to stays, as in exchange.c.
static braid_status invite(braid_communicator *communicator, const struct nccl_api *api,
                           struct backend *backend, struct nccl_id *out_id)
{
    struct invitation *invitation = calloc(1, sizeof(*invitation));
    if (!invitation)
        return braid_error_no_memory("a communicator");
    braid_status status = BRAID_OK;
    if (communicator->rank == 0) {
        status = backend->ops->call_current(backend, make_id,
                                            (void *[]){ (void *)(uintptr_t)api, invitation });
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

static braid_status make_handle(void *user)
{
    struct connecting *connecting = user;
    struct rank_link *link = &connecting->link;
    connecting->result =
        link->api->init_rank(&link->handle, connecting->num, connecting->id, connecting->rank);
    if (connecting->result != NCCL_SUCCESS)
        explain(link->api, NULL, "ncclCommInitRank", connecting->result, connecting->words,
                sizeof(connecting->words));
    braid_rank_apart_end(connecting->apart);
    return BRAID_OK;
}

static void make_connection(struct rank_apart *apart, void *user)
{
    struct connecting *connecting = user;
    struct backend *backend = connecting->link.device->backend;
    connecting->apart = apart;
    if (backend->ops->call_current(backend, make_handle, connecting)) {
        connecting->result = -1;
        snprintf(connecting->words, sizeof(connecting->words), "%s", braid_error_message());
    }
    braid_rank_apart_end(apart);
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
        braid_rank_call_apart(communicator->ranks, make_connection, connecting, out_left);
    if (status == BRAID_NO_MEMORY)
        return fail(communicator, "out of host memory");
    if (!status && connecting->result != NCCL_SUCCESS)
        return fail(communicator, connecting->words);
    return status;
}

braid_status braid_rank_link_connect(braid_communicator *communicator, const struct nccl_api *api,
                                     braid_device *device)
{
    struct rank_link *link = calloc(1, sizeof(*link));
    struct connecting *connecting = calloc(1, sizeof(*connecting));
    if (!link || !connecting) {
        free(link);
        free(connecting);
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
        free(connecting);
    if (status) {
        free(link);
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
    braid_device_hold(link->device, &link->device->num_links, -1);
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
