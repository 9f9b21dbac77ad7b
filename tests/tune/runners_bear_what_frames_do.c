// SPDX-License-Identifier: Apache-2.0
// A runner keeps the order of frames that fail, and tells traps of plans that it drops. Its frames
// do not enter it again.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <braid/braid.h>

#include "support/check.h"
#include "support/owner.h"

enum { MOST_FRAMES = 400, TRAPS_AT = 2, FAILS_AT = 3 };

struct world {
    braid_device *device;
    braid_runner *runner;
    braid_stream *streams[2]; // NULL: the default stream
    atomic_uint num_kernels, num_others, num_queued;
    atomic_bool is_torn;
    uint32_t num_launched; // frames that did not fail
    bool traps, is_slow;
    uint32_t num_before;
};
static struct world world;

static void play_kernel(const braid_blocks *blocks, void *const *args)
{
    braid_trap *trap = *(braid_trap *const *)args[0];
    (void)blocks;
    if (world.is_slow)
        nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
    if (atomic_fetch_add(&world.num_kernels, 1) == TRAPS_AT && world.traps)
        atomic_store((_Atomic uint32_t *)&trap->code, 7);
}

static void play_other(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
    atomic_fetch_add(&world.num_others, 1);
}

static const braid_kernel kernel = { .name = "trapping", .cpu = play_kernel };
static const braid_kernel other = { .name = "other", .cpu = play_other };

static braid_graph *make_graph(void)
{
    braid_graph *graph = own_graph();
    memset(&world, 0, sizeof(world));
    check_ok(braid_graph_add_kernel(
        graph, &(braid_kernel_node){ .kernel = &kernel, BRAID_ARGS(BRAID_TRAP()) }, NULL));
    return graph;
}

static void make_runner(braid_graph *graph, braid_queue_function *as_before)
{
    world.device = own_device("cpu");
    check_ok(braid_runner_create(world.device, graph,
                                 &(braid_runner_options){ .as_before = as_before }, &world.runner));
}

static braid_runner_info info(void)
{
    braid_runner_info info;
    braid_runner_get_info(world.runner, &info);
    return info;
}

// Returns how many launches end so. All others end well. Nobody asks the runner for the end of one.
static uint32_t launch_until_chosen(braid_status expected)
{
    uint32_t num_expected = 0;
    for (uint32_t i = 0; !info().is_chosen; i++) {
        braid_stream *stream = world.streams[i % 2] ? world.streams[i % 2]
                                                    : braid_device_get_default_stream(world.device);
        assert_true(i < MOST_FRAMES);
        braid_status status = braid_runner_launch(world.runner, stream);
        assert_true(!status || status == expected);
        num_expected += status != BRAID_OK;
        if (!world.streams[0])
            check_ok(braid_stream_wait(stream));
    }
    return num_expected;
}

static void a_trap_is_told_also_if_its_plan_is_dropped(void **state)
{
    (void)state;
    make_runner(make_graph(), NULL);
    world.traps = true;
    assert_int_equal(launch_until_chosen(BRAID_TRAPPED), 1);
    check_ok(braid_runner_wait(world.runner));
    braid_runner_destroy(world.runner);
}

// A program that always has frames in the queue is no reason to try ways for ever.
static void ways_are_tried_while_frames_are_queued_ahead(void **state)
{
    (void)state;
    enum { AHEAD = 4 };
    braid_event *ends[AHEAD] = { NULL };
    make_runner(make_graph(), NULL);
    world.is_slow = true;
    for (uint32_t i = 0; !info().is_chosen; i++) {
        braid_event **end = &ends[i % AHEAD];
        assert_true(i < MOST_FRAMES);
        if (*end)
            check_ok(braid_event_wait(*end));
        else
            check_ok(braid_event_create(world.device, NULL, end));
        check_ok(braid_runner_launch(world.runner, NULL));
        check_ok(braid_event_record(*end, NULL));
    }
    check_ok(braid_runner_wait(world.runner));
    braid_runner_destroy(world.runner);
    for (uint32_t i = 0; i < AHEAD; i++)
        braid_event_destroy(ends[i]);
}

// As it ends, the frames launched before it have run, and no later one.
static void sleep_and_look(void *user)
{
    const uint32_t *expected = user;
    nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    if (atomic_load(&world.num_kernels) != *expected)
        atomic_store(&world.is_torn, true);
    world.num_before++;
}

static braid_status queue_and_fail(braid_device *device, braid_stream *stream, void *user)
{
    static uint32_t expected;
    (void)device, (void)user;
    expected = world.num_launched;
    check_ok(braid_stream_host_call(stream, sleep_and_look, &expected));
    return BRAID_DEVICE_ERROR;
}

static void a_frame_that_failed_half_way_comes_before_the_next(void **state)
{
    (void)state;
    make_runner(make_graph(), queue_and_fail);
    for (int i = 0; i < 2; i++)
        world.streams[i] = own_stream(world.device);
    for (uint32_t i = 0; !info().is_chosen && i < 20000; i++) {
        world.num_launched += braid_runner_launch(world.runner, world.streams[i % 2]) == BRAID_OK;
        if (i % 25 == 0)
            check_ok(braid_stream_wait(world.streams[i % 2]));
    }
    check_ok(braid_runner_wait(world.runner));
    assert_non_null(strstr(info().reason, "as before: it failed: BRAID_DEVICE_ERROR"));
    assert_int_equal(world.num_before, 1);
    assert_false(atomic_load(&world.is_torn));
    braid_runner_destroy(world.runner);
}

static void wait_until_told(void *user)
{
    while (!atomic_load((atomic_bool *)user))
        nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
}

static braid_status queue_held(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    return braid_stream_host_call(stream, wait_until_told, user);
}

static void a_query_tells_frames_that_run(void **state)
{
    (void)state;
    braid_graph *graph = make_graph();
    static atomic_bool is_told;
    check_ok(braid_graph_add_queue_call(
        graph, &(braid_queue_call){ .call = queue_held, .user = &is_told }, NULL));
    make_runner(graph, NULL);
    check_ok(braid_runner_query(world.runner));
    check_ok(braid_runner_launch(world.runner, NULL));
    check_fails(braid_runner_query(world.runner), BRAID_NOT_READY, "");
    atomic_store(&is_told, true);
    check_ok(braid_runner_wait(world.runner));
    launch_until_chosen(BRAID_OK);
    check_ok(braid_runner_wait(world.runner));
    check_ok(braid_runner_query(world.runner));
    atomic_store(&is_told, false);
    check_ok(braid_runner_launch(world.runner, NULL));
    check_fails(braid_runner_query(world.runner), BRAID_NOT_READY, "");
    atomic_store(&is_told, true);
    braid_runner_destroy(world.runner);
}

static braid_status fail_once(braid_device *device, braid_stream *stream, void *user)
{
    (void)device, (void)stream, (void)user;
    return atomic_fetch_add(&world.num_queued, 1) == FAILS_AT ? BRAID_NO_MEMORY : BRAID_OK;
}

static void a_plan_that_fails_is_not_tried_again(void **state)
{
    (void)state;
    braid_graph *graph = make_graph();
    check_ok(braid_graph_add_queue_call(graph, &(braid_queue_call){ .call = fail_once }, NULL));
    make_runner(graph, NULL);
    assert_int_equal(launch_until_chosen(BRAID_NO_MEMORY), 1);
    assert_non_null(strstr(info().reason, "times of nodes: it failed: BRAID_NO_MEMORY"));
    braid_runner_destroy(world.runner);
}

static void a_graph_that_has_grown_is_not_played(void **state)
{
    (void)state;
    braid_graph *graph = make_graph();
    make_runner(graph, NULL);
    check_ok(braid_graph_add_kernel(graph, &(braid_kernel_node){ .kernel = &other }, NULL));
    launch_until_chosen(BRAID_OK);
    assert_int_equal(world.num_others, 0);
    assert_non_null(strstr(info().reason, "measured costs: the graph was changed"));
    braid_runner_destroy(world.runner);
}

// ---- calls from inside ----

static uint64_t num_blocks;

static void *allocate(size_t bytes, size_t alignment, void *user)
{
    (void)alignment, (void)user;
    num_blocks++;
    return malloc(bytes);
}

static void *reallocate(void *memory, size_t before, size_t bytes, size_t alignment, void *user)
{
    (void)before, (void)alignment, (void)user;
    return realloc(memory, bytes);
}

static void release(void *memory, size_t bytes, size_t alignment, void *user)
{
    (void)bytes, (void)alignment, (void)user;
    free(memory);
}

static braid_status come_again(braid_device *device, braid_stream *stream, void *user)
{
    (void)device, (void)user;
    const uint64_t before = num_blocks;
    braid_graph *graph;
    check_ok(braid_graph_create(&graph)); // is not of the device
    braid_graph_destroy(graph);
    assert_int_equal(num_blocks, before);
    check_fails(braid_runner_launch(world.runner, stream), BRAID_WRONG_STATE,
                "inside a queue call");
    check_fails(braid_runner_wait(world.runner), BRAID_WRONG_STATE, "inside a queue call");
    braid_runner_destroy(world.runner); // stays
    world.num_before++;
    return BRAID_OK;
}

static void a_runner_is_not_entered_from_inside(void **state)
{
    (void)state;
    braid_allocator allocator = { allocate, reallocate, release, NULL };
    braid_graph *graph = make_graph();
    world.device =
        own_device_with(&(braid_device_options){ .backend = "cpu", .allocator = &allocator });
    check_ok(braid_runner_create(
        world.device, graph, &(braid_runner_options){ .as_before = come_again }, &world.runner));
    launch_until_chosen(BRAID_OK);
    assert_true(world.num_before > 0);
    braid_runner_destroy(world.runner);
}

static void destroy_from_inside(void *user)
{
    (void)user;
    braid_runner_destroy(world.runner); // stays
}

static void a_host_call_leaves_its_runner(void **state)
{
    (void)state;
    braid_graph *graph = make_graph();
    check_ok(
        braid_graph_add_host_call(graph, &(braid_host_call){ .call = destroy_from_inside }, NULL));
    make_runner(graph, NULL);
    launch_until_chosen(BRAID_OK);
    braid_runner_destroy(world.runner);
}

// ---- what no runner plays ----

static void versions_of_buffers_are_refused(void **state)
{
    (void)state;
    braid_graph *graph = make_graph();
    braid_resource turns;
    check_ok(braid_graph_add_versioned_buffer(graph, "turns", NULL, 2, 4, &turns));
    check_fails(braid_runner_create(own_device("cpu"), graph, NULL, &world.runner),
                BRAID_UNSUPPORTED, "each way would find other versions of 'turns'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(a_trap_is_told_also_if_its_plan_is_dropped),
        owning_test(ways_are_tried_while_frames_are_queued_ahead),
        owning_test(a_frame_that_failed_half_way_comes_before_the_next),
        owning_test(a_query_tells_frames_that_run),
        owning_test(a_plan_that_fails_is_not_tried_again),
        owning_test(a_graph_that_has_grown_is_not_played),
        owning_test(a_runner_is_not_entered_from_inside),
        owning_test(a_host_call_leaves_its_runner),
        owning_test(versions_of_buffers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
