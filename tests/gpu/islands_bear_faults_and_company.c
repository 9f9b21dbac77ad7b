// SPDX-License-Identifier: Apache-2.0
// On a real device: after a fault an island names the node, and islands that want all of the device
// run beside each other and beside a kernel that fills it, without a hang.
//
// After a fault a process has no device any more, so each case is a process of its own.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <braid/braid.h>

#include "support/check.h"

enum { MOST_LANES = 512, CHAIN = 8, FRAMES = 50, LIMIT_S = 40 };

static const char source[] =
    "extern \"C\" __global__ void step(unsigned *x, unsigned add, unsigned bad)\n"
    "{\n"
    "    if (bad == 1)\n"
    "        __trap();\n"
    "    if (bad == 2)\n"
    "        add += *(volatile unsigned *)8;\n"
    "    if (threadIdx.x == 0)\n"
    "        *x = *x * 3 + add;\n"
    "}\n"
    "extern \"C\" __global__ void fill_device(unsigned long long cycles)\n"
    "{\n"
    "    long long begin = clock64();\n"
    "    while (clock64() - begin < (long long)cycles) {\n"
    "    }\n"
    "}\n";
static const braid_kernel step = { .name = "step", .source = source };
static const braid_kernel fill_device = { .name = "fill_device", .source = source };

static braid_device *open_device(void)
{
    braid_device *device;
    if (braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device))
        exit(77);
    braid_device_info info;
    braid_device_get_info(device, &info);
    if (strncmp(info.name, "Braid stand-in", 14) == 0)
        exit(77);
    return device;
}

// Chains of x = 3 x + 1, of which one node may be bad; x has a number for each chain.
static braid_exec *make_island(braid_device *device, uint32_t *x, uint32_t num_chains,
                               uint32_t num_threads, unsigned bad)
{
    braid_graph *graph;
    braid_exec *exec;
    check_ok(braid_graph_create(&graph));
    for (uint32_t chain = 0; chain < num_chains; chain++) {
        braid_node last;
        for (uint32_t i = 0; i < CHAIN; i++) {
            char name[32];
            uint32_t *mine = x + chain;
            unsigned add = 1, kind = chain == 1 && i == 3 ? bad : 0;
            snprintf(name, sizeof(name), "chain %u, %u", chain, i);
            const braid_launch launch = {
                .node = { .name = name, .after = &last, .num_after = i > 0, .cost_ns = 20000 },
                .kernel = &step,
                .block = { num_threads, 1, 1 },
                BRAID_ARGS(BRAID_ARG(mine), BRAID_ARG(add), BRAID_ARG(kind)),
            };
            check_ok(braid_graph_add_kernel(graph, &launch, &last));
        }
    }
    const braid_exec_options options = { .islands = BRAID_ISLANDS_WHOLE,
                                         .plan = { .max_lanes = num_chains, .fixed_lanes = true } };
    check_ok(braid_exec_create(device, graph, &options, &exec));
    braid_graph_destroy(graph);
    return exec;
}

static uint32_t *make_numbers(braid_device *device)
{
    void *memory;
    check_ok(
        braid_memory_allocate(device, BRAID_MEMORY_HOST, MOST_LANES * sizeof(uint32_t), &memory));
    memset(memory, 0, MOST_LANES * sizeof(uint32_t));
    return memory;
}

static void fault(unsigned bad)
{
    braid_device *device = open_device();
    uint32_t *x = make_numbers(device);
    braid_exec *good = make_island(device, x, 4, 32, 0);
    braid_exec *exec = make_island(device, x, 4, 32, bad);
    check_ok(braid_exec_launch_many(good, NULL, 3));
    check_ok(braid_exec_wait(good));
    (void)!braid_exec_launch(exec, NULL);
    check_fails(braid_exec_wait(exec), BRAID_DEVICE_ERROR, "'chain 1, 3' (lane ");
    printf("%s\n", braid_error_message());
    check_fails(braid_exec_wait(good), BRAID_DEVICE_ERROR, "no node of its island was running");
    fflush(stdout);
    _exit(0);
}

static void trap(void)
{
    fault(1);
}

static void bad_address(void)
{
    fault(2);
}

// Two islands of as many blocks as the device has multiprocessors, which are as large as blocks can
// be, and kernels that take the whole device, on three streams.
static void company(void)
{
    braid_device *device = open_device();
    uint32_t *x[2], expected = 0;
    braid_exec *execs[3];
    braid_stream *streams[3];
    braid_graph *graph;
    uint64_t cycles = 2000000;
    braid_device_info info;
    braid_device_get_info(device, &info);
    uint32_t lanes = info.num_units < MOST_LANES ? info.num_units : MOST_LANES;
    check_ok(braid_graph_create(&graph));
    const braid_launch launch = { .kernel = &fill_device,
                                  .grid.x = info.num_units * 4,
                                  .block = { 1024, 1, 1 },
                                  BRAID_ARGS(BRAID_ARG(cycles)) };
    check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    check_ok(braid_exec_create(device, graph, NULL, &execs[2]));
    for (int i = 0; i < 2; i++) {
        x[i] = make_numbers(device);
        execs[i] = make_island(device, x[i], lanes, 1024, 0);
    }
    for (int i = 0; i < 3; i++)
        check_ok(braid_stream_create(device, NULL, &streams[i]));
    for (int frame = 0; frame < FRAMES; frame++) {
        for (int i = 2; i >= 0; i--)
            check_ok(i < 2 ? braid_exec_launch_many(execs[i], streams[i], 3)
                           : braid_exec_launch(execs[i], streams[i]));
    }
    for (int i = 0; i < 3; i++)
        check_ok(braid_stream_synchronize(device, streams[i]));
    for (int i = 0; i < 3 * FRAMES * CHAIN; i++)
        expected = expected * 3 + 1;
    for (uint32_t i = 0; i < 2 * lanes; i++)
        assert_int_equal(x[i / lanes][i % lanes], expected);
    braid_exec_info told;
    braid_exec_get_info(execs[0], &told);
    printf("%u nodes in each of two islands, %d frames beside %d kernels of the whole device\n",
           told.num_island_nodes, 3 * FRAMES, FRAMES);
    fflush(stdout);
    _exit(0);
}

static void run(void (*what)(void))
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(LIMIT_S); // a hang
        what();
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip_because("there is no CUDA device that runs real kernels");
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_trap_is_named(void **state)
{
    (void)state;
    run(trap);
}

static void a_bad_address_is_named(void **state)
{
    (void)state;
    run(bad_address);
}

static void islands_and_a_full_device_share_it(void **state)
{
    (void)state;
    run(company);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trap_is_named),
        cmocka_unit_test(a_bad_address_is_named),
        cmocka_unit_test(islands_and_a_full_device_share_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
