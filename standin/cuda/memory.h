// SPDX-License-Identifier: Apache-2.0
// The ledger of memory: host memory that plays device memory, with bounds, limits and a graveyard.
#ifndef BRAID_STANDIN_MEMORY_H
#define BRAID_STANDIN_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_abi.h"

enum memory_kind { MEMORY_DEVICE, MEMORY_MANAGED, MEMORY_HOST, MEMORY_REGISTERED };

enum memory_state {
    MEMORY_PENDING, // allocated in stream order; the stream has not come to it yet
    MEMORY_LIVE,
    MEMORY_FREED, // poisoned and kept for a while, to recognise late users
};

// All of these expect the world's lock.

// New memory holds 0xCD bytes. Device and managed memory count against the device's limit.
CUresult memory_allocate(CUcontext context, enum memory_kind kind, enum memory_state state,
                         size_t bytes, void **out_memory);
CUresult memory_register(CUcontext context, void *memory, size_t bytes);
CUresult memory_unregister(void *memory);
// Memory of the device at an address that is reserved. Its bytes are there.
CUresult memory_map(CUcontext context, void *memory, size_t bytes);
CUresult memory_unmap(void *memory, size_t bytes);
// Frees what cuMemCreate made (mapping.c).
void mapping_release_handle(CUmemGenericAllocationHandle handle);

// Frees the block that starts there, which must be of one of two kinds: at once, or in two parts
// for frees in stream order (announce when submitted, bury when executed).
CUresult memory_free(void *memory, enum memory_kind kind, enum memory_kind or_kind);
CUresult memory_announce_free(void *memory);
void memory_bury(void *memory);
// A pending block becomes live. It poisons the context if somebody has written to it before.
void memory_arrive(CUcontext context, void *memory);

// What is known of memory that nodes of graphs allocate and free again and again. Its address stays
// while something holds it: each node that names it does, also in clones.
struct reservation {
    int holders;
    uint64_t family; // names the graph that allocates it
    unsigned peers;  // devices that reach it without asking, one bit each
    bool is_out;     // a launch allocates it, and nothing that is submitted frees it
    bool is_mapped;  // it has been launched: before, driver 580 knows nothing of the address
    bool freed_within, freed_elsewhere; // there is a node that frees it: in that graph, in another
};

// Pending, with one holder.
CUresult memory_reserve(CUcontext context, size_t bytes, void **out_memory);
// Finds that of the block that starts there; NULL: no node allocates it.
struct reservation *memory_reservation(const void *memory);
void memory_let_go(void *memory); // one holder less

// Whether the address is in a live block, and of what kind. Else it is pageable host memory.
bool memory_find_kind(const void *memory, enum memory_kind *out_kind);

// What is known of such a block, which may also be one that the stream has not come to yet.
struct memory_facts {
    void *start;
    size_t bytes;
    enum memory_kind kind;
    bool in_stream_order; // from a pool
    CUdevice device;
    CUcontext context; // only to be compared
    uint64_t id;       // names the block, never used again
};
bool memory_describe(const void *memory, struct memory_facts *out_facts);

// Would the driver accept this range now? Unknown addresses are host memory: fine, unless it
// must be device memory. Freed memory passes: using it is found out when the work runs.
CUresult memory_check_argument(const void *memory, size_t bytes, bool must_be_device);

// May work of this context touch the range now? If not, poisons the context. Device memory of
// another device takes peer access, except where `staged`: copies on streams go through the host.
bool memory_touch(CUcontext context, const void *memory, size_t bytes, bool staged);
// The same for a kernel's argument that may or may not be a pointer: only a freed or pending
// block, or one that the device cannot reach, is held against it.
bool memory_touch_argument(CUcontext context, const void *value);

// Whether it is memory of that device, as the sides of a peer copy must be.
bool memory_is_of(CUdevice device, const void *memory);

size_t memory_used(CUdevice device);
long memory_live(void);
long memory_bad_accesses(void);

#endif
