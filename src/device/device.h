// SPDX-License-Identifier: Apache-2.0
// Devices, streams and events as the public interface hands them out, over any backend.
#ifndef BRAID_DEVICE_DEVICE_H
#define BRAID_DEVICE_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/failure.h"
#include "base/host_memory.h"
#include "base/pointer_map.h"
#include "base/process.h"
#include "base/sized.h"
#include "device/backend.h"

struct device_group;

// Not locked: its owner does that.
struct pool {
    struct array idle; // void *, with room for every object leased, so that a return cannot fail
    size_t max_idle;   // objects returned beyond this many are destroyed
    uint64_t leased;   // objects handed out
    // For braid_device_get_info; public objects count as well as pooled ones.
    uint64_t created; // ever made
    uint64_t live;    // and not yet destroyed
    uint64_t wrapped; // the program's own, round which there is an object now
};

struct braid_stream {
    braid_device *device;
    struct backend_stream *backend; // NULL: the default stream's
    // Changes whenever something is queued that later work must stand behind; never the same as of
    // another stream. Work that others queue on an exposed one does not count.
    _Atomic uint64_t uses;
    atomic_bool exposed; // others may queue work on it: on its handle, or on the default stream
    int32_t priority;    // a leased one's
};

struct braid_device {
    struct backend *backend;          // a group's is the first member's
    struct host_allocator *allocator; // the program's, for host memory; NULL: malloc
    struct device_group *group;       // NULL: a device alone
    uint32_t ordinal;
    char label[48];        // "cuda:0", for messages
    char name[128];        // the backend's, as text
    uint32_t process;      // that opened it; in a child of that nothing but the label is used
    atomic_bool is_closed; // nothing but the label is left of it: see close.c
    pthread_mutex_t lock;
    braid_stream default_stream;
    struct pool streams; // struct braid_stream, leased to execs; guarded by lock, counts included
    struct pool events;  // struct braid_event, likewise
    uint64_t num_timing_events; // guarded by lock: those of execs among the events
    uint64_t num_links;         // guarded by lock: communicators of ranks
    uint64_t num_execs; // guarded by lock; what the program holds besides streams and events
    uint64_t num_allocations;
    struct pointer_map allocations; // guarded by lock; the braid_memory_kind of each
    uint64_t num_groups;
    // By braid_exec_mode; guarded by lock until `has_costs`.
    SIZED_WITH_ROOM(braid_cost_model) costs[3];
    const braid_cost_model *cost_list[3]; // the same, as the info lists them
    bool has_costs;                       // guarded by lock: since then they stay
    struct failure failure;               // once noted, the device stays failed
};

struct braid_event {
    braid_device *device;
    struct backend_event *backend;
};

// As braid_device_get_info, without cost models.
braid_device_info braid_device_describe(const braid_device *device);

// The table of backends, best first.
extern const struct backend_driver *const braid_drivers[];
extern const size_t braid_num_drivers;

// Makes a device of an opened backend, which it closes in the end, also if this fails. Its
// allocator is the one in force. Errors: BRAID_NO_MEMORY.
braid_status braid_device_create(struct backend *backend, uint32_t ordinal,
                                 braid_device **out_device);

// Destroys the idle streams and events.
void braid_device_empty_pools(braid_device *device);

// Counts a stream or an event made (1) or destroyed (-1); takes the lock.
void braid_device_count(braid_device *device, struct pool *pool, bool wrapped, int change);

// Counts an exec or an allocation, by its count in the device; takes the lock.
void braid_device_hold(braid_device *device, uint64_t *count, int change);

// The stream that the program means where NULL is the device's default stream.
static inline braid_stream *device_stream(braid_device *device, braid_stream *stream)
{
    return stream ? stream : &device->default_stream;
}

// Notes that something was queued, and must come after that. A thread that reads the same number
// twice is behind all work that was noted before its first read. Returns the number before.
static inline uint64_t device_use_stream(braid_stream *stream)
{
    return atomic_fetch_add_explicit(&stream->uses, 1, memory_order_acq_rel);
}

static inline uint64_t device_stream_uses(const braid_stream *stream)
{
    return atomic_load_explicit(&stream->uses, memory_order_acquire);
}

static inline struct host_allocator *device_allocator(const braid_device *device)
{
    return device ? device->allocator : NULL;
}

// Puts the device's allocator in force until the end of a block. Each public call that may allocate
// for a device begins so.
static inline struct host_scope device_scope_begin(const braid_device *device)
{
    return host_scope_begin(host_allocators_are_held() ? device_allocator(device) : NULL);
}
#define DEVICE_MEMORY(device) HOST_SCOPE = device_scope_begin(device)

// Between these, this thread's calls of the backend make the device current once.
static inline void device_enter(const braid_device *device)
{
    if (device->backend->ops->enter)
        device->backend->ops->enter(device->backend);
}

static inline void device_leave(const braid_device *device)
{
    if (device->backend->ops->leave)
        device->backend->ops->leave(device->backend);
}

// In a child made by fork it is not: threads and locks of the parent are not there.
static inline bool device_is_here(const braid_device *device)
{
    return device->process == braid_process_number();
}

static inline bool device_is_open(const braid_device *device)
{
    return device && device_is_here(device) &&
           !atomic_load_explicit(&device->is_closed, memory_order_relaxed);
}

// Errors: BRAID_INVALID_ARGUMENT (NULL), BRAID_WRONG_STATE (closed, or the parent's of a fork).
braid_status braid_device_check_open(const char *function, const braid_device *device);

// The same, and if it is a group, and BRAID_DEVICE_ERROR with the first error if it has failed.
braid_status braid_device_check(const char *function, const braid_device *device);

// The device has failed, for the reason in this thread's message. Returns BRAID_DEVICE_ERROR.
braid_status braid_device_fail(braid_device *device);

// Errors: BRAID_INVALID_ARGUMENT if the stream is of another device.
braid_status braid_device_check_stream(const char *function, const braid_device *device,
                                       const braid_stream *stream);

// Streams and events for execs, from the device's pools. Leased events have no timing. A stream
// with a priority other than 0 is made for its lease, and not kept.
// Errors: as stream_create and event_create.
braid_status braid_device_lease_stream(braid_device *device, int32_t priority,
                                       braid_stream **out_stream);
void braid_device_return_stream(braid_device *device, braid_stream *stream);
braid_status braid_device_lease_event(braid_device *device, braid_event **out_event);
void braid_device_return_event(braid_device *device, braid_event *event);

// Events with timing for execs, which no pool has: they are not the program's either. Errors: as
// event_create.
braid_status braid_device_create_timing_event(braid_device *device, braid_event **out_event);
void braid_device_destroy_timing_event(braid_event *event);

// Runs a task on a stream of its own, beside all other work of the device, and waits for its end.
// Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_device_run_now(braid_device *device, const struct backend_task *task);

// Takes an idle object; NULL when there is none and the caller must make one.
void *braid_pool_take(struct pool *pool);

// Counts a new object as leased. False when memory runs out: then the caller destroys it.
bool braid_pool_add_leased(struct pool *pool);

// Returns a leased object. False when the pool is full: then the caller destroys the object.
bool braid_pool_put(struct pool *pool, void *object);

#endif
