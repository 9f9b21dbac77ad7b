// SPDX-License-Identifier: Apache-2.0
// Differences between CUDA and HIP beyond the names of functions.
#ifndef BRAID_BACKENDS_GPU_GPU_VENDOR_H
#define BRAID_BACKENDS_GPU_GPU_VENDOR_H

#include "backends/gpu/gpu_api.h"
#include "backends/gpu/gpu_loader.h"
#include "device/backend.h"

struct gpu_backend;

// Device attributes, by their place in gpu_vendor.attributes.
enum gpu_attribute_index {
    GPU_MAX_THREADS,
    GPU_MAX_BLOCK_X,
    GPU_MAX_BLOCK_Y,
    GPU_MAX_BLOCK_Z,
    GPU_MAX_GRID_X,
    GPU_MAX_GRID_Y,
    GPU_MAX_GRID_Z,
    GPU_MAX_SHARED,       // dynamic and static, without asking for more
    GPU_MAX_SHARED_OPTIN, // after function_set
    GPU_NUM_UNITS,
    GPU_UNIT_THREADS, // that one unit runs at once
    GPU_MAJOR,
    GPU_MINOR,
    GPU_CLUSTERS,
    GPU_STREAM_WAITS, // HIP: hip_stream_wait_value does
    GPU_COOPERATIVE,  // it has cooperative launches
    GPU_NUM_ATTRIBUTES,
};

enum {
    GPU_NO_ATTRIBUTE = -1, // the vendor has none of this meaning; reads as 0
};

enum gpu_memory_kind {
    GPU_ELSEWHERE, // on a device, managed, or not known
    GPU_PINNED,    // host memory that the driver knows
    GPU_PAGEABLE,  // host memory that it does not
};

// A new node of a graph is behind these nodes.
struct gpu_behind {
    gpu_graph graph;
    const gpu_node *after;
    size_t num_after;
    int32_t priority; // for a kernel that has none
};

// A new node of a graph, or one of an executable, which gets other values.
struct gpu_site {
    struct gpu_behind behind;  // behind a new node
    gpu_executable executable; // NULL: the node is new
    gpu_node *node;
};

// A loop of one body, or a branch of one arm or two.
struct gpu_conditional {
    uint64_t condition; // the driver's
    bool is_loop;
    uint32_t num_bodies;
};

// The calling thread before calls of the driver; see gpu_context.c.
struct gpu_scope {
    struct gpu_scope *outer;
    const struct gpu_backend *gpu;
    gpu_context context; // CUDA: what was current
    int device;          // HIP: likewise
    bool changed;
    int mode;         // for other captures, where this scope has relaxed it
    bool is_relaxed;  // this scope has relaxed it
    gpu_result error; // HIP: the last error, of the outermost scope
};

// Nodes of graphs. *out_slot as below.
struct gpu_vendor_nodes {
    gpu_result (*add_kernel)(const struct gpu_backend *gpu, const struct gpu_behind *behind,
                             const struct backend_launch *launch, gpu_node *out_node,
                             const void **out_slot);
    gpu_result (*set_kernel)(const struct gpu_backend *gpu, gpu_executable executable,
                             gpu_node node, const struct backend_launch *launch);
    gpu_result (*put_copy)(const struct gpu_backend *gpu, const struct gpu_site *site,
                           const struct work_copy *copy, const void **out_slot);
    gpu_result (*put_fill)(const struct gpu_backend *gpu, const struct gpu_site *site,
                           const struct work_fill *fill, const void **out_slot);
    // The ends of a copy in a graph, which a capture may have added. NULL for an end that is an
    // array, and both for a node that is no copy.
    gpu_result (*read_copy)(const struct gpu_backend *gpu, gpu_node node, const void **out_to,
                            const void **out_from, const void **out_slot);
    // Waits until a word, as a number that may wrap around, is at least the value.
    gpu_result (*add_wait_value)(const struct gpu_backend *gpu, const struct gpu_behind *behind,
                                 void *word, uint32_t value, gpu_node *out_node,
                                 const void **out_slot);
    // A loop goes round while the condition is not 0. A branch has an arm for each body,
    // and the condition chooses one. The bodies are the node's own.
    gpu_result (*add_conditional)(const struct gpu_backend *gpu, const struct gpu_behind *behind,
                                  const struct gpu_conditional *conditional, gpu_node *out_node,
                                  gpu_graph *out_bodies, const void **out_slot);
};

struct gpu_vendor {
    enum gpu_vendor_index index;
    const char *name;                       // "cuda"
    const char *const *libraries;           // names to try, ended by NULL
    const char *const *compiler_libraries;  // the same for the run-time compiler
    const char *const *assembler_libraries; // the same for nvJitLink; NULL: the vendor has none
    int attributes[GPU_NUM_ATTRIBUTES];     // the vendor's numbers
    const struct player *const *players;    // see backend_ops
    // While a thread waits for an event, other calls with it wait too: it is polled instead.
    bool waiting_locks_events;

    // Makes the backend's device current on this thread, and then the previous one again.
    gpu_result (*enter)(const struct gpu_backend *gpu, struct gpu_scope *scope);
    gpu_result (*leave)(const struct gpu_backend *gpu, const struct gpu_scope *scope,
                        const void **out_slot);

    void (*describe)(const struct gpu_api *api, gpu_result result, const char **out_name,
                     const char **out_text);

    // Opens the device whose ordinal is in the backend: fills device, context and version.
    braid_status (*open_device)(struct gpu_backend *gpu);
    braid_status (*read_architecture)(struct gpu_backend *gpu); // with the attributes known
    void (*close_device)(struct gpu_backend *gpu);              // optional

    // Optional: BRAID_OK when the driver may be given this image; `kernel` for the message.
    braid_status (*check_image)(const struct gpu_backend *gpu, const braid_kernel *kernel,
                                const void *image);

    // *out_slot of these is the slot of the last call made, for messages.

    // The kind of the memory. If the driver has no call that tells it: GPU_ELSEWHERE.
    gpu_result (*find_memory)(const struct gpu_backend *gpu, const void *memory,
                              enum gpu_memory_kind *out_kind, const void **out_slot);
    bool fills_of_host_memory_wait; // for earlier work of the stream, on the host

    gpu_result (*copy)(const struct gpu_backend *gpu, const struct work_copy *copy,
                       gpu_stream stream, const void **out_slot);
    gpu_result (*host_call)(struct gpu_backend *gpu, gpu_stream stream, gpu_host_function *call,
                            void *user, const void **out_slot);

    // The costs of ordering on streams.
    void (*stream_cost_model)(const struct gpu_backend *gpu, braid_cost_model *out_model);

    // The vendor's graphs: how nodes are added, and the costs of ordering in one. NULL, and why for
    // messages, where they are not used.
    const struct gpu_vendor_nodes *nodes;
    void (*graph_cost_model)(const struct gpu_backend *gpu, braid_cost_model *out_model);
    const char *why_no_graphs;
};

// Writes the attributes that a launch needs beyond a plain one, and returns how many.
enum { GPU_MOST_ATTRIBUTES = 4 };
uint32_t braid_gpu_list_attributes(const struct gpu_backend *gpu,
                                   const struct backend_launch *launch,
                                   struct gpu_attribute *attributes);

extern const struct gpu_vendor braid_gpu_cuda;
extern const struct gpu_vendor braid_gpu_hip;

#endif
