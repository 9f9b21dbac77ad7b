// SPDX-License-Identifier: Apache-2.0
// Cases of frames_run_on_several_places about memory.
#ifndef BRAID_TESTS_MEMORY_CASES_H
#define BRAID_TESTS_MEMORY_CASES_H

void weights_that_the_program_copies_are_copied_by_no_frame(void **state);
void a_disabled_node_leaves_what_was_there(void **state);
void a_parameter_that_came_late_is_refused(void **state);

#endif
