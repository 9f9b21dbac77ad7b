// SPDX-License-Identifier: Apache-2.0
// What a file's costs are as times, and what their unit is called.
#include "dot_cost.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Sums of all costs, in nanoseconds, stay below this, so that no path can overflow.
#define LARGEST_WORK_NS ((uint64_t)1 << 62)

#define BILLION ((uint64_t)1000000000)

static const struct dot_clock clocks[] = {
    { "us", 1e3, 3 }, { "ns", 1, 0 }, { "ms", 1e6, 6 }, { "s", 1e9, 9 }
};

// That of the file's cost_unit; NULL where there is none or it is not a time.
static const struct dot_clock *find_named(const struct dot_file *file)
{
    for (size_t i = 0; file->cost_unit && i < sizeof(clocks) / sizeof(clocks[0]); i++) {
        if (strcmp(file->cost_unit, clocks[i].name) == 0)
            return &clocks[i];
    }
    return NULL;
}

uint64_t dot_cost_named_unit(const struct dot_file *file)
{
    const struct dot_clock *named = find_named(file);
    return named ? (uint64_t)named->ns : 0;
}

struct dot_clock dot_cost_clock(const struct dot_file *file)
{
    const struct dot_clock *named = find_named(file);
    return named ? *named : clocks[0];
}

// Planned as 1 ns, though the file says 0, or nothing of a node that has no work.
static bool takes_next_to_nothing(const struct dot_node *node)
{
    if (!node->cost.is_given)
        return node->kind == DOT_EMPTY;
    return node->cost.whole == 0 && node->cost.billionths == 0;
}

bool dot_cost_is_whole(const struct dot_file *file, uint64_t time_ns, uint64_t unit_ns)
{
    uint64_t most = unit_ns / 50, fleeting = file->has_fractions ? 0 : file->num_fleeting;
    return time_ns % unit_ns <= (fleeting < most ? fleeting : most);
}

// A unit that is not a time has parts, if the sum of all costs allows: what is planned of whole
// costs is not always whole.
void dot_cost_choose_unit(struct dot_file *file)
{
    enum { PARTS = 1000 };
    const uint64_t named = dot_cost_named_unit(file);
    uint64_t left = LARGEST_WORK_NS / PARTS;
    file->num_fleeting = 0;
    for (uint32_t i = 0; i < file->num_nodes; i++) {
        const uint64_t whole = file->nodes[i].cost.whole;
        file->num_fleeting += takes_next_to_nothing(&file->nodes[i]);
        left = whole < left ? left - whole : 0;
    }
    file->unit_ns = named > 0 ? named : left > 0 ? PARTS : 1;
}

enum exit_status dot_cost_take_measured(struct dot_file *file)
{
    file->has_fractions = true;
    file->without_cost = 0;
    if (dot_cost_named_unit(file) > 0)
        return EXIT_DONE;
    free(file->cost_unit);
    file->cost_unit = strdup("ns");
    file->unit_ns = 1;
    return file->cost_unit ? EXIT_DONE : fail(EXIT_FAILED, "out of memory for a unit");
}

uint64_t dot_cost_part(uint64_t cost_ns, double factor)
{
    double part = (double)cost_ns / factor;
    return part < 1 ? 1 : (uint64_t)(part + 0.5);
}

uint64_t dot_cost_ns(const struct dot_file *file, uint32_t node)
{
    const struct dot_cost *cost = &file->nodes[node].cost;
    uint64_t parts = (cost->billionths * file->unit_ns + BILLION / 2) / BILLION;
    uint64_t ns = cost->whole * file->unit_ns + parts;
    return ns > 0 ? ns : 1;
}

braid_timeline_options dot_cost_timeline(const struct dot_file *file)
{
    const char *slash = strrchr(file->text.path, '/');
    braid_timeline_options options = { .title = slash ? slash + 1 : file->text.path };
    if (dot_cost_named_unit(file) == 0) {
        options.unit = dot_cost_unit(file).name;
        options.unit_ns = file->unit_ns;
    }
    return options;
}

// At most nine places behind the point, as many as are needed.
struct dot_time dot_cost_time(const struct dot_file *file, uint64_t time_ns)
{
    struct dot_time time;
    uint64_t whole = time_ns / file->unit_ns, rest = time_ns % file->unit_ns;
    if (dot_cost_is_whole(file, time_ns, file->unit_ns)) {
        snprintf(time.text, sizeof(time.text), "%" PRIu64, whole);
        return time;
    }
    uint64_t billionths = rest * (BILLION / file->unit_ns);
    int length =
        snprintf(time.text, sizeof(time.text), "%" PRIu64 ".%09" PRIu64, whole, billionths);
    while (time.text[length - 1] == '0')
        time.text[--length] = '\0';
    return time;
}

struct dot_unit dot_cost_unit(const struct dot_file *file)
{
    if (!file->cost_unit || strcmp(file->cost_unit, "none") == 0)
        return (struct dot_unit){ "", "" };
    return (struct dot_unit){ " ", file->cost_unit };
}

struct dot_missing dot_cost_missing(const struct dot_file *file)
{
    struct dot_missing missing = { 0 };
    for (uint32_t i = 0; i < file->num_nodes; i++) {
        const struct dot_node *node = &file->nodes[i];
        uint32_t *num = node->kind == DOT_EMPTY  ? &missing.empty
                        : node->kind == DOT_HOST ? &missing.host_calls
                                                 : &missing.nodes;
        bool is_region = node->kind == DOT_LOOP || node->kind == DOT_BRANCH;
        *num += !node->cost.is_given && !is_region;
    }
    return missing;
}

enum exit_status dot_cost_check(const struct dot_file *file)
{
    uint64_t most = LARGEST_WORK_NS / file->unit_ns, left = most;
    struct dot_unit unit = dot_cost_unit(file);
    for (uint32_t i = 0; i < file->num_nodes; i++) {
        const struct dot_node *node = &file->nodes[i];
        uint64_t cost = node->cost.whole + (node->cost.billionths > 0 || node->cost.whole == 0);
        if (cost >= left)
            return fail_in_file(file->text.path, dot_given_line(file, i, "cost"),
                                "with the cost of node '%s' all costs sum to %" PRIu64
                                "%s%s or more: too much to plan",
                                node->id, most, unit.space, unit.name);
        left -= cost;
    }
    return EXIT_DONE;
}
