// SPDX-License-Identifier: Apache-2.0
// A rank's plan as told to the others: its operations, and the order of its nodes.
#ifndef BRAID_RANKS_RANK_PLAN_H
#define BRAID_RANKS_RANK_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "ranks/ranks.h"

// Vertices are the rank's nodes. Ranks are numbered as in the job, in every communicator.
struct rank_plan_operation {
    uint64_t count, key;                    // as in rank_description
    uint32_t number;                        // its communicator's
    uint32_t operation, element, reduction; // as in braid_communication
    uint32_t peer, tag;
    uint32_t own_tag;     // the same on both ends; `tag` may be left out
    uint32_t post, await; // vertices
    uint32_t name;        // in the text
};

struct rank_plan_communicator {
    uint32_t number, name;
    uint32_t first_member, num_members;
    uint32_t is_linked; // its ranks are connected on their devices
};

struct rank_plan_edge {
    uint32_t from, to;
    uint32_t is_lane; // the plan's, not the graph's: the later is behind the earlier on its lane
};

// As it is read. As bytes: this, with any pointers, then operations, communicators, members, edges,
// texts and a zero. All ranks have one byte order, and one version of Braid.
struct rank_plan {
    uint32_t magic;
    uint32_t status; // braid_status: its exec could not be made, and the text begins with why
    uint32_t may_plan_again;
    uint32_t introduces; // it has communicators alone, which are to be connected
    uint32_t engine;     // enum rank_engine_kind
    uint32_t num_vertices, num_operations, num_communicators, num_members, num_edges;
    const struct rank_plan_operation *operations;
    const struct rank_plan_communicator *communicators;
    const uint32_t *members;
    const struct rank_plan_edge *edges;
    const char *text;
};

// As one rank makes it.
struct rank_plan_parts {
    struct rank_plan head;                                        // without what the arrays tell
    struct array operations, communicators, members, edges, text; // members: uint32_t
};

// Where the text begins in the plan's; UINT32_MAX: no memory.
uint32_t braid_rank_plan_add_text(struct rank_plan_parts *parts, const char *text);
bool braid_rank_plan_add_communicator(struct rank_plan_parts *parts,
                                      const braid_communicator *communicator);
// NULL: no memory. To be freed.
void *braid_rank_plan_write(const struct rank_plan_parts *parts, uint64_t *out_num_bytes);
void braid_rank_plan_finish(struct rank_plan_parts *parts);

// Bytes lie as malloc would align them. False: they are of another version.
bool braid_rank_plan_read(const void *bytes, uint64_t num_bytes, struct rank_plan *out_plan);
// NULL: the rank told of no communicator with this number.
const struct rank_plan_communicator *braid_rank_plan_find_communicator(const struct rank_plan *plan,
                                                                       uint32_t number);

// rank_judge.c: whether the plans of all ranks can run together.
void braid_rank_judge(const void *const *bytes, const uint64_t *num_bytes, uint32_t num,
                      struct rank_verdict *out_verdict);
// Whether all ranks are about to connect the same communicators.
void braid_rank_judge_links(const void *const *bytes, const uint64_t *num_bytes, uint32_t num,
                            struct rank_verdict *out_verdict);

#endif
