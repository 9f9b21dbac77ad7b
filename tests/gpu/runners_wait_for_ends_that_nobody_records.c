// SPDX-License-Identifier: Apache-2.0
// If the driver refuses to record the end of a runner's frame, the next frame still comes behind
// it, on another stream and by another plan.
#include <stdatomic.h>
#include <time.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"
#include "support/owner.h"
#include "support/runner.h"

// The last frame of the first plan's block: another plan plays the next one.
enum { LAST_OF_BLOCK = 7, MOST_CALLS = 12 };

static atomic_int num_running;
static atomic_bool is_torn;

static void sleep_alone(void *user)
{
    (void)user;
    if (atomic_fetch_add(&num_running, 1))
        atomic_store(&is_torn, true);
    nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
    atomic_fetch_sub(&num_running, 1);
}

static bool launch_failing(braid_runner *runner, braid_stream *stream, int nth)
{
    fail_calls("cuEventRecord:%d=2", nth);
    braid_status status = braid_runner_launch(runner, stream);
    fail_calls(NULL);
    return status != BRAID_OK;
}

static void frames_keep_their_order(void **state)
{
    (void)state;
    int num_failed = 0;
    reset_standin();
    braid_device *device = own_device("cuda");
    braid_stream *streams[] = { own_stream(device), own_stream(device) };
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_host_call(graph, &(braid_host_call){ .call = sleep_alone }, NULL));
    for (int nth = 1; nth <= MOST_CALLS; nth++) {
        braid_runner *runner;
        check_ok(braid_runner_create(device, graph, NULL, &runner));
        (void)runner_await_way(runner);
        for (int i = 1; i < LAST_OF_BLOCK; i++)
            check_ok(braid_runner_launch(runner, streams[0]));
        num_failed += launch_failing(runner, streams[0], nth);
        check_ok(braid_runner_launch(runner, streams[1]));
        check_ok(braid_runner_launch(runner, streams[1]));
        check_ok(braid_stream_wait(streams[0]));
        check_ok(braid_stream_wait(streams[1]));
        braid_runner_destroy(runner);
    }
    assert_true(num_failed > 2 && num_failed < MOST_CALLS);
    assert_false(atomic_load(&is_torn));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(frames_keep_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
