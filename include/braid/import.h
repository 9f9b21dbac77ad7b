// SPDX-License-Identifier: Apache-2.0
// Graphs that a program captured with CUDA (docs/book/import.md).
#ifndef BRAID_IMPORT_H
#define BRAID_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <braid/device.h>
#include <braid/exec.h>
#include <braid/graph.h>
#include <braid/record.h>
#include <braid/status.h>

#ifdef __cplusplus
extern "C" {
#endif

// A CUDA graph as a graph of Braid, which the import owns with its kernels. Thread-safety: one
// thread at a time.
typedef struct braid_import braid_import;

// A part of an allocation that counts as a buffer of its own, where a framework hands out parts of
// one block. Parts do not overlap, and none has a second address.
typedef struct braid_import_buffer {
    const char *name; // NULL: "memory N"
    const void *address;
    uint64_t bytes;
    bool is_watched; // the host, another device or process may look at it during a frame
    // With `follows_pointers`: pointers that stand in it lead into closed buffers. Where code loses
    // a pointer, that one stood in a closed buffer, too, and code never calls a function by one.
    // Kernels that use such a pointer write all closed buffers. That is the caller's statement.
    bool is_closed;
} braid_import_buffer;

typedef enum braid_import_conditional_kind {
    BRAID_IMPORT_WHILE = 0,
    BRAID_IMPORT_IF = 1,
} braid_import_conditional_kind;

// A conditional node, which no driver before CUDA 13.2 describes. Kernels that `setters` of the
// options names set its handle from a word: one before the node, and one in the body of a loop.
typedef struct braid_import_conditional {
    const void *node; // CUgraphNode, perhaps in the body of another
    braid_import_conditional_kind kind;
    uint64_t handle;
    const void *condition; // the word's address, in memory of the device. It has four bytes
    // CUgraphs. The first runs while, or if, the word is not 0. The second one of a branch runs if
    // it is 0. A branch may lack either.
    void *bodies[2];
    // A second node, NULL: the branch has one. It stands right behind `node`, and has the second
    // body. Its handle gets 1 where the word is 0, and else 0.
    const void *otherwise;
    uint64_t otherwise_handle;
} braid_import_conditional;

// Bytes that kernels touch, and whether one writes any of them.
typedef struct braid_import_range {
    const void *address;
    uint64_t bytes;
    bool is_written;
} braid_import_range;

// The memory of kernels whose code proves nothing, as the caller states it: one call of a library
// made these nodes. Each kernel among them touches the ranges. All of them write other memory that
// an address in a parameter of one points into. They also write both ends of copies and fills among
// the nodes. They touch nothing else.
typedef struct braid_import_statement {
    const void *const *nodes; // CUgraphNodes, each in no other statement
    size_t num_nodes;
    const braid_import_range *ranges;
    size_t num_ranges;
} braid_import_statement;

// Returns PTX that has `entry`, number `index` of such texts, or NULL behind the last. It lives
// until the import returns.
typedef const char *braid_import_find_text(const char *entry, size_t index, void *user);

typedef struct braid_import_options {
    const char *const *texts; // PTX, NUL-terminated, read during the call
    size_t num_texts;
    const char *const *files; // paths to PTX
    size_t num_files;
    braid_import_find_text *find_text; // also asked, with `user`; NULL: nobody is
    void *user;
    const braid_import_buffer *buffers;
    size_t num_buffers;
    // Nobody looks at pinned or managed memory, or that of a device which is none of the import's,
    // before a frame has ended. If false, nodes that touch it keep all their captured orders.
    bool is_unwatched;
    const braid_import_conditional *conditionals; // all conditional nodes, in any order
    size_t num_conditionals;
    // Names of kernels whose parameters are handles of conditional nodes, and the address of one
    // word. Such a kernel does nothing but hand the word, or whether it is 0, to each handle. That
    // is the caller's statement: Braid leaves these kernels out, and reads the word itself. A
    // recorded frame that runs again needs their texts instead, which tell the words.
    const char *const *setters;
    size_t num_setters;
    // Texts that are also loaded: PTX that the program's modules were made of. Execs with early
    // starts, and audits, load a function from its text, if nothing can tell it apart from the
    // program's own (docs/book/import.md). Numbers may differ in the last bit.
    const char *const *reloaded;
    size_t num_reloaded;
    const braid_import_statement *statements; // the nodes of a capture that is read here
    size_t num_statements;
    // Memory from which kernels load pointers keeps them until braid_import_update, unless a node
    // writes it. The import reads these pointers, so work that writes them has ended. A kernel that
    // uses one is then proven, if no node writes it, and none may write any memory. If false, such
    // a kernel is not proven.
    bool follows_pointers;
    // A recorded frame can be run on this CUDA device, in the process that was recorded. The
    // import is destroyed before the device closes. The frame's memory is where it was: a block
    // that the driver does not know is refused. Copies from pageable memory send the bytes of the
    // record, and copies to there reach memory of the import. NULL: the graph is only planned.
    braid_device *device;
    // A recorded frame with `device` has these CUfunctions, by kernel. Where one is NULL or behind
    // the end, the text of its module is loaded, whose variables are new.
    void *const *functions;
    size_t num_functions;
    // A recorded frame with `device` runs in another process than the recorded one, if the record
    // has its memory (braid record --memory begin:N). The import makes memory at the recorded
    // addresses.
    bool makes_memory;
    // Names of kernels whose code proves nothing, and which touch only buffers that an address in
    // their parameters points into. They write these. That is the caller's statement.
    const char *const *confined;
    size_t num_confined;
    // Some proven kernels of a recorded frame are left out, since their results stay. They are in
    // no loop or branch. They read nothing that the frame changes, and they alone write their
    // results. The caller states that they read no clock and print nothing, and that nobody writes
    // this memory between frames.
    bool leaves_constants;
} braid_import_options;

// Reads a CUgraph, which stays as it is. You may destroy it afterwards. Its modules, and the data
// of its host calls, live as long as each exec of the import's graph. Two nodes keep their captured
// order unless the code of both proves that they share no memory which one of them writes.
// Allocations of the graph move: addresses in arguments follow, others are lost. A graph that has
// nodes of several devices needs a group with all of these (docs/book/import.md).
// Errors: BRAID_INVALID_ARGUMENT, BRAID_NO_MEMORY, BRAID_DEVICE_ERROR, BRAID_IO_ERROR (a file),
// BRAID_UNSUPPORTED (no CUDA device, a driver before CUDA 12.4, or a node that Braid cannot do
// there).
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_import_create(braid_device *device, void *captured,
                                                               const braid_import_options *options,
                                                               braid_import **out_import);

// The same for a frame of a record (docs/book/record.md). `frame` is a number
// in record->frames, or BRAID_RECORD_NONE: all operations. Kernels have the PTX that their modules
// were loaded from, and else texts of the options. Pointers that kernels load from memory are those
// that copies from the host wrote there. The options' lists of statements, conditional nodes and
// reloaded texts are empty. Without `device` of the options the graph is only there to be planned:
// its nodes do nothing. The record outlives the import. Errors: BRAID_INVALID_ARGUMENT,
// BRAID_NO_MEMORY, BRAID_IO_ERROR (a file), BRAID_DEVICE_ERROR, BRAID_UNSUPPORTED (graphs in too
// many others; a node that cannot run again).
BRAID_INLINE BRAID_MUST_CHECK braid_status
braid_import_create_recorded(const braid_record_contents *record, uint32_t frame,
                             const braid_import_options *options, braid_import **out_import);

// Gives an exec of the import's graph the values of another capture: arguments, grids, ends and
// sizes of copies and fills, and values of semaphores. All else must be equal, and the exec's
// orders must do for the memory that nodes share now. The options have the other capture's lists of
// buffers, conditional nodes, setters, statements and confined kernels. No text is read again, and
// the info and report stay. On an error the exec keeps its values. A runner has several execs:
// update the one that it has chosen. Errors: those of braid_import_create and braid_exec_set,
// BRAID_INVALID_ARGUMENT (names a node that differs, or two that need an order). BRAID_BUSY tells
// that the host drives loops, and that a frame in flight would take values of semaphores.
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_import_update(const braid_import *import,
                                                               void *captured,
                                                               const braid_import_options *options,
                                                               braid_exec *exec);

// Fills the memory of a recorded frame that can be run as it was at its begin, and waits. No frame
// runs. Memory that is gone is left out. Errors: BRAID_INVALID_ARGUMENT (the record does not have
// the frame's memory), BRAID_DEVICE_ERROR.
BRAID_API BRAID_MUST_CHECK braid_status braid_import_restore(braid_import *import);

// The digest of the bytes that a row of `memory` of the record has now; 0: it is gone. Compare it
// with digest_behind of the row. No frame runs. Errors: those of braid_import_restore,
// BRAID_NO_MEMORY.
BRAID_API BRAID_MUST_CHECK braid_status braid_import_get_memory_digest(const braid_import *import,
                                                                       uint32_t memory,
                                                                       uint64_t *out_digest);

// Frees the import and its graph. No exec of the graph is left.
BRAID_API void braid_import_destroy(braid_import *import);

// The graph to plan, play, measure and tune, which the import destroys. It takes no further nodes
// and no outputs, and runs on the devices of its import. NULL has none.
BRAID_API braid_graph *braid_import_get_graph(braid_import *import);

// An order is a pair of nodes with work, the first of which ends before the second starts.
typedef struct braid_import_info {
    uint32_t num_nodes; // captured, also in child graphs and in bodies of conditional nodes
    uint32_t num_kernels, num_copies, num_fills, num_host_calls, num_allocations;
    uint32_t num_unproven;  // nodes that keep all their captured orders
    uint32_t num_races;     // pairs that share memory which one writes, and that no captured order
                            // keeps apart. They get no order
    uint32_t num_rewritten; // words of arguments that point into allocations of the graph
    uint32_t longest_captured, longest_kept; // nodes with work on a longest path, on which a
                                             // conditional node counts as its longer body, once
    uint64_t num_captured, num_kept;         // orders, those in bodies among them
    uint32_t num_conditionals;               // loops and branches
    uint32_t num_reloadable; // functions that execs with early starts load from their text
    uint32_t num_stated;     // kernels whose memory the options tell, and no code
    uint32_t num_pointers;   // words of memory that were read as pointers
    // Only a recorded frame has these. Times are those of the host.
    uint32_t num_waits;        // the host waited so often
    uint32_t num_repeats;      // copies from the host that sent what the copy before to there did
    uint32_t num_constants;    // proven kernels that read nothing which the frame changes
    uint64_t frame_ns;         // from the first call to the end of the last
    uint64_t wait_ns, call_ns; // in waits, and in all other calls
    uint64_t repeated_bytes;   // that such copies sent
    // Times of the device, where the record has them (braid record --times); else 0.
    uint64_t device_ns; // from the begin of the first work to the end of the last
    uint64_t kernel_ns; // all launches of kernels and graphs, one behind the other
    uint64_t idle_ns;   // in which no work ran
    // Pinned memory that is memory of the device, where the import makes the frame's memory.
    uint64_t moved_bytes;
    uint32_t num_left_out; // kernels, by .leaves_constants
} braid_import_info;

// NULL has nothing.
BRAID_INLINE void braid_import_get_info(const braid_import *import, braid_import_info *out_info);

typedef enum braid_import_report {
    BRAID_IMPORT_TEXT = 0,
    BRAID_IMPORT_JSON = 1,
    BRAID_IMPORT_PAGE = 2, // HTML
} braid_import_report;

// Writes the info, how many nodes may run at once, and possible races. Tells why functions are not
// proven, and the longest path if they were and shared no memory.
// Errors: BRAID_IO_ERROR, BRAID_NO_MEMORY.
BRAID_API BRAID_MUST_CHECK braid_status braid_import_write(const braid_import *import,
                                                           braid_import_report form, FILE *file);

// With sizes: docs/stability.md.
BRAID_API BRAID_MUST_CHECK braid_status
braid_import_create_sized(braid_device *device, void *captured, const braid_import_options *options,
                          braid_import **out_import, size_t size);
BRAID_INLINE braid_status braid_import_create(braid_device *device, void *captured,
                                              const braid_import_options *options,
                                              braid_import **out_import)
{
    return braid_import_create_sized(device, captured, options, out_import,
                                     sizeof(braid_import_options));
}
BRAID_API BRAID_MUST_CHECK braid_status braid_import_create_recorded_sized(
    const braid_record_contents *record, uint32_t frame, const braid_import_options *options,
    braid_import **out_import, size_t size);
BRAID_INLINE braid_status braid_import_create_recorded(const braid_record_contents *record,
                                                       uint32_t frame,
                                                       const braid_import_options *options,
                                                       braid_import **out_import)
{
    return braid_import_create_recorded_sized(record, frame, options, out_import,
                                              sizeof(braid_import_options));
}
BRAID_API BRAID_MUST_CHECK braid_status
braid_import_update_sized(const braid_import *import, void *captured,
                          const braid_import_options *options, braid_exec *exec, size_t size);
BRAID_INLINE braid_status braid_import_update(const braid_import *import, void *captured,
                                              const braid_import_options *options, braid_exec *exec)
{
    return braid_import_update_sized(import, captured, options, exec, sizeof(braid_import_options));
}
BRAID_API void braid_import_get_info_sized(const braid_import *import, braid_import_info *out_info,
                                           size_t size);
BRAID_INLINE void braid_import_get_info(const braid_import *import, braid_import_info *out_info)
{
    braid_import_get_info_sized(import, out_info, sizeof(braid_import_info));
}

#ifdef __cplusplus
}
#endif

#endif
