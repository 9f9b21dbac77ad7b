// SPDX-License-Identifier: Apache-2.0
// The parts of explanations: of the whole plan, of one node, and of two.
#ifndef BRAID_REPORT_EXPLAIN_H
#define BRAID_REPORT_EXPLAIN_H

#include "plan/plan_limit.h"
#include "plan/plan_text.h"
#include "plan/schedule.h"

// Why no plan has a node.
#define EXPLAIN_LEFT_OUT "left out: no output of the graph needs its results"

// Writes the node's island, or why it is in none, its values that parameters change, and the bytes
// that it fetches for the next kernel.
void braid_explain_node(struct plan_text *text, const struct braid_schedule *schedule,
                        uint32_t node);

// Writes "(written by listgen of p2g, cleared by clear_list of g2p)": how the units at the two ends
// of a link use its resource.
void braid_explain_resource(struct plan_text *text, const struct plan_graph *plan,
                            const struct graph_link *link);

// Writes how lanes and waits order two nodes, the first of which was issued first, that the graph
// leaves free. False when memory runs out.
bool braid_explain_lanes(struct plan_text *text, const struct braid_schedule *schedule,
                         uint32_t first, uint32_t second);

#endif
