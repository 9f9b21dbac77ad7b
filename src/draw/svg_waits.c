// SPDX-License-Identifier: Apache-2.0
// Waits of a timeline as thin lines; where there are too many only those of the critical path, or
// none.
#include <inttypes.h>

#include "draw/svg.h"

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
    double edge = svg->row_height;
    fprintf(svg->file, "<path class=\"wait%s\" d=\"M",
            is_critical(svg->timeline, wait) ? " critical" : "");
    braid_svg_write_number(svg, braid_svg_x(svg, from.end_ns));
    fputc(' ', svg->file);
    braid_svg_write_number(svg,
                           braid_svg_lane_y(svg, lane_of[wait->from]) + (goes_down ? edge : 0));
    fputc('L', svg->file);
    braid_svg_write_number(svg, braid_svg_x(svg, to.start_ns));
    fputc(' ', svg->file);
    braid_svg_write_number(svg, braid_svg_lane_y(svg, lane_of[wait->to]) + (goes_down ? 0 : edge));
    fprintf(svg->file, "\"><title>position %" PRIu32 "</title></path>\n", wait->position);
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
    fputs("<text class=\"key\" text-anchor=\"end\" x=\"1580\" y=\"", svg->file);
    braid_svg_write_number(svg, svg->bottom + 24);
    fprintf(svg->file, "\">%zu of %zu waits shown</text>\n", num, timeline->num_waits);
}
