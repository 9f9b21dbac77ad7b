// SPDX-License-Identifier: Apache-2.0
// Declared accesses become exactly the edges that the insertion order calls for.
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "graph/graph_state.h"
#include "graph/links.h"
#include "support/check.h"
#include "support/random_choice.h"

static braid_graph *graph_of(void **state)
{
    return *state;
}

static int set_up(void **state)
{
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    *state = graph;
    return 0;
}

static int tear_down(void **state)
{
    braid_graph_destroy(*state);
    return 0;
}

static braid_resource resource(braid_graph *graph, const char *name)
{
    braid_resource out;
    check_ok(braid_graph_add_resource(graph, name, &out));
    return out;
}

static braid_node node(braid_graph *graph, const char *name, braid_resource resource,
                       braid_access_mode mode)
{
    braid_node out;
    braid_empty empty = { .node.name = name, BRAID_ACCESSES({ resource, mode }) };
    check_ok(braid_graph_add_empty(graph, &empty, &out));
    return out;
}

static void a_read_follows_the_write_before_it(void **state)
{
    braid_graph *graph = graph_of(state);
    braid_resource x = resource(graph, "x");
    node(graph, "early", x, BRAID_READ);
    node(graph, "write", x, BRAID_WRITE);
    node(graph, "read", x, BRAID_READ);
    check_links(graph, "early->write write after read of x; write->read read after write of x");
}

static void a_write_follows_all_reads_since_the_last_write(void **state)
{
    braid_graph *graph = graph_of(state);
    braid_resource x = resource(graph, "x");
    node(graph, "a", x, BRAID_READ);
    node(graph, "b", x, BRAID_READ);
    node(graph, "write", x, BRAID_WRITE);
    check_links(graph, "a->write write after read of x; b->write write after read of x");
}

static void a_write_follows_the_write_before_it(void **state)
{
    braid_graph *graph = graph_of(state);
    braid_resource x = resource(graph, "x");
    node(graph, "a", x, BRAID_WRITE);
    node(graph, "b", x, BRAID_WRITE);
    check_links(graph, "a->b write after write of x");
}

static void reads_are_free_of_each_other(void **state)
{
    braid_graph *graph = graph_of(state);
    braid_resource x = resource(graph, "x");
    for (int i = 0; i < 5; i++)
        node(graph, "read", x, BRAID_READ);
    check_links(graph, "");
}

static void an_update_reads_and_writes(void **state)
{
    braid_graph *graph = graph_of(state);
    braid_resource x = resource(graph, "x");
    node(graph, "a", x, BRAID_READ_WRITE);
    node(graph, "b", x, BRAID_READ_WRITE);
    check_links(graph, "a->b read after write of x");
}

static void an_exclusive_use_is_ordered_with_everything(void **state)
{
    braid_graph *graph = graph_of(state);
    braid_resource x = resource(graph, "x"), y = resource(graph, "y"), z = resource(graph, "z");
    node(graph, "read", x, BRAID_READ);
    node(graph, "use", x, BRAID_EXCLUSIVE);
    node(graph, "read2", x, BRAID_READ);
    node(graph, "y1", y, BRAID_EXCLUSIVE);
    node(graph, "y2", y, BRAID_EXCLUSIVE);
    node(graph, "z1", z, BRAID_WRITE);
    node(graph, "z2", z, BRAID_EXCLUSIVE);
    node(graph, "z3", z, BRAID_WRITE);
    check_links(graph, "read->use exclusive use of x; use->read2 exclusive use of x; "
                       "y1->y2 exclusive use of y; "
                       "z1->z2 exclusive use of z; z2->z3 exclusive use of z");
}

static void users_of_slots_follow_who_had_theirs_before(void **state)
{
    braid_graph *graph = graph_of(state);
    braid_resource x;
    check_ok(braid_graph_add_slots(graph, "x", 3, &x));
    node(graph, "a", x, BRAID_EXCLUSIVE);
    node(graph, "b", x, BRAID_EXCLUSIVE);
    const braid_empty two = { .node.name = "two",
                              BRAID_ACCESSES({ x, BRAID_EXCLUSIVE }, { x, BRAID_EXCLUSIVE }) };
    check_ok(braid_graph_add_empty(graph, &two, NULL));
    node(graph, "c", x, BRAID_EXCLUSIVE);
    node(graph, "d", x, BRAID_EXCLUSIVE);
    node(graph, "e", x, BRAID_EXCLUSIVE);
    check_links(graph, "a->two exclusive use of x; b->c exclusive use of x; "
                       "two->d exclusive use of x; two->e exclusive use of x");
}

static void accumulating_accesses_are_free_of_each_other_only(void **state)
{
    braid_graph *graph = graph_of(state);
    braid_resource x = resource(graph, "x");
    node(graph, "clear", x, BRAID_WRITE);
    node(graph, "a", x, BRAID_ACCUMULATE);
    node(graph, "b", x, BRAID_ACCUMULATE);
    node(graph, "read", x, BRAID_READ);
    node(graph, "c", x, BRAID_ACCUMULATE);
    node(graph, "d", x, BRAID_ACCUMULATE);
    node(graph, "use", x, BRAID_EXCLUSIVE);
    check_links(graph, "clear->a read after write of x; clear->b read after write of x; "
                       "a->read read after write of x; b->read read after write of x; "
                       "read->c write after read of x; read->d write after read of x; "
                       "c->use exclusive use of x; d->use exclusive use of x");
}

static void different_resources_are_free(void **state)
{
    braid_graph *graph = graph_of(state);
    node(graph, "a", resource(graph, "x"), BRAID_WRITE);
    node(graph, "b", resource(graph, "x"), BRAID_WRITE); // a second resource, of the same name
    check_links(graph, "");
}

static void ranges_conflict_only_where_they_overlap(void **state)
{
    braid_graph *graph = graph_of(state);
    braid_resource buffer, low, high, middle, last;
    check_ok(braid_graph_add_buffer(graph, "b", NULL, 100, &buffer));
    check_ok(braid_graph_add_range(graph, buffer, 0, 50, &low));
    check_ok(braid_graph_add_range(graph, buffer, 50, 50, &high));
    check_ok(braid_graph_add_range(graph, buffer, 40, 20, &middle));
    check_ok(braid_graph_add_range(graph, buffer, 99, 1, &last));
    node(graph, "low", low, BRAID_WRITE);
    node(graph, "high", high, BRAID_WRITE);
    check_links(graph, "");
    node(graph, "middle", middle, BRAID_READ);
    node(graph, "last", last, BRAID_READ);
    check_links(graph, "low->middle read after write of b[40, 60); "
                       "high->middle read after write of b[40, 60); "
                       "high->last read after write of b[99, 100)");
}

static void a_range_conflicts_with_the_whole_buffer(void **state)
{
    braid_graph *graph = graph_of(state);
    braid_resource buffer, part;
    check_ok(braid_graph_add_buffer(graph, "b", NULL, 100, &buffer));
    check_ok(braid_graph_add_range(graph, buffer, 10, 10, &part));
    node(graph, "part", part, BRAID_WRITE);
    node(graph, "whole", buffer, BRAID_READ);
    node(graph, "again", part, BRAID_WRITE);
    check_links(graph, "part->whole read after write of b; "
                       "whole->again write after read of b[10, 20)");
}

// A write to a part must not make the reads of the other part forgotten.
static void a_partial_write_leaves_the_rest_as_it_was(void **state)
{
    braid_graph *graph = graph_of(state);
    braid_resource buffer, part, rest;
    check_ok(braid_graph_add_buffer(graph, "b", NULL, 100, &buffer));
    check_ok(braid_graph_add_range(graph, buffer, 0, 50, &part));
    check_ok(braid_graph_add_range(graph, buffer, 50, 50, &rest));
    node(graph, "whole", buffer, BRAID_WRITE);
    node(graph, "part", part, BRAID_WRITE);
    node(graph, "rest", rest, BRAID_READ);
    check_links(graph, "whole->part write after write of b[0, 50); "
                       "whole->rest read after write of b[50, 100)");
}

static void one_pair_gets_one_edge_and_data_flow_is_its_reason(void **state)
{
    braid_graph *graph = graph_of(state);
    braid_resource x = resource(graph, "x"), y = resource(graph, "y");
    braid_empty first = { .node.name = "first",
                          BRAID_ACCESSES({ x, BRAID_READ }, { y, BRAID_WRITE }) };
    check_ok(braid_graph_add_empty(graph, &first, NULL));
    braid_empty second = { .node.name = "second",
                           BRAID_ACCESSES({ x, BRAID_WRITE }, { y, BRAID_READ },
                                          { y, BRAID_READ }) };
    check_ok(braid_graph_add_empty(graph, &second, NULL));
    check_links(graph, "first->second read after write of y");
}

static void a_node_does_not_conflict_with_itself(void **state)
{
    braid_graph *graph = graph_of(state);
    braid_resource x = resource(graph, "x");
    braid_empty both = { .node.name = "both",
                         BRAID_ACCESSES({ x, BRAID_READ }, { x, BRAID_WRITE }) };
    check_ok(braid_graph_add_empty(graph, &both, NULL));
    check_links(graph, "");
}

// The rest compares random graphs with the definition: every conflicting pair is ordered by the
// links or what follows from them, and every link joins a conflicting pair.

enum { max_nodes = 24 };

struct closure {
    bool before[max_nodes][max_nodes];
};

static void close(struct closure *closure, uint32_t num)
{
    for (uint32_t k = 0; k < num; k++)
        for (uint32_t i = 0; i < num; i++)
            for (uint32_t j = 0; j < num; j++)
                closure->before[i][j] |= closure->before[i][k] && closure->before[k][j];
}

static bool overlap(const struct graph_resource *a, const struct graph_resource *b)
{
    if (a->buffer != b->buffer)
        return false;
    return !a->bytes || (a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes);
}

static bool may_overlap(uint32_t a, uint32_t b)
{
    return a == b && (a == BRAID_READ || a == BRAID_ACCUMULATE);
}

static bool conflict(const braid_graph *graph, uint32_t from, uint32_t to)
{
    const struct graph_access *accesses = graph->accesses.items;
    const struct graph_resource *resources = graph->resources.items;
    const struct graph_node *a = &graph_nodes(graph)[from], *b = &graph_nodes(graph)[to];
    for (uint32_t i = a->first_access; i < a->first_access + a->num_accesses; i++)
        for (uint32_t j = b->first_access; j < b->first_access + b->num_accesses; j++)
            if (!may_overlap(accesses[i].mode, accesses[j].mode) &&
                overlap(&resources[accesses[i].resource], &resources[accesses[j].resource]))
                return true;
    return false;
}

static void add_random_node(braid_graph *graph, struct random *random,
                            const braid_resource *resources, uint32_t num_resources)
{
    const struct random_shape shape = { .accesses = 3,
                                        .num_resources = num_resources,
                                        .num_modes = 5 };
    struct random_choice choice;
    random_choose(random, &shape, NULL, 0, resources, &choice);
    uint32_t num_nodes = (uint32_t)braid_graph_get_num_nodes(graph);
    braid_empty empty = { choice.options };
    // A prelude now and then, of any main node so far: it stands where that node stands.
    if (num_nodes && random_chance(random, 25)) {
        uint32_t main = graph_nodes(graph)[random_below(random, num_nodes)].main;
        braid_node handle = braid_graph_get_node(graph, main);
        if (random_chance(random, 50))
            empty.node.prelude_of = handle;
        else
            empty.node.epilogue_of = handle;
    }
    check_ok(braid_graph_add_empty(graph, &empty, NULL));
}

static braid_graph *random_graph(struct random *random)
{
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    braid_resource resources[10];
    check_ok(braid_graph_add_buffer(graph, "a", NULL, 16, &resources[0]));
    check_ok(braid_graph_add_buffer(graph, "b", NULL, 16, &resources[1]));
    check_ok(braid_graph_add_resource(graph, "c", &resources[2]));
    for (int i = 3; i < 10; i++) {
        uint32_t offset = random_below(random, 16);
        check_ok(braid_graph_add_range(graph, resources[random_below(random, 2)], offset,
                                       1 + random_below(random, 16 - offset), &resources[i]));
    }
    uint32_t num = 2 + random_below(random, max_nodes - 1);
    for (uint32_t i = 0; i < num; i++)
        add_random_node(graph, random, resources, 10);
    return graph;
}

static void check_against_definition(const braid_graph *graph)
{
    static struct closure wanted, found;
    wanted = found = (struct closure){ 0 };
    uint32_t num = graph_num_nodes(graph);
    struct graph_units units;
    check_ok(braid_graph_find_units(graph, &units));
    for (uint32_t i = 0; i < num; i++)
        for (uint32_t j = i + 1; j < num; j++) {
            uint32_t from = units.members[i], to = units.members[j];
            if (units.unit_of[from] != units.unit_of[to])
                wanted.before[from][to] = conflict(graph, from, to);
            else
                wanted.before[from][to] = found.before[from][to] = true; // running order
        }
    struct array links = { 0 };
    check_ok(braid_graph_find_links(graph, &links));
    const struct graph_link *link = links.items;
    for (size_t i = 0; i < links.num; i++) {
        assert_true(wanted.before[link[i].from][link[i].to]); // only conflicts, never backwards
        assert_false(found.before[link[i].from][link[i].to]); // no duplicates, none inside bundles
        found.before[link[i].from][link[i].to] = true;
    }
    close(&wanted, num);
    close(&found, num);
    assert_memory_equal(&found, &wanted, sizeof(wanted));
    braid_array_finish(&links);
    braid_graph_units_finish(&units);
}

static void random_accesses_give_the_order_of_the_definition(void **state)
{
    (void)state;
    struct random random = { 7 };
    for (int i = 0; i < 3000; i++) {
        braid_graph *graph = random_graph(&random);
        check_against_definition(graph);
        braid_graph_destroy(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_read_follows_the_write_before_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_write_follows_all_reads_since_the_last_write, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_write_follows_the_write_before_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_are_free_of_each_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_update_reads_and_writes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_exclusive_use_is_ordered_with_everything, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(users_of_slots_follow_who_had_theirs_before, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(accumulating_accesses_are_free_of_each_other_only, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(different_resources_are_free, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ranges_conflict_only_where_they_overlap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_range_conflicts_with_the_whole_buffer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_partial_write_leaves_the_rest_as_it_was, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_pair_gets_one_edge_and_data_flow_is_its_reason, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_node_does_not_conflict_with_itself, set_up, tear_down),
        cmocka_unit_test(random_accesses_give_the_order_of_the_definition),
    };
    return cmocka_run_group_tests_name("accesses become edges", tests, NULL, NULL);
}
