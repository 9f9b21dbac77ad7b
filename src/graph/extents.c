// SPDX-License-Identifier: Apache-2.0
// Buffers by address, and the accesses of nodes that nobody declared.
#include "graph/extents.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/node_text.h"

// ---- which buffer has a byte, and where the buffers end that bytes begin in ----

static int compare_extents(const void *a, const void *b)
{
    const struct extent *left = a, *right = b;
    if (left->begin != right->begin)
        return left->begin < right->begin ? -1 : 1;
    return left->buffer < right->buffer ? -1 : left->buffer > right->buffer;
}

static bool has_extent(const struct graph_resource *resource, uint32_t index)
{
    return resource->buffer == index && resource->address;
}

static bool grow(struct extents *extents, uint32_t num)
{
    const uint32_t room = extents->room + extents->room / 2;
    if (num <= extents->room)
        return true;
    const uint32_t wanted = room > num ? room : num;
    struct extent *items = braid_reallocate(extents->items, wanted * sizeof(*items));
    if (!items)
        return false;
    extents->items = items;
    extents->room = wanted;
    return true;
}

// As where the buffers are parts of one block, in order.
static bool is_sorted(const struct extents *extents)
{
    for (uint32_t i = 1; i < extents->num; i++) {
        if (compare_extents(&extents->items[i - 1], &extents->items[i]) > 0)
            return false;
    }
    return true;
}

// Few go to their places one by one, many are sorted together.
static void put(struct extents *extents, struct extent added, bool sorts_later)
{
    uint32_t at = extents->num++;
    while (!sorts_later && at > 0 && compare_extents(&extents->items[at - 1], &added) > 0) {
        extents->items[at] = extents->items[at - 1];
        at--;
    }
    extents->items[at] = added;
}

braid_status braid_extents_extend(const braid_graph *graph, struct extents *extents,
                                  uint32_t *num_seen)
{
    enum { MOST_ONE_BY_ONE = 16 };
    const struct graph_resource *resources = graph->resources.items;
    uint32_t num = 0;
    for (uint32_t i = *num_seen; i < graph->resources.num; i++)
        num += has_extent(&resources[i], i);
    if (!grow(extents, extents->num + num))
        return braid_error_no_memory("the extents of buffers");
    for (uint32_t i = *num_seen; i < graph->resources.num; i++) {
        const uintptr_t begin = (uintptr_t)resources[i].address;
        if (has_extent(&resources[i], i))
            put(extents, (struct extent){ begin, begin + (resources[i].bytes - 1), i },
                num > MOST_ONE_BY_ONE);
    }
    if (num > MOST_ONE_BY_ONE && !is_sorted(extents))
        qsort(extents->items, extents->num, sizeof(*extents->items), compare_extents);
    *num_seen = (uint32_t)graph->resources.num;
    return BRAID_OK;
}

braid_status braid_extents_create(const braid_graph *graph, struct extents *out_extents)
{
    struct extents extents = { 0 };
    uint32_t num_seen = 0;
    braid_status status = braid_extents_extend(graph, &extents, &num_seen);
    if (!status)
        *out_extents = extents;
    return status;
}

void braid_extents_finish(struct extents *extents)
{
    braid_free(extents->items);
    *extents = (struct extents){ 0 };
}

uint32_t braid_extents_find(const struct extents *extents, const void *address)
{
    uint32_t low = 0, high = extents->num;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (extents->items[middle].last < (uintptr_t)address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool braid_extents_overrun(const struct extents *extents, const void *address, uint64_t bytes,
                           uint32_t *out_buffer, uint64_t *out_beyond)
{
    const struct extent *items = extents->items;
    uint32_t i = braid_extents_find(extents, address);
    if (i == extents->num || items[i].begin > (uintptr_t)address)
        return false;
    while (items[i].last - (uintptr_t)address < bytes - 1 && i + 1 < extents->num &&
           items[i + 1].begin - 1 == items[i].last)
        i++;
    uint64_t room = items[i].last - (uintptr_t)address + 1;
    *out_buffer = items[i].buffer;
    *out_beyond = bytes - room;
    return bytes > room;
}

braid_status braid_extents_refuse(const char *node, const char *end, uint64_t bytes,
                                  uint64_t beyond, const char *buffer)
{
    return braid_error_invalid("node %s: .%s: %llu bytes end %llu beyond buffer '%s': take fewer, "
                               "or declare the buffer as long as it is",
                               node, end, (unsigned long long)bytes, (unsigned long long)beyond,
                               buffer);
}

// ---- overlaps ----

// Finds buffers that share bytes: accesses through one would not be ordered with those of the
// other.

static braid_status refuse(const braid_graph *graph, uint32_t one, uint32_t other)
{
    uint32_t first = one < other ? one : other, second = one < other ? other : one;
    return braid_error_invalid(
        "buffer '%s' shares bytes with buffer '%s', and two buffers never conflict: declare one, "
        "and its parts with braid_graph_add_range",
        braid_names_at(&graph->names, graph_resource_at(graph, second)->name),
        braid_names_at(&graph->names, graph_resource_at(graph, first)->name));
}

braid_status braid_graph_check_overlaps(const braid_graph *graph, const struct extents *extents)
{
    const struct extent *items = extents->items;
    for (uint32_t i = 1; i < extents->num; i++) {
        if (items[i].begin <= items[i - 1].last)
            return refuse(graph, items[i - 1].buffer, items[i].buffer);
    }
    return BRAID_OK;
}

// ---- undeclared accesses ----

// Behind those of the program (ranks/communication.c).
static uint32_t count_of_communication(const struct graph_node *node)
{
    return node->kind == WORK_POST ? 2 : node->kind == WORK_AWAIT ? 1 : 0;
}

static bool declares_any(const braid_graph *graph, const struct graph_node *node)
{
    const uint32_t own = count_of_communication(node);
    for (uint32_t i = 0; i + own < node->num_accesses; i++) {
        const struct graph_access *access = graph_access_of(graph, node, i);
        if (graph_resource_at(graph, access->resource)->scratch == GRAPH_NONE)
            return true;
    }
    return false;
}

uint32_t braid_graph_find_undeclared(const braid_graph *graph)
{
    for (uint32_t i = 0; i < graph_num_nodes(graph); i++) {
        const struct graph_node *node = &graph_nodes(graph)[i];
        if (node->kind != WORK_EMPTY && (graph->imported_places || !declares_any(graph, node)))
            return i;
    }
    return GRAPH_NONE;
}

// ---- pointers ----

// A node that is given a pointer into a buffer, and declares no access to that, would race unseen.
//
// No types are known of a kernel's arguments: those of a pointer's size whose value is an address
// inside a declared buffer count as pointers. The address right behind a buffer that the node
// accesses counts as the end of that buffer, although the next buffer may begin there.

struct pointers {
    const braid_graph *graph;
    const struct extents *extents;
    size_t next_unchecked; // in graph->unchecked
};

static struct node_text name_of(const struct pointers *pointers, uint32_t node)
{
    return braid_node_text(node, braid_graph_name(pointers->graph, node));
}

static const char *buffer_name(const struct pointers *pointers, uint32_t buffer)
{
    return braid_names_at(&pointers->graph->names,
                          graph_resource_at(pointers->graph, buffer)->name);
}

static bool declares_buffer(const struct pointers *pointers, uint32_t node, uint32_t buffer)
{
    const braid_graph *graph = pointers->graph;
    const struct graph_node *graph_node = &graph_nodes(graph)[node];
    const struct graph_resource *resources = graph->resources.items;
    for (uint32_t i = 0; i < graph_node->num_accesses; i++) {
        if (resources[graph_access_of(graph, graph_node, i)->resource].buffer == buffer)
            return true;
    }
    return false;
}

static bool is_end(const struct pointers *pointers, uint32_t node, uint32_t i, const void *address)
{
    const struct extent *items = pointers->extents->items;
    return i > 0 && items[i].begin == (uintptr_t)address &&
           items[i - 1].last + 1 == items[i].begin &&
           declares_buffer(pointers, node, items[i - 1].buffer);
}

// The grid's address stands behind the arguments of the program.
static braid_status check_argument(const struct pointers *pointers, uint32_t node, uint32_t index,
                                   bool is_grid, const void *address)
{
    char what[32];
    const struct extents *extents = pointers->extents;
    uint32_t i = braid_extents_find(extents, address);
    if (i == extents->num || extents->items[i].begin > (uintptr_t)address ||
        declares_buffer(pointers, node, extents->items[i].buffer) ||
        is_end(pointers, node, i, address))
        return BRAID_OK;
    if (is_grid)
        snprintf(what, sizeof(what), ".grid_from");
    else
        snprintf(what, sizeof(what), "argument %u", index);
    return braid_error_invalid(
        "node %s: %s is an address in buffer '%s', to which the node declares no access. Declare "
        "it, or give a pointer that nothing orders as BRAID_ARG_UNCHECKED_POINTER",
        name_of(pointers, node).text, what, buffer_name(pointers, extents->items[i].buffer));
}

static bool is_unchecked(struct pointers *pointers, uint32_t arg)
{
    const struct array *unchecked = &pointers->graph->unchecked;
    const uint32_t *args = unchecked->items;
    while (pointers->next_unchecked < unchecked->num && args[pointers->next_unchecked] < arg)
        pointers->next_unchecked++; // this graph, a part of another, lacks their nodes
    return pointers->next_unchecked < unchecked->num && args[pointers->next_unchecked] == arg;
}

// A parameter that changes a part of an argument would make another address of one.
static braid_status check_use(struct pointers *pointers, const struct graph_parameter_use *use)
{
    const braid_graph *graph = pointers->graph;
    const struct extents *extents = pointers->extents;
    const void *address;
    if (use->target != BRAID_TARGET_ARGUMENT || use->bytes == sizeof(address))
        return BRAID_OK;
    const struct graph_kernel *kernel = graph_kernel_of(graph, use->node);
    uint32_t bytes;
    const void *argument = braid_graph_arg(graph, kernel, use->argument, &bytes);
    pointers->next_unchecked = 0;
    if (bytes != sizeof(address) || is_unchecked(pointers, kernel->first_arg + use->argument))
        return BRAID_OK;
    memcpy(&address, argument, sizeof(address));
    uint32_t i = braid_extents_find(extents, address);
    if (i == extents->num || extents->items[i].begin > (uintptr_t)address)
        return BRAID_OK;
    const struct graph_parameter *parameters = graph->parameters.items;
    return braid_error_invalid(
        "node %s: parameter '%s' changes %u of the %zu bytes of argument %u, an address in buffer "
        "'%s'. Give it all of them, or declare a number that looks like an address as "
        "BRAID_ARG_UNCHECKED_POINTER",
        name_of(pointers, use->node).text,
        braid_names_at(&graph->names, parameters[use->parameter].name), use->bytes, sizeof(address),
        use->argument, buffer_name(pointers, extents->items[i].buffer));
}

static braid_status check_kernel(struct pointers *pointers, uint32_t node)
{
    const braid_graph *graph = pointers->graph;
    const struct graph_kernel *kernel = graph_kernel_of(graph, node);
    const uint32_t *sizes = graph->arg_sizes.items;
    if (!kernel->num_args)
        return BRAID_OK;
    const unsigned char *bytes = (const unsigned char *)graph->arg_bytes.items + kernel->arg_offset;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < kernel->num_args && !status; i++) {
        uint32_t size = sizes[kernel->first_arg + i];
        const void *address = NULL;
        if (!is_unchecked(pointers, kernel->first_arg + i) && size == sizeof(address)) {
            memcpy(&address, bytes, sizeof(address));
            status = check_argument(pointers, node, i,
                                    i + 1 == kernel->num_args && kernel->grid_from, address);
        }
        bytes += graph_arg_stride(size);
    }
    return status;
}

// Checks a copy or fill, all of whose bytes are known.
static braid_status check_end(const struct pointers *pointers, uint32_t node, const char *end,
                              const void *address, uint64_t bytes)
{
    const struct extents *extents = pointers->extents;
    uint32_t buffer = 0;
    uint64_t beyond = 0;
    if (braid_extents_overrun(extents, address, bytes, &buffer, &beyond))
        return braid_extents_refuse(name_of(pointers, node).text, end, bytes, beyond,
                                    buffer_name(pointers, buffer));
    uint32_t i = address ? braid_extents_find(extents, address) : extents->num;
    for (; i < extents->num && (extents->items[i].begin <= (uintptr_t)address ||
                                extents->items[i].begin - (uintptr_t)address < bytes);
         i++) {
        if (!declares_buffer(pointers, node, extents->items[i].buffer))
            return braid_error_invalid("node %s: .%s reaches buffer '%s', to which the node "
                                       "declares no access: declare it",
                                       name_of(pointers, node).text, end,
                                       buffer_name(pointers, extents->items[i].buffer));
    }
    return BRAID_OK;
}

static braid_status check_copy(const struct pointers *pointers, uint32_t node,
                               const struct work_copy *copy)
{
    braid_status status =
        check_end(pointers, node, "to", copy->to, work_span(&copy->rows, false, copy->bytes));
    return status ? status
                  : check_end(pointers, node, "from", copy->from,
                              work_span(&copy->rows, true, copy->bytes));
}

static braid_status check_node(struct pointers *pointers, uint32_t node)
{
    const struct graph_node *graph_node = &graph_nodes(pointers->graph)[node];
    switch (graph_node->kind) {
    case WORK_KERNEL:
        return graph_node->code_use == BRAID_CODE_DECLARES
                   ? BRAID_OK // it may be given addresses that it never uses
                   : check_kernel(pointers, node);
    case WORK_COPY:
        return check_copy(pointers, node, &graph_work_of(pointers->graph, node)->copy);
    case WORK_FILL: {
        const struct work_fill *fill = &graph_work_of(pointers->graph, node)->fill;
        return check_end(pointers, node, "to", fill->to,
                         work_span(&fill->rows, false, fill->num_values * fill->value_bytes));
    }
    default: // what a call does with its user nobody knows
        return BRAID_OK;
    }
}

// Where addresses of a graph that was placed are a replica's, its bytes still have the buffer's.
braid_status braid_graph_check_pointers(const braid_graph *graph, const struct extents *extents)
{
    struct pointers pointers = { .graph = graph, .extents = extents };
    braid_status status = BRAID_OK;
    if (graph->places || !extents->num)
        return BRAID_OK;
    for (uint32_t i = 0; i < graph->nodes.num && !status; i++)
        status = check_node(&pointers, i);
    const struct graph_parameter_use *uses = graph->uses.items;
    for (size_t i = 0; i < graph->uses.num && !status; i++)
        status = check_use(&pointers, &uses[i]);
    return status;
}
