// SPDX-License-Identifier: Apache-2.0
// When memory runs out in a launch, wherever in it: waiting for the exec still waits for all of its
// frames in flight, on whatever stream they are.
#include <stdatomic.h>
#include <time.h>

#include <braid/braid.h>

#include "support/asker.h"
#include "support/check.h"
#include "support/failing_memory.h"
#include "support/owner.h"

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
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_kernel(graph, &(braid_kernel_node){ .kernel = &slow_kernel }, NULL));
    return own_exec(device, graph, &(braid_exec_options){ .mode = mode });
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
        check_ok(braid_stream_host_call(streams[0], nothing, NULL));
    unsigned num_launched = 1 + launch_until_it_fails(exec, streams);
    check_ok(braid_exec_wait(exec));
    unsigned num_when_waited = atomic_load(&num_run);
    for (int i = 0; i < 2; i++)
        braid_stream_destroy(streams[i]);
    destroy_now(exec);
    braid_device_close(device);
    assert_int_equal(num_when_waited, atomic_load(&num_run));
    assert_true(num_when_waited >= num_launched);
}

static void by_graph_replay(void **state)
{
    (void)state;
    for (int i = 0; i < NUM_OFFSETS; i++)
        check(BRAID_MODE_GRAPH, i);
}

static void on_streams(void **state)
{
    (void)state;
    for (int i = 0; i < NUM_OFFSETS; i++)
        check(BRAID_MODE_STREAMS, i);
}

// Frames that wait for a thread which, once a launch has failed, asks the exec and changes it.
struct asked {
    braid_device *device;
    braid_stream *stream;
    struct asker asker;
    braid_node node;
    atomic_bool is_open; // what the frames wait for
};

static void wait_until_open(void *user)
{
    struct asked *asked = user;
    while (!atomic_load(&asked->is_open))
        nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
}

static void ask_and_open(void *user)
{
    struct asked *asked = user;
    braid_exec *exec = asked->asker.exec;
    failing_memory_disarm();
    assert_true(braid_exec_get_num_launched(exec) > 0);
    assert_int_equal(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 0), BRAID_NOT_READY);
    check_ok(braid_exec_set(exec, asked->node, BRAID_TARGET_ENABLED, 0, &(bool){ true }));
    atomic_store(&asked->is_open, true);
}

static void open_asked(struct asked *asked, braid_exec_mode mode, uint32_t num_frames)
{
    const braid_device_options device_options = { .backend = "cpu", .num_workers = 2 };
    const braid_host_call call = { .call = wait_until_open, .user = asked };
    const braid_exec_options options = {
        .mode = mode,
        .frames_in_flight = num_frames,
        .on_frame_end = asker_count_end,
        .on_frame_end_user = &asked->asker,
    };
    asker_init(&asked->asker);
    check_ok(braid_device_open(&device_options, &asked->device));
    asked->stream = own_stream(asked->device);
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_host_call(graph, &call, &asked->node));
    check_ok(braid_exec_create(asked->device, graph, &options, &asked->asker.exec));
}

static void finish_asked(struct asked *asked)
{
    asker_finish(&asked->asker);
    braid_exec_destroy(asked->asker.exec);
    destroy_now(asked->stream);
    check_ok(braid_device_close(asked->device));
}

static void check_asked(braid_exec_mode mode, uint32_t num_frames, int num_besides)
{
    struct asked asked = { 0 };
    open_asked(&asked, mode, num_frames);
    for (int i = 0; i < num_besides; i++)
        check_ok(braid_stream_host_call(asked.stream, nothing, NULL));
    check_ok(braid_exec_launch(asked.asker.exec, asked.stream));
    asker_start(&asked.asker, ask_and_open, &asked);
    failing_memory_arm(1);
    braid_status status = BRAID_OK;
    for (unsigned i = 0; !status && i < MOST_FRAMES; i++)
        status = braid_exec_launch(asked.asker.exec, asked.stream);
    check_fails(status, BRAID_NO_MEMORY, "memory");
    asker_join(&asked.asker, status);
    finish_asked(&asked);
}

static void they_may_wait_for_who_uses_the_exec(void **state)
{
    (void)state;
    for (int i = 0; i < NUM_OFFSETS; i++) {
        check_asked(BRAID_MODE_GRAPH, 1, i);
        check_asked(BRAID_MODE_STREAMS, 1, i);
        check_asked(BRAID_MODE_GRAPH, 2, i);
        check_asked(BRAID_MODE_STREAMS, 2, i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(by_graph_replay),
        owning_test(on_streams),
        owning_test(they_may_wait_for_who_uses_the_exec),
    };
    return cmocka_run_group_tests_name("cpu: frames are awaited when memory runs out", tests, NULL,
                                       NULL);
}
