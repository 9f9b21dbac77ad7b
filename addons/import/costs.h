// SPDX-License-Identifier: Apache-2.0
// The cost of nodes without proof: how long the longest path could be with one.
#ifndef BRAID_IMPORT_COSTS_H
#define BRAID_IMPORT_COSTS_H

#include "import/orders.h"

// By node, for each that is not proven: its group, from 1, or COST_NO_GROUP. 0: it is proven.
enum { COST_NO_GROUP = UINT16_MAX };

// Counts the nodes on a longest path of kept orders if those of one group were proven and shared no
// memory. out_longest has one number for each group, and at 0 one for all unproven nodes. False:
// memory ran out. *out_is_cut: it would take more than `most_steps`, and nothing is found.
bool braid_import_find_costs(const struct import_order *order, const uint16_t *group_of,
                             uint32_t num_groups, uint64_t most_steps, uint32_t *out_longest,
                             bool *out_is_cut);

#endif
