// SPDX-License-Identifier: Apache-2.0
// Contents of buffers are compared as bytes, or as numbers that may differ a little.
#include <math.h>
#include <string.h>

#include "replay_differences.h"
#include "support/check.h"

enum { NONE = -1 };

// The first byte where they differ, or NONE.
static int find(const void *left, const void *right, uint64_t bytes, double most,
                uint32_t value_bytes)
{
    const struct replay_tolerance tolerance = { most, value_bytes };
    uint64_t at;
    return replay_find_difference(left, right, bytes, &tolerance, &at) ? (int)at : NONE;
}

static void bytes_are_equal_or_not(void **state)
{
    (void)state;
    assert_int_equal(find("abcdef", "abcdef", 6, 0, 4), NONE);
    assert_int_equal(find("abcdef", "abcdxf", 6, 0, 4), 4);
    assert_int_equal(find("abcdef", "abcdex", 6, 1, 4), 5); // behind the last whole number
}

static void large_numbers_differ_in_proportion(void **state)
{
    (void)state;
    const float left[] = { 0.1f, 1000 }, near[] = { 0.1009f, 1000.9f }, far[] = { 0.1f, 1002 };
    assert_int_equal(find(left, near, sizeof(left), 1e-3, 4), NONE);
    assert_in_range(find(left, far, sizeof(left), 1e-3, 4), 4, 7);
    const double more[] = { 1e100 }, most[] = { 1.0001e100 };
    assert_int_equal(find(more, most, sizeof(more), 1e-3, 8), NONE);
    assert_in_range(find(more, most, sizeof(more), 1e-6, 8), 0, 7);
}

// Small integers are numbers that are not normal.
static void integers_and_no_numbers_are_equal_or_not(void **state)
{
    (void)state;
    const uint32_t left[] = { 0, 7 }, right[] = { 0, 8 }, first[] = { 3, 7 };
    assert_in_range(find(left, right, sizeof(left), 1, 4), 4, 7);
    assert_in_range(find(left, first, sizeof(left), 1, 4), 0, 3);
    const float none[] = { NAN }, number[] = { 1 }, infinite[] = { INFINITY };
    assert_int_equal(find(none, none, sizeof(none), 1, 4), NONE);
    assert_in_range(find(none, number, sizeof(none), 1, 4), 0, 3);
    assert_in_range(find(infinite, number, sizeof(none), 1, 4), 0, 3);
}

static void values_are_shown_as_they_are_compared(void **state)
{
    (void)state;
    const float numbers[] = { 1, 2.5f };
    const struct replay_tolerance exact = { 0, 4 }, near = { 1, 4 };
    struct replay_value value =
        replay_show_value((const unsigned char *)numbers, 5, sizeof(numbers), &near);
    assert_string_equal(value.text, "2.5");
    value = replay_show_value((const unsigned char *)"\x7f", 0, 1, &exact);
    assert_string_equal(value.text, "0x7f");
    value = replay_show_value((const unsigned char *)"\x7f", 0, 1, &near);
    assert_string_equal(value.text, "0x7f");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_equal_or_not),
        cmocka_unit_test(large_numbers_differ_in_proportion),
        cmocka_unit_test(integers_and_no_numbers_are_equal_or_not),
        cmocka_unit_test(values_are_shown_as_they_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
