// SPDX-License-Identifier: Apache-2.0
// Waits of a timeline as thin lines; where there are too many only those of the critical path, or
// none.
#include <inttypes.h>

#include "report/svg.h"

#define MOST_WAITS 800
#define MOST_CRITICAL 250

static bool is_critical(const struct timeline *timeline, const struct timeline_wait *wait)
{
    return timeline->is_critical[wait->from] && timeline->is_critical[wait->to];
}

// From the end of one node to the start of another, on their lanes' facing edges.
static void write_wait(const struct svg *svg, const struct timeline_wait *wait)
{
    const uint32_t *lane_of = svg->timeline->schedule->lane_of;
    braid_interval from, to;
    if (!braid_timeline_interval(svg->timeline, 0, wait->from, &from) ||
        !braid_timeline_interval(svg->timeline, 0, wait->to, &to))
        return;
    bool goes_down = lane_of[wait->to] > lane_of[wait->from];
    double from_y = braid_svg_lane_y(svg, lane_of[wait->from]) + (goes_down ? svg->row_height : 0);
    double to_y = braid_svg_lane_y(svg, lane_of[wait->to]) + (goes_down ? 0 : svg->row_height);
    fprintf(svg->file,
            "<path class=\"wait%s\" d=\"M%s %sL%s %s\"><title>position %" PRIu32
            "</title></path>\n",
            is_critical(svg->timeline, wait) ? " critical" : "",
            braid_svg_number(braid_svg_x(svg, from.end_ns)).text, braid_svg_number(from_y).text,
            braid_svg_number(braid_svg_x(svg, to.start_ns)).text, braid_svg_number(to_y).text,
            wait->position);
}

void braid_svg_write_waits(const struct svg *svg)
{
    const struct timeline *timeline = svg->timeline;
    bool all = timeline->num_waits <= MOST_WAITS;
    size_t num_critical = 0, num = 0;
    for (size_t i = 0; i < timeline->num_waits; i++)
        num_critical += is_critical(timeline, &timeline->waits[i]);
    for (size_t i = 0; i < timeline->num_waits; i++) {
        const struct timeline_wait *wait = &timeline->waits[i];
        if (all || (num_critical <= MOST_CRITICAL && is_critical(timeline, wait))) {
            write_wait(svg, wait);
            num++;
        }
    }
    if (num == timeline->num_waits)
        return;
    fprintf(svg->file,
            "<text class=\"key\" text-anchor=\"end\" x=\"1580\" y=\"%s\">%zu of %zu waits "
            "shown</text>\n",
            braid_svg_number(svg->bottom + 24).text, num, timeline->num_waits);
}
