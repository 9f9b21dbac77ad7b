// SPDX-License-Identifier: Apache-2.0
// Graphs that a program captured with CUDA, in place of declared ones (docs/book/import.md).
#ifndef BRAID_IMPORT_H
#define BRAID_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <braid/device.h>
#include <braid/graph.h>
#include <braid/status.h>

#ifdef __cplusplus
extern "C" {
#endif

// A CUDA graph, read into a graph of Braid. It owns that graph and its kernels. Thread-safety: one
// thread at a time.
typedef struct braid_import braid_import;

// Memory of the program that counts as a buffer of its own: a part of an allocation, for example of
// a framework that hands out parts of one block. Parts do not overlap.
typedef struct braid_import_buffer {
    const char *name; // NULL: "memory N", by the order of use
    const void *address;
    uint64_t bytes;
    bool is_watched; // the host, another device or process may look at it during a frame
} braid_import_buffer;

// Gives the texts of a kernel: PTX that has `entry`, number `index` of them, or NULL where there
// are no more. It lives until the import returns.
typedef const char *braid_import_find_text(const char *entry, size_t index, void *user);

// Zero everywhere is valid: no kernel has a text then, and all captured orders stay.
typedef struct braid_import_options {
    const char *const *texts; // PTX, each NUL-terminated; read during the call
    size_t num_texts;
    const char *const *files; // files of PTX
    size_t num_files;
    braid_import_find_text *find_text; // also asked; NULL: nobody is
    void *user;                        // the function's
    const braid_import_buffer *buffers;
    size_t num_buffers;
    // True: nobody looks at pinned, managed or peer memory before the end of a frame. Otherwise
    // nodes that touch it keep all their captured orders.
    bool is_unwatched;
} braid_import_options;

// Reads a CUgraph, which stays as it is and may be destroyed afterwards. Its modules, events and
// the data of host calls live as long as the execs of the import's graph. Kernels keep the captured
// order of two nodes, unless the code of both proves that they share no memory that one writes.
// Errors: BRAID_INVALID_ARGUMENT, BRAID_NO_MEMORY, BRAID_DEVICE_ERROR, BRAID_IO_ERROR (a file),
// BRAID_UNSUPPORTED (no CUDA device; a driver before CUDA 12.4; names a node that Braid cannot do).
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_import_create(braid_device *device, void *captured,
                                                               const braid_import_options *options,
                                                               braid_import **out_import);

// Frees the import with its graph, once no exec of that is left.
BRAID_API void braid_import_destroy(braid_import *import);

// The graph to plan and play. You cannot add to it.
BRAID_API const braid_graph *braid_import_get_graph(const braid_import *import);

// What an import found. An order is a pair of nodes with work, one of which must end before the
// other starts.
typedef struct braid_import_info {
    uint32_t num_nodes; // of the captured graph and its child graphs
    uint32_t num_kernels, num_copies, num_fills, num_host_calls, num_allocations;
    uint32_t num_unproven;  // nodes that keep all their captured orders
    uint32_t num_races;     // pairs that no captured order holds apart, and that share memory which
                            // one writes; they get no order
    uint32_t num_rewritten; // words of arguments that point into memory of the graph's allocations
    uint32_t longest_captured, longest_kept; // nodes with work on a longest path
    uint64_t num_captured, num_kept;         // orders
} braid_import_info;
BRAID_INLINE void braid_import_get_info(const braid_import *import, braid_import_info *out_info);

// Writes what an import found, as text or JSON: the numbers, each kernel that is not proven with
// its reason, and possible races. Errors: BRAID_IO_ERROR.
BRAID_API BRAID_MUST_CHECK braid_status braid_import_write_text(const braid_import *import,
                                                                FILE *file);
BRAID_API BRAID_MUST_CHECK braid_status braid_import_write_json(const braid_import *import,
                                                                FILE *file);

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
