// SPDX-License-Identifier: Apache-2.0
// Records of CUDA programs, which `braid record` writes (docs/book/record.md, docs/record-file.md).
#ifndef BRAID_RECORD_H
#define BRAID_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <braid/status.h>

#ifdef __cplusplus
extern "C" {
#endif

// Frames of a program: all that it handed to the driver, in order. Bytes in it are not aligned.
// Thread-safety: any thread may read it at any time.
typedef struct braid_record braid_record;

// The index of nothing. All indices are of arrays in braid_record_contents.
#define BRAID_RECORD_NONE UINT32_MAX

typedef enum braid_record_text_kind {
    BRAID_RECORD_NO_TEXT, // the recorder did not see it
    BRAID_RECORD_PTX,
    BRAID_RECORD_CUBIN,
    BRAID_RECORD_FATBIN, // perhaps compressed, with PTX or cubins in it
    BRAID_RECORD_OTHER_TEXT,
} braid_record_text_kind;

// A module or library of the program, in the order in which it loaded them.
typedef struct braid_record_module {
    const char *file; // where the program named one, else ""
    braid_record_text_kind kind;
    bool is_library;     // cuLibraryLoadData made it
    uint32_t context;    // a number for each context; BRAID_RECORD_NONE: a library has none
    uint64_t text_bytes; // that `text` has
    const void *text;    // a NUL stands behind it. NULL: none, or over the limit of the recorder
    uint64_t all_bytes;  // that the program loaded
} braid_record_module;

typedef struct braid_record_kernel {
    const char *name; // as in the module's text; "": the driver cannot tell it
    uint32_t module;  // BRAID_RECORD_NONE: not known
    // BRAID_RECORD_NONE: the driver cannot tell them (before CUDA 12.4).
    uint32_t num_parameters;
    uint32_t first_parameter;
    uint32_t shared_bytes;         // that its code states
    uint32_t dynamic_shared_bytes; // the most that the program allowed
    uint32_t registers;            // that a thread has
    uint32_t max_threads;          // that a block may have
} braid_record_kernel;

typedef struct braid_record_parameter {
    uint32_t offset, bytes; // in the parameters of a launch
} braid_record_parameter;

typedef enum braid_record_memory_kind {
    BRAID_RECORD_DEVICE,   // cuMemAlloc and relatives
    BRAID_RECORD_POOL,     // cuMemAllocAsync, cuMemAllocFromPoolAsync
    BRAID_RECORD_MANAGED,  // cuMemAllocManaged
    BRAID_RECORD_PINNED,   // cuMemHostAlloc, cuMemAllocHost
    BRAID_RECORD_HOST,     // the program's own, which cuMemHostRegister pinned
    BRAID_RECORD_MAPPED,   // cuMemMap: a range of virtual addresses
    BRAID_RECORD_VARIABLE, // a module's, which the program asked for
    BRAID_RECORD_FOREIGN,  // another process or interface has it
    BRAID_RECORD_OF_GRAPH, // an allocation node gives it
} braid_record_memory_kind;

// Memory of the program. Two may have one address, one after the other.
typedef struct braid_record_allocation {
    uint64_t address, bytes;
    uint64_t device_address; // `address`, but where pinned memory has two
    braid_record_memory_kind kind;
    uint32_t context;
    uint32_t module;         // a variable's, else BRAID_RECORD_NONE
    const char *name;        // a variable's, else ""
    uint32_t born, freed_at; // operations; BRAID_RECORD_NONE: before the record, and after it
} braid_record_allocation;

typedef enum braid_record_stream_kind {
    BRAID_RECORD_BLOCKING,     // it and the null stream of its context wait for each other
    BRAID_RECORD_NON_BLOCKING, // it and the null stream do not
    BRAID_RECORD_NULL_STREAM,  // the legacy one
    BRAID_RECORD_PER_THREAD,   // the default stream of a thread, which is blocking
} braid_record_stream_kind;

typedef struct braid_record_stream {
    uint64_t handle; // CUstream
    braid_record_stream_kind kind;
    uint32_t context;
    int32_t priority;
    uint32_t thread; // if BRAID_RECORD_PER_THREAD: a number for each thread
} braid_record_stream;

typedef enum braid_record_work_kind {
    BRAID_RECORD_KERNEL,
    BRAID_RECORD_COPY,
    BRAID_RECORD_FILL,
    BRAID_RECORD_HOST_CALL,    // a function of the program
    BRAID_RECORD_ALLOCATE,     // `memory`
    BRAID_RECORD_FREE,         // `memory`
    BRAID_RECORD_GRAPH,        // `graph`: a launch, or a child graph
    BRAID_RECORD_EVENT_RECORD, // `event`
    BRAID_RECORD_EVENT_WAIT,   // `event`
    BRAID_RECORD_EMPTY,        // a node that only joins
    BRAID_RECORD_CONDITIONAL,  // a node: `graph` is its first body
    BRAID_RECORD_SYNCHRONISE,  // the host waited, or asked and heard that all is done
    BRAID_RECORD_UNKNOWN,      // `name`: a call that the recorder does not understand
} braid_record_work_kind;

typedef enum braid_record_place {
    BRAID_RECORD_ON_HOST,
    BRAID_RECORD_ON_DEVICE,
    BRAID_RECORD_IN_ARRAY, // `address` is a CUarray
    BRAID_RECORD_ANYWHERE, // the address tells
} braid_record_place;

// An end of a copy. An address counts from the begin of the whole; x, y, z are added to it.
typedef struct braid_record_end {
    uint64_t address;
    braid_record_place place;
    uint64_t pitch, rows; // bytes from row to row, and rows from layer to layer. 0: one row
    uint64_t x, y, z;     // bytes, rows, layers
} braid_record_end;

// The work that a SYNCHRONISE waited for.
typedef enum braid_record_scope {
    BRAID_RECORD_NO_SCOPE,
    BRAID_RECORD_OF_STREAM,    // all work on `scope_of`, a stream
    BRAID_RECORD_OF_EVENT,     // the work before the latest record of `event`
    BRAID_RECORD_OF_CONTEXT,   // all work of `scope_of`, a context
    BRAID_RECORD_OF_OPERATION, // `scope_of`: an operation that the call before made
} braid_record_scope;

typedef enum braid_record_condition {
    BRAID_RECORD_NO_CONDITION,
    BRAID_RECORD_IF,
    BRAID_RECORD_WHILE,
    BRAID_RECORD_SWITCH,
} braid_record_condition;

// A piece of work. Members that its kind does not name are zero, "", NULL or BRAID_RECORD_NONE.
typedef struct braid_record_work {
    braid_record_work_kind kind;
    const char *name; // the driver's function, if BRAID_RECORD_UNKNOWN

    uint32_t kernel;
    uint32_t grid[3], block[3], cluster[3]; // cluster: 0 where none is given
    uint32_t shared_bytes;                  // dynamic
    bool is_cooperative;
    bool starts_early;           // a launch with programmatic serialisation (PDL)
    bool has_unknown_attributes; // others than these and priorities
    uint32_t parameter_bytes;
    const void *parameters; // at the offsets of the kernel. NULL: not known, or none

    braid_record_end from, to;     // copies; fills have only `to`, with x, y, z as 0
    uint64_t width, height, depth; // bytes, rows, layers: of copies, fills
    uint32_t value, value_bytes;   // a fill's: 1, 2 or 4 bytes
    // The bytes that a copy from host memory sent, row after row. NULL: it is none, or it is over
    // the limit of the recorder, or a node's. The digest is also of bytes over the limit.
    uint64_t num_bytes;
    const void *bytes;
    uint64_t digest; // braid_record_get_digest; 0: none

    uint32_t memory; // an allocation
    uint32_t graph;
    uint32_t event;
    braid_record_scope scope;
    uint32_t scope_of;
    braid_record_condition condition;
    uint64_t condition_handle;
    uint32_t num_bodies; // graphs in a row, from `graph` on
    // A launch gives the handle this value, if the program said so. A record of format 3 does not
    // tell.
    bool has_first_value;
    uint32_t first_value;
} braid_record_work;

// A call of the program.
typedef struct braid_record_operation {
    braid_record_work work;
    uint32_t stream;   // BRAID_RECORD_NONE: it has none
    uint32_t thread;   // a number for each thread
    uint64_t begin_ns; // on the host (CLOCK_MONOTONIC): the call
    uint64_t end_ns;
    // On the device, from the first event of the record; both 0: not measured.
    uint64_t device_begin_ns, device_end_ns;
    // Operations that end before it starts: in `befores`, ascending. They and those before them
    // are all that CUDA orders before it, by the rules in docs/record-file.md.
    uint32_t first_before, num_befores;
} braid_record_operation;

// An executable graph, as it was at a launch, or a child graph, or a body.
typedef struct braid_record_graph {
    uint32_t first_node, num_nodes;
} braid_record_graph;

typedef struct braid_record_node {
    braid_record_work work;
    bool is_disabled;
    // Nodes that it depends on, as numbers in its graph from 0: in `befores`.
    uint32_t first_before, num_befores;
} braid_record_node;

// Operations in a row. Frames have no others between them, where the recorder found them itself.
typedef struct braid_record_frame {
    uint32_t first_operation, num_operations;
} braid_record_frame;

// A function of the driver that the recorder does not understand, and that may launch or write.
typedef struct braid_record_stranger {
    const char *name;
    // Between the marks, and before them if it makes or changes an object. 0: the program only
    // asked for its address.
    uint64_t num_calls;
} braid_record_stranger;

// Bytes of an allocation: all of them, where the record's last frame begins. Or the first ones, as
// they were when it was freed, or when the record ended.
typedef struct braid_record_memory {
    uint32_t allocation;
    bool is_of_end;
    uint64_t num_bytes;
    const void *bytes;
    // braid_record_get_digest of the bytes there where the last frame ended; 0: the memory was
    // freed, or nobody asked, or it is of the end.
    uint64_t digest_behind;
} braid_record_memory;

typedef struct braid_record_contents {
    const char *program;     // its command line
    uint32_t driver_version; // cuDriverGetVersion
    uint32_t num_contexts, num_threads, num_events;
    uint64_t most_bytes; // that the recorder kept for one copy
    const braid_record_module *modules;
    const braid_record_kernel *kernels;
    const braid_record_parameter *parameters;
    const braid_record_allocation *allocations;
    const braid_record_stream *streams;
    const braid_record_operation *operations;
    const braid_record_graph *graphs;
    const braid_record_node *nodes;
    const uint32_t *befores;
    const braid_record_frame *frames;
    const braid_record_stranger *strangers;
    const braid_record_memory *memory; // none: the recorder did not keep it
    uint32_t num_modules, num_kernels, num_parameters, num_allocations, num_streams;
    uint32_t num_operations, num_graphs, num_nodes, num_befores, num_frames, num_strangers;
    uint32_t num_memory;
} braid_record_contents;

// Reads a record, and checks all of it. Errors: BRAID_INVALID_ARGUMENT (no such file, or a damaged
// one: the message names the byte), BRAID_IO_ERROR, BRAID_NO_MEMORY.
BRAID_API BRAID_MUST_CHECK braid_status braid_record_load(const char *path,
                                                          braid_record **out_record);

// Frees the record and all that its contents point to.
BRAID_API void braid_record_destroy(braid_record *record);

// Returns its contents, which live until the record is destroyed. NULL has none.
BRAID_API const braid_record_contents *braid_record_get_contents(const braid_record *record);

// Ends a frame of the program that calls it, and begins the next, if a recorder stands before its
// driver. Returns whether one does.
BRAID_API bool braid_record_frame_mark(void);

// Returns the digest that records have of bytes that were copied.
BRAID_API uint64_t braid_record_get_digest(const void *bytes, uint64_t num);

#ifdef __cplusplus
}
#endif

#endif
