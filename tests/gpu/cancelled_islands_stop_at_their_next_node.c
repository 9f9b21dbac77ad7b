// SPDX-License-Identifier: Apache-2.0
// Lanes of a cancelled island call at most three further nodes, and none waits for ever, whatever
// the island's shape. A queued frame calls none at all. Later frames are whole. So are those of an
// island made again meanwhile, as grids change. It runs as PTX.
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"
#include "support/sanitizers.h"

enum { LANES = 4, BEHIND = 8, AHEAD = 3, ITERATIONS = 2 };
#ifdef UNDER_TSAN
enum { WIDE_ROUNDS = 1 }; // the stand-in plays each thread slowly
#else
enum { WIDE_ROUNDS = 2 };
#endif

// The words of a gate: how often it was entered, and whether it is open.
static const char source[] =
    "extern \"C\" __global__ void hold(volatile unsigned *gate, unsigned *cell)\n"
    "{\n"
    "    if (threadIdx.x == 0) {\n"
    "        gate[0] = gate[0] + 1;\n"
    "        while (!gate[1])\n"
    "            __nanosleep(1000000);\n"
    "        ++*cell;\n"
    "    }\n"
    "    __syncthreads();\n"
    "}\n"
    "extern \"C\" __global__ void add(const unsigned *from, unsigned *to)\n"
    "{\n"
    "    if (threadIdx.x == 0 && blockIdx.x == 0)\n"
    "        *to += *from;\n"
    "    __syncthreads();\n"
    "}\n"
    "extern \"C\" __global__ void fail(unsigned *cell)\n"
    "{\n"
    "    *cell = 1;\n"
    "    __trap();\n"
    "}\n";
static const braid_kernel hold = { .name = "hold", .source = source },
                          add = { .name = "add", .source = source },
                          fail = { .name = "fail", .source = source };

struct shape {
    uint32_t lanes, threads, blocks;
    bool has_steps; // nodes behind stand in branches of their own, all in a loop
};

// Cells: one, that of the gate, of nodes behind it, and of each other lane. All other lanes but the
// last one wait for those nodes and for that lane's.
enum { ONE, HELD, LAST, OTHERS, NUM_CELLS = OTHERS + LANES };

struct world {
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    uint32_t *gate, *cells[NUM_CELLS];
    braid_resource gate_buffer, buffers[NUM_CELLS];
    braid_node last; // the first lane's
};

static braid_node add_node(const struct world *world, const struct shape *shape,
                           const braid_kernel *kernel, uint32_t lane, int from, int to,
                           const braid_node *after)
{
    const void *first = from < 0 ? world->gate : world->cells[from];
    const braid_resource source_of = from < 0 ? world->gate_buffer : world->buffers[from];
    braid_node node;
    check_ok(braid_graph_add_kernel(
        world->graph,
        &(braid_kernel_node){
            .node = { .lane_hint = lane + 1, .after = after, .num_after = after ? 2 : 0 },
            .kernel = kernel,
            .grid.x = kernel == &hold ? 1 : shape->blocks,
            .block.x = shape->threads,
            BRAID_ARGS(BRAID_ARG(first), BRAID_ARG(world->cells[to])),
            BRAID_ACCESSES({ source_of, from < 0 ? BRAID_READ_WRITE : BRAID_READ },
                           { world->buffers[to], BRAID_READ_WRITE }) },
        &node));
    return node;
}

static void *allocate(struct world *world, braid_memory_kind kind, braid_resource *out_buffer)
{
    void *memory;
    check_ok(braid_memory_allocate(world->device, kind, 8, &memory));
    memset(memory, 0, 8);
    check_ok(braid_graph_add_buffer(world->graph, "cell", memory, 8, out_buffer));
    return memory;
}

static void add_nodes(struct world *world, const struct shape *shape)
{
    braid_node before[2]; // on the first lane and on the last one
    before[0] = add_node(world, shape, &hold, 0, -1, HELD, NULL);
    for (uint32_t i = 0; i < BEHIND; i++)
        world->last = before[0] = add_node(world, shape, &add, 0, HELD, LAST, NULL);
    for (uint32_t lane = shape->lanes - 1; lane > 0; lane--) {
        braid_node first = add_node(world, shape, &add, lane, ONE, OTHERS + (int)lane, NULL);
        if (lane + 1 == shape->lanes)
            before[1] = first;
        else
            add_node(world, shape, &add, lane, ONE, OTHERS + (int)lane, before);
    }
}

// Each lane has one call in each step. No arm runs of which the condition is the cell of no lane.
static void add_steps(struct world *world, const struct shape *shape)
{
    const braid_loop loop = { .times = ITERATIONS };
    const braid_if always = { .condition = world->buffers[ONE] };
    const braid_if never = { .condition = world->buffers[OTHERS] };
    check_ok(braid_graph_begin_loop(world->graph, &loop, NULL));
    add_node(world, shape, &hold, 0, -1, HELD, NULL);
    for (uint32_t i = 0; i < BEHIND; i++) {
        check_ok(braid_graph_begin_if(world->graph, &never, NULL));
        add_node(world, shape, &add, 0, ONE, LAST, NULL);
        check_ok(braid_graph_end(world->graph));
        check_ok(braid_graph_begin_if(world->graph, &always, NULL));
        world->last = add_node(world, shape, &add, 0, HELD, LAST, NULL);
        for (uint32_t lane = 1; lane < shape->lanes; lane++)
            add_node(world, shape, &add, lane, ONE, OTHERS + (int)lane, NULL);
        check_ok(braid_graph_end(world->graph));
    }
    check_ok(braid_graph_end(world->graph));
}

static void open_world(struct world *world)
{
    reset_standin();
    assert_true(standin_configure("BRAID_STANDIN_PTX", "1"));
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &world->device));
    check_ok(braid_graph_create(&world->graph));
}

static struct world make(const struct shape *shape)
{
    struct world world = { 0 };
    const braid_exec_options options = {
        .mode = shape->has_steps ? BRAID_MODE_GRAPH : BRAID_MODE_AUTO,
        .islands = shape->has_steps ? BRAID_ISLANDS_ALWAYS : BRAID_ISLANDS_WHOLE,
        .max_lanes = shape->lanes,
        .fixed_lanes = shape->has_steps,
        .black_box = true
    };
    braid_exec_info info;
    open_world(&world);
    world.gate = allocate(&world, BRAID_MEMORY_HOST, &world.gate_buffer);
    for (int i = 0; i < NUM_CELLS; i++)
        world.cells[i] = allocate(&world, BRAID_MEMORY_DEVICE, &world.buffers[i]);
    (shape->has_steps ? add_steps : add_nodes)(&world, shape);
    check_ok(braid_exec_create(world.device, world.graph, &options, &world.exec));
    braid_exec_get_info(world.exec, &info);
    assert_int_equal(info.num_islands, 1);
    return world;
}

static void finish(const struct world *world)
{
    braid_exec_destroy(world->exec);
    braid_graph_destroy(world->graph);
    braid_memory_free(world->device, world->gate);
    for (int i = 0; i < NUM_CELLS; i++)
        braid_memory_free(world->device, world->cells[i]);
    check_ok(braid_device_close(world->device));
    check_nothing_is_left();
}

static uint32_t load(const uint32_t *word)
{
    return atomic_load((const _Atomic uint32_t *)word);
}

// The gate alone runs: the last lane, which waits for nobody, has ended.
static bool is_held(const struct world *world, const struct shape *shape)
{
    braid_running_node running;
    size_t num;
    bool has_begun = load(&world->gate[0]) && (shape->lanes == 1 || shape->has_steps ||
                                               load(world->cells[OTHERS + shape->lanes - 1]));
    check_ok(braid_exec_get_running(world->exec, &running, 1, &num));
    return has_begun && num == 1 && strcmp(running.name, "hold") == 0;
}

static void reset(const struct world *world)
{
    for (int i = 0; i < NUM_CELLS; i++)
        *world->cells[i] = i == ONE;
}

// Cancels the first of two frames.
static void cancel_in_gate(const struct world *world, const struct shape *shape)
{
    check_ok(braid_exec_launch(world->exec, NULL));
    check_ok(braid_exec_launch(world->exec, NULL));
    while (!is_held(world, shape))
        nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
    assert_int_equal(braid_exec_cancel(world->exec), BRAID_NOT_READY);
    assert_true(is_held(world, shape));
    check_ok(braid_exec_set(world->exec, world->last, BRAID_TARGET_GRID, 0,
                            &(braid_dim3){ shape->blocks + 1 })); // more blocks do no more
    atomic_store((_Atomic uint32_t *)&world->gate[1], 1);
    check_ok(braid_exec_wait(world->exec));
}

// Counts the calls of a lane that is not the first, in a whole frame.
static uint32_t num_calls(const struct shape *shape, uint32_t lane)
{
    uint32_t num = lane + 1 < shape->lanes ? 2 : 1;
    return shape->has_steps ? ITERATIONS * BEHIND : num;
}

static void check_whole_frames(const struct world *world, const struct shape *shape)
{
    reset(world);
    uint32_t held = 0, last = 0;
    for (uint32_t frame = 1; frame <= 3; frame++) {
        check_ok(braid_exec_launch(world->exec, NULL));
        check_ok(braid_exec_wait(world->exec));
        for (int i = 0; i < (shape->has_steps ? ITERATIONS : 1); i++)
            last += BEHIND * ++held;
        assert_int_equal(*world->cells[HELD], held);
        assert_int_equal(*world->cells[LAST], last);
    }
    for (uint32_t lane = 1; lane < shape->lanes; lane++)
        assert_int_equal(*world->cells[OTHERS + lane], 3 * num_calls(shape, lane));
}

static void check_cancelled(const struct world *world, const struct shape *shape)
{
    reset(world);
    world->gate[0] = world->gate[1] = 0;
    cancel_in_gate(world, shape);
    assert_int_equal(world->gate[0], 1);
    assert_int_equal(*world->cells[HELD], 1);
    assert_in_range(*world->cells[LAST], 0, AHEAD);
    for (uint32_t lane = 1; lane < shape->lanes; lane++)
        assert_in_range(*world->cells[OTHERS + lane], 0, shape->has_steps ? AHEAD : 1);
}

// The first time with the grids that the island was made with.
static void check(const struct shape *shape)
{
    struct world world = make(shape);
    for (int i = 0; i < (shape->threads > 256 ? WIDE_ROUNDS : 2); i++) {
        check_cancelled(&world, shape);
        check_whole_frames(&world, shape);
    }
    finish(&world);
}

static void one_lane(void **state)
{
    (void)state;
    check(&(struct shape){ .lanes = 1, .threads = 32, .blocks = 1 });
    check(&(struct shape){ .lanes = 1, .threads = 64, .blocks = 1 });
}

static void one_lane_of_several_blocks(void **state)
{
    (void)state;
    check(&(struct shape){ .lanes = 1, .threads = 64, .blocks = 3 });
}

static void lanes_of_one_warp(void **state)
{
    (void)state;
    check(&(struct shape){ .lanes = LANES, .threads = 32, .blocks = 1 });
}

static void lanes_of_several_warps(void **state)
{
    (void)state;
    check(&(struct shape){ .lanes = LANES, .threads = 64, .blocks = 1 });
}

static void lanes_in_several_blocks(void **state)
{
    (void)state;
    check(&(struct shape){ .lanes = LANES, .threads = 512, .blocks = 1 });
}

static void steps_of_few_calls(void **state)
{
    (void)state;
    check(&(struct shape){ .lanes = 1, .threads = 32, .blocks = 1, .has_steps = true });
    check(&(struct shape){ .lanes = 1, .threads = 64, .blocks = 3, .has_steps = true });
    check(&(struct shape){ .lanes = LANES, .threads = 32, .blocks = 1, .has_steps = true });
    check(&(struct shape){ .lanes = LANES, .threads = 64, .blocks = 1, .has_steps = true });
    check(&(struct shape){ .lanes = LANES, .threads = 512, .blocks = 1, .has_steps = true });
}

// The next launch takes it back all the same.
static void a_failed_copy_is_told(void **state)
{
    (void)state;
    const struct shape shape = { .lanes = 1, .threads = 32, .blocks = 1 };
    struct world world = make(&shape);
    atomic_store((_Atomic uint32_t *)&world.gate[1], 1);
    fail_calls("cuMemcpyAsync:1=2");
    check_fails(braid_exec_cancel(world.exec), BRAID_NO_MEMORY, "words of a black box");
    fail_calls(NULL);
    check_whole_frames(&world, &shape);
    finish(&world);
}

// Each launch tries again until it has taken the cancel back.
static void a_launch_that_cannot_take_a_cancel_back_says_so(void **state)
{
    (void)state;
    const struct shape shape = { .lanes = 1, .threads = 32, .blocks = 1 };
    struct world world = make(&shape);
    atomic_store((_Atomic uint32_t *)&world.gate[1], 1);
    check_ok(braid_exec_cancel(world.exec));
    fail_calls("cuMemcpyAsync:1=2");
    check_fails(braid_exec_launch(world.exec, NULL), BRAID_NO_MEMORY, "words of a black box");
    fail_calls(NULL);
    check_whole_frames(&world, &shape);
    finish(&world);
}

static void a_failed_device_is_told_with_its_nodes(void **state)
{
    (void)state;
    struct world world = { 0 };
    const braid_exec_options options = { .islands = BRAID_ISLANDS_WHOLE, .black_box = true };
    open_world(&world);
    void *cell = allocate(&world, BRAID_MEMORY_DEVICE, &world.buffers[ONE]);
    check_ok(braid_graph_add_kernel(
        world.graph,
        &(braid_kernel_node){ .kernel = &fail,
                              .block.x = 1,
                              BRAID_ARGS(BRAID_ARG(cell)),
                              BRAID_ACCESSES({ world.buffers[ONE], BRAID_WRITE }) },
        NULL));
    check_ok(braid_exec_create(world.device, world.graph, &options, &world.exec));
    (void)!braid_exec_launch(world.exec, NULL); // it may find that the device has failed
    check_fails(braid_exec_wait(world.exec), BRAID_DEVICE_ERROR, "'fail'");
    check_fails(braid_exec_cancel(world.exec), BRAID_DEVICE_ERROR, "'fail'");
    braid_exec_destroy(world.exec);
    braid_graph_destroy(world.graph);
    braid_memory_free(world.device, cell);
    (void)!braid_device_close(world.device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_lane),
        cmocka_unit_test(one_lane_of_several_blocks),
        cmocka_unit_test(lanes_of_one_warp),
        cmocka_unit_test(lanes_of_several_warps),
        cmocka_unit_test(lanes_in_several_blocks),
        cmocka_unit_test(steps_of_few_calls),
        cmocka_unit_test(a_failed_copy_is_told),
        cmocka_unit_test(a_launch_that_cannot_take_a_cancel_back_says_so),
        cmocka_unit_test(a_failed_device_is_told_with_its_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
