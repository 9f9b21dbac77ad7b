// SPDX-License-Identifier: Apache-2.0
// The groups of the contract suite, a file each. They return the number of tests that failed.
#ifndef BRAID_TESTS_GROUPS_H
#define BRAID_TESTS_GROUPS_H

int run_launch_order(void);
int run_fork_and_join(void);
int run_never_blocks(void);
int run_streams_and_events(void);
int run_null_stream(void);
int run_arguments(void);
int run_parameters(void);
int run_changes(void);
int run_outputs(void);
int run_kinds(void);
int run_bounds(void);
int run_read_grids(void);
int run_many_frames(void);
int run_transients(void);
int run_pools(void);
int run_frames_in_flight(void);
int run_ends(void);
int run_versions(void);
int run_earlier_work(void);
int run_waiting_for_room(void);
int run_growth(void);
int run_times(void);
int run_tuning(void);
int run_failures(void);
int run_destroy(void);
int run_running(void);
int run_late_frames(void);
int run_traps(void);
int run_cancelling(void);
int run_concurrency(void);
int run_sparse(void);
int run_loops(void);
int run_driven_loops(void);
int run_timed_loops(void);
int run_branches(void);
int run_loop_calls(void);
int run_loop_lanes(void);
int run_random_loops(void);
int run_threads(void);
int run_queue_calls(void);
int run_schedules(void);
int run_memory(void);
int run_random_graphs(void);
int run_captured_plans(void);
int run_external(void);

#endif
