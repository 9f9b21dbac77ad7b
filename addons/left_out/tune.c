// SPDX-License-Identifier: Apache-2.0
// Times, costs and tuning: its public functions where the add-on 'tune' is left out.
#include <braid/costs.h>
#include <braid/timings.h>
#include <braid/tune.h>

#include "base/error.h"
#include "base/sized.h"

braid_status braid_exec_get_timings_sized(braid_exec *exec, braid_timings *out_timings, size_t size)
{
    (void)size;
    (void)exec;
    (void)out_timings;
    return braid_error_left_out("braid_exec_get_timings", "tune");
}

braid_status braid_exec_measure(braid_exec *exec, braid_graph *graph, uint32_t num_frames)
{
    (void)exec;
    (void)graph;
    (void)num_frames;
    return braid_error_left_out("braid_exec_measure", "tune");
}

braid_status braid_graph_tune_sized(braid_graph *graph, braid_device *device,
                                    const braid_tune_options *options, braid_exec_options *out_way,
                                    size_t size, size_t way_size)
{
    (void)size;
    (void)way_size;
    (void)device;
    (void)graph;
    (void)options;
    (void)out_way;
    return braid_error_left_out("braid_graph_tune", "tune");
}

braid_status braid_graph_load_costs(braid_graph *graph, const braid_device *device,
                                    const char *path)
{
    (void)graph;
    (void)device;
    (void)path;
    return braid_error_left_out("braid_graph_load_costs", "tune");
}

braid_status braid_graph_save_costs(const braid_graph *graph, const braid_device *device,
                                    const char *path)
{
    (void)graph;
    (void)device;
    (void)path;
    return braid_error_left_out("braid_graph_save_costs", "tune");
}

braid_status braid_runner_create_sized(braid_device *device, braid_graph *graph,
                                       const braid_runner_options *options,
                                       braid_runner **out_runner, size_t size)
{
    (void)device;
    (void)graph;
    (void)options;
    (void)out_runner;
    (void)size;
    return braid_error_left_out("braid_runner_create", "tune");
}

void braid_runner_destroy(braid_runner *runner)
{
    (void)runner;
}

braid_status braid_runner_launch(braid_runner *runner, braid_stream *stream)
{
    (void)runner;
    (void)stream;
    return braid_error_left_out("braid_runner_launch", "tune");
}

braid_status braid_runner_wait(braid_runner *runner)
{
    (void)runner;
    return braid_error_left_out("braid_runner_wait", "tune");
}

braid_status braid_runner_query(braid_runner *runner)
{
    (void)runner;
    return braid_error_left_out("braid_runner_query", "tune");
}

braid_exec *braid_runner_get_exec(braid_runner *runner)
{
    (void)runner;
    return NULL;
}

void braid_runner_get_info_sized(braid_runner *runner, braid_runner_info *out_info, size_t size)
{
    static const braid_runner_info none = { .way = "", .reason = "" };
    (void)runner;
    braid_sized_give(&none, sizeof(none), out_info, size);
}
