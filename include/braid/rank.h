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
// connects them; Braid opens MPI at run time. docs/ranks.md shows a program and explains each
// message.
typedef struct braid_ranks braid_ranks;

// Some of the ranks. Operations on a communicator have one order: that of adding on each rank.
typedef struct braid_communicator braid_communicator;

// Options of braid_ranks_open.
typedef struct braid_ranks_options {
    // Milliseconds; 0: 60,000. It limits the time from posting an operation to its end, and the
    // time that a call of all ranks waits for the others. After a timeout, all further work of all
    // ranks fails.
    uint64_t timeout_ms;
} braid_ranks_options;

// Joins the other ranks. All ranks make this call, once in a process. MPI is reached through
// libbraid_mpi.so: the one beside libbraid_ranks.so, else the loader's. BRAID_MPI in the
// environment names another, by an absolute path or a name for the loader. Braid starts one thread,
// which makes all calls of MPI, so MPI_THREAD_FUNNELED is enough. A program that has initialised
// MPI itself needs MPI_THREAD_MULTIPLE, and ends MPI itself after braid_ranks_close.
// Errors: BRAID_UNAVAILABLE (no libbraid_mpi.so: the message lists the attempts),
// BRAID_INVALID_ARGUMENT (a timeout that is too long), BRAID_BUSY (open already).
BRAID_API BRAID_MUST_CHECK braid_status braid_ranks_open(const braid_ranks_options *options,
                                                         braid_ranks **out_ranks);

// Waits until the other ranks make the same call, and leaves. Communicators end with it. After a
// failure it waits for no rank, and MPI stays as it is. Memory of operations may then still be
// written to, so the process should end. The status may be left unread.
// Errors: BRAID_BUSY (graphs or execs have communicators), BRAID_DEVICE_ERROR (a rank did not come;
// this one has left all the same).
BRAID_API braid_status braid_ranks_close(braid_ranks *ranks);

// A rank's number and the number of ranks: of all, or of a communicator.
typedef struct braid_ranks_info {
    uint32_t rank;      // which of them this is, from 0
    uint32_t num_ranks; // how many there are
} braid_ranks_info;

// Writes the number of this rank and of all ranks.
BRAID_API void braid_ranks_get_info(const braid_ranks *ranks, braid_ranks_info *out_info);

// BRAID_DEVICE_ERROR, with the reason, after an operation of this rank or another has failed.
BRAID_API BRAID_MUST_CHECK braid_status braid_ranks_check(braid_ranks *ranks);

// Makes a communicator of the ranks that give the same `color`, in the order of their ranks. All
// ranks make all such calls in the same order. Its name, not "", is for messages.
// Errors: BRAID_DEVICE_ERROR (a rank did not come in time).
BRAID_API BRAID_MUST_CHECK braid_status braid_communicator_create(
    braid_ranks *ranks, const char *name, uint32_t color, braid_communicator **out_communicator);

// Writes the number of this rank in a communicator and the number of its ranks.
BRAID_API void braid_communicator_get_info(const braid_communicator *communicator,
                                           braid_ranks_info *out_info);

// The kind of an operation between ranks.
typedef enum braid_rank_operation {
    BRAID_RANK_SEND = 1,       // `count` elements at `from` go to `peer`
    BRAID_RANK_RECEIVE = 2,    // as many come from `peer` to `to`
    BRAID_RANK_BROADCAST = 3,  // those at `to` of rank `peer` come to `to` of all others
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
    braid_resource communicator; // of braid_graph_add_communicator
    const void *from;
    void *to;
    braid_resource from_resource, to_resource; // instead of these: see braid_resource_address
    uint64_t count;                            // of elements, 1 to 2^31 - 1
    braid_element element;
    braid_reduction reduction;
    uint32_t peer; // by its rank in the communicator: of a send, receive, or broadcast (the root)
    uint32_t tag;  // of a send or receive, up to 32,767
} braid_communication;

// Declares a communicator in a graph, which uses it until the graph is destroyed. A second
// declaration gives the same resource.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_add_communicator(
    braid_graph *graph, braid_communicator *communicator, braid_resource *out_resource);

// Adds an operation as two nodes. The first posts it, is named "post NAME", and has an exclusive
// access to the communicator. The second has the next index, ends with the operation, and is
// out_node. Edges to out_node lead to the first; edges from it leave the second. The operation
// cannot change, and its nodes cannot be disabled.
//
// All ranks create the exec of such a graph, each with a graph that has a communicator. That call
// checks before anything runs:
// - The operations of each communicator are the same on its ranks in the same order.
// - Sends have receives of the same size.
// - No chain of waits leads round through several ranks.
//
// Otherwise all ranks get BRAID_INVALID_ARGUMENT (BRAID_CYCLE) with ranks and nodes, also if one
// cannot make its exec. All launch the same number of frames. If frames of another exec with the
// communicator are in flight, a launch is BRAID_BUSY. After a failure, waits return
// BRAID_DEVICE_ERROR with the rank that does not answer and the pending operations. Nodes behind
// these ran on unchanged memory.
//
// On the CPU memory is the host's. On CUDA and HIP it is the device's, and NCCL or RCCL moves it
// (docs/ranks.md), one device for each rank. Without the library, creating an exec is
// BRAID_UNAVAILABLE. BRAID_NCCL and BRAID_RCCL in the environment name its file. An operation there
// begins after the one before on its communicator. braid_exec_options.schedule is
// BRAID_UNSUPPORTED.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_add_communication(
    braid_graph *graph, const braid_communication *communication, braid_node *out_node);

// Owners. A buffer may have a rank that owns it; ranks then need no explicit transfers. Each rank
// adds the same tasks in the same order. A task runs on the rank that owns the first owned buffer
// that it writes (any access except BRAID_READ). Owners of its other inputs send them there, once,
// until a task writes them again or the frame ends. Each rank's graph has only its own tasks and
// transfers.

// The index of out_node for a task that runs on another rank. Its preludes and epilogues are left
// out too. An edge between it and a node of this rank is refused, since data order ranks.
#define BRAID_ELSEWHERE UINT32_MAX

// Declares a buffer that rank `owner` of the communicator owns (docs/ranks.md). All ranks that read
// it, or that run its readers, declare it with one size and one name of its own. `address` is its
// memory on its owner, and the memory for receiving on others. NULL: the plan chooses, as for a
// transient buffer; a frame of the owner must then write it first. 0 bytes: a marker of the rank
// that runs a task. Ranges are sent each by itself. These rules hold:
// - All owned buffers that a task writes have one owner.
// - Communications, preludes and epilogues only read owned buffers, of their own rank.
// - A task that writes no owned buffer is the rank's own, and reads only that rank's buffers.
//
// Errors: BRAID_INVALID_ARGUMENT (no such rank, an empty or taken name, over 2^31 - 1 bytes).
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_add_owned_buffer(
    braid_graph *graph, braid_resource communicator, uint32_t owner, const char *name,
    const void *address, uint64_t bytes, braid_resource *out_resource);

// Whether adding a task with these accesses next would do anything on this rank, also a refusal. If
// not, the program may leave the task out. If a rank leaves out a task that it has a part in,
// creating the exec fails.
BRAID_API bool braid_graph_takes_part(const braid_graph *graph, const braid_access *accesses,
                                      size_t num_accesses);

#ifdef __cplusplus
}
#endif

#endif
