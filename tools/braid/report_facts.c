// SPDX-License-Identifier: Apache-2.0
// What a report tells of a plan: which waits cost time, which nodes matter, what would change it.
#include "report_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dot_cost.h"
#include "progress.h"
#include "task_graph.h"

braid_interval report_interval(const struct report *report, uint32_t node)
{
    braid_placement placement = { 0 };
    if (report->measured)
        return report->measured[node];
    if (braid_schedule_get_placement(report->schedule, braid_graph_get_node(report->graph, node),
                                     &placement) != BRAID_OK)
        return (braid_interval){ 0 };
    return (braid_interval){ placement.start_ns, placement.end_ns };
}

bool report_has_interval(const struct report *report, uint32_t node)
{
    return report->measured ? report->measured[node].end_ns > 0
                            : !task_graph_is_left_out(report->schedule, report->graph, node);
}

// Keeps the waits that cost most in order, the earlier one on a tie.
static void keep_wait(struct report_facts *facts, struct report_wait wait)
{
    uint32_t place = facts->num_waits;
    while (place > 0 && facts->waits[place - 1].idle_ns < wait.idle_ns)
        place--;
    if (place == REPORT_WAITS)
        return;
    if (facts->num_waits < REPORT_WAITS)
        facts->num_waits++;
    memmove(&facts->waits[place + 1], &facts->waits[place],
            (facts->num_waits - place - 1) * sizeof(wait));
    facts->waits[place] = wait;
}

// The waits before a node, of which the one that ended last counts.
struct lane_state {
    uint64_t end_ns; // its last node's
    uint32_t last;   // that node; UINT32_MAX: none
    uint32_t waited; // UINT32_MAX: nothing since
    uint64_t waited_ns;
};

static void take_run(struct report_facts *facts, struct lane_state *lane, uint32_t node,
                     uint64_t end_ns)
{
    if (lane->waited != UINT32_MAX && lane->waited_ns > lane->end_ns) {
        uint64_t idle_ns = lane->waited_ns - lane->end_ns;
        facts->num_idle_waits++;
        facts->idle_ns += idle_ns;
        keep_wait(facts, (struct report_wait){ lane->waited, node, idle_ns });
    }
    *lane = (struct lane_state){ .end_ns = end_ns, .last = node, .waited = UINT32_MAX };
}

// The path to a node.
struct way_here {
    struct report_path path;
    uint32_t behind; // the node before; UINT32_MAX: none
};

// Behind the later of the node before it on its lane and what it waited for.
static struct way_here find_way(const struct way_here *ways, const struct lane_state *lane,
                                braid_interval interval)
{
    bool is_waited = lane->waited != UINT32_MAX && lane->waited_ns > lane->end_ns;
    struct way_here way = { .behind = is_waited ? lane->waited : lane->last };
    if (way.behind != UINT32_MAX)
        way.path = ways[way.behind].path;
    uint64_t end_ns = is_waited ? lane->waited_ns : lane->end_ns;
    uint64_t start_ns = interval.start_ns > end_ns ? interval.start_ns : end_ns;
    way.path.ns += interval.end_ns > start_ns ? interval.end_ns - start_ns : 0;
    way.path.num_nodes++;
    return way;
}

static uint64_t planned_length(const struct report *report, uint32_t node)
{
    braid_placement placement = { 0 };
    if (braid_schedule_get_placement(report->schedule, braid_graph_get_node(report->graph, node),
                                     &placement) != BRAID_OK)
        return 0;
    return placement.end_ns - placement.start_ns;
}

// The measured length of a node; without one, the planned length. A run measures a body as a whole.
static uint64_t length_of(const struct report *report, uint32_t node)
{
    braid_interval interval = report_interval(report, node);
    return report_has_interval(report, node) ? interval.end_ns - interval.start_ns
                                             : planned_length(report, node);
}

// How often a body runs when its region does, by the plan, which has the times of one iteration.
static uint64_t planned_iterations(const struct report *report, uint32_t region)
{
    const struct dot_node *nodes = report->file->nodes;
    const uint32_t end = dot_bodies_end(report->file, region);
    uint64_t first_ns = UINT64_MAX, last_ns = 0;
    for (uint32_t i = region + 1; i < end && nodes[region].kind == DOT_LOOP; i++) {
        braid_placement placement = { 0 };
        if (nodes[i].around != region ||
            braid_schedule_get_placement(report->schedule, braid_graph_get_node(report->graph, i),
                                         &placement) != BRAID_OK ||
            placement.lane == BRAID_NO_LANE)
            continue;
        first_ns = placement.start_ns < first_ns ? placement.start_ns : first_ns;
        last_ns = placement.end_ns > last_ns ? placement.end_ns : last_ns;
    }
    return last_ns > first_ns ? planned_length(report, region) / (last_ns - first_ns) : 1;
}

// By node, how often it runs in a frame. NULL: no memory.
static uint64_t *find_runs(const struct report *report)
{
    const struct dot_file *file = report->file;
    uint64_t *runs = calloc((size_t)file->num_nodes + 1, sizeof(*runs));
    for (uint32_t i = 0; i < file->num_nodes && runs; i++) {
        const uint64_t here = runs[i] ? runs[i] : 1;
        const uint32_t end = dot_bodies_end(file, i);
        const uint64_t inside = end > i + 1 ? here * planned_iterations(report, i) : 0;
        runs[i] = here;
        for (uint32_t k = i + 1; k < end; k++)
            runs[k] = inside;
    }
    return runs;
}

// Keeps the longest; of nodes as long, the one that is offered last.
static void keep_node(struct report_facts *facts, struct report_node node)
{
    uint32_t place = facts->num_nodes;
    while (place > 0 && facts->nodes[place - 1].total_ns <= node.total_ns)
        place--;
    if (place == REPORT_NODES)
        return;
    if (facts->num_nodes < REPORT_NODES)
        facts->num_nodes++;
    memmove(&facts->nodes[place + 1], &facts->nodes[place],
            (facts->num_nodes - place - 1) * sizeof(facts->nodes[0]));
    facts->nodes[place] = node;
}

// The longest nodes of the path to the last one, and of the bodies on it: halving any other changes
// nothing, but for lanes it frees. The earlier one on a tie.
static bool find_nodes(const struct report *report, const struct way_here *ways, uint32_t last,
                       struct report_facts *facts)
{
    uint64_t *runs = find_runs(report);
    for (uint32_t node = last; node != UINT32_MAX && runs; node = ways[node].behind) {
        const uint32_t end = node < report->file->num_nodes ? dot_bodies_end(report->file, node)
                                                            : node + 1; // a copy between places
        for (uint32_t i = end; i-- > node;) {
            const uint64_t times = i < report->file->num_nodes ? runs[i] : 1;
            const uint64_t length = length_of(report, i);
            if (i == node || length)
                keep_node(facts, (struct report_node){ .node = i, .total_ns = length * times });
        }
    }
    free(runs);
    return runs;
}

static uint64_t find_origin(const struct report *report)
{
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < report->file->num_nodes && report->measured; i++)
        if (report_has_interval(report, i) && report->measured[i].start_ns < first)
            first = report->measured[i].start_ns;
    return first == UINT64_MAX ? 0 : first;
}

static bool find_waits(const struct report *report, struct report_facts *facts)
{
    struct lane_state *lanes = calloc((size_t)facts->info.num_lanes + 1, sizeof(*lanes));
    struct way_here *ways = calloc((size_t)facts->info.num_nodes + 1, sizeof(*ways));
    uint64_t origin = find_origin(report), last_ns = origin;
    uint32_t last = UINT32_MAX;
    const braid_step *steps = facts->info.steps;
    for (uint32_t i = 0; i < facts->info.num_lanes && lanes; i++)
        lanes[i] = (struct lane_state){ origin, UINT32_MAX, UINT32_MAX, 0 };
    for (size_t i = 0; i < facts->info.num_steps && lanes && ways; i++) {
        struct lane_state *lane = &lanes[steps[i].lane];
        braid_interval interval = report_interval(report, steps[i].node);
        uint64_t end_ns = interval.end_ns;
        if (task_graph_is_node(&steps[i])) {
            ways[steps[i].node] = find_way(ways, lane, interval);
            last = end_ns >= last_ns ? steps[i].node : last;
            last_ns = end_ns >= last_ns ? end_ns : last_ns;
            take_run(facts, lane, steps[i].node, end_ns);
        } else if (steps[i].kind == BRAID_STEP_WAIT &&
                   (lane->waited == UINT32_MAX || end_ns > lane->waited_ns)) {
            lane->waited = steps[i].node;
            lane->waited_ns = end_ns;
        }
    }
    bool done = lanes && ways;
    facts->frame_ns = last_ns - origin;
    if (last != UINT32_MAX) {
        facts->path = ways[last].path;
        done = find_nodes(report, ways, last, facts);
    }
    free(lanes);
    free(ways);
    return done;
}

static enum exit_status plan_again(const struct report *report, uint32_t num_lanes,
                                   uint64_t *out_makespan_ns)
{
    braid_schedule_options options = report->options;
    braid_schedule *schedule;
    braid_schedule_info info;
    options.max_lanes = num_lanes;
    options.fixed_lanes = true;
    if (report->measured)
        options.ignore_costs = false; // they are what was measured
    if (braid_schedule_create(report->graph, &options, &schedule) != BRAID_OK)
        return fail_in_library();
    braid_schedule_get_info(schedule, &info);
    braid_schedule_destroy(schedule);
    *out_makespan_ns = info.makespan_ns;
    return EXIT_DONE;
}

// Gives a node, or all nodes of its bodies, one part in so many of their lengths.
static enum exit_status shorten(const struct report *report, uint32_t node, double parts)
{
    const uint32_t end = dot_bodies_end(report->file, node);
    for (uint32_t i = node; i < end; i++) {
        const uint64_t length = length_of(report, i);
        const bool is_region = dot_bodies_end(report->file, i) > i + 1;
        if ((!is_region && length) &&
            braid_graph_set_cost(report->graph, braid_graph_get_node(report->graph, i),
                                 dot_cost_part(length, parts)) != BRAID_OK)
            return fail_in_library();
    }
    return EXIT_DONE;
}

static enum exit_status halve(const struct report *report, uint32_t num_lanes,
                              struct report_node *node)
{
    enum exit_status status = shorten(report, node->node, 2);
    if (status == EXIT_DONE)
        status = plan_again(report, num_lanes, &node->half_ns);
    enum exit_status restored = shorten(report, node->node, 1);
    return status == EXIT_DONE ? restored : status;
}

// Gives nodes the lengths that a function tells; those that are not known stay as they are.
static enum exit_status set_costs(const struct report *report,
                                  uint64_t (*tell)(const struct report *report, uint32_t node))
{
    for (uint32_t i = 0; i < report->file->num_nodes; i++) {
        uint64_t length = tell(report, i);
        if (length && braid_graph_set_cost(report->graph, braid_graph_get_node(report->graph, i),
                                           length) != BRAID_OK)
            return fail_in_library();
    }
    return EXIT_DONE;
}

// Finds changes by plans with the lengths at hand.
static enum exit_status find_changes(const struct report *report, struct report_facts *facts)
{
    uint32_t num_lanes = facts->info.num_lanes > 0 ? facts->info.num_lanes : 1;
    enum exit_status status = EXIT_DONE;
    facts->now_ns = facts->info.makespan_ns;
    if (report->measured)
        status = plan_again(report, num_lanes, &facts->now_ns);
    if (status == EXIT_DONE)
        status = plan_again(report, num_lanes + 1, &facts->more_lane_ns);
    for (uint32_t i = 0; i < facts->num_nodes && status == EXIT_DONE; i++) {
        progress_show("planning what would change it", i, facts->num_nodes);
        status = halve(report, num_lanes, &facts->nodes[i]);
    }
    progress_clear();
    return status;
}

// How often each resource keeps two nodes apart; the first of those that do so most often is told.
static bool find_serialisations(const struct report *report, struct report_facts *facts)
{
    uint32_t *times = calloc((size_t)report->file->num_resources + 1, sizeof(*times)), most = 0;
    if (!times)
        return false;
    for (size_t i = 0; i < facts->info.num_serialisations; i++) {
        braid_serialisation pair = facts->info.serialisations[i];
        if (pair.cause != BRAID_SERIALISED_BY_RESOURCE ||
            pair.resource >= report->file->num_resources)
            continue;
        facts->num_by_resource++;
        if (++times[pair.resource] > most) {
            most = times[pair.resource];
            snprintf(facts->resource, sizeof(facts->resource), "%s", pair.resource_name);
        }
    }
    free(times);
    return true;
}

enum exit_status report_find_facts(const struct report *report, struct report_facts *out_facts)
{
    struct report_facts facts = { 0 };
    braid_schedule_get_info(report->schedule, &facts.info);
    if (!find_waits(report, &facts) || !find_serialisations(report, &facts))
        return fail(EXIT_FAILED, "out of memory for a report");
    enum exit_status status = report->measured ? set_costs(report, length_of) : EXIT_DONE;
    if (status == EXIT_DONE)
        status = find_changes(report, &facts);
    if (status == EXIT_DONE && report->measured)
        status = set_costs(report, planned_length);
    if (status == EXIT_DONE)
        *out_facts = facts;
    return status;
}
