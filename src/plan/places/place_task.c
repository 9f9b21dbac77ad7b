// SPDX-License-Identifier: Apache-2.0
// The facts of a graph that placing needs: costs of units by place, their accesses to memory, and
// the data along edges.
#include "base/error.h"
#include "base/host_memory.h"
#include "base/node_text.h"
#include "graph/regions.h"
#include "plan/places/place.h"
#include "plan/plan_passes.h"

// ---- where nodes may run ----

// A node may run anywhere if the plan chooses the addresses of all buffers that it accesses. Such a
// buffer is transient, or the node gets its address by braid_resource_address. If a node touches
// memory by a pointer of its own, it stays where that memory is.

struct rules {
    const braid_graph *graph;
    const struct plan_graph *plan;
    uint32_t num_places;
    uint64_t *allowed;  // per unit
    uint32_t *fixed_by; // per unit: the first node inside that may be on one place only
    size_t next_known, next_given;
};

static struct node_text name_of(const struct rules *rules, uint32_t node)
{
    return braid_node_text(node, braid_graph_name(rules->graph, node));
}

static braid_status check_homes(const struct rules *rules)
{
    const braid_graph *graph = rules->graph;
    for (uint32_t i = 0; i < graph->resources.num; i++) {
        uint32_t home = graph_resource_at(graph, i)->home;
        if (home != GRAPH_EVERYWHERE && home >= rules->num_places)
            return braid_error_invalid(
                "buffer '%s' has its home on place %u, and the plan is for %u places",
                braid_names_at(&graph->names, graph_resource_at(graph, i)->name),
                graph_place_number(home), rules->num_places);
    }
    return BRAID_OK;
}

// How far the node's addresses on the list lead into a part of a buffer. An address that is given
// for one part of a buffer leads to no other part of it.
static uint64_t reach(const struct rules *rules, const struct array *list, size_t *next,
                      uint32_t node, const struct graph_resource *part, uint64_t from)
{
    const struct graph_address *addresses = list->items;
    while (*next < list->num && addresses[*next].node < node)
        ++*next;
    for (size_t i = *next; i < list->num && addresses[i].node == node; i++) {
        const struct graph_resource *given = graph_resource_at(rules->graph, addresses[i].resource);
        if (given->buffer == part->buffer && given->offset <= from &&
            from - given->offset < given->bytes)
            from = given->offset + given->bytes;
    }
    return from;
}

// Whether the node has the resource's address from the plan, so that it may be another one. Several
// parts may cover it.
static bool is_addressed(struct rules *rules, uint32_t node, uint32_t resource)
{
    const struct graph_resource *part = graph_resource_at(rules->graph, resource);
    uint64_t from = part->offset, end = part->offset + part->bytes, before;
    do {
        before = from;
        from = reach(rules, &rules->graph->addresses, &rules->next_known, node, part, from);
        from = reach(rules, &rules->graph->given, &rules->next_given, node, part, from);
    } while (from > before && from < end);
    return part->bytes && from >= end;
}

// Whether the node may touch memory without a declared access.
static bool is_undeclared(const braid_graph *graph, const struct graph_node *node)
{
    if (node->kind == WORK_QUEUE)
        return true; // it may hold what belongs to a device, such as a library's handle
    if (node->num_accesses)
        return false;
    if (node->kind == WORK_KERNEL)
        return ((const struct graph_kernel *)graph->kernels.items)[node->payload].num_args > 0;
    return node->kind == WORK_COPY || node->kind == WORK_FILL;
}

// Where nothing says otherwise.
static void prefer_first(const braid_graph *graph, uint32_t node, uint64_t *allowed)
{
    if (is_undeclared(graph, &graph_nodes(graph)[node]) && *allowed & 1)
        *allowed = 1;
}

static braid_status keep_at(struct rules *rules, uint32_t node, uint32_t resource, uint32_t home,
                            uint64_t *allowed)
{
    if (*allowed & UINT64_C(1) << home) {
        *allowed = UINT64_C(1) << home;
        return BRAID_OK;
    }
    const char *name =
        braid_names_at(&rules->graph->names, graph_resource_at(rules->graph, resource)->name);
    return braid_error_invalid(
        "node %s cannot be on place %u, where '%s' is, which it touches by a pointer of its own. "
        "Give it braid_resource_address, or the buffer another home",
        name_of(rules, node).text, graph_place_number(home), name);
}

// A loop or branch touches memory by its nodes inside, and has the address of its condition.
static braid_status restrict_node(struct rules *rules, uint32_t node, bool is_named,
                                  uint64_t *allowed)
{
    const braid_graph *graph = rules->graph;
    const struct graph_node *graph_node = &graph_nodes(graph)[node];
    braid_status status = BRAID_OK;
    if (work_has_body((enum work_kind)graph_node->kind))
        return BRAID_OK;
    if (braid_graph_region_of(graph, node) == GRAPH_NONE && !is_named)
        prefer_first(graph, node, allowed);
    for (uint32_t i = 0; i < graph_node->num_accesses && !status; i++) {
        uint32_t resource = graph_access_of(graph, graph_node, i)->resource;
        uint32_t home = braid_place_home(graph, resource);
        bool is_plain = !graph_resource_at(graph, resource)->bytes;
        if (is_plain) // a list or a generator's state is somewhere, too
            home = is_named ? GRAPH_EVERYWHERE : graph_resource_at(graph, resource)->home;
        if (home < GRAPH_MOST_PLACES && !is_addressed(rules, node, resource))
            status = keep_at(rules, node, resource, home, allowed);
    }
    return status;
}

// Where a bundle says that it runs.
static braid_status find_named(const struct rules *rules, uint32_t main, uint64_t *out_allowed)
{
    const struct graph_node *nodes = graph_nodes(rules->graph);
    uint64_t all = rules->num_places < 64 ? (UINT64_C(1) << rules->num_places) - 1 : UINT64_MAX;
    uint32_t named = nodes[main].place;
    if (named > rules->num_places)
        return braid_error_invalid("node %s is to run on place %u, and the plan is for %u places",
                                   name_of(rules, main).text, named, rules->num_places);
    *out_allowed = named ? UINT64_C(1) << graph_place_index(named) : all;
    return BRAID_OK;
}

// A node may be anywhere, or on one place. So where no place is left, two nodes exclude each other.
static braid_status restrict_region(struct rules *rules, uint32_t node)
{
    uint32_t main = graph_nodes(rules->graph)[node].main, unit = plan_unit_of(rules->plan, node);
    uint32_t region = braid_graph_lift(rules->graph, node, GRAPH_NONE), other;
    uint64_t own, both;
    braid_status status = find_named(rules, main, &own);
    if (!status)
        status = restrict_node(rules, node, graph_nodes(rules->graph)[main].place, &own);
    if (status)
        return status;
    both = own & rules->allowed[unit];
    if (both && both != rules->allowed[unit])
        rules->fixed_by[unit] = node;
    other = rules->fixed_by[unit];
    if (both) {
        rules->allowed[unit] = both;
        return BRAID_OK;
    }
    return braid_error_invalid(
        "%s %s runs on one place, but node %s in it must be on place %u and node %s on place %u",
        braid_work_words[graph_nodes(rules->graph)[region].kind].kind, name_of(rules, region).text,
        name_of(rules, other).text,
        graph_place_number((uint32_t)__builtin_ctzll(rules->allowed[unit])),
        name_of(rules, node).text, graph_place_number((uint32_t)__builtin_ctzll(own)));
}

// Nodes of one hint share a lane, and so a place: the lowest that all of them may have.
static braid_status join_hints(struct rules *rules)
{
    const struct plan_graph *plan = rules->plan;
    if (!plan->hint_before)
        return BRAID_OK;
    for (int round = 0; round < 2; round++) { // forth to know what is left, then back to tell all
        for (uint32_t i = 0; i < plan->num_units; i++) {
            uint32_t unit = round ? plan->num_units - 1 - i : i, before = plan->hint_before[unit];
            uint64_t *allowed = &rules->allowed[unit];
            if (round && plan->hint_of[unit])
                *allowed &= 0 - *allowed;
            if (before == PLAN_NONE)
                continue;
            uint64_t *to = round ? &rules->allowed[before] : allowed;
            uint64_t both = *allowed & rules->allowed[before];
            if (!both)
                return braid_error_invalid(
                    "nodes '%s' and '%s' have lane hint %u, and cannot be on one device",
                    braid_plan_unit_name(plan, before), braid_plan_unit_name(plan, unit),
                    plan->hint_of[unit]);
            *to = both;
        }
    }
    return BRAID_OK;
}

// Where nodes may run at all: where they say, and where their memory is.
// Fills allowed[unit], a bit for each place, never 0. Units with one lane hint have one place.
// Errors: BRAID_INVALID_ARGUMENT (the message names the node, the buffer, or a loop and two nodes
// in it), BRAID_NO_MEMORY.
static braid_status place_find_allowed(const braid_graph *graph, const struct plan_graph *plan,
                                       uint32_t num_places, uint64_t *allowed)
{
    struct rules rules = { .graph = graph,
                           .plan = plan,
                           .num_places = num_places,
                           .allowed = allowed,
                           .fixed_by = braid_allocate_zeroed(plan->num_units, sizeof(uint32_t)) };
    const struct graph_node *nodes = graph_nodes(graph);
    braid_status status =
        rules.fixed_by ? check_homes(&rules) : braid_error_no_memory("the places of a plan");
    for (uint32_t unit = 0; unit < plan->num_units && !status; unit++)
        status = find_named(&rules, plan_main_of(plan, unit), &allowed[unit]);
    for (uint32_t i = 0; i < plan->num_nodes && !status; i++)
        status = braid_graph_region_of(graph, i) == GRAPH_NONE
                     ? restrict_node(&rules, i, nodes[nodes[i].main].place,
                                     &allowed[plan_unit_of(plan, i)])
                     : restrict_region(&rules, i);
    for (uint32_t i = 0; i < plan->num_nodes && !status;
         i++) // once all have said where they must be
        if (braid_graph_region_of(graph, i) != GRAPH_NONE && !nodes[nodes[i].main].place)
            prefer_first(graph, i, &allowed[plan_unit_of(plan, i)]);
    braid_free(rules.fixed_by);
    return status ? status : join_hints(&rules);
}

// ---- costs, accesses and data ----

static bool is_tracked(const braid_graph *graph, uint32_t resource)
{
    return braid_place_home(graph, resource) != GRAPH_EVERYWHERE;
}

static void fill_segments(struct place_task *task, const struct graph_segments *segments)
{
    const braid_graph *graph = task->graph;
    for (uint32_t i = 0; i < graph->resources.num; i++) {
        uint32_t home = braid_place_home(graph, i);
        for (uint32_t s = segments->first[i]; s < segments->end[i]; s++) {
            task->segment_bytes[s] = segments->offsets[s + 1] - segments->offsets[s];
            task->home[s] = home < GRAPH_MOST_PLACES ? (uint8_t)(home + 1) : 0;
        }
    }
}

static void fill_uses(struct place_task *task, const struct graph_segments *segments)
{
    const struct plan_graph *plan = task->plan;
    uint32_t num = 0;
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        task->first_use[unit] = num;
        for (uint32_t i = 0; i < plan_unit_size(plan, unit); i++) {
            uint32_t member = plan_unit_member(plan, unit, i);
            const struct graph_node *node = &graph_nodes(task->graph)[member];
            for (uint32_t k = 0; k < node->num_accesses; k++) {
                const struct graph_access *access = graph_access_of(task->graph, node, k);
                if (!is_tracked(task->graph, access->resource))
                    continue;
                task->uses[num++] = (struct place_use){
                    segments->first[access->resource], segments->end[access->resource],
                    graph_needs_data(task->graph, member, access), access->mode != BRAID_READ
                };
            }
        }
    }
    task->first_use[plan->num_units] = num;
}

// The time of a node inside a region is counted with the region's node.
static bool is_inside(const struct place_task *task, uint32_t node)
{
    return braid_graph_region_of(task->graph, node) != GRAPH_NONE;
}

static void fill_costs(struct place_task *task, const struct plan_costs *costs)
{
    const struct plan_graph *plan = task->plan;
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        task->share[unit] = costs->unit_share ? costs->unit_share[unit] : 0;
        for (uint32_t i = 0; i < plan_unit_size(plan, unit); i++) {
            uint32_t node = plan_unit_member(plan, unit, i);
            bool is_empty = graph_nodes(task->graph)[node].kind == WORK_EMPTY;
            for (uint32_t p = 0; p < task->num_places && !is_inside(task, node); p++)
                task->cost_ns[(size_t)unit * task->num_places + p] +=
                    costs->model.node_ns +
                    (is_empty ? costs->node_ns[node]
                              : braid_place_cost_ns(&task->model, p, costs->node_ns[node]));
        }
    }
}

static void fill_edges(struct place_task *task)
{
    const struct plan_graph *plan = task->plan;
    for (uint32_t e = 0; e < plan->num_edges && plan->pred_reasons; e++) {
        uint32_t reason = plan->pred_reasons[e];
        if (reason >= PLAN_BY_HINT || plan->links[reason].hazard != GRAPH_READ_AFTER_WRITE ||
            !is_tracked(task->graph, plan->links[reason].resource))
            continue;
        task->edge_bytes[e] = graph_resource_at(task->graph, plan->links[reason].resource)->bytes;
    }
}

static bool allocate(struct place_task *task, uint32_t num_segments)
{
    size_t units = task->plan->num_units;
    task->num_segments = num_segments;
    task->segment_bytes =
        braid_store_take(&task->store, (size_t)num_segments + 1, sizeof(uint64_t));
    task->home = braid_store_take(&task->store, (size_t)num_segments + 1, 1);
    task->uses = braid_store_take(&task->store, task->graph->accesses.num, sizeof(*task->uses));
    task->first_use = braid_store_take(&task->store, units + 1, sizeof(uint32_t));
    task->cost_ns = braid_store_take(&task->store, units * task->num_places, sizeof(uint64_t));
    task->allowed = braid_store_take(&task->store, units, sizeof(uint64_t));
    task->share = braid_store_take(&task->store, units, sizeof(uint32_t));
    task->edge_bytes = braid_store_take(&task->store, task->plan->num_edges, sizeof(uint64_t));
    return !task->store.failed;
}

static braid_status fill(struct place_task *task, const struct graph_segments *segments)
{
    if (!allocate(task, segments->num_segments))
        return braid_error_no_memory("the places of a plan");
    fill_segments(task, segments);
    fill_uses(task, segments);
    fill_edges(task);
    return place_find_allowed(task->graph, task->plan, task->num_places, task->allowed);
}

static braid_status find_costs(struct place_task *task, const braid_graph *units,
                               const struct plan_options *options)
{
    struct plan_costs costs;
    braid_status status = braid_plan_costs_create(task->plan, units, options, NULL, &costs);
    if (status)
        return status;
    fill_costs(task, &costs);
    uint32_t lanes = braid_plan_lane_limit(task->plan, &costs, options);
    task->most = costs.model.max_concurrent < lanes ? costs.model.max_concurrent : lanes;
    braid_plan_costs_finish(&costs);
    return BRAID_OK;
}

void braid_place_task_finish(struct place_task *task)
{
    braid_place_model_finish(&task->model);
    braid_store_finish(&task->store);
    *task = (struct place_task){ 0 };
}

braid_status braid_place_task_create(const braid_graph *graph, const braid_graph *units,
                                     const struct plan_graph *plan,
                                     const struct plan_options *options,
                                     struct place_task *out_task)
{
    struct place_task task = { .plan = plan,
                               .graph = graph,
                               .num_places = options->places->num_places };
    struct graph_segments segments = { 0 };
    braid_status status = braid_place_model_copy(options->places, &task.model);
    if (!status)
        status = braid_graph_find_segments(graph, &segments);
    if (!status)
        status = fill(&task, &segments);
    if (!status)
        status = find_costs(&task, units, options);
    braid_graph_segments_finish(&segments);
    if (status)
        braid_place_task_finish(&task);
    else
        *out_task = task;
    return status;
}
