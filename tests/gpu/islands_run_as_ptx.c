// SPDX-License-Identifier: Apache-2.0
// The code that Braid generates, compiled by NVRTC, runs on the stand-in's interpreter of PTX:
// whole islands of several shapes, of kernels with options and kernels given as PTX; kernels that
// read their grid and kernels that write their times. Each result is that of plain C.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/timings.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"

enum { NODES = 12, CELLS = 64, FRAMES = 2, MOST_BEFORE = 3 };

// Mixes a node's cells around a barrier, and adds those of the nodes before it. A mistake in the
// order changes all later cells.
static const char source[] =
    "extern \"C\" __global__ void mix(unsigned *cells, unsigned node, uint3 before, unsigned num)\n"
    "{\n"
    "    const unsigned others[3] = { before.x, before.y, before.z };\n"
    "    const unsigned cell = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * "
    "blockDim.x;\n"
    "    const unsigned next = cell - threadIdx.x + (threadIdx.x + 1) % blockDim.x;\n"
    "    unsigned sum = cells[node * 64 + cell] * 31 + cells[node * 64 + next] + 1;\n"
    "    for (unsigned i = 0; i < num; i++)\n"
    "        sum += cells[others[i] * 64 + (cell + 1) % all];\n"
    "    __syncthreads();\n"
    "    cells[node * 64 + cell] = sum;\n"
    "}\n";

// The same through static and dynamic shared memory, with a macro that an option defines.
static const char staged_source[] =
    "extern \"C\" __global__ void staged(unsigned *cells, unsigned node, uint3 before, unsigned "
    "num)\n"
    "{\n"
    "    __shared__ unsigned held[64];\n"
    "    extern __shared__ unsigned sums[];\n"
    "    const unsigned others[3] = { before.x, before.y, before.z }, i = threadIdx.x;\n"
    "    const unsigned cell = blockIdx.x * blockDim.x + i, all = gridDim.x * blockDim.x;\n"
    "    held[i] = cells[node * 64 + cell];\n"
    "    __syncthreads();\n"
    "    sums[i] = held[i] * FACTOR + held[(i + 1) % blockDim.x] + 1;\n"
    "    for (unsigned k = 0; k < num; k++)\n"
    "        sums[i] += cells[others[k] * 64 + (cell + 1) % all];\n"
    "    __syncthreads();\n"
    "    cells[node * 64 + cell] = sums[i];\n"
    "}\n";

// Threads of odd cells end while the others meet, which write two cells each.
static const char halved_source[] =
    "extern \"C\" __global__ void halved(unsigned *cells, unsigned node, uint3 before, unsigned "
    "num)\n"
    "{\n"
    "    __shared__ unsigned sums[64];\n"
    "    const unsigned others[3] = { before.x, before.y, before.z }, i = threadIdx.x;\n"
    "    const unsigned cell = blockIdx.x * blockDim.x + i, all = gridDim.x * blockDim.x;\n"
    "    const unsigned next = cell - i + (i + 1) % blockDim.x;\n"
    "    unsigned sum = cells[node * 64 + cell] * 31 + cells[node * 64 + next] + 1;\n"
    "    for (unsigned k = 0; k < num; k++)\n"
    "        sum += cells[others[k] * 64 + (cell + 1) % all];\n"
    "    sums[i] = sum;\n"
    "    __syncthreads();\n"
    "    if (i % 2)\n"
    "        return;\n"
    "    const unsigned live = __popc(__ballot_sync(~0u, cell < 64));\n"
    "    cells[node * 64 + cell] = sums[i] + 16 - live;\n"
    "    __syncthreads();\n"
    "    cells[node * 64 + cell + 1] = sums[i + 1];\n"
    "}\n";

// As `mix`, but no island has what it reads: it stays the program's own function.
static const char own_source[] =
    "extern \"C\" __global__ void own(unsigned *cells, unsigned node, uint3 before, unsigned num)\n"
    "{\n"
    "    const unsigned others[3] = { before.x, before.y, before.z };\n"
    "    const unsigned cell = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * "
    "blockDim.x;\n"
    "    const unsigned next = cell - threadIdx.x + (threadIdx.x + 1) % blockDim.x;\n"
    "    unsigned warp, sum = cells[node * 64 + cell] * 31 + cells[node * 64 + next] + 1;\n"
    "    asm volatile(\"mov.u32 %0, %%warpid;\" : \"=r\"(warp));\n"
    "    for (unsigned i = 0; i < num; i++)\n"
    "        sum += cells[others[i] * 64 + (cell + 1) % all];\n"
    "    __syncthreads();\n"
    "    cells[node * 64 + cell] = warp < 64 ? sum : 0;\n"
    "}\n";

static const char *const factor_option[] = { "-DFACTOR=31" };
static braid_kernel kernels[] = {
    { .name = "mix", .source = source },
    { .name = "staged", .source = staged_source, .options = factor_option, .num_options = 1 },
    { .name = "halved", .source = halved_source },
    { .name = "given" }, // as PTX
    { .name = "own", .source = own_source },
};
enum { MIX, STAGED, GIVEN = 3, OWN, NUM_KERNELS = 4 };

struct uint3 {
    uint32_t x, y, z;
};

struct work {
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    uint32_t *cells, expected[NODES][CELLS];
    uint32_t before[NODES][MOST_BEFORE], num[NODES], blocks[NODES];
    uint32_t threads;
    bool one_kernel;
    bool has_own; // the program's own functions between islands
};

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 16;
}

static void choose(struct work *work, uint32_t seed, uint32_t threads, uint32_t most_blocks)
{
    work->threads = threads;
    for (uint32_t i = 0; i < NODES; i++) {
        work->blocks[i] = 1 + next_random(&seed) % most_blocks;
        work->num[i] = i == 0 ? 0 : next_random(&seed) % (MOST_BEFORE + 1);
        for (uint32_t j = 0; j < work->num[i]; j++)
            work->before[i][j] = next_random(&seed) % i;
    }
}

static void make(struct work *work)
{
    braid_node nodes[NODES];
    void *memory;
    reset_standin();
    assert_true(standin_configure("BRAID_STANDIN_PTX", "1"));
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &work->device));
    check_ok(
        braid_memory_allocate(work->device, BRAID_MEMORY_DEVICE, sizeof(work->expected), &memory));
    work->cells = memory;
    memset(memory, 0, sizeof(work->expected));
    memset(work->expected, 0, sizeof(work->expected));
    check_ok(braid_graph_create(&work->graph));
    for (uint32_t i = 0; i < NODES; i++) {
        braid_node after[MOST_BEFORE];
        for (uint32_t j = 0; j < work->num[i]; j++)
            after[j] = nodes[work->before[i][j]];
        const struct uint3 before = { work->before[i][0], work->before[i][1], work->before[i][2] };
        const uint32_t which = work->one_kernel              ? MIX
                               : work->has_own && i % 5 == 3 ? OWN
                                                             : i % NUM_KERNELS;
        const braid_kernel_node node = {
            .node = { .after = after, .num_after = work->num[i] },
            .kernel = &kernels[which],
            .shared_bytes = which == STAGED ? 4 * work->threads : 0,
            .grid.x = work->blocks[i],
            .block.x = work->threads,
            BRAID_ARGS(BRAID_ARG(work->cells), BRAID_ARG(i), BRAID_ARG(before),
                       BRAID_ARG(work->num[i])),
        };
        check_ok(braid_graph_add_kernel(work->graph, &node, &nodes[i]));
    }
}

// One frame in plain C, in the order of adding.
static void expect_frame(struct work *work)
{
    for (uint32_t i = 0; i < NODES; i++) {
        uint32_t made[CELLS], all = work->blocks[i] * work->threads;
        for (uint32_t cell = 0; cell < all; cell++) {
            uint32_t thread = cell % work->threads;
            uint32_t next = cell - thread + (thread + 1) % work->threads;
            made[cell] = work->expected[i][cell] * 31 + work->expected[i][next] + 1;
            for (uint32_t j = 0; j < work->num[i]; j++)
                made[cell] += work->expected[work->before[i][j]][(cell + 1) % all];
        }
        memcpy(work->expected[i], made, all * sizeof(*made));
    }
}

static void run(struct work *work, const braid_exec_options *options)
{
    check_ok(braid_exec_create(work->device, work->graph, options, &work->exec));
    for (int frame = 0; frame < FRAMES; frame++) {
        check_ok(braid_exec_launch(work->exec, NULL));
        expect_frame(work);
    }
    check_ok(braid_exec_wait(work->exec));
    assert_memory_equal(work->cells, work->expected, sizeof(work->expected));
}

static void end(struct work *work)
{
    braid_exec_destroy(work->exec);
    braid_graph_destroy(work->graph);
    braid_memory_free(work->device, work->cells);
    braid_device_close(work->device);
    check_nothing_is_left();
}

static void check_islands(uint32_t threads, uint32_t most_blocks, uint32_t lanes)
{
    static struct work work;
    const braid_exec_options options = { .islands = BRAID_ISLANDS_WHOLE, .max_lanes = lanes };
    for (uint32_t seed = 1; seed <= 2; seed++) {
        braid_exec_info info;
        choose(&work, seed, threads, most_blocks);
        make(&work);
        run(&work, &options);
        braid_exec_get_info(work.exec, &info);
        assert_int_equal(info.num_island_nodes, NODES);
        end(&work);
    }
}

static void lanes_may_be_warps(void **state)
{
    (void)state;
    check_islands(32, 1, 4);
}

static void lanes_may_be_groups_of_warps(void **state)
{
    (void)state;
    check_islands(64, 1, 3);
    check_islands(64, 1, 9); // more than one block has barriers for
}

static void calls_may_have_several_blocks(void **state)
{
    (void)state;
    check_islands(32, 2, 3);
}

static void one_lane_may_be_all(void **state)
{
    (void)state;
    check_islands(32, 2, 1);
}

// Two of the nodes are own functions, on one lane between islands, or on several.
static void own_functions_stand_between_islands(void **state)
{
    (void)state;
    static struct work work = { .has_own = true };
    for (uint32_t seed = 1; seed <= 4; seed++) {
        const braid_exec_options options = { .islands = BRAID_ISLANDS_ALWAYS,
                                             .max_lanes = 1 + seed % 2 };
        braid_exec_info info;
        choose(&work, seed, 32, 2);
        make(&work);
        run(&work, &options);
        braid_exec_get_info(work.exec, &info);
        assert_in_range(info.num_islands, seed % 2 ? 1 : 3, 5);
        assert_in_range(info.num_island_nodes, seed % 2 ? 2 : NODES - 2, NODES - 2);
        end(&work);
    }
}

// Each block waits a while for the others of its call, and tells how many it has seen.
static const char meeting_source[] =
    "extern \"C\" __global__ void meeting(unsigned *here, unsigned *seen)\n"
    "{\n"
    "    unsigned num = 0;\n"
    "    if (threadIdx.x)\n"
    "        return;\n"
    "    asm volatile(\"st.global.u32 [%0], 1;\" : : \"l\"(here + blockIdx.x) : \"memory\");\n"
    "    for (unsigned k = 0; k < 1000 && num < gridDim.x; k++) {\n"
    "        num = 0;\n"
    "        for (unsigned i = 0; i < gridDim.x; i++) {\n"
    "            unsigned value;\n"
    "            asm volatile(\"ld.global.u32 %0, [%1];\" : \"=r\"(value) : \"l\"(here + i) : "
    "\"memory\");\n"
    "            num += value;\n"
    "        }\n"
    "    }\n"
    "    seen[blockIdx.x] = num;\n"
    "}\n";

// Lanes that do not know of each other, whose calls have several blocks and one by turns.
static void check_meetings(uint32_t lanes, uint32_t threads, uint32_t blocks, uint64_t cost_ns)
{
    enum { LENGTH = 3, MOST_CALLS = 6 * LENGTH, MOST_BLOCKS = 4 };
    static const braid_kernel meeting = { .name = "meeting", .source = meeting_source };
    const braid_exec_options options = { .islands = BRAID_ISLANDS_WHOLE,
                                         .max_lanes = lanes,
                                         .fixed_lanes = true };
    reset_standin();
    assert_true(standin_configure("BRAID_STANDIN_PTX", "1"));
    braid_device *device = own_device("cuda");
    uint32_t *cells = own_memory(device, BRAID_MEMORY_DEVICE, 2 * MOST_CALLS * MOST_BLOCKS * 4);
    memset(cells, 0, 2 * MOST_CALLS * MOST_BLOCKS * 4);
    braid_graph *graph = own_graph();
    braid_node last[MOST_CALLS];
    for (uint32_t i = 0; i < lanes * LENGTH; i++) {
        uint32_t *here = cells + i * MOST_BLOCKS, *seen = here + MOST_CALLS * MOST_BLOCKS;
        const braid_kernel_node node = {
            .node = { .after = &last[i % lanes], .num_after = i >= lanes, .cost_ns = cost_ns },
            .kernel = &meeting,
            .grid.x = i / lanes == 1 ? 1 : blocks,
            .block.x = threads,
            BRAID_ARGS(BRAID_ARG(here), BRAID_ARG(seen)),
        };
        check_ok(braid_graph_add_kernel(graph, &node, &last[i % lanes]));
    }
    braid_exec *exec = own_exec(device, graph, &options);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    for (uint32_t i = 0; i < lanes * LENGTH; i++) {
        uint32_t num = i / lanes == 1 ? 1 : blocks;
        for (uint32_t b = 0; b < num; b++)
            assert_int_equal(cells[(MOST_CALLS + i) * MOST_BLOCKS + b], num);
    }
    finish_standin();
}

// On one lane, on lanes of one block, and on lanes with a block each. Nobody may know the costs.
static void blocks_of_a_call_run_side_by_side(void **state)
{
    (void)state;
    check_meetings(1, 64, 4, 0);
    check_meetings(2, 64, 3, 0);
    check_meetings(6, 32, 2, 0); // more than there are multiprocessors
    check_meetings(3, 256, 4, 0);
    check_meetings(3, 256, 4, 20000);
}

// Copies and fills of any size, beside a kernel of many threads, on one lane and on two.
static void check_moves(uint32_t lanes, uint32_t threads, uint64_t bytes)
{
    static const braid_kernel meeting = { .name = "meeting", .source = meeting_source };
    const braid_exec_options options = { .islands = BRAID_ISLANDS_WHOLE,
                                         .max_lanes = lanes,
                                         .fixed_lanes = true };
    reset_standin();
    assert_true(standin_configure("BRAID_STANDIN_PTX", "1"));
    braid_device *device = own_device("cuda");
    unsigned char *memory = own_memory(device, BRAID_MEMORY_DEVICE, 3 * bytes);
    uint32_t *here = own_memory(device, BRAID_MEMORY_DEVICE, 8), *seen = here + 1;
    braid_graph *graph = own_graph();
    const braid_kernel_node kernel = { .kernel = &meeting,
                                       .block.x = threads,
                                       BRAID_ARGS(BRAID_ARG(here), BRAID_ARG(seen)) };
    const braid_copy copy = { .to = memory, .from = memory + bytes, .bytes = bytes };
    const braid_fill fill = {
        .to = memory + 2 * bytes, .value = 0x77, .value_bytes = 1, .num_values = bytes
    };
    check_ok(braid_graph_add_kernel(graph, &kernel, NULL));
    check_ok(braid_graph_add_copy(graph, &copy, NULL));
    check_ok(braid_graph_add_fill(graph, &fill, NULL));
    braid_exec *exec = own_exec(device, graph, &options);
    for (uint64_t i = 0; i < 3 * bytes; i++)
        memory[i] = (unsigned char)(i * 7 + i / 251);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_memory_equal(memory, memory + bytes, bytes);
    for (uint64_t i = 0; i < bytes; i++) {
        assert_int_equal(memory[bytes + i], (unsigned char)((bytes + i) * 7 + (bytes + i) / 251));
        assert_int_equal(memory[2 * bytes + i], 0x77);
    }
    finish_standin();
}

static void copies_and_fills_have_any_size(void **state)
{
    (void)state;
    check_moves(1, 128, 1);
    check_moves(1, 128, 160001); // not in units of 16 bytes
    check_moves(2, 96, 160000);
    check_moves(3, 1024, 4096); // each lane alone in its block
}

// A kernel with many arguments: 15 of them have more than a launch has room for.
enum { LARGE_WORDS = 700, LARGE_NODES = 15 };
static const char large_source[] =
    "struct large { unsigned x[700]; };\n"
    "extern \"C\" __global__ void add_large(unsigned *cell, large from)\n"
    "{\n"
    "    if (threadIdx.x == 0)\n"
    "        *cell = *cell * 31 + from.x[0] + from.x[699];\n"
    "}\n";

struct large {
    uint32_t x[LARGE_WORDS];
};

static struct large large_of(uint32_t value)
{
    struct large large = { { 0 } };
    large.x[0] = value;
    large.x[LARGE_WORDS - 1] = 1000 * value;
    return large;
}

static void expect_large(uint32_t *expected, const uint32_t *values)
{
    for (uint32_t i = 0; i < LARGE_NODES; i++)
        expected[i % 3] = expected[i % 3] * 31 + 1001 * values[i];
}

// Each node changes the cell of its lane. Values change between frames that are in flight.
static void check_large(uint32_t lanes, uint32_t threads)
{
    static const braid_kernel add_large = { .name = "add_large", .source = large_source };
    const braid_exec_options options = { .islands = BRAID_ISLANDS_WHOLE,
                                         .max_lanes = lanes,
                                         .fixed_lanes = true };
    uint32_t values[LARGE_NODES], expected[3] = { 0 };
    braid_node nodes[LARGE_NODES];
    reset_standin();
    assert_true(standin_configure("BRAID_STANDIN_PTX", "1"));
    braid_device *device = own_device("cuda");
    uint32_t *cells = own_memory(device, BRAID_MEMORY_DEVICE, sizeof(expected));
    memset(cells, 0, sizeof(expected));
    braid_graph *graph = own_graph();
    for (uint32_t i = 0; i < LARGE_NODES; i++) {
        uint32_t *cell = cells + i % 3;
        values[i] = i + 1;
        const struct large large = large_of(values[i]);
        const braid_kernel_node node = {
            .node = { .after = &nodes[i < 3 ? 0 : i - 3], .num_after = i >= 3 },
            .kernel = &add_large,
            .block.x = threads,
            BRAID_ARGS(BRAID_ARG(cell), BRAID_ARG(large)),
        };
        check_ok(braid_graph_add_kernel(graph, &node, &nodes[i]));
    }
    braid_exec *exec = own_exec(device, graph, &options);
    for (uint32_t frame = 0; frame < 6; frame++) {
        if (frame % 2) {
            const struct large large = large_of(values[14 - frame] = 50 + frame);
            check_ok(braid_exec_set_arg(exec, nodes[14 - frame], 1, BRAID_ARG(large)));
        }
        check_ok(braid_exec_launch(exec, NULL));
        expect_large(expected, values);
    }
    long before = standin_calls("cuLaunchKernelEx");
    check_ok(braid_exec_launch_many(exec, NULL, 3, NULL, 0));
    assert_int_equal(standin_calls("cuLaunchKernelEx") - before, 1);
    for (int frame = 0; frame < 3; frame++)
        expect_large(expected, values);
    check_ok(braid_exec_wait(exec));
    assert_memory_equal(cells, expected, sizeof(expected));
    finish_standin();
}

static void arguments_may_be_too_many_for_a_launch(void **state)
{
    (void)state;
    check_large(1, 64);
    check_large(3, 64);
    check_large(3, 1024); // each lane has a block
}

// Without islands each kernel is changed to start early, and with times to write those.
static void kernels_by_themselves_start_early_and_are_timed(void **state)
{
    (void)state;
    static struct work work;
    for (int timed = 0; timed < 2; timed++) {
        const braid_exec_options options = { .islands = BRAID_ISLANDS_NEVER,
                                             .mode = BRAID_MODE_GRAPH,
                                             .frames_kept = timed ? 2 : 0 };
        choose(&work, 5, 32, 2);
        work.one_kernel = true;
        make(&work);
        run(&work, &options);
        end(&work);
    }
}

// The text that a program gives.
static void read_given(const char *path)
{
    static char text[8192];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    kernels[GIVEN].cuda.data = text;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    read_given(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_may_be_warps),
        cmocka_unit_test(lanes_may_be_groups_of_warps),
        cmocka_unit_test(calls_may_have_several_blocks),
        cmocka_unit_test(one_lane_may_be_all),
        cmocka_unit_test(own_functions_stand_between_islands),
        cmocka_unit_test(blocks_of_a_call_run_side_by_side),
        cmocka_unit_test(copies_and_fills_have_any_size),
        cmocka_unit_test(arguments_may_be_too_many_for_a_launch),
        cmocka_unit_test(kernels_by_themselves_start_early_and_are_timed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
