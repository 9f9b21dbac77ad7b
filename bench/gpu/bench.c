// SPDX-License-Identifier: Apache-2.0
// What the GPU benches share: checks, clocks, the kernel, and how a system is measured.
#include "gpu/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WARM_UP = 10, MAX_FRAMES = 1000 };

void must(braid_status status)
{
    if (status == BRAID_OK)
        return;
    fprintf(stderr, "%s: %s\n", braid_status_get_name(status), braid_error_get_message());
    exit(1);
}

void must_call(gpu_result result, const char *call)
{
    if (result == GPU_SUCCESS)
        return;
    fprintf(stderr, "%s by hand: error %d\n", call, result);
    exit(1);
}

double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e6 * (double)time.tv_sec + 1e-3 * (double)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(double *values, uint32_t num)
{
    qsort(values, num, sizeof(*values), compare);
    return num % 2 ? values[num / 2] : (values[num / 2 - 1] + values[num / 2]) / 2;
}

static const char spin_source[] = "extern \"C\" __global__ void bench_spin(unsigned cycles)\n"
                                  "{\n"
                                  "    long long end = clock64() + cycles;\n"
                                  "    while (cycles != 0 && clock64() < end) {\n"
                                  "    }\n"
                                  "}\n";

static void spin_on_cpu(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

const braid_kernel bench_spin = {
    .name = "bench_spin",
    .cpu = spin_on_cpu,
    .source = spin_source,
};

static const char early_source[] =
    "extern \"C\" __global__ void bench_spin_early(unsigned cycles)\n"
    "{\n"
    "    asm volatile(\"griddepcontrol.launch_dependents;\");\n"
    "    asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n"
    "    long long end = clock64() + cycles;\n"
    "    while (cycles != 0 && clock64() < end) {\n"
    "    }\n"
    "}\n";

const braid_kernel bench_spin_early = {
    .name = "bench_spin_early",
    .source = early_source,
    .programmatic = true,
};

#define WARP "(blockIdx.x * blockDim.x + threadIdx.x) / 32 % 8192"

static const char store_source[] = "__device__ unsigned last[8192];\n"
                                   "extern \"C\" __global__ void bench_spin(unsigned cycles)\n"
                                   "{\n"
                                   "    long long end = clock64() + cycles;\n"
                                   "    while (cycles != 0 && clock64() < end) {\n"
                                   "    }\n"
                                   "    if (threadIdx.x % 32 == 0)\n"
                                   "        last[" WARP "] = cycles;\n"
                                   "}\n";

const braid_kernel bench_store = { .name = "bench_spin", .source = store_source };

// The address of each load needs the one before; all are of zeros, in the cache of the device.
static const char follow_source[] =
    "__device__ unsigned next[8 * 8192];\n"
    "extern \"C\" __global__ void bench_spin(unsigned cycles)\n"
    "{\n"
    "    unsigned start = 8 * (" WARP "), at = start;\n"
    "    for (unsigned i = 0; i < cycles / 300; i++) {\n"
    "        asm volatile(\"ld.global.cg.u32 %0, [%1];\" : \"=r\"(at) : \"l\"(next + at));\n"
    "        at += start;\n"
    "    }\n"
    "    if (threadIdx.x % 32 == 0)\n"
    "        next[start + 1] = at;\n"
    "}\n";

const braid_kernel bench_follow = { .name = "bench_spin", .source = follow_source };

static struct timing run_frame(const struct system *system)
{
    struct timing timing;
    driver_times = (struct driver_times){ 0 };
    double start = now_us();
    system->launch(system->user);
    timing.host_us = now_us() - start;
    timing.driver = driver_times;
    system->wait(system->user);
    timing.total_us = now_us() - start;
    return timing;
}

void measure(const struct system *systems, uint32_t num_systems, uint32_t frames,
             struct timing *out_timings)
{
    static double host[MAX_SYSTEMS][MAX_FRAMES], total[MAX_SYSTEMS][MAX_FRAMES];
    static double launches[MAX_SYSTEMS][MAX_FRAMES], orders[MAX_SYSTEMS][MAX_FRAMES];
    frames = frames < MAX_FRAMES ? frames : MAX_FRAMES;
    for (uint32_t i = 0; i < WARM_UP + frames; i++) {
        for (uint32_t k = 0; k < num_systems; k++) {
            struct timing timing = run_frame(&systems[k]);
            if (i < WARM_UP)
                continue;
            host[k][i - WARM_UP] = timing.host_us;
            launches[k][i - WARM_UP] = timing.driver.launch_us;
            orders[k][i - WARM_UP] = timing.driver.order_us;
            total[k][i - WARM_UP] = timing.total_us;
        }
    }
    for (uint32_t k = 0; k < num_systems; k++)
        out_timings[k] = (struct timing){
            .host_us = median(host[k], frames),
            .driver = { median(launches[k], frames), median(orders[k], frames) },
            .total_us = median(total[k], frames),
        };
}

static void queue_spin(braid_device *device, braid_exec **out_exec, uint32_t cycles)
{
    braid_graph *graph;
    must(braid_graph_create(&graph));
    const braid_kernel_node launch = { .kernel = &bench_spin, BRAID_ARGS(BRAID_ARG(cycles)) };
    must(braid_graph_add_kernel(graph, &launch, NULL));
    must(braid_exec_create(device, graph, &(braid_exec_options){ .mode = BRAID_MODE_STREAMS },
                           out_exec));
    braid_graph_destroy(graph);
}

uint32_t cycles_of(braid_device *device, uint64_t ns)
{
    enum { LONG_SPIN = 20000000 };
    braid_exec *exec;
    braid_event *start, *end;
    uint64_t took = 0;
    const braid_event_options timed = { .timing = true };
    must(braid_event_create(device, &timed, &start));
    must(braid_event_create(device, &timed, &end));
    queue_spin(device, &exec, LONG_SPIN);
    // The second time the clocks have come up.
    for (int i = 0; i < 2; i++) {
        must(braid_event_record(start, NULL));
        must(braid_exec_launch(exec, NULL));
        must(braid_event_record(end, NULL));
        must(braid_event_wait(end));
    }
    must(braid_event_get_elapsed(start, end, &took));
    braid_exec_destroy(exec);
    braid_event_destroy(start);
    braid_event_destroy(end);
    return took ? (uint32_t)((double)LONG_SPIN * (double)ns / (double)took) : 0;
}
