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

#define RANK_PLAN_MAGIC 0x62726434u // and version

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

// rank_match.c: compares orders, and finds which operations belong together. It writes edges
// between vertices of all ranks and further vertices behind them. Those of rank r begin at
// first_vertex[r].
struct rank_match {
    uint32_t *first_vertex; // one a rank, and their end
    uint32_t num_vertices;
    struct array edges; // struct rank_plan_edge
};
// Verdict: where orders differ, both are told. Errors: BRAID_NO_MEMORY.
bool braid_rank_match(const struct rank_plan *plans, uint32_t num, struct rank_match *out_match,
                      struct rank_verdict *out_verdict);
void braid_rank_match_finish(struct rank_match *match);

// rank_cycle.c: whether ranks wait for each other in a circle, by their graphs or also by lanes,
// and such a circle in words. False: no memory.
bool braid_rank_find_cycle(const struct rank_plan *plans, uint32_t num,
                           const struct rank_match *match, bool with_lanes, char *text, size_t size,
                           bool *out_found);

// rank_judge.c: writes a verdict; false.
__attribute__((format(printf, 3, 4))) bool
braid_rank_refuse(struct rank_verdict *verdict, uint32_t status, const char *format, ...);
bool braid_rank_has_no_memory(struct rank_verdict *verdict);
void braid_rank_judge(const void *const *bytes, const uint64_t *num_bytes, uint32_t num,
                      struct rank_verdict *out_verdict);
// Whether all ranks are about to connect the same communicators.
void braid_rank_judge_links(const void *const *bytes, const uint64_t *num_bytes, uint32_t num,
                            struct rank_verdict *out_verdict);

#endif
