// SPDX-License-Identifier: Apache-2.0
// A thread that waits for a frame runs no node of a later frame. The system may keep the thread off
// its core until that frame runs. Such a node could wait for the thread itself.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include <braid/braid.h>

#include "support/check.h"
#include "support/wide_plan.h"

// There are three lanes of three nodes each. The second and third node of a lane wait for the first
// and second node of the next lane.
//
// In the first frame the main thread walks one of the lanes. The test stops it there while it polls
// for the second node of the next lane. Other threads end the frame. In the second frame the test
// stops the walker of that next lane before its second node, and ends all that the walker waits
// for. Any thread that polls for this lane in the second frame may walk it on. Then the main thread
// goes on.
//
// A thread that polls looks at the clock, so the test stops threads there. Meanwhile the clock
// stands still for the main thread, which would stop polling otherwise.
enum { NUM_LANES = 3, NUM_LEVELS = 3, NUM_WORKERS = 4, MOST_TRIES = 60, ENOUGH = 4, NONE = 3 };
#define PATIENCE_NS UINT64_C(2000000000)

struct node {
    uint32_t lane, level;
    atomic_uint num_runs; // the first frame's, then the second's
};

// Where a thread is stopped at a look at the clock.
struct stop {
    atomic_uint reached, resumed;
};

static struct node nodes[NUM_LANES][NUM_LEVELS];
static struct stop main_stop, walker_stop;
static pthread_t main_thread;
static int looks_before, looks_frozen; // the main thread's, around its stop in this try
static atomic_uint num_tries;
static atomic_bool is_void;           // some thread did something else in this try
static atomic_uint start, has_waited; // the main thread has begun its wait, has ended it
static atomic_uint own_lane;          // the main thread walks it in the first frame; NONE: none yet
static atomic_uint num_begun;         // lanes of the first frame
static atomic_uint num_stopped;       // threads
static atomic_bool has_strayed;       // the main thread has run a node of the second frame

static _Thread_local struct stop *next_stop; // at a later look at the clock; NULL: there is none
static _Thread_local unsigned try_of_stop;
static _Thread_local int num_looks_before; // that are left before the stop
static _Thread_local int num_looks_frozen; // that are left after it
static _Thread_local bool waits, is_frozen;
static _Thread_local struct timespec frozen;

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

static uint64_t now_ns(void)
{
    struct timespec now;
    __real_clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

// False: the try is void, or becomes void since the number takes far too long.
static bool wait_for_number(const atomic_uint *number, unsigned wanted)
{
    uint64_t begin = now_ns();
    while (!atomic_load(&is_void) && now_ns() - begin < PATIENCE_NS) {
        if (atomic_load(number) >= wanted)
            return true;
        sched_yield();
    }
    atomic_store(&is_void, true);
    return false;
}

static bool wait_until(const atomic_uint *flag)
{
    return wait_for_number(flag, 1);
}

static void stop_here(struct stop *stop)
{
    next_stop = NULL;
    atomic_fetch_add(&num_stopped, 1);
    atomic_store(&stop->reached, true);
    wait_until(&stop->resumed);
    atomic_fetch_sub(&num_stopped, 1);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    int result = __real_clock_gettime(clock, time);
    if (clock != CLOCK_MONOTONIC)
        return result;
    if (waits) {
        waits = false;
        is_frozen = true;
        frozen = *time;
        atomic_store(&start, true);
    }
    bool was_stopped = is_frozen && atomic_load(&main_stop.reached);
    if (next_stop && try_of_stop == atomic_load(&num_tries) && num_looks_before-- == 0)
        stop_here(next_stop);
    if (atomic_load(&is_void) || (was_stopped && num_looks_frozen-- <= 0))
        is_frozen = false;
    if (is_frozen)
        *time = frozen;
    return result;
}

static struct node *next_to(const struct node *node, uint32_t level)
{
    return &nodes[(node->lane + 1) % NUM_LANES][level];
}

// The calling thread stops at its next look at the clock after `num_before` other looks.
static void stop_later(struct stop *stop, int num_before)
{
    next_stop = stop;
    try_of_stop = atomic_load(&num_tries);
    num_looks_before = num_before;
}

// A thread polls long enough for a look at the clock only for a lane that another thread walks.
static void run_in_first(struct node *node)
{
    bool is_main = pthread_equal(pthread_self(), main_thread);
    if (node->level == 0) {
        if (is_main)
            atomic_store(&own_lane, node->lane);
        atomic_fetch_add(&num_begun, 1);
        wait_for_number(&num_begun, NUM_LANES);
    } else if (node->level == 1 && (atomic_load(&own_lane) == node->lane) != is_main) {
        atomic_store(&is_void, true); // the lane has been walked on by another thread
    } else if (node->level == 1 && is_main) {
        wait_for_number(&next_to(node, 1)->num_runs, 1);
        num_looks_frozen = looks_frozen;
        stop_later(&main_stop, looks_before);
    } else if (node->level == 1) {
        if (atomic_load(&own_lane) == NONE)
            atomic_store(&is_void, true);
        wait_until(&main_stop.reached);
    }
}

static void run_in_second(struct node *node)
{
    uint32_t own = atomic_load(&own_lane), next = (own + 1) % NUM_LANES;
    if (pthread_equal(pthread_self(), main_thread) && !atomic_load(&has_waited))
        atomic_store(&has_strayed, true);
    if (atomic_load(&is_void) || node->level)
        return;
    if (node->lane == own) {
        wait_until(&has_waited);
    } else if (node->lane == next) {
        if (wait_for_number(&next_to(node, 0)->num_runs, 2))
            stop_later(&walker_stop, 0);
    } else {
        wait_until(&walker_stop.reached);
        atomic_store(&main_stop.resumed, true);
    }
}

static void run_node(void *user)
{
    struct node *node = user;
    if (atomic_fetch_add(&node->num_runs, 1) == 0)
        run_in_first(node);
    else
        run_in_second(node);
}

static void await_start(void *user)
{
    (void)user;
    wait_until(&start);
}

static braid_exec *make_exec(braid_device *device)
{
    braid_graph *graph;
    braid_exec *exec;
    braid_schedule_info info;
    braid_node made[NUM_LANES][NUM_LEVELS];
    check_ok(braid_graph_create(&graph));
    for (uint32_t level = 0; level < NUM_LEVELS; level++) {
        for (uint32_t lane = 0; lane < NUM_LANES; lane++) {
            const braid_node_options options = {
                .lane_hint = lane + 1,
                .after = level ? &made[(lane + 1) % NUM_LANES][level - 1] : NULL,
                .num_after = level ? 1 : 0,
            };
            nodes[lane][level] = (struct node){ .lane = lane, .level = level };
            const braid_host_call call = { .node = options,
                                           .call = run_node,
                                           .user = &nodes[lane][level] };
            check_ok(braid_graph_add_host_call(graph, &call, &made[lane][level]));
        }
    }
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH,
                                         .max_lanes = BRAID_ALL_LANES,
                                         .fixed_lanes = true };
    check_ok(braid_exec_create(device, graph, &options, &exec));
    braid_schedule_get_info(braid_exec_get_schedule(exec), &info);
    assert_int_equal(info.num_lanes, NUM_LANES);
    braid_graph_destroy(graph);
    return exec;
}

static void set_scene(void)
{
    main_thread = pthread_self();
    atomic_fetch_add(&num_tries, 1);
    for (uint32_t lane = 0; lane < NUM_LANES; lane++)
        for (uint32_t level = 0; level < NUM_LEVELS; level++)
            atomic_store(&nodes[lane][level].num_runs, 0);
    atomic_store(&main_stop.reached, false);
    atomic_store(&main_stop.resumed, false);
    atomic_store(&walker_stop.reached, false);
    atomic_store(&walker_stop.resumed, false);
    atomic_store(&start, false);
    atomic_store(&has_waited, false);
    atomic_store(&is_void, false);
    atomic_store(&own_lane, NONE);
    atomic_store(&num_begun, 0);
}

// Whether both threads were stopped where they were to be.
static bool play_scene(braid_device *device, braid_exec *exec, braid_stream *stream,
                       braid_event *first)
{
    (void)device;
    set_scene();
    check_ok(braid_stream_host_call(stream, await_start, NULL));
    check_ok(braid_exec_launch(exec, stream));
    check_ok(braid_event_record(first, stream));
    check_ok(braid_exec_launch(exec, stream));
    waits = true;
    check_ok(braid_event_wait(first));
    next_stop = NULL;
    is_frozen = waits = false;
    bool was_played = atomic_load(&walker_stop.reached) && !atomic_load(&is_void);
    atomic_store(&has_waited, true);
    atomic_store(&walker_stop.resumed, true);
    check_ok(braid_exec_wait(exec));
    while (atomic_load(&num_stopped)) // other threads may have ended the frame
        sched_yield();
    return was_played;
}

// The main thread stops at its first or second look at the clock. After the stop it polls for many
// more looks, or until the next one.
static void a_wait_for_a_frame_runs_no_node_of_the_next(void **state)
{
    braid_device *device;
    braid_stream *stream;
    braid_event *first;
    const braid_device_options options = { .backend = "cpu", .num_workers = NUM_WORKERS };
    (void)state;
    check_ok(braid_device_open(&options, &device));
    check_ok(braid_stream_create(device, NULL, &stream));
    check_ok(braid_event_create(device, NULL, &first));
    braid_exec *exec = make_exec(device);
    uint32_t num_played = 0;
    for (uint32_t i = 0; i < MOST_TRIES && num_played < ENOUGH; i++) {
        looks_before = num_played % 2;
        looks_frozen = num_played < ENOUGH / 2 ? 1000 : 0;
        num_played += play_scene(device, exec, stream, first);
        assert_false(atomic_load(&has_strayed));
    }
    print_message("%u of %u tries came to the scene\n", num_played, atomic_load(&num_tries));
    braid_exec_destroy(exec);
    braid_event_destroy(first);
    braid_stream_destroy(stream);
    check_ok(braid_device_close(device));
    if (num_played == 0)
        skip_because("no thread was stopped where it polls");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_for_a_frame_runs_no_node_of_the_next),
    };
    return cmocka_run_group_tests_name("cpu: waiting threads take no lane of a later frame", tests,
                                       NULL, NULL);
}
