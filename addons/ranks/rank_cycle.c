// SPDX-License-Identifier: Apache-2.0
// Chains of waits that lead round through several ranks. They are the rest after vertices without
// predecessors are removed until there are none (A. B. Kahn, 1962).
#include <stdio.h>
#include <string.h>

#include "base/store.h"
#include "ranks/rank_plan.h"

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

bool braid_rank_find_cycle(const struct rank_plan *plans, uint32_t num,
                           const struct rank_match *match, bool with_lanes, char *text, size_t size,
                           bool *out_found)
{
    struct search search = { .plans = plans, .num = num, .match = match, .with_lanes = with_lanes };
    uint32_t *before = braid_allocate_zeroed(match->num_vertices, sizeof(*before));
    bool made = allocate(&search) && before;
    *out_found = made && take_away(&search) > 0;
    if (*out_found)
        describe_round(&search, before, find_round(&search, before), text, size);
    free(before);
    braid_store_finish(&search.store);
    return made;
}
