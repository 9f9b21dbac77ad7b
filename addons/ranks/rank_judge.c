// SPDX-License-Identifier: Apache-2.0
// Whether the plans of all ranks can run together: rank 0 decides for all.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/append.h"
#include "base/host_memory.h"
#include "base/store.h"
#include "ranks/rank_plan.h"

// Compares orders, and finds which operations belong together. It writes edges between vertices of
// all ranks and further vertices behind them. Those of rank r begin at first_vertex[r].
struct rank_match {
    uint32_t *first_vertex; // one a rank, and their end
    uint32_t num_vertices;
    struct array edges; // struct rank_plan_edge
};

// ---- cycles ----

// Chains of waits that lead round through several ranks. They are the rest after vertices without
// predecessors are removed until there are none (A. B. Kahn, 1962).

struct search {
    const struct rank_plan *plans;
    uint32_t num;
    const struct rank_match *match;
    bool with_lanes;
    uint32_t *num_before; // by vertex: predecessors that are left
    uint32_t *first, *next_of, *targets;
    uint32_t num_edges;
    uint32_t *stack;
    struct store store; // holds the arrays
};

typedef void edge_function(struct search *search, uint32_t from, uint32_t to);

static void visit_edges(struct search *search, edge_function *visit)
{
    const struct rank_plan_edge *edges = search->match->edges.items;
    for (size_t i = 0; i < search->match->edges.num; i++)
        visit(search, edges[i].from, edges[i].to);
    for (uint32_t rank = 0; rank < search->num; rank++) {
        const struct rank_plan *plan = &search->plans[rank];
        uint32_t first = search->match->first_vertex[rank];
        for (uint32_t i = 0; i < plan->num_edges; i++) {
            if (search->with_lanes || !plan->edges[i].is_lane)
                visit(search, first + plan->edges[i].from, first + plan->edges[i].to);
        }
    }
}

static void count_edge(struct search *search, uint32_t from, uint32_t to)
{
    (void)from;
    search->num_before[to]++;
    search->num_edges++;
}

static void keep_edge(struct search *search, uint32_t from, uint32_t to)
{
    uint32_t edge = search->num_edges++;
    search->targets[edge] = to;
    search->next_of[edge] = search->first[from];
    search->first[from] = edge;
}

static bool allocate(struct search *search)
{
    uint32_t num = search->match->num_vertices;
    search->num_before = braid_store_take(&search->store, num, sizeof(uint32_t));
    search->first = braid_store_take(&search->store, num, sizeof(uint32_t));
    search->stack = braid_store_take(&search->store, num, sizeof(uint32_t));
    if (search->store.failed)
        return false;
    memset(search->first, 0xff, num * sizeof(uint32_t));
    visit_edges(search, count_edge);
    search->targets = braid_store_take(&search->store, search->num_edges, sizeof(uint32_t));
    search->next_of = braid_store_take(&search->store, search->num_edges, sizeof(uint32_t));
    search->num_edges = 0;
    if (search->store.failed)
        return false;
    visit_edges(search, keep_edge);
    return true;
}

// How many are left.
static uint32_t take_away(struct search *search)
{
    uint32_t depth = 0, left = search->match->num_vertices;
    for (uint32_t i = 0; i < search->match->num_vertices; i++) {
        if (!search->num_before[i])
            search->stack[depth++] = i;
    }
    while (depth) {
        uint32_t vertex = search->stack[--depth];
        left--;
        for (uint32_t e = search->first[vertex]; e != UINT32_MAX; e = search->next_of[e]) {
            if (!--search->num_before[search->targets[e]])
                search->stack[depth++] = search->targets[e];
        }
    }
    return left;
}

// Each vertex that is left has a predecessor that is left, too: `before` has one. Going back along
// them must come round.
static uint32_t find_round(struct search *search, uint32_t *before)
{
    uint32_t num = search->match->num_vertices, start = 0;
    for (uint32_t from = 0; from < num; from++) {
        if (!search->num_before[from])
            continue;
        for (uint32_t e = search->first[from]; e != UINT32_MAX; e = search->next_of[e])
            before[search->targets[e]] = from;
    }
    while (!search->num_before[start])
        start++;
    for (uint32_t i = 0; i < num; i++)
        start = before[start];
    return start;
}

// Writes the name of an operation's vertex, "rank 1 'right'"; false: it is another node, or a
// vertex of matching.
static bool name_vertex(const struct search *search, uint32_t vertex, char *text, size_t size)
{
    uint32_t rank = 0;
    while (rank < search->num && vertex >= search->match->first_vertex[rank + 1])
        rank++;
    if (rank == search->num)
        return false;
    const struct rank_plan *plan = &search->plans[rank];
    uint32_t own = vertex - search->match->first_vertex[rank];
    for (uint32_t i = 0; i < plan->num_operations; i++) {
        const struct rank_plan_operation *operation = &plan->operations[i];
        if (operation->post != own && operation->await != own)
            continue;
        char what[100];
        braid_rank_describe(what, sizeof(what), operation->operation, plan->text + operation->name,
                            operation->count, operation->peer);
        snprintf(text, size, "rank %u's %s", rank, what);
        return true;
    }
    return false;
}

// From the end of the round to its beginning, as `before` leads: "A behind B behind ... behind A".
static void describe_round(const struct search *search, const uint32_t *before, uint32_t start,
                           char *text, size_t size)
{
    char one[160], last[160] = "", first[160] = "";
    uint32_t vertex = start, num_shown = 0;
    text[0] = '\0';
    do {
        if (name_vertex(search, vertex, one, sizeof(one)) && strcmp(one, last) != 0) {
            size_t used = strlen(text);
            snprintf(text + used, size - used, "%s%s", num_shown++ ? " waits for " : "", one);
            snprintf(last, sizeof(last), "%s", one);
            if (!*first)
                snprintf(first, sizeof(first), "%s", one);
        }
        vertex = before[vertex];
    } while (vertex != start && num_shown < 8);
    size_t used = strlen(text);
    if (vertex != start)
        snprintf(text + used, size - used, " and so on, back to %s", first);
    else if (strcmp(first, last) != 0)
        snprintf(text + used, size - used, " waits for %s", first);
}

// Whether ranks wait for each other in a circle, by their graphs or also by lanes, and such a
// circle in words. False: no memory.
static bool rank_find_cycle(const struct rank_plan *plans, uint32_t num,
                            const struct rank_match *match, bool with_lanes, char *text,
                            size_t size, bool *out_found)
{
    struct search search = { .plans = plans, .num = num, .match = match, .with_lanes = with_lanes };
    uint32_t *before = braid_allocate_zeroed(match->num_vertices, sizeof(*before));
    bool made = allocate(&search) && before;
    *out_found = made && take_away(&search) > 0;
    if (*out_found)
        describe_round(&search, before, find_round(&search, before), text, size);
    braid_free(before);
    braid_store_finish(&search.store);
    return made;
}

// ---- which operations of the ranks belong together, and where their orders differ ----

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

// Writes a verdict; false.
__attribute__((format(printf, 3, 4))) static bool
rank_refuse(struct rank_verdict *verdict, uint32_t status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(verdict->message, sizeof(verdict->message), format, arguments);
    va_end(arguments);
    verdict->status = status;
    return false;
}

// Two ranks whose orders differ where they are at index `a` and `b`.
static bool refuse(const struct rank_plan *plans, const uint32_t ranks[2], uint32_t number,
                   const uint32_t at[2], const char *why, struct rank_verdict *verdict)
{
    const struct rank_plan_communicator *communicator =
        braid_rank_plan_find_communicator(&plans[ranks[0]], number);
    rank_refuse(verdict, BRAID_INVALID_ARGUMENT, "communicator '%s': ranks %u and %u %s",
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

static bool rank_has_no_memory(struct rank_verdict *verdict)
{
    return rank_refuse(verdict, BRAID_NO_MEMORY,
                       "out of host memory on rank 0 for comparing what ranks plan");
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
            return rank_has_no_memory(verdict);
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
            return rank_has_no_memory(verdict);
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
           rank_has_no_memory(verdict);
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

static void rank_match_finish(struct rank_match *match)
{
    braid_free(match->first_vertex);
    braid_array_finish(&match->edges);
    *match = (struct rank_match){ 0 };
}

// Verdict: where orders differ, both are told. Errors: BRAID_NO_MEMORY.
static bool match_plans(const struct rank_plan *plans, uint32_t num, struct rank_match *out_match,
                        struct rank_verdict *out_verdict)
{
    struct rank_match match = { 0 };
    struct array halves = { 0 };
    match.first_vertex = braid_allocate_zeroed((size_t)num + 1, sizeof(uint32_t));
    if (!match.first_vertex)
        return rank_has_no_memory(out_verdict);
    for (uint32_t i = 0; i < num; i++)
        match.first_vertex[i + 1] = match.first_vertex[i] + plans[i].num_vertices;
    match.num_vertices = match.first_vertex[num];
    bool matched = match_collectives(plans, num, &match, out_verdict);
    if (matched && !collect_halves(plans, num, &halves))
        matched = rank_has_no_memory(out_verdict);
    if (matched)
        matched = match_halves(plans, &halves, &match, out_verdict);
    braid_array_finish(&halves);
    if (matched)
        *out_match = match;
    else
        rank_match_finish(&match);
    return matched;
}

// ---- the verdict ----

// False: there is a verdict.
static bool read_plans(const void *const *bytes, const uint64_t *num_bytes, uint32_t num,
                       struct rank_plan *plans, struct rank_verdict *verdict)
{
    for (uint32_t i = 0; i < num; i++) {
        if (!braid_rank_plan_read(bytes[i], num_bytes[i], &plans[i]))
            return rank_refuse(verdict, BRAID_UNSUPPORTED,
                               "rank %u has another version of Braid than rank 0", i);
    }
    for (uint32_t i = 0; i < num; i++) {
        if (plans[i].status)
            return rank_refuse(verdict, plans[i].status, "rank %u made no exec: %.800s", i,
                               plans[i].text);
    }
    return true;
}

// Ranks that play in other ways would wait for each other in another order.
static bool check_engines(const struct rank_plan *plans, uint32_t num, struct rank_verdict *verdict)
{
    static const char *const words[] = { "no", "the host", "a device (nccl)", "a device (rccl)" };
    for (uint32_t i = 1; i < num; i++) {
        if (plans[i].engine != plans[0].engine || plans[i].introduces != plans[0].introduces)
            return rank_refuse(
                verdict, BRAID_UNSUPPORTED,
                "rank 0 makes its operations on %s, and rank %u on %s: all ranks need one way",
                words[plans[0].engine], i, words[plans[i].engine]);
    }
    return true;
}

// Checks a communicator of a rank: either all its ranks connect it now, or none.
static bool check_link(const struct rank_plan *plans, uint32_t rank,
                       const struct rank_plan_communicator *communicator,
                       struct rank_verdict *verdict)
{
    for (uint32_t i = 0; i < communicator->num_members; i++) {
        uint32_t member = plans[rank].members[communicator->first_member + i];
        const struct rank_plan_communicator *there =
            braid_rank_plan_find_communicator(&plans[member], communicator->number);
        if (!there || there->is_linked != communicator->is_linked)
            return rank_refuse(verdict, BRAID_INVALID_ARGUMENT,
                               "communicator '%s' is %s of rank %u, but not %s of rank %u",
                               plans[rank].text + communicator->name,
                               there ? "connected on the device" : "in the graph", rank,
                               there ? "on that" : "in that", member);
    }
    return true;
}

static bool may_plan_again(const struct rank_plan *plans, uint32_t num)
{
    bool may = true;
    for (uint32_t i = 0; i < num; i++)
        may = may && plans[i].may_plan_again;
    return may;
}

static void judge_cycles(const struct rank_plan *plans, uint32_t num,
                         const struct rank_match *match, struct rank_verdict *verdict)
{
    char text[800];
    bool by_graphs = false, by_lanes = false;
    if (!rank_find_cycle(plans, num, match, false, text, sizeof(text), &by_graphs) ||
        (!by_graphs && !rank_find_cycle(plans, num, match, true, text, sizeof(text), &by_lanes)))
        rank_has_no_memory(verdict);
    else if (by_graphs)
        rank_refuse(verdict, BRAID_CYCLE, "ranks wait for each other: %s", text);
    else if (by_lanes && may_plan_again(plans, num))
        verdict->plan_again = true;
    else if (by_lanes)
        rank_refuse(verdict, BRAID_CYCLE,
                    "by the lanes of their schedules ranks wait for each other: %s", text);
}

// NULL: there is a verdict. To be freed.
static struct rank_plan *read_and_check(const void *const *bytes, const uint64_t *num_bytes,
                                        uint32_t num, struct rank_verdict *out_verdict)
{
    struct rank_plan *plans = braid_allocate_zeroed(num, sizeof(*plans));
    *out_verdict = (struct rank_verdict){ .status = BRAID_OK };
    if (!plans)
        rank_has_no_memory(out_verdict);
    else if (read_plans(bytes, num_bytes, num, plans, out_verdict) &&
             check_engines(plans, num, out_verdict))
        return plans;
    braid_free(plans);
    return NULL;
}

void braid_rank_judge(const void *const *bytes, const uint64_t *num_bytes, uint32_t num,
                      struct rank_verdict *out_verdict)
{
    struct rank_match match;
    struct rank_plan *plans = read_and_check(bytes, num_bytes, num, out_verdict);
    if (plans && match_plans(plans, num, &match, out_verdict)) {
        judge_cycles(plans, num, &match, out_verdict);
        rank_match_finish(&match);
    }
    braid_free(plans);
}

void braid_rank_judge_links(const void *const *bytes, const uint64_t *num_bytes, uint32_t num,
                            struct rank_verdict *out_verdict)
{
    struct rank_plan *plans = read_and_check(bytes, num_bytes, num, out_verdict);
    bool goes_on = plans != NULL;
    for (uint32_t rank = 0; rank < num && goes_on; rank++) {
        for (uint32_t i = 0; i < plans[rank].num_communicators && goes_on; i++)
            goes_on = check_link(plans, rank, &plans[rank].communicators[i], out_verdict);
    }
    braid_free(plans);
}
