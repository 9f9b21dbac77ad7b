// SPDX-License-Identifier: Apache-2.0
// What a frame leaves in replicas that are kept is what the next one finds there. The exec fills
// them before the first frame, and when the program says that it has written their home, so what
// they have when a frame begins may be all that they have when one ends.
#include "place/place_kept.h"

#include "base/error.h"

static const struct graph_resource *resource_at(const braid_graph *graph, uint32_t index)
{
    return &((const struct graph_resource *)graph->resources.items)[index];
}

static bool is_kept(const braid_graph *graph, uint32_t index)
{
    return resource_at(graph, resource_at(graph, index)->buffer)->is_kept &&
           braid_place_home(graph, index) < GRAPH_MOST_PLACES;
}

// What a node needs counts before what it writes.
static void walk_node(const braid_graph *user, const struct graph_segments *segments, uint32_t node,
                      uint64_t here, uint64_t *valid)
{
    const struct graph_node *walked = &graph_nodes(user)[node];
    uint32_t num = walked->num_accesses;
    for (uint32_t k = 0; k < 2 * num; k++) {
        const struct graph_access *access =
            (const struct graph_access *)user->accesses.items + walked->first_access + k % num;
        bool is_write = k >= num;
        if (!is_kept(user, access->resource) ||
            access->mode == (uint32_t)(is_write ? BRAID_READ : BRAID_WRITE))
            continue;
        for (uint32_t s = segments->first[access->resource]; s < segments->end[access->resource];
             s++)
            valid[s] = is_write ? here : valid[s] | here;
    }
}

// Of what nobody writes all places have it. What happens behind the last write of a frame does not
// depend on what there was when the frame began.
braid_status braid_place_find_kept(const braid_graph *user, const struct plan_graph *plan,
                                   const uint8_t *place_of, const struct graph_segments *segments,
                                   uint64_t *valid)
{
    uint64_t *left = braid_allocate_zeroed(segments->num_segments, sizeof(*left));
    if (!left)
        return braid_error_no_memory("a graph with places");
    for (uint32_t s = 0; s < segments->num_segments; s++)
        left[s] = UINT64_MAX;
    for (uint32_t i = 0; i < plan->num_nodes; i++) {
        uint32_t node = plan_ordered_node(plan, i);
        walk_node(user, segments, node, UINT64_C(1) << place_of[plan_unit_of(plan, node)], left);
    }
    for (uint32_t i = 0; i < user->resources.num; i++) {
        for (uint32_t s = segments->first[i]; s < segments->end[i] && is_kept(user, i); s++)
            valid[s] |= left[s];
    }
    free(left);
    return BRAID_OK;
}

static braid_status add_entry(struct array *entries, const struct placed_entry *entry)
{
    struct placed_entry *last = entries->items;
    if (entries->num && last[entries->num - 1].resource == entry->resource &&
        last[entries->num - 1].offset + last[entries->num - 1].bytes == entry->offset) {
        last[entries->num - 1].bytes += entry->bytes;
        return BRAID_OK;
    }
    struct placed_entry *slot = braid_array_append(entries, 1, sizeof(*slot));
    if (!slot)
        return braid_error_no_memory("the replicas of a plan");
    *slot = *entry;
    return BRAID_OK;
}

braid_status braid_place_list_entries(const struct place_memory *memory,
                                      const struct graph_segments *segments,
                                      const uint64_t *offsets, const uint64_t *began,
                                      struct array *entries)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < memory->num_resources; i++) {
        uint32_t home = braid_place_home(memory->graph, i);
        if (!is_kept(memory->graph, i) || resource_at(memory->graph, i)->buffer != i)
            continue;
        for (uint32_t to = 0; to < memory->num_places; to++) {
            struct placed_entry entry = { .buffer = i,
                                          .resource =
                                              memory->replicas[(size_t)i * memory->num_places + to],
                                          .from = home,
                                          .to = to };
            bool has_replica = entry.resource != GRAPH_NONE && to != home;
            for (uint32_t s = segments->first[i]; s < segments->end[i] && has_replica && !status;
                 s++) {
                entry.offset = offsets[s];
                entry.bytes = offsets[s + 1] - offsets[s];
                if (began[s] >> to & 1)
                    status = add_entry(entries, &entry);
            }
        }
    }
    return status;
}
