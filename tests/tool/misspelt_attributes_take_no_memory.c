// SPDX-License-Identifier: Apache-2.0
// Of an attribute that is only told of, the reader keeps the first node, and not room for all.
// Before cmocka makes a macro of the tool's fail().
#include "tools/braid/dot_given.h"

#include "support/check.h"

static uint32_t set(struct dot_given *given, const char *name, const uint32_t *places)
{
    bool is_new = false;
    uint32_t attribute = dot_given_add(given, name, &is_new);
    assert_true(is_new);
    for (uint32_t i = 0; i < 3; i++)
        assert_true(dot_given_set(given, attribute, places[i], places[i] + 1));
    return attribute;
}

static void only_what_is_read_has_room_for_each_node(void **state)
{
    (void)state;
    struct dot_given given = { 0 };
    const uint32_t places[] = { 2000, 1000, 3000 };
    const uint32_t read = set(&given, "cost", places), near = set(&given, "costs", places);
    const struct dot_attribute *attribute = &given.attributes[read];
    assert_int_equal(dot_given_value(attribute, 3000), 3001);
    attribute = &given.attributes[near];
    assert_int_equal(attribute->use, DOT_ATTRIBUTE_NEAR);
    assert_int_equal(attribute->room, 0);
    assert_int_equal(attribute->first, 1000);
    assert_int_equal(attribute->near, 1001);
    dot_given_finish(&given);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_read_has_room_for_each_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
