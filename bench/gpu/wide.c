// SPDX-License-Identifier: Apache-2.0
// A chain of matrix-vector products: kernels of many blocks, each bound by the memory that it
// reads. The first row has the shapes of a transformer with 1.2 billion parameters at batch 1: 16
// layers and a vocabulary, 2.5 GB of weights. The others have 80 equal kernels. Braid as it comes,
// against graphs by hand: as declared, and with programmatic edges.
#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/cuda_layouts.h"
#include "backends/gpu/gpu_backend.h"
#include "decode_chain.h"
#include "gpu/bench.h"

enum { FRAMES = 41 };

static void *allocate(braid_device *device, uint64_t bytes)
{
    void *memory;
    must(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, bytes, &memory));
    return memory;
}

// ---- by hand ----

struct driver_graph {
    const struct gpu_api *api;
    gpu_module module;
    gpu_stream stream;
    gpu_graph graph;
    gpu_executable executable;
};

static void launch_driver_graph(void *user)
{
    const struct driver_graph *driver_graph = user;
    must_call(driver_graph->api->executable_launch(driver_graph->executable, driver_graph->stream),
              "cuGraphLaunch");
}

static void wait_for_driver_graph(void *user)
{
    const struct driver_graph *driver_graph = user;
    must_call(driver_graph->api->stream_synchronize(driver_graph->stream), "cuStreamSynchronize");
}

static void add_kernels(struct driver_graph *driver_graph, gpu_function function,
                        const struct decode_chain *chain, const struct decode_memory *memory,
                        bool early)
{
    static const struct gpu_edge_data edge = { .from_port = GPU_EDGE_PORT_PROGRAMMATIC,
                                               .type = GPU_EDGE_PROGRAMMATIC };
    gpu_node last = NULL;
    for (uint32_t i = 0; i < chain->num; i++) {
        struct decode_product one = chain->products[i];
        char *weights = memory->weights + one.at;
        float *in = memory->vectors[i % 2], *out = memory->vectors[1 - i % 2];
        void *args[] = { &weights, &in, &out, &one.rows, &one.columns, &one.rows_each };
        struct cuda_kernel_parameters parameters = { .function = function,
                                                     .grid = { decode_count_blocks(&one), 1, 1 },
                                                     .block = { DECODE_THREADS, 1, 1 },
                                                     .args = args };
        gpu_node node;
        bool ordinary = last && !early;
        must_call(driver_graph->api->graph_add_kernel(
                      &node, driver_graph->graph, ordinary ? &last : NULL, ordinary, &parameters),
                  "cuGraphAddKernelNode");
        if (last && early)
            must_call(
                driver_graph->api->graph_add_edges(driver_graph->graph, &last, &node, &edge, 1),
                "cuGraphAddDependencies");
        last = node;
    }
}

static struct driver_graph make_driver_graph(const struct driver *driver,
                                             const struct decode_chain *chain,
                                             const struct decode_memory *memory, bool early)
{
    const struct gpu_api *api = driver->api;
    struct driver_graph driver_graph = { .api = api };
    gpu_function function =
        load_kernel(driver, early ? &decode_product_early : &decode_product, &driver_graph.module);
    must_call(api->stream_create(&driver_graph.stream, 1, 0), "cuStreamCreateWithPriority");
    must_call(api->graph_create(&driver_graph.graph, 0), "cuGraphCreate");
    add_kernels(&driver_graph, function, chain, memory, early);
    must_call(api->graph_instantiate(&driver_graph.executable, driver_graph.graph, 0),
              "cuGraphInstantiateWithFlags");
    return driver_graph;
}

static void finish_driver_graph(struct driver_graph *driver_graph)
{
    must_call(driver_graph->api->executable_destroy(driver_graph->executable),
              "cuGraphExecDestroy");
    must_call(driver_graph->api->graph_destroy(driver_graph->graph), "cuGraphDestroy");
    must_call(driver_graph->api->stream_destroy(driver_graph->stream), "cuStreamDestroy");
    must_call(driver_graph->api->module_unload(driver_graph->module), "cuModuleUnload");
}

// ---- with Braid ----

struct planned {
    braid_device *device;
    braid_stream *stream; // NULL: the device's default stream
    braid_exec *exec;
};

static void launch_planned(void *user)
{
    const struct planned *planned = user;
    must(braid_exec_launch(planned->exec, planned->stream));
}

static void wait_for_planned(void *user)
{
    const struct planned *planned = user;
    if (planned->stream)
        must(braid_stream_wait(planned->stream));
    else
        must(braid_exec_wait(planned->exec));
}

static struct planned make_planned(braid_device *device, const struct decode_chain *chain,
                                   const struct decode_memory *memory,
                                   const braid_exec_options *options, bool has_stream)
{
    struct planned planned = { .device = device };
    if (has_stream)
        must(braid_stream_create(device, NULL, &planned.stream));
    braid_graph *graph;
    must(braid_graph_create(&graph));
    must(decode_add_nodes(graph, chain, memory));
    must(braid_exec_create(device, graph, options, &planned.exec));
    braid_graph_destroy(graph);
    return planned;
}

static void finish_planned(struct planned *planned)
{
    braid_exec_destroy(planned->exec);
    braid_stream_destroy(planned->stream);
}

enum { BY_HAND, BY_HAND_EARLY, DEFAULT, WITHOUT_EARLY, WITHOUT_STREAM, NUM_WAYS };

static void measure_chain(braid_device *device, const struct driver *driver,
                          const struct decode_chain *chain, const struct decode_memory *memory)
{
    struct driver_graph by_hand = make_driver_graph(driver, chain, memory, false);
    struct driver_graph early = make_driver_graph(driver, chain, memory, true);
    struct planned planned = make_planned(device, chain, memory, NULL, true);
    struct planned without =
        make_planned(device, chain, memory,
                     &(braid_exec_options){ .no_early_start = true, .no_prefetch = true }, true);
    struct planned plain = make_planned(device, chain, memory, NULL, false);
    const struct system systems[NUM_WAYS] = {
        [BY_HAND] = { .launch = launch_driver_graph,
                      .wait = wait_for_driver_graph,
                      .user = &by_hand },
        [BY_HAND_EARLY] = { .launch = launch_driver_graph,
                            .wait = wait_for_driver_graph,
                            .user = &early },
        [DEFAULT] = { .launch = launch_planned, .wait = wait_for_planned, .user = &planned },
        [WITHOUT_EARLY] = { .launch = launch_planned, .wait = wait_for_planned, .user = &without },
        [WITHOUT_STREAM] = { .launch = launch_planned, .wait = wait_for_planned, .user = &plain },
    };
    struct timing timings[NUM_WAYS];
    braid_exec_info info;
    measure(systems, NUM_WAYS, FRAMES, timings);
    braid_exec_get_info(planned.exec, &info);
    printf("| %s |", chain->name);
    for (int way = 0; way < NUM_WAYS; way++)
        printf(" %.1f |", timings[way].total_us);
    printf(" %.3f | %.3f | %u | %u |\n", timings[DEFAULT].total_us / timings[BY_HAND].total_us,
           timings[DEFAULT].total_us / timings[BY_HAND_EARLY].total_us, info.num_early_starts,
           info.num_prefetches);
    fflush(stdout);
    finish_planned(&planned);
    finish_planned(&without);
    finish_planned(&plain);
    finish_driver_graph(&early);
    finish_driver_graph(&by_hand);
}

int main(void)
{
    const struct decode_chain chains[] = {
        decode_make_transformer(),
        decode_make_equal("8 MB, 4 blocks", 8u << 20, 4),
        decode_make_equal("64 MB, 26 blocks", 64u << 20, 26),
        decode_make_equal("2.4 GB, 32 blocks", 2400ull << 20, 32),
        decode_make_equal("2.4 GB, 132 blocks", 2400ull << 20, 132),
        decode_make_equal("2.4 GB, 264 blocks", 2400ull << 20, 264),
        decode_make_equal("2.4 GB, 528 blocks", 2400ull << 20, 528),
        decode_make_equal("2.4 GB, 1,056 blocks", 2400ull << 20, 1056),
    };
    const size_t num = sizeof(chains) / sizeof(chains[0]);
    braid_device *device;
    uint64_t most = 0;
    if (braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device)) {
        printf("skipped: %s\n", braid_error_get_message());
        return 77;
    }
    struct driver driver = open_driver();
    for (size_t i = 0; i < num; i++)
        most = chains[i].bytes > most ? chains[i].bytes : most;
    struct decode_memory memory = { .weights = allocate(device, most) };
    for (int i = 0; i < 2; i++)
        memory.vectors[i] = allocate(device, DECODE_MOST_ROWS * sizeof(float));
    printf(
        "<!-- default: Braid | Braid without early start | Braid on the default stream -->\n"
        "| us a frame | graph by hand, as declared | by hand, programmatic | Braid | Braid "
        "without early start | Braid on the default stream | Braid to as declared | to "
        "programmatic | early starts | prefetches |\n|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < num; i++)
        measure_chain(device, &driver, &chains[i], &memory);
    braid_memory_free(device, memory.weights);
    for (int i = 0; i < 2; i++)
        braid_memory_free(device, memory.vectors[i]);
    close_driver(&driver);
    braid_device_close(device);
    return 0;
}
