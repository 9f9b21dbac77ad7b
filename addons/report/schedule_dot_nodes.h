// SPDX-License-Identifier: Apache-2.0
// The nodes and edges of a drawing, of a frame as of the inside of a region.
#ifndef BRAID_REPORT_SCHEDULE_DOT_NODES_H
#define BRAID_REPORT_SCHEDULE_DOT_NODES_H

#include <stdio.h>

#include "plan/schedule.h"

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

// A node of the program. One that has a body stands in a box with the lanes of the body, their
// nodes and the edges among them.
void braid_dot_write_planned_node(struct drawing *drawing, uint32_t node,
                                  const struct program *program);

// The edges between lane neighbours, and the waits.
void braid_dot_write_program_edges(struct drawing *drawing, const struct program *program);

// Writes an edge up to the attributes that it has anyway, bold where the critical path takes it.
void braid_dot_begin_edge(struct drawing *drawing, uint32_t from, uint32_t to);

// Dotted, with the name of the cause that keeps apart two nodes which the program leaves free.
void braid_dot_write_reason(const struct drawing *drawing, uint32_t index);

#endif
