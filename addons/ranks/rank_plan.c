// SPDX-License-Identifier: Apache-2.0
// Writing a rank's plan as bytes, and reading it.
#include "ranks/rank_plan.h"

#include <stdio.h>
#include <string.h>

#include "base/host_memory.h"

#define RANK_PLAN_MAGIC 0x62726434u // and version

// ---- something of every rank goes to rank 0, which judges, and the verdict to all ----

#define MOST_BYTES ((uint64_t)1 << 30) // from one rank

struct exchange {
    const void *bytes;
    uint64_t num_bytes;
    rank_judge_function *judge;
    struct rank_verdict *verdict;
    uint64_t *sizes; // by rank
    void **received; // rank 0: of all ranks
};

static bool gather_sizes(braid_ranks *ranks, struct exchange *exchange)
{
    bool ended = false;
    const struct rank_transfer gather = { .operation = BRAID_RANK_ALL_GATHER,
                                          .element = BRAID_ELEMENT_UINT64,
                                          .from = &exchange->num_bytes,
                                          .to = exchange->sizes,
                                          .count = 1 };
    return braid_rank_begin(ranks, &gather, &ended) && braid_rank_progress_until(ranks, &ended);
}

static bool begin_bytes(braid_ranks *ranks, uint32_t operation, uint32_t peer, void *bytes,
                        uint64_t num_bytes, bool *flag)
{
    const struct rank_transfer transfer = { .operation = operation,
                                            .element = BRAID_ELEMENT_BYTE,
                                            .peer = peer,
                                            .tag = RANK_TAG_BYTES,
                                            .from = bytes,
                                            .to = bytes,
                                            .count = num_bytes };
    return braid_rank_begin(ranks, &transfer, flag);
}

static bool send_bytes(braid_ranks *ranks, const struct exchange *exchange)
{
    bool ended = false;
    return begin_bytes(ranks, BRAID_RANK_SEND, 0, (void *)(uintptr_t)exchange->bytes,
                       exchange->num_bytes, &ended) &&
           braid_rank_progress_until(ranks, &ended);
}

// Engines count bytes in 31 bits, and no rank sends more.
static bool check_size(braid_ranks *ranks, uint32_t rank, uint64_t num_bytes)
{
    char why[RANK_WHY_BYTES];
    if (num_bytes <= MOST_BYTES)
        return true;
    snprintf(why, sizeof(why), "rank %u sends a plan of %llu bytes, more than %llu", rank,
             (unsigned long long)num_bytes, (unsigned long long)MOST_BYTES);
    braid_rank_fail(ranks, why, true);
    return false;
}

// One after another: nothing else is on the way.
static bool receive_bytes(braid_ranks *ranks, struct exchange *exchange)
{
    for (uint32_t i = 1; i < ranks->num; i++) {
        bool ended = false;
        if (!check_size(ranks, i, exchange->sizes[i]))
            return false;
        exchange->received[i] = braid_allocate(exchange->sizes[i]);
        if (!exchange->received[i]) {
            braid_rank_fail(ranks, "out of host memory for what other ranks plan", true);
            return false;
        }
        if (!begin_bytes(ranks, BRAID_RANK_RECEIVE, i, exchange->received[i], exchange->sizes[i],
                         &ended) ||
            !braid_rank_progress_until(ranks, &ended))
            return false;
    }
    return true;
}

static bool tell_verdict(braid_ranks *ranks, struct exchange *exchange)
{
    bool ended = false;
    const struct rank_transfer broadcast = { .operation = BRAID_RANK_BROADCAST,
                                             .element = BRAID_ELEMENT_BYTE,
                                             .to = exchange->verdict,
                                             .count = sizeof(*exchange->verdict) };
    return braid_rank_begin(ranks, &broadcast, &ended) && braid_rank_progress_until(ranks, &ended);
}

// Memory that MPI may still write to stays: after a failure nothing is freed.
static void make_exchange(braid_ranks *ranks, struct rank_call *call)
{
    struct exchange *exchange = call->arguments;
    if (!gather_sizes(ranks, exchange))
        return;
    if (ranks->rank == 0 ? !receive_bytes(ranks, exchange) : !send_bytes(ranks, exchange))
        return;
    if (ranks->rank == 0) {
        exchange->received[0] = (void *)(uintptr_t)exchange->bytes;
        exchange->judge((const void *const *)exchange->received, exchange->sizes, ranks->num,
                        exchange->verdict);
        for (uint32_t i = 1; i < ranks->num; i++)
            braid_free(exchange->received[i]);
    }
    (void)tell_verdict(ranks, exchange);
}

braid_status braid_rank_exchange(braid_ranks *ranks, const void *bytes, uint64_t num_bytes,
                                 rank_judge_function *judge, struct rank_verdict *out_verdict)
{
    struct exchange *exchange = braid_allocate_zeroed(1, sizeof(*exchange));
    struct rank_verdict *verdict = braid_allocate_zeroed(1, sizeof(*verdict));
    uint64_t *sizes = braid_allocate_zeroed(ranks->num, sizeof(*sizes));
    void **received = braid_allocate_zeroed(ranks->num, sizeof(*received));
    braid_status status = BRAID_OK;
    if (!exchange || !verdict || !sizes || !received || num_bytes > MOST_BYTES)
        status = braid_error_no_memory("what ranks tell each other");
    if (!status) {
        *exchange = (struct exchange){ bytes, num_bytes, judge, verdict, sizes, received };
        struct rank_call call = { .make = make_exchange,
                                  .what = "braid_exec_create",
                                  .arguments = exchange };
        status = braid_rank_call(ranks, &call);
        if (!status)
            *out_verdict = *verdict;
        if (status == BRAID_DEVICE_ERROR)
            return status; // see above
    }
    braid_free(exchange);
    braid_free(verdict);
    braid_free(sizes);
    braid_free(received);
    return status;
}

// ---- plans ----

uint32_t braid_rank_plan_add_text(struct rank_plan_parts *parts, const char *text)
{
    size_t bytes = strlen(text) + 1, place = parts->text.num;
    char *copy = braid_array_append(&parts->text, bytes, 1);
    if (!copy || place > UINT32_MAX - 1)
        return UINT32_MAX;
    memcpy(copy, text, bytes);
    return (uint32_t)place;
}

bool braid_rank_plan_add_communicator(struct rank_plan_parts *parts,
                                      const braid_communicator *communicator)
{
    uint32_t name = braid_rank_plan_add_text(parts, communicator->name);
    struct rank_plan_communicator *told =
        braid_array_append(&parts->communicators, 1, sizeof(*told));
    uint32_t first = (uint32_t)parts->members.num;
    uint32_t *members = braid_array_append(&parts->members, communicator->num, sizeof(*members));
    if (!told || !members || name == UINT32_MAX)
        return false;
    memcpy(members, communicator->members, communicator->num * sizeof(*members));
    *told = (struct rank_plan_communicator){ communicator->number, name, first, communicator->num,
                                             communicator->link != NULL };
    return true;
}

static char *put(char *at, const struct array *array, size_t item_bytes)
{
    if (array->num)
        memcpy(at, array->items, array->num * item_bytes);
    return at + array->num * item_bytes;
}

// Operations, which have members of 8 bytes, stand right behind the head.
void *braid_rank_plan_write(const struct rank_plan_parts *parts, uint64_t *out_num_bytes)
{
    struct rank_plan head = parts->head;
    head.magic = RANK_PLAN_MAGIC;
    head.num_operations = (uint32_t)parts->operations.num;
    head.num_communicators = (uint32_t)parts->communicators.num;
    head.num_members = (uint32_t)parts->members.num;
    head.num_edges = (uint32_t)parts->edges.num;
    uint64_t bytes = sizeof(head) + parts->operations.num * sizeof(struct rank_plan_operation) +
                     parts->communicators.num * sizeof(struct rank_plan_communicator) +
                     parts->members.num * sizeof(uint32_t) +
                     parts->edges.num * sizeof(struct rank_plan_edge) + parts->text.num + 1;
    char *made = braid_allocate_zeroed(bytes, 1);
    if (!made)
        return NULL;
    memcpy(made, &head, sizeof(head));
    char *at = made + sizeof(head);
    at = put(at, &parts->operations, sizeof(struct rank_plan_operation));
    at = put(at, &parts->communicators, sizeof(struct rank_plan_communicator));
    at = put(at, &parts->members, sizeof(uint32_t));
    at = put(at, &parts->edges, sizeof(struct rank_plan_edge));
    put(at, &parts->text, 1);
    *out_num_bytes = bytes;
    return made;
}

void braid_rank_plan_finish(struct rank_plan_parts *parts)
{
    braid_array_finish(&parts->operations);
    braid_array_finish(&parts->communicators);
    braid_array_finish(&parts->members);
    braid_array_finish(&parts->edges);
    braid_array_finish(&parts->text);
}

bool braid_rank_plan_read(const void *bytes, uint64_t num_bytes, struct rank_plan *out_plan)
{
    struct rank_plan plan = { 0 };
    if (num_bytes >= sizeof(plan))
        memcpy(&plan, bytes, sizeof(plan));
    plan.operations = (const void *)((const char *)bytes + sizeof(plan));
    plan.communicators = (const void *)(plan.operations + plan.num_operations);
    plan.members = (const void *)(plan.communicators + plan.num_communicators);
    plan.edges = (const void *)(plan.members + plan.num_members);
    plan.text = (const void *)(plan.edges + plan.num_edges);
    *out_plan = plan;
    return plan.magic == RANK_PLAN_MAGIC;
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
