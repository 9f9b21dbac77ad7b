// SPDX-License-Identifier: Apache-2.0
// What a file's costs are as times, and what their unit is called.
#ifndef BRAID_TOOL_DOT_COST_H
#define BRAID_TOOL_DOT_COST_H

#include "dot_file.h"

// How long the file's cost_unit is by its name, in nanoseconds; 0 where there is none or it is not
// a time.
uint64_t dot_cost_named_unit(const struct dot_file *file);

// How many nanoseconds a unit of cost is planned as; 1 or more.
uint64_t dot_cost_choose_unit(const struct dot_file *file);

// What a node's cost is planned as, in nanoseconds; a cost of 0 as 1, the least the planner knows.
uint64_t dot_cost_ns(const struct dot_file *file, uint32_t node);

// What to print behind a number of units of cost: a space and the unit, or nothing at all where the
// file gives none or "none".
struct dot_unit {
    const char *space, *name;
};
struct dot_unit dot_cost_unit(const struct dot_file *file);

// Reports a sum of all costs that is too large to plan.
enum exit_status dot_cost_check(const struct dot_file *file);

#endif
