// SPDX-License-Identifier: Apache-2.0
// Saved plans: their public functions where the add-on 'saved' is left out.
#include <braid/schedule.h>

#include "base/error.h"

braid_status braid_schedule_save(const braid_schedule *schedule, const braid_graph *graph,
                                 const char *path)
{
    (void)schedule;
    (void)graph;
    (void)path;
    return braid_error_left_out("braid_schedule_save", "saved");
}

braid_status braid_schedule_load(const braid_graph *graph, const char *path,
                                 braid_schedule **out_schedule)
{
    (void)graph;
    (void)path;
    (void)out_schedule;
    return braid_error_left_out("braid_schedule_load", "saved");
}
