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
// A child made by fork must not use it, not even to close it. Calls with a closed device fail with
// BRAID_INVALID_ARGUMENT, or answer as for NULL, until 64 others have been closed. Braid cannot
// recognise other destroyed objects, nor freed memory.
typedef struct braid_device braid_device;

// Whether this process can use a backend.
typedef struct braid_backend_info {
    const char *name;     // "cuda", "hip" or "cpu"
    uint32_t num_devices; // 0: none; `reason` says why
    char reason[512];     // the attempts and why they failed; "" when there are devices
} braid_backend_info;

// Tells whether this process can use a backend. A backend without a device is no error.
// Errors: BRAID_INVALID_ARGUMENT (no backend has that name).
BRAID_API BRAID_MUST_CHECK braid_status braid_backend_query(const char *name,
                                                            braid_backend_info *out_info);

// Options of braid_device_open. The environment variable BRAID_BACKENDS names the backends that a
// process may use, for example "hip,cpu". Unset or empty: all. Braid loads nothing for the others.
typedef struct braid_device_options {
    // "cuda", "hip" or "cpu": Braid loads nothing for the others. NULL: the first of these that has
    // a device. If a driver is there and fails, Braid tells the log (braid_log_set) and takes the
    // next backend.
    const char *backend;
    uint32_t ordinal; // which of the backend's devices
    // CPU: the number of streams and lanes that run at once, 1 to 1,024; 0: one a core, at least 2.
    // Up to as many spare threads, less one, sleep until a worker is held up. All may use the cores
    // of the thread that opens the device, and Braid may move them among these
    // (docs/cpu-replay.md). It never moves threads of the program.
    uint32_t num_workers;
    // CUDA, HIP: the folder that keeps code compiled at run time for later processes
    // (docs/cuda.md). NULL: the folder in BRAID_CACHE, else $XDG_CACHE_HOME/braid, else
    // ~/.cache/braid, else none. "off", here or in BRAID_CACHE: none. A process with more rights
    // than its user (setuid) has none. Braid removes nothing from it; a program or user may. A
    // failure with its files costs the time of compiling and a line in the log.
    const char *cache;
    // CUDA: a CUcontext of the program, or BRAID_CURRENT_CONTEXT: the calling thread's. Braid never
    // destroys it, and `ordinal` has no effect. NULL: the primary context of the device.
    void *context;
} braid_device_options;

#define BRAID_CURRENT_CONTEXT ((void *)-1)

// Opens a device. NULL options are all defaults.
// Errors: BRAID_UNAVAILABLE (the message names every library tried, or BRAID_BACKENDS if that
// leaves the backend out). BRAID_INVALID_ARGUMENT (also for an unknown backend). BRAID_NO_MEMORY.
// BRAID_DEVICE_ERROR.
BRAID_API BRAID_MUST_CHECK braid_status braid_device_open(const braid_device_options *options,
                                                          braid_device **out_device);

// Opens a group: a device that stands for 1 to 64 devices of one backend, its members. Member i is
// place i (BRAID_PLACE(i)). braid_exec_create, braid_device_get_info and braid_device_close take a
// group; all other calls refuse it by name. A device may be a member several times; on the CPU all
// members are the same device. Members get access to each other's memory where the driver allows
// it. braid_device_close refuses a member while a group has it.
// Errors: BRAID_INVALID_ARGUMENT (no member, or more than 64; one that is NULL, a group, of another
// backend, or another device of the CPU).
BRAID_API BRAID_MUST_CHECK braid_status braid_device_open_group(braid_device *const *members,
                                                                size_t num_members,
                                                                braid_device **out_group);

// Waits for Braid's own work on the device, then frees the device. Work on wrapped streams, except
// the null stream, must have ended before. The status may be left unread, since the log gets the
// message.
// Errors: BRAID_BUSY (execs, streams, events or allocations are left; the message counts them, and
// all stay usable), BRAID_INVALID_ARGUMENT (inside a host call).
BRAID_API braid_status braid_device_close(braid_device *device);

// The name, size and pools of a device.
typedef struct braid_device_info {
    char name[128];
    const char *backend;            // "cpu", "cuda" or "hip"; static text
    uint32_t ordinal;               // which of the backend's devices
    uint64_t memory_bytes;          // total memory of the device
    uint32_t num_units;             // multiprocessors, or CPU workers
    uint32_t max_threads_per_block; // 0: no limit
    uint32_t num_members;           // of a group; 1: a device alone
    // Of a group, for braid_schedule_options.places: links as measured on one machine
    // (docs/places.md), and speeds by the number of the members' units. It lives as long as the
    // group. NULL: a device alone.
    const struct braid_place_model *place_model;
    // Streams and events of the device: all that Braid has created; those it holds now, pooled and
    // wrapped ones; those that execs lease.
    uint64_t streams_created, streams_live, streams_leased;
    uint64_t events_created, events_live, events_leased;
} braid_device_info;

// Writes the info of a device. For a group, name, ordinal and limit are those of the first member;
// the other numbers are sums over its devices.
BRAID_API void braid_device_get_info(const braid_device *device, braid_device_info *out_info);

// The kind of memory to allocate.
typedef enum braid_memory_kind {
    BRAID_MEMORY_DEVICE = 0, // the device's own
    BRAID_MEMORY_HOST = 1,   // host memory that copies reach asynchronously (pinned)
} braid_memory_kind;

// Allocates `bytes` > 0 bytes, aligned to at least 256. Not for use inside a frame.
BRAID_API BRAID_MUST_CHECK braid_status braid_memory_allocate(braid_device *device,
                                                              braid_memory_kind kind,
                                                              uint64_t bytes, void **out_memory);

// Frees memory of braid_memory_allocate, which no work may use any more.
BRAID_API void braid_memory_free(braid_device *device, braid_memory_kind kind, void *memory);

#ifdef __cplusplus
}
#endif

#endif
