// SPDX-License-Identifier: Apache-2.0
// Communicators on devices: the engine's own one beside MPI's, and frames whose operations the
// device makes by itself. Only the device knows how far such a frame is.
#ifndef BRAID_RANKS_LINK_H
#define BRAID_RANKS_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <braid/device.h>

#include "base/own_threads.h"
#include "ranks/nccl.h"
#include "ranks/operation.h"

// On one device of this process.
struct rank_link {
    const struct nccl_api *api;
    nccl_communicator handle;
    braid_device *device; // which it holds until it is closed
    struct own_thread aborter;
    bool aborting; // the communication thread's, like the abort itself
};

// Connects a communicator's ranks, all of which make this call at about the same time.
// Errors: BRAID_DEVICE_ERROR (the ranks have failed then), BRAID_NO_MEMORY.
braid_status braid_rank_link_connect(braid_communicator *communicator, const struct nccl_api *api,
                                     braid_device *device);
// Shows the engine operations of a communicator, in their order and with their addresses, without
// running any. The engine connects ranks for each new operation inside of the call that queues it,
// which no abort ends if a rank has died. All ranks of the communicator make this call. Errors:
// BRAID_DEVICE_ERROR (a call of the engine failed; or the ranks have), BRAID_NO_MEMORY.
braid_status braid_rank_operations_connect(braid_communicator *communicator,
                                           const struct rank_operation *operations, uint32_t num);
// Ends operations that the device still waits for, without waiting for that end.
void braid_rank_link_abort(struct rank_link *link);
// Nothing of the link is in flight. An aborted link may be left as it is. NULL does nothing.
void braid_rank_link_close(struct rank_link *link);
// Whether the engine has noticed an error, and its words.
bool braid_rank_link_has_failed(const struct rank_link *link, char *why, size_t size);

// The frames of an exec on a device. The communication thread asks for their end. So it notices a
// rank that does not come, also if the program never waits.
struct rank_watch {
    // Whether all frames have ended, or failed. With the lock of ranks held, on any thread.
    bool (*has_ended)(void *of);
    void *of;
    const char *label;                 // the device's
    const void *exec;                  // as communicators know it
    struct rank_operation *operations; // a frame's
    uint32_t num_operations;
    // Guarded by the lock of the ranks.
    bool is_launching; // the frames' end is not asked for: it may not be recorded yet
    bool is_pending;
    uint64_t since_ns;
    struct rank_watch *next;
};

void braid_rank_watch_add(braid_ranks *ranks, struct rank_watch *watch);
void braid_rank_watch_remove(braid_ranks *ranks, struct rank_watch *watch);
// Around each launch, until the ends of its frames are recorded. With the lock held, under which
// their operations become due.
void braid_rank_watch_begin(struct rank_watch *watch);
void braid_rank_watch_end(braid_ranks *ranks, struct rank_watch *watch);
// With the lock held: notes the frames that have ended since.
void braid_rank_watch_refresh(braid_ranks *ranks);

#endif
