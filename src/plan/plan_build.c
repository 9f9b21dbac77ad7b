// SPDX-License-Identifier: Apache-2.0
// Makes the graph that is planned: units, links, hints, edges and their order, names.
#include "plan/plan_build.h"

#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "graph/extents.h"
#include "graph/placed.h"
#include "graph/regions.h"

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
    braid_status status = braid_plan_edges_create(graph, plan, &forward);
    if (!status && !forward)
        status = braid_plan_order_create(plan);
    return status;
}

static braid_status check_memory(const braid_graph *graph)
{
    struct extents extents;
    braid_status status = braid_extents_create(graph, &extents);
    if (status)
        return status;
    status = braid_graph_check_overlaps(graph, &extents);
    if (!status)
        status = braid_graph_check_pointers(graph, &extents);
    braid_extents_finish(&extents);
    return status;
}

static braid_status fill_plan(const braid_graph *graph, struct plan_graph *plan)
{
    braid_status status = braid_graph_check_regions(graph);
    if (!status)
        status = check_memory(graph);
    if (!status)
        status = find_units(graph, plan);
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
    if (!status && !braid_plan_names_copy(graph, &plan->names))
        status = braid_error_no_memory("the names of a plan");
    if (!status)
        status = find_edges(graph, plan);
    return status;
}

braid_status braid_plan_graph_create(const braid_graph *graph, struct plan_graph **out_plan)
{
    struct plan_graph *plan = calloc(1, sizeof(*plan));
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
