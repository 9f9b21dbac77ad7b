// SPDX-License-Identifier: Apache-2.0
// The proof that kernels fetch only bytes that stay as they are. It compares addresses. The planner
// compares the segments of resources.
#include "verify/verify_prefetch.h"

#include "base/array.h"
#include "base/error.h"
#include "base/node_text.h"
#include "graph/extents.h"

// Bytes that a node writes.
struct written {
    uintptr_t begin, last;
    uint32_t node;
};

struct proof {
    const struct tasks *tasks;
    const braid_graph *graph;
    // Sorted by `begin`. Then `last` and `node` are of the one so far that ends last.
    struct written *written;
    size_t num_written;
    uint32_t unknown; // a node that declares no access, or GRAPH_NONE
};

static struct node_text name(const struct proof *proof, uint32_t node)
{
    return braid_node_text(node, braid_graph_name(proof->graph, node));
}

static braid_status refuse(const struct proof *proof, uint32_t index, uint32_t culprit,
                           const char *why)
{
    const struct plan_prefetch *prefetch = &proof->tasks->prefetches[index];
    char text[256];
    return braid_error(
        BRAID_INTERNAL, "kernel %s fetches '%s' for node %s, and node %s %s",
        name(proof, index).text,
        braid_graph_resource_name(proof->graph, prefetch->resource, text, sizeof(text)),
        name(proof, prefetch->node).text, name(proof, culprit).text, why);
}

// False: it is no memory of the program's at one address.
static bool find_bytes(const braid_graph *graph, uint32_t index, struct written *out_bytes)
{
    const struct graph_resource *resource = graph_resource_at(graph, index);
    const struct graph_resource *buffer = graph_resource_at(graph, resource->buffer);
    if (!buffer->address || !resource->bytes)
        return false;
    out_bytes->begin = (uintptr_t)buffer->address + resource->offset;
    out_bytes->last = out_bytes->begin + (resource->bytes - 1);
    return true;
}

static int compare(const void *one, const void *two)
{
    const struct written *left = one, *right = two;
    return (left->begin > right->begin) - (left->begin < right->begin);
}

static braid_status find_written(struct proof *proof)
{
    const struct graph_access *accesses = proof->graph->accesses.items;
    size_t num = 0;
    proof->written = braid_allocate_zeroed(proof->graph->accesses.num, sizeof(*proof->written));
    if (!proof->written)
        return braid_error_no_memory("the proof of prefetches");
    for (uint32_t i = 0; i < graph_num_nodes(proof->graph); i++) {
        const struct graph_node *node = &graph_nodes(proof->graph)[i];
        for (uint32_t k = 0; k < node->num_accesses; k++) {
            const struct graph_access *access = &accesses[node->first_access + k];
            struct written *written = &proof->written[num];
            written->node = i;
            num +=
                access->mode != BRAID_READ && find_bytes(proof->graph, access->resource, written);
        }
    }
    if (num)
        qsort(proof->written, num, sizeof(*proof->written), compare);
    for (size_t i = 1; i < num; i++) {
        if (proof->written[i].last < proof->written[i - 1].last) {
            proof->written[i].last = proof->written[i - 1].last;
            proof->written[i].node = proof->written[i - 1].node;
        }
    }
    proof->num_written = num;
    return BRAID_OK;
}

// A node that writes some of the bytes, or GRAPH_NONE.
static uint32_t find_writer(const struct proof *proof, uintptr_t begin, uintptr_t last)
{
    size_t low = 0, high = proof->num_written;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (proof->written[middle].begin <= last)
            low = middle + 1;
        else
            high = middle;
    }
    return low && proof->written[low - 1].last >= begin ? proof->written[low - 1].node : GRAPH_NONE;
}

static bool reads(const struct proof *proof, uint32_t node, uintptr_t begin, uintptr_t last)
{
    const struct graph_node *graph_node = &graph_nodes(proof->graph)[node];
    const struct graph_access *accesses = proof->graph->accesses.items;
    for (uint32_t i = 0; i < graph_node->num_accesses; i++) {
        const struct graph_access *access = &accesses[graph_node->first_access + i];
        struct written bytes;
        if (access->mode == BRAID_READ && find_bytes(proof->graph, access->resource, &bytes) &&
            bytes.begin <= begin && last <= bytes.last)
            return true;
    }
    return false;
}

// Frames compare the argument with the address, and look at both when one of them was set.
static bool follows(const struct proof *proof, uint32_t index)
{
    const struct plan_prefetch *prefetch = &proof->tasks->prefetches[index];
    const struct backend_launch *next = &proof->tasks->items[prefetch->node].launch;
    return proof->tasks->prefetches[prefetch->node].before == index &&
           prefetch->argument < next->num_args &&
           next->arg_bytes[prefetch->argument] == sizeof(prefetch->address);
}

static braid_status check(const struct proof *proof, uint32_t index)
{
    const struct plan_prefetch *prefetch = &proof->tasks->prefetches[index];
    const uintptr_t begin = (uintptr_t)prefetch->address, last = begin + (prefetch->bytes - 1);
    const uint32_t num = graph_num_nodes(proof->graph);
    if (graph_nodes(proof->graph)[index].kind != WORK_KERNEL || prefetch->node >= num ||
        graph_nodes(proof->graph)[prefetch->node].kind != WORK_KERNEL || proof->tasks->places)
        return braid_error(BRAID_INTERNAL,
                           "node %s fetches for node %u, and they are no kernels of one device",
                           name(proof, index).text, prefetch->node);
    if (proof->unknown != GRAPH_NONE)
        return refuse(proof, index, proof->unknown, "declares no access");
    if (last < begin || !reads(proof, prefetch->node, begin, last))
        return refuse(proof, index, prefetch->node, "does not read all of these bytes");
    uint32_t writer = find_writer(proof, begin, last);
    if (writer != GRAPH_NONE)
        return refuse(proof, index, writer, "writes there");
    return follows(proof, index) ? BRAID_OK
                                 : refuse(proof, index, prefetch->node, "may get another address");
}

braid_status braid_verify_prefetch(const struct tasks *tasks, const braid_graph *graph)
{
    struct proof proof = { .tasks = tasks, .graph = graph };
    if (!tasks || !tasks->prefetches)
        return BRAID_OK;
    proof.unknown = braid_graph_find_undeclared(graph);
    braid_status status = find_written(&proof);
    for (uint32_t i = 0; i < tasks->num && !status; i++) {
        if (tasks->prefetches[i].bytes)
            status = check(&proof, i);
    }
    free(proof.written);
    return status;
}
