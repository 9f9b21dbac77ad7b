// SPDX-License-Identifier: Apache-2.0
// Which operations of the ranks belong together, and where their orders differ.
#include "base/append.h"
#include "ranks/rank_plan.h"

#include <stdio.h>
#include <string.h>

enum { MOST_SHOWN = 4 }; // operations of an order, from the one before the difference on

// A send or receive, with the values that its other half must have.
struct half {
    uint32_t number, from, to, tag;
    uint32_t is_receive;
    uint32_t rank, index; // the plan, and the place in its operations
};

static bool is_collective(const struct rank_plan_operation *operation)
{
    return operation->operation >= BRAID_RANK_BROADCAST;
}

// The next operation of the communicator that all its ranks make, from index `i` on; their end
// where there is none.
static uint32_t next_collective(const struct rank_plan *plan, uint32_t number, uint32_t i)
{
    while (i < plan->num_operations &&
           (plan->operations[i].number != number || !is_collective(&plan->operations[i])))
        i++;
    return i;
}

static void describe(const struct rank_plan *plan, uint32_t index, char *text, size_t size)
{
    const struct rank_plan_operation *operation = &plan->operations[index];
    braid_rank_describe(text, size, operation->operation, plan->text + operation->name,
                        operation->count, operation->peer);
}

// A rank's operations on a communicator, from the one before `from` on.
static void show_order(const struct rank_plan *plan, uint32_t rank, uint32_t number, uint32_t from,
                       char *text, size_t size)
{
    char one[120];
    uint32_t first = from, num = 0;
    while (first > 0) {
        first--;
        if (plan->operations[first].number == number)
            break;
    }
    braid_append(text, size, "; rank %u: ", rank);
    for (uint32_t i = first; i < plan->num_operations; i++) {
        if (plan->operations[i].number != number)
            continue;
        braid_append(text, size, "%s", num ? ", " : "");
        if (num++ == MOST_SHOWN) {
            braid_append(text, size, "...");
            return;
        }
        describe(plan, i, one, sizeof(one));
        braid_append(text, size, "%s", one);
    }
    braid_append(text, size, "%s", num ? ", and no more" : "none");
}

// Two ranks whose orders differ where they are at index `a` and `b`.
static bool refuse(const struct rank_plan *plans, const uint32_t ranks[2], uint32_t number,
                   const uint32_t at[2], const char *why, struct rank_verdict *verdict)
{
    const struct rank_plan_communicator *communicator =
        braid_rank_plan_find_communicator(&plans[ranks[0]], number);
    braid_rank_refuse(verdict, BRAID_INVALID_ARGUMENT, "communicator '%s': ranks %u and %u %s",
                      plans[ranks[0]].text + communicator->name, ranks[0], ranks[1], why);
    for (int i = 0; i < 2; i++)
        show_order(&plans[ranks[i]], ranks[i], number, at[i], verdict->message,
                   sizeof(verdict->message));
    return false;
}

static bool add_edge(struct rank_match *match, uint32_t from, uint32_t to)
{
    return braid_array_put(&match->edges, &(struct rank_plan_edge){ .from = from, .to = to },
                           sizeof(struct rank_plan_edge));
}

static bool are_one(const struct rank_plan_operation *a, const struct rank_plan_operation *b)
{
    return a->operation == b->operation && a->element == b->element &&
           a->reduction == b->reduction && a->count == b->count &&
           (a->operation != BRAID_RANK_BROADCAST || a->peer == b->peer);
}

// All posts of an operation lead to a vertex of its own, and that to all its ends.
static bool join_vertex(struct rank_match *match, const struct rank_plan *plans, uint32_t rank,
                        uint32_t index, uint32_t vertex)
{
    const struct rank_plan_operation *operation = &plans[rank].operations[index];
    uint32_t first = match->first_vertex[rank];
    return add_edge(match, first + operation->post, vertex) &&
           add_edge(match, vertex, first + operation->await);
}

// Matches one more member of a communicator with the first: both have the same operations in the
// same order.
static bool match_member(const struct rank_plan *plans, uint32_t first, uint32_t member,
                         uint32_t number, struct rank_match *match, struct rank_verdict *verdict)
{
    const struct rank_plan *a = &plans[first], *b = &plans[member];
    uint32_t vertex = match->num_vertices;
    for (uint32_t i = 0, j = 0;; i++, j++) {
        i = next_collective(a, number, i);
        j = next_collective(b, number, j);
        bool ends = i == a->num_operations || j == b->num_operations;
        if (i == a->num_operations && j == b->num_operations)
            return true;
        if (ends || !are_one(&a->operations[i], &b->operations[j]))
            return refuse(plans, (uint32_t[]){ first, member }, number, (uint32_t[]){ i, j },
                          "do not make the same operations in the same order", verdict);
        if (!join_vertex(match, plans, member, j, vertex++))
            return braid_rank_has_no_memory(verdict);
    }
}

static bool match_communicator(const struct rank_plan *plans, uint32_t rank,
                               const struct rank_plan_communicator *communicator,
                               struct rank_match *match, struct rank_verdict *verdict)
{
    const struct rank_plan *plan = &plans[rank];
    const uint32_t *members = plan->members + communicator->first_member;
    uint32_t number = communicator->number, vertex = match->num_vertices;
    for (uint32_t i = 0; i < communicator->num_members; i++) {
        if (members[i] != rank && !match_member(plans, rank, members[i], number, match, verdict))
            return false;
    }
    for (uint32_t i = next_collective(plan, number, 0); i < plan->num_operations;
         i = next_collective(plan, number, i + 1)) {
        if (!join_vertex(match, plans, rank, i, vertex++))
            return braid_rank_has_no_memory(verdict);
    }
    match->num_vertices = vertex;
    return true;
}

// The first rank of a communicator that declares it stands for it.
static bool is_first(const struct rank_plan *plans, uint32_t rank,
                     const struct rank_plan_communicator *communicator)
{
    const uint32_t *members = plans[rank].members + communicator->first_member;
    for (uint32_t i = 0; i < communicator->num_members && members[i] != rank; i++) {
        if (braid_rank_plan_find_communicator(&plans[members[i]], communicator->number))
            return false;
    }
    return true;
}

static bool match_collectives(const struct rank_plan *plans, uint32_t num, struct rank_match *match,
                              struct rank_verdict *verdict)
{
    for (uint32_t rank = 0; rank < num; rank++) {
        for (uint32_t i = 0; i < plans[rank].num_communicators; i++) {
            const struct rank_plan_communicator *communicator = &plans[rank].communicators[i];
            if (is_first(plans, rank, communicator) &&
                !match_communicator(plans, rank, communicator, match, verdict))
                return false;
        }
    }
    return true;
}

static int order_halves(const void *first, const void *second)
{
    const struct half *a = first, *b = second;
    int by_match = memcmp(a, b, offsetof(struct half, is_receive));
    if (by_match)
        return by_match;
    if (a->is_receive != b->is_receive)
        return a->is_receive < b->is_receive ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

static bool collect_halves(const struct rank_plan *plans, uint32_t num, struct array *halves)
{
    for (uint32_t rank = 0; rank < num; rank++) {
        for (uint32_t i = 0; i < plans[rank].num_operations; i++) {
            const struct rank_plan_operation *operation = &plans[rank].operations[i];
            if (is_collective(operation))
                continue;
            bool receives = operation->operation == BRAID_RANK_RECEIVE;
            struct half *half = braid_array_append(halves, 1, sizeof(*half));
            if (!half)
                return false;
            *half = (struct half){ operation->number,
                                   receives ? operation->peer : rank,
                                   receives ? rank : operation->peer,
                                   operation->tag,
                                   receives,
                                   rank,
                                   i };
        }
    }
    if (halves->num)
        qsort(halves->items, halves->num, sizeof(struct half), order_halves);
    return true;
}

// A send, or a receive, that has nothing to go with.
static bool refuse_half(const struct rank_plan *plans, const struct half *half,
                        struct rank_verdict *verdict)
{
    char why[200], one[120];
    uint32_t other = half->is_receive ? half->from : half->to;
    describe(&plans[half->rank], half->index, one, sizeof(one));
    snprintf(why, sizeof(why), "differ: the %s (tag %u) has no %s on rank %u", one, half->tag,
             half->is_receive ? "send" : "receive", other);
    return refuse(plans, (uint32_t[]){ half->rank, other }, half->number,
                  (uint32_t[]){ half->index, 0 }, why, verdict);
}

static bool match_pair(const struct rank_plan *plans, const struct half *send,
                       const struct half *receive, struct rank_match *match,
                       struct rank_verdict *verdict)
{
    const struct rank_plan_operation *a = &plans[send->rank].operations[send->index];
    const struct rank_plan_operation *b = &plans[receive->rank].operations[receive->index];
    if (a->count != b->count || a->element != b->element)
        return refuse(plans, (uint32_t[]){ send->rank, receive->rank }, send->number,
                      (uint32_t[]){ send->index, receive->index },
                      "differ in what they send and receive", verdict);
    if (a->key != b->key)
        return refuse(plans, (uint32_t[]){ send->rank, receive->rank }, send->number,
                      (uint32_t[]){ send->index, receive->index },
                      "did not add the same tasks in the same order: they send and receive what is "
                      "not the same",
                      verdict);
    if (a->own_tag != b->own_tag)
        return refuse(plans, (uint32_t[]){ send->rank, receive->rank }, send->number,
                      (uint32_t[]){ send->index, receive->index },
                      "differ in tags, which devices do not look at: they take what comes first",
                      verdict);
    uint32_t from = match->first_vertex[send->rank], to = match->first_vertex[receive->rank];
    return (add_edge(match, from + a->post, to + b->await) &&
            add_edge(match, to + b->post, from + a->await)) ||
           braid_rank_has_no_memory(verdict);
}

// Counts the group of one pair of ranks and tag: sends, then as many receives.
static size_t count_group(const struct half *halves, size_t num, size_t *out_num_sends)
{
    size_t end = 0, sends = 0;
    while (end < num && memcmp(&halves[end], halves, offsetof(struct half, is_receive)) == 0)
        sends += !halves[end++].is_receive;
    *out_num_sends = sends;
    return end;
}

static bool match_halves(const struct rank_plan *plans, const struct array *all,
                         struct rank_match *match, struct rank_verdict *verdict)
{
    const struct half *halves = all->items;
    for (size_t i = 0; i < all->num;) {
        size_t sends, both = count_group(halves + i, all->num - i, &sends);
        size_t receives = both - sends, pairs = sends < receives ? sends : receives;
        for (size_t k = 0; k < pairs; k++) {
            if (!match_pair(plans, &halves[i + k], &halves[i + sends + k], match, verdict))
                return false;
        }
        if (sends != receives)
            return refuse_half(plans, &halves[i + pairs + (sends > receives ? 0 : sends)], verdict);
        i += both;
    }
    return true;
}

bool braid_rank_match(const struct rank_plan *plans, uint32_t num, struct rank_match *out_match,
                      struct rank_verdict *out_verdict)
{
    struct rank_match match = { 0 };
    struct array halves = { 0 };
    match.first_vertex = braid_allocate_zeroed((size_t)num + 1, sizeof(uint32_t));
    if (!match.first_vertex)
        return braid_rank_has_no_memory(out_verdict);
    for (uint32_t i = 0; i < num; i++)
        match.first_vertex[i + 1] = match.first_vertex[i] + plans[i].num_vertices;
    match.num_vertices = match.first_vertex[num];
    bool matched = match_collectives(plans, num, &match, out_verdict);
    if (matched && !collect_halves(plans, num, &halves))
        matched = braid_rank_has_no_memory(out_verdict);
    if (matched)
        matched = match_halves(plans, &halves, &match, out_verdict);
    braid_array_finish(&halves);
    if (matched)
        *out_match = match;
    else
        braid_rank_match_finish(&match);
    return matched;
}

void braid_rank_match_finish(struct rank_match *match)
{
    free(match->first_vertex);
    braid_array_finish(&match->edges);
    *match = (struct rank_match){ 0 };
}
