// SPDX-License-Identifier: Apache-2.0
// The layout of a timeline's picture, and the writers of its parts.
#ifndef BRAID_REPORT_SVG_H
#define BRAID_REPORT_SVG_H

#include "report/timeline.h"

#define SVG_WIDTH 1600.0 // the picture's, in pixels
#define SVG_LEFT 110.0   // where time 0 is
#define SVG_WIDE 1470.0  // what the whole frame takes
#define SVG_TOP 104.0    // where the first lane is
#define SVG_LAUNCH 95.0  // where the host's launch is, which is so high:
#define SVG_LAUNCH_HIGH 5.0

struct svg {
    const struct timeline *timeline;
    FILE *file;
    double row_height, row_pitch; // a lane's, and from one to the next
    double bottom;                // the last lane's
};

// Where a time of the first frame is.
double braid_svg_x(const struct svg *svg, uint64_t time_ns);
double braid_svg_lane_y(const struct svg *svg, uint32_t lane);

// A number of pixels, to hundredths; the same in every locale.
struct svg_number {
    char text[24];
};
struct svg_number braid_svg_number(double number);
void braid_svg_write_rectangle(const struct svg *svg, const char *class_name, double x, double y,
                               double width, double height);
// Begins a text.
void braid_svg_write_text_at(const struct svg *svg, const char *class_name, double x, double y);

// The parts: nodes, blocks of nodes, bundles and idle times of a lane; waits.
void braid_svg_write_lane(const struct svg *svg, uint32_t lane);
void braid_svg_write_waits(const struct svg *svg);

#endif
