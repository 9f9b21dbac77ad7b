// SPDX-License-Identifier: Apache-2.0
// Draws a schedule: a box a lane, waits between lanes, the critical path, forced serialisations.
#include <inttypes.h>

#include "base/array.h"
#include "base/dot.h"
#include "base/error.h"
#include "plan/schedule.h"
#include "plan/schedule_dot_regions.h"

#define NO_IDLE_LANE (PLAN_NONE - 1)
#define CRITICAL_LOOK "color=\"#c0392b\", penwidth=2.6"

struct drawing {
    const braid_schedule *schedule;
    FILE *file;
    uint32_t *critical_next; // per node: the next on the critical path; PLAN_NONE if there is none
                             // or its edge is drawn
    bool *is_critical;       // per node
    uint32_t *lane_before;   // per node: the one before it on its lane, PLAN_NONE for the first
    uint32_t *lane_reason;   // per node: why it comes after that one, if nothing else orders them:
                             // PLAN_NONE, NO_IDLE_LANE, or an index into serialisations
    uint32_t *waiter;        // per step: the node that a wait is for
};

static bool allocate(struct drawing *drawing)
{
    const braid_schedule *schedule = drawing->schedule;
    size_t num_nodes = schedule->info.num_nodes;
    drawing->critical_next = braid_allocate_zeroed(num_nodes, sizeof(uint32_t));
    drawing->is_critical = braid_allocate_zeroed(num_nodes, sizeof(bool));
    drawing->lane_before = braid_allocate_zeroed(num_nodes, sizeof(uint32_t));
    drawing->lane_reason = braid_allocate_zeroed(num_nodes, sizeof(uint32_t));
    drawing->waiter = braid_allocate_zeroed(schedule->program.num_ops, sizeof(uint32_t));
    return drawing->critical_next && drawing->is_critical && drawing->lane_before &&
           drawing->lane_reason && drawing->waiter;
}

static void find_critical(struct drawing *drawing)
{
    const braid_schedule *schedule = drawing->schedule;
    for (uint32_t i = 0; i < schedule->info.num_nodes; i++)
        drawing->critical_next[i] = PLAN_NONE;
    for (size_t i = 0; i < schedule->num_critical; i++) {
        uint32_t node = schedule->critical[i];
        drawing->is_critical[node] = true;
        if (i + 1 < schedule->num_critical)
            drawing->critical_next[node] = schedule->critical[i + 1];
    }
}

static void find_lane_neighbours(struct drawing *drawing)
{
    const braid_schedule *schedule = drawing->schedule;
    for (uint32_t lane = 0; lane < schedule->info.num_lanes; lane++) {
        uint32_t before = PLAN_NONE;
        for (uint32_t i = schedule->lane_first[lane]; i < schedule->lane_first[lane + 1]; i++) {
            uint32_t node = schedule->lane_nodes[i];
            drawing->lane_before[node] = before;
            drawing->lane_reason[node] = PLAN_NONE;
            before = node;
        }
    }
}

// Where lane neighbours are all that a serialisation is between, their edge shows it.
static void find_lane_reasons(struct drawing *drawing)
{
    const braid_schedule *schedule = drawing->schedule;
    for (uint32_t i = 0; i < schedule->info.num_serialisations; i++) {
        const braid_serialisation *pair = &schedule->serialisations[i];
        uint32_t unit = plan_unit_of(schedule->graph, pair->second);
        uint32_t *delayed = &drawing->lane_reason[plan_first_member(schedule->graph, unit)];
        if (!schedule_is_delay(pair) && drawing->lane_before[pair->second] == pair->first)
            drawing->lane_reason[pair->second] = i;
        else if (schedule_is_delay(pair) && *delayed == PLAN_NONE)
            *delayed = NO_IDLE_LANE;
    }
}

// A wait is for the next node run on its lane: going backwards, the latest one seen.
static bool find_waiters(struct drawing *drawing)
{
    const braid_schedule *schedule = drawing->schedule;
    uint32_t *next_run = braid_allocate_zeroed(schedule->info.num_lanes, sizeof(*next_run));
    if (!next_run)
        return false;
    for (size_t i = schedule->program.num_ops; i-- > 0;) {
        const braid_step *step = &schedule->program.ops[i];
        if (program_has_node(step))
            next_run[step->lane] = step->node;
        else if (step->kind == BRAID_STEP_WAIT)
            drawing->waiter[i] = next_run[step->lane];
    }
    free(next_run);
    return true;
}

static void write_node(const struct drawing *drawing, uint32_t node, const char *indent)
{
    const braid_schedule *schedule = drawing->schedule;
    FILE *file = drawing->file;
    uint64_t start = schedule->start_ns[node], cost = schedule->cost_ns[node];
    fprintf(file, "%s%" PRIu32 " [label=\"", indent, node);
    braid_dot_write_text(file, braid_schedule_node_name(schedule, node));
    if (!schedule->unknown || !schedule->unknown[node]) {
        fputs("\\n", file);
        braid_dot_write_time(file, cost);
    }
    const char *changes = braid_plan_node_changes(schedule->graph, node);
    if (changes[0]) {
        fputs("\\n", file);
        braid_dot_write_text(file, changes);
    }
    fputs("\", tooltip=\"", file);
    braid_dot_write_time(file, start);
    fputs(" to ", file);
    braid_dot_write_time(file, start + cost);
    fprintf(file, "\", group=%" PRIu32 "%s%s];\n", schedule->lane_of[node],
            schedule_is_copy(schedule, node) ? ", fillcolor=\"#e9def5\"" : "",
            drawing->is_critical[node] ? ", " CRITICAL_LOOK : "");
}

// Writes an edge with the attributes it has anyway, made bold where the critical path takes it.
static void write_edge(struct drawing *drawing, uint32_t from, uint32_t to)
{
    fprintf(drawing->file, "    %" PRIu32 " -> %" PRIu32 " [", from, to);
    if (drawing->critical_next[from] == to) {
        fputs(CRITICAL_LOOK ", ", drawing->file);
        drawing->critical_next[from] = PLAN_NONE;
    }
}

static uint32_t island_of(const struct drawing *drawing, uint32_t node)
{
    const uint32_t *islands = drawing->schedule->division.island_of;
    return islands ? islands[node] : PLAN_NONE;
}

static void begin_island(const struct drawing *drawing, uint32_t node, const char *indent)
{
    uint32_t island = island_of(drawing, node);
    fprintf(drawing->file, "%ssubgraph cluster_island_%" PRIu32 "_%" PRIu32 " {\n", indent, island,
            node);
    fprintf(drawing->file,
            "%s    label=\"island %" PRIu32 "\"; labelloc=t; labeljust=l; style=rounded; "
            "color=\"#b07d2b\"; bgcolor=\"#fdf3dc\";\n",
            indent, island);
}

// Nodes of a bundle, some of which may be in an island, and others not.
static void write_bundle_nodes(const struct drawing *drawing, uint32_t unit)
{
    const struct plan_graph *graph = drawing->schedule->graph;
    uint32_t before = PLAN_NONE; // the island at hand
    for (uint32_t i = 0; i < plan_unit_size(graph, unit); i++) {
        uint32_t node = plan_unit_member(graph, unit, i), island = island_of(drawing, node);
        if (before != PLAN_NONE && island != before)
            fputs("            }\n", drawing->file);
        if (island != PLAN_NONE && island != before)
            begin_island(drawing, node, "            ");
        write_node(drawing, node, island == PLAN_NONE ? "            " : "                ");
        before = island;
    }
    if (before != PLAN_NONE)
        fputs("            }\n", drawing->file);
}

// The nodes of one unit, in a box if there are several.
static void write_unit(const struct drawing *drawing, uint32_t unit, bool shows_islands)
{
    const struct plan_graph *graph = drawing->schedule->graph;
    uint32_t size = plan_unit_size(graph, unit);
    if (size == 1) {
        uint32_t node = plan_unit_member(graph, unit, 0);
        const struct program *body = braid_program_find_body(&drawing->schedule->program, node);
        if (body)
            fprintf(drawing->file, "subgraph cluster_region_%" PRIu32 " {\n", node);
        write_node(drawing, node, "        ");
        if (body) {
            braid_dot_write_body(drawing->file, drawing->schedule, body);
            fputs("}\n", drawing->file);
        }
        return;
    }
    fprintf(drawing->file, "        subgraph cluster_bundle_%" PRIu32 " {\n", unit);
    fputs("            label=\"\"; style=\"rounded,dashed\"; color=\"#8896a8\"; bgcolor=white;\n",
          drawing->file);
    if (shows_islands)
        write_bundle_nodes(drawing, unit);
    for (uint32_t i = 0; i < size && !shows_islands; i++)
        write_node(drawing, plan_unit_member(graph, unit, i), "            ");
    fputs("        }\n", drawing->file);
}

// The island that a unit is in with all its nodes, or PLAN_NONE.
static uint32_t island_of_unit(const struct drawing *drawing, uint32_t unit)
{
    const struct plan_graph *graph = drawing->schedule->graph;
    uint32_t island = island_of(drawing, plan_unit_member(graph, unit, 0));
    for (uint32_t i = 1; i < plan_unit_size(graph, unit); i++) {
        if (island_of(drawing, plan_unit_member(graph, unit, i)) != island)
            return PLAN_NONE;
    }
    return island;
}

// Boxes may not overlap: an island that has a part of a bundle only has a box for that part.
static void write_lane_nodes(const struct drawing *drawing, uint32_t lane)
{
    const braid_schedule *schedule = drawing->schedule;
    uint32_t before = PLAN_NONE; // the island at hand
    for (uint32_t i = schedule->lane_first[lane]; i < schedule->lane_first[lane + 1];) {
        uint32_t unit = plan_unit_of(schedule->graph, schedule->lane_nodes[i]);
        uint32_t island = island_of_unit(drawing, unit);
        if (before != PLAN_NONE && island != before)
            fputs("        }\n", drawing->file);
        if (island != PLAN_NONE && island != before)
            begin_island(drawing, schedule->lane_nodes[i], "        ");
        write_unit(drawing, unit, island == PLAN_NONE);
        before = island;
        i += plan_unit_size(schedule->graph, unit);
    }
    if (before != PLAN_NONE)
        fputs("        }\n", drawing->file);
}

static void write_lane(const struct drawing *drawing, uint32_t lane)
{
    static const char *const backgrounds[] = { "#f3f6fb", "#fbf6ee", "#f1f8f2", "#f8f2fa" };
    fprintf(drawing->file, "    subgraph cluster_lane_%" PRIu32 " {\n", lane);
    fprintf(drawing->file,
            "        label=\"%s\"; labelloc=t; labeljust=l; style=rounded; "
            "color=\"#c5cedb\"; bgcolor=\"%s\";\n",
            braid_schedule_lane_text(drawing->schedule, lane).text, backgrounds[lane % 4]);
    write_lane_nodes(drawing, lane);
    fputs("    }\n", drawing->file);
}

// Dotted, with the name of the cause that keeps apart two nodes which the program leaves free.
static void write_reason(const struct drawing *drawing, uint32_t index)
{
    const braid_serialisation *pair = &drawing->schedule->serialisations[index];
    bool is_hint = pair->cause == BRAID_SERIALISED_BY_HINT;
    fputs("style=dotted, xlabel=\"", drawing->file);
    braid_dot_write_text(drawing->file, is_hint ? "lane hint" : pair->resource_name);
    fputs("\"", drawing->file);
}

static void write_lane_edges(struct drawing *drawing, uint32_t lane)
{
    const braid_schedule *schedule = drawing->schedule;
    for (uint32_t i = schedule->lane_first[lane] + 1; i < schedule->lane_first[lane + 1]; i++) {
        uint32_t node = schedule->lane_nodes[i], reason = drawing->lane_reason[node];
        write_edge(drawing, drawing->lane_before[node], node);
        if (reason == NO_IDLE_LANE) {
            fputs("style=dotted, ", drawing->file);
        } else if (reason != PLAN_NONE) {
            write_reason(drawing, reason);
            fputs(", ", drawing->file);
        }
        fputs("weight=20];\n", drawing->file);
    }
}

static void write_waits(struct drawing *drawing)
{
    const braid_schedule *schedule = drawing->schedule;
    for (size_t i = 0; i < schedule->program.num_ops; i++) {
        const braid_step *step = &schedule->program.ops[i];
        if (step->kind != BRAID_STEP_WAIT)
            continue;
        write_edge(drawing, step->node, drawing->waiter[i]);
        fprintf(drawing->file, "style=dashed, xlabel=\"p%" PRIu32 "\"];\n", step->position);
    }
}

// Those that no edge between lane neighbours shows.
static void write_serialisations(struct drawing *drawing)
{
    const braid_schedule *schedule = drawing->schedule;
    for (uint32_t i = 0; i < schedule->info.num_serialisations; i++) {
        const braid_serialisation *pair = &schedule->serialisations[i];
        if (schedule_is_delay(pair) || drawing->lane_reason[pair->second] == i)
            continue;
        write_edge(drawing, pair->first, pair->second);
        write_reason(drawing, i);
        fputs("];\n", drawing->file);
    }
}

// An edge of the critical path that the plan does not show, because other steps imply it.
static void write_rest_of_critical_path(struct drawing *drawing)
{
    const braid_schedule *schedule = drawing->schedule;
    for (size_t i = 0; i < schedule->num_critical; i++) {
        uint32_t node = schedule->critical[i];
        if (drawing->critical_next[node] == PLAN_NONE)
            continue;
        write_edge(drawing, node, drawing->critical_next[node]);
        fputs("constraint=false];\n", drawing->file);
    }
}

static void write_count(FILE *file, uint64_t num, const char *what)
{
    fprintf(file, "%" PRIu64 " %s%s", num, what, num == 1 ? "" : "s");
}

static void write_summary(const struct drawing *drawing)
{
    const braid_schedule_info *info = &drawing->schedule->info;
    FILE *file = drawing->file;
    fputs("    graph [rankdir=LR, labelloc=b, label=\"", file);
    write_count(file, info->num_nodes, "node");
    fputs(" on ", file);
    write_count(file, info->num_lanes, "lane");
    fputs(", ", file);
    write_count(file, info->num_waits, "wait");
    fputs(" for ", file);
    write_count(file, info->num_records, "record");
    fputs("; makespan ", file);
    braid_dot_write_time(file, info->makespan_ns);
    fputs(", bound ", file);
    braid_dot_write_time(file, info->bound_ns);
    if (info->num_places > 1) {
        fprintf(file, "; %" PRIu32 " devices, ", info->num_places);
        write_count(file, info->copy_bytes, "byte");
        fprintf(file, " in %" PRIu32 " copies between them", info->num_copies);
    }
    if (info->num_islands) {
        fputs("; ", file);
        write_count(file, info->num_islands, "island");
        fputs(" of ", file);
        write_count(file, info->num_island_nodes, "node");
    }
    if (info->num_left_out)
        fprintf(file, "; %" PRIu32 " left out", info->num_left_out);
    if (info->num_guessed) {
        fputs("; ", file);
        write_count(file, info->num_guessed, "cost");
        fputs(" guessed", file);
    }
    fputs("\"];\n", file);
}

// In no lane.
static void write_left_out(const struct drawing *drawing)
{
    const braid_schedule *schedule = drawing->schedule;
    for (uint32_t i = 0; i < schedule->info.num_nodes && schedule->info.num_left_out; i++) {
        if (!schedule_left_out(schedule, i))
            continue;
        fprintf(drawing->file, "    %" PRIu32 " [label=\"", i);
        braid_dot_write_text(drawing->file, braid_schedule_node_name(schedule, i));
        fputs("\", tooltip=\"left out\"" DOT_LEFT_OUT "];\n", drawing->file);
    }
}

static void write_all(struct drawing *drawing)
{
    uint32_t num_lanes = drawing->schedule->info.num_lanes;
    braid_dot_begin(drawing->file, "schedule", drawing->schedule->info.num_nodes);
    write_summary(drawing);
    for (uint32_t lane = 0; lane < num_lanes; lane++)
        write_lane(drawing, lane);
    write_left_out(drawing);
    for (uint32_t lane = 0; lane < num_lanes; lane++)
        write_lane_edges(drawing, lane);
    write_waits(drawing);
    write_serialisations(drawing);
    write_rest_of_critical_path(drawing);
}

braid_status braid_schedule_write_dot(const braid_schedule *schedule, FILE *file)
{
    if (!schedule || !file)
        return braid_error_null("braid_schedule_write_dot", schedule ? "file" : "schedule");
    struct drawing drawing = { .schedule = schedule, .file = file };
    braid_status status;
    if (allocate(&drawing) && find_waiters(&drawing)) {
        find_critical(&drawing);
        find_lane_neighbours(&drawing);
        find_lane_reasons(&drawing);
        write_all(&drawing);
        status = braid_dot_end(file);
    } else {
        status = braid_error_no_memory("the drawing of a schedule");
    }
    free(drawing.waiter);
    free(drawing.lane_reason);
    free(drawing.lane_before);
    free(drawing.is_critical);
    free(drawing.critical_next);
    return status;
}
