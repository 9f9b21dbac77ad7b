// SPDX-License-Identifier: Apache-2.0
// Draws the inside of a region as a small frame.
#include "plan/schedule_dot_regions.h"

#include <inttypes.h>

#include "base/dot.h"

static void write_node(FILE *file, const braid_schedule *schedule, const struct program *body,
                       uint32_t node)
{
    const struct program *inner = braid_program_find_body(body, node);
    if (inner)
        fprintf(file, "subgraph cluster_region_%" PRIu32 " {\n", node);
    fprintf(file, "%" PRIu32 " [label=\"", node);
    braid_dot_write_text(file, braid_schedule_node_name(schedule, node));
    fprintf(file, "\\n");
    braid_dot_write_time(file, schedule->cost_ns[node]);
    fputs("\"];\n", file);
    if (inner) {
        braid_dot_write_body(file, schedule, inner);
        fputs("}\n", file);
    }
}

// A wait is for the lane's next node, and nodes of a lane follow each other.
static void write_lane_edges(FILE *file, const struct program *body, uint32_t lane)
{
    uint32_t before = PLAN_NONE;
    for (size_t i = 0; i < body->lanes[lane].num_ops; i++) {
        const braid_step *op = program_lane_op(body, lane, i);
        if (!program_has_node(op))
            continue;
        if (before != PLAN_NONE)
            fprintf(file, "%" PRIu32 " -> %" PRIu32 " [weight=20];\n", before, op->node);
        before = op->node;
        for (size_t k = i; k-- > 0;) {
            const braid_step *wait = program_lane_op(body, lane, k);
            if (wait->kind != BRAID_STEP_WAIT)
                break;
            fprintf(file, "%" PRIu32 " -> %" PRIu32 " [style=dashed, xlabel=\"p%" PRIu32 "\"];\n",
                    wait->node, op->node, wait->position);
        }
    }
}

static void write_lanes(FILE *file, const braid_schedule *schedule, const struct program *body)
{
    for (uint32_t lane = 0; lane < body->num_lanes; lane++) {
        fprintf(file, "subgraph cluster_region_%" PRIu32 "_%slane_%" PRIu32 " {\n", body->node,
                body->is_else ? "else_" : "", lane);
        fprintf(file, "label=\"lane %" PRIu32 "\"; style=rounded; color=\"#c5cedb\";\n", lane);
        for (size_t i = 0; i < body->lanes[lane].num_ops; i++) {
            const braid_step *op = program_lane_op(body, lane, i);
            if (program_has_node(op))
                write_node(file, schedule, body, op->node);
        }
        fputs("}\n", file);
    }
    for (uint32_t lane = 0; lane < body->num_lanes; lane++)
        write_lane_edges(file, body, lane);
}

static void write_arm(FILE *file, const braid_schedule *schedule, const struct program *arm)
{
    const char *name = arm->is_else ? "else" : "if";
    fprintf(file, "subgraph cluster_region_%" PRIu32 "_%s {\n", arm->node, name);
    fprintf(file, "label=\"%s\"; style=rounded; color=\"#5b7fb0\";\n", name);
    write_lanes(file, schedule, arm);
    fputs("}\n", file);
}

void braid_dot_write_body(FILE *file, const braid_schedule *schedule, const struct program *body)
{
    bool is_branch = schedule->program.kinds[body->node] == WORK_BRANCH;
    fprintf(file, "label=\"%s", is_branch ? "branch" : "loop");
    if (body->most != UINT64_MAX && !is_branch)
        fprintf(file, ", %s%" PRIu64 " time%s", body->has_condition ? "at most " : "", body->most,
                body->most == 1 ? "" : "s");
    fputs("\"; style=rounded; color=\"#5b7fb0\";\n", file);
    if (!is_branch)
        write_lanes(file, schedule, body);
    for (uint32_t i = 0; is_branch && i < 1u + body->has_else; i++)
        write_arm(file, schedule, &body[i]);
}
