// SPDX-License-Identifier: Apache-2.0
// The time of an iteration of a loop whose body is a chain of kernels: Braid's loop as it comes, in
// a graph without islands, and on streams; a graph by hand with a WHILE node; and a loop of the
// host that launches the body as a graph and reads the word after each iteration.
#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/cuda_layouts.h"
#include "backends/gpu/gpu_backend.h"
#include "gpu/bench.h"

enum {
    ITERATIONS = 1000,
    FRAMES = 9,
    THREADS = 256,
    MOST_BLOCKS = 1056,
    ASSIGN_DEFAULT = 1, // CU_GRAPH_COND_ASSIGN_DEFAULT
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

static const char test_text[] =
    ".version 8.3\n"
    ".target sm_90\n"
    ".address_size 64\n"
    ".extern .func cudaGraphSetConditional(.param .b64 to, .param .b32 value);\n"
    ".visible .entry test(.param .u64 left, .param .u64 condition)\n"
    "{\n"
    "    .reg .b32 %r0;\n"
    "    .reg .b64 %d<2>;\n"
    "    .param .b64 to;\n"
    "    .param .b32 value;\n"
    "    ld.param.u64 %d0, [left];\n"
    "    ld.param.u64 %d1, [condition];\n"
    "    ld.global.u32 %r0, [%d0];\n"
    "    st.param.b64 [to], %d1;\n"
    "    st.param.b32 [value], %r0;\n"
    "    call.uni cudaGraphSetConditional, (to, value);\n"
    "    ret;\n"
    "}\n";

struct iteration {
    uint32_t num_nodes, num_blocks;
    float *values;
    uint32_t *left;
};

// ---- by hand ----

struct hand {
    const struct gpu_api *api;
    gpu_context context;
    gpu_module modules[3];
    gpu_function work, count, test;
    gpu_stream stream;
    uint32_t *word; // pinned
};

struct hand_graph {
    const struct hand *hand;
    const struct iteration *body;
    gpu_graph graph;
    gpu_executable executable;
};

static struct hand open_hand(const struct driver *driver)
{
    struct hand hand = { .api = driver->api, .context = gpu_from(driver->backend)->context };
    void *word;
    hand.work = load_kernel(driver, &work, &hand.modules[0]);
    hand.count = load_kernel(driver, &count, &hand.modules[1]);
    must_call(hand.api->module_load(&hand.modules[2], test_text), "cuModuleLoadData");
    must_call(hand.api->module_function(&hand.test, hand.modules[2], "test"),
              "cuModuleGetFunction");
    must_call(hand.api->stream_create(&hand.stream, GPU_STREAM_NON_BLOCKING, 0),
              "cuStreamCreateWithPriority");
    must_call(hand.api->host_allocate(&word, sizeof(*hand.word), GPU_HOST_PORTABLE),
              "cuMemHostAlloc");
    hand.word = word;
    return hand;
}

static void close_hand(struct hand *hand)
{
    must_call(hand->api->host_free(hand->word), "cuMemFreeHost");
    must_call(hand->api->stream_destroy(hand->stream), "cuStreamDestroy");
    for (int i = 0; i < 3; i++)
        must_call(hand->api->module_unload(hand->modules[i]), "cuModuleUnload");
}

static gpu_node add_kernel(const struct hand *hand, gpu_graph graph, gpu_node after,
                           gpu_function function, uint32_t blocks, uint32_t threads, void **args)
{
    struct cuda_kernel_parameters parameters = {
        .function = function, .grid = { blocks, 1, 1 }, .block = { threads, 1, 1 }, .args = args
    };
    gpu_node node;
    must_call(hand->api->graph_add_kernel(&node, graph, &after, after != NULL, &parameters),
              "cuGraphAddKernelNode");
    return node;
}

static gpu_node add_chain(const struct hand *hand, const struct iteration *body, gpu_graph graph)
{
    float *values = body->values;
    uint32_t *left = body->left;
    void *args[] = { &values, &left };
    gpu_node last = NULL;
    for (uint32_t i = 0; i < body->num_nodes; i++)
        last = add_kernel(hand, graph, last, i + 1 < body->num_nodes ? hand->work : hand->count,
                          body->num_blocks, THREADS, args);
    return last;
}

static void instantiate(struct hand_graph *made)
{
    must_call(made->hand->api->graph_instantiate(&made->executable, made->graph, 0),
              "cuGraphInstantiateWithFlags");
}

static struct hand_graph make_while(const struct hand *hand, const struct iteration *body)
{
    struct hand_graph made = { .hand = hand, .body = body };
    const struct gpu_api *api = hand->api;
    uint32_t *left = body->left;
    uint64_t condition;
    gpu_node start, loop;
    const struct cuda_fill_parameters fill = { .to = (uint64_t)(uintptr_t)left,
                                               .value = ITERATIONS,
                                               .value_bytes = 4,
                                               .width = 1,
                                               .height = 1 };
    must_call(api->graph_create(&made.graph, 0), "cuGraphCreate");
    must_call(api->graph_add_fill(&start, made.graph, NULL, 0, &fill, hand->context),
              "cuGraphAddMemsetNode");
    must_call(api->graph_create_condition(&condition, made.graph, hand->context, 1, ASSIGN_DEFAULT),
              "cuGraphConditionalHandleCreate");
    struct cuda_loop_parameters parameters = { .type = GPU_NODE_CONDITIONAL,
                                               .condition = condition,
                                               .condition_type = GPU_CONDITION_WHILE,
                                               .num_bodies = 1,
                                               .context = hand->context };
    must_call(api->graph_add_node(&loop, made.graph, &start, NULL, 1, &parameters),
              "cuGraphAddNode");
    gpu_node last = add_chain(hand, body, parameters.bodies[0]);
    add_kernel(hand, parameters.bodies[0], last, hand->test, 1, 1, (void *[]){ &left, &condition });
    instantiate(&made);
    return made;
}

static struct hand_graph make_body(const struct hand *hand, const struct iteration *body)
{
    struct hand_graph made = { .hand = hand, .body = body };
    must_call(hand->api->graph_create(&made.graph, 0), "cuGraphCreate");
    add_chain(hand, body, made.graph);
    instantiate(&made);
    return made;
}

static void free_hand_graph(struct hand_graph *made)
{
    must_call(made->hand->api->executable_destroy(made->executable), "cuGraphExecDestroy");
    must_call(made->hand->api->graph_destroy(made->graph), "cuGraphDestroy");
}

static void launch_while(void *user)
{
    const struct hand_graph *made = user;
    must_call(made->hand->api->executable_launch(made->executable, made->hand->stream),
              "cuGraphLaunch");
}

static void wait_for_hand(void *user)
{
    const struct hand *hand = ((const struct hand_graph *)user)->hand;
    must_call(hand->api->stream_synchronize(hand->stream), "cuStreamSynchronize");
}

static void loop_on_host(void *user)
{
    const struct hand_graph *made = user;
    const struct hand *hand = made->hand;
    must_call(hand->api->fill32(made->body->left, ITERATIONS, 1, hand->stream), "cuMemsetD32Async");
    do {
        launch_while(user);
        must_call(hand->api->copy(hand->word, made->body->left, 4, hand->stream), "cuMemcpyAsync");
        wait_for_hand(user);
    } while (*(volatile uint32_t *)hand->word);
}

// ---- with Braid ----

struct planned {
    braid_exec *exec;
    braid_node loop;
};

static void add_body(braid_graph *graph, const struct iteration *body, braid_resource values,
                     braid_resource left)
{
    for (uint32_t i = 0; i < body->num_nodes; i++) {
        bool is_last = i + 1 == body->num_nodes;
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

enum { CHOSEN, AS_GRAPH, ON_STREAMS, BY_HAND, ON_HOST, NUM_WAYS };

static void measure_body(braid_device *device, const struct hand *hand,
                         const struct iteration *body)
{
    const braid_exec_options without = { .mode = BRAID_MODE_GRAPH, .islands = BRAID_ISLANDS_NEVER };
    const braid_exec_options as_streams = { .mode = BRAID_MODE_STREAMS };
    struct planned chosen = make_planned(device, body, NULL);
    struct planned graph = make_planned(device, body, &without);
    struct planned streams = make_planned(device, body, &as_streams);
    struct hand_graph by_hand = make_while(hand, body), alone = make_body(hand, body);
    const struct system systems[NUM_WAYS] = {
        [CHOSEN] = { .launch = launch_planned, .wait = wait_for_planned, .user = &chosen },
        [AS_GRAPH] = { .launch = launch_planned, .wait = wait_for_planned, .user = &graph },
        [ON_STREAMS] = { .launch = launch_planned, .wait = wait_for_planned, .user = &streams },
        [BY_HAND] = { .launch = launch_while, .wait = wait_for_hand, .user = &by_hand },
        [ON_HOST] = { .launch = loop_on_host, .wait = wait_for_hand, .user = &alone },
    };
    struct timing timings[NUM_WAYS];
    measure(systems, NUM_WAYS, FRAMES, timings);
    check_planned(&chosen);
    check_planned(&graph);
    check_planned(&streams);
    printf("| %u | %u |", body->num_nodes, body->num_blocks);
    for (int way = 0; way < NUM_WAYS; way++)
        printf(" %.2f |", timings[way].total_us / ITERATIONS);
    printf(" %.2f | %.2f | %.2f | %.2f |\n", timings[CHOSEN].total_us / timings[BY_HAND].total_us,
           timings[AS_GRAPH].total_us / timings[BY_HAND].total_us,
           timings[ON_STREAMS].total_us / timings[BY_HAND].total_us,
           timings[ON_HOST].total_us / timings[CHOSEN].total_us);
    fflush(stdout);
    braid_exec_destroy(chosen.exec);
    braid_exec_destroy(graph.exec);
    braid_exec_destroy(streams.exec);
    free_hand_graph(&by_hand);
    free_hand_graph(&alone);
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
        printf("skipped: %s\n", braid_error_message());
        return 77;
    }
    struct driver driver = open_driver();
    if (!driver.api->graph_add_node || !driver.api->graph_create_condition) {
        printf("skipped: the driver has no graphs that loop\n");
        return 77;
    }
    struct hand hand = open_hand(&driver);
    struct iteration body = { .values = allocate(device, sizeof(float) * MOST_BLOCKS * THREADS),
                              .left = allocate(device, sizeof(*body.left)) };
    printf("| nodes | blocks | Braid, us an iteration | without islands | on streams | WHILE node "
           "by hand | host loop | Braid to by hand | without islands to by hand | streams to by "
           "hand | host loop to Braid |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 4; k++) {
            body.num_nodes = nodes[k];
            body.num_blocks = blocks[i];
            measure_body(device, &hand, &body);
        }
    }
    braid_memory_free(device, BRAID_MEMORY_DEVICE, body.values);
    braid_memory_free(device, BRAID_MEMORY_DEVICE, body.left);
    close_hand(&hand);
    close_driver(&driver);
    braid_device_close(device);
    return 0;
}
