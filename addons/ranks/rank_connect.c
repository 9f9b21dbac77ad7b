// SPDX-License-Identifier: Apache-2.0
// Shows operations to the engine of a device before any is run. So the engine connects ranks in a
// call that can be given up, and not in a launch.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/exec.h"
#include "ranks/ranks.h"

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
        showing->result = braid_rank_enqueue(showing->link, operation, stream, &failed);
        braid_rank_apart_go_on(showing->apart);
    }
    showing->failed = (uint32_t)(failed - showing->operations);
    braid_rank_apart_end(showing->apart);
    return BRAID_OK;
}

static void show(struct rank_apart *apart, void *user)
{
    struct showing *showing = user;
    struct backend *backend = showing->link->device->backend;
    showing->apart = apart;
    showing->status = backend->ops->call_capturing(backend, show_all, showing);
    if (showing->status)
        snprintf(showing->words, sizeof(showing->words), "%s", braid_error_message());
    braid_rank_apart_end(apart);
}

// The engine's error goes first: a capture in which the engine failed has failed, too.
static braid_status explain(const struct showing *showing)
{
    if (showing->result != NCCL_SUCCESS)
        return braid_rank_enqueue_explain(showing->link, &showing->operations[showing->failed],
                                          showing->result);
    return showing->status ? braid_error(showing->status, "%s", showing->words) : BRAID_OK;
}

braid_status braid_rank_operations_connect(braid_communicator *communicator,
                                           const struct rank_operation *operations, uint32_t num)
{
    bool left;
    struct showing *showing = calloc(1, sizeof(*showing) + num * sizeof(*operations));
    if (!showing)
        return braid_error_no_memory("operations between ranks");
    showing->link = communicator->link;
    showing->num = num;
    memcpy(showing->operations, operations, num * sizeof(*operations));
    braid_status status = braid_rank_call_apart(communicator->ranks, show, showing, &left);
    if (left)
        return status;
    status = status ? status : explain(showing);
    free(showing);
    return status;
}
