// SPDX-License-Identifier: Apache-2.0
// What a program does without Braid: the same driver calls in loops written by hand.
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/cuda_layouts.h"
#include "backends/gpu/gpu_backend.h"
#include "base/host_memory.h"
#include "device/backend.h"
#include "gpu/bench.h"

struct driver open_driver(void)
{
    static const uint32_t arg_bytes[] = { sizeof(uint32_t) };
    struct driver driver = { 0 };
    must(braid_cuda_driver.open(&braid_cuda_driver, &(braid_device_options){ 0 }, &driver.backend));
    struct gpu_backend *gpu = gpu_from(driver.backend);
    driver.api = gpu->api;
    must(driver.backend->ops->kernel_load(driver.backend, &bench_spin, KERNEL_AS_IT_IS, NULL,
                                          arg_bytes, 1, &driver.kernel));
    driver.spin = gpu_kernel_from(driver.kernel)->function;
    must_call(gpu->api->context_get_current(&driver.before), "cuCtxGetCurrent");
    must_call(gpu->api->context_set_current(gpu->context), "cuCtxSetCurrent");
    return driver;
}

gpu_function load_kernel(const struct driver *driver, const braid_kernel *kernel,
                         gpu_module *module)
{
    const struct gpu_code code = { .source = kernel->source };
    struct gpu_compiled compiled;
    gpu_function function;
    must(braid_gpu_compile(gpu_from(driver->backend), kernel->name, &code, false, &compiled));
    must_call(driver->api->module_load(module, compiled.image), "cuModuleLoadData");
    must_call(driver->api->module_function(&function, *module, kernel->name),
              "cuModuleGetFunction");
    braid_free(compiled.image);
    return function;
}

void close_driver(struct driver *driver)
{
    must_call(driver->api->context_set_current(driver->before), "cuCtxSetCurrent");
    driver->backend->ops->kernel_unload(driver->backend, driver->kernel);
    driver->backend->ops->close(driver->backend);
}

enum { MAX_STREAMS = 32 };

struct by_hand {
    const struct driver *driver;
    const struct shape *shape;
    uint32_t cycles;
    uint32_t num_streams;
    gpu_stream streams[MAX_STREAMS]; // [0] is where a frame begins and ends
    gpu_event fork, joins[MAX_STREAMS];
    gpu_event *events; // by node: recorded when a node on another stream waits for it
    gpu_graph graph;
    gpu_executable executable;
};

static void launch_node(const struct by_hand *by_hand, gpu_stream stream)
{
    uint32_t cycles = by_hand->cycles;
    void *args[] = { &cycles };
    must_call(by_hand->driver->api->launch(by_hand->driver->spin, 1, 1, 1, 32, 1, 1, 0, stream,
                                           args, NULL),
              "cuLaunchKernel");
}

static void wait_for_first(void *user)
{
    const struct by_hand *by_hand = user;
    must_call(by_hand->driver->api->stream_synchronize(by_hand->streams[0]), "cuStreamSynchronize");
}

static void launch_on_one_stream(void *user)
{
    const struct by_hand *by_hand = user;
    for (uint32_t i = 0; i < by_hand->shape->num_nodes; i++)
        launch_node(by_hand, by_hand->streams[0]);
}

static uint32_t stream_of(const struct by_hand *by_hand, uint32_t node)
{
    return node % by_hand->num_streams;
}

static void wait_for_edges(const struct by_hand *by_hand, uint32_t node)
{
    const struct shape *shape = by_hand->shape;
    gpu_stream stream = by_hand->streams[stream_of(by_hand, node)];
    for (uint32_t i = shape->first[node]; i < shape->first[node + 1]; i++) {
        uint32_t before = shape->before[i];
        if (stream_of(by_hand, before) != stream_of(by_hand, node))
            must_call(by_hand->driver->api->stream_wait(stream, by_hand->events[before], 0),
                      "cuStreamWaitEvent");
    }
}

static void launch_on_streams(void *user)
{
    const struct by_hand *by_hand = user;
    const struct gpu_api *api = by_hand->driver->api;
    must_call(api->event_record(by_hand->fork, by_hand->streams[0]), "cuEventRecord");
    for (uint32_t i = 1; i < by_hand->num_streams; i++)
        must_call(api->stream_wait(by_hand->streams[i], by_hand->fork, 0), "cuStreamWaitEvent");
    for (uint32_t node = 0; node < by_hand->shape->num_nodes; node++) {
        gpu_stream stream = by_hand->streams[stream_of(by_hand, node)];
        wait_for_edges(by_hand, node);
        launch_node(by_hand, stream);
        if (by_hand->events[node])
            must_call(api->event_record(by_hand->events[node], stream), "cuEventRecord");
    }
    for (uint32_t i = 1; i < by_hand->num_streams; i++) {
        must_call(api->event_record(by_hand->joins[i], by_hand->streams[i]), "cuEventRecord");
        must_call(api->stream_wait(by_hand->streams[0], by_hand->joins[i], 0), "cuStreamWaitEvent");
    }
}

static void launch_graph(void *user)
{
    const struct by_hand *by_hand = user;
    must_call(by_hand->driver->api->executable_launch(by_hand->executable, by_hand->streams[0]),
              "cuGraphLaunch");
}

static struct by_hand *make(const struct driver *driver, const struct shape *shape, uint32_t cycles,
                            uint32_t num_streams)
{
    struct by_hand *by_hand = calloc(1, sizeof(*by_hand));
    gpu_event *events = calloc(shape->num_nodes, sizeof(*events));
    if (!by_hand || !events)
        abort();
    by_hand->driver = driver;
    by_hand->shape = shape;
    by_hand->cycles = cycles;
    by_hand->num_streams = num_streams;
    by_hand->events = events;
    for (uint32_t i = 0; i < num_streams; i++)
        must_call(driver->api->stream_create(&by_hand->streams[i], GPU_STREAM_NON_BLOCKING, 0),
                  "cuStreamCreateWithPriority");
    return by_hand;
}

struct by_hand *by_hand_on_one_stream(const struct driver *driver, const struct shape *shape,
                                      uint32_t cycles, struct system *out_system)
{
    struct by_hand *by_hand = make(driver, shape, cycles, 1);
    *out_system = (struct system){ .name = "one stream by hand",
                                   .launch = launch_on_one_stream,
                                   .wait = wait_for_first,
                                   .user = by_hand,
                                   .num_lanes = 1 };
    return by_hand;
}

static gpu_event make_event(const struct driver *driver)
{
    gpu_event event = NULL;
    must_call(driver->api->event_create(&event, GPU_EVENT_DISABLE_TIMING), "cuEventCreate");
    return event;
}

struct by_hand *by_hand_on_streams(const struct driver *driver, const struct shape *shape,
                                   uint32_t cycles, uint32_t num_streams, struct system *out_system)
{
    double start = now_us();
    struct by_hand *by_hand = make(driver, shape, cycles, num_streams);
    uint64_t num_waits = 0;
    by_hand->fork = make_event(driver);
    for (uint32_t i = 1; i < num_streams; i++)
        by_hand->joins[i] = make_event(driver);
    for (uint32_t node = 0; node < shape->num_nodes; node++) {
        for (uint32_t i = shape->first[node]; i < shape->first[node + 1]; i++) {
            uint32_t before = shape->before[i];
            if (stream_of(by_hand, before) == stream_of(by_hand, node))
                continue;
            num_waits++;
            if (!by_hand->events[before])
                by_hand->events[before] = make_event(driver);
        }
    }
    *out_system = (struct system){ .name = "streams by hand",
                                   .launch = launch_on_streams,
                                   .wait = wait_for_first,
                                   .user = by_hand,
                                   .build_us = now_us() - start,
                                   .num_lanes = num_streams,
                                   .num_waits = num_waits };
    return by_hand;
}

static void add_nodes(struct by_hand *by_hand)
{
    const struct shape *shape = by_hand->shape;
    gpu_node *nodes = calloc(shape->num_nodes, sizeof(gpu_node));
    gpu_node *after = calloc(shape->num_nodes, sizeof(gpu_node));
    if (!nodes || !after)
        abort();
    uint32_t cycles = by_hand->cycles;
    void *args[] = { &cycles };
    struct cuda_kernel_parameters parameters = {
        .function = by_hand->driver->spin,
        .grid = { 1, 1, 1 },
        .block = { 32, 1, 1 },
        .args = args,
    };
    for (uint32_t node = 0; node < shape->num_nodes; node++) {
        size_t num_after = 0;
        for (uint32_t i = shape->first[node]; i < shape->first[node + 1]; i++)
            after[num_after++] = nodes[shape->before[i]];
        must_call(by_hand->driver->api->graph_add_kernel(&nodes[node], by_hand->graph, after,
                                                         num_after, &parameters),
                  "cuGraphAddKernelNode");
    }
    free(nodes);
    free(after);
}

struct by_hand *by_hand_as_graph(const struct driver *driver, const struct shape *shape,
                                 uint32_t cycles, struct system *out_system)
{
    const struct gpu_api *api = driver->api;
    struct by_hand *by_hand = make(driver, shape, cycles, 1);
    double start = now_us();
    must_call(api->graph_create(&by_hand->graph, 0), "cuGraphCreate");
    add_nodes(by_hand);
    must_call(api->graph_instantiate(&by_hand->executable, by_hand->graph, 0),
              "cuGraphInstantiateWithFlags");
    *out_system = (struct system){ .name = "graph by hand",
                                   .launch = launch_graph,
                                   .wait = wait_for_first,
                                   .user = by_hand,
                                   .build_us = now_us() - start };
    return by_hand;
}

void by_hand_finish(struct by_hand *by_hand)
{
    const struct gpu_api *api = by_hand->driver->api;
    if (by_hand->executable)
        must_call(api->executable_destroy(by_hand->executable), "cuGraphExecDestroy");
    if (by_hand->graph)
        must_call(api->graph_destroy(by_hand->graph), "cuGraphDestroy");
    for (uint32_t i = 0; i < by_hand->shape->num_nodes; i++) {
        if (by_hand->events[i])
            must_call(api->event_destroy(by_hand->events[i]), "cuEventDestroy");
    }
    for (uint32_t i = 1; i < by_hand->num_streams; i++)
        must_call(api->event_destroy(by_hand->joins[i]), "cuEventDestroy");
    if (by_hand->fork)
        must_call(api->event_destroy(by_hand->fork), "cuEventDestroy");
    for (uint32_t i = 0; i < by_hand->num_streams; i++)
        must_call(api->stream_destroy(by_hand->streams[i]), "cuStreamDestroy");
    free(by_hand->events);
    free(by_hand);
}
