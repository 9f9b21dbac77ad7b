// SPDX-License-Identifier: Apache-2.0
// What black boxes name of failures on a GPU, and what they cost.
//
//   bench_gpu_black_box fail KIND MODE   one failure, in a process of its own: prints the nodes
//   named bench_gpu_black_box cost             frames with and without one
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <braid/braid.h>

enum { NUM_NODES = 100, FRAMES = 200, ROUNDS = 9, LANES = 4, DEADLINE_MS = 300, CYCLES = 3400 };

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != BRAID_OK) {                                                                  \
            printf("%s: %s\n", #call, braid_error_get_message());                                  \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

// A kernel takes 2 us on an H100 and an H200.
static const braid_kernel busy = {
    .name = "busy",
    .source = "extern \"C\" __global__ void busy(float *values, unsigned cycles)\n"
              "{\n"
              "    const long long begin = clock64();\n"
              "    while (clock64() - begin < cycles) {}\n"
              "    values[blockIdx.x * blockDim.x + threadIdx.x] += 1;\n"
              "}\n",
};

static const braid_kernel faulty = {
    .name = "faulty",
    .source = "extern \"C\" __global__ void faulty(volatile unsigned *words, unsigned *memory)\n"
              "{\n"
              "    const unsigned kind = words[0];\n"
              "    const long long begin = clock64();\n"
              "    while (kind && clock64() - begin < 500000) {}\n" // the other lane ends first
              "    if (kind == 1) memory[0] = *(volatile unsigned *)0;\n"
              "    if (kind == 2) memory[1ull << 40] = 1;\n"
              "    if (kind == 7) { memory[1ull << 40] = 1; return; }\n"
              "    if (kind == 3) asm(\"trap;\");\n"
              "    while (kind == 4) words[2] += 1;\n"
              "    while (kind == 5 && words[1] == 0) {}\n"
              "    memory[threadIdx.x] += 1;\n"
              "}\n",
};

static const char *const kinds[] = { "none", "null",     "bounds", "trap", "endless",
                                     "wait", "hostcall", "store",  NULL };

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void maybe_block(void *user)
{
    const volatile uint32_t *words = user;
    while (words[0] == 6)
        usleep(1000);
}

static braid_exec_options options_of(const char *mode)
{
    braid_exec_options options = { .black_box = true };
    options.mode = strcmp(mode, "streams") == 0 ? BRAID_MODE_STREAMS : BRAID_MODE_GRAPH;
    options.islands = strcmp(mode, "island") == 0 ? BRAID_ISLANDS_WHOLE : BRAID_ISLANDS_NEVER;
    options.max_lanes = BRAID_ALL_LANES;
    options.fixed_lanes = true;
    return options;
}

static braid_node add_busy(braid_graph *graph, const char *name, const braid_node *after,
                           size_t num_after, float *values, uint32_t cycles)
{
    braid_node node;
    CHECK(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .kernel = &busy,
                              .node = { .name = name, .after = after, .num_after = num_after },
                              .block = { 32, 1, 1 },
                              BRAID_ARGS(BRAID_ARG(values), BRAID_ARG(cycles)) },
        &node));
    return node;
}

static void build_failing(braid_graph *graph, bool has_call, uint32_t *words, uint32_t *memory,
                          float *values)
{
    braid_node first = add_busy(graph, "first", NULL, 0, values, 1000), beside = first, bad,
               ends[2];
    for (int i = 0; i < 4; i++)
        beside = add_busy(graph, "beside", &beside, 1, values + 32, 1000);
    CHECK(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .kernel = &faulty,
                              .node = { .name = "faulty", .after = &first, .num_after = 1 },
                              .block = { 32, 1, 1 },
                              BRAID_ARGS(BRAID_ARG(words), BRAID_ARG(memory)) },
        &bad));
    if (has_call)
        CHECK(braid_graph_add_host_call(
            graph,
            &(braid_host_call){ .node = { .name = "blocks", .after = &bad, .num_after = 1 },
                                .call = maybe_block,
                                .user = words },
            &bad));
    ends[0] = beside;
    ends[1] = bad;
    add_busy(graph, "last", ends, 2, values, 1000);
}

// Named: the one node that fails, and no other. Hangs are reported within 10 ms of their deadline.
static void judge(braid_exec *exec, braid_status status, const char *kind, const char *mode,
                  double late_ms)
{
    const char *expected = strcmp(kind, "hostcall") == 0 ? "blocks" : "faulty";
    braid_running_node nodes[8];
    size_t num = 0;
    CHECK(braid_exec_get_running(exec, nodes, 8, &num));
    bool named = num == 1 && strcmp(nodes[0].name, expected) == 0 && nodes[0].frame == 3;
    printf("%s %s %s:", named && (status != BRAID_TIMEOUT || late_ms < 10) ? "named" : "WRONG",
           kind, mode);
    for (size_t i = 0; i < num && i < 8; i++)
        printf(" %s(frame %" PRIu64 " lane %u)", nodes[i].name, nodes[i].frame, nodes[i].lane);
    printf(" %s, %.2f ms late; %.300s\n", braid_status_get_name(status), late_ms,
           status ? braid_error_get_message() : "");
    fflush(stdout);
    _exit(0);
}

static void fail(const char *kind, const char *mode)
{
    uint32_t number = 0;
    while (kinds[number] && strcmp(kinds[number], kind) != 0)
        number++;
    void *words, *memory, *values;
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    braid_exec_options options = options_of(mode);
    CHECK(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
    CHECK(braid_memory_allocate(device, BRAID_MEMORY_HOST, 64, &words));
    CHECK(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, 4096, &memory));
    CHECK(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, 4096, &values));
    memset(words, 0, 64);
    CHECK(braid_graph_create(&graph));
    build_failing(graph, strcmp(kind, "hostcall") == 0, words, memory, values);
    CHECK(braid_exec_create(device, graph, &options, &exec));
    for (int i = 0; i < 3; i++)
        CHECK(braid_exec_launch(exec, NULL));
    CHECK(braid_exec_wait(exec));
    *(volatile uint32_t *)words = number;
    CHECK(braid_exec_launch(exec, NULL));
    uint64_t begin = now_ns();
    braid_status status =
        braid_exec_wait_for(exec, BRAID_LAST_FRAME, DEADLINE_MS * UINT64_C(1000000));
    double ms = (double)(now_ns() - begin) / 1e6 - DEADLINE_MS;
    judge(exec, status, kind, mode, ms);
}

// A chain, or lanes that all meet after every few nodes.
static void build_busy(braid_graph *graph, uint32_t num_lanes, float *values)
{
    braid_node nodes[NUM_NODES];
    uint32_t num = 0;
    for (uint32_t i = 0; i < NUM_NODES; i++) {
        uint32_t of_row = i % num_lanes, row = i - of_row;
        bool meets = num_lanes > 1 && row && row / num_lanes % 5 == 0;
        const braid_node *after = meets ? &nodes[row - num_lanes] : &nodes[i - num_lanes];
        nodes[num++] = add_busy(graph, "busy", after,
                                i < num_lanes ? 0
                                : meets       ? num_lanes
                                              : 1,
                                values + 32 * of_row, CYCLES);
    }
}

static double time_frames(braid_exec *exec)
{
    uint64_t begin = now_ns();
    for (int i = 0; i < FRAMES; i++)
        CHECK(braid_exec_launch(exec, NULL));
    CHECK(braid_exec_wait(exec));
    return (double)(now_ns() - begin) / 1e3 / FRAMES;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(braid_device *device, float *values, const char *mode, uint32_t num_lanes)
{
    double times[2][ROUNDS];
    braid_exec *execs[2];
    braid_graph *graph;
    CHECK(braid_graph_create(&graph));
    build_busy(graph, num_lanes, values);
    for (int with = 0; with < 2; with++) {
        braid_exec_options options = options_of(mode);
        options.black_box = with;
        CHECK(braid_exec_create(device, graph, &options, &execs[with]));
        (void)time_frames(execs[with]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int with = 0; with < 2; with++)
            times[with][round] = time_frames(execs[with]);
    }
    for (int with = 0; with < 2; with++) {
        qsort(times[with], ROUNDS, sizeof(double), compare);
        braid_exec_destroy(execs[with]);
    }
    double without = times[0][ROUNDS / 2], with = times[1][ROUNDS / 2];
    printf("%-8s %u lanes: %8.2f us a frame without, %8.2f with a black box: %+.2f %%\n", mode,
           num_lanes, without, with, (with / without - 1) * 100);
    braid_graph_destroy(graph);
}

static void cost(void)
{
    braid_device *device;
    void *values;
    CHECK(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
    CHECK(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, 4096, &values));
    const char *const modes[] = { "streams", "graph", "island" };
    for (int i = 0; i < 3; i++) {
        measure(device, values, modes[i], 1);
        measure(device, values, modes[i], LANES);
    }
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "fail") == 0)
        fail(argv[2], argv[3]);
    cost();
    return 0;
}
