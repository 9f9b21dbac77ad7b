// SPDX-License-Identifier: Apache-2.0
// Walks the units in an order in which every edge goes forward. It keeps for each segment of memory
// the places that have its last write. Data that a unit needs and its place lacks are copied before
// the unit. At the end homes are brought up to date.
//
// This makes no cycle. Nodes and copies stand in one sequence, in which all earlier edges go
// forward. Accesses order the nodes that share memory as this sequence does.
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "graph/add.h"
#include "graph/regions.h"
#include "plan/places/place.h"

struct place_memory {
    braid_graph *graph;     // to which replicas are added
    uint32_t num_resources; // the program's
    uint32_t num_places;
    uint32_t *replicas; // resource * num_places + place: which resource it is there, or GRAPH_NONE
};

// ---- replicas ----

// Replicas: a buffer that is needed elsewhere has a transient buffer of its size there, and its
// ranges have ranges of that. The first place of a transient buffer has the buffer itself.

enum { REPLICA_ALIGNMENT = 256 }; // as much as drivers give

// Errors: BRAID_NO_MEMORY.
static braid_status place_memory_create(braid_graph *graph, uint32_t num_places,
                                        struct place_memory *out_memory)
{
    size_t num = graph->resources.num;
    struct place_memory memory = { .graph = graph,
                                   .num_resources = (uint32_t)num,
                                   .num_places = num_places,
                                   .replicas =
                                       braid_allocate((num * num_places + 1) * sizeof(uint32_t)) };
    if (!memory.replicas)
        return braid_error_no_memory("the replicas of a plan");
    for (size_t i = 0; i < num * num_places; i++)
        memory.replicas[i] = GRAPH_NONE;
    *out_memory = memory;
    return BRAID_OK;
}

static void place_memory_finish(struct place_memory *memory)
{
    braid_free(memory->replicas);
    *memory = (struct place_memory){ 0 };
}

static struct graph_resource *resource_at(const braid_graph *graph, uint32_t index)
{
    return &((struct graph_resource *)graph->resources.items)[index];
}

uint32_t braid_place_home(const braid_graph *graph, uint32_t index)
{
    const struct graph_resource *resource = resource_at(graph, index);
    if (!resource->bytes)
        return GRAPH_EVERYWHERE;
    if (resource->alignment)
        return PLACE_NOWHERE;
    uint32_t owner = resource->num_versions ? resource->versioned : resource->buffer;
    return resource_at(graph, owner)->home;
}

static bool is_new(const struct place_memory *memory, uint32_t buffer)
{
    const uint32_t *row = &memory->replicas[(size_t)buffer * memory->num_places];
    for (uint32_t i = 0; i < memory->num_places; i++) {
        if (row[i] != GRAPH_NONE)
            return false;
    }
    return true;
}

static braid_status append(struct place_memory *memory, const char *name,
                           struct graph_resource resource, uint32_t *out_index)
{
    braid_resource handle;
    uint64_t version = memory->graph->version;
    braid_status status = braid_graph_append_resource(memory->graph, name, resource, &handle);
    memory->graph->version = version;
    *out_index = handle.index;
    return status;
}

static braid_status add_replica(struct place_memory *memory, uint32_t buffer, uint32_t place,
                                uint32_t *out_index)
{
    const struct graph_resource *whole = resource_at(memory->graph, buffer);
    struct graph_resource replica = {
        .buffer = GRAPH_NONE,
        .bytes = whole->bytes,
        .alignment = whole->alignment ? whole->alignment : REPLICA_ALIGNMENT,
        .home = place,
    };
    char name[256];
    snprintf(name, sizeof(name), "%.200s on place %u",
             braid_names_at(&memory->graph->names, whole->name), graph_place_number(place));
    return append(memory, name, replica, out_index);
}

// Finds the resource that a buffer is there.
static braid_status find_whole(struct place_memory *memory, uint32_t buffer, uint32_t place,
                               uint32_t *out_index)
{
    uint32_t *slot = &memory->replicas[(size_t)buffer * memory->num_places + place];
    struct graph_resource *whole = resource_at(memory->graph, buffer);
    uint32_t home = braid_place_home(memory->graph, buffer);
    braid_status status = BRAID_OK;
    if (*slot != GRAPH_NONE) {
        *out_index = *slot;
        return BRAID_OK;
    }
    if (home == PLACE_NOWHERE && is_new(memory, buffer)) {
        whole->home = place;
        *slot = buffer;
    } else if (home == place || home == GRAPH_EVERYWHERE) {
        *slot = buffer;
    } else {
        status = add_replica(memory, buffer, place, slot);
    }
    if (status)
        *slot = GRAPH_NONE;
    *out_index = *slot;
    return status;
}

static braid_status add_range(struct place_memory *memory, uint32_t whole, uint64_t offset,
                              uint64_t bytes, uint32_t *out_index)
{
    struct graph_resource range = *resource_at(memory->graph, whole);
    range.buffer = whole;
    range.offset = offset;
    range.bytes = bytes;
    return append(memory, NULL, range, out_index);
}

// The program's resource as it is at a place. Errors: BRAID_NO_MEMORY, BRAID_INVALID_ARGUMENT (too
// many resources).
static braid_status place_memory_at(struct place_memory *memory, uint32_t index, uint32_t place,
                                    uint32_t *out_resource)
{
    const struct graph_resource *resource = resource_at(memory->graph, index);
    uint32_t buffer = resource->buffer, whole;
    uint64_t offset = resource->offset, bytes = resource->bytes;
    if (!bytes) {
        *out_resource = index;
        return BRAID_OK;
    }
    braid_status status = find_whole(memory, buffer, place, &whole);
    if (status || index == buffer) {
        *out_resource = whole;
        return status;
    }
    uint32_t *slot = &memory->replicas[(size_t)index * memory->num_places + place];
    if (whole == buffer) {
        *slot = index;
        resource_at(memory->graph, index)->home = resource_at(memory->graph, buffer)->home;
    } else if (*slot == GRAPH_NONE) {
        status = add_range(memory, whole, offset, bytes, slot);
        if (status)
            *slot = GRAPH_NONE;
    }
    *out_resource = *slot;
    return status;
}

// A part of a buffer at a place. Errors: likewise.
static braid_status place_memory_part(struct place_memory *memory, uint32_t buffer, uint64_t offset,
                                      uint64_t bytes, uint32_t place, uint32_t *out_resource)
{
    uint32_t whole;
    braid_status status = find_whole(memory, buffer, place, &whole);
    if (status || bytes == resource_at(memory->graph, buffer)->bytes) {
        *out_resource = whole;
        return status;
    }
    return add_range(memory, whole, offset, bytes, out_resource);
}

// ---- addresses and conditions ----

// Addresses of the node at hand: those that frames know, and those that it was given but which now
// are those of a replica.
static braid_status add_addresses(struct place_memory *memory, const struct array *list,
                                  size_t *next, uint32_t node, bool were_given)
{
    const struct graph_address *addresses = list->items;
    braid_graph *graph = memory->graph;
    braid_status status = BRAID_OK;
    for (; *next < list->num && addresses[*next].node == node && !status; ++*next) {
        struct graph_address address = addresses[*next];
        uint32_t resource = address.resource;
        status = place_memory_at(memory, resource, placed_place(graph, node), &address.resource);
        if (status || (were_given && address.resource == resource))
            continue;
        if (!braid_array_put(&graph->addresses, &address, sizeof(address)))
            return braid_error_no_memory("the addresses of a plan");
    }
    return status;
}

// The addresses of the nodes of `user`, and then those of copies (struct graph_address).
// Errors: those of place_memory_at.
static braid_status place_bind_addresses(struct place_memory *memory, const braid_graph *user,
                                         const struct array *of_copies)
{
    size_t next_known = 0, next_given = 0, num = of_copies->num;
    braid_graph *graph = memory->graph;
    braid_status status = BRAID_OK;
    graph->addresses.num = graph->given.num = 0;
    for (uint32_t node = 0; node < graph_num_nodes(user) && !status; node++) {
        status = add_addresses(memory, &user->addresses, &next_known, node, false);
        if (!status)
            status = add_addresses(memory, &user->given, &next_given, node, true);
    }
    if (status || !num)
        return status;
    void *slot = braid_array_append(&graph->addresses, num, sizeof(struct graph_address));
    if (!slot)
        return braid_error_no_memory("the addresses of a plan");
    memcpy(slot, of_copies->items, num * sizeof(struct graph_address));
    return BRAID_OK;
}

// The conditions of loops and branches. Errors: likewise.
static braid_status place_bind_conditions(struct place_memory *memory)
{
    struct graph_region *regions = memory->graph->regions.items;
    const struct graph_node *nodes = graph_nodes(memory->graph);
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < memory->graph->regions.num && !status; i++) {
        uint32_t node = regions[i].node;
        if (!nodes[node].is_left_out && regions[i].condition != GRAPH_NONE)
            status = place_memory_at(memory, regions[i].condition,
                                     placed_place(memory->graph, node), &regions[i].condition);
    }
    return status;
}

// ---- the graph ----

struct build {
    const braid_graph *user;
    const struct plan_graph *plan;
    const uint8_t *place_of; // per unit
    struct placed *placed;
    braid_graph *graph; // what is made
    struct place_memory memory;
    struct graph_segments segments;
    uint64_t *valid;             // per segment: the places that have its last write, a bit each
    struct array copies;         // braid_planned_copy
    struct array copy_addresses; // struct graph_address
};

// A part of a buffer that is to be copied.
struct part {
    uint32_t buffer;
    uint64_t offset, end;
    uint32_t from, to;
    bool is_return;
};

static const struct graph_resource *user_resource_at(const struct build *build, uint32_t index)
{
    return graph_resource_at(build->user, index);
}

// Before the frame a resource with a home has its data there.
static void find_valid(struct build *build)
{
    for (uint32_t i = 0; i < build->user->resources.num; i++) {
        uint32_t home = braid_place_home(build->user, i);
        for (uint32_t s = build->segments.first[i];
             s < build->segments.end[i] && home < GRAPH_MOST_PLACES; s++)
            build->valid[s] = UINT64_C(1) << home;
    }
}

// The end of a copy: a pointer, or an address that frames know.
static bool set_end(struct build *build, uint32_t node, uint32_t resource, size_t place,
                    const void **pointer)
{
    const struct graph_resource *end = graph_resource_at(build->graph, resource);
    *pointer = NULL;
    if (!end->alignment && !end->num_versions) {
        *pointer = (const char *)end->address + end->offset;
        return true;
    }
    return braid_array_put(&build->copy_addresses,
                           &(struct graph_address){ node, resource, (uint32_t)place },
                           sizeof(struct graph_address));
}

static bool append_work(struct build *build, const braid_planned_copy *copy,
                        const struct graph_access *accesses)
{
    const void *to, *from;
    union work *work = braid_array_append(&build->graph->works, 1, sizeof(*work));
    if (!work ||
        !set_end(build, copy->node, accesses[1].resource, offsetof(struct work_copy, to), &to) ||
        !set_end(build, copy->node, accesses[0].resource, offsetof(struct work_copy, from), &from))
        return false;
    *work = (union work){ .copy = { .to = (void *)(uintptr_t)to,
                                    .from = from,
                                    .bytes = copy->bytes,
                                    .to_room = copy->bytes,
                                    .from_room = copy->bytes } };
    return true;
}

static bool append_node(struct build *build, const braid_planned_copy *copy, uint32_t from,
                        uint32_t to)
{
    braid_graph *graph = build->graph;
    char name[256];
    snprintf(name, sizeof(name), "copy of %.200s to place %u",
             braid_names_at(&build->user->names, user_resource_at(build, copy->resource)->name),
             graph_place_number(copy->to));
    struct graph_node *node = braid_array_append(&graph->nodes, 1, sizeof(*node));
    struct graph_access *accesses = braid_array_append(&graph->accesses, 2, sizeof(*accesses));
    uint32_t *next = braid_array_append(&graph->sequence, 1, sizeof(*next));
    if (!node || !accesses || !next || !braid_names_reserve(&graph->names, name))
        return false;
    *next = copy->node;
    accesses[0] = (struct graph_access){ from, BRAID_READ };
    accesses[1] = (struct graph_access){ to, BRAID_WRITE };
    *node = (struct graph_node){
        .cost_ns = braid_place_copy_ns(&build->placed->model, copy->from, copy->to, copy->bytes),
        .name = braid_names_store(&graph->names, name),
        .payload = (uint32_t)graph->works.num,
        .main = copy->node,
        .first_access = (uint32_t)graph->accesses.num - 2,
        .num_accesses = 2,
        .kind = WORK_COPY,
        .role = GRAPH_MAIN,
        .place = (uint8_t)graph_place_number(copy->from),
    };
    return append_work(build, copy, accesses);
}

static braid_status add_copy(struct build *build, const struct part *part)
{
    braid_planned_copy copy = { .node = graph_num_nodes(build->graph),
                                .resource = part->buffer,
                                .from = part->from,
                                .to = part->to,
                                .offset = part->offset,
                                .bytes = part->end - part->offset,
                                .is_return = part->is_return };
    uint32_t from, to;
    if (copy.node >= GRAPH_MAX_ITEMS - 1 || build->graph->accesses.num >= GRAPH_MAX_ITEMS - 2)
        return braid_error_invalid("too many copies between devices in one plan");
    braid_status status =
        place_memory_part(&build->memory, copy.resource, copy.offset, copy.bytes, copy.from, &from);
    if (!status)
        status =
            place_memory_part(&build->memory, copy.resource, copy.offset, copy.bytes, copy.to, &to);
    if (status)
        return status;
    braid_planned_copy *slot = braid_array_append(&build->copies, 1, sizeof(*slot));
    if (!slot || !append_node(build, &copy, from, to))
        return braid_error_no_memory("the copies of a plan");
    *slot = copy;
    slot->from = graph_place_number(copy.from);
    slot->to = graph_place_number(copy.to);
    build->placed->copy_bytes += copy.bytes;
    return BRAID_OK;
}

// Finds the place that a segment comes from soonest, among those that have it.
static uint32_t find_source(const struct build *build, uint64_t valid, uint32_t to, uint64_t bytes)
{
    uint32_t best = 0;
    uint64_t best_ns = UINT64_MAX;
    for (; valid; valid &= valid - 1) {
        uint32_t from = (uint32_t)__builtin_ctzll(valid);
        uint64_t ns = braid_place_copy_ns(&build->placed->model, from, to, bytes);
        if (ns < best_ns) {
            best_ns = ns;
            best = from;
        }
    }
    return best;
}

// Brings segments of a resource to a place, neighbours from one source together.
static braid_status bring(struct build *build, uint32_t resource, uint32_t to, bool is_return)
{
    uint64_t here = UINT64_C(1) << to;
    struct part part = { .buffer = user_resource_at(build, resource)->buffer,
                         .to = to,
                         .is_return = is_return };
    bool is_open = false;
    braid_status status = BRAID_OK;
    uint32_t end = build->segments.end[resource];
    for (uint32_t s = build->segments.first[resource]; s < end && !status; s++) {
        uint64_t valid = build->valid[s],
                 bytes = build->segments.offsets[s + 1] - build->segments.offsets[s];
        bool is_missing = valid && !(valid & here);
        uint32_t from = is_missing ? find_source(build, valid, to, bytes) : 0;
        if (is_open && (!is_missing || from != part.from)) {
            status = add_copy(build, &part);
            is_open = false;
        }
        if (!is_missing)
            continue;
        if (!is_open)
            part.offset = build->segments.offsets[s];
        part.from = from;
        part.end = build->segments.offsets[s + 1];
        is_open = true;
        build->valid[s] |= here;
    }
    return is_open && !status ? add_copy(build, &part) : status;
}

static bool is_tracked(const struct build *build, uint32_t resource)
{
    return braid_place_home(build->user, resource) != GRAPH_EVERYWHERE;
}

static void note_write(struct build *build, uint32_t resource, uint32_t place)
{
    for (uint32_t s = build->segments.first[resource]; s < build->segments.end[resource]; s++)
        build->valid[s] = UINT64_C(1) << place;
}

// Whether the earlier data are still at the place if nothing is written. Transient buffers may have
// any bytes then.
static bool keeps_data(const struct build *build, uint32_t resource, uint32_t place)
{
    uint64_t valid = UINT64_MAX;
    for (uint32_t s = build->segments.first[resource]; s < build->segments.end[resource]; s++)
        valid &= build->valid[s];
    return valid >> place & 1 || braid_place_home(build->user, resource) == PLACE_NOWHERE;
}

// All copies for a unit come before the unit, since nothing stands between its nodes. A node may
// write a part of the data that it reads, so its needs are handled first. The node of a region
// needs and writes all that is touched inside, so that the nodes inside need no copy.
static braid_status walk_node(struct build *build, uint32_t node, uint32_t place)
{
    struct graph_node *placed = &((struct graph_node *)build->graph->nodes.items)[node];
    uint32_t first = placed->first_access, end = first + placed->num_accesses;
    const struct graph_access *accesses = build->user->accesses.items;
    bool must_run = false;
    placed->place = (uint8_t)graph_place_number(place);
    placed->may_idle = false; // a copy behind it would bring any bytes
    braid_status status = BRAID_OK;
    for (uint32_t i = first; i < end && !status; i++) {
        if (is_tracked(build, accesses[i].resource) &&
            graph_needs_data(build->user, node, &accesses[i]))
            status = bring(build, accesses[i].resource, place, false);
    }
    for (uint32_t i = first; i < end && !status; i++) {
        struct graph_access access = accesses[i];
        if (access.mode != BRAID_READ && is_tracked(build, access.resource)) {
            must_run |= !keeps_data(build, access.resource, place);
            note_write(build, access.resource, place);
        }
        status = place_memory_at(&build->memory, access.resource, place, &access.resource);
        if (!status)
            ((struct graph_access *)build->graph->accesses.items)[i] = access;
    }
    // Found by its index, since the copies for the node are appended to the same array.
    ((struct graph_node *)build->graph->nodes.items)[node].must_run |= must_run;
    return status;
}

// A unit that is a region has the main nodes inside, too.
static braid_status append_unit(struct build *build, uint32_t unit)
{
    for (uint32_t i = 0; i < plan_unit_size(build->plan, unit); i++) {
        uint32_t member = plan_unit_member(build->plan, unit, i);
        if (graph_nodes(build->user)[member].role != GRAPH_MAIN)
            continue;
        if (!braid_array_put(&build->graph->sequence, &member, sizeof(member)))
            return braid_error_no_memory("the order of a plan");
    }
    return BRAID_OK;
}

static braid_status walk_units(struct build *build)
{
    const struct plan_graph *plan = build->plan;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < plan->num_nodes && !status; i++) {
        uint32_t node = plan_ordered_node(plan, i), unit = plan_unit_of(plan, node);
        status = walk_node(build, node, build->place_of[unit]);
        if (!status && node == plan_last_member(plan, unit))
            status = append_unit(build, unit);
    }
    return status;
}

static braid_status return_home(struct build *build)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < build->user->resources.num && !status; i++) {
        uint32_t home = braid_place_home(build->user, i);
        if (user_resource_at(build, i)->buffer == i && home < GRAPH_MOST_PLACES)
            status = bring(build, i, home, true);
    }
    return status;
}

static braid_status begin(struct build *build, const braid_place_model *model)
{
    struct placed *placed = braid_allocate_zeroed(1, sizeof(*placed));
    if (!placed)
        return braid_error_no_memory("a graph with places");
    build->placed = placed;
    atomic_init(&placed->num_users, 1);
    braid_status status = braid_place_model_copy(model, &placed->model);
    if (!status)
        status = braid_graph_clone(build->user, &placed->graph);
    if (status)
        return status;
    build->graph = placed->graph;
    placed->model.num_nodes = build->plan->num_nodes;
    placed->graph->places = &placed->model;
    placed->graph->sequence.num = 0;
    status = place_memory_create(build->graph, placed->model.num_places, &build->memory);
    if (!status)
        status = braid_graph_find_segments(build->user, &build->segments);
    size_t num = (size_t)build->segments.num_segments + 1;
    build->valid = braid_allocate_zeroed(num, sizeof(*build->valid));
    if (!status && !build->valid)
        status = braid_error_no_memory("a graph with places");
    if (status)
        return status;
    find_valid(build);
    return BRAID_OK;
}

// The names are those of the graph that is made, which grow no more.
static void name_copies(struct placed *placed)
{
    const struct graph_resource *resources = placed->graph->resources.items;
    for (uint32_t i = 0; i < placed->num_copies; i++) {
        uint32_t name = resources[placed->copies[i].resource].name;
        placed->copies[i].resource_name = braid_names_at(&placed->graph->names, name);
    }
}

braid_status braid_place_build(const braid_graph *graph, const struct plan_graph *plan,
                               const braid_place_model *model, const uint8_t *place_of,
                               struct placed **out_placed)
{
    struct build build = { .user = graph, .plan = plan, .place_of = place_of };
    braid_status status = begin(&build, model);
    if (!status)
        status = walk_units(&build);
    if (!status)
        status = place_bind_conditions(&build.memory);
    if (!status)
        status = return_home(&build);
    if (!status)
        status = place_bind_addresses(&build.memory, graph, &build.copy_addresses);
    if (build.placed) {
        build.placed->copies = build.copies.items;
        build.placed->num_copies = (uint32_t)build.copies.num;
    }
    if (!status)
        name_copies(build.placed);
    place_memory_finish(&build.memory);
    braid_graph_segments_finish(&build.segments);
    braid_array_finish(&build.copy_addresses);
    braid_free(build.valid);
    if (status)
        braid_placed_release(build.placed);
    else
        *out_placed = build.placed;
    return status;
}
