// SPDX-License-Identifier: Apache-2.0
// The graph that is planned: its names, its edges, and an order of its nodes.
#include "plan/plan_graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/big_memory.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/node_text.h"
#include "base/pointer_map.h"
#include "graph/changes.h"
#include "graph/code.h"
#include "graph/extents.h"
#include "graph/placed.h"
#include "graph/regions.h"
#include "plan/plan_text.h"

// ---- names ----

// Copies a graph's names: given names one by one, derived names once for all nodes sharing them.

static bool append_text(struct array *text, const char *name, uint32_t *out_offset)
{
    size_t bytes = strlen(name) + 1;
    if (text->num + bytes > UINT32_MAX)
        return false;
    *out_offset = (uint32_t)text->num;
    void *to = braid_array_append(text, bytes, 1);
    if (to)
        memcpy(to, name, bytes);
    return to;
}

// `offsets_of` has the offset of each derived name by the address that it was derived from.
static bool derive_name(struct pointer_map *offsets_of, struct array *text, const char *name,
                        uint32_t *out_offset)
{
    *out_offset = braid_pointer_map_get(offsets_of, name);
    if (*out_offset != POINTER_MAP_NONE)
        return true;
    if (!braid_pointer_map_reserve(offsets_of) || !append_text(text, name, out_offset))
        return false;
    braid_pointer_map_put(offsets_of, name, *out_offset);
    return true;
}

static bool copy_node_names(const braid_graph *graph, struct array *text, uint32_t *offsets)
{
    const struct graph_node *nodes = graph_nodes(graph);
    struct pointer_map offsets_of = { 0 };
    bool done = true;
    for (uint32_t i = 0; done && i < graph_num_nodes(graph); i++) {
        const char *name = braid_graph_name(graph, i);
        done = nodes[i].name == NAMES_NONE ? derive_name(&offsets_of, text, name, &offsets[i])
                                           : append_text(text, name, &offsets[i]);
    }
    braid_pointer_map_finish(&offsets_of);
    return done;
}

static bool all_share_one_name(const braid_graph *graph)
{
    const struct graph_node *nodes = graph_nodes(graph);
    const char *first = graph_num_nodes(graph) ? braid_graph_name(graph, 0) : "";
    for (uint32_t i = 0; i < graph_num_nodes(graph); i++) {
        if (nodes[i].name != NAMES_NONE || braid_graph_name(graph, i) != first)
            return false;
    }
    return true;
}

static bool copy_resource_names(const braid_graph *graph, struct array *text, uint32_t *offsets)
{
    char buffer[512];
    for (uint32_t i = 0; i < graph->resources.num; i++) {
        const char *name = braid_graph_resource_name(graph, i, buffer, sizeof(buffer));
        if (!append_text(text, name, &offsets[i]))
            return false;
    }
    return true;
}

// Nodes of which nothing changes share one empty text.
static bool copy_changes(const braid_graph *graph, struct array *text, uint32_t *offsets)
{
    struct graph_changes changes;
    char buffer[1024];
    uint32_t none = 0;
    if (braid_graph_find_changes(graph, &changes))
        return false;
    bool done = append_text(text, "", &none);
    for (uint32_t i = 0; done && i < graph_num_nodes(graph); i++) {
        offsets[i] = none;
        if (!graph_changes_of(&changes, i))
            continue;
        braid_graph_describe_changes(graph, &changes, i, buffer, sizeof(buffer));
        done = append_text(text, buffer, &offsets[i]);
    }
    braid_graph_changes_finish(&changes);
    return done;
}

// Names that many nodes share (a kernel's, a kind's) are stored once. False when memory runs out.
static bool plan_names_copy(const braid_graph *graph, struct plan_names *names)
{
    struct array text = { 0 };
    uint32_t unused;
    bool shared = all_share_one_name(graph);
    const char *common = graph_num_nodes(graph) ? braid_graph_name(graph, 0) : "";
    bool done = true;
    if (shared) {
        done = append_text(&text, common, &unused);
    } else {
        names->of_node =
            braid_allocate_zeroed((size_t)graph_num_nodes(graph) + 1, sizeof(uint32_t));
        done = names->of_node && copy_node_names(graph, &text, names->of_node);
    }
    if (done && graph->resources.num) {
        names->of_resource = braid_allocate_zeroed(graph->resources.num, sizeof(uint32_t));
        done = names->of_resource && copy_resource_names(graph, &text, names->of_resource);
    }
    if (done && graph->uses.num) {
        names->of_change =
            braid_allocate_zeroed((size_t)graph_num_nodes(graph) + 1, sizeof(uint32_t));
        done = names->of_change && copy_changes(graph, &text, names->of_change);
    }
    names->text = text.items;
    return done;
}

static void plan_names_finish(struct plan_names *names)
{
    braid_free(names->text);
    braid_free(names->of_node);
    braid_free(names->of_resource);
    braid_free(names->of_change);
}

// ---- edges ----

// All edges between nodes, by two counting sorts: first by the node they lead to, then by the node
// they leave.

// Visits every edge between nodes of two different units in a fixed order.
typedef void edge_visitor(struct plan_graph *plan, uint32_t from, uint32_t to, uint32_t reason);

static inline void visit_edges(const braid_graph *graph, struct plan_graph *plan,
                               edge_visitor *visit)
{
    const struct graph_edge *edges = graph_edges(graph);
    for (size_t i = 0; i < graph->edges.num; i++) {
        if (plan_unit_of(plan, edges[i].from) != plan_unit_of(plan, edges[i].to))
            visit(plan, edges[i].from, edges[i].to, PLAN_BY_EDGE);
    }
    for (size_t i = 0; i < plan->num_links; i++)
        visit(plan, plan->links[i].from, plan->links[i].to, (uint32_t)i);
    for (uint32_t unit = 0; plan->hint_before && unit < plan->num_units; unit++) {
        uint32_t before = plan->hint_before[unit];
        if (before != PLAN_NONE)
            visit(plan, plan_last_member(plan, before), plan_first_member(plan, unit),
                  PLAN_BY_HINT);
    }
}

// Counts stand two places up, so that filling leaves the starts in their right places.
static inline void count_edge(struct plan_graph *plan, uint32_t from, uint32_t to, uint32_t reason)
{
    (void)from;
    (void)reason;
    plan->pred_first[(size_t)to + 2]++;
}

static inline void place_edge(struct plan_graph *plan, uint32_t from, uint32_t to, uint32_t reason)
{
    uint32_t at = plan->pred_first[(size_t)to + 1]++;
    plan->pred_nodes[at] = from;
    if (plan->pred_reasons)
        plan->pred_reasons[at] = reason;
}

static void sum_counts(uint32_t *first, uint32_t num)
{
    for (size_t i = 1; i <= (size_t)num + 1; i++)
        first[i] += first[i - 1];
}

static bool sort_by_target(const braid_graph *graph, struct plan_graph *plan)
{
    plan->pred_first = plan_allocate_zeroed((size_t)plan->num_nodes + 1, sizeof(uint32_t));
    if (!plan->pred_first)
        return false;
    visit_edges(graph, plan, count_edge);
    sum_counts(plan->pred_first, plan->num_nodes);
    plan->num_edges = plan->pred_first[(size_t)plan->num_nodes + 1];
    plan->pred_nodes = plan_allocate(plan->num_edges, sizeof(uint32_t));
    bool reasons = plan->num_links || plan->hint_before;
    if (reasons)
        plan->pred_reasons = plan_allocate(plan->num_edges, sizeof(uint32_t));
    if (!plan->pred_nodes || (reasons && !plan->pred_reasons))
        return false;
    visit_edges(graph, plan, place_edge);
    return true;
}

static bool sort_by_source(struct plan_graph *plan)
{
    plan->succ_first = plan_allocate_zeroed((size_t)plan->num_nodes + 1, sizeof(uint32_t));
    plan->succ_nodes = plan_allocate(plan->num_edges, sizeof(uint32_t));
    if (!plan->succ_first || !plan->succ_nodes)
        return false;
    for (uint32_t i = 0; i < plan->num_edges; i++)
        plan->succ_first[(size_t)plan->pred_nodes[i] + 2]++;
    sum_counts(plan->succ_first, plan->num_nodes);
    for (uint32_t node = 0; node < plan->num_nodes; node++) {
        for (uint32_t i = plan->pred_first[node]; i < plan->pred_first[node + 1]; i++)
            plan->succ_nodes[plan->succ_first[(size_t)plan->pred_nodes[i] + 1]++] = node;
    }
    return true;
}

static bool all_go_forward(const struct plan_graph *plan)
{
    for (uint32_t node = 0; node < plan->num_nodes; node++) {
        for (uint32_t i = plan->pred_first[node]; i < plan->pred_first[node + 1]; i++) {
            if (plan->pred_nodes[i] >= node)
                return false;
        }
    }
    return !plan->units.members;
}

static braid_status check_inner_edges(const braid_graph *graph, const struct plan_graph *plan)
{
    const struct graph_edge *edges = graph_edges(graph);
    for (size_t i = 0; plan->units.unit_of && i < graph->edges.num; i++) {
        uint32_t from = edges[i].from, to = edges[i].to;
        uint32_t unit = plan_unit_of(plan, from);
        if (unit != plan_unit_of(plan, to) || plan->units.index_of[from] < plan->units.index_of[to])
            continue;
        uint32_t main_node = plan_main_of(plan, unit);
        struct node_text from_text = braid_node_text(from, braid_graph_name(graph, from));
        struct node_text to_text = braid_node_text(to, braid_graph_name(graph, to));
        struct node_text main_text = braid_node_text(main_node, braid_graph_name(graph, main_node));
        return braid_error(BRAID_CYCLE,
                           "cycle: %s -> %s -> %s (in the bundle of %s, %s runs before %s)",
                           from_text.text, to_text.text, from_text.text, main_text.text,
                           to_text.text, from_text.text);
    }
    return BRAID_OK;
}

// Fills the lists of a plan whose units, links and hints are set. A node's predecessors stand in
// the order: explicit edges as added, edges from accesses, its hint. Edges inside a bundle are left
// out; out_forward says whether every edge goes from a lower node to a higher, without bundles.
// Errors: BRAID_CYCLE (an edge against the running order of a bundle), BRAID_INVALID_ARGUMENT (too
// many edges), BRAID_NO_MEMORY.
static braid_status plan_edges_create(const braid_graph *graph, struct plan_graph *plan,
                                      bool *out_forward)
{
    size_t most = graph->edges.num + plan->num_links + (plan->hint_before ? plan->num_units : 0);
    if (most > PLAN_BY_HINT - 1)
        return braid_error_invalid("a graph of %zu edges is too big to plan", most);
    braid_status status = check_inner_edges(graph, plan);
    if (status)
        return status;
    if (!sort_by_target(graph, plan) || !sort_by_source(plan))
        return braid_error_no_memory("the edges of a plan");
    *out_forward = all_go_forward(plan);
    return BRAID_OK;
}

// ---- an order of the nodes ----

// Kahn's algorithm, first come first served. The remaining nodes hold a cycle, which is named.

// The cycle is a walk backward: each unit with the edge that leads on to the unit before it here.
struct cycle {
    uint32_t *units; // against the direction of the edges
    uint32_t *edges; // edges[i] leads from units[i] to units[i - 1], edges[0] to the last
    uint32_t num;
    int longest_name; // that the message shows, in bytes
};

const char *braid_plan_node_name(const struct plan_graph *plan, uint32_t node)
{
    return plan->names.text + (plan->names.of_node ? plan->names.of_node[node] : 0);
}

// A name as far as the message has room for it.
static struct node_text name_node(const struct plan_graph *plan, const struct cycle *cycle,
                                  uint32_t node)
{
    struct node_text name;
    snprintf(name.text, sizeof(name.text), "%.*s", cycle->longest_name,
             braid_plan_node_name(plan, node));
    return braid_node_text(node, name.text);
}

static struct node_text name_unit(const struct plan_graph *plan, const struct cycle *cycle,
                                  uint32_t unit)
{
    return name_node(plan, cycle, plan_main_of(plan, unit));
}

const char *braid_plan_resource_name(const struct plan_graph *plan, uint32_t resource)
{
    return plan->names.text + plan->names.of_resource[resource];
}

// Tells the origin of each edge that the program did not add itself, and tells of each bundle that
// it is one. Either can make a cycle that the program's own edges do not show.
static void add_reasons(const struct plan_graph *plan, const struct cycle *cycle,
                        struct plan_text *text)
{
    const char *separator = " (";
    for (uint32_t k = cycle->num; k-- > 0;) {
        uint32_t from = cycle->units[k];
        uint32_t to = cycle->units[k ? k - 1 : cycle->num - 1];
        uint32_t reason = plan->pred_reasons ? plan->pred_reasons[cycle->edges[k]] : PLAN_BY_EDGE;
        if (reason != PLAN_BY_EDGE) {
            plan_text_add(text, "%s%s -> %s by ", separator, name_unit(plan, cycle, from).text,
                          name_unit(plan, cycle, to).text);
            if (reason == PLAN_BY_HINT)
                plan_text_add(text, "lane hint %u", plan->hint_of[from]);
            else
                plan_text_add(text, "'%.*s'", cycle->longest_name,
                              braid_plan_resource_name(plan, plan->links[reason].resource));
            separator = ", ";
        }
        if (plan_unit_size(plan, from) > 1) {
            plan_text_add(text, "%s%s is a bundle:", separator, name_unit(plan, cycle, from).text);
            for (uint32_t i = 0; i < plan_unit_size(plan, from); i++)
                plan_text_add(text, " %s",
                              name_node(plan, cycle, plan_unit_member(plan, from, i)).text);
            separator = ", ";
        }
    }
    if (separator[0] == ',')
        plan_text_add(text, ")");
}

static void write_cycle(const struct plan_graph *plan, const struct cycle *cycle,
                        struct plan_text *text)
{
    enum { MOST_NAMES = 16 };
    uint32_t last = cycle->num - 1;
    plan_text_add(text, "cycle: %s", name_unit(plan, cycle, cycle->units[last]).text);
    for (uint32_t k = last; k-- > 0;) {
        if (cycle->num > MOST_NAMES && last - k == MOST_NAMES / 2) {
            uint32_t skipped = cycle->num - MOST_NAMES;
            plan_text_add(text, " -> (%u more)", skipped);
            k -= skipped;
        }
        plan_text_add(text, " -> %s", name_unit(plan, cycle, cycle->units[k]).text);
    }
    plan_text_add(text, " -> %s", name_unit(plan, cycle, cycle->units[last]).text);
    if (cycle->num <= MOST_NAMES)
        add_reasons(plan, cycle, text);
}

// Long names are shortened until all of the message has room, its reasons included.
static braid_status report_cycle(const struct plan_graph *plan, struct cycle *cycle)
{
    static const int lengths[] = { 140, 40, 15 };
    char line[900];
    struct plan_text text = { .size = 0 };
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        cycle->longest_name = lengths[i];
        text = (struct plan_text){ .bytes = line, .size = sizeof(line) };
        write_cycle(plan, cycle, &text);
        if (text.used + 1 < text.size)
            break;
    }
    return braid_error(BRAID_CYCLE, "%s", line);
}

// An edge to some node of a unit from a unit that is left over too; PLAN_NONE where it has none.
static uint32_t find_left_edge(const struct plan_graph *plan, const uint32_t *left, uint32_t unit)
{
    for (uint32_t i = 0; i < plan_unit_size(plan, unit); i++) {
        uint32_t node = plan_unit_member(plan, unit, i);
        for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1]; e++) {
            if (left[plan_unit_of(plan, plan->pred_nodes[e])])
                return e;
        }
    }
    return PLAN_NONE;
}

// Every unit that Kahn left over has a predecessor left over: walking back along the first such
// must come round. `left` counts down to zero only for ordered units.
static void walk_back(const struct plan_graph *plan, const uint32_t *left, uint32_t *step_of,
                      struct cycle *walk)
{
    uint32_t unit = 0;
    while (left[unit] == 0)
        unit++;
    uint32_t num = 0;
    uint32_t edge_here = PLAN_NONE; // the edge by which the walk came to `unit`
    while (step_of[unit] == 0) {
        walk->units[num] = unit;
        walk->edges[num] = edge_here;
        step_of[unit] = ++num;
        edge_here = find_left_edge(plan, left, unit);
        unit = plan_unit_of(plan, plan->pred_nodes[edge_here]);
    }
    uint32_t first = step_of[unit] - 1;
    walk->num = num - first;
    memmove(walk->units, walk->units + first, walk->num * sizeof(*walk->units));
    memmove(walk->edges, walk->edges + first, walk->num * sizeof(*walk->edges));
    walk->edges[0] = edge_here;
}

// Turns the cycle so that it is told from the unit that was added first.
static void start_at_lowest(struct cycle *cycle, uint32_t *spare)
{
    uint32_t lowest = 0;
    for (uint32_t k = 1; k < cycle->num; k++) {
        if (cycle->units[k] < cycle->units[lowest])
            lowest = k;
    }
    uint32_t *const arrays[] = { cycle->units, cycle->edges };
    for (int a = 0; a < 2; a++) {
        for (uint32_t k = 0; k < cycle->num; k++)
            spare[(k + cycle->num - 1 - lowest) % cycle->num] = arrays[a][k];
        memcpy(arrays[a], spare, cycle->num * sizeof(*spare));
    }
}

static braid_status name_cycle(const struct plan_graph *plan, const uint32_t *left)
{
    size_t num = plan->num_units;
    struct cycle cycle = {
        .units = braid_allocate_zeroed(num, sizeof(uint32_t)),
        .edges = braid_allocate_zeroed(num, sizeof(uint32_t)),
    };
    uint32_t *step_of = braid_allocate_zeroed(num, sizeof(uint32_t));
    braid_status status;
    if (cycle.units && cycle.edges && step_of) {
        walk_back(plan, left, step_of, &cycle);
        start_at_lowest(&cycle, step_of);
        status = report_cycle(plan, &cycle);
    } else {
        status = braid_error_no_memory("the names of a cycle");
    }
    braid_free(cycle.units);
    braid_free(cycle.edges);
    braid_free(step_of);
    return status;
}

// Lists a unit's nodes as the next in order.
static void add_unit(struct plan_graph *plan, uint32_t unit, uint32_t *num)
{
    for (uint32_t i = 0; i < plan_unit_size(plan, unit); i++)
        plan->order[(*num)++] = plan_unit_member(plan, unit, i);
}

// The order is the queue as well: nodes behind `done` are ready. Returns how many it holds.
static uint32_t order_nodes(struct plan_graph *plan, uint32_t *left)
{
    uint32_t num = 0;
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        left[unit] = plan_num_preds(plan, unit);
        if (left[unit] == 0)
            add_unit(plan, unit, &num);
    }
    for (uint32_t done = 0; done < num; done++) {
        uint32_t node = plan->order[done];
        for (uint32_t i = plan->succ_first[node]; i < plan->succ_first[node + 1]; i++) {
            uint32_t unit = plan_unit_of(plan, plan->succ_nodes[i]);
            if (--left[unit] == 0)
                add_unit(plan, unit, &num);
        }
    }
    return num;
}

// An order in which every edge goes forward and units stay together.
// Fills plan->order. Errors: BRAID_CYCLE (the message names the nodes), BRAID_NO_MEMORY.
static braid_status plan_order_create(struct plan_graph *plan)
{
    uint32_t *left = braid_allocate(((size_t)plan->num_units + 1) * sizeof(*left));
    plan->order = braid_allocate(((size_t)plan->num_nodes + 1) * sizeof(*plan->order));
    if (!left || !plan->order) {
        braid_free(left);
        return braid_error_no_memory("the order of a plan");
    }
    braid_status status = BRAID_OK;
    if (order_nodes(plan, left) < plan->num_nodes)
        status = name_cycle(plan, left);
    braid_free(left);
    return status;
}

// ---- makes the graph that is planned: units, links, hints, edges and their order, names ----

static braid_status find_units(const braid_graph *graph, struct plan_graph *plan)
{
    plan->num_nodes = plan->num_units = graph_num_nodes(graph);
    if (!graph_has_units(graph))
        return BRAID_OK;
    braid_status status = braid_graph_find_units(graph, &plan->units);
    if (status)
        return status;
    plan->num_units = plan->units.num_units;
    plan->main_of = braid_allocate_zeroed(plan->num_units, sizeof(*plan->main_of));
    if (!plan->main_of)
        return braid_error_no_memory("the bundles of a plan");
    for (uint32_t i = 0; i < plan->num_nodes; i++) {
        if (graph_nodes(graph)[i].role == GRAPH_MAIN)
            plan->main_of[plan->units.unit_of[i]] = i;
    }
    return BRAID_OK;
}

static braid_status find_links(const braid_graph *graph, struct plan_graph *plan)
{
    struct array links = { 0 };
    braid_status status = braid_graph_find_links(graph, &links);
    plan->links = links.items;
    plan->num_links = links.num;
    return status;
}

static void *copy_array(const struct array *array, size_t item_bytes)
{
    void *copy = braid_allocate_zeroed(array->num, item_bytes);
    if (copy && array->num)
        memcpy(copy, array->items, array->num * item_bytes);
    return copy;
}

// Explaining a serialisation needs the declared accesses of each node.
static braid_status copy_accesses(const braid_graph *graph, struct plan_graph *plan)
{
    if (graph->accesses.num == 0)
        return BRAID_OK;
    plan->accesses = copy_array(&graph->accesses, sizeof(struct graph_access));
    plan->resources = copy_array(&graph->resources, sizeof(struct graph_resource));
    plan->num_resources = (uint32_t)graph->resources.num;
    plan->access_first = braid_allocate_zeroed((size_t)plan->num_nodes + 1, sizeof(uint32_t));
    if (!plan->accesses || !plan->resources || !plan->access_first)
        return braid_error_no_memory("the accesses of a plan");
    for (uint32_t i = 0; i < plan->num_nodes; i++)
        plan->access_first[i] = graph_nodes(graph)[i].first_access;
    plan->access_first[plan->num_nodes] = (uint32_t)graph->accesses.num;
    return BRAID_OK;
}

static bool any_hint(const braid_graph *graph)
{
    for (uint32_t i = 0; i < graph_num_nodes(graph); i++) {
        if (graph_nodes(graph)[i].lane_hint)
            return true;
    }
    return false;
}

struct hinted {
    uint32_t hint, unit;
};

static int compare_hinted(const void *a, const void *b)
{
    const struct hinted *x = a, *y = b;
    if (x->hint != y->hint)
        return x->hint < y->hint ? -1 : 1;
    return (x->unit > y->unit) - (x->unit < y->unit); // no two are equal: any sort is stable
}

static bool chain_hints(struct plan_graph *plan)
{
    struct array hinted = { 0 };
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        plan->hint_before[unit] = PLAN_NONE;
        if (!plan->hint_of[unit])
            continue;
        struct hinted *item = braid_array_append(&hinted, 1, sizeof(*item));
        if (!item) {
            braid_array_finish(&hinted);
            return false;
        }
        *item = (struct hinted){ plan->hint_of[unit], unit };
    }
    struct hinted *items = hinted.items;
    if (hinted.num)
        qsort(items, hinted.num, sizeof(*items), compare_hinted);
    for (size_t i = 1; i < hinted.num; i++) {
        if (items[i].hint == items[i - 1].hint)
            plan->hint_before[items[i].unit] = items[i - 1].unit;
    }
    braid_array_finish(&hinted);
    return true;
}

static braid_status find_hints(const braid_graph *graph, struct plan_graph *plan)
{
    if (!any_hint(graph))
        return BRAID_OK;
    plan->hint_of = braid_allocate_zeroed(plan->num_units, sizeof(uint32_t));
    plan->hint_before = braid_allocate_zeroed(plan->num_units, sizeof(uint32_t));
    if (!plan->hint_of || !plan->hint_before)
        return braid_error_no_memory("the lane hints of a plan");
    for (uint32_t unit = 0; unit < plan->num_units; unit++)
        plan->hint_of[unit] = graph_nodes(graph)[plan_main_of(plan, unit)].lane_hint;
    return chain_hints(plan) ? BRAID_OK : braid_error_no_memory("the lane hints of a plan");
}

static braid_status find_places(const braid_graph *graph, struct plan_graph *plan)
{
    plan->num_places = 1;
    if (!graph->places)
        return BRAID_OK;
    plan->num_places = graph->places->num_places;
    plan->place_of = braid_allocate_zeroed(plan->num_units, sizeof(*plan->place_of));
    if (!plan->place_of)
        return braid_error_no_memory("the places of a plan");
    for (uint32_t unit = 0; unit < plan->num_units; unit++)
        plan->place_of[unit] = (uint8_t)placed_place(graph, plan_main_of(plan, unit));
    return BRAID_OK;
}

static braid_status find_left_out(const braid_graph *graph, struct plan_graph *plan)
{
    if (!graph->num_left_out)
        return BRAID_OK;
    plan->left_out = braid_allocate_zeroed(plan->num_nodes, sizeof(*plan->left_out));
    if (!plan->left_out)
        return braid_error_no_memory("the nodes that a plan leaves out");
    for (uint32_t i = 0; i < plan->num_nodes; i++)
        plan->left_out[i] = graph_nodes(graph)[i].is_left_out;
    return BRAID_OK;
}

static braid_status find_edges(const braid_graph *graph, struct plan_graph *plan)
{
    bool forward;
    braid_status status = plan_edges_create(graph, plan, &forward);
    if (!status && !forward)
        status = plan_order_create(plan);
    return status;
}

braid_status braid_plan_graph_check(const braid_graph *graph)
{
    struct extents extents = { 0 };
    braid_status status = braid_graph_check_regions(graph);
    if (!status)
        status = braid_extents_create(graph, &extents);
    if (!status)
        status = braid_graph_check_overlaps(graph, &extents);
    if (!status)
        status = braid_graph_check_pointers(graph, &extents);
    braid_extents_finish(&extents);
    return status;
}

static braid_status fill_plan(const braid_graph *graph, struct plan_graph *plan)
{
    braid_status status = find_units(graph, plan);
    if (!status)
        status = find_links(graph, plan);
    if (!status)
        status = copy_accesses(graph, plan);
    if (!status)
        status = find_hints(graph, plan);
    if (!status)
        status = find_places(graph, plan);
    if (!status)
        status = find_left_out(graph, plan);
    if (!status && graph->code)
        status = braid_graph_code->list(graph, &plan->code_remarks);
    if (!status && !plan_names_copy(graph, &plan->names))
        status = braid_error_no_memory("the names of a plan");
    if (!status)
        status = find_edges(graph, plan);
    return status;
}

void braid_plan_graph_release(struct plan_graph *plan)
{
    // Release and acquire: all reads of other users come before the last one frees.
    if (!plan || atomic_fetch_sub_explicit(&plan->num_users, 1, memory_order_acq_rel) > 1)
        return;
    braid_graph_units_finish(&plan->units);
    braid_free(plan->main_of);
    braid_free(plan->hint_of);
    braid_free(plan->hint_before);
    braid_free(plan->place_of);
    braid_free(plan->pred_first);
    braid_free(plan->pred_nodes);
    braid_free(plan->pred_reasons);
    braid_free(plan->succ_first);
    braid_free(plan->succ_nodes);
    braid_free(plan->order);
    braid_free(plan->links);
    braid_free(plan->accesses);
    braid_free(plan->access_first);
    braid_free(plan->resources);
    braid_free(plan->left_out);
    braid_code_remarks_finish(&plan->code_remarks);
    plan_names_finish(&plan->names);
    braid_free(plan);
}

braid_status braid_plan_graph_create(const braid_graph *graph, struct plan_graph **out_plan)
{
    struct plan_graph *plan = braid_allocate_zeroed(1, sizeof(*plan));
    if (!plan)
        return braid_error_no_memory("a plan");
    atomic_init(&plan->num_users, 1);
    braid_status status = fill_plan(graph, plan);
    if (status)
        braid_plan_graph_release(plan);
    else
        *out_plan = plan;
    return status;
}

// ---- reading and freeing it ----

struct plan_graph *braid_plan_graph_share(struct plan_graph *plan)
{
    atomic_fetch_add_explicit(&plan->num_users, 1, memory_order_relaxed);
    return plan;
}

const char *braid_plan_unit_name(const struct plan_graph *plan, uint32_t unit)
{
    return braid_plan_node_name(plan, plan_main_of(plan, unit));
}

const char *braid_plan_node_changes(const struct plan_graph *plan, uint32_t node)
{
    return plan->names.of_change ? plan->names.text + plan->names.of_change[node] : "";
}
