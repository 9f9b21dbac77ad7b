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

// This process among others that run the same job, each of which makes a graph of its own (SPMD).
// MPI starts and connects them; it is opened at run time, so that neither Braid nor the program is
// linked with it. docs/ranks.md shows a program, and what each message below means.
// Thread-safety: any thread, but for what says otherwise.
typedef struct braid_ranks braid_ranks;

// Some of the ranks. Operations on one have an order, which is that of adding on each rank.
typedef struct braid_communicator braid_communicator;

typedef struct braid_ranks_options {
    // What moves data: "mpi", or NULL for the first that is here. MPI is reached through
    // libbraid_mpi.so: the file that BRAID_MPI in the environment names, else the one beside
    // libbraid_ranks.so, else the one that the system's loader finds. BRAID_MPI is an absolute
    // path, or a name without '/', which the loader seeks. If a program contains libbraid_ranks.a,
    // or if the loader found libbraid_ranks.so by a relative path, nothing beside it is opened.
    const char *engine;
    // How long an operation may have been posted without ending, or a call that all ranks make may
    // wait for the others, in milliseconds: then it fails, and with it all that this rank and the
    // others do with ranks from then on. 0: 60,000. It must be longer than ranks ever are apart.
    uint64_t timeout_ms;
} braid_ranks_options;

// Joins the other ranks. All ranks make this call, once in a process (MPI allows no second time).
// One thread is started, which makes all calls of MPI (so MPI_THREAD_FUNNELED is enough of it); a
// program that has initialised MPI itself must have done so with MPI_THREAD_MULTIPLE, and ends MPI
// itself after braid_ranks_close. NULL options are all defaults.
// Errors: BRAID_UNAVAILABLE (no engine: the message says what was tried), BRAID_INVALID_ARGUMENT
// (an engine that does not exist), BRAID_BUSY (open already), BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
BRAID_API BRAID_MUST_CHECK braid_status braid_ranks_open(const braid_ranks_options *options,
                                                         braid_ranks **out_ranks);

// Waits for the other ranks to make the same call, and leaves. Communicators end with it. Refuses
// while graphs or execs have communicators. After a failure it waits for nobody, and MPI is left
// as it is: memory that operations were on may still be written to, so the process had better end.
// The status may be left unread. Errors: BRAID_BUSY, BRAID_DEVICE_ERROR (a rank did not come; this
// one has left all the same). NULL does nothing.
BRAID_API braid_status braid_ranks_close(braid_ranks *ranks);

// Of all ranks, or of those of a communicator.
typedef struct braid_ranks_info {
    uint32_t rank;      // which of them this is, from 0
    uint32_t num_ranks; // how many there are
} braid_ranks_info;

BRAID_API void braid_ranks_get_info(const braid_ranks *ranks, braid_ranks_info *out_info);

// BRAID_DEVICE_ERROR, with the reason, after an operation of this rank or another has failed.
BRAID_API BRAID_MUST_CHECK braid_status braid_ranks_check(braid_ranks *ranks);

// Makes a communicator of the ranks that give the same `color`, in the order of their ranks. All
// ranks make this call, and all such calls in the same order. Its name is for messages.
// Errors: BRAID_INVALID_ARGUMENT (empty name), BRAID_NO_MEMORY, BRAID_DEVICE_ERROR (a rank did not
// come in time).
BRAID_API BRAID_MUST_CHECK braid_status braid_communicator_create(
    braid_ranks *ranks, const char *name, uint32_t color, braid_communicator **out_communicator);

BRAID_API void braid_communicator_get_info(const braid_communicator *communicator,
                                           braid_ranks_info *out_info);

typedef enum braid_rank_operation {
    BRAID_RANK_SEND = 1,       // `count` elements at `from` go to `peer`
    BRAID_RANK_RECEIVE = 2,    // as many come from `peer` to `to`
    BRAID_RANK_BROADCAST = 3,  // those at `to` of rank `peer` come to `to` of all others
    BRAID_RANK_ALL_REDUCE = 4, // `to` of each is the reduction of all `from`, element by element
    BRAID_RANK_ALL_GATHER = 5, // `to` of each is `count` elements of every rank, in their order
    BRAID_RANK_REDUCE_SCATTER = 6, // `from` has `count` for every rank, each is given its own sums
} braid_rank_operation;

typedef enum braid_element {
    BRAID_ELEMENT_BYTE = 0,
    BRAID_ELEMENT_INT32 = 1,
    BRAID_ELEMENT_UINT32 = 2,
    BRAID_ELEMENT_INT64 = 3,
    BRAID_ELEMENT_UINT64 = 4,
    BRAID_ELEMENT_FLOAT = 5,
    BRAID_ELEMENT_DOUBLE = 6,
} braid_element;

typedef enum braid_reduction {
    BRAID_REDUCTION_SUM = 0,
    BRAID_REDUCTION_MIN = 1,
    BRAID_REDUCTION_MAX = 2,
    BRAID_REDUCTION_PRODUCT = 3,
} braid_reduction;

// One operation of one rank. `from` and `to` alone declare no access, as in a copy: the node reads
// `from` and writes `to` (a broadcast's root reads it), and says so by .node.accesses. Where both
// are one memory, an all-reduce is made in place. Operations of one communicator are posted in the
// order of adding, none waits for the end of another, and a send may end only when its receive is
// posted. A receive takes the sends of its peer and tag in their order.
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

// Declares a communicator in a graph, whose user the graph is until it is destroyed. A second time
// it is the same resource. Nodes may declare accesses to it as to any resource.
// Errors: BRAID_INVALID_ARGUMENT, BRAID_NO_MEMORY.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_add_communicator(
    braid_graph *graph, braid_communicator *communicator, braid_resource *out_resource);

// Adds an operation as two nodes: one that posts it, named "post NAME", with an exclusive access to
// the communicator, and right behind it in index the one that ends with it, which is out_node. An
// edge to out_node leads to the former, and other edges of it to the latter, so that a program
// need not know. While it is under way it takes neither worker nor thread.
//
// Creating an exec of a graph with communicators is a call that all ranks make, each with a graph
// that has at least one, and in which it is checked before anything runs: that operations of each
// communicator are the same on its ranks in the same order, that sends have receives of the same
// size, and that no chain of waits leads round through several ranks. Otherwise all ranks get
// BRAID_INVALID_ARGUMENT (BRAID_CYCLE) and a message with ranks and nodes; where an exec cannot be
// made on one rank all others are told so. If only the order on lanes would make such a chain, all
// ranks plan again so that lanes add no order (BRAID_POLICY_MAX_CONCURRENCY), unless
// braid_exec_options.schedule was given. All ranks launch the same number of frames.
//
// A launch while the frames of another exec with the same communicator are in flight is
// BRAID_BUSY. After a failure waits for the exec return BRAID_DEVICE_ERROR, with the rank that does
// not answer and what was pending, and what ran behind the operations ran on what was there.
// On the CPU memory is the host's, on CUDA and HIP the device's: NCCL or RCCL moves it, which is
// opened when the first such exec is created, and which all ranks must play such a graph with (one
// device each, which is held until braid_ranks_close). Creating an exec is BRAID_UNAVAILABLE where
// there is no such library; BRAID_NCCL and BRAID_RCCL in the environment name its file, as
// BRAID_MPI names that of MPI. There an operation begins only behind the end of the one before on
// its communicator, but neighbouring sends and receives that do not depend on each other are one;
// tags only have to agree; and braid_exec_options.schedule is BRAID_UNSUPPORTED.
// Such nodes cannot be disabled, nor their operation changed.
// Errors: BRAID_INVALID_ARGUMENT (the message names the node), BRAID_NO_MEMORY.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_add_communication(
    braid_graph *graph, const braid_communication *communication, braid_node *out_node);

// Owners. A buffer may have a rank that owns it, and then ranks need not be told what to send: each
// adds the same tasks in the same order, by the usual functions. A task runs on the rank that owns
// the first owned buffer that it writes (any access but BRAID_READ); owners of what else it reads
// send it there, once, until a task writes it again: the receiver keeps what it was sent to the end
// of the frame. (StarPU-MPI's and PaRSEC's rule: Agullo et al. 2017; Bosilca et al. 2013.)
//
// Each rank's graph has only the tasks that run there, and the transfers of what it owns or uses.
// Adding a task that a rank has no part in adds nothing, and takes a look at its accesses.

// The index of out_node where a task is added that runs on another rank. Preludes and epilogues of
// such a node are left out like it; an edge or `.after` between it and a node that is here is
// refused, since order between ranks comes from data, and what else is said of it does nothing.
#define BRAID_ELSEWHERE UINT32_MAX

// Declares a buffer that rank `owner` of the communicator owns. All ranks that read it or run
// what reads it declare it, under one name that no other owned buffer of the graph has, and with
// one size: the name tells which is meant where orders are compared. On its owner `address` is its
// memory, on others where it is received; NULL: memory that the plan chooses, as of a transient
// buffer (on the owner a frame must write it first, then). 0 bytes: not a buffer, but something
// that says where a task runs: it is accessed by tasks of its owner alone.
// Ranges of it are sent and kept each by itself, so a neighbour that reads a row is sent a row.
// What a task writes has one owner; what is added by braid_graph_add_communication may read owned
// buffers of its own rank only, and write none; so with what preludes and epilogues access. A task
// that writes nothing owned is the rank's own, and may read only what that owns.
// Errors: BRAID_INVALID_ARGUMENT (no communicator of the graph, no rank of it, an empty name or one
// that is taken, over 2^31 - 1 bytes), BRAID_NO_MEMORY.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_add_owned_buffer(
    braid_graph *graph, braid_resource communicator, uint32_t owner, const char *name,
    const void *address, uint64_t bytes, braid_resource *out_resource);

// Whether adding a task with these accesses next would do anything on this rank; a task for which
// it is false may be left out. It is true for what would be refused, too. A rank that leaves out
// one that it has a part in is told so when the exec is made: transfers do not match then.
BRAID_API bool braid_graph_takes_part(const braid_graph *graph, const braid_access *accesses,
                                      size_t num_accesses);

#ifdef __cplusplus
}
#endif

#endif
