// SPDX-License-Identifier: Apache-2.0
// When memory runs out in a launch, wherever in it: waiting for the exec still waits for all of its
// frames in flight, on whatever stream they are.
#include <stdatomic.h>
#include <time.h>

#include <braid/braid.h>

#include "support/check.h"
#include "support/failing_memory.h"

enum { MOST_FRAMES = 10000, NUM_OFFSETS = 4 };

static atomic_uint num_run;

static void slow(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
    nanosleep(&(struct timespec){ .tv_nsec = 300000 }, NULL);
    atomic_fetch_add(&num_run, 1);
}

static const braid_kernel slow_kernel = { .name = "slow", .cpu = slow };

static void nothing(void *user)
{
    (void)user;
}

static braid_exec *make_exec(braid_device *device, braid_exec_mode mode)
{
    braid_graph *graph = NULL;
    braid_exec *exec = NULL;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_kernel(graph, &(braid_launch){ .kernel = &slow_kernel }, NULL));
    check_ok(braid_exec_create(device, graph, &(braid_exec_options){ .mode = mode }, &exec));
    braid_graph_destroy(graph);
    return exec;
}

// Launches on the two streams in turn, without memory, until the pools are empty. Which allocation
// of the last launch fails depends on how many commands the streams hold besides.
static unsigned launch_until_it_fails(braid_exec *exec, braid_stream *const streams[2])
{
    braid_status status = BRAID_OK;
    unsigned num = 0;
    failing_memory_arm(1);
    for (; !status && num < MOST_FRAMES; num++)
        status = braid_exec_launch(exec, streams[num % 2]);
    assert_true(failing_memory_disarm());
    check_fails(status, BRAID_NO_MEMORY, "memory");
    return num - 1;
}

static void check(braid_exec_mode mode, int num_besides)
{
    braid_device *device = NULL;
    braid_stream *streams[2];
    const braid_device_options options = { .backend = "cpu", .num_workers = 2 };
    check_ok(braid_device_open(&options, &device));
    braid_exec *exec = make_exec(device, mode);
    atomic_store(&num_run, 0);
    for (int i = 0; i < 2; i++)
        check_ok(braid_stream_create(device, NULL, &streams[i]));
    check_ok(braid_exec_launch(exec, streams[0]));
    for (int i = 0; i < num_besides; i++)
        check_ok(braid_stream_host_call(device, streams[0], nothing, NULL));
    unsigned num_launched = 1 + launch_until_it_fails(exec, streams);
    check_ok(braid_exec_wait(exec));
    unsigned num_when_waited = atomic_load(&num_run);
    for (int i = 0; i < 2; i++)
        braid_stream_destroy(streams[i]);
    braid_exec_destroy(exec);
    braid_device_close(device);
    assert_int_equal(num_when_waited, atomic_load(&num_run));
    assert_true(num_when_waited >= num_launched);
}

static void by_native_replay(void **state)
{
    (void)state;
    for (int i = 0; i < NUM_OFFSETS; i++)
        check(BRAID_MODE_NATIVE, i);
}

static void on_streams(void **state)
{
    (void)state;
    for (int i = 0; i < NUM_OFFSETS; i++)
        check(BRAID_MODE_STREAMS, i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_native_replay),
        cmocka_unit_test(on_streams),
    };
    return cmocka_run_group_tests_name("cpu: frames are awaited when memory runs out", tests, NULL,
                                       NULL);
}
