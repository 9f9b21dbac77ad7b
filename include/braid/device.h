// SPDX-License-Identifier: Apache-2.0
// Devices: finding and opening them, and their memory.
#ifndef BRAID_DEVICE_H
#define BRAID_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <braid/status.h>

#ifdef __cplusplus
extern "C" {
#endif

// An opened backend and ordinal. Objects made from a device must be destroyed before it is closed.
// docs/book/reliability.md tells of closed devices and of forks.
typedef struct braid_device braid_device;

// Whether this process can use a backend.
typedef struct braid_backend_info {
    const char *name;
    uint32_t num_devices; // 0: none; `reason` says why
    // Each attempt, and why it failed; "" if there are devices. The text is here, since no object
    // owns it.
    char reason[512];
} braid_backend_info;

// A backend's name, in the order of braid_device_open; NULL: no more.
BRAID_API const char *braid_backend_get_name(size_t index);

// Asks about a backend. One without a device is no error.
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_backend_get_info(const char *name,
                                                                  braid_backend_info *out_info);

// A device that need not be open. The texts are here, since no object owns them.
typedef struct braid_found_device {
    const char *backend; // static text
    uint32_t ordinal;
    char name[128];
    char bus_id[32];       // PCI's, "0000:3b:00.0", or ""
    uint64_t memory_bytes; // this and the others as in braid_device_info
    uint32_t num_units;
    uint32_t max_threads_per_block;
} braid_found_device;

// Describes a device without opening it. Errors: as braid_device_open.
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_backend_get_device(const char *backend,
                                                                    uint32_t ordinal,
                                                                    braid_found_device *out_device);

// Allocates memory. `alignment` is a power of two, and `bytes` need not be a multiple of it. NULL:
// memory ran out.
typedef void *braid_allocate_function(size_t bytes, size_t alignment, void *user);

// Resizes memory, and keeps its alignment. NULL: memory ran out, and the old memory stays.
typedef void *braid_reallocate_function(void *memory, size_t old_bytes, size_t bytes,
                                        size_t alignment, void *user);

// Frees memory.
typedef void braid_free_function(void *memory, size_t bytes, size_t alignment, void *user);

// An allocator for host memory (docs/book/reliability.md). Braid calls it on any thread, on several
// at once too, and may hold locks then. So it must not call Braid.
typedef struct braid_allocator {
    braid_allocate_function *allocate;
    braid_reallocate_function *reallocate;
    braid_free_function *free;
    void *user;
} braid_allocator;

// Options of braid_device_open. BRAID_BACKENDS in the environment may restrict the backends of a
// process (docs/install.md).
typedef struct braid_device_options {
    // "cuda", "hip" or "cpu"; NULL: the first of these that has a device. If a driver is there and
    // fails, the log gets a line, and the next backend is taken.
    const char *backend;
    uint32_t ordinal; // which of the backend's devices
    // CPU: the number of streams and lanes that run at once, 1 to 1,024; 0: one a core, within a
    // container's quota, at least 2. Their threads run on the cores of the thread that opens the
    // device (docs/cpu-replay.md).
    uint32_t num_workers;
    // CUDA, HIP: the folder that keeps code compiled at run time for later processes; "off": none.
    // NULL: the folder in BRAID_CACHE, else the user's cache (docs/cuda.md).
    const char *cache;
    // CUDA: a CUcontext of the program, which Braid never destroys; `ordinal` has no effect.
    // BRAID_CURRENT_CONTEXT: the calling thread's. NULL: the primary context of the device.
    void *context;
    // Copied. NULL: malloc. Closing the device returns all memory.
    const braid_allocator *allocator;
} braid_device_options;

#define BRAID_CURRENT_CONTEXT ((void *)-1)

// Opens a device.
// Errors: BRAID_INVALID_ARGUMENT (an allocator lacks a function). BRAID_UNAVAILABLE (the message
// names each library tried, or BRAID_BACKENDS). BRAID_WRONG_STATE (no context is current).
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_device_open(const braid_device_options *options,
                                                             braid_device **out_device);

// Opens a group: a device that stands for 1 to 64 devices of one backend and one allocator, its
// members (docs/places.md). No member is a group. members[i] is place i + 1. braid_exec_create,
// braid_device_close and braid_device_get_* take a group; all other calls refuse it by name. A
// device may be a member several times; on the CPU all members are the same device.
BRAID_API BRAID_MUST_CHECK braid_status braid_device_open_group(braid_device *const *members,
                                                                size_t num_members,
                                                                braid_device **out_group);

// Waits for Braid's own work on the device, then frees the device. Work on wrapped streams, except
// the null stream, must have ended before. The status may be left unread.
// Errors: BRAID_IN_USE (execs, streams, events, allocations or groups are left; the message counts
// them, and all stay usable).
BRAID_API braid_status braid_device_close(braid_device *device);

// The name, size and pools of a device. Of a group: the name, ordinal and limit of the first
// member, and the sums of all other numbers.
typedef struct braid_device_info {
    const char *name;    // while the device lives
    const char *backend; // "cpu", "cuda" or "hip"; static text
    uint32_t ordinal;
    uint64_t memory_bytes;          // total memory of the device
    uint32_t num_units;             // multiprocessors, or CPU workers
    uint32_t max_threads_per_block; // 0: no limit
    uint32_t num_members;           // a group's; 1: a device alone
    // A group's, as long as it lives: the default of braid_schedule_options.places
    // (docs/places.md). NULL: a device alone.
    const struct braid_place_model *place_model;
    // A single device's, by braid_exec_mode: the cost models of braid_exec_create. NULL: a group.
    const struct braid_cost_model *const *costs;
    // Streams and events of the device. Created: all that Braid ever made. Live: those that it
    // holds now, spare and wrapped ones included. Leased: those that execs hold.
    uint64_t streams_created, streams_live, streams_leased;
    uint64_t events_created, events_live, events_leased;
} braid_device_info;

// Writes the info of a device.
BRAID_INLINE void braid_device_get_info(const braid_device *device, braid_device_info *out_info);

// The kind of memory to allocate.
typedef enum braid_memory_kind {
    BRAID_MEMORY_DEVICE = 0, // the device's own
    BRAID_MEMORY_HOST = 1,   // host memory that copies reach asynchronously (pinned)
    // The host and the devices reach it by one address, and the driver moves its pages. Whether the
    // host may touch it while the device works depends on the device (docs/book/buffers.md).
    BRAID_MEMORY_MANAGED = 2,
} braid_memory_kind;

// Allocates `bytes` > 0 bytes, aligned to at least 256. Not for use inside a frame.
BRAID_API BRAID_MUST_CHECK braid_status braid_memory_allocate(braid_device *device,
                                                              braid_memory_kind kind,
                                                              uint64_t bytes, void **out_memory);

// Frees memory of braid_memory_allocate, which no work may use any more. It may wait for other work
// on the device. Unknown memory stays, and the log names it.
BRAID_API void braid_memory_free(braid_device *device, void *memory);

// With sizes: docs/stability.md.
BRAID_API BRAID_MUST_CHECK braid_status braid_backend_get_device_sized(
    const char *backend, uint32_t ordinal, braid_found_device *out_device, size_t size);
BRAID_INLINE braid_status braid_backend_get_device(const char *backend, uint32_t ordinal,
                                                   braid_found_device *out_device)
{
    return braid_backend_get_device_sized(backend, ordinal, out_device, sizeof(braid_found_device));
}
BRAID_API BRAID_MUST_CHECK braid_status braid_backend_get_info_sized(const char *name,
                                                                     braid_backend_info *out_info,
                                                                     size_t size);
BRAID_INLINE braid_status braid_backend_get_info(const char *name, braid_backend_info *out_info)
{
    return braid_backend_get_info_sized(name, out_info, sizeof(braid_backend_info));
}
BRAID_API BRAID_MUST_CHECK braid_status braid_device_open_sized(const braid_device_options *options,
                                                                braid_device **out_device,
                                                                size_t size, size_t allocator_size);
BRAID_INLINE braid_status braid_device_open(const braid_device_options *options,
                                            braid_device **out_device)
{
    return braid_device_open_sized(options, out_device, sizeof(braid_device_options),
                                   sizeof(braid_allocator));
}
BRAID_API void braid_device_get_info_sized(const braid_device *device, braid_device_info *out_info,
                                           size_t size);
BRAID_INLINE void braid_device_get_info(const braid_device *device, braid_device_info *out_info)
{
    braid_device_get_info_sized(device, out_info, sizeof(braid_device_info));
}

#ifdef __cplusplus
}
#endif

#endif
