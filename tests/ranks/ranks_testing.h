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

// Joins the other ranks, of whom rank 0 reports. 0, or an exit status.
int open_ranks(void);
int close_ranks(int num_failed); // an exit status
#define run_on_ranks(tests)                                                                        \
    (open_ranks() ? EXIT_FAILURE : close_ranks(cmocka_run_group_tests((tests), NULL, NULL)))

int begin_job(void **state);
int end_job(void **state);
braid_resource add_buffer(struct job *job, const char *name, const double *memory, uint64_t num);
braid_node add(struct job *job, const char *name, braid_rank_operation operation,
               braid_communication given, const braid_access *accesses, size_t num);

void test_another_order_is_refused_with_both(void **state);
void test_a_child_is_refused_its_parents_ranks(void **state);
void test_ranks_that_reduce_otherwise_are_refused(void **state);
void test_collectives_of_other_elements_are_refused(void **state);
void test_a_receive_of_other_elements_than_are_sent_is_refused(void **state);
void test_a_send_without_its_receive_is_refused(void **state);
void test_a_collective_that_a_rank_knows_nothing_of_is_refused(void **state);
void test_a_circle_of_waits_is_refused_and_shown(void **state);
void test_communicators_that_cross_are_refused(void **state);
void test_all_hear_of_a_rank_that_makes_no_exec(void **state);
void test_all_hear_of_options_that_a_rank_refuses(void **state);
void test_a_wrong_operation_is_refused_at_once(void **state);
void test_an_operation_is_added_whole_or_not_at_all(void **state);
void test_a_launch_that_failed_halfway_keeps_no_communicator(void **state);
void test_an_operation_of_a_launch_that_failed_is_awaited(void **state);
void test_a_row_is_for_the_launch_that_waits_for_a_failed_one(void **state);
void test_a_copy_is_sent_once_until_it_is_written(void **state);
void test_a_neighbour_is_sent_the_rows_it_reads(void **state);
void test_a_rank_has_nothing_of_what_it_has_no_part_in(void **state);
void test_a_task_left_out_is_told_before_anything_runs(void **state);
void test_what_is_received_is_what_was_sent(void **state);
void test_bundles_run_where_their_main_node_runs(void **state);
void test_a_task_that_breaks_the_rule_is_refused(void **state);
void test_an_owned_buffer_is_declared_right_or_not_at_all(void **state);
void test_a_task_is_added_with_its_transfers_or_not_at_all(void **state);

#endif
