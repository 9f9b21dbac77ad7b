// SPDX-License-Identifier: Apache-2.0
// Managed memory (BRAID_MEMORY_MANAGED) that moves before it is used.
#ifndef BRAID_MANAGED_H
#define BRAID_MANAGED_H

#include <stdbool.h>
#include <stdint.h>

#include <braid/device.h>
#include <braid/status.h>
#include <braid/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

// A part of managed memory, Braid's or the program's own, and the side to which its pages move.
typedef struct braid_prefetch {
    const void *memory;
    uint64_t bytes; // more than 0
    bool to_host;   // false: to the device
} braid_prefetch;

// Moves the pages of a braid_prefetch, `user`, to the device of the stream or to the host. It is
// the `call` of a braid_queue_call, whose `user` must live as long as every exec of the graph. It
// may also be called on a stream (NULL: the default one). A CPU device has nothing to move.
// Errors: BRAID_UNSUPPORTED (a driver graph, and any other capture; the memory is not managed; the
// device or driver does not move it).
BRAID_API BRAID_MUST_CHECK braid_status braid_queue_prefetch(braid_device *device,
                                                             braid_stream *stream, void *user);

#ifdef __cplusplus
}
#endif

#endif
