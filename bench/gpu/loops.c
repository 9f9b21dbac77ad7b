// SPDX-License-Identifier: Apache-2.0
// The time of an iteration of a loop whose body is a chain of kernels: Braid's loop as it comes, in
// a graph without islands, on streams, and with times; a graph by hand with a WHILE node; and a
// loop of the host that launches the body as a graph and reads the word after each iteration.
// Behind that, all nodes but the last in an arm of a branch, or in a loop of ten iterations.
#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/cuda_layouts.h"
#include "gpu/hand.h"

enum {
    ITERATIONS = 1000,
    FRAMES = 5,
    TURNS = 8,
    THREADS = 256,
    MOST_BLOCKS = 1056,
};

#define WORK                                                                                       \
    "    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"                                    \
    "    values[i] = values[i] * 0.5f + 1.0f;\n"

static const braid_kernel work = {
    .name = "work",
    .source = "extern \"C\" __global__ void work(float *values)\n"
              "{\n" WORK "}\n",
};

// The last kernel of a body.
static const braid_kernel count = {
    .name = "count",
    .source = "extern \"C\" __global__ void count(float *values, unsigned *left)\n"
              "{\n" WORK "    if (i == 0)\n"
              "        --*left;\n"
              "}\n",
};

enum scope { PLAIN, IN_BRANCH, IN_LOOP };

struct iteration {
    enum scope scope;
    uint32_t num_nodes, num_blocks;
    float *values;
    uint32_t *left;
};

// ---- by hand ----

struct kernels {
    gpu_module modules[2];
    gpu_function work, count;
};

struct hand_loop {
    struct hand_graph made;
    const struct iteration *body;
};

static gpu_node add_chain(const struct hand *hand, const struct kernels *kernels,
                          const struct iteration *body, gpu_graph graph)
{
    float *values = body->values;
    uint32_t *left = body->left;
    void *args[] = { &values, &left };
    gpu_node last = NULL;
    for (uint32_t i = 0; i < body->num_nodes; i++)
        last = hand_add_kernel(hand, graph, last,
                               i + 1 < body->num_nodes ? kernels->work : kernels->count,
                               body->num_blocks, THREADS, args);
    return last;
}

static struct hand_loop make_while(const struct hand *hand, const struct kernels *kernels,
                                   const struct iteration *body)
{
    struct hand_loop loop = { .made = hand_begin_graph(hand), .body = body };
    gpu_node start;
    const struct cuda_fill_parameters fill = { .to = (uint64_t)(uintptr_t)body->left,
                                               .value = ITERATIONS,
                                               .value_bytes = 4,
                                               .width = 1,
                                               .height = 1 };
    must_call(hand->api->graph_add_fill(&start, loop.made.graph, NULL, 0, &fill, hand->context),
              "cuGraphAddMemsetNode");
    struct hand_while inside = hand_add_while(hand, loop.made.graph, start);
    hand_end_while(hand, &inside, add_chain(hand, kernels, body, inside.body), body->left);
    hand_instantiate(&loop.made);
    return loop;
}

static struct hand_loop make_body(const struct hand *hand, const struct kernels *kernels,
                                  const struct iteration *body)
{
    struct hand_loop loop = { .made = hand_begin_graph(hand), .body = body };
    add_chain(hand, kernels, body, loop.made.graph);
    hand_instantiate(&loop.made);
    return loop;
}

static void launch_while(void *user)
{
    hand_launch(&((const struct hand_loop *)user)->made);
}

static void wait_for_hand(void *user)
{
    hand_wait(((const struct hand_loop *)user)->made.hand);
}

static void loop_on_host(void *user)
{
    const struct hand_loop *loop = user;
    const struct hand *hand = loop->made.hand;
    must_call(hand->api->fill32(loop->body->left, ITERATIONS, 1, hand->stream), "cuMemsetD32Async");
    do {
        hand_launch(&loop->made);
    } while (hand_read(hand, loop->body->left));
}

// ---- with Braid ----

struct planned {
    braid_exec *exec;
    braid_node loop;
};

static void add_body(braid_graph *graph, const struct iteration *body, braid_resource values,
                     braid_resource left)
{
    if (body->scope == IN_BRANCH)
        must(braid_graph_begin_if(graph, &(braid_if){ .condition = left }, NULL));
    else if (body->scope == IN_LOOP)
        must(braid_graph_begin_loop(graph, &(braid_loop){ .times = 10 }, NULL));
    for (uint32_t i = 0; i < body->num_nodes; i++) {
        bool is_last = i + 1 == body->num_nodes;
        if (is_last && body->scope)
            must(braid_graph_end(graph));
        const braid_access accesses[] = { { values, BRAID_READ_WRITE },
                                          { left, BRAID_READ_WRITE } };
        const braid_kernel_node launch = {
            .node = { .accesses = accesses, .num_accesses = is_last ? 2 : 1 },
            .kernel = is_last ? &count : &work,
            .grid = { body->num_blocks, 1, 1 },
            .block = { THREADS, 1, 1 },
            .args = (braid_arg[]){ BRAID_ARG(body->values), BRAID_ARG(body->left) },
            .num_args = is_last ? 2 : 1,
        };
        must(braid_graph_add_kernel(graph, &launch, NULL));
    }
}

static struct planned make_planned(braid_device *device, const struct iteration *body,
                                   const braid_exec_options *options)
{
    struct planned planned;
    braid_graph *graph;
    braid_resource values, left;
    must(braid_graph_create(&graph));
    must(braid_graph_add_buffer(graph, "values", body->values,
                                sizeof(float) * MOST_BLOCKS * THREADS, &values));
    must(braid_graph_add_buffer(graph, "left", body->left, sizeof(*body->left), &left));
    const braid_access writes = { left, BRAID_WRITE };
    must(braid_graph_add_fill(graph,
                              &(braid_fill){ .node = { .accesses = &writes, .num_accesses = 1 },
                                             .to = body->left,
                                             .value = ITERATIONS,
                                             .value_bytes = 4,
                                             .num_values = 1 },
                              NULL));
    must(braid_graph_begin_loop(graph, &(braid_loop){ .condition = left, .unbounded = true },
                                &planned.loop));
    add_body(graph, body, values, left);
    must(braid_graph_end(graph));
    must(braid_exec_create(device, graph, options, &planned.exec));
    braid_graph_destroy(graph);
    return planned;
}

static void launch_planned(void *user)
{
    must(braid_exec_launch(((const struct planned *)user)->exec, NULL));
}

static void wait_for_planned(void *user)
{
    must(braid_exec_wait(((const struct planned *)user)->exec));
}

static void check_planned(const struct planned *planned)
{
    uint64_t num;
    must(braid_exec_get_iterations(planned->exec, planned->loop, &num));
    if (num == ITERATIONS)
        return;
    printf("a loop had %llu iterations\n", (unsigned long long)num);
    exit(1);
}

enum { CHOSEN, AS_GRAPH, ON_STREAMS, TIMED, NUM_PLANNED, BY_HAND = NUM_PLANNED, ON_HOST, NUM_WAYS };

static const braid_exec_options options[NUM_PLANNED] = {
    [AS_GRAPH] = { .mode = BRAID_MODE_GRAPH, .islands = BRAID_ISLANDS_NEVER },
    [ON_STREAMS] = { .mode = BRAID_MODE_STREAMS },
    [TIMED] = { .frames_kept = 1 },
};

struct way {
    struct planned planned;
    struct hand_loop hand;
};

static struct system make_way(braid_device *device, const struct hand *hand,
                              const struct kernels *kernels, const struct iteration *body, int way,
                              struct way *made)
{
    if (way < NUM_PLANNED) {
        made->planned = make_planned(device, body, &options[way]);
        return (struct system){ .launch = launch_planned,
                                .wait = wait_for_planned,
                                .user = &made->planned };
    }
    made->hand = way == BY_HAND ? make_while(hand, kernels, body) : make_body(hand, kernels, body);
    return (struct system){ .launch = way == BY_HAND ? launch_while : loop_on_host,
                            .wait = wait_for_hand,
                            .user = &made->hand };
}

static void free_way(int way, struct way *made)
{
    if (way >= NUM_PLANNED) {
        hand_free_graph(&made->hand.made);
        return;
    }
    check_planned(&made->planned);
    braid_exec_destroy(made->planned.exec);
}

// The same graph takes up to 6 % longer if the driver has put it elsewhere in memory. So each way
// is made several times, in another order each time. Adds up the microseconds.
static void measure_once(braid_device *device, const struct hand *hand,
                         const struct kernels *kernels, const struct iteration *body, int turn,
                         double *sums)
{
    struct way ways[NUM_WAYS];
    struct system systems[NUM_WAYS];
    struct timing timings[NUM_WAYS];
    for (int i = 0; i < NUM_WAYS; i++) {
        int way = (turn % 2 ? NUM_WAYS - 1 - i : i) + turn / 2;
        way %= NUM_WAYS;
        systems[way] = make_way(device, hand, kernels, body, way, &ways[way]);
    }
    measure(systems, NUM_WAYS, FRAMES, timings);
    for (int way = 0; way < NUM_WAYS; way++) {
        sums[way] += timings[way].total_us;
        free_way(way, &ways[way]);
    }
}

static void measure_body(braid_device *device, const struct hand *hand,
                         const struct kernels *kernels, const struct iteration *body)
{
    double sums[NUM_WAYS] = { 0 };
    for (int turn = 0; turn < TURNS; turn++)
        measure_once(device, hand, kernels, body, turn, sums);
    printf("| %u | %u |", body->num_nodes, body->num_blocks);
    for (int way = 0; way < NUM_WAYS; way++)
        printf(" %.2f |", sums[way] / TURNS / ITERATIONS);
    printf(" %.2f | %.2f | %.2f | %.2f | %.2f |\n", sums[CHOSEN] / sums[BY_HAND],
           sums[AS_GRAPH] / sums[BY_HAND], sums[ON_STREAMS] / sums[BY_HAND],
           sums[ON_HOST] / sums[CHOSEN], sums[TIMED] / sums[CHOSEN]);
    fflush(stdout);
}

static void measure_scope(braid_device *device, const struct iteration *body)
{
    static const char *const names[] = { [IN_BRANCH] = "branch", [IN_LOOP] = "loop" };
    const braid_exec_options without = { .mode = BRAID_MODE_GRAPH, .islands = BRAID_ISLANDS_NEVER };
    struct planned chosen = make_planned(device, body, NULL);
    struct planned graph = make_planned(device, body, &without);
    const struct system systems[] = {
        { .launch = launch_planned, .wait = wait_for_planned, .user = &chosen },
        { .launch = launch_planned, .wait = wait_for_planned, .user = &graph },
    };
    struct timing timings[2];
    measure(systems, 2, FRAMES, timings);
    check_planned(&chosen);
    check_planned(&graph);
    printf("| %s | %u | %u | %.2f | %.2f | %.2f |\n", names[body->scope], body->num_nodes,
           body->num_blocks, timings[0].total_us / ITERATIONS, timings[1].total_us / ITERATIONS,
           timings[0].total_us / timings[1].total_us);
    fflush(stdout);
    braid_exec_destroy(chosen.exec);
    braid_exec_destroy(graph.exec);
}

static void measure_scopes(braid_device *device, struct iteration body)
{
    static const uint32_t nodes[] = { 2, 4, 9 };
    printf(
        "\n<!-- default: Braid, us an iteration | without islands; by: scope in the body | nodes "
        "-->\n"
        "| scope in the body | nodes | blocks | Braid, us an iteration | without islands | Braid "
        "to that |\n|---|---|---|---|---|---|\n");
    for (int scope = IN_BRANCH; scope <= IN_LOOP; scope++) {
        for (int i = 0; i < 3; i++) {
            body.scope = (enum scope)scope;
            body.num_nodes = nodes[i];
            body.num_blocks = 1;
            measure_scope(device, &body);
        }
    }
}

static void *allocate(braid_device *device, uint64_t bytes)
{
    void *memory;
    must(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, bytes, &memory));
    return memory;
}

int main(void)
{
    static const uint32_t nodes[] = { 1, 3, 8, 20 }, blocks[] = { 1, 132, MOST_BLOCKS };
    braid_device *device;
    if (braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device)) {
        printf("skipped: %s\n", braid_error_get_message());
        return 77;
    }
    struct driver driver = open_driver();
    if (!driver.api->graph_add_node || !driver.api->graph_create_condition) {
        printf("skipped: the driver has no graphs that loop\n");
        return 77;
    }
    struct hand hand = hand_open(&driver);
    struct kernels kernels;
    kernels.work = load_kernel(&driver, &work, &kernels.modules[0]);
    kernels.count = load_kernel(&driver, &count, &kernels.modules[1]);
    struct iteration body = { .values = allocate(device, sizeof(float) * MOST_BLOCKS * THREADS),
                              .left = allocate(device, sizeof(*body.left)) };
    printf(
        "<!-- default: Braid, us an iteration | without islands | on streams; by: nodes | blocks "
        "-->\n"
        "| nodes | blocks | Braid, us an iteration | without islands | on streams | with times | "
        "WHILE node by hand | host loop | Braid to by hand | without islands to by hand | "
        "streams to by hand | host loop to Braid | with times to Braid "
        "|\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 4; k++) {
            body.num_nodes = nodes[k];
            body.num_blocks = blocks[i];
            measure_body(device, &hand, &kernels, &body);
        }
    }
    measure_scopes(device, body);
    braid_memory_free(device, body.values);
    braid_memory_free(device, body.left);
    for (int i = 0; i < 2; i++)
        must_call(driver.api->module_unload(kernels.modules[i]), "cuModuleUnload");
    hand_close(&hand);
    close_driver(&driver);
    braid_device_close(device);
    return 0;
}
