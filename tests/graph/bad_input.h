// SPDX-License-Identifier: Apache-2.0
// What the tests of bad input share: a graph that refuses it, and must stay as it was.
#ifndef BRAID_TESTS_BAD_INPUT_H
#define BRAID_TESTS_BAD_INPUT_H

#include <braid/braid.h>

// A graph with something of everything, and another graph whose handles must be refused.
struct world {
    braid_graph *graph, *other;
    braid_node load, clear, loop, sweep;
    braid_resource image, part, list;
    braid_node foreign_node;
    braid_resource foreign_resource;
};

extern char memory[64];

// The graph is as it was, and can still be added to. Frees `before`.
void check_unchanged(struct world *world, char *before);

void test_resources_without_a_name_or_bytes_are_refused(void **state);
void test_ranges_outside_their_buffer_are_refused(void **state);
void test_versions_that_cannot_be_are_refused(void **state);
void test_earlier_versions_that_are_none_are_refused(void **state);
void test_slots_are_held_alone(void **state);
void test_rows_that_do_not_fit_are_refused(void **state);
void test_homes_of_what_has_none_are_refused(void **state);

#endif
