// SPDX-License-Identifier: Apache-2.0
// One piece of device work: what a stream queues and what a graph node does.
#ifndef BRAID_STANDIN_WORK_H
#define BRAID_STANDIN_WORK_H

#include <stdbool.h>

#include "cuda_abi.h"
#include "world.h"

enum work_kind {
    WORK_EMPTY,
    WORK_FILL,
    WORK_COPY,
    WORK_KERNEL,
    WORK_HOST,
    WORK_CALLBACK,
    WORK_WRITE_VALUE,
    WORK_WAIT_VALUE,
    WORK_SEMAPHORE,       // a wait or a signal
    WORK_WAIT,            // for a ticket, in a stream
    WORK_EVENT_RECORD,    // in a graph only; in a stream a record is empty work with a ticket
    WORK_EVENT_WAIT,      // in a graph only
    WORK_CHILD,           // a graph within a graph
    WORK_CONDITIONAL,     // graphs within a graph: one again and again, or one of them or none
    WORK_LAUNCH,          // launches an instantiated graph
    WORK_ARRIVE,          // memory allocated in stream order
    WORK_BURY,            // memory freed in stream order
    WORK_RESERVED_ARRIVE, // the same two by nodes of a graph: see graph_memory.h
    WORK_RESERVED_BURY,
};

struct fill {
    char *to;
    size_t pitch, width, height; // width in elements
    unsigned value, element_bytes;
};

struct copy {
    char *to;
    const char *from;
    size_t to_pitch, from_pitch, to_slice, from_slice; // bytes from row to row, slice to slice
    size_t width, height, depth;
    CUmemorytype to_type, from_type; // as the program says it
    bool in_graph;  // not staged through the host: the node's device must reach both sides
    char *snapshot; // pageable memory as it was read at submission; owned; NULL: none
};

// What a launch or a node may ask for besides.
struct kernel_attributes {
    CUaccessPolicyWindow window;
    unsigned cluster[3], carveout;
    int priority, cooperative, cluster_policy, domain, device_updatable;
    CUlaunchMemSyncDomainMap domains;
};

struct kernel_call {
    CUfunction function;
    CUkernel kernel; // by which the program named it, if a library has it; or NULL
    unsigned grid[3], block[3], shared_bytes;
    unsigned char *arguments; // own copy, laid out as the function says; see launch.h
    bool is_packed;           // they came as one buffer, of so many bytes
    size_t packed_bytes;
    int serialization; // its launch may start early behind the kernels before it
    struct kernel_attributes attributes;
};

struct graph_memory {
    void *memory;
    // An allocation alone has these:
    size_t bytes;
    bool is_freed; // by a node of the same graph
    CUdevice device;
    CUmemAccessDesc *accesses; // owned
    size_t num_accesses;
};

struct launch {
    CUgraph plan;
    struct ticket **tickets; // per node: of event nodes, else NULL; NULL: there are none
    uint64_t number;         // counts launches: the order of the nodes depends on it
};

struct work {
    enum work_kind kind;
    CUcontext context; // what a fault poisons
    union {
        struct fill fill;
        struct copy copy;
        struct kernel_call kernel;
        struct {
            CUhostFn call;
            void *user;
        } host;
        struct {
            CUstreamCallback call;
            CUstream stream;
            void *user;
        } callback;
        struct {
            void *at;
            cuuint32_t value;
            unsigned flags;
        } value;
        struct {
            CUexternalSemaphore semaphore;
            uint64_t value;
            bool signals;
        } semaphore;
        struct ticket *ticket;
        CUevent event;
        CUgraph child;
        struct {
            struct condition *condition;
            bool is_loop;
            unsigned num_bodies;
            CUgraph bodies[2]; // a loop's, or one for each arm of a branch
        } conditional;
        struct launch launch;
        void *memory;
        struct graph_memory reserved;
    };
};

// Both expect the world's lock. A public clone is for a graph that a program sees: it sees the
// graphs within as well.
bool work_clone(const struct work *work, bool public, struct work *out_clone); // false: no memory
void work_finish(struct work *work);

// Checks what can be checked at submission. Expects the world's lock.
CUresult work_check(const struct work *work);

// Counts the bodies of a loop or branch; other work has 0.
unsigned work_num_bodies(const struct work *work);

// Whether it is a graph's node that allocates or frees memory.
bool work_is_of_memory(const struct work *work);

// Does it, without the lock. A poisoned context runs callbacks and bookkeeping only. ticket: of
// a graph's event node, else NULL.
void work_run(const struct work *work, struct ticket *ticket);

// What the kernel that this thread ran last has trapped with; asked a second time, nothing.
CUresult work_take_trap(void);

#endif
