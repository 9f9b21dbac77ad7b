// SPDX-License-Identifier: Apache-2.0
// Dealing the graph of all ranks out to them, with the transfers that Braid would insert, and
// planning each rank's part with the library's planner.
#include "ranks_plan.h"

#include <stdlib.h>

#include <braid/schedule.h>

#include "base/store.h"
#include "dot_seen.h"
#include "progress.h"

// What has been sent to whom, and where each task became a node.
struct dealing {
    const struct ranks_world *world;
    const struct ranks_network *network;
    struct ranks_plan *plan;
    uint32_t *node_of;        // by task
    struct dot_seen sent;     // the message from a task to a rank
    struct ranks_edge *needs; // between nodes of one rank
    size_t num_needs, room_needs;
};

static bool add_node(struct dealing *dealing, struct ranks_node node)
{
    struct ranks_plan *plan = dealing->plan;
    if (!ranks_make_room(&plan->nodes, plan->num_nodes, &plan->room_nodes, sizeof(node)))
        return false;
    plan->nodes[plan->num_nodes++] = node;
    return true;
}

static bool add_need(struct dealing *dealing, uint32_t from, uint32_t to)
{
    if (!ranks_make_room(&dealing->needs, dealing->num_needs, &dealing->room_needs,
                         sizeof(*dealing->needs)))
        return false;
    dealing->needs[dealing->num_needs++] = (struct ranks_edge){ from, to };
    return true;
}

// The message from a task to a rank, which is the next one if there was none. NULL: no memory.
static const struct dot_seen_key *find_message(struct dealing *dealing, uint32_t task,
                                               uint32_t rank, bool *out_is_new)
{
    return dot_seen_add(&dealing->sent, (uint64_t)task << 32 | rank, 0,
                        (uint32_t)dealing->plan->num_messages, out_is_new);
}

// What a task makes goes to a rank that needs it.
static bool add_message(struct dealing *dealing, uint32_t task, uint32_t rank)
{
    struct ranks_plan *plan = dealing->plan;
    const struct ranks_task *made = &dealing->world->tasks[task];
    const struct ranks_network *network = dealing->network;
    uint32_t number = (uint32_t)plan->num_messages, node = (uint32_t)plan->num_nodes;
    double own = network->overhead_ns < 1 ? 1 : network->overhead_ns;
    double way = own + network->latency_ns + (double)made->bytes * network->ns_per_byte;
    if (!ranks_make_room(&plan->messages, number, &plan->room_messages, sizeof(*plan->messages)) ||
        !add_node(dealing, (struct ranks_node){ .cost_ns = (uint64_t)own,
                                                .rank = made->rank,
                                                .message = number,
                                                .kind = RANKS_SEND }) ||
        !add_node(dealing, (struct ranks_node){ .cost_ns = (uint64_t)way,
                                                .rank = rank,
                                                .message = number,
                                                .kind = RANKS_RECEIVE }) ||
        !add_need(dealing, dealing->node_of[task], node))
        return false;
    plan->messages[plan->num_messages++] = (struct ranks_message){ made->bytes, node, node + 1 };
    return true;
}

static bool deal_task(struct dealing *dealing, uint32_t task, size_t *edge)
{
    const struct ranks_world *world = dealing->world;
    uint32_t rank = world->tasks[task].rank;
    size_t first = *edge, end = first;
    for (; end < world->num_edges && world->edges[end].to == task; end++) {
        uint32_t from = world->edges[end].from;
        bool is_new = false;
        if (world->tasks[from].rank != rank && (!find_message(dealing, from, rank, &is_new) ||
                                                (is_new && !add_message(dealing, from, rank))))
            return false;
    }
    dealing->node_of[task] = (uint32_t)dealing->plan->num_nodes;
    if (!add_node(dealing, (struct ranks_node){ .cost_ns = world->tasks[task].cost_ns,
                                                .rank = rank,
                                                .kind = RANKS_COMPUTE }))
        return false;
    for (size_t i = first; i < end; i++) {
        uint32_t from = world->edges[i].from, before = dealing->node_of[from];
        bool is_new;
        if (world->tasks[from].rank != rank) {
            const struct dot_seen_key *sent = find_message(dealing, from, rank, &is_new);
            if (!sent)
                return false;
            before = dealing->plan->messages[sent->number].receive;
        }
        if (!add_need(dealing, before, dealing->node_of[task]))
            return false;
    }
    *edge = end;
    return true;
}

static bool deal(struct dealing *dealing)
{
    const struct ranks_world *world = dealing->world;
    size_t edge = 0;
    dealing->node_of = malloc((world->num_tasks + 1) * sizeof(uint32_t));
    bool done = dealing->node_of;
    for (uint32_t i = 0; i < world->num_tasks && done; i++)
        done = deal_task(dealing, i, &edge);
    return done;
}

// ---- planning a rank ----

static void compute(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static void call(void *user)
{
    (void)user;
}

static const braid_kernel kernel = { .name = "task", .cpu = compute };

// Nodes and needs by rank.
struct parts {
    uint32_t *first_node, *nodes; // each rank's, in their order
    uint32_t *local;              // by node: which of its rank's it is
    uint32_t *first_need, *needs; // by node: what it needs
    struct store store;           // holds these
};

static bool sort_parts(const struct dealing *dealing, struct parts *parts)
{
    const struct ranks_plan *plan = dealing->plan;
    struct store *store = &parts->store;
    parts->first_node = braid_store_take(store, (size_t)plan->num_ranks + 2, sizeof(uint32_t));
    parts->nodes = braid_store_take(store, plan->num_nodes, sizeof(uint32_t));
    parts->local = braid_store_take(store, plan->num_nodes, sizeof(uint32_t));
    parts->first_need = braid_store_take(store, plan->num_nodes + 2, sizeof(uint32_t));
    parts->needs = braid_store_take(store, dealing->num_needs, sizeof(uint32_t));
    if (store->failed)
        return false;
    for (size_t i = 0; i < plan->num_nodes; i++)
        parts->first_node[plan->nodes[i].rank + 2]++;
    for (uint32_t i = 0; i < plan->num_ranks; i++)
        parts->first_node[i + 2] += parts->first_node[i + 1];
    for (uint32_t i = 0; i < plan->num_nodes; i++) {
        uint32_t *place = &parts->first_node[plan->nodes[i].rank + 1];
        parts->nodes[(*place)++] = i;
    }
    for (uint32_t i = 0; i < plan->num_nodes; i++)
        parts->local[parts->nodes[i]] = i - parts->first_node[plan->nodes[parts->nodes[i]].rank];
    for (size_t i = 0; i < dealing->num_needs; i++)
        parts->first_need[dealing->needs[i].to + 2]++;
    for (size_t i = 0; i < plan->num_nodes; i++)
        parts->first_need[i + 2] += parts->first_need[i + 1];
    for (size_t i = 0; i < dealing->num_needs; i++)
        parts->needs[parts->first_need[dealing->needs[i].to + 1]++] = dealing->needs[i].from;
    return true;
}

static braid_status add_to_graph(braid_graph *graph, braid_resource posts,
                                 const struct ranks_plan *plan, const struct parts *parts,
                                 uint32_t node)
{
    const struct ranks_node *given = &plan->nodes[node];
    uint32_t first = parts->first_need[node], num = parts->first_need[node + 1] - first;
    const braid_access access = { posts, BRAID_EXCLUSIVE };
    braid_node_options options = { .cost_ns = given->cost_ns };
    braid_node added;
    braid_status status = BRAID_OK;
    if (given->kind == RANKS_SEND) {
        options.accesses = &access;
        options.num_accesses = 1;
    }
    if (given->kind == RANKS_COMPUTE)
        status = braid_graph_add_kernel(
            graph, &(braid_kernel_node){ .node = options, .kernel = &kernel }, &added);
    else
        status = braid_graph_add_host_call(
            graph,
            &(braid_host_call){
                .node = options, .call = call, .blocking = given->kind == RANKS_RECEIVE },
            &added);
    for (uint32_t i = 0; i < num && !status; i++)
        status = braid_graph_add_edge(
            graph, braid_graph_get_node(graph, parts->local[parts->needs[first + i]]), added);
    return status;
}

struct lane {
    uint32_t last;  // node that runs before the next, from 1
    uint32_t waits; // edges to the next, from 1; each has the one before it as its `to` until then
};

static bool add_edge(struct ranks_plan *plan, uint32_t from, uint32_t to)
{
    if (!ranks_make_room(&plan->edges, plan->num_edges, &plan->room_edges, sizeof(*plan->edges)))
        return false;
    plan->edges[plan->num_edges++] = (struct ranks_edge){ from, to };
    return true;
}

static bool run_node(struct ranks_plan *plan, struct lane *lane, uint32_t node)
{
    while (lane->waits) {
        struct ranks_edge *edge = &plan->edges[lane->waits - 1];
        lane->waits = edge->to;
        edge->to = node;
    }
    bool done = !lane->last || add_edge(plan, lane->last - 1, node);
    lane->last = node + 1;
    return done;
}

// Nodes follow each other on their lanes, and wait for others where the plan says so.
static bool take_steps(struct ranks_plan *plan, const uint32_t *nodes, const braid_graph *graph,
                       const braid_schedule *schedule, struct lane *lanes)
{
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    const braid_step *steps = info.steps;
    bool done = true;
    for (size_t i = 0; i < info.num_steps && done; i++) {
        struct lane *lane = &lanes[steps[i].lane];
        uint32_t node = nodes[steps[i].node];
        if (steps[i].kind == BRAID_STEP_RUN) {
            braid_placement placement;
            done = run_node(plan, lane, node) &&
                   !braid_schedule_get_placement(
                       schedule, braid_graph_get_node(graph, steps[i].node), &placement);
            if (done)
                plan->nodes[node].planned_ns = placement.start_ns;
        } else if (steps[i].kind == BRAID_STEP_WAIT) {
            done = add_edge(plan, node, lane->waits);
            lane->waits = (uint32_t)plan->num_edges;
        }
    }
    return done;
}

static enum exit_status plan_graph(struct ranks_plan *plan, const uint32_t *nodes,
                                   const braid_graph *graph, uint32_t num_workers, bool is_free)
{
    // A wide plan has no limit of workers: it tells when each node could run at the soonest, and
    // workers take nodes in that order. With the limit, nodes with late messages would come first.
    const braid_schedule_options options = {
        // Receives are planned for lanes of their own as well.
        .max_lanes = is_free ? BRAID_ALL_LANES : num_workers + 2,
        .fixed_lanes = is_free,
        .costs = &(braid_cost_model){ .max_concurrent = is_free ? 0 : num_workers },
    };
    braid_schedule *schedule;
    if (braid_schedule_create(graph, &options, &schedule) != BRAID_OK)
        return fail_in_library();
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    struct lane *lanes = calloc((size_t)info.num_lanes + 1, sizeof(*lanes));
    bool done = lanes && take_steps(plan, nodes, graph, schedule, lanes);
    free(lanes);
    braid_schedule_destroy(schedule);
    return done ? EXIT_DONE : fail(EXIT_FAILED, "out of memory for the plans of ranks");
}

static enum exit_status plan_rank(struct ranks_plan *plan, const struct parts *parts, uint32_t rank,
                                  uint32_t num_workers, bool is_free)
{
    uint32_t first = parts->first_node[rank], end = parts->first_node[rank + 1];
    braid_graph *graph = NULL;
    braid_resource posts;
    if (first == end)
        return EXIT_DONE;
    braid_status status = braid_graph_create(&graph);
    if (!status)
        status = braid_graph_add_resource(graph, "posts", &posts);
    for (uint32_t i = first; i < end && !status; i++)
        status = add_to_graph(graph, posts, plan, parts, parts->nodes[i]);
    enum exit_status done =
        status ? fail_in_library()
               : plan_graph(plan, parts->nodes + first, graph, num_workers, is_free);
    braid_graph_destroy(graph);
    return done;
}

static enum exit_status plan_ranks(const struct dealing *dealing, uint32_t num_workers,
                                   bool is_free)
{
    struct parts parts = { 0 };
    enum exit_status status = EXIT_DONE;
    if (!sort_parts(dealing, &parts))
        status = fail(EXIT_FAILED, "out of memory for the graph of all ranks");
    for (uint32_t i = 0; i < dealing->plan->num_ranks && status == EXIT_DONE; i++) {
        progress_show("planning ranks", i, dealing->plan->num_ranks);
        status = plan_rank(dealing->plan, &parts, i, num_workers, is_free);
    }
    progress_clear();
    braid_store_finish(&parts.store);
    return status;
}

enum exit_status ranks_plan_make(const struct ranks_world *world,
                                 const struct ranks_network *network, uint32_t num_workers,
                                 bool is_free, struct ranks_plan *out_plan)
{
    struct ranks_plan plan = { .num_ranks = world->num_ranks };
    struct dealing dealing = { .world = world, .network = network, .plan = &plan };
    enum exit_status status = deal(&dealing)
                                  ? plan_ranks(&dealing, num_workers, is_free)
                                  : fail(EXIT_FAILED, "out of memory for the graph of all ranks");
    free(dealing.node_of);
    free(dealing.sent.keys);
    free(dealing.needs);
    if (status == EXIT_DONE)
        *out_plan = plan;
    else
        ranks_plan_finish(&plan);
    return status;
}

void ranks_plan_finish(struct ranks_plan *plan)
{
    free(plan->nodes);
    free(plan->messages);
    free(plan->edges);
    *plan = (struct ranks_plan){ 0 };
}
