// SPDX-License-Identifier: Apache-2.0
// An imported graph keeps the captured orders of nodes that conflict or are not proven, and no
// other pair of edges does so with fewer edges. The proof notices each edge that is dropped. The
// cost of nodes without proof is the path that is left with one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/costs.h"
#include "import/orders.h"
#include "import/proof.h"
#include "support/check.h"
#include "support/random.h"
#include "support/sanitizers.h"

// One thread runs, so the thread sanitizer finds nothing here that others do not.
#if defined(UNDER_TSAN)
enum { CAPTURES = 100 };
#else
enum { CAPTURES = 1000 };
#endif

enum { MOST_NODES = 70, MOST_EDGES = 600, MOST_ACCESSES = 400, BUFFERS = 12 };

struct capture {
    struct import_order order;
    bool is_work[MOST_NODES], proven[MOST_NODES];
    struct import_edge edges[MOST_EDGES];
    struct import_access accesses[MOST_ACCESSES];
};

// Some streams, which wait for each other now and then.
static void make_edges(struct capture *capture, struct random *random, uint32_t num_streams)
{
    uint32_t last[8];
    for (uint32_t i = 0; i < num_streams; i++)
        last[i] = UINT32_MAX;
    for (uint32_t node = 0; node < capture->order.num_nodes; node++) {
        const uint32_t stream = random_below(random, num_streams);
        const uint32_t other = random_below(random, num_streams);
        if (last[stream] != UINT32_MAX)
            capture->edges[capture->order.num_edges++] = (struct import_edge){ last[stream], node };
        if (other != stream && last[other] != UINT32_MAX && random_below(random, 3) == 0)
            capture->edges[capture->order.num_edges++] = (struct import_edge){ last[other], node };
        last[stream] = node;
    }
}

static void make_capture(struct capture *capture, struct random *random)
{
    memset(capture, 0, sizeof(*capture));
    capture->order = (struct import_order){ .num_nodes = 1 + random_below(random, MOST_NODES),
                                            .num_buffers = BUFFERS,
                                            .is_work = capture->is_work,
                                            .proven = capture->proven,
                                            .edges = capture->edges,
                                            .accesses = capture->accesses };
    const uint32_t unproven = random_below(random, 3) * 5; // in a hundred
    make_edges(capture, random, 1 + random_below(random, 4));
    for (uint32_t node = 0; node < capture->order.num_nodes; node++) {
        capture->is_work[node] = random_below(random, 10) > 0;
        capture->proven[node] = !capture->is_work[node] || random_below(random, 100) >= unproven;
        for (uint32_t i = random_below(random, 4); i > 0 && capture->is_work[node]; i--)
            capture->accesses[capture->order.num_accesses++] =
                (struct import_access){ node, random_below(random, BUFFERS),
                                        random_below(random, 3) == 0 };
    }
}

// reach[a][b]: edges lead from a to b. By the least clever way.
static void close_edges(bool reach[MOST_NODES][MOST_NODES], uint32_t num,
                        const struct import_edge *edges, size_t num_edges)
{
    memset(reach, 0, sizeof(bool) * MOST_NODES * MOST_NODES);
    for (size_t i = 0; i < num_edges; i++)
        reach[edges[i].from][edges[i].to] = true;
    for (uint32_t via = 0; via < num; via++) {
        for (uint32_t from = 0; from < num; from++) {
            for (uint32_t to = 0; to < num && reach[from][via]; to++)
                reach[from][to] = reach[from][to] || reach[via][to];
        }
    }
}

static bool conflict(const struct capture *capture, uint32_t a, uint32_t b)
{
    for (size_t i = 0; i < capture->order.num_accesses; i++) {
        for (size_t k = 0; k < capture->order.num_accesses; k++) {
            const struct import_access *x = &capture->accesses[i], *y = &capture->accesses[k];
            if (x->node == a && y->node == b && x->buffer == y->buffer && (x->writes || y->writes))
                return true;
        }
    }
    return false;
}

static bool captured[MOST_NODES][MOST_NODES], wanted[MOST_NODES][MOST_NODES],
    kept[MOST_NODES][MOST_NODES];

static void expect_orders(const struct capture *capture, const struct import_orders *orders)
{
    static struct import_edge needed[MOST_NODES * MOST_NODES];
    const uint32_t num = capture->order.num_nodes;
    size_t num_needed = 0, num_races = 0, num_captured = 0, num_kept = 0, num_reduced = 0;
    close_edges(captured, num, capture->edges, capture->order.num_edges);
    close_edges(kept, num, orders->edges.items, orders->edges.num);
    for (uint32_t from = 0; from < num; from++) {
        for (uint32_t to = from + 1; to < num; to++) {
            const bool conflicts = conflict(capture, from, to);
            const bool stays = !capture->proven[from] || !capture->proven[to] || conflicts;
            captured[from][to] &= capture->is_work[from] && capture->is_work[to];
            if (captured[from][to] && stays)
                needed[num_needed++] = (struct import_edge){ from, to };
            num_races += !captured[from][to] && conflicts;
        }
    }
    close_edges(wanted, num, needed, num_needed);
    for (uint32_t from = 0; from < num; from++) {
        for (uint32_t to = 0; to < num; to++) {
            bool is_direct = wanted[from][to];
            for (uint32_t via = 0; via < num && is_direct; via++)
                is_direct = !(wanted[from][via] && wanted[via][to]);
            num_reduced += is_direct;
            num_captured += captured[from][to];
            num_kept += wanted[from][to];
        }
    }
    assert_memory_equal(wanted, kept, sizeof(kept));
    assert_int_equal(orders->edges.num, num_reduced);
    assert_int_equal(orders->races.num, num_races);
    assert_int_equal(orders->num_captured, num_captured);
    assert_int_equal(orders->num_kept, num_kept);
}

// Each edge of a reduction is the only path between its nodes.
static void expect_faults(const struct capture *capture, const struct import_orders *orders)
{
    static struct import_edge edges[MOST_NODES * MOST_NODES];
    const struct import_edge *all = orders->edges.items;
    struct import_fault fault;
    bool failed;
    assert_true(braid_import_prove(&capture->order, all, orders->edges.num, &fault, &failed));
    for (size_t left_out = 0; left_out < orders->edges.num; left_out++) {
        memcpy(edges, all, left_out * sizeof(*edges));
        memcpy(edges + left_out, all + left_out + 1,
               (orders->edges.num - left_out - 1) * sizeof(*edges));
        assert_false(
            braid_import_prove(&capture->order, edges, orders->edges.num - 1, &fault, &failed));
        assert_false(failed);
        assert_true(fault.is_lost);
    }
    if (orders->edges.num)
        memcpy(edges, all, orders->edges.num * sizeof(*edges));
    for (uint32_t from = 0; from < capture->order.num_nodes; from++) {
        for (uint32_t to = from + 1; to < capture->order.num_nodes; to++) {
            if (captured[from][to] || !capture->is_work[from] || !capture->is_work[to])
                continue;
            edges[orders->edges.num] = (struct import_edge){ from, to };
            assert_false(
                braid_import_prove(&capture->order, edges, orders->edges.num + 1, &fault, &failed));
            return;
        }
    }
}

// ---- costs ----

enum { GROUPS = 3, ALL = 0 };

static int compare_edges(const void *left, const void *right)
{
    const struct import_edge *one = left, *other = right;
    return one->from < other->from ? -1 : one->from > other->from;
}

// By the search for orders, of a capture where nodes of a group are proven and touch nothing.
static uint32_t longest_without(const struct capture *capture, const uint16_t *group_of,
                                uint32_t group)
{
    static struct capture changed;
    struct import_order order = capture->order;
    struct import_orders orders;
    changed = *capture;
    order.proven = changed.proven;
    order.accesses = changed.accesses;
    order.num_accesses = 0;
    for (uint32_t node = 0; node < order.num_nodes; node++)
        changed.proven[node] |= group == ALL || group_of[node] == group;
    for (size_t i = 0; i < capture->order.num_accesses; i++) {
        const uint16_t of = group_of[capture->accesses[i].node];
        if (!of || (group != ALL && of != group))
            changed.accesses[order.num_accesses++] = capture->accesses[i];
    }
    assert_true(braid_import_find_orders(&order, &orders));
    const uint32_t longest = orders.longest_kept;
    braid_import_orders_finish(&orders);
    return longest;
}

static void proof_shortens_the_longest_path(void **state)
{
    (void)state;
    static struct capture capture;
    struct random random = { .state = 8 };
    uint32_t num_shorter = 0;
    for (int i = 0; i < CAPTURES; i++) {
        uint16_t group_of[MOST_NODES] = { 0 };
        uint32_t longest[GROUPS + 1];
        struct import_orders orders;
        bool is_cut;
        make_capture(&capture, &random);
        qsort(capture.edges, capture.order.num_edges, sizeof(*capture.edges), compare_edges);
        for (uint32_t node = 0; node < capture.order.num_nodes; node++) {
            const uint32_t group = random_below(&random, GROUPS + 1);
            if (!capture.proven[node])
                group_of[node] = group ? (uint16_t)group : (uint16_t)COST_NO_GROUP;
        }
        assert_true(braid_import_find_costs(&capture.order, group_of, GROUPS, 0, longest, &is_cut));
        assert_false(is_cut);
        assert_true(braid_import_find_orders(&capture.order, &orders));
        for (uint32_t group = 0; group <= GROUPS; group++) {
            assert_int_equal(longest[group], longest_without(&capture, group_of, group));
            num_shorter += longest[group] < orders.longest_kept;
        }
        braid_import_orders_finish(&orders);
    }
    assert_true(num_shorter > CAPTURES / 4);
}

static void a_search_ends_at_its_most_steps(void **state)
{
    (void)state;
    static struct capture capture;
    struct random random = { .state = 9 };
    struct import_orders orders;
    uint32_t num_cut = 0;
    make_capture(&capture, &random);
    for (capture.order.most_steps = 1;; capture.order.most_steps++) {
        assert_true(braid_import_find_orders(&capture.order, &orders));
        if (!orders.is_cut)
            break;
        assert_true(!orders.edges.items && !orders.races.items && !orders.longest_kept);
        num_cut++;
    }
    assert_true(orders.longest_kept > 0);
    assert_true(num_cut > 3 * capture.order.num_nodes);
    braid_import_orders_finish(&orders);
}

static void random_captures_keep_what_they_must(void **state)
{
    (void)state;
    static struct capture capture;
    struct random random = { .state = 7 };
    uint64_t num_removed = 0;
    for (int i = 0; i < CAPTURES; i++) {
        struct import_orders orders;
        make_capture(&capture, &random);
        assert_true(braid_import_find_orders(&capture.order, &orders));
        expect_orders(&capture, &orders);
        expect_faults(&capture, &orders);
        num_removed += orders.num_captured - orders.num_kept;
        braid_import_orders_finish(&orders);
    }
    assert_true(num_removed > 10 * CAPTURES);
}

static void a_chain_falls_apart(void **state)
{
    (void)state;
    static const bool yes[] = { true, true, true, true };
    static const struct import_edge chain[] = { { 0, 1 }, { 1, 2 }, { 2, 3 } };
    static const struct import_access accesses[] = {
        { 0, 0, true }, { 1, 1, true }, { 2, 0, false }, { 2, 2, true }, { 3, 1, false }
    };
    const struct import_order order = { 4, 3, yes, yes, chain, 3, accesses, 5, 0 };
    struct import_orders orders;
    assert_true(braid_import_find_orders(&order, &orders));
    const struct import_edge *edges = orders.edges.items;
    assert_int_equal(orders.edges.num, 2);
    assert_true(edges[0].from == 0 && edges[0].to == 2 && edges[1].from == 1 && edges[1].to == 3);
    assert_int_equal(orders.longest_captured, 4);
    assert_int_equal(orders.longest_kept, 2);
    assert_int_equal(orders.races.num, 0);
    braid_import_orders_finish(&orders);
}

static void nothing_is_ordered_in_an_empty_capture(void **state)
{
    (void)state;
    struct import_orders orders;
    assert_true(braid_import_find_orders(&(struct import_order){ 0 }, &orders));
    assert_int_equal(orders.edges.num + orders.races.num, 0);
    braid_import_orders_finish(&orders);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_falls_apart),
        cmocka_unit_test(nothing_is_ordered_in_an_empty_capture),
        cmocka_unit_test(a_search_ends_at_its_most_steps),
        cmocka_unit_test(proof_shortens_the_longest_path),
        cmocka_unit_test(random_captures_keep_what_they_must),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
