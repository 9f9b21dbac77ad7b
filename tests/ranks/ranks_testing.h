// SPDX-License-Identifier: Apache-2.0
// What tests of several ranks share: every rank makes every test, each with a job of its own.
#ifndef BRAID_TESTS_RANKS_TESTING_H
#define BRAID_TESTS_RANKS_TESTING_H

#include <braid/braid.h>

#include "support/check.h"

enum { NUM_RANKS = 4 };

struct job {
    braid_device *device;
    braid_graph *graph;
    braid_resource world;
    braid_exec *exec;
};

extern braid_ranks *ranks;
extern braid_communicator *world, *other;
extern uint32_t rank;

int begin_job(void **state);
int end_job(void **state);
braid_resource add_buffer(struct job *job, const char *name, const double *memory, uint64_t num);
braid_node add(struct job *job, const char *name, braid_rank_operation operation,
               braid_communication given, const braid_access *accesses, size_t num);

void test_another_order_is_refused_with_both(void **state);
void test_a_send_without_its_receive_is_refused(void **state);
void test_a_collective_that_a_rank_knows_nothing_of_is_refused(void **state);
void test_a_circle_of_waits_is_refused_and_shown(void **state);
void test_communicators_that_cross_are_refused(void **state);
void test_all_hear_of_a_rank_that_makes_no_exec(void **state);
void test_a_wrong_operation_is_refused_at_once(void **state);
void test_an_operation_is_added_whole_or_not_at_all(void **state);

#endif
