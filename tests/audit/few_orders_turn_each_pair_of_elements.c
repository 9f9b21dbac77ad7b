// SPDX-License-Identifier: Apache-2.0
// Orders of a poset's elements keep its order, turn all other pairs, and are at most its width.
// BRAID_TEST_GRAPHS=N runs the first N.
#include <stdlib.h>
#include <string.h>

#include "audit/audit_poset.h"
#include "support/check.h"
#include "support/failing_memory.h"
#include "support/random.h"

enum { MOST = 200, MOST_TRIED = 14 };

struct orders {
    struct audit_poset poset;
    bool before[MOST][MOST]; // whether one is before the other in all orders
    bool was_before[MOST][MOST];
    uint32_t num;
};

static void make(struct orders *orders, uint32_t num)
{
    memset(orders, 0, sizeof(*orders));
    check_ok(braid_audit_poset_create(num, &orders->poset));
}

static void put(struct orders *orders, uint32_t before, uint32_t after)
{
    orders->before[before][after] = true;
    braid_audit_poset_put(&orders->poset, before, after);
}

static void close_order(struct orders *orders)
{
    uint32_t num = orders->poset.num;
    for (uint32_t k = 0; k < num; k++)
        for (uint32_t i = 0; i < num; i++)
            for (uint32_t j = 0; orders->before[i][k] && j < num; j++)
                orders->before[i][j] = orders->before[i][j] || orders->before[k][j];
}

static void take_order(struct orders *orders, const uint32_t *order)
{
    bool seen[MOST] = { false };
    for (uint32_t i = 0; i < orders->poset.num; i++) {
        assert_true(order[i] < orders->poset.num && !seen[order[i]]);
        seen[order[i]] = true;
        for (uint32_t k = 0; k < i; k++) {
            assert_false(orders->before[order[i]][order[k]]);
            orders->was_before[order[k]][order[i]] = true;
        }
    }
    orders->num++;
}

static void take_orders(struct orders *orders)
{
    uint32_t order[MOST], num = orders->poset.num;
    close_order(orders);
    memset(orders->was_before, 0, sizeof(orders->was_before));
    orders->num = 0;
    braid_audit_poset_start(&orders->poset);
    while (braid_audit_poset_next(&orders->poset, order))
        take_order(orders, order);
    assert_false(braid_audit_poset_next(&orders->poset, order));
    for (uint32_t i = 0; i < num; i++)
        for (uint32_t k = 0; k < num; k++)
            assert_true(i == k || orders->was_before[i][k] || orders->before[k][i]);
}

static bool is_unordered(const struct orders *orders, uint32_t set)
{
    for (uint32_t i = 0; i < orders->poset.num; i++)
        for (uint32_t k = 0; k < orders->poset.num; k++)
            if ((set >> i & 1) && (set >> k & 1) && orders->before[i][k])
                return false;
    return true;
}

// Finds the largest set of elements in which none comes before another.
static uint32_t find_width(const struct orders *orders)
{
    uint32_t width = 0;
    for (uint32_t set = 0; set < UINT32_C(1) << orders->poset.num; set++) {
        uint32_t num = (uint32_t)__builtin_popcount(set);
        if (num > width && is_unordered(orders, set))
            width = num;
    }
    return width;
}

// Elements are numbered in any order.
static void put_some(struct orders *orders, struct random *random, uint32_t num, uint32_t percent)
{
    uint32_t name[MOST];
    for (uint32_t i = 0; i < num; i++)
        name[i] = i;
    for (uint32_t i = num; i-- > 1;) {
        uint32_t k = random_below(random, i + 1), kept = name[i];
        name[i] = name[k];
        name[k] = kept;
    }
    for (uint32_t i = 0; i < num; i++)
        for (uint32_t k = i + 1; k < num; k++)
            if (random_below(random, 100) < percent)
                put(orders, name[i], name[k]);
}

static void orders_are_at_most_the_width(void **state)
{
    (void)state;
    static struct orders orders;
    struct random random = { 5 };
    uint32_t num_equal = 0;
    const char *fewer = getenv("BRAID_TEST_GRAPHS");
    for (int i = 0; i < (fewer ? atoi(fewer) : 1000); i++) {
        uint32_t num = 1 + random_below(&random, i % 50 ? 9 : MOST_TRIED);
        make(&orders, num);
        put_some(&orders, &random, num, random_below(&random, 60));
        take_orders(&orders);
        uint32_t width = find_width(&orders);
        assert_in_range(orders.num, 1, width);
        num_equal += width > 1 && orders.num == width;
        braid_audit_poset_finish(&orders.poset);
    }
    assert_true(num_equal > 0);
}

static void large_ones_and_relations_that_come_later_are_kept(void **state)
{
    (void)state;
    static struct orders orders;
    struct random random = { 6 };
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t order[MOST], num = 60 + random_below(&random, MOST - 59);
        make(&orders, num);
        put_some(&orders, &random, num, i);
        take_orders(&orders);
        memcpy(order, orders.poset.backward, num * sizeof(*order));
        put(&orders, order[0], order[1]);
        put(&orders, order[1], order[num - 1]);
        take_orders(&orders);
        braid_audit_poset_finish(&orders.poset);
    }
}

// The standard example: each of n elements comes before all of n others but one. No fewer orders
// than n turn all pairs.
static void as_many_orders_as_it_takes_are_made(void **state)
{
    (void)state;
    static struct orders orders;
    enum { EACH = 70 };
    make(&orders, 2 * EACH);
    for (uint32_t i = 0; i < EACH; i++)
        for (uint32_t k = 0; k < EACH; k++)
            if (i != k)
                put(&orders, i, EACH + k);
    take_orders(&orders);
    assert_int_equal(orders.num, EACH);
    braid_audit_poset_finish(&orders.poset);
}

// Though its width is the number of its elements. One that comes before all others changes nothing.
static void three_orders_turn_all_pairs_of_elements_without_order(void **state)
{
    (void)state;
    static struct orders orders;
    for (uint32_t has_first = 0; has_first < 2; has_first++) {
        make(&orders, MOST);
        for (uint32_t i = 1; has_first && i < MOST; i++)
            put(&orders, 0, i);
        take_orders(&orders);
        assert_true(orders.num <= 3);
        braid_audit_poset_finish(&orders.poset);
    }
}

static void memory_may_run_out(void **state)
{
    (void)state;
    struct audit_poset poset;
    for (uint64_t nth = 1; nth <= 2; nth++) {
        failing_memory_arm_once(nth);
        braid_status status = braid_audit_poset_create(5, &poset);
        assert_true(failing_memory_disarm());
        assert_int_equal(status, BRAID_NO_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_are_at_most_the_width),
        cmocka_unit_test(large_ones_and_relations_that_come_later_are_kept),
        cmocka_unit_test(as_many_orders_as_it_takes_are_made),
        cmocka_unit_test(three_orders_turn_all_pairs_of_elements_without_order),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
