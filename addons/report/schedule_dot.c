// SPDX-License-Identifier: Apache-2.0
// Draws a schedule: a box a lane, waits between lanes, the critical path, forced serialisations.
#include <inttypes.h>
#include <stdio.h>

#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "plan/schedule.h"
#include "report/dot.h"

#define NO_IDLE_LANE (PLAN_NONE - 1)

struct drawing {
    const braid_schedule *schedule;
    FILE *file;
    uint32_t *critical_next; // per node: the next on the critical path; PLAN_NONE if there is none
                             // or its edge is drawn
    bool *is_critical;       // per node
    uint32_t *lane_before;   // per node: the one before it on its lane, PLAN_NONE for the first
    uint32_t *lane_reason;   // per node: why it comes after that one, if nothing else orders them:
                             // PLAN_NONE, NO_IDLE_LANE, or an index into serialisations
};

// ---- draws the nodes and edges of a frame, and the inside of a region as a small frame ----

#define CRITICAL_LOOK "color=\"#c0392b\", penwidth=2.6"

// Writes an edge up to the attributes that it has anyway, bold where the critical path takes it.
static void dot_begin_edge(struct drawing *drawing, uint32_t from, uint32_t to)
{
    fprintf(drawing->file, "    %" PRIu32 " -> %" PRIu32 " [", from, to);
    if (drawing->critical_next[from] == to) {
        fputs(CRITICAL_LOOK ", ", drawing->file);
        drawing->critical_next[from] = PLAN_NONE;
    }
}

// Dotted, with the name of the cause that keeps apart two nodes which the program leaves free.
static void dot_write_reason(const struct drawing *drawing, uint32_t index)
{
    const braid_serialisation *pair = &drawing->schedule->serialisations[index];
    bool is_hint = pair->cause == BRAID_SERIALISED_BY_HINT;
    fputs("style=dotted, xlabel=\"", drawing->file);
    braid_dot_write_text(drawing->file, is_hint ? "lane hint" : pair->resource_name);
    fputs("\"", drawing->file);
}

static void write_lane_edge(struct drawing *drawing, uint32_t before, uint32_t node)
{
    uint32_t reason = drawing->lane_reason[node];
    dot_begin_edge(drawing, before, node);
    if (reason == NO_IDLE_LANE) {
        fputs("style=dotted, ", drawing->file);
    } else if (reason != PLAN_NONE) {
        dot_write_reason(drawing, reason);
        fputs(", ", drawing->file);
    }
    fputs("weight=20];\n", drawing->file);
}

// The edges between lane neighbours, and the waits.
// A wait is for the lane's next node.
static void dot_write_program_edges(struct drawing *drawing, const struct program *program)
{
    for (uint32_t lane = 0; lane < program->num_lanes; lane++) {
        uint32_t before = PLAN_NONE, num_waits = 0;
        for (uint32_t i = 0; i < program->lanes[lane].num_ops; i++) {
            const braid_step *op = program_lane_op(program, lane, i);
            num_waits += op->kind == BRAID_STEP_WAIT;
            if (!program_has_node(op))
                continue;
            if (before != PLAN_NONE)
                write_lane_edge(drawing, before, op->node);
            before = op->node;
            for (uint32_t k = i; num_waits; k--) {
                const braid_step *wait = program_lane_op(program, lane, k);
                if (wait->kind != BRAID_STEP_WAIT)
                    continue;
                dot_begin_edge(drawing, wait->node, op->node);
                fprintf(drawing->file, "style=dashed, xlabel=\"p%" PRIu32 "\"];\n", wait->position);
                num_waits--;
            }
        }
    }
}

static void write_lanes(struct drawing *drawing, const struct program *body);

static void write_arm(struct drawing *drawing, const struct program *arm)
{
    const char *name = arm->is_else ? "else" : "if";
    braid_dot_begin_box(drawing->file, name, DOT_REGION_LOOK, "region_%" PRIu32 "_%s", arm->node,
                        name);
    write_lanes(drawing, arm);
    fputs("    }\n", drawing->file);
}

static void begin_body(struct drawing *drawing, const struct program *body, bool is_branch)
{
    char label[96];
    snprintf(label, sizeof(label), "loop, %s", braid_dot_iterations(body).text);
    braid_dot_begin_box(drawing->file, is_branch ? "branch" : label, DOT_REGION_LOOK,
                        "region_%" PRIu32, body->node);
}

// A node of the program. One that has a body stands in a box with the lanes of the body, their
// nodes and the edges among them.
static void dot_write_planned_node(struct drawing *drawing, uint32_t node,
                                   const struct program *program)
{
    const braid_schedule *schedule = drawing->schedule;
    FILE *file = drawing->file;
    const struct program *body = braid_program_find_body(program, node);
    bool is_branch = body && schedule->program.kinds[node] == WORK_BRANCH;
    uint64_t start = schedule->start_ns[node], cost = schedule->cost_ns[node];
    bool is_known = !schedule->unknown || !schedule->unknown[node];
    if (body)
        begin_body(drawing, body, is_branch);
    fprintf(file, "        %" PRIu32 " [", node);
    braid_dot_write_label(file, braid_schedule_node_name(schedule, node), is_known ? &cost : NULL,
                          braid_plan_node_changes(schedule->graph, node));
    if (program == &schedule->program)
        fprintf(file, ", tooltip=\"%s to %s\", group=%" PRIu32, braid_dot_time(start).text,
                braid_dot_time(start + cost).text, schedule->lane_of[node]);
    fprintf(file, "%s%s];\n", schedule_is_copy(schedule, node) ? ", fillcolor=\"#e9def5\"" : "",
            drawing->is_critical[node] ? ", " CRITICAL_LOOK : "");
    if (!body)
        return;
    if (!is_branch)
        write_lanes(drawing, body);
    for (uint32_t i = 0; is_branch && i < 1u + body->has_else; i++)
        write_arm(drawing, &body[i]);
    fputs("    }\n", file);
}

static void write_lanes(struct drawing *drawing, const struct program *body)
{
    for (uint32_t lane = 0; lane < body->num_lanes; lane++) {
        char label[32];
        snprintf(label, sizeof(label), "lane %" PRIu32, lane);
        braid_dot_begin_box(drawing->file, label, "style=rounded; color=\"#c5cedb\"",
                            "region_%" PRIu32 "_%slane_%" PRIu32, body->node,
                            body->is_else ? "else_" : "", lane);
        for (size_t i = 0; i < body->lanes[lane].num_ops; i++) {
            const braid_step *op = program_lane_op(body, lane, i);
            if (program_has_node(op))
                dot_write_planned_node(drawing, op->node, body);
        }
        fputs("    }\n", drawing->file);
    }
    dot_write_program_edges(drawing, body);
}

// ---- the drawing ----

static bool allocate(struct drawing *drawing)
{
    const braid_schedule *schedule = drawing->schedule;
    size_t num_nodes = schedule->info.num_nodes;
    drawing->critical_next = braid_allocate_zeroed(num_nodes, sizeof(uint32_t));
    drawing->is_critical = braid_allocate_zeroed(num_nodes, sizeof(bool));
    drawing->lane_before = braid_allocate_zeroed(num_nodes, sizeof(uint32_t));
    drawing->lane_reason = braid_allocate_zeroed(num_nodes, sizeof(uint32_t));
    return drawing->critical_next && drawing->is_critical && drawing->lane_before &&
           drawing->lane_reason;
}

static void find_critical(struct drawing *drawing)
{
    const braid_schedule *schedule = drawing->schedule;
    for (uint32_t i = 0; i < schedule->info.num_nodes; i++)
        drawing->critical_next[i] = drawing->lane_reason[i] = PLAN_NONE;
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

static uint32_t island_of(struct drawing *drawing, uint32_t node)
{
    const uint32_t *islands = drawing->schedule->division.island_of;
    return islands ? islands[node] : PLAN_NONE;
}

static void begin_island(struct drawing *drawing, uint32_t node)
{
    char label[32];
    uint32_t island = island_of(drawing, node);
    snprintf(label, sizeof(label), "island %" PRIu32, island);
    braid_dot_begin_box(drawing->file, label,
                        "labelloc=t; labeljust=l; style=rounded; color=\"#b07d2b\"; "
                        "bgcolor=\"#fdf3dc\"",
                        "island_%" PRIu32 "_%" PRIu32, island, node);
}

// The island that a unit is in with all its nodes, or PLAN_NONE.
static uint32_t island_of_unit(struct drawing *drawing, uint32_t unit)
{
    const struct plan_graph *graph = drawing->schedule->graph;
    uint32_t island = island_of(drawing, plan_unit_member(graph, unit, 0));
    for (uint32_t i = 1; i < plan_unit_size(graph, unit); i++) {
        if (island_of(drawing, plan_unit_member(graph, unit, i)) != island)
            return PLAN_NONE;
    }
    return island;
}

// Around a node, from the outside: PLAN_NONE if there is none.
enum box { WHOLE_ISLAND, BUNDLE, ISLAND_PART, NUM_BOXES };

static void change_boxes(struct drawing *drawing, uint32_t *open, const uint32_t *wanted,
                         uint32_t node)
{
    uint32_t same = 0;
    while (same < NUM_BOXES && open[same] == wanted[same])
        same++;
    for (uint32_t box = NUM_BOXES; box-- > same;) {
        if (open[box] != PLAN_NONE)
            fputs("    }\n", drawing->file);
    }
    for (uint32_t box = same; box < NUM_BOXES; box++) {
        open[box] = wanted[box];
        if (open[box] != PLAN_NONE && box == BUNDLE)
            braid_dot_begin_box(drawing->file, "",
                                "style=\"rounded,dashed\"; color=\"#8896a8\"; bgcolor=white",
                                "bundle_%" PRIu32, open[box]);
        else if (open[box] != PLAN_NONE)
            begin_island(drawing, node);
    }
}

// Boxes may not overlap: an island that has a part of a bundle only has a box for that part.
static void write_lane_nodes(struct drawing *drawing, uint32_t lane)
{
    const braid_schedule *schedule = drawing->schedule;
    static const uint32_t none[NUM_BOXES] = { PLAN_NONE, PLAN_NONE, PLAN_NONE };
    uint32_t open[NUM_BOXES] = { PLAN_NONE, PLAN_NONE, PLAN_NONE };
    for (uint32_t i = schedule->lane_first[lane]; i < schedule->lane_first[lane + 1]; i++) {
        uint32_t node = schedule->lane_nodes[i], unit = plan_unit_of(schedule->graph, node);
        uint32_t island = island_of_unit(drawing, unit);
        const uint32_t wanted[NUM_BOXES] = {
            island,
            plan_unit_size(schedule->graph, unit) > 1 ? unit : PLAN_NONE,
            island == PLAN_NONE ? island_of(drawing, node) : PLAN_NONE,
        };
        change_boxes(drawing, open, wanted, node);
        dot_write_planned_node(drawing, node, &schedule->program);
    }
    change_boxes(drawing, open, none, PLAN_NONE);
}

static void write_lane(struct drawing *drawing, uint32_t lane)
{
    static const char *const backgrounds[] = { "#f3f6fb", "#fbf6ee", "#f1f8f2", "#f8f2fa" };
    char look[128];
    snprintf(look, sizeof(look),
             "labelloc=t; labeljust=l; style=rounded; color=\"#c5cedb\"; bgcolor=\"%s\"",
             backgrounds[lane % 4]);
    braid_dot_begin_box(drawing->file, braid_schedule_lane_text(drawing->schedule, lane).text, look,
                        "lane_%" PRIu32, lane);
    write_lane_nodes(drawing, lane);
    fputs("    }\n", drawing->file);
}

// Draws the serialisations that no edge between lane neighbours shows.
static void write_serialisations(struct drawing *drawing)
{
    const braid_schedule *schedule = drawing->schedule;
    for (uint32_t i = 0; i < schedule->info.num_serialisations; i++) {
        const braid_serialisation *pair = &schedule->serialisations[i];
        if (schedule_is_delay(pair) || drawing->lane_reason[pair->second] == i)
            continue;
        dot_begin_edge(drawing, pair->first, pair->second);
        dot_write_reason(drawing, i);
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
        dot_begin_edge(drawing, node, drawing->critical_next[node]);
        fputs("constraint=false];\n", drawing->file);
    }
}

static void write_summary(struct drawing *drawing)
{
    const braid_schedule_info *info = &drawing->schedule->info;
    FILE *file = drawing->file;
    fprintf(file,
            "    graph [rankdir=LR, labelloc=b, label=\"%s on %s, %s for %s; makespan %s, bound %s",
            braid_dot_count(info->num_nodes, "node").text,
            braid_dot_count(info->num_lanes, "lane").text,
            braid_dot_count(info->num_waits, "wait").text,
            braid_dot_count(info->num_records, "record").text,
            braid_dot_time(info->makespan_ns).text, braid_dot_time(info->bound_ns).text);
    if (info->num_places > 1)
        fprintf(file, "; %" PRIu32 " devices, %s in %" PRIu32 " copies between them",
                info->num_places, braid_dot_count(info->copy_bytes, "byte").text, info->num_copies);
    if (info->num_islands)
        fprintf(file, "; %s of %s", braid_dot_count(info->num_islands, "island").text,
                braid_dot_count(info->num_island_nodes, "node").text);
    if (info->num_left_out)
        fprintf(file, "; %" PRIu32 " left out", info->num_left_out);
    if (info->num_guessed)
        fprintf(file, "; %s guessed", braid_dot_count(info->num_guessed, "cost").text);
    fputs("\"];\n", file);
}

// In no lane.
static void write_left_out(struct drawing *drawing)
{
    const braid_schedule *schedule = drawing->schedule;
    for (uint32_t i = 0; i < schedule->info.num_nodes && schedule->info.num_left_out; i++) {
        if (!schedule_left_out(schedule, i))
            continue;
        fprintf(drawing->file, "    %" PRIu32 " [", i);
        braid_dot_write_label(drawing->file, braid_schedule_node_name(schedule, i), NULL, NULL);
        fputs(", tooltip=\"left out\"" DOT_LEFT_OUT "];\n", drawing->file);
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
    dot_write_program_edges(drawing, &drawing->schedule->program);
    write_serialisations(drawing);
    write_rest_of_critical_path(drawing);
}

braid_status braid_schedule_dot_write(const braid_schedule *schedule, FILE *file)
{
    struct drawing drawing = { .schedule = schedule, .file = file };
    braid_status status;
    if (allocate(&drawing)) {
        find_critical(&drawing);
        find_lane_neighbours(&drawing);
        find_lane_reasons(&drawing);
        write_all(&drawing);
        status = braid_dot_end(file);
    } else {
        status = braid_error_no_memory("the drawing of a schedule");
    }
    braid_free(drawing.lane_reason);
    braid_free(drawing.lane_before);
    braid_free(drawing.is_critical);
    braid_free(drawing.critical_next);
    return status;
}
