// SPDX-License-Identifier: Apache-2.0
// Objects outside of Braid that nodes wait for and signal: events, semaphores, words, eventfds.
#ifndef BRAID_EXTERNAL_H
#define BRAID_EXTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <braid/device.h>
#include <braid/exec.h>
#include <braid/graph.h>
#include <braid/status.h>

#ifdef __cplusplus
extern "C" {
#endif

// An object of the program, of a renderer or of another process. Thread-safety: any thread.
typedef struct braid_external braid_external;

// The kind of an external object. CPU devices have eventfds alone.
typedef enum braid_external_kind {
    // A CUevent or hipEvent_t of the program. A signal records it, and a wait is for its latest
    // record when the frame is launched. It has no value.
    BRAID_EXTERNAL_EVENT = 1,
    BRAID_EXTERNAL_SEMAPHORE = 2, // Vulkan's binary semaphore, by an opaque file descriptor
    BRAID_EXTERNAL_TIMELINE = 3,  // Vulkan's timeline semaphore, likewise. A wait is for its value
                                  // or a larger one
    // A uint32_t that the device reaches. A wait is for its value or a larger one, by the signed
    // difference. HIP waits only for signal memory (hipMallocSignalMemory).
    BRAID_EXTERNAL_WORD = 4,
    // An eventfd. A thread of the host reads it, and ends the wait; another one adds the value.
    BRAID_EXTERNAL_EVENTFD = 5,
} braid_external_kind;

// Options of braid_external_create: those of its kind.
typedef struct braid_external_options {
    braid_external_kind kind;
    const char *name; // for messages; NULL: the kind's
    void *event;
    void *word;
    int fd; // a semaphore's is the driver's from then on, and an eventfd the program's
} braid_external_options;

// Makes an external object of a device, of which nodes on that device wait for and signal it.
// Errors: BRAID_UNSUPPORTED (the device or driver has no such objects; a group of devices).
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_external_create(
    braid_device *device, const braid_external_options *options, braid_external **out_external);

// Frees it, after every exec whose nodes use it.
BRAID_API void braid_external_destroy(braid_external *external);

// A node that waits for an external object or signals it. Work behind the node starts after the
// wait; a signal comes after all work before the node. No host thread blocks, except for an
// eventfd (docs/book/external.md).
typedef struct braid_external_node {
    braid_node_options node;
    braid_external *external;
    bool signals;   // false: waits
    uint64_t value; // an event and a binary semaphore have none; of an eventfd: how much a signal
                    // adds, 0: 1. A word has 32 bits
    uint64_t step;  // what each launch of the node adds to the value of a timeline or word. With
                    // one, BRAID_MODE_GRAPH is BRAID_UNSUPPORTED on a GPU
} braid_external_node;

// Adds such a node: a queue call, or of an eventfd a host call.
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_graph_add_external(
    braid_graph *graph, const braid_external_node *external, braid_node *out_node);

// Gives a node of a timeline or word another value, for later launches of this exec. The first such
// call for a node of an exec allocates. In a driver graph the next launch captures the node again.
// Errors: BRAID_INVALID_ARGUMENT (the node has no such value). BRAID_BUSY (the host drives loops of
// the exec, the node's value was set before, and a frame is in flight).
BRAID_API BRAID_MUST_CHECK braid_status braid_exec_set_external(braid_exec *exec, braid_node node,
                                                                uint64_t value);

// With sizes: docs/stability.md.
BRAID_API BRAID_MUST_CHECK braid_status
braid_external_create_sized(braid_device *device, const braid_external_options *options,
                            braid_external **out_external, size_t size);
BRAID_INLINE braid_status braid_external_create(braid_device *device,
                                                const braid_external_options *options,
                                                braid_external **out_external)
{
    return braid_external_create_sized(device, options, out_external,
                                       sizeof(braid_external_options));
}
BRAID_API BRAID_MUST_CHECK braid_status
braid_graph_add_external_sized(braid_graph *graph, const braid_external_node *external,
                               braid_node *out_node, size_t size, size_t node_size);
BRAID_INLINE braid_status braid_graph_add_external(braid_graph *graph,
                                                   const braid_external_node *external,
                                                   braid_node *out_node)
{
    return braid_graph_add_external_sized(graph, external, out_node, sizeof(braid_external_node),
                                          sizeof(braid_node_options));
}

#ifdef __cplusplus
}
#endif

#endif
