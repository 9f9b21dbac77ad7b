// SPDX-License-Identifier: Apache-2.0
// While a launch or a stream's thread plays a frame, Braid allocates for the device by the
// program's functions. What the program makes in a queue call or in the callback of the log is no
// device's. The argument names the backend: cpu, cuda or hip.
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "gpu/frame.h"
#include "support/check.h"
#include "support/counted_memory.h"
#include "support/failing_memory.h"

enum { NUM_FRAMES = 400, NUM_NODES = 8 };

static const char *backend;

// ---- an allocator, and all allocations beside it ----

static _Thread_local volatile bool
    is_counted; // compilers take it that aligned_alloc does not read it
static atomic_long num_others;

static void *allocate(size_t bytes, size_t alignment, void *user)
{
    is_counted = true;
    void *memory = counted_allocate(bytes, alignment, user);
    is_counted = false;
    return memory;
}

static void *resize(void *memory, size_t old_bytes, size_t bytes, size_t alignment, void *user)
{
    is_counted = true;
    memory = counted_resize(memory, old_bytes, bytes, alignment, user);
    is_counted = false;
    return memory;
}

static void count_other(const void *caller)
{
    (void)caller;
    if (!is_counted)
        atomic_fetch_add(&num_others, 1);
}

static braid_device *open_device(void)
{
    braid_device *device;
    const braid_allocator allocator = { allocate, resize, counted_free, NULL };
    const braid_device_options options = {
        .backend = backend, .num_workers = 2, .cache = "off", .allocator = &allocator
    };
    check_ok(braid_device_open(&options, &device));
    return device;
}

static void close_device(braid_device *device)
{
    check_ok(braid_device_close(device));
    assert_int_equal(atomic_load(&num_counted), 0);
}

// ---- the tests ----

struct world {
    braid_device *device;
    braid_graph *graph;
    braid_node sums[NUM_NODES];
    uint32_t *words;
    sem_t gate;
    braid_graph *made; // by the program, inside of a call
};

static void make_graph(struct world *world)
{
    const uint32_t one = 1;
    braid_resource all[NUM_NODES];
    check_ok(braid_memory_allocate(world->device, BRAID_MEMORY_DEVICE, NUM_NODES * 256,
                                   (void **)&world->words));
    check_ok(braid_graph_create(&world->graph));
    for (uint32_t i = 0; i < NUM_NODES; i++) {
        check_ok(braid_graph_add_buffer(world->graph, "word", world->words + 64 * i, 4, &all[i]));
        check_ok(braid_graph_add_kernel(
            world->graph,
            &(braid_kernel_node){ .kernel = &sum_kernel,
                                  BRAID_ARGS(BRAID_OUT(all[i]), BRAID_IN(all[i / 2]),
                                             BRAID_IN(all[i / 3]), BRAID_ARG(one)) },
            &world->sums[i]));
    }
}

static void await_gate(void *user)
{
    struct world *world = user;
    sem_wait(&world->gate);
}

// All frames are queued behind a call that waits, so that none of their memory can be used again.
static void launch_all(struct world *world, braid_exec_mode mode, braid_stream *stream)
{
    braid_exec *exec;
    braid_status status = braid_exec_create(world->device, world->graph,
                                            &(braid_exec_options){ .mode = mode }, &exec);
    if (status == BRAID_UNSUPPORTED && mode == BRAID_MODE_GRAPH)
        return; // HIP has no graphs
    check_ok(status);
    failing_memory_watch(count_other);
    check_ok(braid_stream_host_call(stream, await_gate, world));
    for (uint32_t i = 0; i < NUM_FRAMES; i++) {
        for (uint32_t k = 0; k < NUM_NODES; k++)
            check_ok(braid_exec_set_arg(exec, world->sums[k], 3, BRAID_ARG(i)));
        check_ok(braid_exec_launch(exec, stream));
    }
    sem_post(&world->gate);
    check_ok(braid_exec_wait(exec));
    failing_memory_watch(NULL);
    braid_exec_destroy(exec);
}

static void frames_that_wait_have_memory_of_the_device(void **state)
{
    (void)state;
    braid_stream *stream;
    struct world world = { .device = open_device() };
    sem_init(&world.gate, 0, 0);
    make_graph(&world);
    check_ok(braid_stream_create(world.device, NULL, &stream));
    launch_all(&world, BRAID_MODE_STREAMS, stream);
    launch_all(&world, BRAID_MODE_GRAPH, stream);
    assert_int_equal(atomic_load(&num_others), 0);
    braid_stream_destroy(stream);
    braid_graph_destroy(world.graph);
    braid_memory_free(world.device, world.words);
    sem_destroy(&world.gate);
    close_device(world.device);
}

static void end_loop(void *user)
{
    *(uint32_t *)user = 0;
}

// Their thread is of the stream.
static void frames_that_the_host_drives_have_memory_of_the_device(void **state)
{
    (void)state;
    uint32_t numbers[2] = { 0 };
    void *going;
    braid_exec *exec;
    braid_resource word;
    struct world world = { .device = open_device() };
    check_ok(braid_memory_allocate(world.device, BRAID_MEMORY_HOST, 4, &going));
    check_ok(braid_graph_create(&world.graph));
    check_ok(braid_graph_add_buffer(world.graph, "going", going, 4, &word));
    check_ok(braid_graph_begin_loop(world.graph,
                                    &(braid_loop){ .condition = word, .unbounded = true }, NULL));
    check_ok(braid_graph_add_host_call(
        world.graph,
        &(braid_host_call){ .node.accesses = &(braid_access){ word, BRAID_READ_WRITE },
                            .node.num_accesses = 1,
                            .call = end_loop,
                            .user = going },
        NULL));
    check_ok(braid_graph_add_copy(
        world.graph, &(braid_copy){ .to = &numbers[0], .from = &numbers[1], .bytes = 4 }, NULL));
    check_ok(braid_graph_end(world.graph));
    check_ok(braid_exec_create(world.device, world.graph,
                               &(braid_exec_options){ .mode = BRAID_MODE_STREAMS }, &exec));
    failing_memory_watch(count_other);
    for (uint32_t i = 0; i < 3; i++)
        check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    failing_memory_watch(NULL);
    assert_int_equal(atomic_load(&num_others), 0);
    braid_exec_destroy(exec);
    braid_graph_destroy(world.graph);
    braid_memory_free(world.device, going);
    close_device(world.device);
}

static void make_inside(struct world *world)
{
    if (world->made)
        return;
    check_ok(braid_graph_create(&world->made));
    check_ok(braid_graph_add_empty(world->made, &(braid_empty){ .node.name = "inside" }, NULL));
}

static braid_status call_queue(braid_device *device, braid_stream *stream, void *user)
{
    (void)device, (void)stream;
    make_inside(user);
    return BRAID_OK;
}

static void a_queue_call_of_a_launch_makes_memory_of_no_device(void **state)
{
    (void)state;
    braid_exec *exec;
    struct world world = { .device = open_device() };
    check_ok(braid_graph_create(&world.graph));
    check_ok(braid_graph_add_queue_call(
        world.graph, &(braid_queue_call){ .call = call_queue, .user = &world }, NULL));
    check_ok(braid_exec_create(world.device, world.graph,
                               &(braid_exec_options){ .mode = BRAID_MODE_STREAMS }, &exec));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_non_null(world.made);
    braid_exec_destroy(exec);
    braid_graph_destroy(world.graph);
    close_device(world.device);
    braid_graph_destroy(world.made);
}

static void log_line(braid_status status, const char *message, void *user)
{
    (void)status, (void)message;
    make_inside(user);
}

static void the_log_makes_memory_of_no_device(void **state)
{
    (void)state;
    void *memory;
    struct world world = { .device = open_device() };
    braid_log_set(log_line, &world);
    check_fails(braid_memory_allocate(world.device, (braid_memory_kind)99, 1, &memory),
                BRAID_INVALID_ARGUMENT, "");
    braid_log_set(NULL, NULL);
    assert_non_null(world.made);
    close_device(world.device);
    braid_graph_destroy(world.made);
}

int main(int num_arguments, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_that_wait_have_memory_of_the_device),
        cmocka_unit_test(frames_that_the_host_drives_have_memory_of_the_device),
        cmocka_unit_test(a_queue_call_of_a_launch_makes_memory_of_no_device),
        cmocka_unit_test(the_log_makes_memory_of_no_device),
    };
    if (num_arguments < 2) {
        fprintf(stderr, "usage: %s cpu|cuda|hip\n", arguments[0]);
        return 1;
    }
    backend = arguments[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
