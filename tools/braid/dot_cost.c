// SPDX-License-Identifier: Apache-2.0
// What a file's costs are as times, and what their unit is called.
#include "dot_cost.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "dot_line.h"

// Sums of all costs, in nanoseconds, stay below this, so that no path can overflow.
#define LARGEST_WORK_NS ((uint64_t)1 << 62)

uint64_t dot_cost_named_unit(const struct dot_file *file)
{
    static const struct {
        const char *unit;
        uint64_t ns;
    } times[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };
    for (size_t i = 0; file->cost_unit && i < sizeof(times) / sizeof(times[0]); i++) {
        if (strcmp(file->cost_unit, times[i].unit) == 0)
            return times[i].ns;
    }
    return 0;
}

// A unit that is not a time is planned as 1 ns, where all costs are at least that; else it has
// parts that a cost of 0 can be planned as, if the sum of all costs allows.
uint64_t dot_cost_choose_unit(const struct dot_file *file)
{
    enum { PARTS = 1000 };
    uint64_t named = dot_cost_named_unit(file), left = LARGEST_WORK_NS / PARTS;
    bool has_zero = false;
    if (named > 0)
        return named;
    for (uint32_t i = 0; i < file->num_nodes; i++) {
        if (file->nodes[i].cost >= left)
            return 1;
        has_zero = has_zero || file->nodes[i].cost == 0;
        left -= file->nodes[i].cost;
    }
    return has_zero ? PARTS : 1;
}

uint64_t dot_cost_ns(const struct dot_file *file, uint32_t node)
{
    uint64_t cost = file->nodes[node].cost;
    return cost > 0 ? cost * file->unit_ns : 1;
}

struct dot_unit dot_cost_unit(const struct dot_file *file)
{
    if (!file->cost_unit || strcmp(file->cost_unit, "none") == 0)
        return (struct dot_unit){ "", "" };
    return (struct dot_unit){ " ", file->cost_unit };
}

enum exit_status dot_cost_check(const struct dot_file *file)
{
    uint64_t most = LARGEST_WORK_NS / file->unit_ns, left = most;
    struct dot_unit unit = dot_cost_unit(file);
    for (uint32_t i = 0; i < file->num_nodes; i++) {
        uint64_t cost = file->nodes[i].cost ? file->nodes[i].cost : 1;
        if (cost >= left)
            return fail_in_file(file->text.path, dot_line_of_cost(&file->text, i),
                                "with the cost of node '%s' all costs sum to %" PRIu64
                                "%s%s or more: too much to plan",
                                file->nodes[i].id, most, unit.space, unit.name);
        left -= cost;
    }
    return EXIT_DONE;
}
