// SPDX-License-Identifier: Apache-2.0
// Proves that transient buffers which share bytes are never alive at once.
#include "verify/verify_memory.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

#define NO_USER UINT32_MAX

struct buffer {
    uint64_t offset, end;
    uint32_t resource;
    uint32_t uses_left;    // accesses by nodes that have not been walked
    uint32_t last_user;    // into users; NO_USER: none yet
    uint32_t first_shared; // of the buffers that share bytes with it, in `shared`
    uint32_t end_shared;
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
    struct array shared; // uint32_t
    struct array users;  // struct user
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
    const struct graph_resource *whole =
        &((const struct graph_resource *)memory->verify->graph->resources.items)[resource];
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

static bool list_shared(struct verify_memory *memory)
{
    for (uint32_t i = 0; i < memory->num; i++) {
        struct buffer *buffer = &memory->buffers[i];
        buffer->first_shared = (uint32_t)memory->shared.num;
        for (uint32_t k = 0; k < memory->num; k++) {
            const struct buffer *other = &memory->buffers[k];
            if (k == i || other->offset >= buffer->end || buffer->offset >= other->end)
                continue;
            uint32_t *slot = memory->shared.num < UINT32_MAX
                                 ? braid_array_append(&memory->shared, 1, sizeof(*slot))
                                 : NULL;
            if (!slot)
                return false;
            *slot = k;
        }
        buffer->end_shared = (uint32_t)memory->shared.num;
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
    memory->buffers = braid_allocate_zeroed(plan->num_resources, sizeof(*memory->buffers));
    memory->buffer_of = braid_allocate_zeroed(plan->num_resources, sizeof(uint32_t));
    braid_status status = memory->buffers && memory->buffer_of
                              ? find_buffers(memory, plan)
                              : braid_error_no_memory("the proof of a plan's memory");
    if (!status && !list_shared(memory))
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
    free(memory->buffers);
    free(memory->buffer_of);
    braid_array_finish(&memory->shared);
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
    return braid_error(BRAID_INTERNAL,
                       "the plan lets node %u '%s' use transient '%s' while '%s', which shares its "
                       "memory, %s",
                       node, braid_graph_name(graph, node), name, other_name, what);
}

// All that use another buffer in these bytes come before the node, or none has used it yet.
static braid_status check_shared(const struct verify_memory *memory, const struct buffer *buffer,
                                 uint32_t node)
{
    const uint32_t *shared = memory->shared.items;
    const struct user *users = memory->users.items;
    for (uint32_t i = buffer->first_shared; i < buffer->end_shared; i++) {
        const struct buffer *other = &memory->buffers[shared[i]];
        if (other->last_user == NO_USER)
            continue;
        if (other->uses_left)
            return report(memory, node, buffer, other, "is used before and after it");
        for (uint32_t u = other->last_user; u != NO_USER; u = users[u].next) {
            if (users[u].node == node || !verify_is_ordered(memory->verify, users[u].node, node))
                return report(memory, node, buffer, other, "may still be in use");
        }
    }
    return BRAID_OK;
}

// Of the users on one lane the last stands for all.
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
    struct user *user = braid_array_append(&memory->users, 1, sizeof(*user));
    if (!user)
        return false;
    *user = (struct user){ node, lane, buffer->last_user };
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
        braid_status status = check_shared(memory, buffer, node);
        if (status)
            return status;
        buffer->uses_left--;
        if (!add_user(memory, buffer, node, lane))
            return braid_error_no_memory("the proof of a plan's memory");
    }
    return BRAID_OK;
}
