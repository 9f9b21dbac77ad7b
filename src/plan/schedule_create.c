// SPDX-License-Identifier: Apache-2.0
// Planning graphs, for one device or several.
#include "base/error.h"
#include "graph/cull.h"
#include "graph/regions.h"
#include "plan/places/place.h"
#include "plan/schedule.h"

static braid_status create_placed(const braid_graph *graph, const struct plan_options *options,
                                  braid_schedule **out_schedule)
{
    struct placed *placed = NULL;
    braid_status status = braid_graph_place(graph, options, &placed);
    if (!status)
        status = braid_schedule_create_placed(placed, options, out_schedule);
    braid_placed_release(placed);
    return status;
}

braid_status braid_schedule_plan(const braid_graph *graph, const struct plan_options *options,
                                 braid_schedule **out_schedule)
{
    braid_status status = braid_graph_check_regions(graph); // nodes that are left out count
    const bool is_spread = options->places && options->places->num_places > 1;
    if (!status && !is_spread && graph->imported_places > 1)
        status =
            braid_error(BRAID_UNSUPPORTED, "a graph imported for several devices runs on them");
    if (status)
        return status;
    struct culled culled;
    status = braid_graph_cull(graph, &culled);
    if (!status && is_spread)
        status = create_placed(culled.graph, options, out_schedule);
    else if (!status)
        status = braid_schedule_create_plain(culled.graph, options, out_schedule);
    braid_culled_finish(&culled);
    return status;
}
