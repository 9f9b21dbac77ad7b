// SPDX-License-Identifier: Apache-2.0
// Graphs: nodes, edges, declared accesses, preludes and epilogues. No device is needed.
#ifndef BRAID_GRAPH_H
#define BRAID_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <braid/kernel.h>
#include <braid/status.h>
#include <braid/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

// A DAG of work. A call that fails leaves the graph as it was. Empty names and sizes of 0 bytes are
// refused. Thread-safety: one thread at a time for calls that change it; otherwise any number may
// read or plan it.
typedef struct braid_graph braid_graph;

// A node of one graph; { 0 } is none. Node i in the order of adding, from 0, has index i.
typedef struct braid_node {
    uint32_t index;
    uint32_t graph; // which graph made it
} braid_node;

// A resource that nodes access: a buffer, a list, an allocator, a communicator. { 0 } is none. A
// field `x_resource` gives a node the resource's address in place of `x`, which is then NULL: see
// braid_resource_address.
typedef struct braid_resource {
    uint32_t index;
    uint32_t graph;
} braid_resource;

// An argument of a kernel node: the address of a buffer or range. It was declared with its address,
// or execs allocate its memory, one for each frame in flight. The node must declare an access to
// it, unless it is scratch. The handle is read during the call.
static inline braid_arg braid_resource_address(const braid_resource *resource)
{
    braid_arg arg = { resource, sizeof(*resource), BRAID_ARG_RESOURCE, BRAID_NO_ACCESS };
    return arg;
}

// An argument of a kernel node, the address of a resource, that is also an access:
// BRAID_ARGS(BRAID_IN(x), BRAID_OUT(y), BRAID_ARG(dt)). `resource` is a variable, which is read
// during the call.
#define BRAID_IN(resource) braid_resource_argument(&(resource), BRAID_READ)
#define BRAID_OUT(resource) braid_resource_argument(&(resource), BRAID_WRITE)
#define BRAID_INOUT(resource) braid_resource_argument(&(resource), BRAID_READ_WRITE)
static inline braid_arg braid_resource_argument(const braid_resource *resource,
                                                braid_access_mode mode)
{
    braid_arg arg = { resource, sizeof(*resource), BRAID_ARG_RESOURCE, mode };
    return arg;
}

// The access of a node to a resource. Edges follow in insertion order: read after write, write
// after read, write after write. An exclusive access is ordered with every other. Accumulating
// accesses are free among each other; for others they are writes that read (docs/book/buffers.md).
typedef struct braid_access {
    braid_resource resource;
    braid_access_mode mode;
} braid_access;

// The home of memory that every device of a group reaches by the same address (pinned, managed).
// Other places are devices of the group, counted from 1; 0 is no place. No node runs everywhere.
#define BRAID_EVERYWHERE UINT32_MAX

// The options of every kind of node. Zero everywhere is valid.
typedef struct braid_node_options {
    const char *name;        // NULL: the kernel's name, or the kind of node
    const braid_node *after; // nodes that must end before this one starts
    size_t num_after;
    const braid_access *accesses;
    size_t num_accesses;
    uint64_t cost_ns;       // how long it runs; 0: not known (braid_cost_model.default_cost_ns)
    uint32_t lane_hint;     // nodes with one non-zero hint share a lane, in insertion order
    braid_node prelude_of;  // this node runs just before that one, on its lane
                            // (docs/book/preludes.md)
    braid_node epilogue_of; // this node runs just after that one, likewise
    uint32_t place;         // where it runs, with several devices; 0: the planner chooses
} braid_node_options;

#ifndef __cplusplus
// Fills .node.after and .node.num_after: BRAID_AFTER(load, blur).
#define BRAID_AFTER(...)                                                                           \
    .node.after = (const braid_node[]){ __VA_ARGS__ },                                             \
    .node.num_after = sizeof((const braid_node[]){ __VA_ARGS__ }) / sizeof(braid_node)

// Fills .node.accesses: BRAID_ACCESSES({ image, BRAID_READ }, { left, BRAID_WRITE }).
#define BRAID_ACCESSES(...)                                                                        \
    .node.accesses = (const braid_access[]){ __VA_ARGS__ },                                        \
    .node.num_accesses = sizeof((const braid_access[]){ __VA_ARGS__ }) / sizeof(braid_access)
#endif

// The use of a kernel's code for the accesses of its node. Braid reads PTX, also where it compiles
// that from source (docs/book/accesses.md).
typedef enum braid_code_use {
    BRAID_CODE_CHECKS = 0,    // planning refuses a node whose code writes a buffer that the node
                              // declares to read, or touches one that it does not declare
    BRAID_CODE_DECLARES = 1,  // it also declares the accesses to buffers that the node does not
    BRAID_CODE_UNREAD = 2,    // nothing: the program knows better
    BRAID_CODE_COMPLETES = 3, // as BRAID_CODE_DECLARES, if the kernel has PTX or source for CUDA,
                              // and the node declares no access to some resource among its
                              // arguments other than scratch; else as BRAID_CODE_CHECKS
} braid_code_use;

// A kernel launch.
typedef struct braid_kernel_node {
    braid_node_options node;
    const braid_kernel *kernel; // required; see kernel.h for how long it must live
    braid_dim3 grid;            // in blocks
    braid_dim3 block;           // in threads
    braid_dim3 cluster;         // in blocks, CUDA only; all zero: none
    uint32_t shared_bytes;      // dynamic shared memory of a block
    int32_t priority;           // smaller is more urgent, as for streams; 0: the exec's
    const braid_arg *args;      // copied; all nodes of a kernel have as many, of the same sizes
    size_t num_args;
    // A grid that the device reads when the node's turn comes: the address of three uint32_t, which
    // earlier nodes of the frame write. The node declares an access; `grid` is the largest grid.
    // All nodes of one kernel have it, or none (docs/book/buffers.md).
    const void *grid_from; // NULL: `grid` is the grid; a y and z that are both 0 mean 1
    braid_resource grid_from_resource;
    // True: a 0 in `grid` is no block, and the node does nothing until it gets another grid.
    bool may_be_empty; // if y and z are both 0, they mean 1: { 8 } is 8 blocks
    // All blocks run at once, so that they may wait for each other (docs/book/concepts.md). Without
    // .cluster and .grid_from. Where the device has no room for `grid`, calls fail and name the
    // largest one. On the CPU one call has all blocks.
    bool cooperative;
    // With BRAID_CODE_DECLARES, adding the node fails where its accesses are not proven, or where
    // the code uses an address in no buffer declared before. Also BRAID_UNSUPPORTED: the kernel has
    // no PTX, and no compiler is here; BRAID_DEVICE_ERROR: the compiler refuses its source. If a
    // buffer begins where another ends, that address counts as the begin. It counts as both if the
    // code may go down from there.
    braid_code_use code_use;
} braid_kernel_node;

// Many rows of a copy or fill, each of its bytes or values. All zero: one row. Fields that are 0:
// one row, one layer, rows without gaps, layers without gaps.
typedef struct braid_rows {
    uint32_t num;                    // rows of a layer
    uint32_t layers;                 // a copy's
    uint32_t to_pitch, from_pitch;   // bytes from the begin of a row to that of the next
    uint32_t to_height, from_height; // rows from the begin of a layer to that of the next
} braid_rows;

// An asynchronous copy between any two memories that the device can reach, without overlap. `to`
// and `from` declare no access. If one lies in a buffer with an address, the node must declare an
// access, and the copy must end inside (docs/book/buffers.md).
typedef struct braid_copy {
    braid_node_options node;
    void *to;
    const void *from;
    uint64_t bytes; // more than 0, in each row
    braid_resource to_resource, from_resource;
    braid_rows rows; // docs/book/buffers.md tells which devices and modes play several
} braid_copy;

// Sets num_values values of value_bytes (1, 2 or 4; 0: 1) to `value`. `to` is aligned to
// value_bytes. The rules for a copy hold.
typedef struct braid_fill {
    braid_node_options node;
    void *to;
    uint32_t value;
    uint32_t value_bytes;
    uint64_t num_values; // more than 0, in each row
    braid_resource to_resource;
    braid_rows rows; // as a copy's, with pitches of whole values
} braid_fill;

// A function that runs on a host thread when its turn comes. It must not call the driver, and of
// Braid only braid_exec_get_num_launched. Calls that wait, launch, change or destroy are refused
// (BRAID_INVALID_ARGUMENT). The data at `user` must live as long as every exec of the graph.
typedef struct braid_host_call {
    braid_node_options node;
    braid_host_function *call;
    void *user;
    braid_resource user_resource;
    // The call mostly sleeps: it waits for a file, a camera, a network. A thread of its own makes
    // it, where the backend can (docs/book/pipelines.md).
    bool blocking;
} braid_host_call;

// Work that the program itself queues (cuBLAS, NCCL, cuFFT), on braid_stream_get_handle() or by
// Braid's stream functions. Each launch calls the function on the launching thread with the lane's
// stream; a driver graph calls it once, under capture (docs/book/library-calls.md). It must not
// block, keep the stream, nor launch, change, wait for or destroy its own exec. A status other than
// BRAID_OK fails the launch. `user` and host memory that it queues outlive every exec of the graph.
typedef braid_status braid_queue_function(braid_device *device, braid_stream *stream, void *user);

// A node that calls a braid_queue_function.
typedef struct braid_queue_call {
    braid_node_options node;
    braid_queue_function *call;
    void *user;
    braid_resource user_resource;
} braid_queue_call;

// A node without work: a join.
typedef struct braid_empty {
    braid_node_options node;
} braid_empty;

// Makes an empty graph.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_create(braid_graph **out_graph);

// Frees the graph. Schedules and execs made from it stay valid.
BRAID_API void braid_graph_destroy(braid_graph *graph);

// Declares a buffer of `bytes` bytes, which Braid never touches by itself. Declare each buffer
// once, and its parts with braid_graph_add_range: two buffers never conflict. If `address` is not
// NULL, planning refuses overlapping buffers, and nodes with a pointer into a buffer to which they
// declare no access. The `user` of calls is not checked.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_add_buffer(braid_graph *graph, const char *name,
                                                               const void *address, uint64_t bytes,
                                                               braid_resource *out_resource);

// Declares a buffer in new memory of a device, with a copy of `content` unless that is NULL. The
// call waits for the copy. The program frees *out_memory by braid_memory_free.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_add_device_buffer(
    braid_graph *graph, braid_device *device, const char *name, const void *content, uint64_t bytes,
    void **out_memory, braid_resource *out_resource);

// Names a part of a buffer: an access through out_range touches those bytes only. Ranges
// conflict where they overlap each other or the whole buffer. `buffer` is no range, and contains
// the part.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_add_range(braid_graph *graph,
                                                              braid_resource buffer,
                                                              uint64_t offset, uint64_t bytes,
                                                              braid_resource *out_range);

// Declares a buffer of `bytes` bytes whose memory the plan chooses. It lives from its first to its
// last access in a frame, and shares memory with others. Its first access, in insertion order, must
// be BRAID_WRITE or BRAID_EXCLUSIVE. `alignment` is a power of two up to 65,536; 0: 256.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_add_transient(braid_graph *graph,
                                                                  const char *name, uint64_t bytes,
                                                                  uint64_t alignment,
                                                                  braid_resource *out_resource);

// Declares scratch. Each node with its address has `bytes` bytes of its own while it runs, with
// unspecified content. Scratch has no accesses, no ranges, and orders nothing. Its memory is shared
// like that of transient buffers.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_add_scratch(braid_graph *graph,
                                                                const char *name, uint64_t bytes,
                                                                uint64_t alignment,
                                                                braid_resource *out_resource);

// Declares a buffer with `num_versions` (2 to 16) memories of `bytes` bytes. Frame f uses number f
// modulo num_versions; later frames can read it as an earlier version. `addresses`: one of each,
// not NULL, without shared bytes; or NULL: each exec allocates zeroed memory. It has no ranges.
// Launches change its address in nodes, so the program must not (docs/book/pipelines.md).
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_add_versioned_buffer(
    braid_graph *graph, const char *name, void *const *addresses, uint32_t num_versions,
    uint64_t bytes, braid_resource *out_resource);

// Names the version of a versioned buffer `frames_before` (1 to num_versions - 1) frames before. In
// the first frames no frame has written it. The same version again is the same resource.
BRAID_API BRAID_MUST_CHECK braid_status
braid_graph_add_earlier_version(braid_graph *graph, braid_resource versioned,
                                uint32_t frames_before, braid_resource *out_resource);

// Sets the place of a buffer with an address or with versions, or BRAID_EVERYWHERE; 0: the first
// place. For a resource without bytes: the place of its users unless they name one.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_set_home(braid_graph *graph,
                                                             braid_resource resource,
                                                             uint32_t place);

// Declares a named resource without bytes.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_add_resource(braid_graph *graph,
                                                                 const char *name,
                                                                 braid_resource *out_resource);

// Declares a resource without bytes with 1 to 1,024 slots: at most so many nodes hold one at once.
// A node holds a slot by a BRAID_EXCLUSIVE access, the only one to it, and several by several.
// Nodes get slots in turn, in the order of adding (docs/book/buffers.md). It has no home.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_add_slots(braid_graph *graph, const char *name,
                                                              uint32_t num_slots,
                                                              braid_resource *out_resource);

// Declares an output: a buffer with all versions, a range, or a resource without bytes. Plans and
// launches leave out nodes whose results reach no output (docs/book/outputs.md).
// Errors: BRAID_INVALID_ARGUMENT (a transient buffer, scratch, slots, a communicator).
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_set_output(braid_graph *graph,
                                                               braid_resource resource);

// Each adds one node. out_node may be NULL.
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_graph_add_kernel(braid_graph *graph,
                                                                  const braid_kernel_node *launch,
                                                                  braid_node *out_node);
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_graph_add_copy(braid_graph *graph,
                                                                const braid_copy *copy,
                                                                braid_node *out_node);
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_graph_add_fill(braid_graph *graph,
                                                                const braid_fill *fill,
                                                                braid_node *out_node);
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_graph_add_host_call(
    braid_graph *graph, const braid_host_call *host_call, braid_node *out_node);
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_graph_add_queue_call(braid_graph *graph,
                                                                      const braid_queue_call *call,
                                                                      braid_node *out_node);
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_graph_add_empty(braid_graph *graph,
                                                                 const braid_empty *empty,
                                                                 braid_node *out_node);

// A value that changes from frame to frame and that many nodes use. { 0 } is no parameter.
typedef struct braid_parameter {
    uint32_t index;
    uint32_t graph;
} braid_parameter;

// Declares a parameter of `bytes` bytes, up to 4096. Until braid_exec_set_parameter, its users have
// the values that they were added with.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_add_parameter(braid_graph *graph,
                                                                  const char *name, uint64_t bytes,
                                                                  braid_parameter *out_parameter);

// A value of a node, and its type, for braid_graph_use_parameter and braid_exec_set. A 0 in a grid
// is no block: the kernel does nothing until it has another grid (docs/book/buffers.md).
typedef enum braid_target {
    BRAID_TARGET_ARGUMENT = 0, // a kernel's: an argument, of its own type; a parameter may go to a
                               // part of one
    BRAID_TARGET_GRID = 1,     // a kernel's: a braid_dim3, with .grid_from the largest grid; a y
                               // and z that are both 0 mean 1
    BRAID_TARGET_GRID_X = 2,   // a kernel's: a uint32_t
    BRAID_TARGET_GRID_Y = 3,   // a kernel's: a uint32_t
    BRAID_TARGET_GRID_Z = 4,   // a kernel's: a uint32_t
    BRAID_TARGET_TO = 5,       // a copy's or fill's: a pointer (void *), not NULL
    BRAID_TARGET_FROM = 6,     // a copy's: a pointer (const void *), not NULL
    BRAID_TARGET_BYTES = 7,    // a copy's: a uint64_t, not 0
    BRAID_TARGET_VALUE = 8,    // a fill's: an integer of its value_bytes; of a parameter also a
                               // uint32_t
    BRAID_TARGET_NUM_VALUES = 9, // a fill's: a uint64_t, not 0
    BRAID_TARGET_USER = 10,      // a host or queue call's: a pointer (void *)
    BRAID_TARGET_ENABLED = 11,   // any node's but a communication, a loop or a branch: a bool; of a
                                 // parameter also a uint32_t. A disabled node keeps its edges, and
                                 // writes nothing
    BRAID_TARGET_COPY = 12,      // a copy's: a braid_copy_values, by braid_exec_set only
    BRAID_TARGET_FILL = 13,      // a fill's: a braid_fill_values, by braid_exec_set only
    BRAID_TARGET_TIMES = 14,     // a loop's: a uint64_t; the most iterations that run, 0: none
} braid_target;

// Values of a copy that change together. NULL and 0 leave the node's own.
typedef struct braid_copy_values {
    void *to;
    const void *from;
    uint64_t bytes;
} braid_copy_values;

// The same for a fill; the value is always set.
typedef struct braid_fill_values {
    void *to;
    uint64_t num_values;
    uint32_t value;
} braid_fill_values;

// A use of a parameter: which of its bytes a node takes, and for which target.
typedef struct braid_parameter_use {
    braid_node node;
    size_t argument;          // for BRAID_TARGET_ARGUMENT: which of the kernel's arguments
    uint64_t argument_offset; // for BRAID_TARGET_ARGUMENT: where in it, in bytes
    uint64_t offset;          // from where in the parameter
    uint64_t bytes; // how many; 0: all from `offset` on, but no more than a target has that is no
                    // argument
    braid_target target;
} braid_parameter_use;

// Makes a node use a parameter. Both may have several uses. If two write the same bytes, the one
// set last counts. Accesses and edges must hold for every value. docs/book/buffers.md tells how
// uses limit islands and driver graphs.
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_graph_use_parameter(
    braid_graph *graph, braid_parameter parameter, const braid_parameter_use *use);

// Orders two different nodes: `from` ends before `to` starts.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_add_edge(braid_graph *graph, braid_node from,
                                                             braid_node to);

// Changes the cost of a node.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_set_cost(braid_graph *graph, braid_node node,
                                                             uint64_t cost_ns);

// The number of nodes, and the node at an index; { 0 } beyond the end.
BRAID_API size_t braid_graph_get_num_nodes(const braid_graph *graph);
BRAID_API braid_node braid_graph_get_node(const braid_graph *graph, size_t index);

// The node's name as given, or that of its kernel or kind; "" for an unknown node. It lives as long
// as the graph (a kernel's name: as the kernel).
BRAID_API const char *braid_graph_get_node_name(const braid_graph *graph, braid_node node);

// Writes the graph as Graphviz DOT (docs/drawings.md), also one with a cycle.
// Errors: BRAID_IO_ERROR.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_write_dot(const braid_graph *graph, FILE *file);

// With sizes: docs/stability.md.
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_add_kernel_sized(
    braid_graph *graph, const braid_kernel_node *launch, braid_node *out_node, size_t size,
    size_t node_size, size_t kernel_size);
BRAID_INLINE braid_status braid_graph_add_kernel(braid_graph *graph,
                                                 const braid_kernel_node *launch,
                                                 braid_node *out_node)
{
    return braid_graph_add_kernel_sized(graph, launch, out_node, sizeof(braid_kernel_node),
                                        sizeof(braid_node_options), sizeof(braid_kernel));
}
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_add_copy_sized(braid_graph *graph,
                                                                   const braid_copy *copy,
                                                                   braid_node *out_node,
                                                                   size_t size, size_t node_size);
BRAID_INLINE braid_status braid_graph_add_copy(braid_graph *graph, const braid_copy *copy,
                                               braid_node *out_node)
{
    return braid_graph_add_copy_sized(graph, copy, out_node, sizeof(braid_copy),
                                      sizeof(braid_node_options));
}
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_add_fill_sized(braid_graph *graph,
                                                                   const braid_fill *fill,
                                                                   braid_node *out_node,
                                                                   size_t size, size_t node_size);
BRAID_INLINE braid_status braid_graph_add_fill(braid_graph *graph, const braid_fill *fill,
                                               braid_node *out_node)
{
    return braid_graph_add_fill_sized(graph, fill, out_node, sizeof(braid_fill),
                                      sizeof(braid_node_options));
}
BRAID_API BRAID_MUST_CHECK braid_status
braid_graph_add_host_call_sized(braid_graph *graph, const braid_host_call *host_call,
                                braid_node *out_node, size_t size, size_t node_size);
BRAID_INLINE braid_status braid_graph_add_host_call(braid_graph *graph,
                                                    const braid_host_call *host_call,
                                                    braid_node *out_node)
{
    return braid_graph_add_host_call_sized(graph, host_call, out_node, sizeof(braid_host_call),
                                           sizeof(braid_node_options));
}
BRAID_API BRAID_MUST_CHECK braid_status
braid_graph_add_queue_call_sized(braid_graph *graph, const braid_queue_call *call,
                                 braid_node *out_node, size_t size, size_t node_size);
BRAID_INLINE braid_status braid_graph_add_queue_call(braid_graph *graph,
                                                     const braid_queue_call *call,
                                                     braid_node *out_node)
{
    return braid_graph_add_queue_call_sized(graph, call, out_node, sizeof(braid_queue_call),
                                            sizeof(braid_node_options));
}
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_add_empty_sized(braid_graph *graph,
                                                                    const braid_empty *empty,
                                                                    braid_node *out_node,
                                                                    size_t size, size_t node_size);
BRAID_INLINE braid_status braid_graph_add_empty(braid_graph *graph, const braid_empty *empty,
                                                braid_node *out_node)
{
    return braid_graph_add_empty_sized(graph, empty, out_node, sizeof(braid_empty),
                                       sizeof(braid_node_options));
}
BRAID_API BRAID_MUST_CHECK braid_status braid_graph_use_parameter_sized(
    braid_graph *graph, braid_parameter parameter, const braid_parameter_use *use, size_t size);
BRAID_INLINE braid_status braid_graph_use_parameter(braid_graph *graph, braid_parameter parameter,
                                                    const braid_parameter_use *use)
{
    return braid_graph_use_parameter_sized(graph, parameter, use, sizeof(braid_parameter_use));
}

#ifdef __cplusplus
}
#endif

#endif
