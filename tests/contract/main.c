// SPDX-License-Identifier: Apache-2.0
// The contract suite: every ordering law, on the backend and in the mode that the environment asks
// for. Arguments name groups; without any, all run. Ends with 77 when there is no such device.
#include <stdio.h>
#include <string.h>

#include "contract/contract.h"
#include "contract/groups.h"

struct group {
    const char *name;
    int (*run)(void); // the number of tests that failed
};

static const struct group groups[] = {
    { "a_launch_keeps_the_graphs_order", run_launch_order },
    { "a_launch_forks_from_its_stream_and_joins_it", run_fork_and_join },
    { "a_launch_never_blocks_the_host", run_never_blocks },
    { "streams_and_events_keep_their_laws", run_streams_and_events },
    { "streams_do_not_wait_for_the_null_stream", run_null_stream },
    { "arguments_are_captured_at_launch", run_arguments },
    { "one_parameter_reaches_all_its_users", run_parameters },
    { "nodes_change_from_frame_to_frame", run_changes },
    { "nodes_no_output_needs_do_not_run", run_outputs },
    { "each_kind_of_node_takes_other_values", run_kinds },
    { "copies_and_fills_keep_their_bounds", run_bounds },
    { "grids_are_read_when_kernels_start", run_read_grids },
    { "many_frames_are_launched_at_once", run_many_frames },
    { "transient_buffers_have_memory", run_transients },
    { "execs_of_a_pool_take_turns", run_pools },
    { "frames_overlap_where_accesses_allow", run_frames_in_flight },
    { "frames_end_in_launch_order", run_ends },
    { "launches_are_behind_what_was_queued", run_earlier_work },
    { "frames_have_versions_in_turn", run_versions },
    { "a_launch_waits_for_room_alone", run_waiting_for_room },
    { "frames_make_nothing_grow", run_growth },
    { "frames_keep_their_times", run_times },
    { "tuning_finds_a_way", run_tuning },
    { "a_failed_launch_leaves_no_trace", run_failures },
    { "destroy_waits_for_its_own_work_only", run_destroy },
    { "running_nodes_are_named", run_running },
    { "late_frames_are_told_of", run_late_frames },
    { "traps_are_told_once", run_traps },
    { "frames_are_cancelled", run_cancelling },
    { "lost_concurrency_is_reported", run_concurrency },
    { "sparse_loops_take_their_preludes_along", run_sparse },
    { "loops_run_until_they_end", run_loops },
    { "loops_are_timed", run_timed_loops },
    { "branches_run_one_arm", run_branches },
    { "each_iteration_makes_its_frames_call", run_loop_calls },
    { "loops_have_lanes_of_many_threads", run_loop_lanes },
    { "the_host_drives_loops", run_driven_loops },
    { "random_loops_run_as_written", run_random_loops },
    { "every_call_works_from_any_thread", run_threads },
    { "queue_calls_find_their_device_current", run_queue_calls },
    { "an_exec_runs_the_schedule_it_is_given", run_schedules },
    { "memory_is_copied_and_filled", run_memory },
    { "random_graphs_keep_every_order", run_random_graphs },
    { "plans_are_captured", run_captured_plans },
    { "frames_join_external_work", run_external },
};

static bool is_asked_for(const char *name, int num_names, char **names)
{
    for (int i = 0; i < num_names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return num_names == 0;
}

// Whether the mode under test is there at all. What it cannot run is skipped test by test.
static bool can_run(braid_device *device)
{
    braid_graph *graph;
    if (braid_graph_create(&graph))
        return false;
    braid_exec *exec = NULL;
    const braid_exec_options options = { .mode = contract_mode() };
    braid_status status = braid_exec_create(device, graph, &options, &exec);
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    return status != BRAID_UNSUPPORTED;
}

int main(int argc, char **argv)
{
    braid_device *device;
    if (contract_open_device(&device)) {
        printf("1..0 # skip no %s device here: %s\n", contract_backend(),
               braid_error_get_message());
        return 77;
    }
    if (!can_run(device)) {
        printf("1..0 # skip %s\n", braid_error_get_message());
        braid_device_close(device);
        return 77;
    }
    braid_device_close(device);
    int num_failed = 0;
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        if (is_asked_for(groups[i].name, argc - 1, argv + 1))
            num_failed += groups[i].run();
    return num_failed ? 1 : 0;
}
