// SPDX-License-Identifier: Apache-2.0
// The plans of two ranks that make an all-reduce, and then rank 0 sends to rank 1; as bytes.
#ifndef BRAID_TESTS_TWO_PLANS_H
#define BRAID_TESTS_TWO_PLANS_H

#include <string.h>

#include "rank/rank_plan.h"

enum {
    PLAN_OPERATIONS = 2,
    PLAN_COMMUNICATORS = 2,
    PLAN_MEMBERS = 4,
    PLAN_EDGES = 3,
    PLAN_VERTICES = 4,
    PLAN_COUNT = 8
};

static inline bool plan_add_communicators(struct rank_plan_parts *parts)
{
    static const char *const names[PLAN_COMMUNICATORS] = { "world", "other" };
    for (uint32_t i = 0; i < PLAN_COMMUNICATORS; i++) {
        uint32_t members[2] = { 0, 1 };
        braid_communicator communicator = { .number = i, .num = 2, .members = members };
        strcpy(communicator.name, names[i]);
        if (!braid_rank_plan_add_communicator(parts, &communicator))
            return false;
    }
    return true;
}

static inline bool plan_add_operations(struct rank_plan_parts *parts, uint32_t rank)
{
    const uint32_t kinds[] = { BRAID_RANK_ALL_REDUCE, rank ? BRAID_RANK_RECEIVE : BRAID_RANK_SEND };
    struct rank_plan_operation *operations =
        braid_array_append(&parts->operations, PLAN_OPERATIONS, sizeof(*operations));
    struct rank_plan_edge *edges = braid_array_append(&parts->edges, PLAN_EDGES, sizeof(*edges));
    uint32_t name = braid_rank_plan_add_text(parts, "operation");
    if (!operations || !edges || name == UINT32_MAX)
        return false;
    for (uint32_t i = 0; i < PLAN_OPERATIONS; i++)
        operations[i] = (struct rank_plan_operation){ .count = PLAN_COUNT,
                                                      .operation = kinds[i],
                                                      .element = BRAID_ELEMENT_DOUBLE,
                                                      .peer = i ? 1 - rank : 0,
                                                      .post = 2 * i,
                                                      .await = 2 * i + 1,
                                                      .name = name };
    for (uint32_t i = 0; i < PLAN_EDGES; i++)
        edges[i] = (struct rank_plan_edge){ .from = i, .to = i + 1, .is_lane = i == 1 };
    return true;
}

// To be freed; NULL: no memory.
static inline unsigned char *plan_make(uint32_t rank, uint64_t *out_num_bytes)
{
    struct rank_plan_parts parts = { .engine = RANK_ENGINE_HOST, .num_vertices = PLAN_VERTICES };
    unsigned char *bytes = NULL;
    if (plan_add_communicators(&parts) && plan_add_operations(&parts, rank))
        bytes = braid_rank_plan_write(&parts, out_num_bytes);
    braid_rank_plan_finish(&parts);
    return bytes;
}

#endif
