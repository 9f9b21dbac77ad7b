// SPDX-License-Identifier: Apache-2.0
// What an iteration of a loop costs on the CPU: eight kernels that do nothing, in a row, side by
// side and as four pairs, with two workers. Beside it the host launches and awaits a frame of the
// same eight nodes for each. The ways take turns; medians. bench_cpu_loops [TURNS]
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <braid/braid.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != BRAID_OK) {                                                                  \
            fprintf(stderr, "%s: %s\n", #call, braid_error_get_message());                         \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)

enum { NUM_NODES = 8, NUM_ITERATIONS = 2000, MOST_TURNS = 1000, NUM_SHAPES = 3, NUM_WAYS = 4 };

static const struct shape {
    const char *name;
    int stride; // each node is behind the one so many before it; 0: behind none
} shapes[NUM_SHAPES] = { { "in a row", 1 }, { "side by side", 0 }, { "four pairs", 4 } };

static const struct way {
    const char *name;
    braid_exec_mode mode;
    bool loops;
} ways[NUM_WAYS] = { { "graph, a loop", BRAID_MODE_GRAPH, true },
                     { "graph, a launch each", BRAID_MODE_GRAPH, false },
                     { "streams, a loop", BRAID_MODE_STREAMS, true },
                     { "streams, a launch each", BRAID_MODE_STREAMS, false } };

static void do_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
}

static const braid_kernel nothing = { .name = "nothing", .cpu = do_nothing };

// A lane for all that may run at once is asked for: nobody knows what nothing costs.
static braid_exec *make_exec(braid_device *device, const struct shape *shape, const struct way *way)
{
    braid_graph *graph;
    braid_node nodes[NUM_NODES];
    braid_exec *exec;
    CHECK(braid_graph_create(&graph));
    if (way->loops)
        CHECK(braid_graph_begin_loop(graph, &(braid_loop){ .times = NUM_ITERATIONS }, NULL));
    for (int i = 0; i < NUM_NODES; i++) {
        bool is_behind = shape->stride && i >= shape->stride;
        const braid_kernel_node node = {
            .node = { .after = &nodes[is_behind ? i - shape->stride : 0], .num_after = is_behind },
            .kernel = &nothing,
        };
        CHECK(braid_graph_add_kernel(graph, &node, &nodes[i]));
    }
    if (way->loops)
        CHECK(braid_graph_end(graph));
    CHECK(braid_exec_create(device, graph, &(braid_exec_options){ .mode = way->mode }, &exec));
    braid_graph_destroy(graph);
    return exec;
}

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

// Nanoseconds an iteration.
static double run(braid_exec *exec, const struct way *way)
{
    double begin = now_ns();
    for (int i = 0; i < (way->loops ? 1 : NUM_ITERATIONS); i++) {
        CHECK(braid_exec_launch(exec, NULL));
        CHECK(braid_exec_wait(exec));
    }
    return (now_ns() - begin) / NUM_ITERATIONS;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    static double ns[NUM_WAYS][MOST_TURNS];
    int num = argc > 1 ? atoi(argv[1]) : 100;
    braid_device *device;
    num = num > 0 && num <= MOST_TURNS ? num : 100;
    CHECK(
        braid_device_open(&(braid_device_options){ .backend = "cpu", .num_workers = 2 }, &device));
    printf("<!-- default: graph, a loop | streams, a loop; by: eight nodes; figures: ns an "
           "iteration, median -->\n"
           "<!-- default: graph, a launch each | streams, a launch each; by: eight nodes; figures: "
           "ns an iteration, median -->\n"
           "| eight nodes | way | ns an iteration, median | least | most "
           "|\n|---|---|---:|---:|---:|\n");
    for (int shape = 0; shape < NUM_SHAPES; shape++) {
        braid_exec *execs[NUM_WAYS];
        for (int way = 0; way < NUM_WAYS; way++)
            execs[way] = make_exec(device, &shapes[shape], &ways[way]);
        for (int turn = 0; turn < num; turn++)
            for (int way = 0; way < NUM_WAYS; way++)
                ns[way][turn] = run(execs[way], &ways[way]);
        for (int way = 0; way < NUM_WAYS; way++) {
            qsort(ns[way], (size_t)num, sizeof(ns[way][0]), compare);
            printf("| %s | %s | %.0f | %.0f | %.0f |\n", shapes[shape].name, ways[way].name,
                   ns[way][num / 2], ns[way][0], ns[way][num - 1]);
            braid_exec_destroy(execs[way]);
        }
    }
    braid_device_close(device);
    return 0;
}
