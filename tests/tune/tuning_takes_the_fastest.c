// SPDX-License-Identifier: Apache-2.0
// Of the ways that were timed the fastest is taken, and one with fewer lanes only where the times
// do not tell that it is slower.
#include <string.h>

#include "support/check.h"
#include "tune/tune_search.h"

enum { num_times = 401 };

// Times that go up in steps around a median.
static void add_trial(struct tune_trials *trials, uint32_t num_lanes, uint64_t median_ns,
                      uint64_t step_ns)
{
    struct tune_trial *trial = braid_array_append(&trials->trials, 1, sizeof(*trial));
    assert_non_null(trial);
    memset(trial, 0, sizeof(*trial));
    trial->num_lanes = num_lanes;
    uint64_t *times = braid_array_append(&trial->times, num_times, sizeof(*times));
    assert_non_null(times);
    for (uint64_t i = 0; i < num_times; i++)
        times[i] = median_ns + (i * 7 % num_times) * step_ns - num_times / 2 * step_ns;
}

// The lanes of the one that is taken.
static uint32_t choose(struct tune_trials *trials)
{
    braid_tune_sort(trials);
    struct tune_trial *all = trials->trials.items;
    uint32_t num_lanes = all[braid_tune_choose(trials)].num_lanes;
    for (size_t i = 0; i < trials->trials.num; i++)
        braid_array_finish(&all[i].times);
    braid_array_finish(&trials->trials);
    return num_lanes;
}

static void what_times_tell_apart_is_not_alike(void **state)
{
    (void)state;
    struct tune_trials trials = { 0 };
    add_trial(&trials, 3, 71000, 1);
    add_trial(&trials, 4, 70400, 1);
    assert_int_equal(choose(&trials), 4);
}

static void what_times_do_not_tell_apart_takes_fewer_lanes(void **state)
{
    (void)state;
    struct tune_trials trials = { 0 };
    add_trial(&trials, 4, 70400, 100);
    add_trial(&trials, 3, 71000, 100);
    add_trial(&trials, 2, 71200, 100); // over 1 %
    assert_int_equal(choose(&trials), 3);
}

static void one_that_was_dropped_is_not_taken(void **state)
{
    (void)state;
    struct tune_trials trials = { 0 };
    add_trial(&trials, 4, 70400, 100);
    add_trial(&trials, 1, 70300, 100);
    ((struct tune_trial *)trials.trials.items)[1].was_dropped = true;
    assert_int_equal(choose(&trials), 4);
}

static void a_few_times_tell_little(void **state)
{
    (void)state;
    struct tune_trials trials = { 0 };
    for (uint32_t lanes = 2; lanes; lanes--) {
        add_trial(&trials, lanes, 70400 + 100 * (2 - lanes), 60);
        ((struct tune_trial *)trials.trials.items)[2 - lanes].times.num = 9;
    }
    assert_int_equal(choose(&trials), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_times_tell_apart_is_not_alike),
        cmocka_unit_test(what_times_do_not_tell_apart_takes_fewer_lanes),
        cmocka_unit_test(one_that_was_dropped_is_not_taken),
        cmocka_unit_test(a_few_times_tell_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
