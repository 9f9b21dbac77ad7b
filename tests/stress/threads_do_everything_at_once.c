// SPDX-License-Identifier: Apache-2.0
// Many threads build, plan, launch, change, wait and destroy at once, on one device and on several,
// with memory that is there and with memory that runs out now and then. Every call ends with OK, or
// with BRAID_NO_MEMORY where memory may fail; every frame that was launched computed the right sum;
// and afterwards all works as before. BRAID_STRESS_ROUNDS=N makes each thread go N rounds, and
// BRAID_TEST_BACKEND names the backend ("cpu").
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <braid/braid.h>

#include "support/check.h"
#include "support/failing_memory.h"
#include "support/random.h"

enum { NUM_THREADS = 4, MAX_DEVICES = 3, MAX_NODES = 12, NUM_ROUNDS = 400 };

// An exec that all threads launch and change.
struct shared {
    braid_device *device;
    braid_exec *exec;
    braid_node node;
    uint32_t *cell; // touched by frames of one exec only, which run one after another
};

struct stress {
    struct shared shared[MAX_DEVICES];
    uint32_t num_devices;
    bool memory_fails;
};

struct worker {
    pthread_t thread;
    struct stress *stress;
    struct random random;
    uint64_t num_frames, num_without_memory;
    int failed_line; // 0: nothing
    braid_status failed_status;
};

static void add_on_cpu(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    **(uint32_t *const *)args[0] += *(const uint32_t *)args[1];
}

// The stand-in driver runs the function below for this.
static const char add_image[] = ".version 7.0\n"
                                ".target sm_70\n"
                                ".address_size 64\n"
                                ".visible .entry stress_add(.param .u64 cell, .param .u32 addend)\n"
                                "{ ret; }\n";

BRAID_API void braid_standin_stress_add(const unsigned grid[3], const unsigned block[3],
                                        unsigned shared_bytes, void **args);

void braid_standin_stress_add(const unsigned grid[3], const unsigned block[3],
                              unsigned shared_bytes, void **args)
{
    (void)grid, (void)block, (void)shared_bytes;
    add_on_cpu(NULL, args);
}

static const braid_kernel add = {
    .name = "stress_add",
    .cpu = add_on_cpu,
    .cuda = { .data = add_image },
};

static const char *backend_name(void)
{
    const char *name = getenv("BRAID_TEST_BACKEND");
    return name ? name : "cpu";
}

static void add_by_host(void *user)
{
    ++*(uint32_t *)user;
}

// Notes the first status that may not be, and says whether the call worked.
static bool worked_at(struct worker *worker, braid_status status, int line)
{
    if (status == BRAID_OK)
        return true;
    if (status == BRAID_NO_MEMORY && worker->stress->memory_fails) {
        worker->num_without_memory++;
    } else if (!worker->failed_line) {
        worker->failed_line = line;
        worker->failed_status = status;
    }
    return false;
}

// Macro for the line.
#define worked(status) worked_at(worker, (status), __LINE__)

static braid_status add_node(struct worker *worker, braid_graph *graph, braid_resource cells,
                             uint32_t *cell, braid_node main, braid_node *out_node)
{
    uint32_t one = 1;
    const braid_access access = { cells, BRAID_READ_WRITE };
    braid_node_options options = { .accesses = &access, .num_accesses = 1 };
    if (main.graph && random_chance(&worker->random, 30)) {
        if (random_chance(&worker->random, 50))
            options.prelude_of = main;
        else
            options.epilogue_of = main;
    }
    if (random_chance(&worker->random, 30)) {
        *out_node = main;
        return braid_graph_add_host_call(
            graph, &(braid_host_call){ .node = options, .call = add_by_host, .user = cell }, NULL);
    }
    braid_kernel_node launch = { .node = options,
                                 .kernel = &add,
                                 BRAID_ARGS(BRAID_ARG(cell), BRAID_ARG(one)) };
    braid_status status = braid_graph_add_kernel(graph, &launch, out_node);
    if (options.prelude_of.graph || options.epilogue_of.graph)
        *out_node = main;
    return status;
}

// A graph whose every node adds one to the cell, in any order that its accesses give.
static bool build(struct worker *worker, braid_graph *graph, uint32_t *cell, uint32_t num_nodes)
{
    braid_resource cells;
    braid_node main = { 0 };
    if (!worked(braid_graph_add_buffer(graph, "cell", cell, sizeof(*cell), &cells)))
        return false;
    for (uint32_t i = 0; i < num_nodes; i++) {
        braid_node node = { 0 };
        if (!worked(add_node(worker, graph, cells, cell, main, &node)))
            return false;
        main = node;
    }
    return true;
}

static void run_exec(struct worker *worker, braid_exec *exec, braid_stream *stream,
                     const uint32_t *cell, uint32_t num_nodes)
{
    uint32_t num_frames = 1 + random_below(&worker->random, 4), num_run = 0;
    bool partly = false; // a launch that failed may have run some of its nodes
    for (uint32_t i = 0; i < num_frames; i++) {
        if (worked(braid_exec_launch(exec, random_chance(&worker->random, 50) ? stream : NULL)))
            num_run++;
        else
            partly = true;
    }
    worker->num_frames += num_run;
    if (random_chance(&worker->random, 25))
        return; // destroyed in flight
    bool ended = worked(braid_exec_wait(exec));
    if (ended && !partly && *cell != num_run * num_nodes)
        worked_at(worker, BRAID_INTERNAL, __LINE__);
}

static void use_cell(struct worker *worker, braid_device *device, uint32_t *cell)
{
    uint32_t num_nodes = 1 + random_below(&worker->random, MAX_NODES);
    braid_graph *graph = NULL;
    braid_exec *exec = NULL;
    braid_schedule *schedule = NULL;
    braid_stream *stream = NULL;
    braid_exec_options options = { .mode = (braid_exec_mode)random_below(&worker->random, 3),
                                   .max_lanes = random_below(&worker->random, 4) };
    bool made = worked(braid_graph_create(&graph)) && build(worker, graph, cell, num_nodes);
    if (made && random_chance(&worker->random, 50)) {
        const braid_schedule_options plan = { .device = device, .max_lanes = options.max_lanes };
        made = worked(braid_schedule_create(graph, &plan, &schedule)) &&
               worked(braid_schedule_verify(schedule, graph));
        options.schedule = schedule;
    }
    made = made && worked(braid_stream_create(device, NULL, &stream)) &&
           worked(braid_exec_create(device, graph, &options, &exec));
    braid_graph_destroy(graph);
    braid_schedule_destroy(schedule);
    if (made)
        run_exec(worker, exec, stream, cell, num_nodes);
    braid_exec_destroy(exec);
    braid_stream_destroy(stream);
}

// The exec has been destroyed by then, and with it what it had in flight.
static void use_own_graph(struct worker *worker, braid_device *device)
{
    uint32_t *cell;
    if (!worked(braid_memory_allocate(device, BRAID_MEMORY_HOST, sizeof(*cell), (void **)&cell)))
        return;
    *cell = 0;
    use_cell(worker, device, cell);
    braid_memory_free(device, cell);
}

static void use_shared_exec(struct worker *worker, struct shared *shared)
{
    uint32_t addend = random_below(&worker->random, 100);
    worked(braid_exec_set_arg(shared->exec, shared->node, 1, BRAID_ARG(addend)));
    if (worked(braid_exec_launch(shared->exec, NULL)))
        worker->num_frames++;
    braid_status status = braid_exec_wait_for(shared->exec, BRAID_LAST_FRAME, 0);
    if (status != BRAID_NOT_READY)
        worked(status);
    if (random_chance(&worker->random, 30))
        worked(braid_exec_wait(shared->exec));
}

static void use_own_device(struct worker *worker)
{
    braid_device *device;
    const braid_device_options options = { .backend = backend_name(),
                                           .num_workers = 1 + random_below(&worker->random, 2) };
    if (!worked(braid_device_open(&options, &device)))
        return;
    use_own_graph(worker, device);
    braid_device_close(device);
}

static void *work(void *user)
{
    struct worker *worker = user;
    const char *setting = getenv("BRAID_STRESS_ROUNDS");
    uint64_t num_rounds = setting ? strtoull(setting, NULL, 10) : NUM_ROUNDS;
    for (uint64_t round = 0; round < num_rounds && !worker->failed_line; round++) {
        struct stress *stress = worker->stress;
        struct shared *shared = &stress->shared[random_below(&worker->random, stress->num_devices)];
        if (stress->memory_fails && random_chance(&worker->random, 40))
            failing_memory_arm(1 + random_below(&worker->random, 200));
        uint32_t dice = random_below(&worker->random, 100);
        if (dice < 50)
            use_own_graph(worker, shared->device);
        else if (dice < 95)
            use_shared_exec(worker, shared);
        else
            use_own_device(worker);
        if (stress->memory_fails && random_chance(&worker->random, 60))
            failing_memory_disarm();
    }
    return NULL;
}

static void open_shared(struct shared *shared)
{
    uint32_t *cell, one = 1;
    const braid_device_options options = { .backend = backend_name(), .num_workers = 2 };
    braid_graph *graph;
    check_ok(braid_device_open(&options, &shared->device));
    check_ok(
        braid_memory_allocate(shared->device, BRAID_MEMORY_HOST, sizeof(*cell), (void **)&cell));
    *cell = 0;
    shared->cell = cell;
    braid_kernel_node launch = { .kernel = &add, BRAID_ARGS(BRAID_ARG(cell), BRAID_ARG(one)) };
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_kernel(graph, &launch, &shared->node));
    check_ok(braid_exec_create(shared->device, graph, NULL, &shared->exec));
    braid_graph_destroy(graph);
}

// After all that, with memory again: one frame does what one frame does.
static void close_shared(struct shared *shared)
{
    uint32_t seven = 7;
    check_ok(braid_exec_wait(shared->exec));
    uint32_t before = *shared->cell;
    check_ok(braid_exec_set_arg(shared->exec, shared->node, 1, BRAID_ARG(seven)));
    check_ok(braid_exec_launch(shared->exec, NULL));
    check_ok(braid_exec_wait(shared->exec));
    assert_int_equal(*shared->cell - before, 7);
    braid_exec_destroy(shared->exec);
    braid_memory_free(shared->device, shared->cell);
    braid_device_info stats;
    braid_device_get_info(shared->device, &stats);
    assert_int_equal(stats.streams_leased, 0);
    assert_int_equal(stats.events_leased, 0);
    check_ok(braid_device_close(shared->device));
}

static void run_stress(uint32_t num_devices, bool memory_fails)
{
    struct stress stress = { .num_devices = num_devices, .memory_fails = memory_fails };
    struct worker workers[NUM_THREADS];
    uint64_t num_frames = 0, num_without_memory = 0;
    for (uint32_t i = 0; i < num_devices; i++)
        open_shared(&stress.shared[i]);
    for (uint32_t i = 0; i < NUM_THREADS; i++) {
        workers[i] = (struct worker){ .stress = &stress, .random = { i + 1 } };
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (uint32_t i = 0; i < NUM_THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    failing_memory_disarm();
    for (uint32_t i = 0; i < NUM_THREADS; i++) {
        if (workers[i].failed_line)
            fail_msg("thread %u: %s at line %d", i, braid_status_get_name(workers[i].failed_status),
                     workers[i].failed_line);
        num_frames += workers[i].num_frames;
        num_without_memory += workers[i].num_without_memory;
    }
    for (uint32_t i = 0; i < num_devices; i++)
        close_shared(&stress.shared[i]);
    printf("summary: %s, %u threads, %u devices: %llu frames, %llu calls without memory\n",
           backend_name(), NUM_THREADS, num_devices, (unsigned long long)num_frames,
           (unsigned long long)num_without_memory);
    assert_true(num_frames > 0);
    assert_true(memory_fails == (num_without_memory > 0));
}

static void on_one_device(void **state)
{
    (void)state;
    run_stress(1, false);
}

static void on_several_devices(void **state)
{
    (void)state;
    run_stress(MAX_DEVICES, false);
}

static void on_one_device_when_memory_runs_out(void **state)
{
    (void)state;
    run_stress(1, true);
}

static void on_several_devices_when_memory_runs_out(void **state)
{
    (void)state;
    run_stress(MAX_DEVICES, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_one_device),
        cmocka_unit_test(on_several_devices),
        cmocka_unit_test(on_one_device_when_memory_runs_out),
        cmocka_unit_test(on_several_devices_when_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
