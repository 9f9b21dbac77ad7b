// SPDX-License-Identifier: Apache-2.0
// On a real device: after a fault an island names the node, islands that want all of the device run
// beside each other, beside a kernel that fills it and beside those of another process, without a
// hang, cancelled ones call no more, lanes without calls hold up nobody, and kernels of several
// warps meet at barriers of their own.
//
// After a fault a process has no device any more, so each case is a process of its own.
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <braid/braid.h>

#include "support/check.h"

enum {
    MOST_LANES = 512,
    CHAIN = 8,
    FRAMES = 50,
    LIMIT_S = 40,
    LARGE = 256,
    LARGE_FILL = 1 << 20, // bytes
    SMALL = 64,
    ROUNDS = 3
};

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
    "extern \"C\" __global__ void hold(volatile unsigned *gate)\n"
    "{\n"
    "    gate[1] = 1;\n"
    "    while (!gate[0])\n"
    "        __nanosleep(1000);\n"
    "}\n"
    "extern \"C\" __global__ void fill_device(unsigned long long cycles)\n"
    "{\n"
    "    long long begin = clock64();\n"
    "    while (clock64() - begin < (long long)cycles) {\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__ void meet(unsigned *x, unsigned *scratch, unsigned rounds)\n"
    "{\n"
    "    for (unsigned round = 0; round < rounds; round++) {\n"
    "        scratch[threadIdx.x] = *x + threadIdx.x;\n"
    "        __syncthreads();\n"
    "        unsigned sum = 0;\n"
    "        for (unsigned i = 0; threadIdx.x == 0 && i < blockDim.x; i++)\n"
    "            sum += scratch[i];\n"
    "        if (threadIdx.x == 0)\n"
    "            *x = *x * 3 + sum;\n"
    "        __syncthreads();\n"
    "    }\n"
    "}\n";
static const braid_kernel meet = { .name = "meet", .source = source };
static const braid_kernel hold = { .name = "hold", .source = source };
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

static uint32_t threads_of(uint32_t node)
{
    return node % 2 ? SMALL : LARGE;
}

// Chains of x = 3 x + 1, of which one node may be bad; or, with scratch for each chain, of kernels
// that meet, of fewer threads and of more in turn. x has a number for each chain.
struct chains {
    braid_islands islands;
    uint32_t num, length, num_threads;
    unsigned bad;
    uint32_t *x, *scratch;
};

static void add_link(braid_graph *graph, const struct chains *chains, uint32_t chain, uint32_t i,
                     braid_node *last)
{
    char name[32];
    uint32_t *mine = chains->x + chain, *own = chains->scratch + (size_t)LARGE * chain;
    unsigned rounds = ROUNDS, add = 1, kind = chain == 1 && i == 3 ? chains->bad : 0;
    const braid_arg meeting[] = { BRAID_ARG(mine), BRAID_ARG(own), BRAID_ARG(rounds) };
    const braid_arg stepping[] = { BRAID_ARG(mine), BRAID_ARG(add), BRAID_ARG(kind) };
    snprintf(name, sizeof(name), "chain %u, %u", chain, i);
    const braid_kernel_node launch = {
        .node = { .name = name, .after = last, .num_after = i > 0, .cost_ns = 20000 },
        .kernel = chains->scratch ? &meet : &step,
        .block = { chains->scratch ? threads_of(i) : chains->num_threads, 1, 1 },
        .args = chains->scratch ? meeting : stepping,
        .num_args = 3,
    };
    check_ok(braid_graph_add_kernel(graph, &launch, last));
}

// Beside stretches of lanes stands a fill that is too large for an island.
static braid_exec *make_chains(braid_device *device, const struct chains *chains)
{
    braid_graph *graph;
    braid_exec *exec;
    void *large;
    check_ok(braid_graph_create(&graph));
    if (chains->islands == BRAID_ISLANDS_ALWAYS) {
        check_ok(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, LARGE_FILL, &large));
        check_ok(braid_graph_add_fill(
            graph, &(braid_fill){ .to = large, .value_bytes = 4, .num_values = LARGE_FILL / 4 },
            NULL));
    }
    for (uint32_t chain = 0; chain < chains->num; chain++) {
        braid_node last;
        for (uint32_t i = 0; i < chains->length; i++)
            add_link(graph, chains, chain, i, &last);
    }
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH,
                                         .islands = chains->islands,
                                         .max_lanes = chains->num,
                                         .fixed_lanes = true };
    check_ok(braid_exec_create(device, graph, &options, &exec));
    braid_graph_destroy(graph);
    return exec;
}

static braid_exec *make_island(braid_device *device, uint32_t *x, uint32_t num_chains,
                               uint32_t length, uint32_t num_threads)
{
    return make_chains(device, &(struct chains){ .islands = BRAID_ISLANDS_WHOLE,
                                                 .num = num_chains,
                                                 .length = length,
                                                 .num_threads = num_threads,
                                                 .x = x });
}

static uint32_t *make_numbers(braid_device *device)
{
    void *memory;
    check_ok(
        braid_memory_allocate(device, BRAID_MEMORY_HOST, MOST_LANES * sizeof(uint32_t), &memory));
    memset(memory, 0, MOST_LANES * sizeof(uint32_t));
    return memory;
}

static void fault(unsigned bad, braid_islands islands)
{
    braid_device *device = open_device();
    struct chains chains = {
        .islands = islands, .num = 4, .length = CHAIN, .num_threads = 32, .x = make_numbers(device)
    };
    bool is_whole = islands == BRAID_ISLANDS_WHOLE;
    braid_exec *good = make_chains(device, &chains);
    chains.bad = bad;
    braid_exec *exec = make_chains(device, &chains);
    braid_exec_info info;
    braid_exec_get_info(exec, &info);
    assert_int_equal(info.num_islands, is_whole ? 1 : 4);
    check_ok(braid_exec_launch_many(good, NULL, 3, NULL, 0));
    check_ok(braid_exec_wait(good));
    (void)!braid_exec_launch(exec, NULL);
    check_fails(braid_exec_wait(exec), BRAID_DEVICE_ERROR,
                is_whole ? "'chain 1, 3' (lane " : "'chain 1, 3' (island ");
    printf("%s\n", braid_error_get_message());
    check_fails(braid_exec_wait(good), BRAID_DEVICE_ERROR,
                is_whole ? "no node of its island was running"
                         : "no node of its islands was running");
    fflush(stdout);
    _exit(0);
}

static void trap(void)
{
    fault(1, BRAID_ISLANDS_WHOLE);
}

static void bad_address(void)
{
    fault(2, BRAID_ISLANDS_WHOLE);
}

static void trap_in_a_stretch(void)
{
    fault(1, BRAID_ISLANDS_ALWAYS);
}

static void bad_address_in_a_stretch(void)
{
    fault(2, BRAID_ISLANDS_ALWAYS);
}

// Processes that begin together share it.
static atomic_uint *num_ready;

static void await_others(unsigned num)
{
    atomic_fetch_add(num_ready, 1);
    while (atomic_load(num_ready) < num)
        sched_yield();
}

// Two islands of as many blocks as the device has multiprocessors, which are as large as blocks can
// be, and kernels that take the whole device, on three streams.
static void keep_company(unsigned num_processes)
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
    const braid_kernel_node launch = { .kernel = &fill_device,
                                       .grid.x = info.num_units * 4,
                                       .block = { 1024, 1, 1 },
                                       BRAID_ARGS(BRAID_ARG(cycles)) };
    check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    check_ok(braid_exec_create(device, graph, NULL, &execs[2]));
    for (int i = 0; i < 2; i++) {
        x[i] = make_numbers(device);
        execs[i] = make_island(device, x[i], lanes, CHAIN, 1024);
    }
    for (int i = 0; i < 3; i++)
        check_ok(braid_stream_create(device, NULL, &streams[i]));
    await_others(num_processes);
    for (int frame = 0; frame < FRAMES; frame++) {
        for (int i = 2; i >= 0; i--)
            check_ok(i < 2 ? braid_exec_launch_many(execs[i], streams[i], 3, NULL, 0)
                           : braid_exec_launch(execs[i], streams[i]));
    }
    for (int i = 0; i < 3; i++)
        check_ok(braid_stream_wait(streams[i]));
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

static void company(void)
{
    keep_company(1);
}

static void company_of_two(void)
{
    keep_company(2);
}

// As many lanes as leave a group of the last block with nothing to do, frame after frame in one
// launch: it ends each at once, and begins the next where the others do.
static void idle_lane(void)
{
    enum { LAUNCHES = 20, MANY = 25 };
    braid_device *device = open_device();
    braid_device_info info;
    braid_device_get_info(device, &info);
    uint32_t lanes = info.num_units < MOST_LANES - 2 ? info.num_units : MOST_LANES - 2;
    lanes += 1 + lanes % 2; // two for each block, and an odd number
    uint32_t *x = make_numbers(device), expected = 0;
    braid_exec *exec = make_island(device, x, lanes, 1, LARGE);
    for (int i = 0; i < LAUNCHES; i++)
        check_ok(braid_exec_launch_many(exec, NULL, MANY, NULL, 0));
    check_ok(braid_exec_wait(exec));
    for (int i = 0; i < LAUNCHES * MANY; i++)
        expected = expected * 3 + 1;
    for (uint32_t i = 0; i < lanes; i++)
        assert_int_equal(x[i], expected);
    printf("%u lanes in groups of %d threads, %d frames\n", lanes, LARGE, LAUNCHES * MANY);
    fflush(stdout);
    _exit(0);
}

enum { MEETINGS = 20 }; // frames

static void meet_in(braid_device *device, uint32_t *scratch, uint32_t num_chains, uint32_t length)
{
    uint32_t *x = make_numbers(device), expected = 0;
    braid_exec *exec = make_chains(device, &(struct chains){ .islands = BRAID_ISLANDS_WHOLE,
                                                             .num = num_chains,
                                                             .length = length,
                                                             .x = x,
                                                             .scratch = scratch });
    for (uint32_t i = 0; i < MEETINGS * length * ROUNDS; i++) {
        uint32_t threads = threads_of(i / ROUNDS % length);
        expected = expected * 3 + threads * expected + threads * (threads - 1) / 2;
    }
    check_ok(braid_exec_launch_many(exec, NULL, MEETINGS / 2, NULL, 0));
    for (int frame = 0; frame < MEETINGS / 2; frame++)
        check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    for (uint32_t i = 0; i < num_chains; i++)
        assert_int_equal(x[i], expected);
    printf("%u chains of %u kernels that meet\n", num_chains, length);
    braid_exec_destroy(exec);
}

// Lanes of several warps alone in a block, several in one, one in each of several, and several in
// each of several.
static void barriers(void)
{
    braid_device *device = open_device();
    void *scratch;
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, (uint64_t)MOST_LANES * LARGE * 4,
                                   &scratch));
    meet_in(device, scratch, 1, CHAIN);
    meet_in(device, scratch, 4, CHAIN);
    meet_in(device, scratch, 60, 2);
    meet_in(device, scratch, 300, 2);
    fflush(stdout);
    _exit(0);
}

// A gate of words in host memory, and chains behind it.
static braid_exec *make_held(braid_device *device, uint32_t num_threads, uint32_t *gate,
                             uint32_t *x)
{
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH,
                                         .islands = BRAID_ISLANDS_WHOLE,
                                         .black_box = true };
    const struct chains chains = { .length = CHAIN, .num_threads = num_threads, .x = x };
    braid_graph *graph;
    braid_exec *exec;
    braid_node first;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .node.cost_ns = 20000, .kernel = &hold, BRAID_ARGS(BRAID_ARG(gate)) },
        &first));
    for (uint32_t chain = 0; chain < 4; chain++) {
        braid_node last = first;
        for (uint32_t i = 1; i < CHAIN; i++)
            add_link(graph, &chains, chain, i, &last);
    }
    check_ok(braid_exec_create(device, graph, &options, &exec));
    braid_graph_destroy(graph);
    return exec;
}

static void cancel_held(braid_device *device, uint32_t num_threads)
{
    void *memory;
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_HOST, 32, &memory));
    memset(memory, 0, 32);
    uint32_t *gate = memory, *x = gate + 4;
    braid_exec *exec = make_held(device, num_threads, gate, x);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_launch(exec, NULL));
    while (!atomic_load((_Atomic uint32_t *)gate + 1))
        sched_yield();
    assert_int_equal(braid_exec_cancel(exec), BRAID_NOT_READY);
    atomic_store((_Atomic uint32_t *)gate, 1);
    check_ok(braid_exec_wait(exec));
    for (uint32_t chain = 0; chain < 4; chain++) {
        assert_in_range(x[chain], 0, 1 + 3 + 9); // three nodes of a lane
        x[chain] = 0;
    }
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    for (uint32_t chain = 0; chain < 4; chain++)
        assert_int_equal(x[chain], (3 * 3 * 3 * 3 * 3 * 3 * 3 - 1) / 2);
    braid_exec_destroy(exec);
    braid_memory_free(device, memory);
}

// Lanes of a warp, of several, and in several blocks are cancelled.
static void cancelled(void)
{
    braid_device *device = open_device();
    for (uint32_t num_threads = 32; num_threads <= 512; num_threads *= 4)
        cancel_held(device, num_threads);
    check_ok(braid_device_close(device));
    _exit(0);
}

static void run_at_once(void (*what)(void), int num)
{
    pid_t children[2];
    fflush(stdout);
    num_ready =
        mmap(NULL, sizeof(*num_ready), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(num_ready != MAP_FAILED);
    for (int i = 0; i < num; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            alarm(LIMIT_S); // a hang
            what();
        }
    }
    for (int i = 0; i < num; i++) {
        int status = 0;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
            skip_because("there is no device that runs real kernels");
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    munmap(num_ready, sizeof(*num_ready));
}

static void run(void (*what)(void))
{
    run_at_once(what, 1);
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

static void a_trap_beside_ordinary_nodes_is_named(void **state)
{
    (void)state;
    run(trap_in_a_stretch);
}

static void a_bad_address_beside_ordinary_nodes_is_named(void **state)
{
    (void)state;
    run(bad_address_in_a_stretch);
}

static void islands_and_a_full_device_share_it(void **state)
{
    (void)state;
    run(company);
}

static void islands_of_two_processes_share_it(void **state)
{
    (void)state;
    run_at_once(company_of_two, 2);
}

static void a_lane_without_calls_ends_its_frames(void **state)
{
    (void)state;
    run(idle_lane);
}

static void kernels_of_several_warps_meet(void **state)
{
    (void)state;
    run(barriers);
}

static void a_cancelled_island_calls_no_more(void **state)
{
    (void)state;
    run(cancelled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trap_is_named),
        cmocka_unit_test(a_bad_address_is_named),
        cmocka_unit_test(a_trap_beside_ordinary_nodes_is_named),
        cmocka_unit_test(a_bad_address_beside_ordinary_nodes_is_named),
        cmocka_unit_test(islands_and_a_full_device_share_it),
        cmocka_unit_test(islands_of_two_processes_share_it),
        cmocka_unit_test(a_lane_without_calls_ends_its_frames),
        cmocka_unit_test(kernels_of_several_warps_meet),
        cmocka_unit_test(a_cancelled_island_calls_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
