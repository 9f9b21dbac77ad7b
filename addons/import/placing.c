// SPDX-License-Identifier: Apache-2.0
// The devices of captured nodes in a group. The driver tells the contexts of kernels and batches.
#include "base/error.h"
#include "base/host_memory.h"
#include "import/captured.h"

static braid_status refuse(const struct captured_node *node, const char *why)
{
    return braid_error(BRAID_UNSUPPORTED, "node %s of the captured graph, a %s, %s", node->place,
                       braid_captured_kind(node->type), why);
}

// ---- copies and fills ----

// A copy runs where it takes from, else where it writes. A fill runs where it writes.
static braid_status place_memory(const struct import_members *members, struct captured_node *node)
{
    bool is_foreign = false;
    for (int i = 0; i < 2 && node->member == MEMBER_NONE; i++) {
        if (node->kinds[i] >> 32 != GPU_MEMORY_DEVICE)
            continue;
        node->member = braid_import_member_numbered(members, (int)(uint32_t)node->kinds[i]);
        is_foreign |= node->member == MEMBER_NONE;
    }
    return is_foreign && node->member == MEMBER_NONE
               ? refuse(node, "has memory of no member of the group")
               : BRAID_OK;
}

// ---- host calls and events ----

// Members, a bit each: that of the node, or those of the nodes next to it.
static uint64_t members_of(const struct captured_node *node, uint64_t next)
{
    return node->member == MEMBER_NONE ? next : UINT64_C(1) << node->member;
}

static uint32_t first_of(uint64_t members)
{
    return members ? (uint32_t)__builtin_ctzll(members) : MEMBER_NONE;
}

// The stream of a record had nodes of the event's device before, and that of a semaphore nodes of
// its device. A host call and a wait may be anywhere. A host call stays with its stream, where one
// tells it.
static braid_status place_other(struct captured_node *node, uint64_t before, uint64_t behind)
{
    const bool is_clear = __builtin_popcountll(before) == 1;
    const bool signals = node->type == GPU_NODE_RECORD || node->type == GPU_NODE_SIGNAL;
    if ((signals && !is_clear) ||
        (node->type == GPU_NODE_AWAIT && __builtin_popcountll(behind) != 1))
        return refuse(node, "may be of any of several devices");
    if (signals || (node->type == GPU_NODE_HOST && is_clear))
        node->member = first_of(before);
    else if (node->type == GPU_NODE_HOST || node->type == GPU_NODE_WAIT ||
             node->type == GPU_NODE_AWAIT)
        node->member = first_of(behind ? behind : before);
    return BRAID_OK;
}

static braid_status place_others(struct captured_graph *captured)
{
    struct captured_node *nodes = captured->nodes.items;
    const struct import_edge *edges = captured->edges.items;
    struct store store = { 0 };
    uint64_t *before = braid_store_take(&store, captured->nodes.num, sizeof(*before));
    uint64_t *behind = braid_store_take(&store, captured->nodes.num, sizeof(*behind));
    braid_status status = store.failed ? braid_error_no_memory("a captured graph") : BRAID_OK;
    for (size_t k = captured->edges.num; k-- > 0 && !status;)
        behind[edges[k].from] |= members_of(&nodes[edges[k].to], behind[edges[k].to]);
    for (size_t i = 0, k = 0; i < captured->nodes.num && !status; i++) {
        status = place_other(&nodes[i], before[i], behind[i]);
        for (; k < captured->edges.num && edges[k].from == i; k++)
            before[edges[k].to] |= members_of(&nodes[i], before[i]);
    }
    braid_store_finish(&store);
    return status;
}

// ---- all ----

braid_status braid_captured_place(struct captured_graph *captured)
{
    struct captured_node *nodes = captured->nodes.items;
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < captured->nodes.num && !status; i++) {
        if (nodes[i].type == GPU_NODE_COPY || nodes[i].type == GPU_NODE_FILL)
            status = place_memory(&captured->members, &nodes[i]);
    }
    return status ? status : place_others(captured);
}
