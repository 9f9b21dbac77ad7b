// SPDX-License-Identifier: Apache-2.0
// Kernels of a recorded frame that compute the same values in each frame. If such a kernel alone
// writes its results, they stay, and a frame without it does the same.
#include "base/error.h"
#include "import/import.h"

struct finder {
    braid_import *import;
    const struct import_access *accesses;
    bool *changed;     // by buffer: a kernel may not know its bytes
    uint32_t *writers; // by buffer: how many nodes write it
};

// Copies whose bytes are recorded change nothing that a kernel may not know.
static bool changes(const struct finder *finder, const struct import_access *access)
{
    const struct captured_node *node = &captured_nodes(&finder->import->captured)[access->node];
    return access->writes && !(node->type == GPU_NODE_COPY && node->recorded->bytes);
}

static bool are_all_proven(const braid_import *import)
{
    for (uint32_t i = 0; i < import->captured.nodes.num; i++) {
        if (!import->uses.proven[i] && import->uses.is_work[i] &&
            captured_nodes(&import->captured)[i].type != GPU_NODE_COPY)
            return false;
    }
    return true;
}

// A node may have several accesses to one buffer, in any order.
static void count_writers(const struct finder *finder, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        const struct import_access *access = &finder->accesses[i];
        bool is_new = access->writes;
        for (size_t j = first; j < i && is_new; j++)
            is_new = !finder->accesses[j].writes || finder->accesses[j].buffer != access->buffer;
        finder->writers[access->buffer] += is_new;
        finder->changed[access->buffer] |= changes(finder, access);
    }
}

static size_t end_of_node(const struct finder *finder, size_t first)
{
    size_t end = first;
    while (end < finder->import->uses.accesses.num &&
           finder->accesses[end].node == finder->accesses[first].node)
        end++;
    return end;
}

static bool is_constant(const struct finder *finder, size_t first, size_t end)
{
    const braid_import *import = finder->import;
    const uint32_t node = finder->accesses[first].node;
    bool is = captured_nodes(&import->captured)[node].type == GPU_NODE_KERNEL &&
              import->uses.proven[node];
    for (size_t i = first; i < end && is; i++)
        is = !(finder->accesses[i].reads && finder->changed[finder->accesses[i].buffer]);
    return is;
}

static bool may_leave(const struct finder *finder, size_t first, size_t end)
{
    const struct captured_node *node =
        &captured_nodes(&finder->import->captured)[finder->accesses[first].node];
    bool may = !node->region && !node->is_setter;
    for (size_t i = first; i < end && may; i++) {
        const uint32_t buffer = finder->accesses[i].buffer;
        may = !finder->accesses[i].writes ||
              (buffer >= USE_FIRST_BUFFER && finder->writers[buffer] == 1);
    }
    return may;
}

// The node stays, without work, accesses or words.
static void leave_node(braid_import *import, uint32_t node)
{
    ((struct captured_node *)import->captured.nodes.items)[node].type = GPU_NODE_EMPTY;
    import->uses.is_work[node] = false;
    import->info.num_left_out++;
}

static void drop_accesses(braid_import *import)
{
    struct import_access *all = import->uses.accesses.items;
    size_t num = 0;
    for (size_t i = 0; i < import->uses.accesses.num; i++) {
        if (captured_nodes(&import->captured)[all[i].node].type != GPU_NODE_EMPTY)
            all[num++] = all[i];
    }
    import->uses.accesses.num = num;
}

static void find(struct finder *finder, bool leave)
{
    braid_import *import = finder->import;
    for (size_t i = 0, end; i < import->uses.accesses.num; i = end) {
        end = end_of_node(finder, i);
        count_writers(finder, i, end);
    }
    for (size_t i = 0, end; i < import->uses.accesses.num; i = end) {
        end = end_of_node(finder, i);
        if (!is_constant(finder, i, end))
            continue;
        import->info.num_constants++;
        if (leave && may_leave(finder, i, end))
            leave_node(import, finder->accesses[i].node);
    }
    drop_accesses(import);
}

braid_status braid_import_find_constants(braid_import *import, bool leave)
{
    const size_t num = import->memory.buffers.num + USE_FIRST_BUFFER;
    struct store store = { 0 };
    struct finder finder = { .import = import,
                             .accesses = import->uses.accesses.items,
                             .changed = braid_store_take(&store, num, sizeof(*finder.changed)),
                             .writers = braid_store_take(&store, num, sizeof(*finder.writers)) };
    if (!store.failed && are_all_proven(import))
        find(&finder, leave);
    const bool failed = store.failed;
    braid_store_finish(&store);
    return failed ? braid_error_no_memory("an import's constants") : BRAID_OK;
}
