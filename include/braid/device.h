// SPDX-License-Identifier: Apache-2.0
// Devices: what is here, opening one, and its memory.
#ifndef BRAID_DEVICE_H
#define BRAID_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <braid/status.h>

#ifdef __cplusplus
extern "C" {
#endif

// An opened backend and ordinal. Everything made from a device must be destroyed before it, and
// keeps it open until then: see braid_device_close. A device belongs to the process that opened it:
// a child made by fork must not use it, not even to close it.
// After it was closed every call that is given it fails with BRAID_INVALID_ARGUMENT, which names it
// (those without a status answer as for NULL), for as long as that can be known: until 64 other
// devices have been closed. That holds for a device alone. Any other object after its destroy call,
// and what a driver knows by itself (a stream's handle, memory that was freed, a context of
// the program's under an adopted device), cannot be told from what lives.
// Thread-safety: any thread.
typedef struct braid_device braid_device;

// Whether a backend can be used in this process.
typedef struct braid_backend_info {
    const char *name;     // "cuda", "hip" or "cpu"
    uint32_t num_devices; // 0: none; `reason` says why
    char reason[512];     // what was tried and why it failed; "" when there are devices
} braid_backend_info;

// Whether a backend can be used here, by its name. A backend without a device is not an error.
// Errors: BRAID_INVALID_ARGUMENT (no backend has that name). Thread-safety: any thread.
BRAID_API BRAID_MUST_CHECK braid_status braid_backend_query(const char *name,
                                                            braid_backend_info *out_info);

// BRAID_BACKENDS in the environment names the backends that a process may use, for example "cpu" or
// "hip,cpu"; nothing is loaded for any other, which braid_backend_query reports as left out. Not
// set or empty: all. A program that is linked statically needs it where a driver's library does not
// bear to be loaded by such a program (docs/install.md).
typedef struct braid_device_options {
    // One backend, or several with commas between them: the first that has a device. Nothing is
    // loaded for any other. NULL: those of BRAID_BACKENDS, else "cuda,hip,cpu". One whose driver is
    // there and fails is passed over like one without a device, and the log (braid_log_set) is
    // told.
    const char *backend;
    uint32_t ordinal; // which of the backend's devices
    // CPU: how many streams and lanes run at once, 1 to 1,024; 0: one a core, at least 2. Twice as
    // many threads less one are started: where a worker that helps with another's grid is held up
    // in it, a spare thread takes its place, so that as many as promised still run. Spare threads
    // sleep until then. All may run on the cores of the thread that opens the device, and are moved
    // among these, so that no two at work share one while another is free: a worker is allowed one
    // core for a moment, then again all that it was allowed before. Cores that the program or its
    // user takes from a worker later stay taken, unless that is done in such a moment. Threads of
    // the program are never moved.
    uint32_t num_workers;
    // CUDA, HIP: the folder where code compiled at run time is kept, so that a later process finds
    // it; it is made when something is first kept. NULL: the folder named by BRAID_CACHE in the
    // environment, else $XDG_CACHE_HOME/braid, else ~/.cache/braid, else none. "off", here or in
    // BRAID_CACHE: none, nor is there one in a process with more rights than who started it
    // (setuid). Files there are this user's alone, shared by all processes, checked when they are
    // read, and together at most 256 MiB and 4096, of which those not used for longest are removed.
    // Whatever fails with them costs the time of compiling, and a line in the log (braid_log_set).
    // What a source makes of other files or of the time (#include, __DATE__) is not kept.
    const char *cache;
} braid_device_options;

// Opens a device. NULL options are all defaults. CUDA: retains the device's primary context.
// Errors: BRAID_UNAVAILABLE (the message names every library tried, or BRAID_BACKENDS where that
// leaves the backend out), BRAID_INVALID_ARGUMENT (also a backend, here or in BRAID_BACKENDS, that
// does not exist), BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
BRAID_API BRAID_MUST_CHECK braid_status braid_device_open(const braid_device_options *options,
                                                          braid_device **out_device);

// Opens a device on a CUcontext that the program owns; NULL: the calling thread's current one.
// Braid never destroys it. Errors: as braid_device_open.
BRAID_API BRAID_MUST_CHECK braid_status braid_device_adopt_cuda(void *context,
                                                                braid_device **out_device);

// Opens a group: a device that stands for 1 to 64 devices of one backend, its members. Member i is
// place i (BRAID_PLACE(i)) of graphs that run on the group. braid_exec_create,
// braid_device_get_info, braid_device_get_place_model and braid_device_close take a group. All
// other calls refuse it by name: memory, streams and events belong to a member.
// A device may be a member several times: its places then share its memory, its streams run beside
// each other, and only the planner tells them apart. Of the CPU, all members are the same device.
// Members that can are given access to each other's memory (CUDA: cuCtxEnablePeerAccess; HIP
// alike), which stays when the group is closed. braid_device_close refuses to close a member while
// a group has it.
// Errors: BRAID_INVALID_ARGUMENT (no member, more than 64, a member that is NULL, a group, of
// another backend, or another device of the CPU), BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
BRAID_API BRAID_MUST_CHECK braid_status braid_device_open_group(braid_device *const *members,
                                                                size_t num_members,
                                                                braid_device **out_group);

// Waits for Braid's own work on the device, then frees what it holds. Where execs, streams, events
// (wrapped ones too) or allocations of the device are left, it refuses: the message counts them,
// the device stays open and all of them usable, and it can be closed once they are gone. The status
// may be left unread; the log callback sees the message all the same. Wrapped streams are the
// program's: what was queued on one of them has to have ended before, unless it is the null stream.
// A device that has failed (see status.h) is closed like any other.
// Errors: BRAID_BUSY, BRAID_INVALID_ARGUMENT (inside a host call).
BRAID_API braid_status braid_device_close(braid_device *device);

typedef struct braid_device_info {
    char name[128];
    const char *backend;            // "cpu", "cuda" or "hip"; static text
    uint32_t ordinal;               // which of the backend's devices
    uint64_t memory_bytes;          // total memory of the device
    uint32_t num_units;             // multiprocessors, or CPU workers
    uint32_t max_threads_per_block; // 0: no limit
    uint32_t num_members;           // of a group; 1: a device alone
    // Streams and events that Braid has created on the device so far, that it holds now (pooled
    // ones and the program's included), and that execs lease. A program that watches them sees
    // growth.
    uint64_t streams_created, streams_live, streams_leased;
    uint64_t events_created, events_live, events_leased;
} braid_device_info;

// Of a group, the name, ordinal and limit are those of the first member, and the other numbers are
// sums over the devices in it. Of NULL, all is zero and "".
BRAID_API void braid_device_get_info(const braid_device *device, braid_device_info *out_info);

typedef enum braid_memory_kind {
    BRAID_MEMORY_DEVICE = 0, // the device's own
    BRAID_MEMORY_HOST = 1,   // host memory that copies reach asynchronously (pinned)
} braid_memory_kind;

// Allocates `bytes` > 0 bytes, aligned to at least 256. Not for use inside a frame.
// Errors: BRAID_INVALID_ARGUMENT, BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
BRAID_API BRAID_MUST_CHECK braid_status braid_memory_allocate(braid_device *device,
                                                              braid_memory_kind kind,
                                                              uint64_t bytes, void **out_memory);

// Frees memory of braid_memory_allocate. The program must know that no work uses it any more.
// NULL does nothing.
BRAID_API void braid_memory_free(braid_device *device, braid_memory_kind kind, void *memory);

#ifdef __cplusplus
}
#endif

#endif
