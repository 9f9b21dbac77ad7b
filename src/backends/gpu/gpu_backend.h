// SPDX-License-Identifier: Apache-2.0
// The shared parts of the GPU backend: its objects, errors, and making the device current.
#ifndef BRAID_BACKENDS_GPU_GPU_BACKEND_H
#define BRAID_BACKENDS_GPU_GPU_BACKEND_H

#include <pthread.h>
#include <stdatomic.h>

#include "backends/gpu/gpu_api.h"
#include "backends/gpu/gpu_vendor.h"
#include "base/blockers.h"
#include "device/backend.h"

struct disk_cache;
struct gpu_module;
struct gpu_staging;
struct gpu_host_record;
struct gpu_callable;
struct gpu_island_code;
struct gpu_left;
struct gpu_left_memory;

// Kernels of Braid's own.
enum gpu_graph_kernel_index {
    GPU_OWN_ROOT,  // does nothing, and stands before the many roots of a graph
    GPU_OWN_STAMP, // (uint64_t *at, uint64_t mask): writes the time, exclusive or the mask
    // (stamps, kept, uint64_t *counter, places, uint32_t num, uint32_t room), blocks of 256: each
    // of `num` places is a first stamp and a number of stamps. The greatest of these go to the row
    // of the frame that the counter stands for, of `room` rows, and all are zeroed. The kernel adds
    // the number of its blocks to the counter.
    GPU_OWN_KEEP,
    // (stamps, tallies, counter, places, uint32_t num, uint32_t room, uint32_t blocks,
    // uint32_t first, uint32_t end), one block. The arguments are those of GPU_OWN_KEEP, `blocks`
    // its number of blocks. The kernel adds the times of places `first` to `end` - 1 to their
    // tallies (struct gpu_tally) of the frame. Then it zeroes the stamps.
    GPU_OWN_TALLY,
    GPU_OWN_WAIT, // only waits for the kernels that it was launched early behind
    // (counters, uint64_t *iterations, uint64_t condition, const uint32_t *word, uint32_t num,
    // cancelled): clears the loop's count, and all counters of `num` loops from this one on. The
    // condition is the word, or 1 where that is NULL. `cancelled` is NULL, or points to a uint32_t
    // in host memory: if that is not 0, the condition is 0. Each loop has two `iterations`, by enum
    // iterations. If `cancelled` is not NULL, the second is written too, also by LOOP_CANCEL.
    GPU_OWN_LOOP_BEGIN,
    // (counters, uint64_t *iterations, uint64_t condition, const uint32_t *word, uint64_t most,
    // cancelled): counts an iteration. The condition is as before, and 0 behind the last of `most`.
    // Where it is 0 it writes how many iterations the frame has had. It ignores `cancelled`.
    GPU_OWN_LOOP_NEXT,
    GPU_OWN_LOOP_NEXT_EARLY,   // the same, which waits for its predecessors first
    GPU_OWN_LOOP_CANCEL,       // as LOOP_NEXT, but it reads `cancelled`
    GPU_OWN_LOOP_CANCEL_EARLY, // as that, but it waits first
    // (counters, uint64_t *iterations, uint64_t condition, const uint32_t *word, uint32_t num,
    // uint64_t otherwise): clears counters as LOOP_BEGIN does. If the word is not 0, it counts the
    // branch. The condition is the word. `otherwise` is a second condition, the opposite; or 0.
    GPU_OWN_BRANCH,
    GPU_NUM_OWN,
};

struct gpu_own_kernel {
    gpu_module module;
    gpu_function function;
    bool tried;
};

struct gpu_driver;

struct gpu_backend {
    struct backend base;
    struct backend_ops ops; // base points to it: the common table with the vendor's name
    const struct gpu_vendor *vendor;
    const struct gpu_api *api;
    void *library;  // dlopen's handle
    char label[32]; // "cuda:0", for messages

    gpu_device device;
    gpu_context context;   // CUDA: the device's primary context, or the program's
    bool adopted;          // the context is the program's; otherwise it was retained
    int version;           // CUDA: of the driver; HIP: of the runtime
    char architecture[64]; // for the run-time compiler: "90", "gfx90a"
    int attributes[GPU_NUM_ATTRIBUTES];
    int least_priority, greatest_priority;
    char name[128]; // info has it
    braid_device_info info;
    struct disk_cache *cache; // keeps the run-time compiler's output; NULL: none
    atomic_bool code_refused; // the driver is older than nvJitLink: see gpu_assemble.h

    pthread_mutex_t claim_lock;             // held for moments; see gpu_claim.h
    pthread_cond_t claim_ended;             // one of them did
    struct gpu_claim *claims;               // guarded by claim_lock
    struct gpu_own_kernel own[GPU_NUM_OWN]; // each guarded by the claim on it
    struct gpu_island_code *island_codes;   // guarded by lock, as the next
    void (*finish_island_codes)(struct gpu_backend *gpu, bool current); // NULL: there are none

    pthread_mutex_t lock;                  // never held during a driver call that may wait
    struct gpu_module *modules;            // guarded by lock
    struct gpu_module *retired;            // guarded by lock; see gpu_kernel.c
    uint32_t num_retired;                  // guarded by lock
    struct gpu_kernel *kernels;            // guarded by lock
    struct gpu_left_memory *island_memory; // guarded by lock; see gpu_kept_memory.h
    struct gpu_staging *free_staging;      // guarded by lock; see gpu_detour.c
    uint32_t num_free_staging;             // guarded by lock

    pthread_mutex_t record_lock;
    pthread_cond_t callbacks_ended;              // none is queued any more
    uint64_t num_callbacks;                      // guarded by record_lock; of the queued records
    struct gpu_host_record *queued_records;      // guarded by record_lock
    struct gpu_host_record *free_records;        // guarded by record_lock
    struct blockers blockers;                    // make calls of detours; see gpu_detour.c
    atomic_bool default_stream_used;             // see braid_gpu_note_stream
    _Atomic(struct gpu_driver *) default_driver; // the default stream's

    struct gpu_conditional_launch *turn; // shared by all devices that are open in this context
    gpu_event turn_event; // guarded by its lock; NULL: not made; see gpu_conditional_launch.h
};

struct gpu_stream {
    struct backend_stream base;
    gpu_stream handle;
    _Atomic(struct gpu_driver *) driver; // gpu_driver.h; NULL: it never had one
};

struct gpu_event {
    struct backend_event base;
    gpu_event handle;
    atomic_bool recorded;
    atomic_uint num_jobs;           // in lists of drivers (gpu_driver.h)
    uint64_t num_queued, num_made;  // records by drivers; guarded by their lock
    uint64_t num_waits, num_waited; // waits by drivers, queued and made; likewise
};

// How source is compiled, as its kernel says it (braid_kernel). All zeros: in the plain way.
struct gpu_build {
    const char *const *options;
    size_t num_options;
    const char *const *folders;
    size_t num_folders;
    const braid_header *headers;
    size_t num_headers;
    const char *expression; // names the entry; NULL: the kernel's name does
};

// The source of a kernel's code: the program's own function, an image or source text. This lives
// while a graph uses it.
struct gpu_code {
    const void *key; // the one of these three that it has
    const char *entry;
    void *function;
    const char *stand_in; // PTX that may do the function's work; NULL: none may
    const void *image;    // to load
    const char *source;   // to compile
    struct gpu_build build;
    unsigned changes;                    // enum kernel_change
    const struct backend_change *change; // where KERNEL_CHANGED is one of them; otherwise NULL
};

// A function of a loaded module, or the program's own. Shared and counted.
struct gpu_kernel {
    struct backend_kernel base; // waits_first: all its threads begin so; see gpu_ptx_early.h
    struct gpu_kernel *next;
    struct gpu_module *module; // NULL: the program's function
    struct gpu_code code;      // its entry is the kernel's own copy, below
    char *entry;
    gpu_function function;
    uint32_t references;           // guarded by gpu_backend.lock
    atomic_int max_dynamic_shared; // the driver's limit now without function_set
    atomic_uint cannot;            // the changes that were tried, and cannot be made
    uint32_t *parameter_bytes;     // NULL: the driver does not tell
    uint32_t num_parameters;
    struct gpu_callable *_Atomic callable; // its needs in islands; NULL: nobody asked yet
};

static inline struct gpu_backend *gpu_from(struct backend *backend)
{
    return (struct gpu_backend *)backend;
}

static inline struct gpu_event *gpu_event_from(struct backend_event *event)
{
    return (struct gpu_event *)event;
}

static inline struct gpu_kernel *gpu_kernel_from(struct backend_kernel *kernel)
{
    return (struct gpu_kernel *)kernel;
}

static inline struct gpu_stream *gpu_stream_from(struct backend_stream *stream)
{
    return (struct gpu_stream *)stream;
}

// NULL is the device's default stream: the null stream of the context.
static inline gpu_stream gpu_stream_of(struct backend_stream *stream)
{
    return stream ? gpu_stream_from(stream)->handle : NULL;
}

// Remembers that work went to the default stream, which is nobody's to destroy: closing the device
// waits for it. The null stream has a second handle, CU_STREAM_LEGACY.
static inline void braid_gpu_note_stream(struct gpu_backend *gpu, gpu_stream stream)
{
    if ((uintptr_t)stream <= 1)
        atomic_store_explicit(&gpu->default_stream_used, true, memory_order_relaxed);
}

// A call of the driver with the device current; `what` is for messages.
struct gpu_call {
    struct gpu_backend *gpu;
    const struct gpu_api *api;
    const char *what;
    struct gpu_scope scope;
};

braid_status braid_gpu_begin(struct gpu_call *call, struct backend *backend, const char *what);
// The call's result in `slot`, as for braid_gpu_check. Makes the previous context current again.
braid_status braid_gpu_end(const struct gpu_call *call, gpu_result result, const void *slot);

// Makes the device current until braid_gpu_leave, and relaxes the thread's mode for captures,
// unless a scope round this one has done so. `what` is for the message.
braid_status braid_gpu_enter(const struct gpu_backend *gpu, struct gpu_scope *scope,
                             const char *what);
// The same, with the task named in the message.
braid_status braid_gpu_enter_task(const struct gpu_backend *gpu, struct gpu_scope *scope,
                                  const struct backend_task *task);
// Tried again where it fails; a second failure is only logged.
void braid_gpu_leave(const struct gpu_backend *gpu, const struct gpu_scope *scope);

// For calls that return nothing: makes the device current, tried again if it fails. False: both
// failed, which is logged. The device has failed then, and the driver keeps the memory or object.
bool braid_gpu_enter_to_free(struct gpu_backend *gpu, struct gpu_scope *scope, const char *what);

// Logs the failure of a call that frees, unless the device had failed before. The thread's message
// stays as it is.
void braid_gpu_check_freed(const struct gpu_backend *gpu, gpu_result result, const void *slot,
                           const char *what);
// The same for a wait that nothing can replace. If it failed, so has the device.
void braid_gpu_check_awaited(const struct gpu_backend *gpu, gpu_result result, const void *slot,
                             const char *what);

// The thread's last error before calls of HIP that no scope is round; 0 with CUDA. The second takes
// away an error that these calls left.
int braid_gpu_keep_error(const struct gpu_api *api);
void braid_gpu_restore_error(const struct gpu_api *api, int before);

// Turns a result into a status. `slot` is the address of the called slot in gpu->api. It names the
// call in the message "`what` (cuda:0) failed: NAME (number) from CALL: text".
braid_status braid_gpu_check(const struct gpu_backend *gpu, gpu_result result, const void *slot,
                             const char *what);

// The same for a task: "launch of node 2 'p2g' (cuda:0, lane 2) failed: ...: detail". NULL or ""
// detail: the driver's own text.
braid_status braid_gpu_check_task(const struct gpu_backend *gpu, gpu_result result,
                                  const void *slot, const struct backend_task *task,
                                  const char *detail);

// Errors: BRAID_UNSUPPORTED (it has a cluster or is cooperative, and the device or driver has none
// or no room), BRAID_DEVICE_ERROR.
braid_status braid_gpu_check_launch(struct gpu_backend *gpu, const struct backend_launch *launch);
int braid_gpu_clamp_priority(const struct gpu_backend *gpu, int32_t priority);
// The flag for graph_instantiate that lets nodes run with their own priority, and not with the
// stream's. 0 where no node has one, or the driver has no such flag.
unsigned long long braid_gpu_priority_flag(const struct gpu_backend *gpu, bool has_priorities);

// Why a launch was refused, as far as its numbers tell; "" when they do not.
void braid_gpu_explain_launch(const struct gpu_backend *gpu, const struct backend_launch *launch,
                              gpu_result result, char *text, size_t size);

// A launch by the call that it takes; *out_slot is that call. A cooperative one is so only where
// the driver has such launches (braid_gpu_has_cooperative).
gpu_result braid_gpu_launch(const struct gpu_backend *gpu, gpu_stream stream,
                            const struct backend_launch *launch, const void **out_slot);
bool braid_gpu_has_cooperative(const struct gpu_backend *gpu);

// Whether a driver that answers so to text cannot take this text, or any: other text or machine
// code may do. Any other failure says nothing of the text.
bool braid_gpu_refuses_text(gpu_result result);

// On CUDA, the PTX of a loaded kernel's module, which lives as long as the kernel. Compiles where
// the module was made from source in another way. *out_reason: why there is none, a constant.
// Errors: as of braid_gpu_compile.
braid_status braid_gpu_find_text(struct gpu_backend *gpu, const struct gpu_kernel *kernel,
                                 const char **out_text, const char **out_reason);
// The name of a loaded kernel in its module.
const char *braid_gpu_entry_of(const struct gpu_kernel *kernel);

// Unloads retired modules, before the device is closed. If the device could not be made current, it
// only forgets them. All references are gone.
void braid_gpu_modules_finish(struct gpu_backend *gpu, bool current);

// Copies attributes that the program may have set of its own function: the limit of dynamic shared
// memory, the preferred part of it, large clusters. *out_can_replace: the other one may
// play in its place, since its blocks may have as many threads (if that matters), and nothing is
// unknown.
braid_status braid_gpu_copy_attributes(const struct gpu_backend *gpu, gpu_function own,
                                       gpu_function loaded, bool may_take_fewer_threads,
                                       bool *out_can_replace);

// Raises the kernel's limit of dynamic shared memory where the launch needs more. *out_slot is
// the call that failed.
gpu_result braid_gpu_allow_shared(const struct gpu_backend *gpu,
                                  const struct backend_launch *launch, const void **out_slot);

// The function's limit of dynamic shared memory; *limit stays where the driver does not tell.
gpu_result braid_gpu_read_shared_limit(const struct gpu_backend *gpu, gpu_function function,
                                       int *limit);

// Host calls where the driver has only stream callbacks. The records are kept for later calls, and
// freed in the end, which waits for the callbacks that are queued.
gpu_result braid_gpu_host_call_by_callback(struct gpu_backend *gpu, gpu_stream stream,
                                           gpu_host_function *call, void *user);
// Queues a function of the program. While it runs, calls that wait for work are refused, as in host
// calls of nodes, which their frame marks. Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_gpu_submit_marked(struct gpu_backend *gpu, gpu_stream stream,
                                     const struct backend_task *task);
void braid_gpu_host_records_finish(struct gpu_backend *gpu);

// Tasks with a detour: queued on a stream, or as nodes of a graph, of which *out_node is the last.
braid_status braid_gpu_submit_detour(struct gpu_backend *gpu, gpu_stream stream,
                                     const struct backend_task *task);
braid_status braid_gpu_add_detour(const struct gpu_backend *gpu, struct gpu_behind behind,
                                  const struct backend_task *task, gpu_node *out_node);
// Before all calls that block.
void braid_gpu_blocking_start(struct gpu_backend *gpu);
// Gives a host node of an executable, that of a task with a detour, the task's new call.
gpu_result braid_gpu_set_blocking(gpu_executable executable, const struct backend_task *task,
                                  const void **out_slot);
// Frees pinned memory that nobody uses; only forgets it where the device could not be made current.
void braid_gpu_staging_finish(struct gpu_backend *gpu, bool current);

// NULL where the driver cannot have it. The device is current.
braid_status braid_gpu_find_graph_kernel(struct gpu_backend *gpu, enum gpu_graph_kernel_index index,
                                         gpu_function *out_function);

// The output of the run-time compiler.
struct gpu_compiled {
    char *image;       // NULL: nothing; freed by who asked for it
    const char *entry; // in the same memory: the name of the entry that an expression named, or ""
};

// Where the code of a kernel comes from. No key: it has none for the backend's vendor.
struct gpu_code braid_gpu_find_code(const struct gpu_backend *gpu, const braid_kernel *kernel);

// From then on source without a device is compiled as for this one, if it is one of CUDA.
void braid_gpu_note_architecture(const struct gpu_backend *gpu);

// Compiles the code's source for the device under the kernel's name, on CUDA to PTX where text is
// wanted. Errors: BRAID_UNSUPPORTED (no compiler), BRAID_DEVICE_ERROR (it refuses the source or an
// option; braid_error_get_details has all that it wrote), BRAID_NO_MEMORY.
braid_status braid_gpu_compile(const struct gpu_backend *gpu, const char *name,
                               const struct gpu_code *code, bool as_text,
                               struct gpu_compiled *out_compiled);

// While the device is current.
void braid_gpu_await_default_stream(const struct gpu_backend *gpu);

// Copies to or from the device, and waits for that: on a stream of its own, since the null stream
// would wait for the program's. The device is current.
braid_status braid_gpu_copy_now(const struct gpu_backend *gpu, void *to, const void *from,
                                size_t bytes, const char *what);

// The same kernel, changed; unloaded likewise. *out_kernel is NULL where it cannot be: the log is
// told why, once for each kernel. The device is current. Errors: as kernel_load.
braid_status braid_gpu_kernel_load_changed(struct gpu_backend *gpu, struct gpu_kernel *kernel,
                                           enum kernel_change change,
                                           struct gpu_kernel **out_kernel);

// gpu_submit.c: queues a post, with those that join it; whether it joins the next, which queues it.
braid_status braid_gpu_post(gpu_stream stream, const struct backend_task *task);
bool braid_gpu_post_joins(const struct backend_task *task);

// Counting and opening, with the library loaded once for the process; a driver's own is its vendor.
braid_status braid_gpu_query(const struct backend_driver *driver, uint32_t *out_num_devices,
                             char *out_reason, size_t reason_size);
braid_status braid_gpu_find(const struct backend_driver *driver, uint32_t ordinal,
                            braid_found_device *out_device);
braid_status braid_gpu_open(const struct backend_driver *driver,
                            const braid_device_options *options, struct backend **out_backend);

// Operations of struct backend_ops, each of which some file defines.
#define GPU_OPERATIONS(X)                                                                          \
    X(gpu, allocate)                                                                               \
    X(gpu, release)                                                                                \
    X(gpu, stream_create)                                                                          \
    X(gpu, stream_wrap)                                                                            \
    X(gpu, stream_destroy)                                                                         \
    X(gpu, stream_handle)                                                                          \
    X(gpu, stream_synchronize)                                                                     \
    X(gpu, stream_query)                                                                           \
    X(gpu, stream_wait)                                                                            \
    X(gpu, stream_check_launch)                                                                    \
    X(gpu, event_create)                                                                           \
    X(gpu, event_destroy)                                                                          \
    X(gpu, event_record)                                                                           \
    X(gpu, event_query)                                                                            \
    X(gpu, event_synchronize)                                                                      \
    X(gpu, event_elapsed)                                                                          \
    X(gpu, reach)                                                                                  \
    X(gpu, get_link)                                                                               \
    X(gpu, call_current)                                                                           \
    X(gpu, call_program)                                                                           \
    X(gpu, call_capturing)                                                                         \
    X(gpu, kernel_load)                                                                            \
    X(gpu, kernel_text)                                                                            \
    X(gpu, kernel_unload)                                                                          \
    X(gpu, count_blocks)                                                                           \
    X(gpu, task_prepare)                                                                           \
    X(gpu, task_finish)                                                                            \
    X(gpu, task_goes_on)                                                                           \
    X(gpu, drive)                                                                                  \
    X(gpu, submit)
GPU_OPERATIONS(BACKEND_DECLARES)

// gpu_context.c: enter and leave of the backend.
void braid_gpu_hold(struct backend *backend);
void braid_gpu_let_go(struct backend *backend);

#endif
