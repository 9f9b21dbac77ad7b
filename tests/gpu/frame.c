// SPDX-License-Identifier: Apache-2.0
// A frame for the tests of the GPU backend, its kernel, and what it computes.
#include "gpu/frame.h"

#include <string.h>

const char sum_image[] = ".version 7.0\n"
                         ".target sm_70\n"
                         ".address_size 64\n"
                         ".visible .entry sum(.param .u64 to, .param .u64 a, .param .u64 b,\n"
                         "                    .param .u32 c)\n"
                         "{\n"
                         "    .reg .b64 %address<3>;\n"
                         "    .reg .b32 %value<3>;\n"
                         "    ld.param.u64 %address0, [to];\n"
                         "    ld.param.u64 %address1, [a];\n"
                         "    ld.param.u64 %address2, [b];\n"
                         "    ld.param.u32 %value0, [c];\n"
                         "    ld.global.u32 %value1, [%address1];\n"
                         "    ld.global.u32 %value2, [%address2];\n"
                         "    add.u32 %value0, %value0, %value1;\n"
                         "    add.u32 %value0, %value0, %value2;\n"
                         "    st.global.u32 [%address0], %value0;\n"
                         "    ret;\n"
                         "}\n";

// HIP has no common text form: there the kernel is compiled.
static const char sum_source[] =
    "extern \"C\" __global__ void sum(unsigned *to, unsigned *a, unsigned *b, unsigned c)\n"
    "{\n"
    "    *to = *a + *b + c;\n"
    "}\n";

static void sum_on_cpu(const braid_blocks *blocks, void *const *args)
{
    if (blocks->begin > 0) // workers share the blocks, and one is enough
        return;
    **(uint32_t **)args[0] = **(uint32_t **)args[1] + **(uint32_t **)args[2] + *(uint32_t *)args[3];
}

const braid_kernel sum_kernel = {
    .name = "sum",
    .cpu = sum_on_cpu,
    .cuda = { .data = sum_image },
    .source = sum_source,
};

__attribute__((visibility("default"))) void braid_standin_sum(const unsigned grid[3],
                                                              const unsigned block[3],
                                                              unsigned shared_bytes, void **args);

void braid_standin_sum(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                       void **args)
{
    uint32_t *to, *a, *b, c;
    (void)grid, (void)block, (void)shared_bytes;
    memcpy(&to, args[0], sizeof(to));
    memcpy(&a, args[1], sizeof(a));
    memcpy(&b, args[2], sizeof(b));
    memcpy(&c, args[3], sizeof(c));
    *to = *a + *b + c;
}

__attribute__((visibility("default"))) void braid_standin_braid_root(const unsigned grid[3],
                                                                     const unsigned block[3],
                                                                     unsigned shared_bytes,
                                                                     void **args);

// The kernel that Braid puts before the many roots of a driver graph.
void braid_standin_braid_root(const unsigned grid[3], const unsigned block[3],
                              unsigned shared_bytes, void **args)
{
    (void)grid, (void)block, (void)shared_bytes, (void)args;
}

braid_status frame_open(struct frame *frame, const char *backend)
{
    *frame = (struct frame){ 0 };
    void *memory = NULL;
    const uint64_t bytes = FRAME_WORDS * sizeof(uint32_t);
    braid_status status =
        braid_device_open(&(braid_device_options){ .backend = backend }, &frame->device);
    if (!status)
        status = braid_memory_allocate(frame->device, BRAID_MEMORY_DEVICE, bytes, &memory);
    if (!status) {
        frame->words = memory;
        status = braid_memory_allocate(frame->device, BRAID_MEMORY_HOST, bytes, &memory);
    }
    if (!status) {
        frame->read = memory;
        status = braid_stream_create(frame->device, NULL, &frame->stream);
    }
    if (status)
        frame_finish(frame);
    return status;
}

static void count_host_call(void *user)
{
    ++*(atomic_int *)user;
}

static braid_status copy_word(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    const struct frame *frame = user;
    return braid_stream_copy(stream, &frame->words[5], &frame->words[4], sizeof(uint32_t));
}

static braid_status add_sum(braid_graph *graph, uint32_t *to, uint32_t *a, uint32_t *b, uint32_t c,
                            const braid_node *after, size_t num_after, braid_node *out_node)
{
    const braid_kernel_node launch = {
        .node = { .after = after, .num_after = num_after },
        .kernel = &sum_kernel,
        BRAID_ARGS(BRAID_ARG(to), BRAID_ARG(a), BRAID_ARG(b), BRAID_ARG(c)),
    };
    return braid_graph_add_kernel(graph, &launch, out_node);
}

// By a queue call, except on the CPU, whose own replay has none.
static braid_status add_last_copy(struct frame *frame, braid_graph *graph, braid_node after)
{
    const braid_queue_call queued = {
        .node = { .name = "graph", .after = &after, .num_after = 1 },
        .call = copy_word,
        .user = frame,
    };
    const braid_copy copy = {
        .node = { .name = "copy last", .after = &after, .num_after = 1 },
        .to = &frame->words[5],
        .from = &frame->words[4],
        .bytes = sizeof(uint32_t),
    };
    braid_device_info info = { 0 };
    braid_device_get_info(frame->device, &info);
    return strcmp(info.backend, "cpu") == 0 ? braid_graph_add_copy(graph, &copy, NULL)
                                            : braid_graph_add_queue_call(graph, &queued, NULL);
}

static braid_status fill_graph(struct frame *frame, braid_graph *graph)
{
    uint32_t *words = frame->words;
    braid_node fill = { 0 }, other = { 0 }, copy = { 0 }, host = { 0 }, join = { 0 }, last = { 0 };
    const braid_fill filled = {
        .node = { .name = "fill" },
        .to = words,
        .value = 3,
        .value_bytes = 4,
        .num_values = 1,
    };
    braid_status status = braid_graph_add_fill(graph, &filled, &fill);
    if (!status)
        status = add_sum(graph, &words[1], words, words, 0, &fill, 1, &frame->summed);
    if (!status)
        status = add_sum(graph, &words[2], words, words, 1, &fill, 1, &other);
    const braid_copy copied = {
        .node = { .name = "copy", .after = &other, .num_after = 1 },
        .to = &words[3],
        .from = &words[2],
        .bytes = sizeof(uint32_t),
    };
    if (!status)
        status = braid_graph_add_copy(graph, &copied, &copy);
    const braid_host_call call = {
        .node = { .name = "count", .after = &fill, .num_after = 1 },
        .call = count_host_call,
        .user = &frame->num_host_calls,
    };
    if (!status)
        status = braid_graph_add_host_call(graph, &call, &host);
    const braid_copy out = {
        .node = { .name = "copy out", .after = &copy, .num_after = 1 },
        .to = &frame->own,
        .from = &words[3],
        .bytes = sizeof(uint32_t),
    };
    if (!status)
        status = braid_graph_add_copy(graph, &out, NULL);
    const braid_node before[] = { frame->summed, copy, host };
    if (!status)
        status = braid_graph_add_empty(
            graph, &(braid_empty){ .node = { .name = "join", .after = before, .num_after = 3 } },
            &join);
    if (!status)
        status = add_sum(graph, &words[4], &words[1], &words[3], 0, &join, 1, &last);
    return status ? status : add_last_copy(frame, graph, last);
}

braid_status frame_create_exec(struct frame *frame, braid_exec_mode mode)
{
    braid_graph *graph = NULL;
    braid_status status = braid_graph_create(&graph);
    if (!status)
        status = fill_graph(frame, graph);
    const braid_exec_options options = {
        .mode = mode,
        .max_lanes = 3,
        .fixed_lanes = true,
    };
    if (!status)
        status = braid_exec_create(frame->device, graph, &options, &frame->exec);
    braid_graph_destroy(graph);
    return status;
}

braid_status frame_run(struct frame *frame, uint32_t c)
{
    braid_status status = braid_exec_set_arg(frame->exec, frame->summed, 3, BRAID_ARG(c));
    if (!status)
        status = braid_exec_launch(frame->exec, frame->stream);
    if (!status)
        status = braid_exec_wait(frame->exec);
    return status;
}

braid_status frame_read(struct frame *frame)
{
    braid_status status =
        braid_stream_copy(frame->stream, frame->read, frame->words, FRAME_WORDS * sizeof(uint32_t));
    return status ? status : braid_stream_wait(frame->stream);
}

void frame_finish(struct frame *frame)
{
    braid_exec_destroy(frame->exec);
    braid_stream_destroy(frame->stream);
    if (frame->device) {
        braid_memory_free(frame->device, frame->read);
        braid_memory_free(frame->device, frame->words);
    }
    braid_device_close(frame->device);
    *frame = (struct frame){ 0 };
}

uint32_t frame_result(uint32_t c)
{
    return (3 + 3 + c) + (3 + 3 + 1);
}
