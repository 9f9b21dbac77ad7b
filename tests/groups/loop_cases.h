// SPDX-License-Identifier: Apache-2.0
// Cases of frames_run_on_several_places about loops and branches.
#ifndef BRAID_TESTS_LOOP_CASES_H
#define BRAID_TESTS_LOOP_CASES_H

void a_loop_has_its_data_brought(void **state);
void what_a_body_may_write_stays_where_it_does_not_run(void **state);
void a_branch_runs_one_arm_elsewhere(void **state);
void loops_inside_are_on_the_same_device(void **state);
void loops_run_on_two_devices(void **state);
void a_body_on_two_devices_is_refused(void **state);
void random_loops_on_devices_run_as_written(void **state);

#endif
