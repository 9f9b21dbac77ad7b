// SPDX-License-Identifier: Apache-2.0
// Explains a plan or a node in one line, or the order of two nodes. The cause of an order is the
// program's edges and data flow, a resource or hint, or the plan alone.
#include "report/explain.h"

#include "base/array.h"
#include "base/error.h"

// The search for a path of the fewest edges goes backward from the second node, level by level.
// Nodes before a node in its bundle are as near as the node itself.
struct path {
    const struct plan_graph *plan;
    bool flow_only;       // explicit edges and data flow, nothing that was forced
    uint32_t *edge_after; // per node seen: the edge towards the second, PLAN_NONE inside a bundle
    uint32_t *node_after; // per node seen: the node next on the path, itself for the second
    struct array queue;   // uint32_t
};

static bool may_follow(const struct path *path, uint32_t edge)
{
    const struct plan_graph *plan = path->plan;
    if (!path->flow_only || !plan->pred_reasons)
        return true;
    uint32_t reason = plan->pred_reasons[edge];
    return reason == PLAN_BY_EDGE ||
           (reason != PLAN_BY_HINT && plan->links[reason].hazard == GRAPH_READ_AFTER_WRITE);
}

static bool see_node(struct path *path, uint32_t node, uint32_t edge, uint32_t after)
{
    while (node != PLAN_NONE && path->node_after[node] == PLAN_NONE) {
        path->node_after[node] = after;
        path->edge_after[node] = edge;
        uint32_t *slot = braid_array_append(&path->queue, 1, sizeof(*slot));
        if (!slot)
            return false;
        *slot = node;
        after = node;
        edge = PLAN_NONE;
        node = plan_member_before(path->plan, node);
    }
    return true;
}

// False when memory runs out; whether there is a path, node_after of `first` then says.
static bool find_path(struct path *path, uint32_t first, uint32_t second)
{
    const struct plan_graph *plan = path->plan;
    path->queue.num = 0;
    for (uint32_t i = 0; i < plan->num_nodes; i++)
        path->node_after[i] = PLAN_NONE;
    if (!see_node(path, second, PLAN_NONE, second))
        return false;
    for (size_t i = 0; i < path->queue.num && path->node_after[first] == PLAN_NONE; i++) {
        uint32_t node = ((uint32_t *)path->queue.items)[i];
        for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1]; e++) {
            if (may_follow(path, e) && !see_node(path, plan->pred_nodes[e], e, node))
                return false;
        }
    }
    return true;
}

static void say_link(struct plan_text *text, const struct plan_graph *plan, uint32_t reason)
{
    const struct graph_link *link = &plan->links[reason];
    bool flow = link->hazard == GRAPH_READ_AFTER_WRITE;
    plan_text_add(text, "%s %s ", flow ? "ordered by data in" : "serialised by",
                  braid_plan_resource_name(plan, link->resource));
    braid_explain_resource(text, plan, link);
}

// The next node on a path, from `node` on, that an edge leads away from.
static uint32_t find_edge(const struct path *path, uint32_t node)
{
    while (path->edge_after[node] == PLAN_NONE)
        node = path->node_after[node];
    return node;
}

static void say_edge(struct plan_text *text, const struct path *path, uint32_t from)
{
    const struct plan_graph *plan = path->plan;
    uint32_t reason =
        plan->pred_reasons ? plan->pred_reasons[path->edge_after[from]] : PLAN_BY_EDGE;
    if (reason == PLAN_BY_EDGE)
        plan_text_add(text, "ordered by an edge from %s to %s", braid_plan_node_name(plan, from),
                      braid_plan_node_name(plan, path->node_after[from]));
    else if (reason == PLAN_BY_HINT)
        plan_text_add(text, "serialised by lane hint %u", plan->hint_of[plan_unit_of(plan, from)]);
    else
        say_link(text, plan, reason);
}

// Names the bundles between the first node's and the second's.
static void say_path(struct plan_text *text, const struct path *path, uint32_t first,
                     uint32_t second)
{
    enum { MOST_NAMES = 12 };
    const struct plan_graph *plan = path->plan;
    uint32_t from = find_edge(path, first), last = plan_unit_of(plan, second);
    if (plan_unit_of(plan, path->node_after[from]) == last) {
        say_edge(text, path, from);
        return;
    }
    const char *separator = path->flow_only ? "ordered through " : "serialised through ";
    uint32_t num = 0;
    uint32_t unit = plan_unit_of(plan, path->node_after[from]);
    while (unit != last) {
        if (num++ < MOST_NAMES)
            plan_text_add(text, "%s%s", separator, braid_plan_unit_name(plan, unit));
        separator = ", ";
        from = find_edge(path, path->node_after[from]);
        unit = plan_unit_of(plan, path->node_after[from]);
    }
    if (num > MOST_NAMES)
        plan_text_add(text, " and %u more", num - MOST_NAMES);
}

// Which of two nodes of a program was issued first: all steps are in issue order.
static bool was_issued_first(const struct program *program, uint32_t a, uint32_t b)
{
    size_t i = 0;
    while (!program_has_node(&program->ops[i]) ||
           (program->ops[i].node != a && program->ops[i].node != b))
        i++;
    return program->ops[i].node == a;
}

// The program of the tree that a node is in, not inside a region of that.
static const struct program *find_home(const struct program *program, uint32_t node)
{
    for (size_t i = 0; i < program->num_ops; i++) {
        if (program_has_node(&program->ops[i]) && program->ops[i].node == node)
            return program;
    }
    const struct program *home = NULL;
    for (uint32_t i = 0; i < program->num_bodies && !home; i++)
        home = find_home(&program->bodies[i], node);
    return home;
}

// Replaces nodes by the regions around them until both are in one program, which is returned.
static const struct program *find_common_home(const struct program *root, uint32_t *a, uint32_t *b)
{
    for (uint32_t x = *a;;) {
        const struct program *home = find_home(root, x);
        for (uint32_t y = *b;;) {
            const struct program *other = find_home(root, y);
            if (other == home) {
                *a = x;
                *b = y;
                return home;
            }
            if (other == root)
                break;
            y = other->node;
        }
        x = home->node; // it is not the root, in which all nodes are, or regions around them
    }
}

// Two nodes that only the plan orders may be in bundles of which other parts are ordered.
static bool say_plan(struct plan_text *text, const struct braid_schedule *schedule,
                     struct path *path, uint32_t first, uint32_t second)
{
    const struct plan_graph *plan = path->plan;
    const struct program *home = find_home(&schedule->program, first);
    if (home != &schedule->program) {
        plan_text_add(text, "not ordered by data: the lanes of '%s' decide",
                      braid_plan_node_name(plan, home->node));
        return true;
    }
    uint32_t start = plan_first_member(plan, plan_unit_of(plan, first));
    uint32_t end = plan_last_member(plan, plan_unit_of(plan, second));
    if (!braid_explain_lanes(text, schedule, first, second))
        return false;
    if (start == first && end == second)
        return true;
    path->flow_only = false;
    if (!find_path(path, start, end))
        return false;
    if (path->node_after[start] != PLAN_NONE) {
        plan_text_add(text, "; their bundles are ");
        say_path(text, path, start, end);
    }
    return true;
}

// Looks for a way that the program wants before one that was forced, so that only pairs without
// any data flow are called serialised.
static braid_status explain_nodes(struct plan_text *text, const struct braid_schedule *schedule,
                                  uint32_t first, uint32_t second)
{
    struct path path = { .plan = schedule->graph };
    size_t num = (size_t)path.plan->num_nodes + 1;
    path.edge_after = malloc(num * sizeof(uint32_t));
    path.node_after = malloc(num * sizeof(uint32_t));
    bool done = path.edge_after && path.node_after;
    bool found = false;
    for (int forced = 0; done && !found && forced < 2; forced++) {
        path.flow_only = !forced;
        done = find_path(&path, first, second);
        found = done && path.node_after[first] != PLAN_NONE;
    }
    if (found)
        say_path(text, &path, first, second);
    else if (done)
        done = say_plan(text, schedule, &path, first, second);
    free(path.edge_after);
    free(path.node_after);
    braid_array_finish(&path.queue);
    return done ? BRAID_OK : braid_error_no_memory("an explanation");
}

static void say_bundle(struct plan_text *text, const struct plan_graph *plan, uint32_t a,
                       uint32_t b)
{
    uint32_t unit = plan_unit_of(plan, a);
    uint32_t first = plan->units.index_of[a] < plan->units.index_of[b] ? a : b;
    plan_text_add(text, "%s runs before %s in the bundle of %s", braid_plan_node_name(plan, first),
                  braid_plan_node_name(plan, first == a ? b : a), braid_plan_unit_name(plan, unit));
}

static braid_status explain_pair(struct plan_text *text, const struct braid_schedule *schedule,
                                 uint32_t a, uint32_t b)
{
    const struct plan_graph *plan = schedule->graph;
    if (schedule_left_out(schedule, a) || schedule_left_out(schedule, b)) {
        plan_text_add(text, "%s is " EXPLAIN_LEFT_OUT,
                      braid_plan_node_name(plan, schedule_left_out(schedule, a) ? a : b));
        return BRAID_OK;
    }
    if (plan_unit_of(plan, a) == plan_unit_of(plan, b)) {
        say_bundle(text, plan, a, b);
        return BRAID_OK;
    }
    const uint32_t first = a, second = b;
    const struct program *home = find_common_home(&schedule->program, &a, &b);
    if (a == b && a != first && a != second) {
        plan_text_add(text, "%s and %s are in the two arms of %s, of which one runs",
                      braid_plan_node_name(plan, first), braid_plan_node_name(plan, second),
                      braid_plan_node_name(plan, a));
        return BRAID_OK;
    }
    if (a == b) {
        plan_text_add(
            text, "%s is in the %s %s", braid_plan_node_name(plan, a == first ? second : first),
            braid_work_words[schedule->program.kinds[a]].kind, braid_plan_node_name(plan, a));
        return BRAID_OK;
    }
    bool a_first = was_issued_first(home, a, b);
    return explain_nodes(text, schedule, a_first ? a : b, a_first ? b : a);
}

static braid_status check(const braid_schedule *schedule, const braid_node *nodes, size_t num_nodes,
                          const char *out_text, size_t size)
{
    static const char function[] = "braid_schedule_explain";
    if (!schedule || !out_text || (num_nodes && !nodes))
        return braid_error_null(function, !schedule   ? "schedule"
                                          : !out_text ? "out_text"
                                                      : "nodes");
    if (size == 0)
        return braid_error_invalid("%s: size is 0", function);
    if (num_nodes > 2)
        return braid_error_invalid("%s: %zu nodes, and two at most are explained", function,
                                   num_nodes);
    for (size_t i = 0; i < num_nodes; i++) {
        if (nodes[i].graph != schedule->graph_id || nodes[i].index >= schedule->info.num_nodes)
            return braid_error_invalid("%s: node %u of graph %u is not in this schedule", function,
                                       nodes[i].index, nodes[i].graph);
    }
    return BRAID_OK;
}

braid_status braid_schedule_explain(const braid_schedule *schedule, const braid_node *nodes,
                                    size_t num_nodes, char *out_text, size_t size)
{
    braid_status status = check(schedule, nodes, num_nodes, out_text, size);
    if (status)
        return status;
    struct plan_text text = { .bytes = out_text, .size = size };
    out_text[0] = '\0';
    if (num_nodes == 0)
        braid_explain_limit(&text, schedule);
    else if (num_nodes == 1 || nodes[0].index == nodes[1].index)
        braid_explain_node(&text, schedule, nodes[0].index);
    else
        status = explain_pair(&text, schedule, nodes[0].index, nodes[1].index);
    return status;
}
