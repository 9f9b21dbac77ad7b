// SPDX-License-Identifier: Apache-2.0
// A launch-bound step like a rigid-body simulator's: 60 small kernels in a row, each with arguments
// that change every step. Steps a second: as simulators did it, with cached scratch, with Braid.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_backend.h"
#include "device/backend.h"
#include "gpu/bench.h"

enum { NUM_KERNELS = 60, NUM_STEPS = 500, NUM_RUNS = 5, NUM_BODIES = 128 };

struct rigid_args {
    float *state;
    float time_step;
    uint32_t num, stage;
    float more[9];
};

static const char source[] =
    "struct rigid_args { float *state; float time_step; unsigned num, stage; float more[9]; };\n"
    "extern \"C\" __global__ void bench_rigid(rigid_args args)\n"
    "{\n"
    "    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < args.num)\n"
    "        args.state[i] += args.time_step * (float)args.stage;\n"
    "}\n"
    "extern \"C\" __global__ void bench_rigid_by_address(const rigid_args *args)\n"
    "{\n"
    "    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < args->num)\n"
    "        args->state[i] += args->time_step * (float)args->stage;\n"
    "}\n";

static const braid_kernel by_value = { .name = "bench_rigid", .source = source };
static const braid_kernel by_address = { .name = "bench_rigid_by_address", .source = source };

static struct rigid_args args_of(float *state, uint32_t step, uint32_t stage)
{
    return (struct rigid_args){
        .state = state, .time_step = 1e-3f / (float)(step + 1), .num = NUM_BODIES, .stage = stage
    };
}

// What is written by hand needs a few driver calls that Braid does not.
struct by_hand_state {
    const struct gpu_api *api;
    gpu_result (*copy_to_device)(void *to, const void *from, size_t bytes);
    gpu_result (*allocate)(void **memory, size_t bytes, gpu_stream stream);
    gpu_result (*free)(void *memory, gpu_stream stream);
    gpu_function function;
    gpu_stream stream;
    float *state;
    struct rigid_args *pinned; // one for each launch of a run
    struct rigid_args *device; // one for each kernel
};

static void launch_by_address(const struct by_hand_state *by_hand, void *args)
{
    void *pointers[] = { &args };
    must_call(by_hand->api->launch(by_hand->function, 1, 1, 1, NUM_BODIES, 1, 1, 0, by_hand->stream,
                                   pointers, NULL),
              "cuLaunchKernel");
}

// For each launch: allocate, copy the arguments and wait for that, launch, free; as simulators did.
static void step_with_allocation(const struct by_hand_state *by_hand, uint32_t step)
{
    for (uint32_t stage = 0; stage < NUM_KERNELS; stage++) {
        struct rigid_args args = args_of(by_hand->state, step, stage);
        void *memory = NULL;
        must_call(by_hand->allocate(&memory, sizeof(args), by_hand->stream), "cuMemAllocAsync");
        must_call(by_hand->copy_to_device(memory, &args, sizeof(args)), "cuMemcpyHtoD");
        launch_by_address(by_hand, memory);
        must_call(by_hand->free(memory, by_hand->stream), "cuMemFreeAsync");
    }
}

// Scratch made once; arguments are copied from pinned memory on the stream.
static void step_with_cache(const struct by_hand_state *by_hand, uint32_t step)
{
    for (uint32_t stage = 0; stage < NUM_KERNELS; stage++) {
        struct rigid_args *pinned = &by_hand->pinned[step * NUM_KERNELS + stage];
        *pinned = args_of(by_hand->state, step, stage);
        must_call(
            by_hand->api->copy(&by_hand->device[stage], pinned, sizeof(*pinned), by_hand->stream),
            "cuMemcpyAsync");
        launch_by_address(by_hand, &by_hand->device[stage]);
    }
}

static void print_rate(const char *name, double *step_us)
{
    double us = median(step_us, NUM_RUNS);
    printf("| %s | %.1f | %.0f |\n", name, us, 1e6 / us);
    fflush(stdout);
}

static void measure_by_hand(const struct by_hand_state *by_hand, const char *name,
                            void (*step)(const struct by_hand_state *, uint32_t))
{
    double step_us[NUM_RUNS];
    for (uint32_t run = 0; run < NUM_RUNS; run++) {
        double start = now_us();
        for (uint32_t i = 0; i < NUM_STEPS; i++)
            step(by_hand, i);
        must_call(by_hand->api->stream_synchronize(by_hand->stream), "cuStreamSynchronize");
        step_us[run] = (now_us() - start) / NUM_STEPS;
    }
    print_rate(name, step_us);
}

// `function` is a pointer to one.
static void load(void *function, const struct gpu_backend *gpu, const char *name)
{
    void *loaded = dlsym(gpu->library, name);
    memcpy(function, &loaded, sizeof(loaded));
}

static void run_by_hand(braid_device *device, float *state)
{
    static const uint32_t arg_bytes[] = { sizeof(void *) };
    struct driver driver = open_driver();
    struct gpu_backend *gpu = gpu_from(driver.backend);
    struct backend_kernel *kernel;
    void *pinned, *scratch;
    const uint64_t bytes = sizeof(struct rigid_args) * NUM_KERNELS;
    must(driver.backend->ops->kernel_load(driver.backend, &by_address, KERNEL_AS_IT_IS, NULL,
                                          arg_bytes, 1, &kernel));
    must(braid_memory_allocate(device, BRAID_MEMORY_HOST, bytes * NUM_STEPS, &pinned));
    must(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, bytes, &scratch));
    struct by_hand_state by_hand = { .api = driver.api,
                                     .function = gpu_kernel_from(kernel)->function,
                                     .state = state,
                                     .pinned = pinned,
                                     .device = scratch };
    load(&by_hand.copy_to_device, gpu, "cuMemcpyHtoD_v2");
    load(&by_hand.allocate, gpu, "cuMemAllocAsync");
    load(&by_hand.free, gpu, "cuMemFreeAsync");
    // On the null stream, which synchronous copies are on as well.
    measure_by_hand(&by_hand, "allocation and synchronous copy a launch", step_with_allocation);
    must_call(driver.api->stream_create(&by_hand.stream, GPU_STREAM_NON_BLOCKING, 0),
              "cuStreamCreateWithPriority");
    measure_by_hand(&by_hand, "cached scratch, asynchronous copy a launch", step_with_cache);
    must_call(driver.api->stream_destroy(by_hand.stream), "cuStreamDestroy");
    braid_memory_free(device, pinned);
    braid_memory_free(device, scratch);
    driver.backend->ops->kernel_unload(driver.backend, kernel);
    close_driver(&driver);
}

// Where `all` is wanted, it is a parameter of the arguments of all kernels.
static braid_exec *make_exec(braid_device *device, float *state, const braid_exec_options *options,
                             braid_node *nodes, braid_parameter *all)
{
    braid_graph *graph;
    braid_exec *exec;
    must(braid_graph_create(&graph));
    for (uint32_t stage = 0; stage < NUM_KERNELS; stage++) {
        struct rigid_args args = args_of(state, 0, stage);
        const braid_kernel_node launch = {
            .node = { .after = &nodes[stage - (stage > 0)], .num_after = stage > 0 },
            .kernel = &by_value,
            .block = { NUM_BODIES, 1, 1 },
            BRAID_ARGS(BRAID_ARG(args)),
        };
        must(braid_graph_add_kernel(graph, &launch, &nodes[stage]));
    }
    if (all)
        must(braid_graph_add_parameter(graph, "arguments", NUM_KERNELS * sizeof(struct rigid_args),
                                       all));
    for (uint32_t stage = 0; all && stage < NUM_KERNELS; stage++)
        must(braid_graph_use_parameter(
            graph, *all,
            &(braid_parameter_use){ .node = nodes[stage],
                                    .offset = stage * sizeof(struct rigid_args),
                                    .bytes = sizeof(struct rigid_args) }));
    must(braid_exec_create(device, graph, options, &exec));
    braid_graph_destroy(graph);
    return exec;
}

static void run_braid(braid_device *device, float *state, braid_exec_options options,
                      const char *name)
{
    braid_node nodes[NUM_KERNELS];
    double step_us[NUM_RUNS];
    braid_stream *stream;
    braid_exec *exec = make_exec(device, state, &options, nodes, NULL);
    must(braid_stream_create(device, NULL, &stream));
    for (uint32_t run = 0; run < NUM_RUNS; run++) {
        double start = now_us();
        for (uint32_t step = 0; step < NUM_STEPS; step++) {
            for (uint32_t stage = 0; stage < NUM_KERNELS; stage++) {
                struct rigid_args args = args_of(state, step, stage);
                must(braid_exec_set_arg(exec, nodes[stage], 0, BRAID_ARG(args)));
            }
            must(braid_exec_launch(exec, stream));
        }
        must(braid_stream_wait(stream));
        step_us[run] = (now_us() - start) / NUM_STEPS;
    }
    print_rate(name, step_us);
    braid_exec_destroy(exec);
    braid_stream_destroy(stream);
}

// So many steps by one call, each with its row.
static void run_many(braid_device *device, float *state, braid_islands islands, uint32_t at_once)
{
    braid_node nodes[NUM_KERNELS];
    static struct rigid_args rows[NUM_STEPS][NUM_KERNELS];
    double step_us[NUM_RUNS];
    char name[64];
    braid_stream *stream;
    braid_parameter all;
    braid_exec *exec =
        make_exec(device, state, &(braid_exec_options){ .islands = islands }, nodes, &all);
    must(braid_stream_create(device, NULL, &stream));
    for (uint32_t run = 0; run < NUM_RUNS; run++) {
        double start = now_us();
        for (uint32_t step = 0; step < NUM_STEPS; step += at_once) {
            for (uint32_t i = 0; i < at_once * NUM_KERNELS; i++)
                rows[i / NUM_KERNELS][i % NUM_KERNELS] =
                    args_of(state, step + i / NUM_KERNELS, i % NUM_KERNELS);
            const braid_parameter_rows values = { all, rows, at_once };
            must(braid_exec_launch_many(exec, stream, at_once, &values, 1));
        }
        must(braid_stream_wait(stream));
        step_us[run] = (now_us() - start) / NUM_STEPS;
    }
    snprintf(name, sizeof(name), "Braid, %s, %u steps by one call",
             islands == BRAID_ISLANDS_WHOLE ? "one island" : "graph, no islands", at_once);
    print_rate(name, step_us);
    braid_exec_destroy(exec);
    braid_stream_destroy(stream);
}

int main(void)
{
    braid_device *device;
    void *state;
    if (braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device)) {
        printf("skipped: %s\n", braid_error_get_message());
        return 77;
    }
    must(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, NUM_BODIES * sizeof(float), &state));
    printf("<!-- default: Braid as it comes | Braid streams | Braid graph | "
           "Braid graph, no early start | Braid, one island; figures: us a step -->\n");
    printf("| a step of %d kernels with changed arguments | us a step | steps a second |\n",
           NUM_KERNELS);
    printf("|---|---|---|\n");
    run_by_hand(device, state);
    run_braid(device, state, (braid_exec_options){ 0 }, "Braid as it comes");
    run_braid(device, state, (braid_exec_options){ .mode = BRAID_MODE_STREAMS }, "Braid streams");
    run_braid(device, state, (braid_exec_options){ .mode = BRAID_MODE_GRAPH }, "Braid graph");
    run_braid(device, state,
              (braid_exec_options){
                  .mode = BRAID_MODE_GRAPH, .no_early_start = true, .no_prefetch = true },
              "Braid graph, no early start");
    run_braid(device, state, (braid_exec_options){ .islands = BRAID_ISLANDS_WHOLE },
              "Braid, one island");
    run_many(device, state, BRAID_ISLANDS_NEVER, 10);
    for (uint32_t at_once = 1; at_once <= 100; at_once *= 10)
        run_many(device, state, BRAID_ISLANDS_WHOLE, at_once);
    braid_memory_free(device, state);
    braid_device_close(device);
    return 0;
}
