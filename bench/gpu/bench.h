// SPDX-License-Identifier: Apache-2.0
// What the GPU benches share: checks, clocks, the kernels, and how a system is measured.
#ifndef BRAID_BENCH_GPU_BENCH_H
#define BRAID_BENCH_GPU_BENCH_H

#include <stdint.h>

#include <braid/braid.h>

#include "backends/gpu/gpu_api.h"
#include "gpu/driver_time.h"
#include "gpu/shapes.h"

struct backend;
struct backend_kernel;

// Exits with a message when the call failed.
void must(braid_status status);
void must_call(gpu_result result, const char *call);

double now_us(void);
double median(double *values, uint32_t num); // sorts them

enum { LARGE_BLOCK = 256 };

// bench_spin: one block that is busy for `cycles` of its own clock; 0: returns at once.
extern const braid_kernel bench_spin;
// The same, and it lets the kernel behind it start early. CUDA only.
extern const braid_kernel bench_spin_early;
// As many blocks of at most LARGE_BLOCK threads as half of any device has room for, with
// bench_spin's name and parameter: busy as that is, and each warp stores a word; waits for memory
// about as long, as most kernels do, and stores.
extern const braid_kernel bench_store, bench_follow;

// How long a body lasts: its length as asked for and in cycles.
struct body {
    const char *name;
    uint64_t ns;
    uint32_t cycles;
    bool starts_early;   // bench_spin_early
    uint32_t num_blocks; // each has LARGE_BLOCK threads; 0: one block of 32
    braid_code_use code_use;
};

// Something that runs one frame. `launch` queues it and `wait` blocks until it has ended.
struct system {
    const char *name;
    void (*launch)(void *user);
    void (*wait)(void *user);
    void *user;
    double build_us; // plan, create, instantiate
    uint32_t num_lanes;
    uint64_t num_waits;
};

struct timing {
    double host_us;             // the launch's alone
    struct driver_times driver; // and what the driver's calls in it take, where they are timed
    double total_us;            // from the launch's begin until the frame has ended
};

// The medians of `frames` frames of each system after a warm-up. The systems take turns, frame by
// frame, so that what else the machine does meets all of them.
enum { MAX_SYSTEMS = 10 };
void measure(const struct system *systems, uint32_t num_systems, uint32_t frames,
             struct timing *out_timings);

// The driver as Braid loads it, for what is written by hand. Its context is current on the thread
// that opened it until it is closed.
struct driver {
    struct backend *backend;
    const struct gpu_api *api;
    struct backend_kernel *kernel; // bench_spin
    gpu_function spin;
    gpu_context before;
};

struct driver open_driver(void);
void close_driver(struct driver *driver);
// A kernel of a source, compiled as Braid compiles it, but loaded as it is. The caller unloads
// *module.
gpu_function load_kernel(const struct driver *driver, const braid_kernel *kernel,
                         gpu_module *module);

// Frames written by hand over the driver. Each makes a system that must be finished with it.
struct by_hand;
struct by_hand *by_hand_on_one_stream(const struct driver *driver, const struct shape *shape,
                                      uint32_t cycles, struct system *out_system);
// Node i on stream i modulo num_streams, with an event and a wait for every edge between streams.
struct by_hand *by_hand_on_streams(const struct driver *driver, const struct shape *shape,
                                   uint32_t cycles, uint32_t num_streams,
                                   struct system *out_system);
// A driver graph with the shape's nodes and edges as they are declared.
struct by_hand *by_hand_as_graph(const struct driver *driver, const struct shape *shape,
                                 uint32_t cycles, struct system *out_system);
void by_hand_finish(struct by_hand *by_hand);

// The same through Braid. max_lanes 0: the planner chooses.
struct with_braid;
struct with_braid *braid_run_shape(braid_device *device, const struct shape *shape,
                                   const struct body *body, braid_exec_mode mode,
                                   uint32_t max_lanes, struct system *out_system);
// With other options. NULL: it cannot be played that way; braid_error_get_message says why.
struct with_braid *braid_run_shape_as(braid_device *device, const struct shape *shape,
                                      const struct body *body, const braid_exec_options *options,
                                      struct system *out_system);
const braid_exec *braid_shape_exec(const struct with_braid *run);
void braid_finish_shape(struct with_braid *run);

// The cycles that last `ns`, by timing one long kernel on the device.
uint32_t cycles_of(braid_device *device, uint64_t ns);

#endif
