// SPDX-License-Identifier: Apache-2.0
// The loop of an iterative solver, whose kernels have four blocks, is one kernel. It runs as PTX,
// and its threads keep their values in registers. Argument: the assembler (ptxas), if there is one.
#include <string.h>

#include "gpu/gpu_testing.h"
#include "gpu/ptx_assemble.h"

enum { THREADS = 256, NUM = 1024, MOST_BLOCKS = 6, ITERATIONS = 5 };

// A matrix in rows (CSR) with 1, 2 and 1 around the diagonal, halved: sums stay exact.
static const char source[] =
    "#define BLOCK (blockIdx.x + gridDim.x * blockIdx.y)\n"
    "#define EACH(i) unsigned i = BLOCK * blockDim.x + threadIdx.x; i < n; i += gridDim.x * "
    "gridDim.y * blockDim.x\n"
    "static __device__ double sum(double mine)\n"
    "{\n"
    "    __shared__ double sums[8];\n"
    "    for (unsigned apart = 16; apart; apart /= 2)\n"
    "        mine += __shfl_xor_sync(~0u, mine, apart);\n"
    "    if (threadIdx.x % 32 == 0)\n"
    "        sums[threadIdx.x / 32] = mine;\n"
    "    __syncthreads();\n"
    "    mine = 0;\n"
    "    for (unsigned i = 0; i < 8; i++)\n"
    "        mine += sums[i];\n"
    "    return mine;\n"
    "}\n"
    "extern \"C\" __global__ void multiply(const unsigned *first, const unsigned *column,\n"
    "    const double *value, const double *along, double *image, double *parts, unsigned n)\n"
    "{\n"
    "    double mine = 0;\n"
    "    for (EACH(i)) {\n"
    "        double product = 0;\n"
    "        for (unsigned k = first[i]; k < first[i + 1]; k++)\n"
    "            product += value[k] * along[column[k]];\n"
    "        image[i] = product;\n"
    "        mine += product;\n"
    "    }\n"
    "    mine = sum(mine);\n"
    "    if (threadIdx.x == 0)\n"
    "        parts[BLOCK] = mine;\n"
    "}\n"
    "extern \"C\" __global__ void test(const double *parts, double *total, unsigned *left,\n"
    "    unsigned num)\n"
    "{\n"
    "    double mine = sum(threadIdx.x < num ? parts[threadIdx.x] : 0);\n"
    "    if (threadIdx.x == 0) {\n"
    "        *total = mine / 4;\n"
    "        --*left;\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__ void turn(double *along, const double *image, const double *total,\n"
    "    unsigned n)\n"
    "{\n"
    "    for (EACH(i))\n"
    "        along[i] = image[i] / 2 + *total;\n"
    "}\n";

enum { FIRST, COLUMN, VALUE, ALONG, IMAGE, PARTS, TOTAL, LEFT, NUM_BUFFERS };
static const size_t bytes[NUM_BUFFERS] = { 4 * NUM + 4, 12 * NUM,        24 * NUM, 8 * NUM,
                                           8 * NUM,     8 * MOST_BLOCKS, 8,        4 };

struct solver {
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    braid_resource resources[NUM_BUFFERS];
    void *memory[NUM_BUFFERS];
    braid_dim3 grid;
    uint32_t num_blocks; // the grid's
};

static const braid_dim3 narrow = { 4, 1, 1 };
static bool is_nested; // in another loop
static const braid_exec_options as_graph = { .mode = BRAID_MODE_GRAPH };
static const char *assembler;
static char *island; // the text of the latest one that the driver loaded

static void keep_island(const char *text)
{
    if (!strstr(text, ".entry braid_island("))
        return;
    free(island);
    island = strdup(text);
}

static uint32_t column_of(uint32_t row, uint32_t place)
{
    return (row + NUM + place - 1) % NUM;
}

static void put_matrix(const struct solver *solver)
{
    uint32_t *first = solver->memory[FIRST], *column = solver->memory[COLUMN],
             *left = solver->memory[LEFT];
    double *value = solver->memory[VALUE], *along = solver->memory[ALONG];
    for (uint32_t i = 0; i < 3 * NUM; i++) {
        column[i] = column_of(i / 3, i % 3);
        value[i] = i % 3 == 1 ? 2 : 1;
    }
    for (uint32_t i = 0; i < NUM; i++)
        along[i] = i % 7;
    for (uint32_t i = 0; i <= NUM; i++)
        first[i] = 3 * i;
    *left = ITERATIONS;
}

static void add(struct solver *solver, const braid_kernel *kernel, bool is_wide,
                const braid_access *accesses, uint32_t num)
{
    static const uint32_t num_rows = NUM;
    braid_arg args[7];
    for (uint32_t i = 0; i < num; i++) {
        for (int k = 0; k < NUM_BUFFERS; k++)
            if (accesses[i].resource.index == solver->resources[k].index)
                args[i] = BRAID_ARG(solver->memory[k]);
    }
    args[num] = is_wide ? BRAID_ARG(num_rows) : BRAID_ARG(solver->num_blocks);
    check_ok(braid_graph_add_kernel(
        solver->graph,
        &(braid_kernel_node){ .node = { .accesses = accesses, .num_accesses = num },
                              .kernel = kernel,
                              .grid = is_wide ? solver->grid : (braid_dim3){ 1, 1, 1 },
                              .block = { THREADS, 1, 1 },
                              .args = args,
                              .num_args = num + 1 },
        NULL));
}

static void add_loop(struct solver *solver)
{
    static const braid_kernel multiply = { .name = "multiply", .source = source },
                              test = { .name = "test", .source = source },
                              turn = { .name = "turn", .source = source };
    const braid_resource *all = solver->resources;
    if (is_nested)
        check_ok(braid_graph_begin_loop(solver->graph, &(braid_loop){ .times = 1 }, NULL));
    check_ok(braid_graph_begin_loop(
        solver->graph, &(braid_loop){ .condition = all[LEFT], .unbounded = true }, NULL));
    const braid_access multiplies[] = { { all[FIRST], BRAID_READ },  { all[COLUMN], BRAID_READ },
                                        { all[VALUE], BRAID_READ },  { all[ALONG], BRAID_READ },
                                        { all[IMAGE], BRAID_WRITE }, { all[PARTS], BRAID_WRITE } };
    const braid_access tests[] = { { all[PARTS], BRAID_READ },
                                   { all[TOTAL], BRAID_WRITE },
                                   { all[LEFT], BRAID_READ_WRITE } };
    const braid_access turns[] = { { all[ALONG], BRAID_WRITE },
                                   { all[IMAGE], BRAID_READ },
                                   { all[TOTAL], BRAID_READ } };
    add(solver, &multiply, true, multiplies, 6);
    add(solver, &test, false, tests, 3);
    add(solver, &turn, true, turns, 3);
    check_ok(braid_graph_end(solver->graph));
    if (is_nested)
        check_ok(braid_graph_end(solver->graph));
}

static struct solver make(braid_dim3 grid, const braid_exec_options *options)
{
    struct solver solver = { .grid = grid, .num_blocks = grid.x * grid.y };
    reset_standin();
    assert_true(standin_configure("BRAID_STANDIN_PTX", "1"));
    standin_watch_modules(keep_island);
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &solver.device));
    check_ok(braid_graph_create(&solver.graph));
    for (int i = 0; i < NUM_BUFFERS; i++) {
        check_ok(
            braid_memory_allocate(solver.device, BRAID_MEMORY_DEVICE, bytes[i], &solver.memory[i]));
        check_ok(braid_graph_add_buffer(solver.graph, "buffer", solver.memory[i], bytes[i],
                                        &solver.resources[i]));
    }
    put_matrix(&solver);
    add_loop(&solver);
    check_ok(braid_exec_create(solver.device, solver.graph, options, &solver.exec));
    standin_watch_modules(NULL);
    return solver;
}

static void finish(struct solver *solver)
{
    braid_exec_destroy(solver->exec);
    braid_graph_destroy(solver->graph);
    for (int i = 0; i < NUM_BUFFERS; i++)
        braid_memory_free(solver->device, solver->memory[i]);
    check_ok(braid_device_close(solver->device));
    check_nothing_is_left();
}

static void expect(double *along)
{
    double image[NUM];
    for (uint32_t iteration = 0; iteration < ITERATIONS; iteration++) {
        double total = 0;
        for (uint32_t i = 0; i < NUM; i++) {
            image[i] = along[column_of(i, 0)] + 2 * along[i] + along[column_of(i, 2)];
            total += image[i];
        }
        for (uint32_t i = 0; i < NUM; i++)
            along[i] = image[i] / 2 + total / 4;
    }
}

static void check_loop(braid_dim3 grid, const braid_exec_options *options)
{
    struct solver solver = make(grid, options);
    braid_exec_info info;
    double expected[NUM];
    memcpy(expected, solver.memory[ALONG], sizeof(expected));
    expect(expected);
    braid_exec_get_info(solver.exec, &info);
    assert_int_equal(info.num_islands, 1);
    assert_int_equal(info.num_island_nodes, 3);
    check_ok(braid_exec_launch(solver.exec, NULL));
    check_ok(braid_exec_wait(solver.exec));
    assert_memory_equal(solver.memory[ALONG], expected, sizeof(expected));
    finish(&solver);
}

static void the_loop_is_one_kernel(void **state)
{
    (void)state;
    for (int nested = 0; nested < 2; nested++) {
        is_nested = nested;
        check_loop(narrow, &as_graph);
    }
    is_nested = false;
}

// Then some groups of its threads run two blocks of a call.
static void it_may_have_more_blocks_than_room(void **state)
{
    (void)state;
    check_loop((braid_dim3){ 3, 2, 1 },
               &(braid_exec_options){ .mode = BRAID_MODE_GRAPH, .islands = BRAID_ISLANDS_ALWAYS });
}

// In the end some node runs in a later iteration than the first.
static void check_running(const struct solver *solver)
{
    braid_running_node node = { 0 };
    for (int i = 0; i < 1000 && !node.iteration; i++) {
        size_t num;
        check_ok(braid_exec_get_running(solver->exec, &node, 1, &num));
        assert_int_equal(braid_exec_wait_for(solver->exec, BRAID_LAST_FRAME, 1000000),
                         BRAID_TIMEOUT);
    }
    assert_true(node.iteration > 0);
}

static void it_tells_its_iteration_and_ends_when_it_is_cancelled(void **state)
{
    (void)state;
    struct solver solver =
        make(narrow, &(braid_exec_options){ .mode = BRAID_MODE_GRAPH, .black_box = true });
    braid_exec_info info;
    uint32_t *left = solver.memory[LEFT];
    *left = UINT32_MAX;
    braid_exec_get_info(solver.exec, &info);
    assert_int_equal(info.num_islands, 1);
    check_ok(braid_exec_launch(solver.exec, NULL));
    check_running(&solver);
    assert_int_equal(braid_exec_cancel(solver.exec), BRAID_NOT_READY);
    check_ok(braid_exec_wait(solver.exec));
    assert_true(*left > 0);
    finish(&solver);
}

// Without a bound of blocks the assembler leaves room for two islands on a multiprocessor.
static void its_values_are_in_registers(void **state)
{
    (void)state;
    if (!assembler)
        skip_because("no ptxas was given");
    struct solver solver = make(narrow, &as_graph);
    assert_non_null(island);
    ptx_assemble(assembler, "-O3 --warn-on-spills --warning-as-error", "an island", island);
    free(island);
    finish(&solver);
}

int main(int argc, char **argv)
{
    assembler = argc > 1 ? argv[1] : NULL;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loop_is_one_kernel),
        cmocka_unit_test(it_may_have_more_blocks_than_room),
        cmocka_unit_test(it_tells_its_iteration_and_ends_when_it_is_cancelled),
        cmocka_unit_test(its_values_are_in_registers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
