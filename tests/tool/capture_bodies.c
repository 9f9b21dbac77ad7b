// SPDX-License-Identifier: Apache-2.0
// Captures frames of graphs with loops and branches, with kernels for the CPU and as PTX.
#include <string.h>

#include "support/check.h"
#include "tool/capture_frames.h"

braid_cpu_function lower, parity, grow, gather, sneak; // capture_kernels.c

#define HEAD ".version 7.0\n.target sm_80\n.address_size 64\n"
#define BEGIN                                                                                      \
    "{ .reg .pred %p<2>; .reg .f32 %f<4>; .reg .b32 %r<6>; .reg .b64 %rd<8>;\n"                    \
    "ld.param.u64 %rd1, [a];\n"
static const char lower_text[] =
    HEAD ".visible .entry lower(.param .u64 a, .param .u32 b)\n" BEGIN
         "ld.param.u32 %r1, [b]; ld.global.u32 %r2, [%rd1]; sub.s32 %r3, %r2, %r1;\n"
         "st.global.u32 [%rd1], %r3;\nret;\n}\n";
static const char parity_text[] =
    HEAD ".visible .entry parity(.param .u64 a, .param .u64 b)\n" BEGIN
         "ld.param.u64 %rd2, [b]; ld.global.u32 %r2, [%rd2]; and.b32 %r3, %r2, 1;\n"
         "st.global.u32 [%rd1], %r3;\nret;\n}\n";
static const char grow_text[] =
    HEAD ".visible .entry grow(.param .u64 a, .param .u64 b, .param .u32 c)\n" BEGIN
         "mov.u32 %r1, %tid.x; ld.param.u32 %r2, [c]; setp.ge.u32 %p1, %r1, %r2; @%p1 bra $L_end;\n"
         "mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; ld.global.f32 %f1, [%rd3];\n"
         "mov.f32 %f2, 0f3F800000; add.f32 %f3, %f1, %f2; st.global.f32 [%rd3], %f3;\n"
         "$L_end:\nret;\n}\n";

#define KERNEL(kernel)                                                                             \
    {                                                                                              \
        .name = #kernel, .cpu = kernel, .cuda = {.data = kernel##_text }                           \
    }
static const braid_kernel lower_kernel = KERNEL(lower), parity_kernel = KERNEL(parity),
                          grow_kernel = KERNEL(grow);
static const braid_kernel gather_kernel = { .name = "gather", .cpu = gather };
static const braid_kernel sneak_kernel = { .name = "sneak", .cpu = sneak };

static const uint32_t num = FRAME_NUM, one = 1;

// What the graphs use. Rounds count down from 5.
struct bodies {
    braid_graph *graph;
    uint32_t *words;
    braid_resource in, out, spare, rounds, idle, inner, odd, low, high;
    unsigned char *pair; // the memory of the last two
};

static void add(struct bodies *bodies, const char *name, const braid_kernel *kernel,
                uint64_t cost_ns, const braid_arg *args, size_t num_args)
{
    check_ok(
        braid_graph_add_kernel(bodies->graph,
                               &(braid_kernel_node){ .node = { .name = name, .cost_ns = cost_ns },
                                                     .kernel = kernel,
                                                     .grid = { 1 },
                                                     .block = { FRAME_NUM },
                                                     .args = args,
                                                     .num_args = num_args },
                               NULL));
}

#define ADD(name, kernel, cost_ns, ...)                                                            \
    add(bodies, name, kernel, cost_ns, (const braid_arg[]){ __VA_ARGS__ },                         \
        sizeof((const braid_arg[]){ __VA_ARGS__ }) / sizeof(braid_arg))

static void add_lower(struct bodies *bodies, const char *name, braid_resource word)
{
    check_ok(braid_graph_add_kernel(
        bodies->graph,
        &(braid_kernel_node){ .node.name = name,
                              .kernel = &lower_kernel,
                              .grid = { 1 },
                              .block = { 1 },
                              BRAID_ARGS(BRAID_INOUT(word), BRAID_ARG(one)) },
        NULL));
}

static void add_inner(struct bodies *bodies)
{
    const braid_loop inner = {
        .node.name = "inner", .condition = bodies->inner, .unbounded = true, .tests_first = true
    };
    const braid_fill fill = { .node.name = "set inner",
                              BRAID_ACCESSES({ bodies->inner, BRAID_WRITE }),
                              .to_resource = bodies->inner,
                              .value = 2,
                              .value_bytes = 4,
                              .num_values = 1 };
    check_ok(braid_graph_add_fill(bodies->graph, &fill, NULL));
    check_ok(braid_graph_begin_loop(bodies->graph, &inner, NULL));
    ADD("grow", &grow_kernel, 0, BRAID_INOUT(bodies->out), BRAID_IN(bodies->rounds),
        BRAID_ARG(num));
    add_lower(bodies, "lower inner", bodies->inner);
    check_ok(braid_graph_end(bodies->graph));
}

static void add_branch(struct bodies *bodies)
{
    const braid_if branch = { .node.name = "odd?", .condition = bodies->odd };
    ADD("odd", &parity_kernel, 0, BRAID_OUT(bodies->odd), BRAID_IN(bodies->rounds));
    check_ok(braid_graph_begin_if(bodies->graph, &branch, NULL));
    ADD("in odd rounds", &grow_kernel, 0, BRAID_INOUT(bodies->in), BRAID_IN(bodies->rounds),
        BRAID_ARG(num));
    check_ok(braid_graph_else(bodies->graph));
    ADD("in even rounds", &grow_kernel, 0, BRAID_INOUT(bodies->out), BRAID_IN(bodies->rounds),
        BRAID_ARG(num));
    ADD("again", &grow_kernel, 0, BRAID_INOUT(bodies->in), BRAID_IN(bodies->rounds),
        BRAID_ARG(num));
    check_ok(braid_graph_end(bodies->graph));
}

// Uses the middle of two adjacent buffers, to and from both.
static void add_span(struct bodies *bodies)
{
    const braid_fill fill = { .node.name = "fill both",
                              BRAID_ACCESSES({ bodies->low, BRAID_WRITE },
                                             { bodies->high, BRAID_WRITE }),
                              .to = bodies->pair + 8,
                              .value = 7,
                              .num_values = 16 };
    const braid_copy copy = { .node.name = "copy both",
                              BRAID_ACCESSES({ bodies->low, BRAID_READ },
                                             { bodies->high, BRAID_READ_WRITE },
                                             { bodies->out, BRAID_WRITE }),
                              .to_resource = bodies->out,
                              .from = bodies->pair + 4,
                              .bytes = 24 };
    check_ok(braid_graph_add_fill(bodies->graph, &fill, NULL));
    check_ok(braid_graph_add_copy(bodies->graph, &copy, NULL));
}

static void add_whole(struct bodies *bodies)
{
    const braid_loop outer = { .node.name = "outer", .condition = bodies->rounds, .most = 10 };
    const braid_loop late = { .node.name = "late", .condition = bodies->idle, .most = 2 };
    const braid_loop fixed = { .node.name = "fixed", .times = 3 };
    braid_node step;
    check_ok(braid_graph_begin_loop(bodies->graph, &outer, NULL));
    add_inner(bodies);
    add_branch(bodies);
    add_lower(bodies, "lower", bodies->rounds);
    check_ok(braid_graph_end(bodies->graph));
    check_ok(braid_graph_begin_loop(bodies->graph, &fixed, &step));
    ADD("step", &grow_kernel, 0, BRAID_INOUT(bodies->in), BRAID_IN(bodies->rounds), BRAID_ARG(num));
    check_ok(braid_graph_end(bodies->graph));
    check_ok(braid_graph_begin_loop(bodies->graph, &late, NULL)); // it tests behind the first
    add_lower(bodies, "lower idle", bodies->idle);
    check_ok(braid_graph_end(bodies->graph));
    add_span(bodies);
}

// "sneaks" writes what it declares to read, in the third round only. The plan has it behind
// "gather", as a long chain hangs on that.
static void add_race(struct bodies *bodies)
{
    const braid_loop outer = { .node.name = "outer", .condition = bodies->rounds, .most = 10 };
    check_ok(braid_graph_begin_loop(bodies->graph, &outer, NULL));
    ADD("sneaks", &sneak_kernel, 10, BRAID_IN(bodies->in), BRAID_IN(bodies->rounds));
    ADD("gathers", &gather_kernel, 1000, BRAID_INOUT(bodies->out), BRAID_IN(bodies->in),
        BRAID_ARG(num));
    ADD("goes on", &grow_kernel, 100000, BRAID_INOUT(bodies->spare), BRAID_IN(bodies->out),
        BRAID_ARG(num));
    add_lower(bodies, "lower", bodies->rounds);
    check_ok(braid_graph_end(bodies->graph));
}

static void *allocate(braid_device *device, const void *from, uint64_t bytes)
{
    void *memory;
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, bytes, &memory));
    check_ok(braid_stream_copy(braid_device_get_default_stream(device), memory, from, bytes));
    check_ok(braid_stream_wait(braid_device_get_default_stream(device)));
    return memory;
}

uint64_t capture_bodies(const char *backend, braid_exec_mode mode, bool is_race, const char *path)
{
    static const float zeros[FRAME_NUM] = { 0 };
    static const uint32_t words[3] = { 5, 0, 0 };
    const braid_device_options on = { .backend = backend, .cache = "off" };
    const braid_exec_options options = { .capture = true,
                                         .mode = mode,
                                         .max_lanes = is_race ? 1 : 0 };
    struct bodies bodies = { .graph = NULL };
    braid_device *device;
    braid_exec *exec;
    void *memory[5];
    uint64_t bytes;
    check_ok(braid_device_open(&on, &device));
    for (int i = 0; i < 3; i++)
        memory[i] = allocate(device, zeros, sizeof(zeros));
    memory[3] = allocate(device, words, sizeof(words));
    memory[4] = allocate(device, zeros, sizeof(zeros));
    braid_graph *graph;
    braid_resource all;
    check_ok(braid_graph_create(&graph));
    bodies.graph = graph;
    bodies.pair = memory[4];
    check_ok(braid_graph_add_buffer(graph, "in", memory[0], sizeof(zeros), &bodies.in));
    check_ok(braid_graph_add_buffer(graph, "out", memory[1], sizeof(zeros), &bodies.out));
    check_ok(braid_graph_add_buffer(graph, "spare", memory[2], sizeof(zeros), &bodies.spare));
    check_ok(braid_graph_add_buffer(graph, "words", memory[3], sizeof(words), &all));
    check_ok(braid_graph_add_buffer(graph, "high", bodies.pair + 16, 16, &bodies.high));
    check_ok(braid_graph_add_buffer(graph, "low", bodies.pair, 16, &bodies.low));
    check_ok(braid_graph_add_range(graph, all, 0, 4, &bodies.rounds));
    check_ok(braid_graph_add_range(graph, all, 4, 4, &bodies.idle));
    check_ok(braid_graph_add_range(graph, all, 8, 4, &bodies.odd));
    check_ok(braid_graph_add_transient(graph, "inner", 4, 0, &bodies.inner));
    if (is_race)
        add_race(&bodies);
    else
        add_whole(&bodies);
    check_ok(braid_exec_create(device, graph, &options, &exec));
    check_ok(braid_exec_save_capture(exec, path, &bytes));
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    for (int i = 0; i < 5; i++)
        braid_memory_free(device, memory[i]);
    check_ok(braid_device_close(device));
    return bytes;
}
