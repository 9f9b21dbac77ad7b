// SPDX-License-Identifier: Apache-2.0
// A copy of the graph, to which the planner may add without touching the program's own.
#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "graph/code.h"
#include "graph/graph_ranks.h"
#include "graph/placed.h"
#include "graph/regions.h"

static bool clone_array(const struct array *from, size_t item_bytes, struct array *to)
{
    *to = (struct array){ 0 };
    if (!from->num)
        return true;
    void *items = braid_array_append(to, from->num, item_bytes);
    if (items)
        memcpy(items, from->items, from->num * item_bytes);
    return items;
}

// Blocks of names do not tell where the names in them end, so each is stored again.
static bool clone_name(const braid_graph *graph, braid_graph *clone, uint32_t *name)
{
    if (*name == NAMES_NONE)
        return true;
    const char *text = braid_names_at(&graph->names, *name);
    if (!braid_names_reserve(&clone->names, text))
        return false;
    *name = braid_names_store(&clone->names, text);
    return true;
}

// A range has the name of its buffer, which stands before it.
static bool clone_names(const braid_graph *graph, braid_graph *clone)
{
    struct graph_node *nodes = clone->nodes.items;
    struct graph_resource *resources = clone->resources.items;
    struct graph_parameter *parameters = clone->parameters.items;
    bool done = true;
    for (size_t i = 0; i < clone->nodes.num && done; i++)
        done = clone_name(graph, clone, &nodes[i].name);
    for (size_t i = 0; i < clone->resources.num && done; i++) {
        if (resources[i].buffer == i)
            done = clone_name(graph, clone, &resources[i].name);
        else
            resources[i].name = resources[resources[i].buffer].name;
    }
    for (size_t i = 0; i < clone->parameters.num && done; i++)
        done = clone_name(graph, clone, &parameters[i].name);
    return done;
}

static bool clone_arrays(const braid_graph *from, braid_graph *to)
{
    return clone_array(&from->nodes, sizeof(struct graph_node), &to->nodes) &&
           clone_array(&from->edges, sizeof(struct graph_edge), &to->edges) &&
           clone_array(&from->accesses, sizeof(struct graph_access), &to->accesses) &&
           clone_array(&from->resources, sizeof(struct graph_resource), &to->resources) &&
           (!from->ranks || from->ranks->ops->clone(from, to)) &&
           clone_array(&from->versions, sizeof(void *), &to->versions) &&
           clone_array(&from->kernels, sizeof(struct graph_kernel), &to->kernels) &&
           clone_array(&from->works, sizeof(union work), &to->works) &&
           clone_array(&from->arg_sizes, sizeof(uint32_t), &to->arg_sizes) &&
           clone_array(&from->arg_bytes, 1, &to->arg_bytes) &&
           clone_array(&from->parameters, sizeof(struct graph_parameter), &to->parameters) &&
           clone_array(&from->uses, sizeof(struct graph_parameter_use), &to->uses) &&
           clone_array(&from->outputs, sizeof(uint32_t), &to->outputs) &&
           clone_array(&from->addresses, sizeof(struct graph_address), &to->addresses) &&
           clone_array(&from->given, sizeof(struct graph_address), &to->given) &&
           clone_array(&from->traps, sizeof(struct graph_trap), &to->traps) &&
           clone_array(&from->unchecked, sizeof(uint32_t), &to->unchecked) &&
           clone_array(&from->regions, sizeof(struct graph_region), &to->regions) &&
           clone_array(&from->words, sizeof(struct code_word), &to->words) &&
           clone_array(&from->sequence, sizeof(uint32_t), &to->sequence);
}

// Nothing is added to a clone by the program, so which node launches a kernel first is not kept.
braid_status braid_graph_clone(const braid_graph *graph, braid_graph **out_clone)
{
    braid_graph *clone = braid_allocate_zeroed(1, sizeof(*clone));
    if (!clone || !clone_arrays(graph, clone) || !clone_names(graph, clone)) {
        braid_graph_destroy(clone);
        return braid_error_no_memory("a graph with places");
    }
    clone->id = graph->id;
    clone->version = graph->version;
    clone->num_bundled = graph->num_bundled;
    clone->places = graph->places;
    clone->num_left_out = graph->num_left_out;
    clone->is_culled = graph->is_culled;
    clone->imported_places = graph->imported_places;
    clone->code = graph->code;
    if (clone->code)
        braid_graph_code->share(clone->code);
    *out_clone = clone;
    return BRAID_OK;
}
