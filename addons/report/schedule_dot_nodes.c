// SPDX-License-Identifier: Apache-2.0
// Draws the nodes and edges of a frame, and the inside of a region as a small frame.
#include "report/schedule_dot_nodes.h"

#include <inttypes.h>

#include "report/dot.h"

#define CRITICAL_LOOK "color=\"#c0392b\", penwidth=2.6"

void braid_dot_begin_edge(struct drawing *drawing, uint32_t from, uint32_t to)
{
    fprintf(drawing->file, "    %" PRIu32 " -> %" PRIu32 " [", from, to);
    if (drawing->critical_next[from] == to) {
        fputs(CRITICAL_LOOK ", ", drawing->file);
        drawing->critical_next[from] = PLAN_NONE;
    }
}

void braid_dot_write_reason(const struct drawing *drawing, uint32_t index)
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
    braid_dot_begin_edge(drawing, before, node);
    if (reason == NO_IDLE_LANE) {
        fputs("style=dotted, ", drawing->file);
    } else if (reason != PLAN_NONE) {
        braid_dot_write_reason(drawing, reason);
        fputs(", ", drawing->file);
    }
    fputs("weight=20];\n", drawing->file);
}

// A wait is for the lane's next node.
void braid_dot_write_program_edges(struct drawing *drawing, const struct program *program)
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
                braid_dot_begin_edge(drawing, wait->node, op->node);
                fprintf(drawing->file, "style=dashed, xlabel=\"p%" PRIu32 "\"];\n", wait->position);
                num_waits--;
            }
        }
    }
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
                braid_dot_write_planned_node(drawing, op->node, body);
        }
        fputs("    }\n", drawing->file);
    }
    braid_dot_write_program_edges(drawing, body);
}

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
    char label[64];
    snprintf(label, sizeof(label), "%s", is_branch ? "branch" : "loop");
    if (body->most != UINT64_MAX && !is_branch)
        snprintf(label, sizeof(label), "loop, %s%" PRIu64 " time%s",
                 body->has_condition ? "at most " : "", body->most, body->most == 1 ? "" : "s");
    braid_dot_begin_box(drawing->file, label, DOT_REGION_LOOK, "region_%" PRIu32, body->node);
}

void braid_dot_write_planned_node(struct drawing *drawing, uint32_t node,
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
