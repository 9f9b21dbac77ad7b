// SPDX-License-Identifier: Apache-2.0
// The address of a resource is given to a node only where it has one that holds while the node
// runs; what is refused leaves the graph as it was.
#include <stdlib.h>

#include "graph/graph.h"
#include "graph/graph_state.h"
#include "support/check.h"

static void run(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static const braid_kernel kernel = { .name = "kernel", .cpu = run };
static char memory[64], other[64];

// Frees `before`.
static void check_unchanged(const braid_graph *graph, char *before)
{
    char *after = graph_state(graph);
    assert_string_equal(after, before);
    free(after);
    free(before);
}

struct setting {
    braid_graph *graph;
    braid_resource transient, part, known, known_part, unknown, thing;
};

static struct setting make_setting(void)
{
    struct setting s = { 0 };
    check_ok(braid_graph_create(&s.graph));
    check_ok(braid_graph_add_transient(s.graph, "transient", 64, 0, &s.transient));
    check_ok(braid_graph_add_range(s.graph, s.transient, 32, 32, &s.part));
    check_ok(braid_graph_add_buffer(s.graph, "known", memory, 64, &s.known));
    check_ok(braid_graph_add_range(s.graph, s.known, 16, 16, &s.known_part));
    check_ok(braid_graph_add_buffer(s.graph, "unknown", NULL, 64, &s.unknown));
    check_ok(braid_graph_add_resource(s.graph, "thing", &s.thing));
    return s;
}

static braid_status give(const struct setting *s, braid_resource resource, braid_resource accessed)
{
    const braid_access access = { accessed, BRAID_WRITE };
    const braid_kernel_node launch = { .node = { .accesses = &access, .num_accesses = 1 },
                                       .kernel = &kernel,
                                       BRAID_ARGS(braid_resource_address(&resource)) };
    return braid_graph_add_kernel(s->graph, &launch, NULL);
}

static void what_has_no_address_is_refused(void **state)
{
    (void)state;
    struct setting s = make_setting();
    char *before = graph_state(s.graph);
    const braid_resource none = { 0 }, foreign = { .index = 0, .graph = s.transient.graph + 1 };
    check_fails(give(&s, none, s.known), BRAID_INVALID_ARGUMENT, "argument 0: resource 0");
    check_fails(give(&s, foreign, s.known), BRAID_INVALID_ARGUMENT, "not a resource");
    check_fails(give(&s, s.unknown, s.unknown), BRAID_INVALID_ARGUMENT, "without an address");
    check_fails(give(&s, s.thing, s.thing), BRAID_INVALID_ARGUMENT, "without an address");
    check_fails(give(&s, s.transient, s.known), BRAID_INVALID_ARGUMENT, "declares no access");
    check_unchanged(s.graph, before);
    check_ok(give(&s, s.transient, s.part));
    check_ok(give(&s, s.part, s.transient));
    check_ok(give(&s, s.known, s.thing));
    braid_graph_destroy(s.graph);
}

static void ends_are_given_once_and_hold_the_copy(void **state)
{
    (void)state;
    struct setting s = make_setting();
    const braid_access access = { s.transient, BRAID_WRITE };
    const braid_node_options options = { .accesses = &access, .num_accesses = 1 };
    char *before = graph_state(s.graph);
    braid_copy copy = {
        .node = options, .to = memory, .from = other, .bytes = 33, .to_resource = s.transient
    };
    check_fails(braid_graph_add_copy(s.graph, &copy, NULL), BRAID_INVALID_ARGUMENT,
                ".to and .to_resource are both given");
    copy.to = NULL;
    copy.to_resource = s.part;
    check_fails(braid_graph_add_copy(s.graph, &copy, NULL), BRAID_INVALID_ARGUMENT,
                "33 bytes end beyond the 32");
    copy.bytes = 32;
    copy.from_resource = s.known_part;
    copy.from = NULL;
    check_fails(braid_graph_add_copy(s.graph, &copy, NULL), BRAID_INVALID_ARGUMENT,
                "32 bytes end beyond the 16");
    const braid_fill fill = {
        .node = options, .to_resource = s.part, .value_bytes = 4, .num_values = 9
    };
    check_fails(braid_graph_add_fill(s.graph, &fill, NULL), BRAID_INVALID_ARGUMENT,
                "36 bytes end beyond the 32");
    check_unchanged(s.graph, before);
    copy.bytes = 16;
    check_ok(braid_graph_add_copy(s.graph, &copy, NULL));
    const union work *added = s.graph->works.items;
    assert_ptr_equal(added->copy.from, memory + 16); // known at once
    braid_graph_destroy(s.graph);
}

// A node's own, whose access nobody declares; two addresses are of one.
static void scratch_is_given_without_an_access(void **state)
{
    (void)state;
    struct setting s = make_setting();
    braid_resource scratch, other_scratch, part;
    check_ok(braid_graph_add_scratch(s.graph, "scratch", 64, 0, &scratch));
    check_ok(braid_graph_add_scratch(s.graph, "other", 64, 0, &other_scratch));
    char *before = graph_state(s.graph);
    check_fails(give(&s, s.known, scratch), BRAID_INVALID_ARGUMENT, "no access is declared to it");
    check_fails(braid_graph_add_range(s.graph, scratch, 0, 32, &part), BRAID_INVALID_ARGUMENT,
                "'scratch' is scratch");
    check_fails(braid_graph_add_scratch(s.graph, "odd", 64, 48, &part), BRAID_INVALID_ARGUMENT,
                "scratch 'odd'");
    const braid_fill fill = { .to_resource = scratch, .value_bytes = 4, .num_values = 17 };
    check_fails(braid_graph_add_fill(s.graph, &fill, NULL), BRAID_INVALID_ARGUMENT,
                "68 bytes end beyond the 64");
    check_unchanged(s.graph, before);
    size_t num_resources = s.graph->resources.num;
    const braid_access access = { s.known, BRAID_READ };
    const braid_kernel_node launch = { .node = { .accesses = &access, .num_accesses = 1 },
                                       .kernel = &kernel,
                                       BRAID_ARGS(braid_resource_address(&scratch),
                                                  braid_resource_address(&other_scratch),
                                                  braid_resource_address(&scratch)) };
    for (uint32_t i = 0; i < 2; i++) {
        check_ok(braid_graph_add_kernel(s.graph, &launch, NULL));
        assert_int_equal(graph_nodes(s.graph)[i].num_accesses, 3);
        assert_int_equal(s.graph->resources.num, num_resources + 2 * (i + 1));
    }
    const struct graph_address *addresses = s.graph->addresses.items;
    assert_int_equal(addresses[0].resource, addresses[2].resource);
    assert_int_not_equal(addresses[0].resource, addresses[1].resource);
    assert_int_not_equal(addresses[0].resource, addresses[3].resource);
    braid_graph_destroy(s.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_no_address_is_refused),
        cmocka_unit_test(scratch_is_given_without_an_access),
        cmocka_unit_test(ends_are_given_once_and_hold_the_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
