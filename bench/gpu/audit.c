// SPDX-License-Identifier: Apache-2.0
// What an audit takes on the GPU, beside the same nodes one after another: chains of one kernel.
//
// Each time is the difference between a long and a short chain, a node. So neither compiling nor
// anything else that is done once counts. An audit makes an exec, whose time stands apart.
#include <stdio.h>
#include <stdlib.h>

#include "gpu/bench.h"

enum { SHORT = 20, LONG = 220, RUNS = 7, NUM_FLOATS = 1 << 24, SIDE = 512 };

static const char source[] =
    "extern \"C\" __global__ void nothing(float *to, const float *from, int num)\n"
    "{\n"
    "    if (threadIdx.x == 0)\n"
    "        to[0] = from[0];\n"
    "}\n"
    "extern \"C\" __global__ void saxpy(float *to, const float *from, int num)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < num)\n"
    "        to[i] += 3 * from[i];\n"
    "}\n"
    "extern \"C\" __global__ void stencil(float *to, const float *from, int num)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x, row = 4096;\n"
    "    if (i >= row && i < num - row)\n"
    "        to[i] = from[i - row] + from[i - 1] + from[i] + from[i + 1] + from[i + row];\n"
    "}\n"
    "extern \"C\" __global__ void product(float *to, const float *from, int num)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x, side = 512;\n"
    "    float sum = 0;\n"
    "    for (int k = 0; k < side; k++)\n"
    "        sum += from[i / side * side + k] * from[k * side + i % side];\n"
    "    to[i] = sum;\n"
    "}\n"
    "extern \"C\" __global__ void strided(float *to, const float *from, int num)\n"
    "{\n"
    "    float sum = 0;\n"
    "    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < num; i += gridDim.x * "
    "blockDim.x)\n"
    "        sum += from[i] * from[i];\n"
    "    atomicAdd(to, sum);\n"
    "}\n"
    "extern \"C\" __global__ void histogram(unsigned *to, const unsigned *from, int num)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < num)\n"
    "        atomicAdd(&to[(from[i] + i * 7919) % 65536], 1);\n"
    "}\n";

static const struct row {
    braid_kernel kernel;
    uint32_t blocks, threads;
} rows[] = {
    { { .name = "nothing", .source = source }, 1, 32 },
    { { .name = "saxpy", .source = source }, NUM_FLOATS / 256, 256 },
    { { .name = "stencil", .source = source }, NUM_FLOATS / 256, 256 },
    { { .name = "product", .source = source }, SIDE *SIDE / 256, 256 },
    { { .name = "strided", .source = source }, 1024, 256 },
    { { .name = "histogram", .source = source }, NUM_FLOATS / 256, 256 },
};

enum { MOST_OTHERS = 500, OTHER_BYTES = 64 };

struct memory {
    void *to, *from;
    char *others; // buffers that no node uses
    uint32_t num_others;
};

static braid_graph *make_chain(const struct row *row, const struct memory *memory, int num_nodes)
{
    const int num = NUM_FLOATS;
    const uint64_t bytes = NUM_FLOATS * sizeof(float);
    braid_graph *graph;
    braid_resource to, from, other;
    must(braid_graph_create(&graph));
    must(braid_graph_add_buffer(graph, "to", memory->to, bytes, &to));
    must(braid_graph_add_buffer(graph, "from", memory->from, bytes, &from));
    for (uint32_t i = 0; i < memory->num_others; i++)
        must(braid_graph_add_buffer(graph, "other", memory->others + i * (size_t)OTHER_BYTES,
                                    OTHER_BYTES, &other));
    for (int i = 0; i < num_nodes; i++) {
        const braid_kernel_node node = {
            .kernel = &row->kernel,
            .grid.x = row->blocks,
            .block.x = row->threads,
            BRAID_ARGS(BRAID_ARG(memory->to), BRAID_ARG(memory->from), BRAID_ARG(num)),
            BRAID_ACCESSES({ to, BRAID_READ_WRITE }, { from, BRAID_READ }),
        };
        must(braid_graph_add_kernel(graph, &node, NULL));
    }
    return graph;
}

// All in us, of one chain.
struct times {
    double frame, making, audit;
};

static struct times time_chain(braid_device *device, const struct row *row,
                               const struct memory *memory, int num_nodes)
{
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS };
    double frame[RUNS], making[RUNS], audit[RUNS];
    braid_graph *graph = make_chain(row, memory, num_nodes);
    for (int run = 0; run < RUNS; run++) {
        braid_exec *exec;
        size_t num_findings;
        double start = now_us();
        must(braid_exec_create(device, graph, &(braid_exec_options){ 0 }, &exec));
        making[run] = now_us() - start;
        braid_exec_destroy(exec);
        must(braid_exec_create(device, graph, &options, &exec));
        must(braid_exec_launch(exec, NULL));
        must(braid_exec_wait(exec));
        start = now_us();
        must(braid_exec_launch(exec, NULL));
        must(braid_exec_wait(exec));
        frame[run] = now_us() - start;
        braid_exec_destroy(exec);
        start = now_us();
        must(braid_graph_audit(graph, device, NULL, &num_findings));
        audit[run] = now_us() - start;
        if (num_findings)
            printf("%s: %zu findings\n", row->kernel.name, num_findings);
    }
    braid_graph_destroy(graph);
    return (struct times){ median(frame, RUNS), median(making, RUNS), median(audit, RUNS) };
}

// Prints the costs of a node.
static double print_row(braid_device *device, const struct row *row, const struct memory *memory)
{
    struct times few = time_chain(device, row, memory, SHORT);
    struct times many = time_chain(device, row, memory, LONG);
    double frame = (many.frame - few.frame) / (LONG - SHORT);
    double making = (many.making - few.making) / (LONG - SHORT);
    double audit = (many.audit - few.audit) / (LONG - SHORT) - making;
    printf("| %s, %u buffers | %.1f | %.1f | %.1f | %.2f |\n", row->kernel.name,
           memory->num_others + 2, frame, making, audit, audit / frame);
    fflush(stdout);
    return audit / frame;
}

int main(void)
{
    braid_device *device;
    if (braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device)) {
        printf("skipped: %s\n", braid_error_get_message());
        return 77;
    }
    struct memory memory = { 0 };
    void *others;
    const uint64_t bytes = NUM_FLOATS * sizeof(float);
    double most = 0;
    must(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, bytes, &memory.to));
    must(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, bytes, &memory.from));
    must(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, MOST_OTHERS * OTHER_BYTES, &others));
    memory.others = others;
    must(braid_stream_fill(braid_device_get_default_stream(device), memory.from, 0, 4, NUM_FLOATS));
    must(braid_stream_wait(braid_device_get_default_stream(device)));
    printf("| chain of | a node, us | making its exec | auditing it | times the node |\n"
           "|---|---|---|---|---|\n");
    for (int many = 0; many < 2; many++) {
        memory.num_others = many ? MOST_OTHERS : 0;
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            double times = print_row(device, &rows[i], &memory);
            most = times > most ? times : most;
        }
    }
    printf("summary: an audit takes at most %.2f times the frame\n", most);
    braid_memory_free(device, memory.to);
    braid_memory_free(device, memory.from);
    braid_memory_free(device, others);
    must(braid_device_close(device));
    return 0;
}
