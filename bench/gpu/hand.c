// SPDX-License-Identifier: Apache-2.0
// Graphs with WHILE nodes by hand, and a loop of the host that reads a word.
#include "gpu/hand.h"

#include "backends/gpu/gpu_backend.h"

enum { ASSIGN_DEFAULT = 1 }; // CU_GRAPH_COND_ASSIGN_DEFAULT

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

struct hand hand_open(const struct driver *driver)
{
    struct hand hand = { .api = driver->api, .context = gpu_from(driver->backend)->context };
    void *word;
    must_call(hand.api->module_load(&hand.module, test_text), "cuModuleLoadData");
    must_call(hand.api->module_function(&hand.test, hand.module, "test"), "cuModuleGetFunction");
    must_call(hand.api->stream_create(&hand.stream, GPU_STREAM_NON_BLOCKING, 0),
              "cuStreamCreateWithPriority");
    must_call(hand.api->host_allocate(&word, sizeof(*hand.word), GPU_HOST_PORTABLE),
              "cuMemHostAlloc");
    hand.word = word;
    return hand;
}

void hand_close(struct hand *hand)
{
    must_call(hand->api->host_free(hand->word), "cuMemFreeHost");
    must_call(hand->api->stream_destroy(hand->stream), "cuStreamDestroy");
    must_call(hand->api->module_unload(hand->module), "cuModuleUnload");
}

struct hand_graph hand_begin_graph(const struct hand *hand)
{
    struct hand_graph made = { .hand = hand };
    must_call(hand->api->graph_create(&made.graph, 0), "cuGraphCreate");
    return made;
}

gpu_node hand_add_kernel(const struct hand *hand, gpu_graph graph, gpu_node after,
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

struct hand_while hand_add_while(const struct hand *hand, gpu_graph graph, gpu_node after)
{
    struct hand_while loop;
    must_call(
        hand->api->graph_create_condition(&loop.condition, graph, hand->context, 1, ASSIGN_DEFAULT),
        "cuGraphConditionalHandleCreate");
    struct cuda_loop_parameters parameters = { .type = GPU_NODE_CONDITIONAL,
                                               .condition = loop.condition,
                                               .condition_type = GPU_CONDITION_WHILE,
                                               .num_bodies = 1,
                                               .context = hand->context };
    must_call(
        hand->api->graph_add_node(&loop.node, graph, &after, NULL, after != NULL, &parameters),
        "cuGraphAddNode");
    loop.body = parameters.bodies[0];
    return loop;
}

void hand_end_while(const struct hand *hand, const struct hand_while *loop, gpu_node last,
                    uint32_t *word)
{
    uint64_t condition = loop->condition;
    hand_add_kernel(hand, loop->body, last, hand->test, 1, 1, (void *[]){ &word, &condition });
}

void hand_instantiate(struct hand_graph *made)
{
    must_call(made->hand->api->graph_instantiate(&made->executable, made->graph, 0),
              "cuGraphInstantiateWithFlags");
}

void hand_free_graph(struct hand_graph *made)
{
    must_call(made->hand->api->executable_destroy(made->executable), "cuGraphExecDestroy");
    must_call(made->hand->api->graph_destroy(made->graph), "cuGraphDestroy");
}

void hand_launch(const struct hand_graph *made)
{
    must_call(made->hand->api->executable_launch(made->executable, made->hand->stream),
              "cuGraphLaunch");
}

void hand_wait(const struct hand *hand)
{
    must_call(hand->api->stream_synchronize(hand->stream), "cuStreamSynchronize");
}

uint32_t hand_read(const struct hand *hand, uint32_t *word)
{
    must_call(hand->api->copy(hand->word, word, sizeof(*word), hand->stream), "cuMemcpyAsync");
    hand_wait(hand);
    return *(volatile uint32_t *)hand->word;
}
