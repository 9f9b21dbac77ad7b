// SPDX-License-Identifier: Apache-2.0
// Proves that transient buffers which share bytes are never alive at once.
//
// The places where buffers begin and end cut the arena into cells. Each cell has the buffer that
// began to be used last in it. All users of a buffer come after all users of those that it takes
// cells from. These came after the users of the buffers before them, so nobody looks further back.
#include "verify/verify_state.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/store.h"

#define NO_USER UINT32_MAX
#define NO_BUFFER UINT32_MAX

struct buffer {
    uint64_t offset, end;
    uint32_t resource;
    uint32_t uses_left;    // accesses by nodes that have not been walked
    uint32_t last_user;    // into users; NO_USER: none yet
    uint32_t first_before; // in `before`, for the buffers that it takes cells from
    uint32_t end_before;
};

// A user of a buffer that is its last on its lane so far.
struct user {
    uint32_t node, lane;
    uint32_t next; // NO_USER: none
};

struct verify_memory {
    const struct verify *verify;
    uint32_t num;
    struct buffer *buffers;
    uint32_t *buffer_of; // per resource; num: none
    size_t num_cuts;
    uint64_t *cuts;      // ascending; a cell is from one to the next
    uint32_t *owners;    // per cell; NO_BUFFER: nobody has used it yet
    struct array before; // uint32_t
    struct array users;  // struct user
    struct store store;  // holds the arrays
};

static void count_uses(struct verify_memory *memory)
{
    const struct graph_access *accesses = memory->verify->graph->accesses.items;
    const braid_graph *graph = memory->verify->graph;
    for (uint32_t i = 0; i < graph_num_nodes(graph); i++) {
        const struct graph_node *node = &graph_nodes(graph)[i];
        for (uint32_t k = 0; k < node->num_accesses && verify_is_here(memory->verify, i); k++) {
            uint32_t buffer = memory->buffer_of[accesses[node->first_access + k].resource];
            if (buffer < memory->num)
                memory->buffers[buffer].uses_left++;
        }
    }
}

static braid_status check_place(const struct verify_memory *memory, const struct memory_plan *plan,
                                uint32_t resource)
{
    const struct graph_resource *whole = graph_resource_at(memory->verify->graph, resource);
    uint64_t offset = plan->offsets[resource];
    char buffer[256];
    const char *name =
        braid_graph_resource_name(memory->verify->graph, resource, buffer, sizeof(buffer));
    if (offset > plan->info.arena_bytes || whole->bytes > plan->info.arena_bytes - offset)
        return braid_error(BRAID_INTERNAL, "transient '%s' ends beyond the %llu bytes of the arena",
                           name, (unsigned long long)plan->info.arena_bytes);
    if (plan->num_places > 1 && (offset < plan->begins[whole->home] ||
                                 offset + whole->bytes > plan->begins[whole->home + 1]))
        return braid_error(BRAID_INTERNAL, "transient '%s' is not in the memory of place %u", name,
                           whole->home);
    if (offset % whole->alignment || plan->info.alignment % whole->alignment)
        return braid_error(BRAID_INTERNAL, "transient '%s' is not aligned to %llu bytes", name,
                           (unsigned long long)whole->alignment);
    return BRAID_OK;
}

static braid_status find_buffers(struct verify_memory *memory, const struct memory_plan *plan)
{
    const struct graph_resource *resources = memory->verify->graph->resources.items;
    for (size_t i = 0; i < plan->num_resources; i++) {
        uint32_t buffer = resources[i].buffer;
        memory->buffer_of[i] = UINT32_MAX;
        if (plan->offsets[i] == MEMORY_NONE)
            continue;
        if (plan->offsets[i] != plan->offsets[buffer] + resources[i].offset)
            return braid_error(BRAID_INTERNAL, "resource %zu does not lie in its buffer", i);
        if (buffer != i) {
            memory->buffer_of[i] = memory->buffer_of[buffer];
            continue;
        }
        braid_status status = check_place(memory, plan, buffer);
        if (status)
            return status;
        memory->buffer_of[i] = memory->num;
        memory->buffers[memory->num++] = (struct buffer){
            .offset = plan->offsets[i],
            .end = plan->offsets[i] + resources[i].bytes,
            .resource = buffer,
            .last_user = NO_USER,
        };
    }
    return BRAID_OK;
}

static int compare_cuts(const void *one, const void *two)
{
    const uint64_t left = *(const uint64_t *)one, right = *(const uint64_t *)two;
    return (left > right) - (left < right);
}

static bool make_cells(struct verify_memory *memory)
{
    const size_t num = 2 * (size_t)memory->num;
    memory->cuts = braid_store_take(&memory->store, num, sizeof(*memory->cuts));
    memory->owners = braid_store_take(&memory->store, num, sizeof(*memory->owners));
    if (memory->store.failed)
        return false;
    for (uint32_t i = 0; i < memory->num; i++) {
        memory->cuts[2 * i] = memory->buffers[i].offset;
        memory->cuts[2 * i + 1] = memory->buffers[i].end;
    }
    qsort(memory->cuts, num, sizeof(*memory->cuts), compare_cuts);
    for (size_t i = 0; i < num; i++) {
        if (i == 0 || memory->cuts[i] != memory->cuts[i - 1])
            memory->cuts[memory->num_cuts++] = memory->cuts[i];
        memory->owners[i] = NO_BUFFER;
    }
    return true;
}

braid_status braid_verify_memory_create(const struct verify *verify, const struct memory_plan *plan,
                                        struct verify_memory **out_memory)
{
    struct verify_memory *memory = calloc(1, sizeof(*memory));
    if (!memory)
        return braid_error_no_memory("the proof of a plan's memory");
    memory->verify = verify;
    memory->buffers =
        braid_store_take(&memory->store, plan->num_resources, sizeof(*memory->buffers));
    memory->buffer_of = braid_store_take(&memory->store, plan->num_resources, sizeof(uint32_t));
    braid_status status = !memory->store.failed
                              ? find_buffers(memory, plan)
                              : braid_error_no_memory("the proof of a plan's memory");
    if (!status && !make_cells(memory))
        status = braid_error_no_memory("the proof of a plan's memory");
    if (status) {
        braid_verify_memory_destroy(memory);
        return status;
    }
    count_uses(memory);
    *out_memory = memory;
    return BRAID_OK;
}

void braid_verify_memory_destroy(struct verify_memory *memory)
{
    if (!memory)
        return;
    braid_store_finish(&memory->store);
    braid_array_finish(&memory->before);
    braid_array_finish(&memory->users);
    free(memory);
}

static braid_status report(const struct verify_memory *memory, uint32_t node,
                           const struct buffer *buffer, const struct buffer *other,
                           const char *what)
{
    const braid_graph *graph = memory->verify->graph;
    char text[256], other_text[256];
    const char *name = braid_graph_resource_name(graph, buffer->resource, text, sizeof(text));
    const char *other_name =
        braid_graph_resource_name(graph, other->resource, other_text, sizeof(other_text));
    return braid_error(
        BRAID_INTERNAL,
        "the plan lets node %u '%s' use transient '%s' while '%s', which shares its memory, %s",
        node, braid_graph_name(graph, node), name, other_name, what);
}

// The first use of a buffer takes its cells from those that had them.
static bool take_cells(struct verify_memory *memory, struct buffer *buffer)
{
    const uint64_t *first = bsearch(&buffer->offset, memory->cuts, memory->num_cuts,
                                    sizeof(*memory->cuts), compare_cuts);
    uint32_t latest = NO_BUFFER;
    buffer->first_before = (uint32_t)memory->before.num;
    for (size_t i = (size_t)(first - memory->cuts); memory->cuts[i] < buffer->end; i++) {
        const uint32_t owner = memory->owners[i];
        memory->owners[i] = (uint32_t)(buffer - memory->buffers);
        if (owner == NO_BUFFER || owner == latest)
            continue;
        uint32_t *slot = memory->before.num < UINT32_MAX
                             ? braid_array_append(&memory->before, 1, sizeof(*slot))
                             : NULL;
        if (!slot)
            return false;
        *slot = latest = owner;
    }
    buffer->end_before = (uint32_t)memory->before.num;
    return true;
}

// All that use a buffer which had these cells come before the node.
static braid_status check_before(const struct verify_memory *memory, const struct buffer *buffer,
                                 uint32_t node)
{
    const uint32_t *before = memory->before.items;
    const struct user *users = memory->users.items;
    for (uint32_t i = buffer->first_before; i < buffer->end_before; i++) {
        const struct buffer *other = &memory->buffers[before[i]];
        if (other->uses_left)
            return report(memory, node, buffer, other, "is used before and after it");
        for (uint32_t u = other->last_user; u != NO_USER; u = users[u].next) {
            if (users[u].node == node || !verify_is_ordered(memory->verify, users[u].node, node))
                return report(memory, node, buffer, other, "may still be in use");
        }
    }
    return BRAID_OK;
}

// The last user on a lane stands for all there.
static bool add_user(struct verify_memory *memory, struct buffer *buffer, uint32_t node,
                     uint32_t lane)
{
    struct user *users = memory->users.items;
    for (uint32_t u = buffer->last_user; u != NO_USER; u = users[u].next) {
        if (users[u].lane == lane) {
            users[u].node = node;
            return true;
        }
    }
    if (memory->users.num >= NO_USER)
        return false;
    if (!braid_array_put(&memory->users, &(struct user){ node, lane, buffer->last_user },
                         sizeof(struct user)))
        return false;
    buffer->last_user = (uint32_t)memory->users.num - 1;
    return true;
}

braid_status braid_verify_memory_node(struct verify_memory *memory, uint32_t node, uint32_t lane)
{
    const braid_graph *graph = memory->verify->graph;
    const struct graph_node *graph_node = &graph_nodes(graph)[node];
    const struct graph_access *accesses = graph->accesses.items;
    for (uint32_t i = 0; i < graph_node->num_accesses; i++) {
        uint32_t index = memory->buffer_of[accesses[graph_node->first_access + i].resource];
        if (index >= memory->num)
            continue;
        struct buffer *buffer = &memory->buffers[index];
        if (buffer->last_user == NO_USER && !take_cells(memory, buffer))
            return braid_error_no_memory("the proof of a plan's memory");
        braid_status status = check_before(memory, buffer, node);
        if (status)
            return status;
        buffer->uses_left--;
        if (!add_user(memory, buffer, node, lane))
            return braid_error_no_memory("the proof of a plan's memory");
    }
    return BRAID_OK;
}
