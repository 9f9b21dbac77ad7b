// SPDX-License-Identifier: Apache-2.0
// Reading the plan of another rank, which may be damaged. Every number that is an index later is
// checked here, so that comparing plans reads and writes nothing outside of them.
#include <stdio.h>
#include <string.h>

#include "rank/rank_plan.h"

struct reading {
    const struct rank_plan *plan;
    uint64_t num_text;
    uint32_t num_ranks;
    char *why;
    size_t size;
};

// A record of the plan by its kind and index; NULL: the plan's header.
struct subject {
    const char *record;
    uint32_t index;
};

static bool check(const struct reading *reading, struct subject subject, const char *field,
                  uint64_t value, uint64_t least, uint64_t limit)
{
    char record[48] = "";
    if (value >= least && value < limit)
        return true;
    if (subject.record)
        snprintf(record, sizeof(record), "%s %u has ", subject.record, subject.index);
    snprintf(reading->why, reading->size, "%s%s %llu, which is not in [%llu, %llu)", record, field,
             (unsigned long long)value, (unsigned long long)least, (unsigned long long)limit);
    return false;
}

static bool check_below(const struct reading *reading, struct subject subject, const char *field,
                        uint64_t value, uint64_t limit)
{
    return check(reading, subject, field, value, 0, limit);
}

// Each vertex is an end of an edge or of an operation, so that few bytes cannot ask for much
// memory.
static bool check_header(const struct reading *reading)
{
    const struct rank_plan *plan = reading->plan;
    const struct subject header = { 0 };
    uint64_t most_vertices = 2 * ((uint64_t)plan->num_operations + plan->num_edges);
    return check_below(reading, header, "status", plan->status, BRAID_TIMEOUT + 1) &&
           check_below(reading, header, "engine", plan->engine, RANK_ENGINE_RCCL + 1) &&
           check_below(reading, header, "number of nodes", plan->num_vertices, most_vertices + 1) &&
           check_below(reading, header, "last byte of its texts",
                       (unsigned char)plan->text[reading->num_text], 1);
}

// Members stand in the order of ranks (braid_communicator_create).
static bool check_communicator(const struct reading *reading, uint32_t index)
{
    const struct rank_plan *plan = reading->plan;
    const struct rank_plan_communicator *communicator = &plan->communicators[index];
    const struct subject subject = { "communicator", index };
    uint64_t first = communicator->first_member, end = first + communicator->num_members;
    uint32_t least = 0;
    bool valid =
        check_below(reading, subject, "name", communicator->name, reading->num_text) &&
        check_below(reading, subject, "end of members", end, (uint64_t)plan->num_members + 1);
    for (uint64_t i = first; i < end && valid; i++) {
        valid = check(reading, subject, "member", plan->members[i], least, reading->num_ranks);
        least = plan->members[i] + 1;
    }
    if (valid && braid_rank_plan_find_communicator(plan, communicator->number) != communicator) {
        snprintf(reading->why, reading->size, "communicator %u has the number %u of another", index,
                 communicator->number);
        return false;
    }
    return valid;
}

static bool check_operation(const struct reading *reading, uint32_t index)
{
    const struct rank_plan *plan = reading->plan;
    const struct rank_plan_operation *operation = &plan->operations[index];
    const struct subject subject = { "operation", index };
    if (!braid_rank_plan_find_communicator(plan, operation->number)) {
        snprintf(reading->why, reading->size, "operation %u has communicator %u, which is not told",
                 index, operation->number);
        return false;
    }
    return check(reading, subject, "kind", operation->operation, BRAID_RANK_SEND,
                 BRAID_RANK_REDUCE_SCATTER + 1) &&
           check_below(reading, subject, "peer", operation->peer, reading->num_ranks) &&
           check_below(reading, subject, "post", operation->post, plan->num_vertices) &&
           check_below(reading, subject, "await", operation->await, plan->num_vertices) &&
           check_below(reading, subject, "name", operation->name, reading->num_text);
}

static bool check_edge(const struct reading *reading, uint32_t index)
{
    const struct rank_plan_edge *edge = &reading->plan->edges[index];
    const struct subject subject = { "edge", index };
    uint32_t limit = reading->plan->num_vertices;
    return check_below(reading, subject, "begin", edge->from, limit) &&
           check_below(reading, subject, "end", edge->to, limit);
}

static bool check_all(const struct reading *reading)
{
    const struct rank_plan *plan = reading->plan;
    bool valid = check_header(reading);
    for (uint32_t i = 0; i < plan->num_communicators && valid; i++)
        valid = check_communicator(reading, i);
    for (uint32_t i = 0; i < plan->num_operations && valid; i++)
        valid = check_operation(reading, i);
    for (uint32_t i = 0; i < plan->num_edges && valid; i++)
        valid = check_edge(reading, i);
    return valid;
}

// Four counts below 2^32 cannot overflow here. The texts must have the rest of the bytes.
static uint64_t count_bytes_before_text(const struct rank_plan_header *header)
{
    return sizeof(*header) + (uint64_t)header->num_operations * sizeof(struct rank_plan_operation) +
           (uint64_t)header->num_communicators * sizeof(struct rank_plan_communicator) +
           (uint64_t)header->num_members * sizeof(uint32_t) +
           (uint64_t)header->num_edges * sizeof(struct rank_plan_edge);
}

static struct rank_plan find_parts(const struct rank_plan_header *header, const void *bytes)
{
    struct rank_plan plan = {
        .status = header->status,
        .may_plan_again = header->may_plan_again,
        .introduces = header->introduces,
        .engine = header->engine,
        .num_vertices = header->num_vertices,
        .num_operations = header->num_operations,
        .num_communicators = header->num_communicators,
        .num_members = header->num_members,
        .num_edges = header->num_edges,
    };
    plan.operations = (const void *)((const char *)bytes + sizeof(*header));
    plan.communicators = (const void *)(plan.operations + plan.num_operations);
    plan.members = (const void *)(plan.communicators + plan.num_communicators);
    plan.edges = (const void *)(plan.members + plan.num_members);
    plan.text = (const void *)(plan.edges + plan.num_edges);
    return plan;
}

braid_status braid_rank_plan_read(const void *bytes, uint64_t num_bytes, uint32_t num_ranks,
                                  struct rank_plan *out_plan, char *why, size_t size)
{
    struct rank_plan_header header = { 0 };
    if (num_bytes >= sizeof(header))
        memcpy(&header, bytes, sizeof(header));
    if (header.magic != RANK_PLAN_MAGIC) {
        snprintf(why, size, "has another version of Braid than rank 0");
        return BRAID_UNSUPPORTED;
    }
    uint64_t before = count_bytes_before_text(&header);
    if (before >= num_bytes || header.num_text != num_bytes - before - 1) {
        snprintf(why, size, "sent a damaged plan: it has %llu bytes, which are not those it counts",
                 (unsigned long long)num_bytes);
        return BRAID_INVALID_ARGUMENT;
    }
    char what[160];
    struct rank_plan plan = find_parts(&header, bytes);
    const struct reading reading = { &plan, header.num_text, num_ranks, what, sizeof(what) };
    if (!check_all(&reading)) {
        snprintf(why, size, "sent a damaged plan: %s", what);
        return BRAID_INVALID_ARGUMENT;
    }
    *out_plan = plan;
    return BRAID_OK;
}

const struct rank_plan_communicator *braid_rank_plan_find_communicator(const struct rank_plan *plan,
                                                                       uint32_t number)
{
    for (uint32_t i = 0; i < plan->num_communicators; i++) {
        if (plan->communicators[i].number == number)
            return &plan->communicators[i];
    }
    return NULL;
}
