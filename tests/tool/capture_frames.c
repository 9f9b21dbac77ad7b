// SPDX-License-Identifier: Apache-2.0
// Captures frames of graphs with kernels for the CPU and as PTX.
#include "tool/capture_frames.h"

#include <stdlib.h>
#include <string.h>

#include "support/check.h"

braid_cpu_function add_value, scale, count; // capture_kernels.c
void note(void *user);

#define HEAD ".version 7.0\n.target sm_80\n.address_size 64\n"
#define BEGIN(guard)                                                                               \
    "{ .reg .pred %p<2>; .reg .f32 %f<4>; .reg .b32 %r<4>; .reg .b64 %rd<8>;\n"                    \
    "mov.u32 %r1, %tid.x; ld.param.u32 %r2, [" guard "]; setp.ge.u32 %p1, %r1, %r2;\n"             \
    "@%p1 bra $L_end; mul.wide.u32 %rd1, %r1, 4;\n"
#define END "$L_end:\nret;\n}\n"

static const char add_text[] =
    HEAD ".visible .entry add_value(.param .u64 a, .param .f32 b, .param .u32 c)\n" BEGIN(
        "c") "ld.param.u64 %rd2, [a]; add.s64 %rd3, %rd2, %rd1; ld.param.f32 %f1, [b];\n"
             "ld.global.f32 %f2, [%rd3]; add.f32 %f3, %f2, %f1; st.global.f32 [%rd3], %f3;\n" END;
static const char scale_text[] = HEAD
    ".visible .entry scale(.param .u64 a, .param .u64 b, .param .f32 c, .param .u32 d)\n" BEGIN(
        "d") "ld.param.u64 %rd2, [a]; add.s64 %rd3, %rd2, %rd1; ld.param.u64 %rd4, [b];\n"
             "add.s64 %rd5, %rd4, %rd1; ld.param.f32 %f1, [c]; ld.global.f32 %f2, [%rd5];\n"
             "mul.f32 %f3, %f2, %f1; st.global.f32 [%rd3], %f3;\n" END;

static const braid_kernel add_kernel = { .name = "add_value",
                                         .cpu = add_value,
                                         .cuda = { .data = add_text } };
static const braid_kernel scale_kernel = { .name = "scale",
                                           .cpu = scale,
                                           .cuda = { .data = scale_text } };

static const braid_kernel count_kernel = { .name = "count", .cpu = count };

struct making {
    braid_device *device;
    braid_graph *graph;
    void *memory[4];
    braid_resource in, out, half, middle, state, before, scratch;
    braid_parameter factor;
    braid_node pause, race;
};

static const uint32_t num = FRAME_NUM;

static void *allocate(struct making *making, int i, float first)
{
    float values[FRAME_NUM];
    for (int k = 0; k < FRAME_NUM; k++)
        values[k] = first + (float)k;
    check_ok(braid_memory_allocate(making->device, BRAID_MEMORY_DEVICE, sizeof(values),
                                   &making->memory[i]));
    check_ok(braid_stream_copy(braid_device_get_default_stream(making->device), making->memory[i],
                               values, sizeof(values)));
    check_ok(braid_stream_wait(braid_device_get_default_stream(making->device)));
    return making->memory[i];
}

static braid_node add_scale(struct making *making, const char *name, braid_resource to,
                            braid_resource from, float factor, uint64_t cost_ns)
{
    braid_node node;
    braid_kernel_node launch = { .node.name = name,
                                 .node.cost_ns = cost_ns,
                                 .kernel = &scale_kernel,
                                 .grid = { 1 },
                                 .block = { FRAME_NUM },
                                 BRAID_ARGS(BRAID_OUT(to), BRAID_IN(from), BRAID_ARG(factor),
                                            BRAID_ARG(num)) };
    check_ok(braid_graph_add_kernel(making->graph, &launch, &node));
    return node;
}

// Adds to what it says that it reads or writes, and keeps nothing in its scratch.
static braid_node add_value_to(struct making *making, const char *name, braid_resource to,
                               braid_access_mode mode, uint32_t count)
{
    const float value = 0.5f;
    braid_node node;
    braid_kernel_node launch = { .node.name = name,
                                 BRAID_ACCESSES({ to, mode }),
                                 .kernel = &add_kernel,
                                 .grid = { 1 },
                                 .block = { FRAME_NUM },
                                 .code_use = BRAID_CODE_UNREAD, // planning would refuse it
                                 BRAID_ARGS(braid_resource_address(&to), BRAID_ARG(value),
                                            BRAID_ARG(count)) };
    check_ok(braid_graph_add_kernel(making->graph, &launch, &node));
    return node;
}

// Data of the program that no buffer holds.
static struct own {
    const float *in;
    uint32_t *calls;
} own;

static void mark_here(void *user)
{
    const struct own *it = user;
    it->calls[4] += (uint32_t)it->in[3];
}

// A grid that is read, a trap, two calls, and an edge to an earlier node.
static void add_on_the_cpu(struct making *making, braid_resource calls, void *counter)
{
    braid_graph *graph = making->graph;
    braid_node early, late;
    check_ok(braid_graph_add_fill(graph,
                                  &(braid_fill){ .node.name = "grid",
                                                 BRAID_ACCESSES({ calls, BRAID_READ_WRITE }),
                                                 .to = counter,
                                                 .value = 3,
                                                 .value_bytes = 4,
                                                 .num_values = 3 },
                                  NULL));
    check_ok(
        braid_graph_add_kernel(graph,
                               &(braid_kernel_node){ .kernel = &count_kernel,
                                                     .grid = { 4, 4, 4 },
                                                     .grid_from = counter,
                                                     BRAID_ARGS(BRAID_INOUT(calls), BRAID_TRAP()) },
                               NULL));
    check_ok(
        braid_graph_add_host_call(graph,
                                  &(braid_host_call){ .node.name = "note",
                                                      BRAID_ACCESSES({ calls, BRAID_READ_WRITE }),
                                                      .call = note,
                                                      .user_resource = calls },
                                  NULL));
    check_ok(braid_graph_add_host_call(
        graph,
        &(braid_host_call){ .node.name = "mark",
                            BRAID_ACCESSES({ making->in, BRAID_READ }, { calls, BRAID_READ_WRITE }),
                            .call = mark_here,
                            .user = &own },
        NULL));
    own = (struct own){ making->memory[0], counter };
    const float factor = 2;
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){
            .node.name = "early",
            BRAID_ACCESSES({ calls, BRAID_ACCUMULATE }),
            .kernel = &scale_kernel,
            .grid = { 1 },
            BRAID_ARGS(BRAID_ARG(counter), BRAID_ARG(counter), BRAID_ARG(factor), BRAID_ARG(num)) },
        &early));
    late = add_value_to(making, "late", calls, BRAID_ACCUMULATE, num);
    check_ok(braid_graph_add_edge(graph, late, early));
}

static void add_everything(struct making *making, bool is_cpu)
{
    braid_graph *graph = making->graph;
    const uint64_t bytes = sizeof(float) * FRAME_NUM;
    void *counter = allocate(making, 2, 0);
    braid_resource calls;
    check_ok(braid_graph_add_transient(graph, "middle", bytes, 0, &making->middle));
    check_ok(braid_graph_add_scratch(graph, "scratch", bytes, 0, &making->scratch));
    check_ok(braid_graph_add_versioned_buffer(graph, "state", NULL, 2, bytes, &making->state));
    check_ok(braid_graph_add_earlier_version(graph, making->state, 1, &making->before));
    check_ok(braid_graph_add_range(graph, making->out, bytes / 2, bytes / 2, &making->half));
    check_ok(braid_graph_add_resource(graph, "list", &(braid_resource){ 0 }));
    check_ok(braid_graph_add_buffer(graph, "calls", counter, bytes, &calls));
    check_ok(braid_graph_add_parameter(graph, "factor", sizeof(float), &making->factor));

    braid_node to_middle = add_scale(making, "to middle", making->middle, making->in, 2, 0);
    check_ok(braid_graph_use_parameter(graph, making->factor,
                                       &(braid_parameter_use){ .node = to_middle, .argument = 2 }));
    add_scale(making, "to out", making->out, making->middle, 3, 0);
    braid_node half = add_value_to(making, "half", making->half, BRAID_READ_WRITE, num / 2);
    const float none = 0;
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){
            .node = { .name = "in scratch", .prelude_of = half },
            .kernel = &add_kernel,
            .grid = { 1 },
            .block = { FRAME_NUM },
            BRAID_ARGS(braid_resource_address(&making->scratch), BRAID_ARG(none), BRAID_ARG(num)) },
        NULL));
    add_scale(making, "keep", making->state, making->out, 1, 0);
    add_scale(making, "of before", making->out, making->before, 5, 0);
    check_ok(braid_graph_add_copy(
        graph,
        &(braid_copy){ .node.name = "copy",
                       BRAID_ACCESSES({ making->in, BRAID_WRITE }, { making->state, BRAID_READ }),
                       .to = making->memory[0],
                       .from_resource = making->state,
                       .bytes = bytes / 2 },
        NULL));
    check_ok(braid_graph_add_fill(graph,
                                  &(braid_fill){ .node.name = "fill",
                                                 BRAID_ACCESSES({ making->half, BRAID_WRITE }),
                                                 .to = (char *)making->memory[1] + bytes - 8,
                                                 .value = 7,
                                                 .value_bytes = 4,
                                                 .num_values = 2 },
                                  NULL));
    making->pause = add_value_to(making, "pause", making->out, BRAID_READ_WRITE, num);
    if (is_cpu)
        add_on_the_cpu(making, calls, counter);
    check_ok(braid_graph_add_empty(graph, &(braid_empty){ .node.name = "end" }, NULL));
}

// The plan has "reads" before "writes": a long chain hangs on it. The C library has a function of
// the call's name, and no plug-in has.
static void add_race(struct making *making)
{
    making->pause = add_value_to(making, "pause", making->out, BRAID_READ_WRITE, num);
    add_value_to(making, "writes", making->in, BRAID_READ, num);
    add_scale(making, "reads", making->out, making->in, 1, 1000);
    add_scale(making, "goes on", making->out, making->out, 1, 100000);
    check_ok(braid_graph_add_host_call(
        making->graph, &(braid_host_call){ .node.name = "abs", .call = note }, NULL));
}

uint64_t capture_frame(const char *backend, bool is_race, const char *path)
{
    struct making making = { .device = NULL };
    const braid_device_options on = { .backend = backend, .cache = "off" };
    const braid_exec_options options = { .capture = true, .max_lanes = is_race ? 1 : 0 };
    const uint64_t bytes = sizeof(float) * FRAME_NUM;
    bool is_cpu = strcmp(backend, "cpu") == 0;
    check_ok(braid_device_open(&on, &making.device));
    check_ok(braid_graph_create(&making.graph));
    check_ok(
        braid_graph_add_buffer(making.graph, "in", allocate(&making, 0, 1), bytes, &making.in));
    check_ok(
        braid_graph_add_buffer(making.graph, "out", allocate(&making, 1, 0), bytes, &making.out));
    if (is_race)
        add_race(&making);
    else
        add_everything(&making, is_cpu);
    braid_exec *exec;
    check_ok(braid_exec_create(making.device, making.graph, &options, &exec));
    braid_node pause = making.pause;
    braid_graph_destroy(making.graph); // which the exec needs no more
    for (int i = 0; i < 2 && !is_race; i++)
        check_ok(braid_exec_launch(exec, NULL));
    const float factor = 4;
    const bool is_enabled = false;
    if (!is_race)
        check_ok(braid_exec_set_parameter(exec, making.factor, &factor));
    check_ok(braid_exec_set(exec, pause, BRAID_TARGET_ENABLED, 0, &is_enabled));
    uint64_t stated = 0, written = 1;
    check_ok(braid_exec_save_capture(exec, NULL, &stated));
    check_ok(braid_exec_save_capture(exec, path, &written));
    assert_int_equal(stated, written);
    braid_exec_destroy(exec);
    for (int i = 0; i < 4; i++)
        braid_memory_free(making.device, making.memory[i]);
    check_ok(braid_device_close(making.device));
    return written;
}
