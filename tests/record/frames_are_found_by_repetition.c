// SPDX-License-Identifier: Apache-2.0
// The repeated part of a sequence is the longest one, found as by trying each period.
#include "record/frames.h"

#include <string.h>

#include "support/check.h"
#include "support/random.h"

enum { LONGEST = 400, PROGRAMS = 3000 };

// Tries each begin and each period.
static size_t longest_by_hand(const uint64_t *launches, size_t num)
{
    size_t longest = 0;
    for (size_t period = 1; period <= num / 3; period++)
        for (size_t first = 0; first + 3 * period <= num;) {
            size_t run = 0;
            while (first + run + period < num &&
                   launches[first + run] == launches[first + run + period])
                run++;
            const size_t times = (run + period) / period;
            if (times >= 3 && times * period > longest)
                longest = times * period;
            first += run + 1;
        }
    return longest;
}

// Some launches, a frame several times, and others.
static size_t make(struct random *random, uint64_t *launches, size_t *out_period, size_t *out_times)
{
    const size_t before = random_below(random, 20), behind = random_below(random, 20);
    const size_t period = 1 + random_below(random, 24), times = 3 + random_below(random, 8);
    size_t num = 0;
    for (size_t i = 0; i < before; i++)
        launches[num++] = random_below(random, 1000);
    for (size_t i = 0; i < period; i++)
        launches[num++] = random_below(random, 12);
    for (size_t i = period; i < period * times; i++, num++)
        launches[num] = launches[num - period];
    for (size_t i = 0; i < behind; i++)
        launches[num++] = random_below(random, 1000);
    *out_period = period;
    *out_times = times;
    return num;
}

static void the_longest_repetition_is_found(void **state)
{
    struct random random = { .state = 3 };
    uint64_t launches[LONGEST];
    (void)state;
    for (int i = 0; i < PROGRAMS; i++) {
        struct repetition found;
        size_t period, times;
        const size_t num = make(&random, launches, &period, &times);
        assert_true(recorder_find_repetition(launches, num, &found));
        assert_true(found.first + found.period * found.times <= num);
        for (size_t k = found.first; k + found.period < found.first + found.period * found.times;
             k++)
            assert_int_equal(launches[k], launches[k + found.period]);
        assert_true(found.period * found.times >= period * times);
        assert_int_equal(found.period * found.times, longest_by_hand(launches, num));
    }
}

static void nothing_is_found_where_nothing_repeats(void **state)
{
    struct repetition found;
    const uint64_t twice[] = { 1, 2, 3, 1, 2, 3 }, thrice[] = { 9, 1, 2, 1, 2, 1, 2, 8 };
    (void)state;
    assert_false(recorder_find_repetition(twice, 0, &found));
    assert_false(recorder_find_repetition(twice, 6, &found));
    assert_true(recorder_find_repetition(thrice, 8, &found));
    assert_int_equal(found.first, 1);
    assert_int_equal(found.period, 2);
    assert_int_equal(found.times, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_repetition_is_found),
        cmocka_unit_test(nothing_is_found_where_nothing_repeats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
