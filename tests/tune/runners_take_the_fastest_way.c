// SPDX-License-Identifier: Apache-2.0
// A runner plays each frame once, whichever way has its turn, in the order of the launches. It ends
// with the fastest way, also with the program's own.
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <braid/braid.h>

#include "support/check.h"
#include "support/owner.h"

enum { MOST_FRAMES = 400, NUM_CHAINS = 4 };

// Frames that were played, by node. A frame that overtakes another leaves nodes unlike.
struct world {
    _Atomic uint32_t counts[NUM_CHAINS];
    uint32_t played_before;
    bool fails, is_slow;
    atomic_bool is_torn;
    uint32_t sleep_us;
};
static struct world world;

static void reset(void)
{
    for (uint32_t i = 0; i < NUM_CHAINS; i++)
        atomic_init(&world.counts[i], 0);
    world.played_before = world.sleep_us = 0;
    world.fails = world.is_slow = false;
    atomic_init(&world.is_torn, false);
}

static void sleep_us(uint32_t us)
{
    nanosleep(&(struct timespec){ 0, (long)us * 1000 }, NULL);
}

static void count(uint32_t chain)
{
    const uint32_t own = atomic_fetch_add(&world.counts[chain], 1);
    for (uint32_t i = 0; i < NUM_CHAINS; i++) {
        if (atomic_load(&world.counts[i]) < own)
            atomic_store(&world.is_torn, true);
    }
}

static void count_in_kernel(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    if (world.sleep_us)
        sleep_us(world.sleep_us);
    count(*(const uint32_t *)args[0]);
}

static void count_all(void *user)
{
    (void)user;
    if (world.is_slow)
        sleep_us(3000);
    for (uint32_t i = 0; i < NUM_CHAINS; i++)
        count(i);
}

static braid_status play_before(braid_device *device, braid_stream *stream, void *user)
{
    (void)device, (void)user;
    if (world.fails)
        return BRAID_DEVICE_ERROR;
    world.played_before++;
    return braid_stream_host_call(stream, count_all, NULL);
}

static const braid_kernel kernel = { .name = "count", .cpu = count_in_kernel };

static braid_graph *make_graph(void)
{
    braid_graph *graph = own_graph();
    for (uint32_t i = 0; i < NUM_CHAINS; i++)
        check_ok(braid_graph_add_kernel(
            graph, &(braid_kernel_node){ .kernel = &kernel, BRAID_ARGS(BRAID_ARG(i)) }, NULL));
    return graph;
}

static braid_runner *make_runner(braid_queue_function *as_before)
{
    braid_runner *runner;
    reset();
    check_ok(braid_runner_create(own_device("cpu"), make_graph(),
                                 &(braid_runner_options){ .as_before = as_before }, &runner));
    return runner;
}

static braid_runner_info info_of(braid_runner *runner)
{
    braid_runner_info info;
    braid_runner_get_info(runner, &info);
    return info;
}

static void check_counts(uint32_t num_frames)
{
    assert_false(world.is_torn);
    for (uint32_t i = 0; i < NUM_CHAINS; i++)
        assert_int_equal(world.counts[i], num_frames);
}

// The number of frames that it took.
static uint32_t launch_until_chosen(braid_runner *runner, bool waits)
{
    uint32_t num = 0;
    for (; !info_of(runner).is_chosen; num++) {
        assert_true(num < MOST_FRAMES);
        check_ok(braid_runner_launch(runner, NULL));
        if (waits)
            check_ok(braid_runner_wait(runner));
    }
    return num;
}

static void the_programs_own_way_wins_if_it_is_faster(void **state)
{
    (void)state;
    braid_runner *runner = make_runner(play_before);
    world.sleep_us = 500;
    assert_string_equal(info_of(runner).way, "guessed costs");
    const uint32_t num = launch_until_chosen(runner, true);
    assert_string_equal(info_of(runner).way, "as before");
    assert_true(info_of(runner).frame_ns > 0);
    assert_null(braid_runner_get_exec(runner));
    assert_non_null(strstr(info_of(runner).reason, "measured costs: "));
    assert_null(strstr(info_of(runner).reason, "lane"));
    const uint32_t before = world.played_before;
    for (int i = 0; i < 5; i++)
        check_ok(braid_runner_launch(runner, NULL));
    check_ok(braid_runner_wait(runner));
    assert_int_equal(world.played_before, before + 5);
    check_counts(num + 5);
    braid_runner_destroy(runner);
}

static void a_plan_wins_if_it_is_faster(void **state)
{
    (void)state;
    braid_graph *graph = make_graph();
    braid_device *device = own_device("cpu");
    braid_schedule_info planned;
    braid_runner *runner;
    reset();
    check_ok(braid_runner_create(device, graph, &(braid_runner_options){ .as_before = play_before },
                                 &runner));
    world.is_slow = true;
    assert_null(braid_runner_get_exec(runner));
    const uint32_t num = launch_until_chosen(runner, true), before = world.played_before;
    assert_string_not_equal(info_of(runner).way, "as before");
    assert_non_null(braid_runner_get_exec(runner));
    assert_true(before > 0);
    braid_schedule_get_info(own_schedule(graph, &(braid_schedule_options){ .device = device }),
                            &planned);
    assert_int_equal(planned.num_guessed, 0);
    check_ok(braid_runner_launch(runner, NULL));
    check_ok(braid_runner_wait(runner));
    assert_int_equal(world.played_before, before);
    check_counts(num + 1);
    braid_runner_destroy(runner);
}

// One way is not over while another begins, on another stream.
static void frames_keep_their_order_on_any_streams(void **state)
{
    (void)state;
    braid_device *device = own_device("cpu");
    braid_stream *streams[2] = { own_stream(device), own_stream(device) };
    braid_runner *runner;
    reset();
    world.sleep_us = 20;
    check_ok(braid_runner_create(device, make_graph(),
                                 &(braid_runner_options){ .as_before = play_before }, &runner));
    uint32_t num = 0;
    for (; !info_of(runner).is_chosen && num < 20000; num++) {
        check_ok(braid_runner_launch(runner, streams[num % 3 > 0]));
        if (num % 50 == 49)
            check_ok(braid_runner_wait(runner));
    }
    assert_true(info_of(runner).is_chosen);
    for (int i = 0; i < 20; i++, num++)
        check_ok(braid_runner_launch(runner, streams[0]));
    check_ok(braid_runner_wait(runner));
    check_counts(num);
    braid_runner_destroy(runner);
}

// Its frame is lost, which the launch tells. Other ways go on.
static void a_way_that_fails_is_not_tried_again(void **state)
{
    (void)state;
    braid_runner *runner = make_runner(play_before);
    uint32_t num = 0, num_failed = 0;
    world.fails = true;
    for (; !info_of(runner).is_chosen && num < MOST_FRAMES; num++) {
        num_failed += braid_runner_launch(runner, NULL) != BRAID_OK;
        check_ok(braid_runner_wait(runner));
    }
    assert_true(info_of(runner).is_chosen);
    assert_int_equal(num_failed, 1);
    assert_string_not_equal(info_of(runner).way, "as before");
    assert_non_null(strstr(info_of(runner).reason, "as before: it failed: BRAID_DEVICE_ERROR"));
    check_counts(num - 1);
    braid_runner_destroy(runner);
}

static void known_costs_are_not_measured(void **state)
{
    (void)state;
    braid_graph *graph = own_graph();
    braid_runner *runner;
    reset();
    for (uint32_t i = 0; i < NUM_CHAINS; i++)
        check_ok(braid_graph_add_kernel(graph,
                                        &(braid_kernel_node){ .node.cost_ns = 100000,
                                                              .kernel = &kernel,
                                                              BRAID_ARGS(BRAID_ARG(i)) },
                                        NULL));
    braid_device *device =
        own_device_with(&(braid_device_options){ .backend = "cpu", .num_workers = NUM_CHAINS });
    check_ok(braid_runner_create(device, graph, NULL, &runner));
    world.sleep_us = 500;
    launch_until_chosen(runner, true);
    assert_string_equal(info_of(runner).way, "the graph's costs"); // side by side
    assert_null(strstr(info_of(runner).reason, "measured"));
    assert_non_null(strstr(info_of(runner).reason, "; 1 lane: "));
    braid_runner_destroy(runner);
}

// What a plan finds was filled for its own frame, and while no frame ran.
static struct {
    uint32_t num_calls;
    atomic_uint num_fills;
    atomic_bool is_early;
} filled;

static void fill(void *user)
{
    (void)user;
    const uint32_t num_frames = atomic_load(&world.counts[0]);
    for (uint32_t i = 0; i < NUM_CHAINS; i++) {
        if (atomic_load(&world.counts[i]) != num_frames)
            atomic_store(&filled.is_early, true);
    }
    atomic_fetch_add(&filled.num_fills, 1);
}

static braid_status queue_fill(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    assert_ptr_equal(user, &filled);
    filled.num_calls++;
    return braid_stream_host_call(stream, fill, NULL);
}

static void check_fills(bool is_slow, bool waits)
{
    braid_device *device = own_device("cpu");
    braid_stream *streams[2] = { own_stream(device), own_stream(device) };
    braid_runner *runner;
    uint32_t num = 0;
    reset();
    memset(&filled, 0, sizeof(filled));
    world.is_slow = is_slow;
    world.sleep_us = is_slow ? 20 : 500;
    check_ok(braid_runner_create(device, make_graph(),
                                 &(braid_runner_options){ .as_before = play_before,
                                                          .before_plan = queue_fill,
                                                          .before_plan_user = &filled },
                                 &runner));
    for (; !info_of(runner).is_chosen && num < 20000; num++) {
        check_ok(braid_runner_launch(runner, streams[num % 2]));
        if (waits || num % 50 == 49)
            check_ok(braid_runner_wait(runner));
    }
    assert_string_equal(info_of(runner).way, is_slow ? info_of(runner).way : "as before");
    for (int i = 0; i < 20; i++, num++)
        check_ok(braid_runner_launch(runner, streams[num % 2]));
    check_ok(braid_runner_wait(runner));
    assert_true(filled.num_calls > 0 && world.played_before > 0);
    assert_int_equal(filled.num_calls + world.played_before, num); // one of both for each frame
    assert_int_equal(filled.num_fills, filled.num_calls);
    assert_false(filled.is_early);
    check_counts(num);
    braid_runner_destroy(runner);
}

static void plans_are_filled_before_each_launch(void **state)
{
    (void)state;
    check_fills(true, false);
    check_fills(false, true);
}

static braid_status fill_nothing(braid_device *device, braid_stream *stream, void *user)
{
    (void)device, (void)stream, (void)user;
    return BRAID_UNSUPPORTED;
}

static void a_plan_that_cannot_be_filled_does_not_play(void **state)
{
    (void)state;
    braid_runner *runner;
    reset();
    check_ok(braid_runner_create(own_device("cpu"), make_graph(),
                                 &(braid_runner_options){ .before_plan = fill_nothing }, &runner));
    assert_int_equal(braid_runner_launch(runner, NULL), BRAID_UNSUPPORTED);
    check_ok(braid_runner_wait(runner));
    check_counts(0);
    braid_runner_destroy(runner);
}

static void frames_in_flight_end_before_the_runner(void **state)
{
    (void)state;
    braid_runner *runner = make_runner(play_before);
    for (int i = 0; i < 5; i++)
        check_ok(braid_runner_launch(runner, NULL));
    braid_runner_destroy(runner);
    check_counts(5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(the_programs_own_way_wins_if_it_is_faster),
        owning_test(a_plan_wins_if_it_is_faster),
        owning_test(frames_keep_their_order_on_any_streams),
        owning_test(a_way_that_fails_is_not_tried_again),
        owning_test(known_costs_are_not_measured),
        owning_test(plans_are_filled_before_each_launch),
        owning_test(a_plan_that_cannot_be_filled_does_not_play),
        owning_test(frames_in_flight_end_before_the_runner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
