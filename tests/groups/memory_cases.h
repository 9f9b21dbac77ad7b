// SPDX-License-Identifier: Apache-2.0
// Cases of frames_run_on_several_places about memory.
#ifndef BRAID_TESTS_MEMORY_CASES_H
#define BRAID_TESTS_MEMORY_CASES_H

void weights_are_copied_when_they_change(void **state);
void another_stream_finds_weights_filled(void **state);
void frames_on_two_streams_find_weights_filled(void **state);
void a_frame_in_flight_reads_the_weights_it_was_launched_with(void **state);
void a_disabled_node_leaves_what_was_there(void **state);
void a_parameter_that_came_late_is_refused(void **state);

#endif
