// SPDX-License-Identifier: Apache-2.0
// Conjugate gradients for Poisson's equation on a square grid, with the matrix in rows (CSR). A
// solve is one frame of Braid's with a loop; a graph by hand with a WHILE node; or a loop of the
// host that reads the word after each iteration, or after each 32nd. All run the same kernels.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpu/hand.h"

enum { THREADS = 256, MOST_BLOCKS = 1056, MOST = 500, FRAMES = 9, SELDOM = 32 };

static const char source[] =
    "struct scalars { double square, least, alpha, beta; unsigned num; };\n"
    "#define EACH(i) unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * "
    "blockDim.x\n"
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
    "extern \"C\" __global__ void start(double *x, double *rest, double *along, const double "
    "*right,\n"
    "    scalars *values, double square, unsigned n)\n"
    "{\n"
    "    for (EACH(i)) {\n"
    "        x[i] = 0;\n"
    "        rest[i] = along[i] = right[i];\n"
    "    }\n"
    "    if (blockIdx.x == 0 && threadIdx.x == 0)\n"
    "        *values = { square, 1e-16 * square, 0, 0, 0 };\n"
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
    "        mine += product * along[i];\n"
    "    }\n"
    "    mine = sum(mine);\n"
    "    if (threadIdx.x == 0)\n"
    "        parts[blockIdx.x] = mine;\n"
    "}\n"
    "extern \"C\" __global__ void find_alpha(const double *parts, scalars *values, unsigned num)\n"
    "{\n"
    "    double mine = 0;\n"
    "    for (unsigned i = threadIdx.x; i < num; i += blockDim.x)\n"
    "        mine += parts[i];\n"
    "    mine = sum(mine);\n"
    "    if (threadIdx.x == 0)\n"
    "        values->alpha = values->square / mine;\n"
    "}\n"
    "extern \"C\" __global__ void advance(double *x, double *rest, const double *along,\n"
    "    const double *image, double *parts, const scalars *values, unsigned n)\n"
    "{\n"
    "    double mine = 0;\n"
    "    const double alpha = values->alpha;\n"
    "    for (EACH(i)) {\n"
    "        x[i] += alpha * along[i];\n"
    "        const double next = rest[i] - alpha * image[i];\n"
    "        rest[i] = next;\n"
    "        mine += next * next;\n"
    "    }\n"
    "    mine = sum(mine);\n"
    "    if (threadIdx.x == 0)\n"
    "        parts[blockIdx.x] = mine;\n"
    "}\n"
    "extern \"C\" __global__ void test(const double *parts, scalars *values, unsigned *left, "
    "unsigned num,\n"
    "    unsigned most)\n"
    "{\n"
    "    double mine = 0;\n"
    "    for (unsigned i = threadIdx.x; i < num; i += blockDim.x)\n"
    "        mine += parts[i];\n"
    "    mine = sum(mine);\n"
    "    if (threadIdx.x == 0) {\n"
    "        values->beta = mine / values->square;\n"
    "        values->square = mine;\n"
    "        *left = ++values->num < most && mine > values->least;\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__ void turn(double *along, const double *rest, const scalars *values, "
    "unsigned n)\n"
    "{\n"
    "    const double beta = values->beta;\n"
    "    for (EACH(i))\n"
    "        along[i] = rest[i] + beta * along[i];\n"
    "}\n";

enum { START, MULTIPLY, FIND_ALPHA, ADVANCE, TEST, TURN, NUM_KERNELS };
static const braid_kernel kernels[NUM_KERNELS] = {
    [START] = { .name = "start", .source = source },
    [MULTIPLY] = { .name = "multiply", .source = source },
    [FIND_ALPHA] = { .name = "find_alpha", .source = source },
    [ADVANCE] = { .name = "advance", .source = source },
    [TEST] = { .name = "test", .source = source },
    [TURN] = { .name = "turn", .source = source },
};

enum { FIRST, COLUMN, VALUE, RIGHT, X, REST, ALONG, IMAGE, PARTS, SCALARS, LEFT, NUM_BUFFERS };

// What all ways solve. Arguments of the kernels are addresses of the memory and the numbers here.
struct problem {
    uint32_t side, num, num_blocks, most;
    double square;
    void *memory[NUM_BUFFERS];
    uint64_t bytes[NUM_BUFFERS];
};

// The buffers of a kernel's arguments, and which it writes; -1: the next of its numbers.
struct use {
    int buffer;
    braid_access_mode mode;
};
#define READS(buffer)                                                                              \
    {                                                                                              \
        buffer, BRAID_READ                                                                         \
    }
#define WRITES(buffer)                                                                             \
    {                                                                                              \
        buffer, BRAID_WRITE                                                                        \
    }
#define CHANGES(buffer)                                                                            \
    {                                                                                              \
        buffer, BRAID_READ_WRITE                                                                   \
    }
enum { MOST_ARGS = 7, NUM_ARG = -1, NUM_PARTS_ARG = -2, MOST_ARG = -3, SQUARE_ARG = -4 };
static const struct use uses[NUM_KERNELS][MOST_ARGS] = {
    [START] = { WRITES(X),
                WRITES(REST),
                WRITES(ALONG),
                READS(RIGHT),
                WRITES(SCALARS),
                { SQUARE_ARG, 0 },
                { NUM_ARG, 0 } },
    [MULTIPLY] = { READS(FIRST),
                   READS(COLUMN),
                   READS(VALUE),
                   READS(ALONG),
                   WRITES(IMAGE),
                   WRITES(PARTS),
                   { NUM_ARG, 0 } },
    [FIND_ALPHA] = { READS(PARTS), CHANGES(SCALARS), { NUM_PARTS_ARG, 0 } },
    [ADVANCE] = { CHANGES(X),
                  CHANGES(REST),
                  READS(ALONG),
                  READS(IMAGE),
                  WRITES(PARTS),
                  READS(SCALARS),
                  { NUM_ARG, 0 } },
    [TEST] = { READS(PARTS),
               CHANGES(SCALARS),
               WRITES(LEFT),
               { NUM_PARTS_ARG, 0 },
               { MOST_ARG, 0 } },
    [TURN] = { CHANGES(ALONG), READS(REST), READS(SCALARS), { NUM_ARG, 0 } },
};
static const int num_args[NUM_KERNELS] = { 7, 7, 3, 7, 5, 4 };

static uint32_t blocks_of(const struct problem *problem, int kernel)
{
    return kernel == FIND_ALPHA || kernel == TEST ? 1 : problem->num_blocks;
}

static braid_arg arg_of(const struct problem *problem, int what)
{
    if (what >= 0)
        return (braid_arg){ &problem->memory[what], sizeof(void *) };
    return what == NUM_ARG         ? BRAID_ARG(problem->num)
           : what == NUM_PARTS_ARG ? BRAID_ARG(problem->num_blocks)
           : what == MOST_ARG      ? BRAID_ARG(problem->most)
                                   : BRAID_ARG(problem->square);
}

// ---- the problem ----

static void put(braid_device *device, const struct problem *problem, int buffer, const void *from)
{
    must(braid_stream_copy(braid_device_get_default_stream(device), problem->memory[buffer], from,
                           problem->bytes[buffer]));
    must(braid_stream_wait(braid_device_get_default_stream(device)));
}

static void *allocate(uint64_t bytes)
{
    void *memory = malloc(bytes);
    if (memory)
        return memory;
    puts("out of memory");
    exit(1);
}

// 4 for a point, and -1 for each neighbour in the square.
static void put_matrix(braid_device *device, struct problem *problem)
{
    const uint32_t side = problem->side;
    uint32_t *first = allocate(problem->bytes[FIRST]), *column = allocate(problem->bytes[COLUMN]);
    double *value = allocate(problem->bytes[VALUE]), *right = allocate(problem->bytes[RIGHT]);
    uint32_t k = 0;
    problem->square = 0;
    for (uint32_t i = 0; i < problem->num; i++) {
        const uint32_t near[5] = { i - side, i - 1, i, i + 1, i + side };
        const bool is_there[5] = { i >= side, i % side, true, (i + 1) % side,
                                   i + side < problem->num };
        first[i] = k;
        for (int n = 0; n < 5; n++) {
            if (!is_there[n])
                continue;
            column[k] = near[n];
            value[k++] = n == 2 ? 4 : -1;
        }
        right[i] = sin(i);
        problem->square += right[i] * right[i];
    }
    first[problem->num] = k;
    put(device, problem, FIRST, first);
    put(device, problem, COLUMN, column);
    put(device, problem, VALUE, value);
    put(device, problem, RIGHT, right);
    free(first);
    free(column);
    free(value);
    free(right);
}

// Each thread has `each` unknowns, or more beyond MOST_BLOCKS.
static struct problem make_problem(braid_device *device, uint32_t side, uint32_t each)
{
    struct problem problem = { .side = side, .num = side * side, .most = MOST };
    const uint64_t vector = sizeof(double) * problem.num;
    problem.num_blocks = (problem.num + THREADS * each - 1) / (THREADS * each);
    problem.num_blocks = problem.num_blocks < MOST_BLOCKS ? problem.num_blocks : MOST_BLOCKS;
    for (int i = 0; i < NUM_BUFFERS; i++) {
        problem.bytes[i] = i == FIRST     ? 4 * (problem.num + 1ull)
                           : i == COLUMN  ? 5 * 4ull * problem.num
                           : i == VALUE   ? 5 * vector
                           : i == PARTS   ? sizeof(double) * MOST_BLOCKS
                           : i >= SCALARS ? 64
                                          : vector;
        must(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, problem.bytes[i],
                                   &problem.memory[i]));
    }
    put_matrix(device, &problem);
    return problem;
}

// ---- by hand ----

struct hand_solver {
    struct hand_graph start, body; // `body` is all of the WHILE graph, which begins with `start`
    const struct problem *problem;
    uint32_t read_each; // iterations, of a loop of the host
};

static gpu_node add_hand_kernel(const struct hand *hand, const gpu_function *functions,
                                const struct problem *problem, gpu_graph graph, gpu_node after,
                                int kernel)
{
    void *args[MOST_ARGS];
    for (int i = 0; i < num_args[kernel]; i++)
        args[i] = (void *)(uintptr_t)arg_of(problem, uses[kernel][i].buffer).data;
    return hand_add_kernel(hand, graph, after, functions[kernel], blocks_of(problem, kernel),
                           THREADS, args);
}

static gpu_node add_hand_body(const struct hand *hand, const gpu_function *functions,
                              const struct problem *problem, gpu_graph graph)
{
    gpu_node last = NULL;
    for (int i = MULTIPLY; i <= TURN; i++)
        last = add_hand_kernel(hand, functions, problem, graph, last, i);
    return last;
}

static struct hand_solver make_while(const struct hand *hand, const gpu_function *functions,
                                     const struct problem *problem)
{
    struct hand_solver solver = { .body = hand_begin_graph(hand), .problem = problem };
    gpu_node start = add_hand_kernel(hand, functions, problem, solver.body.graph, NULL, START);
    struct hand_while loop = hand_add_while(hand, solver.body.graph, start);
    hand_end_while(hand, &loop, add_hand_body(hand, functions, problem, loop.body),
                   problem->memory[LEFT]);
    hand_instantiate(&solver.body);
    return solver;
}

static struct hand_solver make_from_host(const struct hand *hand, const gpu_function *functions,
                                         const struct problem *problem, uint32_t read_each)
{
    struct hand_solver solver = { .start = hand_begin_graph(hand),
                                  .body = hand_begin_graph(hand),
                                  .problem = problem,
                                  .read_each = read_each };
    add_hand_kernel(hand, functions, problem, solver.start.graph, NULL, START);
    add_hand_body(hand, functions, problem, solver.body.graph);
    hand_instantiate(&solver.start);
    hand_instantiate(&solver.body);
    return solver;
}

static void launch_while(void *user)
{
    hand_launch(&((const struct hand_solver *)user)->body);
}

static void solve_from_host(void *user)
{
    const struct hand_solver *solver = user;
    hand_launch(&solver->start);
    do {
        for (uint32_t i = 0; i < solver->read_each; i++)
            hand_launch(&solver->body);
    } while (hand_read(solver->body.hand, solver->problem->memory[LEFT]));
}

static void wait_for_hand(void *user)
{
    hand_wait(((const struct hand_solver *)user)->body.hand);
}

// ---- with Braid ----

struct planned {
    braid_exec *exec;
    braid_node loop;
};

static void add_kernel(braid_graph *graph, const struct problem *problem,
                       const braid_resource *resources, int kernel)
{
    braid_access accesses[MOST_ARGS];
    braid_arg args[MOST_ARGS];
    uint32_t num_accesses = 0;
    for (int i = 0; i < num_args[kernel]; i++) {
        int what = uses[kernel][i].buffer;
        args[i] = arg_of(problem, what);
        if (what >= 0)
            accesses[num_accesses++] = (braid_access){ resources[what], uses[kernel][i].mode };
    }
    must(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .node = { .accesses = accesses, .num_accesses = num_accesses },
                              .kernel = &kernels[kernel],
                              .grid = { blocks_of(problem, kernel), 1, 1 },
                              .block = { THREADS, 1, 1 },
                              .args = args,
                              .num_args = (uint32_t)num_args[kernel] },
        NULL));
}

static struct planned make_planned(braid_device *device, const struct problem *problem,
                                   braid_exec_mode mode)
{
    struct planned planned;
    braid_graph *graph;
    braid_resource resources[NUM_BUFFERS];
    must(braid_graph_create(&graph));
    for (int i = 0; i < NUM_BUFFERS; i++)
        must(braid_graph_add_buffer(graph, "buffer", problem->memory[i], problem->bytes[i],
                                    &resources[i]));
    add_kernel(graph, problem, resources, START);
    must(braid_graph_begin_loop(
        graph, &(braid_loop){ .condition = resources[LEFT], .unbounded = true }, &planned.loop));
    for (int i = MULTIPLY; i <= TURN; i++)
        add_kernel(graph, problem, resources, i);
    must(braid_graph_end(graph));
    must(braid_exec_create(device, graph, &(braid_exec_options){ .mode = mode }, &planned.exec));
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

// ---- both ----

enum { AS_GRAPH, ON_STREAMS, BY_HAND, ON_HOST, ON_HOST_SELDOM, NUM_WAYS };

static void measure_problem(braid_device *device, const struct hand *hand,
                            const gpu_function *functions, uint32_t side, uint32_t each)
{
    struct problem problem = make_problem(device, side, each);
    struct planned graph = make_planned(device, &problem, BRAID_MODE_GRAPH);
    struct planned streams = make_planned(device, &problem, BRAID_MODE_STREAMS);
    struct hand_solver by_hand = make_while(hand, functions, &problem);
    struct hand_solver often = make_from_host(hand, functions, &problem, 1);
    struct hand_solver seldom = make_from_host(hand, functions, &problem, SELDOM);
    const struct system systems[NUM_WAYS] = {
        [AS_GRAPH] = { .launch = launch_planned, .wait = wait_for_planned, .user = &graph },
        [ON_STREAMS] = { .launch = launch_planned, .wait = wait_for_planned, .user = &streams },
        [BY_HAND] = { .launch = launch_while, .wait = wait_for_hand, .user = &by_hand },
        [ON_HOST] = { .launch = solve_from_host, .wait = wait_for_hand, .user = &often },
        [ON_HOST_SELDOM] = { .launch = solve_from_host, .wait = wait_for_hand, .user = &seldom },
    };
    struct timing timings[NUM_WAYS];
    uint64_t num = 0, num_streams = 0;
    measure(systems, NUM_WAYS, FRAMES, timings);
    must(braid_exec_get_iterations(graph.exec, graph.loop, &num));
    must(braid_exec_get_iterations(streams.exec, streams.loop, &num_streams));
    if (num != num_streams) {
        printf("%llu iterations as a graph, and %llu on streams\n", (unsigned long long)num,
               (unsigned long long)num_streams);
        exit(1);
    }
    printf("| %u | %u | %llu |", problem.num, problem.num_blocks, (unsigned long long)num);
    for (int way = 0; way < NUM_WAYS; way++)
        printf(" %.2f (%.2f) |", timings[way].total_us / (double)num,
               timings[way].total_us / timings[BY_HAND].total_us);
    puts("");
    fflush(stdout);
    braid_exec_destroy(graph.exec);
    braid_exec_destroy(streams.exec);
    hand_free_graph(&by_hand.body);
    struct hand_solver *from_host[] = { &often, &seldom };
    for (int i = 0; i < 2; i++) {
        hand_free_graph(&from_host[i]->start);
        hand_free_graph(&from_host[i]->body);
    }
    for (int i = 0; i < NUM_BUFFERS; i++)
        braid_memory_free(device, problem.memory[i]);
}

int main(void)
{
    static const uint32_t sides[] = { 32, 32, 100, 316, 1000 }, each[] = { 1, 4, 1, 1, 1 };
    braid_device *device;
    if (braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device)) {
        printf("skipped: %s\n", braid_error_get_message());
        return 77;
    }
    struct driver driver = open_driver();
    if (!driver.api->graph_add_node || !driver.api->graph_create_condition) {
        printf("skipped: the driver has no graphs that loop\n");
        return 77;
    }
    struct hand hand = hand_open(&driver);
    gpu_module modules[NUM_KERNELS];
    gpu_function functions[NUM_KERNELS];
    for (int i = 0; i < NUM_KERNELS; i++)
        functions[i] = load_kernel(&driver, &kernels[i], &modules[i]);
    printf("<!-- default: Braid, as a graph | on streams; by: unknowns | blocks -->\n"
           "| unknowns | blocks | iterations | Braid, as a graph | on streams | WHILE by hand | "
           "the host reads "
           "each iteration | each %d |\n|---|---|---|---|---|---|---|---|\n",
           SELDOM);
    for (int i = 0; i < 5; i++)
        measure_problem(device, &hand, functions, sides[i], each[i]);
    for (int i = 0; i < NUM_KERNELS; i++)
        must_call(driver.api->module_unload(modules[i]), "cuModuleUnload");
    hand_close(&hand);
    close_driver(&driver);
    braid_device_close(device);
    return 0;
}
