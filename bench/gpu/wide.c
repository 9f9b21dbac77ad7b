// SPDX-License-Identifier: Apache-2.0
// A chain of matrix-vector products: kernels of many blocks, each bound by the memory that it
// reads. The first row has the shapes of a transformer with 1.2 billion parameters at batch 1: 16
// layers and a vocabulary, 2.5 GB of weights. The others have 80 equal kernels. Braid as it comes,
// against graphs by hand: as declared, and with programmatic edges.
#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/cuda_layouts.h"
#include "backends/gpu/gpu_backend.h"
#include "gpu/bench.h"

enum {
    MOST_KERNELS = 96,
    WARPS = 8, // of a block
    THREADS = 32 * WARPS,
    NUM_EQUAL = 80,
    MOST_ROWS = 131072,
    FRAMES = 41,
};

// One product: each warp computes `rows_each` rows of `columns` values of two bytes (bfloat16).
struct product {
    uint32_t rows, columns, rows_each;
    uint64_t at; // of its weights, in bytes
};

struct chain {
    const char *name;
    struct product products[MOST_KERNELS];
    uint32_t num;
    uint64_t bytes;
};

#define HELPERS                                                                                    \
    "static __device__ float low(unsigned v) { return __uint_as_float(v << 16); }\n"               \
    "static __device__ float high(unsigned v) { return __uint_as_float(v & 0xffff0000u); }\n"      \
    "static __device__ __forceinline__ void multiply(const uint4 *__restrict__ weights, const "    \
    "float4 *__restrict__ in, float *__restrict__ out, unsigned rows, unsigned columns, unsigned " \
    "rows_each)\n"                                                                                 \
    "{\n"                                                                                          \
    "    unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;\n" \
    "    for (unsigned k = 0; k < rows_each; k++) {\n"                                             \
    "        const unsigned row = warp * rows_each + k;\n"                                         \
    "        if (row < rows) {\n"                                                                  \
    "            const uint4 *values = weights + (unsigned long long)row * columns / 8;\n"         \
    "            float sum = 0;\n"                                                                 \
    "            for (unsigned j = lane; j < columns / 8; j += 32) {\n"                            \
    "                const uint4 v = __ldcs(values + j);\n"                                        \
    "                const float4 a = in[2 * j], b = in[2 * j + 1];\n"                             \
    "                sum += low(v.x) * a.x + high(v.x) * a.y + low(v.y) * a.z + high(v.y) * "      \
    "a.w;\n"                                                                                       \
    "                sum += low(v.z) * b.x + high(v.z) * b.y + low(v.w) * b.z + high(v.w) * "      \
    "b.w;\n"                                                                                       \
    "            }\n"                                                                              \
    "            for (int by = 16; by; by /= 2)\n"                                                 \
    "                sum += __shfl_xor_sync(~0u, sum, by);\n"                                      \
    "            if (lane == 0)\n"                                                                 \
    "                out[row] = sum;\n"                                                            \
    "        }\n"                                                                                  \
    "    }\n"                                                                                      \
    "}\n"
#define CALL "    multiply(weights, in, out, rows, columns, rows_each);\n"
#define HEAD(name)                                                                                 \
    "extern \"C\" __global__ void __launch_bounds__(256) " name                                    \
    "(const uint4 *weights, const float4 *in, float *out, unsigned rows, unsigned columns, "       \
    "unsigned rows_each)\n{\n"

static const braid_kernel product = { .name = "product",
                                      .source = HELPERS HEAD("product") CALL "}\n" };
// As its author would write it for programmatic edges.
static const braid_kernel product_early = {
    .name = "product_early",
    .source = HELPERS HEAD(
        "product_early") "    asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n" CALL
                         "    asm volatile(\"griddepcontrol.launch_dependents;\");\n}\n",
};

static void add_product(struct chain *chain, uint32_t rows, uint32_t columns, uint32_t rows_each)
{
    chain->products[chain->num++] = (struct product){
        .rows = rows, .columns = columns, .rows_each = rows_each, .at = chain->bytes
    };
    chain->bytes += (uint64_t)rows * columns * 2;
}

static uint32_t count_blocks(const struct product *one)
{
    return (one->rows + WARPS * one->rows_each - 1) / (WARPS * one->rows_each);
}

static struct chain make_transformer(void)
{
    enum { HIDDEN = 2048, INNER = 8192, WORDS = 128256, LAYERS = 16 };
    struct chain chain = { .name = "transformer, 81 kernels, 2.5 GB" };
    for (int layer = 0; layer < LAYERS; layer++) {
        add_product(&chain, HIDDEN, HIDDEN, 1);     // queries: 256 blocks
        add_product(&chain, HIDDEN / 2, HIDDEN, 2); // keys and values: 64
        add_product(&chain, HIDDEN, HIDDEN, 1);     // output: 256
        add_product(&chain, 2 * INNER, HIDDEN, 1);  // gate and up: 2,048
        add_product(&chain, HIDDEN, INNER, 1);      // down: 256
    }
    add_product(&chain, WORDS, HIDDEN, 1); // 16,032
    return chain;
}

static struct chain make_equal(const char *name, uint64_t bytes, uint32_t blocks)
{
    enum { COLUMNS = 2048 };
    struct chain chain = { .name = name };
    uint32_t rows = (uint32_t)(bytes / NUM_EQUAL / 2 / COLUMNS);
    for (int i = 0; i < NUM_EQUAL; i++)
        add_product(&chain, rows, COLUMNS, (rows + blocks * WARPS - 1) / (blocks * WARPS));
    return chain;
}

struct memory {
    char *weights;
    float *vectors[2]; // read and written by turns
};

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
                        const struct chain *chain, const struct memory *memory, bool early)
{
    static const struct gpu_edge_data edge = { .from_port = GPU_EDGE_PORT_PROGRAMMATIC,
                                               .type = GPU_EDGE_PROGRAMMATIC };
    gpu_node last = NULL;
    for (uint32_t i = 0; i < chain->num; i++) {
        struct product one = chain->products[i];
        char *weights = memory->weights + one.at;
        float *in = memory->vectors[i % 2], *out = memory->vectors[1 - i % 2];
        void *args[] = { &weights, &in, &out, &one.rows, &one.columns, &one.rows_each };
        struct cuda_kernel_parameters parameters = { .function = function,
                                                     .grid = { count_blocks(&one), 1, 1 },
                                                     .block = { THREADS, 1, 1 },
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

static struct driver_graph make_driver_graph(const struct driver *driver, const struct chain *chain,
                                             const struct memory *memory, bool early)
{
    const struct gpu_api *api = driver->api;
    struct driver_graph driver_graph = { .api = api };
    gpu_function function =
        load_kernel(driver, early ? &product_early : &product, &driver_graph.module);
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
        must(braid_stream_synchronize(planned->device, planned->stream));
    else
        must(braid_exec_wait(planned->exec));
}

static void add_nodes(braid_graph *graph, const struct chain *chain, const struct memory *memory)
{
    braid_resource weights, part, vectors[2];
    must(braid_graph_add_buffer(graph, "weights", memory->weights, chain->bytes, &weights));
    for (int i = 0; i < 2; i++)
        must(braid_graph_add_buffer(graph, i ? "odd" : "even", memory->vectors[i],
                                    MOST_ROWS * sizeof(float), &vectors[i]));
    for (uint32_t i = 0; i < chain->num; i++) {
        const struct product *one = &chain->products[i];
        char *at = memory->weights + one->at;
        float *in = memory->vectors[i % 2], *out = memory->vectors[1 - i % 2];
        must(
            braid_graph_add_range(graph, weights, one->at, 2ull * one->rows * one->columns, &part));
        const braid_kernel_node launch = {
            .kernel = &product,
            .grid = { count_blocks(one), 1, 1 },
            .block = { THREADS, 1, 1 },
            BRAID_ARGS(BRAID_ARG(at), BRAID_ARG(in), BRAID_ARG(out), BRAID_ARG(one->rows),
                       BRAID_ARG(one->columns), BRAID_ARG(one->rows_each)),
            BRAID_ACCESSES({ part, BRAID_READ }, { vectors[i % 2], BRAID_READ },
                           { vectors[1 - i % 2], BRAID_WRITE }),
        };
        must(braid_graph_add_kernel(graph, &launch, NULL));
    }
}

static struct planned make_planned(braid_device *device, const struct chain *chain,
                                   const struct memory *memory, const braid_exec_options *options,
                                   bool has_stream)
{
    struct planned planned = { .device = device };
    if (has_stream)
        must(braid_stream_create(device, NULL, &planned.stream));
    braid_graph *graph;
    must(braid_graph_create(&graph));
    add_nodes(graph, chain, memory);
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
                          const struct chain *chain, const struct memory *memory)
{
    struct driver_graph by_hand = make_driver_graph(driver, chain, memory, false);
    struct driver_graph early = make_driver_graph(driver, chain, memory, true);
    struct planned planned = make_planned(device, chain, memory, NULL, true);
    struct planned without =
        make_planned(device, chain, memory, &(braid_exec_options){ .no_early_start = true }, true);
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
    const struct chain chains[] = {
        make_transformer(),
        make_equal("8 MB, 4 blocks", 8u << 20, 4),
        make_equal("64 MB, 26 blocks", 64u << 20, 26),
        make_equal("2.4 GB, 32 blocks", 2400ull << 20, 32),
        make_equal("2.4 GB, 132 blocks", 2400ull << 20, 132),
        make_equal("2.4 GB, 264 blocks", 2400ull << 20, 264),
        make_equal("2.4 GB, 528 blocks", 2400ull << 20, 528),
        make_equal("2.4 GB, 1,056 blocks", 2400ull << 20, 1056),
    };
    const size_t num = sizeof(chains) / sizeof(chains[0]);
    braid_device *device;
    uint64_t most = 0;
    if (braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device)) {
        printf("skipped: %s\n", braid_error_message());
        return 77;
    }
    struct driver driver = open_driver();
    for (size_t i = 0; i < num; i++)
        most = chains[i].bytes > most ? chains[i].bytes : most;
    struct memory memory = { .weights = allocate(device, most) };
    for (int i = 0; i < 2; i++)
        memory.vectors[i] = allocate(device, MOST_ROWS * sizeof(float));
    printf(
        "| us a frame | graph by hand, as declared | by hand, programmatic | Braid | Braid "
        "without early start | Braid on the default stream | Braid to as declared | to "
        "programmatic | early starts | prefetches |\n|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < num; i++)
        measure_chain(device, &driver, &chains[i], &memory);
    braid_memory_free(device, BRAID_MEMORY_DEVICE, memory.weights);
    for (int i = 0; i < 2; i++)
        braid_memory_free(device, BRAID_MEMORY_DEVICE, memory.vectors[i]);
    close_driver(&driver);
    braid_device_close(device);
    return 0;
}
