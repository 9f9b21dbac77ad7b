// SPDX-License-Identifier: Apache-2.0
// Owned buffers: an owner runs the tasks that write its buffer, and sends it to tasks that read it.
//
// The owner of a buffer and the rank that has a copy both see the task that reads it there. Both
// see each task that writes it, since a rank has a part in writes to its copies. So both know,
// without a message, whether a transfer is needed. Transfers are posted in the order of the tasks,
// which is one order for all ranks. So none waits for a later one.
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/host_memory.h"
#include "graph/add.h"
#include "graph/graph.h"
#include "ranks/rank_graph.h"
#include "ranks/ranks.h"

struct transfer {
    braid_resource communicator;
    braid_resource resource; // an owned buffer or a range of one
    uint32_t peer;
    bool receives;
};

// ---- transfers ----

// A send or receive of memory that a rank owns. It is an operation as a program would add it, and
// both ends also tell its buffer and range.

enum { NUM_TAGS = 32768, WIDE_BYTES = 8 };

// The key from which both ends of a transfer know its buffer and range; never 0.
static uint64_t transfer_key(const char *name, uint64_t offset, uint64_t bytes)
{
    uint64_t key = hash_bytes(name, strlen(name) + 1);
    key = hash_more(key, &offset, sizeof(offset));
    key = hash_more(key, &bytes, sizeof(bytes));
    return key ? key : 1;
}

// Messages of over 2 GiB go as words where they can.
static void count_elements(uint64_t bytes, braid_communication *out)
{
    bool is_wide = bytes > INT32_MAX && bytes % WIDE_BYTES == 0;
    out->element = is_wide ? BRAID_ELEMENT_UINT64 : BRAID_ELEMENT_BYTE;
    out->count = is_wide ? bytes / WIDE_BYTES : bytes;
}

static braid_status add_named(braid_graph *graph, const struct transfer *transfer, const char *name)
{
    const struct graph_resource *resource = graph_resource_at(graph, transfer->resource.index);
    uint64_t key = transfer_key(braid_names_at(&graph->names, resource->name), resource->offset,
                                resource->bytes);
    const braid_access access = { transfer->resource,
                                  transfer->receives ? BRAID_WRITE : BRAID_READ };
    braid_communication communication = {
        .node = { .name = name, .accesses = &access, .num_accesses = 1 },
        .operation = transfer->receives ? BRAID_RANK_RECEIVE : BRAID_RANK_SEND,
        .communicator = transfer->communicator,
        .peer = transfer->peer,
        .tag = (uint32_t)(key % NUM_TAGS),
    };
    count_elements(resource->bytes, &communication);
    *(transfer->receives ? &communication.to_resource : &communication.from_resource) =
        transfer->resource;
    return braid_graph_append_communication(graph, &communication, key, NULL);
}

// Errors: BRAID_INVALID_ARGUMENT (too large for one), BRAID_NO_MEMORY.
static braid_status graph_add_transfer(braid_graph *graph, const struct transfer *transfer)
{
    char buffer[256];
    const char *what =
        braid_graph_resource_name(graph, transfer->resource.index, buffer, sizeof(buffer));
    size_t size = strlen(what) + sizeof(" from 4294967295");
    char *name = braid_allocate(size);
    if (!name)
        return braid_error_no_memory("the name of a transfer");
    snprintf(name, size, "%s %s %u", what, transfer->receives ? "from" : "to", transfer->peer);
    braid_status status = add_named(graph, transfer, name);
    braid_free(name);
    return status;
}

// ---- owners ----

static const struct graph_resource *find_resource(const braid_graph *graph,
                                                  const braid_access *access)
{
    return graph_resource_at(graph, access->resource.index);
}

// NULL: it has none.
static struct graph_owner *find_owner(const braid_graph *graph, const braid_access *access)
{
    uint32_t owner = find_resource(graph, access)->owner;
    return owner ? (struct graph_owner *)rank_graph_of(graph)->owners.items + owner - 1 : NULL;
}

static bool is_ours(const braid_graph *graph, const struct graph_owner *owner)
{
    return owner->rank == graph_resource_at(graph, owner->communicator)->communicator->rank;
}

static struct graph_copy *copy_at(const braid_graph *graph, uint32_t copy)
{
    return (struct graph_copy *)rank_graph_of(graph)->copies.items + copy - 1;
}

static bool has_copy(const braid_graph *graph, const struct graph_owner *owner,
                     const struct graph_resource *range, uint32_t rank)
{
    for (uint32_t i = owner->first_copy; i; i = copy_at(graph, i)->next) {
        const struct graph_copy *copy = copy_at(graph, i);
        if (copy->rank == rank && copy->begin <= range->offset &&
            range->offset + range->bytes <= copy->end)
            return true;
    }
    return false;
}

static bool overlaps(const struct graph_copy *copy, const struct graph_resource *range)
{
    return copy->begin < range->offset + range->bytes && range->offset < copy->end;
}

static bool has_part_of(const braid_graph *graph, const struct graph_owner *owner,
                        const struct graph_resource *range)
{
    uint32_t i = owner->first_copy;
    while (i && !overlaps(copy_at(graph, i), range))
        i = copy_at(graph, i)->next;
    return i != 0;
}

// There is room.
static void add_copy(braid_graph *graph, struct graph_owner *owner,
                     const struct graph_resource *range, uint32_t rank)
{
    uint32_t place = rank_graph_of(graph)->free_copies;
    if (place)
        rank_graph_of(graph)->free_copies = copy_at(graph, place)->next;
    else if (braid_array_append(&rank_graph_of(graph)->copies, 1, sizeof(struct graph_copy)))
        place = (uint32_t)rank_graph_of(graph)->copies.num;
    *copy_at(graph, place) = (struct graph_copy){ .begin = range->offset,
                                                  .end = range->offset + range->bytes,
                                                  .rank = rank,
                                                  .next = owner->first_copy };
    owner->first_copy = place;
}

// If a part of a copy is written, the whole copy is dropped. Both sides must do the same.
static void drop_copies(braid_graph *graph, struct graph_owner *owner,
                        const struct graph_resource *range)
{
    for (uint32_t *link = &owner->first_copy; *link;) {
        uint32_t place = *link;
        struct graph_copy *copy = copy_at(graph, place);
        if (!overlaps(copy, range)) {
            link = &copy->next;
            continue;
        }
        *link = copy->next;
        copy->next = rank_graph_of(graph)->free_copies;
        rank_graph_of(graph)->free_copies = place;
    }
}

static const void *name_key(const char *name)
{
    return (const void *)(uintptr_t)(transfer_key(name, 0, 0) | 1);
}

static braid_status check_owner(const braid_graph *graph, braid_resource communicator,
                                uint32_t owner, const char *name)
{
    if (communicator.graph != graph->id || communicator.index >= graph->resources.num ||
        !graph_resource_at(graph, communicator.index)->communicator)
        return braid_error_invalid("owned buffer '%s': its communicator is not one of this graph",
                                   name);
    const braid_communicator *found = graph_resource_at(graph, communicator.index)->communicator;
    if (owner >= found->num)
        return braid_error_invalid("owned buffer '%s': rank %u of the %u of communicator '%s'",
                                   name, owner, found->num, found->name);
    if (braid_pointer_map_get(&rank_graph_of(graph)->owned, name_key(name)) != POINTER_MAP_NONE)
        return braid_error_invalid(
            "owned buffer '%s': there is one of this name, by which ranks know it", name);
    return BRAID_OK;
}

static braid_status add_resource(braid_graph *graph, const char *name, const void *address,
                                 uint64_t bytes, braid_resource *out_resource)
{
    if (!bytes)
        return braid_graph_add_resource(graph, name, out_resource);
    if (!address)
        return braid_graph_add_transient(graph, name, bytes, 0, out_resource);
    return braid_graph_add_buffer(graph, name, address, bytes, out_resource);
}

braid_status braid_graph_add_owned_buffer(braid_graph *graph, braid_resource communicator,
                                          uint32_t owner, const char *name, const void *address,
                                          uint64_t bytes, braid_resource *out_resource)
{
    braid_resource resource;
    braid_status status =
        braid_graph_check_named("braid_graph_add_owned_buffer", graph, name, out_resource);
    if (!status)
        status = check_owner(graph, communicator, owner, name);
    if (status)
        return status;
    if (!braid_array_reserve(&rank_graph_of(graph)->owners, 1, sizeof(struct graph_owner)) ||
        !braid_pointer_map_reserve(&rank_graph_of(graph)->owned))
        return braid_error_no_memory("an owned buffer");
    status = add_resource(graph, name, address, bytes, &resource);
    if (status)
        return status;
    struct graph_owner *slot = braid_array_append(&rank_graph_of(graph)->owners, 1, sizeof(*slot));
    *slot = (struct graph_owner){ .communicator = communicator.index, .rank = owner };
    uint32_t number = (uint32_t)rank_graph_of(graph)->owners.num;
    braid_pointer_map_put(&rank_graph_of(graph)->owned, name_key(name), number);
    ((struct graph_resource *)graph->resources.items)[resource.index].owner = number;
    *out_resource = resource;
    return BRAID_OK;
}

static bool is_write(const braid_access *access)
{
    return access->mode != BRAID_READ;
}

static const char *name_of(const braid_graph *graph, const braid_access *access)
{
    return braid_names_at(&graph->names, find_resource(graph, access)->name);
}

// The first access that writes an owned buffer; NULL: none.
static const braid_access *find_writer(const braid_graph *graph, const braid_node_options *options)
{
    for (size_t i = 0; i < options->num_accesses; i++) {
        if (is_write(&options->accesses[i]) && find_owner(graph, &options->accesses[i]))
            return &options->accesses[i];
    }
    return NULL;
}

static braid_status check_against(const braid_graph *graph, const char *name,
                                  const braid_access *writer, const braid_access *access)
{
    const struct graph_owner *runs = find_owner(graph, writer), *owner = find_owner(graph, access);
    if (owner->communicator != runs->communicator)
        return braid_error_invalid("node '%s': '%s' and '%s' are owned in two communicators", name,
                                   name_of(graph, writer), name_of(graph, access));
    if (owner->rank == runs->rank)
        return BRAID_OK;
    if (is_write(access))
        return braid_error_invalid(
            "node '%s' writes '%s' of rank %u and '%s' of rank %u; let it write another of the "
            "former's, and a task of the latter copy that",
            name, name_of(graph, writer), runs->rank, name_of(graph, access), owner->rank);
    if (!find_resource(graph, access)->bytes)
        return braid_error_invalid("node '%s' runs on rank %u and reads '%s' of rank %u, which has "
                                   "no bytes that could be sent",
                                   name, runs->rank, name_of(graph, access), owner->rank);
    return BRAID_OK;
}

braid_status braid_graph_check_own(const braid_graph *graph, const char *name,
                                   const braid_node_options *options)
{
    for (size_t i = 0; graph->ranks && i < options->num_accesses; i++) {
        const braid_access *access = &options->accesses[i];
        const struct graph_owner *owner = find_owner(graph, access);
        if (owner && (is_write(access) || !is_ours(graph, owner)))
            return braid_error_invalid("node '%s' %s '%s', which rank %u owns; what other ranks do "
                                       "not hear of only reads what its own rank owns",
                                       name, is_write(access) ? "writes" : "reads",
                                       name_of(graph, access), owner->rank);
    }
    return BRAID_OK;
}

static bool is_bundled_elsewhere(const braid_graph *graph, const braid_node_options *options)
{
    return graph_is_elsewhere(graph, options->prelude_of) ||
           graph_is_elsewhere(graph, options->epilogue_of);
}

// Who runs it, if it has to do with owners, and whether it may be run at all.
static braid_status choose_rank(const braid_graph *graph, const char *name,
                                const braid_node_options *options, struct owner_task *task)
{
    const braid_access *writer = find_writer(graph, options);
    if (options->prelude_of.graph || options->epilogue_of.graph || !writer)
        return braid_graph_check_own(graph, name, options);
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < options->num_accesses && !status; i++) {
        if (find_owner(graph, &options->accesses[i]))
            status = check_against(graph, name, writer, &options->accesses[i]);
    }
    task->is_shared = true;
    task->rank = find_owner(graph, writer)->rank;
    task->is_here = is_ours(graph, find_owner(graph, writer));
    return status;
}

static struct graph_mark mark(const braid_graph *graph)
{
    return (struct graph_mark){ graph->nodes.num,     graph->edges.num,
                                graph->accesses.num,  graph->resources.num,
                                graph->works.num,     rank_graph_of(graph)->communications.num,
                                graph->addresses.num, graph->given.num,
                                graph->traps.num,     graph->version };
}

static void go_back(braid_graph *graph, const struct graph_mark *mark)
{
    graph->nodes.num = mark->nodes;
    graph->edges.num = mark->edges;
    graph->accesses.num = mark->accesses;
    graph->resources.num = mark->resources;
    graph->works.num = mark->works;
    rank_graph_of(graph)->communications.num = mark->communications;
    graph->addresses.num = mark->addresses;
    graph->given.num = mark->given;
    graph->traps.num = mark->traps;
    graph->version = mark->version;
}

// Whether it is sent for the task, by this rank or to it.
static bool is_sent(const braid_graph *graph, const struct owner_task *task,
                    const braid_access *access)
{
    const struct graph_owner *owner = find_owner(graph, access);
    return owner && owner->rank != task->rank && (task->is_here || is_ours(graph, owner)) &&
           !has_copy(graph, owner, find_resource(graph, access), task->rank);
}

static bool is_repeated(const braid_node_options *options, size_t index)
{
    size_t i = 0;
    while (options->accesses[i].resource.index != options->accesses[index].resource.index)
        i++;
    return i != index;
}

static braid_status add_transfers(braid_graph *graph, const braid_node_options *options,
                                  const struct owner_task *task)
{
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < options->num_accesses && !status; i++) {
        const braid_access *access = &options->accesses[i];
        if (!is_sent(graph, task, access) || is_repeated(options, i))
            continue;
        const struct graph_owner *owner = find_owner(graph, access);
        const struct transfer transfer = {
            .communicator = { owner->communicator, graph->id },
            .resource = access->resource,
            .peer = task->is_here ? owner->rank : task->rank,
            .receives = task->is_here,
        };
        status = graph_add_transfer(graph, &transfer);
    }
    return status;
}

braid_status braid_graph_begin_task(braid_graph *graph, const char *name,
                                    const braid_node_options *options, struct owner_task *out_task)
{
    struct owner_task task = { .is_here = true };
    if (!rank_graph_of(graph)->owners.num) {
        *out_task = task;
        return BRAID_OK;
    }
    braid_status status = braid_graph_check_accesses(graph, name, options);
    task.mark = mark(graph);
    if (!status && is_bundled_elsewhere(graph, options))
        task.is_here = false;
    else if (!status)
        status = choose_rank(graph, name, options, &task);
    if (!status && task.is_shared &&
        !braid_array_reserve(&rank_graph_of(graph)->copies, options->num_accesses,
                             sizeof(struct graph_copy)))
        status = braid_error_no_memory("copies of what other ranks own");
    *out_task = task;
    if (!status && task.is_shared)
        status = add_transfers(graph, options, &task);
    if (status)
        go_back(graph, &task.mark);
    return status;
}

static void note_copies(braid_graph *graph, const struct owner_task *task,
                        const braid_node_options *options)
{
    for (size_t i = 0; i < options->num_accesses; i++) {
        const braid_access *access = &options->accesses[i];
        if (is_sent(graph, task, access))
            add_copy(graph, find_owner(graph, access), find_resource(graph, access), task->rank);
    }
    for (size_t i = 0; i < options->num_accesses; i++) {
        const braid_access *access = &options->accesses[i];
        struct graph_owner *owner = find_owner(graph, access);
        if (owner && is_write(access))
            drop_copies(graph, owner, find_resource(graph, access));
    }
}

braid_status braid_graph_end_task(braid_graph *graph, const struct owner_task *task,
                                  const braid_node_options *options, braid_status status,
                                  braid_node *out_node)
{
    if (status && task->is_shared)
        go_back(graph, &task->mark);
    if (status)
        return status;
    if (task->is_shared)
        note_copies(graph, task, options);
    if (!task->is_here && out_node)
        *out_node = (braid_node){ .index = BRAID_ELSEWHERE, .graph = graph->id };
    return BRAID_OK;
}

static bool takes_part_by(const braid_graph *graph, const braid_access *access)
{
    const struct graph_owner *owner = find_owner(graph, access);
    return is_ours(graph, owner) ||
           (is_write(access) && has_part_of(graph, owner, find_resource(graph, access)));
}

bool braid_graph_takes_part(const braid_graph *graph, const braid_access *accesses,
                            size_t num_accesses)
{
    const braid_node_options options = { .accesses = accesses, .num_accesses = num_accesses };
    if (!graph || braid_graph_check_accesses(graph, "", &options))
        return true;
    bool is_shared = false;
    for (size_t i = 0; i < num_accesses; i++) {
        if (!find_owner(graph, &accesses[i]))
            continue;
        if (takes_part_by(graph, &accesses[i]))
            return true;
        is_shared |= is_write(&accesses[i]);
    }
    return !is_shared;
}
