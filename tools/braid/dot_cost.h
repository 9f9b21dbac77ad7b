// SPDX-License-Identifier: Apache-2.0
// What a file's costs are as times, and what their unit is called.
#ifndef BRAID_TOOL_DOT_COST_H
#define BRAID_TOOL_DOT_COST_H

#include <stdbool.h>
#include <stdint.h>

#include <braid/timeline.h>

#include "dot_file.h"

// Reads a number of 0 or more as people and profilers write it: 12, 1.5, 3e-05. What is less than a
// billionth is rounded. False for anything else, and for what has more than 64 bits.
bool dot_cost_parse(const char *text, struct dot_cost *out_cost);

// How long the file's cost_unit is by its name, in nanoseconds; 0 where there is none or it is not
// a time.
uint64_t dot_cost_named_unit(const struct dot_file *file);

// Finds how many nanoseconds a unit of the file's costs is planned as.
void dot_cost_choose_unit(struct dot_file *file);

// Before anything is planned with costs that were measured, in place of the file's: they are times
// in nanoseconds, which is then the unit of a file whose own is no time.
enum exit_status dot_cost_take_measured(struct dot_file *file);

// What is planned for a node that takes one factor-th of its cost; 1 at least.
uint64_t dot_cost_part(uint64_t cost_ns, double factor);

// What a node's cost is planned as, in nanoseconds; 1 at least, the least the planner knows.
uint64_t dot_cost_ns(const struct dot_file *file, uint32_t node);

// A cost in units, as near as a double comes.
double dot_cost_value(const struct dot_cost *cost);

// What to print behind a number of units of cost: a space and the unit, or nothing at all where the
// file gives none or "none".
struct dot_unit {
    const char *space, *name;
};
struct dot_unit dot_cost_unit(const struct dot_file *file);

// Whether a planned time has nothing to tell beside whole units, of so many nanoseconds. The few
// nanoseconds of nodes that take next to nothing are told where the file's costs have fractions.
bool dot_cost_is_whole(const struct dot_file *file, uint64_t time_ns, uint64_t unit_ns);

// A planned time in the file's unit, as text: with as many places as are needed.
struct dot_time {
    char text[40];
};
struct dot_time dot_cost_time(const struct dot_file *file, uint64_t time_ns);

// The unit of measured times: the file's own where that is a time, else microseconds; and how many
// places reach down to a nanosecond.
struct dot_clock {
    const char *name;
    double ns;
    int places;
};
struct dot_clock dot_cost_clock(const struct dot_file *file);

// A plan's timeline, titled by the file: in times where the file's unit is one, else in its unit.
braid_timeline_options dot_cost_timeline(const struct dot_file *file);

// Nodes that the file gives no cost, by what is planned for them: a unit, a hundred, next to
// nothing.
struct dot_missing {
    uint32_t nodes, host_calls, empty;
};
struct dot_missing dot_cost_missing(const struct dot_file *file);

// Reports a sum of all costs that is too large to plan.
enum exit_status dot_cost_check(const struct dot_file *file);

#endif
