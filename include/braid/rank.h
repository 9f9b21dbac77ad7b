// SPDX-License-Identifier: Apache-2.0
// Several processes, on one host or many: communicators, and nodes that send, receive and reduce.
//
// These functions are in libbraid_ranks, a library beside libbraid: pkg-config braid_ranks, or the
// CMake target braid::ranks.
#ifndef BRAID_RANK_H
#define BRAID_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <braid/graph.h>
#include <braid/status.h>

#ifdef __cplusplus
extern "C" {
#endif

// This process among others that run the same job. Each makes its own graph (SPMD). MPI starts and
// connects them; Braid opens MPI at run time. docs/ranks.md shows a program. After a timeout or a
// failure of any rank, all work of all ranks fails with BRAID_DEVICE_ERROR.
typedef struct braid_ranks braid_ranks;

// Some of the ranks. Operations on a communicator have one order: that of adding on each rank.
typedef struct braid_communicator braid_communicator;

// Options of braid_ranks_open.
typedef struct braid_ranks_options {
    // The most time from posting an operation to its end, and the most to wait until all ranks have
    // made a call of all ranks. 0: a minute.
    uint64_t timeout_ns;
} braid_ranks_options;

// Joins the other ranks. All ranks make this call, once in a process. MPI is reached through
// libbraid_mpi.so, or the library that BRAID_MPI in the environment names. A program that has
// initialised MPI itself needs MPI_THREAD_MULTIPLE, and ends MPI itself after braid_ranks_close.
// Errors: BRAID_UNAVAILABLE (no libbraid_mpi.so: the message lists the attempts),
// BRAID_WRONG_STATE (open already).
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_ranks_open(const braid_ranks_options *options,
                                                            braid_ranks **out_ranks);

// Waits until the other ranks make the same call, and leaves. Communicators end with it. After a
// failure it waits for no rank, and the process should end (docs/ranks.md). The status may be left
// unread.
// Errors: BRAID_IN_USE (graphs or execs have communicators), BRAID_DEVICE_ERROR (a rank did not
// come; this one has left all the same).
BRAID_API braid_status braid_ranks_close(braid_ranks *ranks);

// A rank's number and the number of ranks: of all, or of a communicator.
typedef struct braid_ranks_info {
    uint32_t rank; // this process's, from 0
    uint32_t num_ranks;
} braid_ranks_info;

// Writes the number of this rank and of all ranks.
BRAID_INLINE void braid_ranks_get_info(const braid_ranks *ranks, braid_ranks_info *out_info);

// Returns BRAID_DEVICE_ERROR with the reason, if a timeout or a failure has ended the work of all
// ranks.
BRAID_API BRAID_MUST_CHECK braid_status braid_ranks_check(braid_ranks *ranks);

// Makes a communicator of the ranks that give the same `color`, in the order of their ranks. All
// ranks make all such calls in the same order. Its name, not "", is for messages.
// Errors: BRAID_DEVICE_ERROR (a rank did not come in time).
BRAID_API BRAID_MUST_CHECK braid_status braid_communicator_create(
    braid_ranks *ranks, const char *name, uint32_t color, braid_communicator **out_communicator);

// Writes the number of this rank in a communicator, and of the communicator's ranks.
BRAID_INLINE void braid_communicator_get_info(const braid_communicator *communicator,
                                              braid_ranks_info *out_info);

// The kind of an operation between ranks.
typedef enum braid_rank_operation {
    BRAID_RANK_SEND = 1,       // `count` elements at `from` go to `peer`
    BRAID_RANK_RECEIVE = 2,    // as many come from `peer` to `to`
    BRAID_RANK_BROADCAST = 3,  // elements at `to` of rank `peer` come to `to` of all others
    BRAID_RANK_ALL_REDUCE = 4, // `to` of each is the reduction of all `from`, element by element
    BRAID_RANK_ALL_GATHER = 5, // `to` of each is `count` elements of every rank, in their order
    BRAID_RANK_REDUCE_SCATTER = 6, // `from` has `count` for every rank, each is given its own sums
} braid_rank_operation;

// The type of the elements of an operation.
typedef enum braid_element {
    BRAID_ELEMENT_BYTE = 0,
    BRAID_ELEMENT_INT32 = 1,
    BRAID_ELEMENT_UINT32 = 2,
    BRAID_ELEMENT_INT64 = 3,
    BRAID_ELEMENT_UINT64 = 4,
    BRAID_ELEMENT_FLOAT = 5,
    BRAID_ELEMENT_DOUBLE = 6,
} braid_element;

// The reduction of an operation.
typedef enum braid_reduction {
    BRAID_REDUCTION_SUM = 0,
    BRAID_REDUCTION_MIN = 1,
    BRAID_REDUCTION_MAX = 2,
    BRAID_REDUCTION_PRODUCT = 3,
} braid_reduction;

// One operation of one rank. The node reads `from` and writes `to` (a broadcast's root reads it),
// and declares this by .node.accesses. If both are one memory, an all-reduce is in place.
// Operations of one communicator are posted in the order of adding, and none waits for the end of
// another. A send may end only when its receive is posted. A receive takes the sends of its peer
// and tag in their order.
typedef struct braid_communication {
    braid_node_options node; // neither a prelude nor an epilogue
    braid_rank_operation operation;
    braid_resource communicator; // from braid_graph_add_communicator
    const void *from;
    void *to;
    braid_resource from_resource, to_resource;
    uint64_t count; // elements, 1 to 2^31 - 1
    braid_element element;
    braid_reduction reduction;
    uint32_t peer; // for a send or receive, or a broadcast's root: its rank in the communicator
    uint32_t tag;  // for a send or receive, up to 32,767
} braid_communication;

// Declares a communicator in a graph, which uses it until the graph is destroyed. A second
// declaration gives the same resource.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_add_communicator(
    braid_graph *graph, braid_communicator *communicator, braid_resource *out_resource);

// Adds an operation as two nodes. The first posts it, is named "post NAME", and has an exclusive
// access to the communicator. The second, out_node, has the next index and ends with the operation.
// Edges to out_node lead to the first; edges from it leave the second. Neither can change or be
// disabled.
//
// All ranks create an exec of their graphs together, which compares the plans, and launch the same
// number of frames. If plans do not match, all get BRAID_INVALID_ARGUMENT, or BRAID_CYCLE if ranks
// would wait for each other. Without NCCL or RCCL for a GPU it is BRAID_UNAVAILABLE; there
// braid_exec_options.schedule is BRAID_UNSUPPORTED. If frames of another exec with the communicator
// are in flight, a launch is BRAID_BUSY.
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_graph_add_communication(
    braid_graph *graph, const braid_communication *communication, braid_node *out_node);

// Owners. A buffer may have a rank that owns it; ranks then need no explicit transfers. Each rank
// adds the same tasks in the same order. A task runs on the rank that owns the first owned buffer
// that it writes (any access except BRAID_READ). Owners of its other inputs send them there
// (docs/ranks.md).

// The index of out_node for a task that runs on another rank. An edge between it and a node of this
// rank is refused, since data order ranks.
#define BRAID_ELSEWHERE UINT32_MAX

// Declares a buffer of up to 2^31 - 1 bytes that rank `owner` of the communicator owns. All ranks
// that read it, or that run its readers, declare it with one size and one name of its own.
// `address` is its memory on its owner, and the memory for receiving on others. NULL: the plan
// chooses, as for a transient buffer; a frame of the owner must then write it first. 0 bytes: a
// marker of the rank that runs a task. docs/ranks.md has the rules for accesses to it.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_add_owned_buffer(
    braid_graph *graph, braid_resource communicator, uint32_t owner, const char *name,
    const void *address, uint64_t bytes, braid_resource *out_resource);

// Tells whether adding a task with these accesses next would do anything on this rank, also a
// refusal. If not, the program may leave the task out. If a rank leaves out a task that it has a
// part in, creating the exec fails.
BRAID_API bool braid_graph_takes_part(const braid_graph *graph, const braid_access *accesses,
                                      size_t num_accesses);

// With sizes: docs/stability.md.
BRAID_API BRAID_MUST_CHECK braid_status braid_ranks_open_sized(const braid_ranks_options *options,
                                                               braid_ranks **out_ranks,
                                                               size_t size);
BRAID_INLINE braid_status braid_ranks_open(const braid_ranks_options *options,
                                           braid_ranks **out_ranks)
{
    return braid_ranks_open_sized(options, out_ranks, sizeof(braid_ranks_options));
}
BRAID_API void braid_ranks_get_info_sized(const braid_ranks *ranks, braid_ranks_info *out_info,
                                          size_t size);
BRAID_INLINE void braid_ranks_get_info(const braid_ranks *ranks, braid_ranks_info *out_info)
{
    braid_ranks_get_info_sized(ranks, out_info, sizeof(braid_ranks_info));
}
BRAID_API void braid_communicator_get_info_sized(const braid_communicator *communicator,
                                                 braid_ranks_info *out_info, size_t size);
BRAID_INLINE void braid_communicator_get_info(const braid_communicator *communicator,
                                              braid_ranks_info *out_info)
{
    braid_communicator_get_info_sized(communicator, out_info, sizeof(braid_ranks_info));
}
BRAID_API BRAID_MUST_CHECK braid_status
braid_graph_add_communication_sized(braid_graph *graph, const braid_communication *communication,
                                    braid_node *out_node, size_t size, size_t node_size);
BRAID_INLINE braid_status braid_graph_add_communication(braid_graph *graph,
                                                        const braid_communication *communication,
                                                        braid_node *out_node)
{
    return braid_graph_add_communication_sized(
        graph, communication, out_node, sizeof(braid_communication), sizeof(braid_node_options));
}

#ifdef __cplusplus
}
#endif

#endif
