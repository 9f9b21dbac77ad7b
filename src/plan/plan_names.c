// SPDX-License-Identifier: Apache-2.0
// Copies a graph's names: given names one by one, derived names once for all nodes sharing them.
#include "plan/plan_names.h"

#include <string.h>

#include "base/array.h"
#include "base/pointer_map.h"
#include "graph/changes.h"

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

bool braid_plan_names_copy(const braid_graph *graph, struct plan_names *names)
{
    struct array text = { 0 };
    uint32_t unused;
    bool shared = all_share_one_name(graph);
    const char *common = graph_num_nodes(graph) ? braid_graph_name(graph, 0) : "";
    bool done = true;
    if (shared) {
        done = append_text(&text, common, &unused);
    } else {
        names->of_node = calloc((size_t)graph_num_nodes(graph) + 1, sizeof(uint32_t));
        done = names->of_node && copy_node_names(graph, &text, names->of_node);
    }
    if (done && graph->resources.num) {
        names->of_resource = calloc(graph->resources.num, sizeof(uint32_t));
        done = names->of_resource && copy_resource_names(graph, &text, names->of_resource);
    }
    if (done && graph->uses.num) {
        names->of_change = calloc((size_t)graph_num_nodes(graph) + 1, sizeof(uint32_t));
        done = names->of_change && copy_changes(graph, &text, names->of_change);
    }
    names->text = text.items;
    return done;
}

void braid_plan_names_finish(struct plan_names *names)
{
    free(names->text);
    free(names->of_node);
    free(names->of_resource);
    free(names->of_change);
}
