// SPDX-License-Identifier: Apache-2.0
// Explains a plan or a node in one line, or the order of two nodes. The cause of an order is the
// program's edges and data flow, a resource or hint, or the plan alone.
#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "plan/plan_early.h"
#include "plan/plan_limit.h"
#include "plan/plan_text.h"
#include "plan/schedule.h"

// Why no plan has a node.
#define EXPLAIN_LEFT_OUT "left out: no output of the graph needs its results"

// ---- explains an edge that follows from a resource by the access of each side ----

static bool overlap(const struct plan_graph *plan, uint32_t a, uint32_t b)
{
    const struct graph_resource *x = &plan->resources[a], *y = &plan->resources[b];
    if (a == b)
        return true;
    return x->buffer == y->buffer && x->offset < y->offset + y->bytes &&
           y->offset < x->offset + x->bytes;
}

static uint32_t combine(uint32_t a, uint32_t b)
{
    if (a == BRAID_EXCLUSIVE || b == BRAID_EXCLUSIVE)
        return BRAID_EXCLUSIVE;
    if (a == b)
        return a;
    return BRAID_READ_WRITE; // two different modes leave both a read and a write
}

// The access of a node to a resource: of several accesses the strongest; 0: none.
static uint32_t mode_of(const struct plan_graph *plan, uint32_t node, uint32_t resource)
{
    uint32_t mode = 0;
    for (uint32_t i = plan->access_first[node]; i < plan->access_first[node + 1]; i++) {
        const struct graph_access *access = &plan->accesses[i];
        if (!overlap(plan, access->resource, resource))
            continue;
        mode = mode ? combine(mode, access->mode) : access->mode;
    }
    return mode;
}

static void add_node(struct plan_text *text, const struct plan_graph *plan, uint32_t node)
{
    uint32_t main = plan_main_of(plan, plan_unit_of(plan, node));
    plan_text_add(text, "%s", braid_plan_node_name(plan, node));
    if (main != node)
        plan_text_add(text, " of %s", braid_plan_node_name(plan, main));
}

// The last node of the unit that writes the resource, else the last that touches it at all.
static uint32_t last_user(const struct plan_graph *plan, uint32_t unit, uint32_t resource)
{
    uint32_t last = plan_main_of(plan, unit);
    bool wrote = false;
    for (uint32_t i = 0; i < plan_unit_size(plan, unit); i++) {
        uint32_t node = plan_unit_member(plan, unit, i);
        uint32_t mode = mode_of(plan, node, resource);
        bool writes = mode > BRAID_READ;
        if (mode == 0 || (wrote && !writes))
            continue;
        last = node;
        wrote = writes;
    }
    return last;
}

// A prelude that overwrites a list or scratch after earlier work clears it.
static const char *second_verb(const struct plan_graph *plan, uint32_t node, uint32_t mode)
{
    switch (mode) {
    case BRAID_READ:
        return "read";
    case BRAID_WRITE:
        return plan_main_of(plan, plan_unit_of(plan, node)) == node ? "overwritten" : "cleared";
    case BRAID_READ_WRITE:
        return "changed";
    case BRAID_ACCUMULATE:
        return "added to";
    default:
        return "held";
    }
}

// Writes "(written by listgen of p2g, cleared by clear_list of g2p)": how the units at the two ends
// of a link use its resource.
static void explain_resource(struct plan_text *text, const struct plan_graph *plan,
                             const struct graph_link *link)
{
    uint32_t first = last_user(plan, plan_unit_of(plan, link->from), link->resource);
    uint32_t mode = mode_of(plan, first, link->resource);
    const char *verb = "written";
    if (mode == BRAID_EXCLUSIVE)
        verb = "held";
    else if (mode == BRAID_READ)
        verb = "read";
    else if (mode == BRAID_ACCUMULATE)
        verb = "added to";
    plan_text_add(text, "(%s by ", verb);
    add_node(text, plan, first);
    verb = second_verb(plan, link->to, mode_of(plan, link->to, link->resource));
    plan_text_add(text, ", %s by ", verb);
    add_node(text, plan, link->to);
    plan_text_add(text, ")");
}

// ---- orders by lanes ----

// Explains an order that the plan alone makes: one lane, or a path through lanes and waits.

#define NOT_REACHED UINT32_MAX
#define REACHED_AT_ONCE (UINT32_MAX - 1) // on the lane of the first node itself

// One wait on the path from the first node.
struct hop {
    uint32_t node;     // waited for
    uint32_t previous; // hop, or REACHED_AT_ONCE
};

struct lane_path {
    const struct braid_schedule *schedule;
    uint32_t *lane_hop; // per lane: by which hop what runs there next comes after the first node
    uint32_t *position_hop; // per position: likewise when it is recorded
    struct array hops;      // struct hop
};

static bool init_path(struct lane_path *path)
{
    const braid_schedule_info *info = &path->schedule->info;
    path->lane_hop = braid_allocate(((size_t)info->num_lanes + 1) * sizeof(uint32_t));
    path->position_hop = braid_allocate(((size_t)info->num_records + 1) * sizeof(uint32_t));
    if (!path->lane_hop || !path->position_hop)
        return false;
    for (uint32_t i = 0; i < info->num_lanes; i++)
        path->lane_hop[i] = NOT_REACHED;
    for (uint32_t i = 0; i < info->num_records; i++)
        path->position_hop[i] = NOT_REACHED;
    return true;
}

// Walks the steps from the first node to the second; the first hop found to a lane is kept.
static bool find_lane_path(struct lane_path *path, uint32_t first, uint32_t second,
                           uint32_t *out_hop)
{
    for (size_t i = 0; i < path->schedule->program.num_ops; i++) {
        const braid_step *step = &path->schedule->program.ops[i];
        uint32_t *lane_hop = &path->lane_hop[step->lane];
        if (step->kind == BRAID_STEP_RUN && step->node == second) {
            *out_hop = *lane_hop;
            return true;
        }
        if (step->kind == BRAID_STEP_RUN && step->node == first)
            *lane_hop = REACHED_AT_ONCE;
        if (step->kind == BRAID_STEP_RECORD)
            path->position_hop[step->position] = *lane_hop;
        if (step->kind != BRAID_STEP_WAIT || *lane_hop != NOT_REACHED ||
            path->position_hop[step->position] == NOT_REACHED)
            continue;
        struct hop *hop = braid_array_append(&path->hops, 1, sizeof(*hop));
        if (!hop)
            return false;
        *hop = (struct hop){ step->node, path->position_hop[step->position] };
        *lane_hop = (uint32_t)path->hops.num - 1;
    }
    *out_hop = NOT_REACHED;
    return true;
}

static void add_hops(struct plan_text *text, const struct lane_path *path, uint32_t hop)
{
    const struct hop *hops = path->hops.items;
    if (hops[hop].previous != REACHED_AT_ONCE) {
        add_hops(text, path, hops[hop].previous);
        plan_text_add(text, ",");
    }
    plan_text_add(text, " %s (lane %u)", braid_schedule_node_name(path->schedule, hops[hop].node),
                  path->schedule->lane_of[hops[hop].node]);
}

// Why the second node's unit waited for the unit just before it on its lane, if it is the first's.
static const char *why_delayed(const struct braid_schedule *schedule, uint32_t first,
                               uint32_t second)
{
    static const char *const texts[] = {
        [BRAID_SERIALISED_BY_LANES] = ": no lane was idle",
        [BRAID_SERIALISED_BY_WAIT_COST] = ": on another it would wait and start no earlier",
        [BRAID_SERIALISED_BY_MAX_CONCURRENT] = ": as many nodes ran as may run at once",
    };
    uint32_t unit = plan_unit_of(schedule->graph, second);
    for (uint32_t i = 0; i < schedule->info.num_serialisations; i++) {
        const braid_serialisation *pair = &schedule->serialisations[i];
        if (!schedule_is_delay(pair) || plan_unit_of(schedule->graph, pair->second) != unit)
            continue;
        bool same =
            plan_unit_of(schedule->graph, pair->first) == plan_unit_of(schedule->graph, first);
        return same ? texts[pair->cause] : "";
    }
    return "";
}

// Writes how lanes and waits order two nodes, the first of which was issued first, that the graph
// leaves free. False when memory runs out.
static bool explain_lanes(struct plan_text *text, const struct braid_schedule *schedule,
                          uint32_t first, uint32_t second)
{
    uint32_t lane = schedule->lane_of[second];
    if (schedule->lane_of[first] == lane) {
        plan_text_add(text, "share lane %u%s", lane, why_delayed(schedule, first, second));
        return true;
    }
    struct lane_path path = { .schedule = schedule };
    uint32_t hop;
    bool done = init_path(&path) && find_lane_path(&path, first, second, &hop);
    if (done && hop == NOT_REACHED) {
        plan_text_add(text, "free");
    } else if (done) {
        plan_text_add(text, "ordered by the plan alone, through");
        add_hops(text, &path, hop);
    }
    braid_free(path.lane_hop);
    braid_free(path.position_hop);
    braid_array_finish(&path.hops);
    return done;
}

// ---- one node ----

// Explains one node: why it is inside an island, or outside, its values that change, and the input
// that it fetches for the next kernel.

// The loop or branch that an island is; NULL: it is none.
static const struct program *find_body(const struct braid_schedule *schedule,
                                       const struct program *program, uint32_t island)
{
    const struct program *found = NULL;
    for (uint32_t i = 0; i < program->num_bodies && !found; i++) {
        const struct program *body = &program->bodies[i];
        bool is_it = schedule->division.island_of[body->node] == island;
        found = is_it ? body : find_body(schedule, body, island);
    }
    return found;
}

// Islands are stretches of lanes: the node's neighbours tell.
static void explain_inside(struct plan_text *text, const struct braid_schedule *schedule,
                           uint32_t node)
{
    const uint32_t *island_of = schedule->division.island_of;
    uint32_t lane = schedule->lane_of[node], call = 0, num = 0;
    uint32_t first = PLAN_NONE, last = PLAN_NONE;
    const struct program *body = find_body(schedule, &schedule->program, island_of[node]);
    if (body) {
        plan_text_add(text, node == body->node ? "island %u" : "in island %u", island_of[node]);
        plan_text_add(text, ", which is the %s '%s'",
                      braid_work_words[schedule->program.kinds[body->node]].kind,
                      braid_schedule_node_name(schedule, body->node));
        return;
    }
    for (uint32_t i = schedule->lane_first[lane]; i < schedule->lane_first[lane + 1]; i++) {
        uint32_t other = schedule->lane_nodes[i];
        if (island_of[other] != island_of[node])
            continue;
        num++;
        call = other == node ? num : call;
        first = first == PLAN_NONE ? other : first;
        last = other;
    }
    plan_text_add(text, "in island %u, call %u of %u, from '%s' to '%s'", island_of[node], call,
                  num, braid_schedule_node_name(schedule, first),
                  braid_schedule_node_name(schedule, last));
}

static void explain_island(struct plan_text *text, const struct braid_schedule *schedule,
                           uint32_t node)
{
    const struct plan_division *division = &schedule->division;
    if (schedule->no_rewriting)
        plan_text_add(text, "not in an island: it runs as the program gave it, by no_rewriting");
    else if (!division->island_of)
        plan_text_add(text, "not in an island: there are none on what it was planned for");
    else if (division->island_of[node] != PLAN_NONE)
        explain_inside(text, schedule, node);
    else
        plan_text_add(text, "not in an island: %s", division->why_outside[node]);
}

static void explain_prefetch(struct plan_text *text, const struct braid_schedule *schedule,
                             const struct plan_prefetch *prefetch)
{
    if (!prefetch->bytes && !prefetch->why_not)
        return;
    const char *input = braid_plan_resource_name(schedule->graph, prefetch->resource);
    const char *next = braid_schedule_node_name(schedule, prefetch->node);
    if (prefetch->bytes) {
        plan_text_add(text, "; fetches %llu bytes of %s for '%s'",
                      (unsigned long long)prefetch->bytes, input, next);
        return;
    }
    plan_text_add(text, "; fetches nothing of %s for '%s': ", input, next);
    if (prefetch->culprit != PLAN_NONE)
        plan_text_add(text, "'%s' ", braid_schedule_node_name(schedule, prefetch->culprit));
    plan_text_add(text, "%s", prefetch->why_not);
}

// Writes which accesses a node declares that its code never makes, or why nobody compared them.
static void explain_code(struct plan_text *text, const struct plan_graph *plan, uint32_t node)
{
    const struct code_remark *items = plan->code_remarks.items.items;
    const char *texts = plan->code_remarks.texts.items;
    for (size_t i = 0; i < plan->code_remarks.items.num; i++) {
        if (items[i].node != node)
            continue;
        if (items[i].resource == PLAN_NONE)
            plan_text_add(text, "; its accesses were not compared with its code: %s",
                          texts + items[i].why);
        else
            plan_text_add(text, "; its code never %s '%s', as it declares",
                          !items[i].never_writes  ? "reads"
                          : !items[i].never_reads ? "writes"
                                                  : "reads or writes",
                          braid_plan_resource_name(plan, items[i].resource));
    }
}

// Writes the node's island, or why it is in none, its values that parameters change, and the bytes
// that it fetches for the next kernel. Remarks about its code come last.
static void explain_node(struct plan_text *text, const struct braid_schedule *schedule,
                         uint32_t node)
{
    const char *changes = braid_plan_node_changes(schedule->graph, node);
    if (schedule_left_out(schedule, node)) {
        plan_text_add(text, EXPLAIN_LEFT_OUT);
        return;
    }
    explain_island(text, schedule, node);
    if (changes[0])
        plan_text_add(text, "; changed by %s", changes);
    if (schedule->prefetches)
        explain_prefetch(text, schedule, &schedule->prefetches[node]);
    explain_code(text, schedule->graph, node);
}

// ---- plans and orders ----

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
    explain_resource(text, plan, link);
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
    if (!explain_lanes(text, schedule, first, second))
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
    path.edge_after = braid_allocate(num * sizeof(uint32_t));
    path.node_after = braid_allocate(num * sizeof(uint32_t));
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
    braid_free(path.edge_after);
    braid_free(path.node_after);
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
        explain_node(&text, schedule, nodes[0].index);
    else
        status = explain_pair(&text, schedule, nodes[0].index, nodes[1].index);
    return status;
}
