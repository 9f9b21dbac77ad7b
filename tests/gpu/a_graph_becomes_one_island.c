// SPDX-License-Identifier: Apache-2.0
// A graph whose kernels have source becomes one kernel that walks its plan, or it is said why not.
//
// The stand-in driver knows no device code: here a host function walks the words that the island's
// kernel would read, lanes in a random order, so that a missing wait shows.
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_island_lists.h"
#include "backends/gpu/gpu_island_source.h"
#include "gpu/gpu_testing.h"
#include "standin/cuda/cuda_abi.h"
#include "support/check.h"
#include "support/random.h"

enum { NUM_NODES = 40, FRAMES = 20, MOST_LANES = 64 };

#define SOURCE                                                                                     \
    "extern \"C\" __global__ void island_note(unsigned *ran, unsigned node, unsigned long x) {}\n" \
    "extern \"C\" __global__ void island_other(unsigned *ran, unsigned node) { return; }\n"

static const braid_kernel note = { .name = "island_note", .source = SOURCE };
static const braid_kernel other = { .name = "island_other", .source = SOURCE };

typedef void kernel_function(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                             void **args);
BRAID_API kernel_function braid_standin_island_note, braid_standin_island_other,
    braid_standin_braid_island;

static struct random order = { 1 };
static uint32_t before[NUM_NODES][2], num_before[NUM_NODES];
static unsigned num_wrong, num_walks;

// Right only when all that the node stands behind has run once more often.
static void run_node(unsigned *ran, unsigned node)
{
    for (uint32_t i = 0; i < num_before[node]; i++)
        num_wrong += ran[before[node][i]] != ran[node] + 1;
    ran[node]++;
}

void braid_standin_island_note(const unsigned grid[3], const unsigned block[3],
                               unsigned shared_bytes, void **args)
{
    (void)grid, (void)block, (void)shared_bytes;
    run_node(*(unsigned **)args[0], *(unsigned *)args[1]);
}

void braid_standin_island_other(const unsigned grid[3], const unsigned block[3],
                                unsigned shared_bytes, void **args)
{
    braid_standin_island_note(grid, block, shared_bytes, args);
}

// A lane of the walk: the next call, its end, and how much it has published.
struct lane {
    uint32_t next, end, told;
};

struct walk {
    const uint32_t *units; // of one block, 16 bytes each
    const uint32_t *waits;
    const unsigned char *args;
    struct lane *lanes;
};

static bool may_go(const struct walk *walk, const uint32_t *call)
{
    uint32_t num = call[0] >> 16 & 0x7fff;
    for (uint32_t i = 0; i < num; i++) {
        uint32_t wait = num <= 2 ? call[2 + i] : walk->waits[call[2] + i];
        if (walk->lanes[wait >> 20].told < (wait & 0xfffff))
            return false;
    }
    return true;
}

static void do_call(const struct walk *walk, struct lane *lane, const uint32_t *call)
{
    const uint32_t *shape = walk->units + (size_t)12 * (call[0] & 0xffff);
    unsigned *ran;
    uint32_t node;
    memcpy(&ran, walk->args + call[1], sizeof(ran));
    memcpy(&node, walk->args + call[1] + 8, sizeof(node));
    if (shape[1])
        run_node(ran, node);
    lane->told += call[0] >> 31;
    lane->next++;
}

void braid_standin_braid_island(const unsigned grid[3], const unsigned block[3],
                                unsigned shared_bytes, void **args)
{
    (void)block, (void)shared_bytes;
    struct lane lanes[MOST_LANES] = { { 0 } };
    const uint32_t *words = *(const uint32_t **)args[0], *heads[MOST_LANES];
    uint32_t num_lanes = 0, num_left = 0, lanes_a_block = 0;
    num_walks++;
    for (unsigned b = 0; b < grid[0]; b++) {
        const uint32_t *head = words + (size_t)4 * b, *units = words + (size_t)4 * head[0];
        const uint32_t *list = units + (size_t)4 * head[2];
        lanes_a_block = (uint32_t)(list[0] - head[2]) * 2; // ranges stand before the calls
        for (uint32_t i = 0; i < lanes_a_block && num_lanes < MOST_LANES; i++) {
            if (list[2 * i + 1] < list[2 * i] || list[2 * i] == 0)
                continue;
            heads[num_lanes] = head;
            lanes[num_lanes++] = (struct lane){ list[2 * i], list[2 * i + 1], 0 };
            num_left += list[2 * i + 1] - list[2 * i];
        }
    }
    for (uint32_t stuck = 0; num_left && stuck < 100000; stuck++) {
        uint32_t index = random_below(&order, num_lanes);
        const uint32_t *head = heads[index], *units = words + (size_t)4 * head[0];
        struct walk walk = { units, units + (size_t)4 * head[3], args[5], lanes };
        const uint32_t *call = units + (size_t)4 * lanes[index].next;
        if (lanes[index].next == lanes[index].end || !may_go(&walk, call))
            continue;
        do_call(&walk, &lanes[index], call);
        num_left--;
    }
    num_wrong += num_left;
}

// A random graph: each node after at most two earlier ones.
static braid_graph *make_graph(void *ran, struct random *random, braid_node *nodes)
{
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    for (uint32_t i = 0; i < NUM_NODES; i++) {
        braid_node after[2];
        unsigned long unused = i;
        num_before[i] = 0;
        for (uint32_t k = 0; k < 2 && i > 0; k++) {
            uint32_t place = random_below(random, i);
            if (k == 1 && place == before[i][0])
                continue;
            before[i][num_before[i]] = place;
            after[num_before[i]++] = nodes[place];
        }
        const braid_arg args[] = { BRAID_ARG(ran), BRAID_ARG(i), BRAID_ARG(unused) };
        const braid_launch launch = {
            .node = { .after = after, .num_after = num_before[i], .cost_ns = 2000 },
            .kernel = i % 3 ? &note : &other,
            .args = args,
            .num_args = i % 3 ? 3 : 2,
        };
        check_ok(braid_graph_add_kernel(graph, &launch, &nodes[i]));
    }
    return graph;
}

static void every_order_is_kept(void **state)
{
    (void)state;
    const braid_exec_options options = { .islands = BRAID_ISLANDS_WHOLE };
    for (uint64_t seed = 1; seed <= 10; seed++) {
        braid_device *device;
        braid_exec *exec;
        braid_node nodes[NUM_NODES];
        struct random random = { seed };
        void *ran;
        reset_standin();
        check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
        check_ok(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, NUM_NODES * 4, &ran));
        memset(ran, 0, NUM_NODES * 4);
        braid_graph *graph = make_graph(ran, &random, nodes);
        check_ok(braid_exec_create(device, graph, &options, &exec));
        braid_graph_destroy(graph);
        num_wrong = num_walks = 0;
        for (int frame = 0; frame < FRAMES; frame++)
            check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        assert_int_equal(num_walks, FRAMES);
        assert_int_equal(num_wrong, 0);
        braid_exec_info info;
        braid_exec_get_info(exec, &info);
        assert_int_equal(info.num_island_nodes, NUM_NODES);
        braid_exec_destroy(exec);
        braid_memory_free(device, BRAID_MEMORY_DEVICE, ran);
        braid_device_close(device);
        check_nothing_is_left();
    }
}

// What the program changes between frames reaches later ones only.
static void a_frame_keeps_its_arguments(void **state)
{
    (void)state;
    const braid_exec_options options = { .islands = BRAID_ISLANDS_WHOLE };
    braid_device *device;
    braid_exec *exec;
    braid_graph *graph;
    braid_node node;
    unsigned index = 0;
    unsigned long unused = 0;
    void *first, *second;
    reset_standin();
    memset(num_before, 0, sizeof(num_before));
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, 4, &first));
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, 4, &second));
    memset(first, 0, 4);
    memset(second, 0, 4);
    check_ok(braid_graph_create(&graph));
    const braid_launch launch = {
        .kernel = &note,
        BRAID_ARGS(BRAID_ARG(first), BRAID_ARG(index), BRAID_ARG(unused)),
    };
    check_ok(braid_graph_add_kernel(graph, &launch, &node));
    check_ok(braid_exec_create(device, graph, &options, &exec));
    braid_graph_destroy(graph);
    assert_true(standin_configure("BRAID_STANDIN_SLOW_US", "2000"));
    for (int frame = 0; frame < 3; frame++)
        check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_set_arg(exec, node, 0, BRAID_ARG(second)));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(*(unsigned *)first, 3);
    assert_int_equal(*(unsigned *)second, 1);
    braid_exec_destroy(exec);
    braid_memory_free(device, BRAID_MEMORY_DEVICE, first);
    braid_memory_free(device, BRAID_MEMORY_DEVICE, second);
    braid_device_close(device);
    check_nothing_is_left();
}

static void check_refusal(const char *backend, const braid_kernel *kernel, uint32_t shared_bytes,
                          const char *reason)
{
    braid_device *device;
    braid_exec *exec;
    braid_graph *graph;
    unsigned index = 0;
    void *none = NULL;
    reset_standin();
    check_ok(braid_device_open(&(braid_device_options){ .backend = backend }, &device));
    check_ok(braid_graph_create(&graph));
    const braid_launch launch = { .node = { .name = "outsider" },
                                  .kernel = kernel,
                                  .shared_bytes = shared_bytes,
                                  BRAID_ARGS(BRAID_ARG(none), BRAID_ARG(index)) };
    check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    check_fails(braid_exec_create(device, graph,
                                  &(braid_exec_options){ .islands = BRAID_ISLANDS_WHOLE }, &exec),
                BRAID_UNSUPPORTED, reason);
    braid_graph_destroy(graph);
    braid_device_close(device);
}

static void run_other_on_cpu(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
}

static void what_cannot_be_inside_is_named(void **state)
{
    (void)state;
    static const char image[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                                ".visible .entry island_other(.param .u64 a, .param .u32 b)\n"
                                "{ ret; }\n";
    const braid_kernel without = { .name = "island_other", .cuda = { .data = image } };
    const braid_kernel on_cpu = { .name = "on_cpu", .cpu = run_other_on_cpu };
    check_refusal("cuda", &without, 0, "'outsider' cannot be in an island: it has no source");
    check_refusal("cuda", &other, 64, "'outsider' cannot be in an island: it uses dynamic shared");
    check_refusal("cpu", &on_cpu, 0, "has no islands");
}

static void check_source(const char *text, const char *reason)
{
    struct island_source source;
    const char *why = NULL;
    bool read = braid_island_source_read(text, &source, &why);
    if (read)
        braid_island_source_finish(&source);
    assert_int_equal(read, !reason);
    if (reason)
        assert_string_equal(why, reason);
}

static void check_entry(const char *text, const char *name, unsigned threads, unsigned blocks,
                        const char *reason)
{
    struct island_source source;
    struct island_facts facts;
    const char *why = NULL;
    assert_true(braid_island_source_read(text, &source, &why));
    assert_int_equal(braid_island_entry_fits(&source, name, threads, blocks, &facts, &why),
                     !reason);
    if (reason)
        assert_string_equal(why, reason);
    braid_island_source_finish(&source);
}

#define KERNEL(body) "extern \"C\" __global__ void k(int *p) {" body "}"

static void sources_are_read_as_tokens(void **state)
{
    (void)state;
    check_source(KERNEL("// static int x;\n p[0] = 'a'; const char *s = \"__managed__ {\";"), NULL);
    check_source("__device__ int count;\n" KERNEL(""), "it has variables of its own on the device");
    check_source("__device__ const int table[2] = { 1, 2 };\n" KERNEL(""), NULL);
    check_source("struct s { int a; };\n__device__ int f(int x) { return x; }\n" KERNEL(""), NULL);
    check_source(KERNEL("static int seen;"), "it has variables of its own on the device");
    check_source(KERNEL("extern __shared__ int all[];"), "it uses dynamic shared memory");
    check_source(KERNEL("asm volatile(\"exit;\");"),
                 "its assembly may touch what an island stands in for");
    check_source(KERNEL("auto g = cooperative_groups::this_grid();"), "it uses cooperative groups");
    check_source("#if 1\n#include <cuda_fp16.h>\n#endif\n" KERNEL(""),
                 "it includes a file under a condition, or inside braces");
    check_source(KERNEL("{"), "its braces do not match");
    check_source("const char *s = R\"(x)\";\n" KERNEL(""), "it has a raw string");
}

static void kernels_that_may_hang_are_kept_out(void **state)
{
    (void)state;
    const char *early = KERNEL("if (p) return; __syncthreads();");
    const char *spin = KERNEL("while (*(volatile int *)p) { }");
    check_entry(early, "k", 32, 1, "it returns from some threads, and others may wait for them");
    check_entry("#define MEET __syncthreads()\n" KERNEL("if (p) return;"), "k", 32, 1,
                "it returns from some threads, and others may wait for them");
    check_entry(spin, "k", 32, 1, NULL);
    check_entry(spin, "k", 32, 2, "its blocks may wait for each other");
    check_entry(KERNEL("__syncthreads();"), "k", 48, 1, "its blocks are not whole warps");
    check_entry(KERNEL("__syncthreads();"), "k", 64, 8, NULL);
    check_entry("#define ENTRY extern \"C\" __global__\nENTRY void k(int *p) {}", "k", 32, 1,
                "its source does not define it in plain words");
}

static void lanes_that_wait_for_each_other_are_found(void **state)
{
    (void)state;
    struct island_wait waits[] = { { 1, 1 }, { 0, 1 } };
    struct island_call calls[] = { { .num_waits = 1, .publishes = true },
                                   { .first_wait = 1, .num_waits = 1, .publishes = true } };
    uint32_t lane_first[] = { 0, 1, 2 };
    const struct island_lists lists = { calls, lane_first, 2, 2, waits, 2 };
    check_fails(braid_island_lists_check(&lists), BRAID_INTERNAL, "wait for each other");
    calls[0].num_waits = 0;
    check_ok(braid_island_lists_check(&lists));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_is_kept),
        cmocka_unit_test(a_frame_keeps_its_arguments),
        cmocka_unit_test(what_cannot_be_inside_is_named),
        cmocka_unit_test(sources_are_read_as_tokens),
        cmocka_unit_test(kernels_that_may_hang_are_kept_out),
        cmocka_unit_test(lanes_that_wait_for_each_other_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
