// SPDX-License-Identifier: Apache-2.0
// Joining sends and receives that a device must queue as one.
#include <string.h>

#include "base/error.h"
#include "base/store.h"
#include "graph/links.h"
#include "graph/placed.h"
#include "ranks/rank_graph.h"
#include "ranks/ranks.h"

enum { AWAIT_NS = 100 }; // nothing is left to do but to be waited for

struct joining {
    braid_graph *graph;
    struct graph_units units;
    struct array links; // struct graph_link
    uint32_t *first;    // by unit, and their end: into `before`
    uint32_t *before;   // units that it comes behind
    uint32_t *behind;   // by unit: the group that it depends on the end of; 0: none
    uint32_t group;     // counts from 1
    struct array posts; // uint32_t: nodes of the group
    bool is_forward;    // all edges lead to units added later
    struct store store; // holds the arrays
};

uint32_t braid_graph_queued_with(const braid_graph *graph, uint32_t post)
{
    while (rank_graph_description(graph, post)->joins_next) {
        do // no operation of another communicator stands between
            post++;
        while (graph_nodes(graph)[post].kind != WORK_POST);
    }
    return post;
}

static void count_edge(struct joining *joining, uint32_t from, uint32_t to, bool store)
{
    uint32_t before = joining->units.unit_of[from], behind = joining->units.unit_of[to];
    if (before == behind)
        return;
    joining->is_forward &= before < behind;
    if (store)
        joining->before[joining->first[behind]++] = before;
    else
        joining->first[behind + 1]++;
}

static void visit_edges(struct joining *joining, bool store)
{
    const struct graph_edge *edges = graph_edges(joining->graph);
    const struct graph_link *links = joining->links.items;
    for (size_t i = 0; i < joining->graph->edges.num; i++)
        count_edge(joining, edges[i].from, edges[i].to, store);
    for (size_t i = 0; i < joining->links.num; i++)
        count_edge(joining, links[i].from, links[i].to, store);
}

static bool find_before(struct joining *joining)
{
    uint32_t num = joining->units.num_units;
    joining->first = braid_store_take(&joining->store, (size_t)num + 2, sizeof(*joining->first));
    joining->before = braid_store_take(
        &joining->store, joining->links.num + joining->graph->edges.num, sizeof(*joining->before));
    joining->behind = braid_store_take(&joining->store, num, sizeof(*joining->behind));
    if (joining->store.failed)
        return false;
    joining->is_forward = true;
    visit_edges(joining, false);
    for (uint32_t i = 0; i < num; i++)
        joining->first[i + 1] += joining->first[i];
    visit_edges(joining, true);
    memmove(joining->first + 1, joining->first, num * sizeof(*joining->first));
    joining->first[0] = 0;
    return true;
}

// The last post queues all, so the other ends come behind it.
static bool end_group(struct joining *joining)
{
    const uint32_t *posts = joining->posts.items;
    size_t num = joining->posts.num;
    for (size_t i = 0; i + 1 < num; i++) {
        if (!braid_array_put(&joining->graph->edges,
                             &(struct graph_edge){ posts[num - 1], posts[i] + 1 },
                             sizeof(struct graph_edge)))
            return false;
        ((struct rank_description *)(uintptr_t)rank_graph_description(joining->graph, posts[i]))
            ->joins_next = true;
    }
    if (num)
        ((struct rank_description *)(uintptr_t)rank_graph_description(joining->graph,
                                                                      posts[num - 1]))
            ->num_joined = (uint32_t)num - 1;
    joining->posts.num = 0;
    joining->group++;
    return true;
}

static bool can_join(const struct joining *joining, uint32_t post)
{
    if (!joining->posts.num || !joining->is_forward)
        return false;
    const struct rank_description *what = rank_graph_description(joining->graph, post);
    const struct rank_description *first =
        rank_graph_description(joining->graph, *(const uint32_t *)joining->posts.items);
    return what->communicator == first->communicator && what->operation <= BRAID_RANK_RECEIVE &&
           first->operation <= BRAID_RANK_RECEIVE &&
           joining->behind[joining->units.unit_of[post]] != joining->group;
}

static bool visit_post(struct joining *joining, uint32_t post)
{
    if (!can_join(joining, post) && !end_group(joining))
        return false;
    return braid_array_put(&joining->posts, &post, sizeof(post));
}

// In the order of adding: marks a unit with the group so far if it depends on the group's end.
static bool visit_unit(struct joining *joining, uint32_t unit)
{
    uint32_t node = joining->units.members[joining->units.first_of[unit]];
    for (uint32_t i = joining->first[unit]; i < joining->first[unit + 1]; i++) {
        if (joining->behind[joining->before[i]] == joining->group)
            joining->behind[unit] = joining->group;
    }
    if (graph_nodes(joining->graph)[node].kind == WORK_AWAIT)
        joining->behind[unit] = joining->group; // its post is the last in the group so far
    return graph_nodes(joining->graph)[node].kind != WORK_POST || visit_post(joining, node);
}

static uint32_t find_last_hint(const braid_graph *graph)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < graph_num_nodes(graph); i++)
        last = graph_nodes(graph)[i].lane_hint > last ? graph_nodes(graph)[i].lane_hint : last;
    return last;
}

// A communicator has a lane of its own; with hints up to the largest number there is none.
static void give_lanes(braid_graph *graph)
{
    struct graph_node *nodes = graph->nodes.items;
    uint32_t last = find_last_hint(graph);
    for (uint32_t i = 0; i < graph_num_nodes(graph); i++) {
        if (nodes[i].kind != WORK_POST)
            continue;
        uint32_t hint = last + 1 + rank_graph_description(graph, i)->communicator->number;
        nodes[i].lane_hint = hint > last ? hint : 0;
        if (nodes[i + 1].cost_ns) {
            nodes[i].cost_ns = nodes[i + 1].cost_ns;
            nodes[i + 1].cost_ns = AWAIT_NS;
        }
    }
}

static bool join(struct joining *joining)
{
    bool done = find_before(joining);
    joining->group = 1;
    for (uint32_t unit = 0; unit < joining->units.num_units && done; unit++)
        done = visit_unit(joining, unit);
    return done && end_group(joining);
}

braid_status braid_graph_join(const braid_graph *graph, braid_graph **out_joined)
{
    struct joining joining = { 0 };
    braid_status status = braid_graph_clone(graph, &joining.graph);
    if (status)
        return status;
    status = braid_graph_find_units(joining.graph, &joining.units);
    if (!status)
        status = braid_graph_find_links(joining.graph, &joining.links);
    if (!status && !join(&joining))
        status = braid_error_no_memory("operations between ranks");
    braid_graph_units_finish(&joining.units);
    braid_array_finish(&joining.links);
    braid_array_finish(&joining.posts);
    braid_store_finish(&joining.store);
    if (status) {
        braid_graph_destroy(joining.graph);
        return status;
    }
    give_lanes(joining.graph);
    *out_joined = joining.graph;
    return BRAID_OK;
}
