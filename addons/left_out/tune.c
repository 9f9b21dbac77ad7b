// SPDX-License-Identifier: Apache-2.0
// Times, costs and tuning: its public functions where the add-on 'tune' is left out.
#include <braid/costs.h>
#include <braid/timings.h>
#include <braid/tune.h>

#include "base/error.h"

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
