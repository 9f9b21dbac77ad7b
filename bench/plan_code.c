// SPDX-License-Identifier: Apache-2.0
// The time in which nodes are added and planned that declare their accesses unread, declare them
// compared with their code, and leave them to their code. Each node has two pointers. No GPU is
// needed. The least of several rounds, by turns.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <braid/braid.h>

enum { MOST_NODES = 1000, FLOATS = 64, ROUNDS = 100, NUM_WAYS = 3 };

static const char text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry scale(.param .u64 from, .param .u64 to, .param .u32 n)\n{\n"
    ".reg .pred %p<2>;\n.reg .f32 %f<3>;\n.reg .b32 %r<6>;\n.reg .b64 %d<8>;\n"
    "ld.param.u64 %d1, [from];\nld.param.u64 %d2, [to];\n"
    "ld.param.u32 %r2, [n];\nmov.u32 %r1, %tid.x;\n"
    "setp.ge.s32 %p1, %r1, %r2;\n@%p1 bra END;\n"
    "cvta.to.global.u64 %d3, %d1;\nmul.wide.s32 %d4, %r1, 4;\n"
    "add.s64 %d5, %d3, %d4;\nld.global.f32 %f1, [%d5];\n"
    "add.f32 %f2, %f1, %f1;\ncvta.to.global.u64 %d6, %d2;\n"
    "add.s64 %d7, %d6, %d4;\nst.global.f32 [%d7], %f2;\nEND:\nret;\n}\n";

static float memory[MOST_NODES][FLOATS];

static void must(braid_status status)
{
    if (!status)
        return;
    fprintf(stderr, "%s\n", braid_error_get_message());
    exit(1);
}

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void do_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static const braid_kernel scale = { .name = "scale", .cpu = do_nothing, .cuda.data = text };

static void add_nodes(braid_graph *graph, const braid_resource *buffers, uint32_t num,
                      braid_code_use code_use)
{
    for (uint32_t i = 0; i < num; i++) {
        const float *from = memory[i], *to = memory[(i + 1) % num];
        const uint32_t n = FLOATS;
        const braid_access accesses[] = { { buffers[i], BRAID_READ },
                                          { buffers[(i + 1) % num], BRAID_READ_WRITE } };
        must(braid_graph_add_kernel(
            graph,
            &(braid_kernel_node){ .node = { .accesses = accesses,
                                            .num_accesses = code_use == BRAID_CODE_DECLARES ? 0 : 2,
                                            .cost_ns = 1000 },
                                  .kernel = &scale,
                                  .code_use = code_use,
                                  BRAID_ARGS(BRAID_ARG(from), BRAID_ARG(to), BRAID_ARG(n)) },
            NULL));
    }
}

static void measure(braid_device *device, uint32_t num, braid_code_use code_use, double *add_us,
                    double *plan_us)
{
    static braid_resource buffers[MOST_NODES];
    braid_graph *graph;
    braid_schedule *schedule;
    must(braid_graph_create(&graph));
    for (uint32_t i = 0; i < num; i++)
        must(braid_graph_add_buffer(graph, "buffer", memory[i], sizeof(memory[i]), &buffers[i]));
    double start = now_us();
    add_nodes(graph, buffers, num, code_use);
    double added = now_us();
    must(braid_schedule_create(graph, &(braid_schedule_options){ .device = device }, &schedule));
    double planned = now_us();
    *add_us = added - start < *add_us ? added - start : *add_us;
    *plan_us = planned - added < *plan_us ? planned - added : *plan_us;
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
}

int main(void)
{
    static const char *const names[NUM_WAYS] = { "unread", "compared", "left to the code" };
    static const braid_code_use ways[NUM_WAYS] = { BRAID_CODE_UNREAD, BRAID_CODE_CHECKS,
                                                   BRAID_CODE_DECLARES };
    braid_device *device;
    must(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    printf("| nodes | accesses | add us | plan us | plan, ratio |\n|---|---|---|---|---|\n");
    for (uint32_t num = 10; num <= MOST_NODES; num *= 10) {
        double add_us[NUM_WAYS] = { 1e30, 1e30, 1e30 }, plan_us[NUM_WAYS] = { 1e30, 1e30, 1e30 };
        for (int k = 0; k < NUM_WAYS * ROUNDS; k++)
            measure(device, num, ways[k % NUM_WAYS], &add_us[k % NUM_WAYS], &plan_us[k % NUM_WAYS]);
        for (int way = 0; way < NUM_WAYS; way++)
            printf("| %u | %s | %.1f | %.1f | %.2f |\n", num, names[way], add_us[way], plan_us[way],
                   plan_us[way] / plan_us[0]);
    }
    must(braid_device_close(device));
    return 0;
}
