// SPDX-License-Identifier: Apache-2.0
// The kinds of nodes, and the work of a node other than a kernel. A graph keeps the work in this
// form, a frame has its own copy, and a backend gets that.
#ifndef BRAID_BASE_WORK_H
#define BRAID_BASE_WORK_H

#include <braid/graph.h>

enum work_kind {
    WORK_KERNEL,
    WORK_COPY,
    WORK_FILL,
    WORK_HOST,
    WORK_QUEUE,
    WORK_EMPTY,
    WORK_POST,   // posts an operation between ranks
    WORK_AWAIT,  // ends with it
    WORK_LOOP,   // plays its body; no backend is given one
    WORK_BRANCH, // plays one of its arms; likewise
};

enum { WORK_NUM_KINDS = WORK_BRANCH + 1 };

// The words of drawings and messages for a kind.
struct work_words {
    const char *name;   // a node's that was given none
    const char *kind;   // as an attribute of a drawing
    const char *action; // before the node, for what failed
    const char *look;   // a drawing's node has it
};

extern const struct work_words braid_work_words[]; // by kind

// A room is how many bytes there are from an end on, where that is a resource; 0: not known.
struct work_copy {
    void *to;
    const void *from;
    uint64_t bytes;
    uint64_t to_room, from_room;
    braid_rows rows; // all zero, or without zeros
};

struct work_fill {
    void *to;
    uint32_t value;
    uint32_t value_bytes; // 1, 2 or 4
    uint64_t num_values;
    uint64_t to_room;
    braid_rows rows; // as those of a copy
};

// The rows of all layers, the begin of one at an end, and the bytes from the first to the last.
static inline uint64_t work_num_rows(const braid_rows *rows)
{
    return rows->num ? (uint64_t)rows->num * rows->layers : 1;
}

static inline uint64_t work_row_at(const braid_rows *rows, bool is_from, uint64_t row)
{
    const uint64_t pitch = is_from ? rows->from_pitch : rows->to_pitch;
    const uint64_t height = is_from ? rows->from_height : rows->to_height;
    return rows->num ? (row / rows->num * height + row % rows->num) * pitch : 0;
}

static inline uint64_t work_span(const braid_rows *rows, bool is_from, uint64_t bytes)
{
    return work_row_at(rows, is_from, work_num_rows(rows) - 1) + bytes;
}

struct work_host {
    braid_host_function *call;
    void *user;
    bool is_blocking; // it sleeps: it takes no core
};

struct work_queue {
    braid_queue_function *call;
    void *user;
};

// The engine that moves data between ranks for a backend.
enum rank_engine_kind {
    RANK_ENGINE_NONE,
    RANK_ENGINE_HOST, // MPI: operations are begun by the communication thread
    RANK_ENGINE_NCCL, // operations are queued on streams of the device
    RANK_ENGINE_RCCL, // the same, by RCCL
};

// The operation's lane goes on: on any thread, once the operation has ended.
typedef void work_resume_function(void *of, void *job);

// An operation between ranks, of one exec. libbraid_ranks makes it (addons/ranks/operation.h).
struct work_operation {
    const struct work_operation_ops *ops;
    bool joins_next; // on a device: it is queued together with the next one of the exec
};

struct work_operation_ops {
    // Queues it for the communication thread.
    void (*post)(struct work_operation *operation, const void *from, void *to);
    // True: it has ended. False: `resume` is called when it has, on another thread, and nothing may
    // touch the operation before that.
    bool (*await)(struct work_operation *operation, work_resume_function *resume, void *of,
                  void *job);
    // On a device instead of both: queues it on a stream, with those that join it. Posts come in
    // their order. Errors: BRAID_DEVICE_ERROR.
    braid_status (*enqueue)(struct work_operation *operation, const void *from, void *to,
                            void *stream);
};

// Graphs have descriptions, and execs operations made by them.
struct work_post {
    struct work_operation *operation;
    const void *from;
    void *to;
    uint32_t description;
};

struct work_await {
    struct work_operation *operation;
};

// A branch has the work of its first arm, which runs once if the condition is not 0.
struct work_loop {
    const uint32_t *condition; // goes on while it is not 0; NULL: `most` alone ends it
    uint64_t most;             // iterations; UINT64_MAX: any number
    uint32_t number;           // the loop's or branch's, among the regions of the graph
    bool tests_first;
};

union work {
    struct work_copy copy;
    struct work_fill fill;
    struct work_host host;
    struct work_queue queue;
    struct work_post post;
    struct work_await await;
    struct work_loop loop;
};

// Whether a node of that kind is a region.
static inline bool work_has_body(enum work_kind kind)
{
    return kind == WORK_LOOP || kind == WORK_BRANCH;
}

// The reason why a driver does a copy or fill wrong: its ends overlap, or its address is no
// multiple of its values' bytes. NULL: there is none. All addresses are known.
const char *braid_work_flaw(enum work_kind kind, const union work *work);

// The grid that a program means, or that words of a kernel mean. If y and z are both 0, they are
// left out and mean 1. Kernels in PTX read their grid by the same rule (gpu_ptx_grid.h).
static inline braid_dim3 work_grid(braid_dim3 given)
{
    const uint32_t least = given.y || given.z ? 0 : 1;
    return (braid_dim3){ given.x, given.y | least, given.z | least };
}

static inline bool work_grid_is_empty(braid_dim3 grid)
{
    return !grid.x || !grid.y || !grid.z;
}

// False where the number of threads does not fit in 63 bits, or one of the numbers is 0.
bool braid_grid_fits(braid_dim3 grid, braid_dim3 block);

#endif
