// SPDX-License-Identifier: Apache-2.0
// Counts waits from the definition, with a matrix of who reaches whom.
#include "planner/minimum.h"

#include <stdbool.h>
#include <stdlib.h>

struct relation {
    uint32_t num, words;
    uint64_t *direct, *reach; // a row of bits a node: its successors, all that it reaches
    uint32_t *lane_of, *issued;
};

static void set_bit(uint64_t *matrix, const struct relation *relation, uint32_t row, uint32_t bit)
{
    matrix[(size_t)row * relation->words + bit / 64] |= UINT64_C(1) << (bit % 64);
}

static bool has_bit(const uint64_t *matrix, const struct relation *relation, uint32_t row,
                    uint32_t bit)
{
    return matrix[(size_t)row * relation->words + bit / 64] >> (bit % 64) & 1;
}

// Lanes as chains of edges, and the order in which every edge goes forward.
static void read_steps(struct relation *relation, const braid_schedule *schedule)
{
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    const braid_step *steps = info.steps;
    uint32_t *tails = malloc(((size_t)info.num_lanes + 1) * sizeof(*tails));
    for (uint32_t i = 0; i < info.num_lanes; i++)
        tails[i] = UINT32_MAX;
    uint32_t num = 0;
    for (size_t i = 0; i < info.num_steps; i++) {
        if (steps[i].kind != BRAID_STEP_RUN)
            continue;
        uint32_t *tail = &tails[steps[i].lane];
        relation->lane_of[steps[i].node] = steps[i].lane;
        relation->issued[num++] = steps[i].node;
        if (*tail != UINT32_MAX)
            set_bit(relation->direct, relation, *tail, steps[i].node);
        *tail = steps[i].node;
    }
    free(tails);
}

static void close_transitively(struct relation *relation)
{
    for (uint32_t i = relation->num; i-- > 0;) {
        uint32_t node = relation->issued[i];
        uint64_t *row = relation->reach + (size_t)node * relation->words;
        for (uint32_t next = 0; next < relation->num; next++) {
            if (!has_bit(relation->direct, relation, node, next))
                continue;
            const uint64_t *other = relation->reach + (size_t)next * relation->words;
            for (uint32_t w = 0; w < relation->words; w++)
                row[w] |= other[w];
            set_bit(relation->reach, relation, node, next);
        }
    }
}

// An edge is implied if another successor of `from` reaches `to`.
static bool is_implied(const struct relation *relation, uint32_t from, uint32_t to)
{
    for (uint32_t next = 0; next < relation->num; next++) {
        if (has_bit(relation->direct, relation, from, next) &&
            has_bit(relation->reach, relation, next, to))
            return true;
    }
    return false;
}

static uint64_t count_crossing(const struct relation *relation)
{
    uint64_t waits = 0;
    for (uint32_t from = 0; from < relation->num; from++) {
        for (uint32_t to = 0; to < relation->num; to++) {
            if (has_bit(relation->direct, relation, from, to) &&
                relation->lane_of[from] != relation->lane_of[to] && !is_implied(relation, from, to))
                waits++;
        }
    }
    return waits;
}

uint64_t minimum_waits(const braid_schedule *schedule, uint32_t num_nodes, const uint32_t *from,
                       const uint32_t *to, size_t num_edges)
{
    struct relation relation = { .num = num_nodes, .words = num_nodes / 64 + 1 };
    size_t rows = (size_t)num_nodes + 1;
    relation.direct = calloc(rows * relation.words, sizeof(uint64_t));
    relation.reach = calloc(rows * relation.words, sizeof(uint64_t));
    relation.lane_of = calloc(rows, sizeof(uint32_t));
    relation.issued = calloc(rows, sizeof(uint32_t));
    if (!relation.direct || !relation.reach || !relation.lane_of || !relation.issued)
        abort();
    for (size_t i = 0; i < num_edges; i++)
        set_bit(relation.direct, &relation, from[i], to[i]);
    read_steps(&relation, schedule);
    close_transitively(&relation);
    uint64_t waits = count_crossing(&relation);
    free(relation.direct);
    free(relation.reach);
    free(relation.lane_of);
    free(relation.issued);
    return waits;
}
