// SPDX-License-Identifier: Apache-2.0
// However short the budget, a tuning runs a few frames of each way, and fewer of those that are
// slower, and tells how many. A reset comes before each frame.
#include <stdatomic.h>

#include <braid/braid.h>
#include <braid/tune.h>

#include "support/check.h"

enum { NUM_NODES = 6 };

static atomic_uint num_run;

static void count_run(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
    atomic_fetch_add_explicit(&num_run, 1, memory_order_relaxed);
}

struct told {
    uint32_t num, num_left, num_frames; // ways, those not dropped, and frames of all that count
    uint32_t num_with[4];               // ways with so many frames
};

static void note(const braid_tune_trial *trial, void *user)
{
    struct told *told = user;
    assert_in_range(trial->frames_timed, 1, 3);
    told->num++;
    told->num_frames += trial->frames_timed;
    told->num_with[trial->frames_timed]++;
    told->num_left += !trial->was_dropped;
    assert_int_equal(!trial->was_dropped, trial->frames_timed == 3);
}

// Returns how many frames were run.
static uint32_t tune(bool keep_costs, struct told *told)
{
    static const braid_kernel kernel = { .name = "count", .cpu = count_run };
    braid_device *device;
    braid_graph *graph;
    atomic_store(&num_run, 0);
    check_ok(
        braid_device_open(&(braid_device_options){ .backend = "cpu", .num_workers = 2 }, &device));
    check_ok(braid_graph_create(&graph));
    for (int i = 0; i < NUM_NODES; i++)
        check_ok(braid_graph_add_kernel(
            graph, &(braid_kernel_node){ .node.cost_ns = 100000, .kernel = &kernel }, NULL));
    const braid_tune_options options = {
        .budget_ns = 1, .keep_costs = keep_costs, .report = note, .user = told
    };
    braid_exec_options way;
    check_ok(braid_graph_tune(graph, device, &options, &way));
    braid_graph_destroy(graph);
    check_ok(braid_device_close(device));
    assert_int_equal(atomic_load(&num_run) % NUM_NODES, 0);
    return atomic_load(&num_run) / NUM_NODES;
}

static void few_frames_run_whatever_the_budget(void **state)
{
    (void)state;
    struct told told = { 0 };
    uint32_t num = tune(true, &told);
    assert_true(told.num > 6);
    assert_int_equal(num, told.num + told.num_frames);
    uint32_t half = (told.num + 1) / 2;
    assert_int_equal(told.num_with[1], told.num - half);
    assert_int_equal(told.num_left, half > 6 ? (half + 1) / 2 : 3);
}

static void costs_are_measured_by_three_frames_where_there_is_no_time_for_more(void **state)
{
    (void)state;
    struct told told = { 0 };
    uint32_t num = tune(false, &told);
    assert_int_equal(num, 3 + told.num + told.num_frames);
}

// A state that each frame uses up.
struct state {
    atomic_int words[2]; // the second one is written by work on the stream
    atomic_uint num_frames, num_spent, num_resets;
    unsigned most_resets;
};

static void spend(void *user)
{
    struct state *state = user;
    atomic_fetch_add(&state->num_frames, 1);
    if (atomic_exchange(&state->words[0], 0) + atomic_exchange(&state->words[1], 0) != 2)
        atomic_fetch_add(&state->num_spent, 1);
}

static void write_second(void *user)
{
    struct state *state = user;
    atomic_store(&state->words[1], 1);
}

static braid_status reset(braid_device *device, braid_stream *stream, void *user)
{
    struct state *state = user;
    (void)device;
    atomic_store(&state->words[0], 1);
    if (atomic_fetch_add(&state->num_resets, 1) >= state->most_resets)
        return BRAID_BUSY;
    return braid_stream_host_call(stream, write_second, state);
}

static braid_status tune_state(struct state *state, braid_tune_options options)
{
    braid_device *device;
    braid_graph *graph;
    braid_exec_options way;
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    check_ok(braid_graph_create(&graph));
    check_ok(
        braid_graph_add_host_call(graph, &(braid_host_call){ .call = spend, .user = state }, NULL));
    options.reset = reset;
    options.reset_user = state;
    braid_status status = braid_graph_tune(graph, device, &options, &way);
    braid_graph_destroy(graph);
    check_ok(braid_device_close(device));
    return status;
}

static void each_frame_starts_from_the_state_of_a_reset(void **test)
{
    (void)test;
    for (int keep_costs = 0; keep_costs < 2; keep_costs++) {
        struct state state = { .most_resets = UINT32_MAX };
        check_ok(
            tune_state(&state, (braid_tune_options){ .budget_ns = 1, .keep_costs = keep_costs }));
        assert_in_range(atomic_load(&state.num_frames), 2, 10000);
        assert_int_equal(atomic_load(&state.num_spent), 0);
        assert_int_equal(atomic_load(&state.num_resets), atomic_load(&state.num_frames));
    }
}

static void a_reset_that_fails_ends_the_tuning(void **test)
{
    (void)test;
    for (unsigned most = 0; most < 6; most++) {
        struct state state = { .most_resets = most };
        check_fails(tune_state(&state, (braid_tune_options){ .budget_ns = 1 }), BRAID_BUSY,
                    "braid_graph_tune: its reset returned BRAID_BUSY");
        assert_int_equal(atomic_load(&state.num_frames), most);
    }
    struct state state = { .most_resets = 1 };
    check_fails(tune_state(&state, (braid_tune_options){ .max_frames_in_flight = 2 }),
                BRAID_INVALID_ARGUMENT, "frames in flight have no reset in between");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_frames_run_whatever_the_budget),
        cmocka_unit_test(costs_are_measured_by_three_frames_where_there_is_no_time_for_more),
        cmocka_unit_test(each_frame_starts_from_the_state_of_a_reset),
        cmocka_unit_test(a_reset_that_fails_ends_the_tuning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
