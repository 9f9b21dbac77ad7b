// SPDX-License-Identifier: Apache-2.0
// A recorded frame as a graph to plan, and the times of its host.
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/graph.h"
#include "import/import.h"

// ---- a graph to plan ----

struct maker {
    braid_import *import;
    struct array after; // braid_node
    size_t next_edge;
};

static void do_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static const char *name_of(const braid_import *import, const struct captured_node *node)
{
    return node->type == GPU_NODE_KERNEL ? captured_function_of(&import->captured, node)->name
           : node->type == GPU_NODE_HOST && node->recorded->name[0]
               ? node->recorded->name
               : braid_captured_kind(node->type);
}

// A launch of a graph has its time, and each of its nodes with work an equal part of that.
static uint64_t cost_of(const braid_import *import, uint32_t node)
{
    const struct captured_node *nodes = captured_nodes(&import->captured);
    const uint32_t operation = nodes[node].operation;
    const braid_record_operation *of = &import->recorded.record->operations[operation];
    uint32_t first = node, end = node + 1, num = 0;
    if (of->device_end_ns <= of->device_begin_ns)
        return 0;
    while (first > 0 && nodes[first - 1].operation == operation)
        first--;
    while (end < import->captured.nodes.num && nodes[end].operation == operation)
        end++;
    for (uint32_t i = first; i < end; i++)
        num += import->uses.is_work[i] && !nodes[i].region;
    return num ? (of->device_end_ns - of->device_begin_ns) / num : 0;
}

static braid_status add_node(struct maker *maker, uint32_t node)
{
    braid_import *import = maker->import;
    const struct captured_node *of = &captured_nodes(&import->captured)[node];
    const char *name = name_of(import, of);
    braid_kernel *kernel = &import->kernels[node];
    *kernel = (braid_kernel){ .name = name[0] ? name : "kernel", .cpu = do_nothing };
    return braid_graph_add_kernel(
        import->graph,
        &(braid_kernel_node){ .node = { .after = maker->after.items,
                                        .num_after = maker->after.num,
                                        .cost_ns = cost_of(import, node) },
                              .kernel = kernel,
                              .grid = { 1, 1, 1 },
                              .block = { 1, 1, 1 } },
        &import->nodes[node]);
}

static void count(const struct captured_node *node, braid_import_info *info)
{
    info->num_kernels += node->type == GPU_NODE_KERNEL;
    info->num_copies += node->type == GPU_NODE_COPY;
    info->num_fills += node->type == GPU_NODE_FILL;
    info->num_host_calls += node->type == GPU_NODE_HOST;
}

// Edges inside of bodies are left out with these.
static braid_status add_nodes(struct maker *maker)
{
    braid_import *import = maker->import;
    const struct array *list = &import->orders.edges;
    const struct import_edge *edges = list->items;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < import->captured.nodes.num && !status; i++) {
        maker->after.num = 0;
        for (; maker->next_edge < list->num && edges[maker->next_edge].to == i;
             maker->next_edge++) {
            const braid_node before = import->nodes[edges[maker->next_edge].from];
            if (!braid_array_put(&maker->after, &before, sizeof(before)))
                return braid_error_no_memory("the graph of a recorded frame");
        }
        count(&captured_nodes(&import->captured)[i], &import->info);
        if (import->uses.is_work[i] && !captured_nodes(&import->captured)[i].region)
            status = add_node(maker, i);
    }
    return status;
}

braid_status braid_import_build_recorded(braid_import *import)
{
    struct maker maker = { .import = import };
    const size_t num = import->captured.nodes.num;
    braid_status status = braid_graph_create(&import->graph);
    if (status)
        return status;
    import->nodes = braid_allocate_zeroed(num, sizeof(*import->nodes));
    import->kernels = braid_allocate_zeroed(num, sizeof(*import->kernels));
    status = import->nodes && import->kernels
                 ? add_nodes(&maker)
                 : braid_error_no_memory("the graph of a recorded frame");
    braid_array_finish(&maker.after);
    if (!status)
        import->graph->imported_places = 1;
    return status;
}

// ---- times of the host ----

static bool is_same_end(const braid_record_work *one, const braid_record_work *other)
{
    return one->kind == BRAID_RECORD_COPY && other->kind == BRAID_RECORD_COPY &&
           one->to.place == other->to.place && one->to.address == other->to.address &&
           one->to.x == other->to.x && one->to.y == other->to.y && one->to.z == other->to.z &&
           one->width == other->width && one->height == other->height && one->depth == other->depth;
}

// The latest copy before to the same place.
static const braid_record_work *find_before(const braid_record_contents *record, uint32_t operation)
{
    for (uint32_t i = operation; i-- > 0;) {
        if (is_same_end(&record->operations[i].work, &record->operations[operation].work))
            return &record->operations[i].work;
    }
    return NULL;
}

static void tell_repeat(const braid_record_contents *record, uint32_t operation,
                        braid_import_info *info)
{
    const braid_record_work *work = &record->operations[operation].work;
    if (work->kind != BRAID_RECORD_COPY || !work->digest)
        return;
    const braid_record_work *before = find_before(record, operation);
    if (!before || before->digest != work->digest)
        return;
    info->num_repeats++;
    info->repeated_bytes += work->num_bytes;
}

// ---- times of the device ----

static uint64_t device_ns_of(const braid_record_operation *operation)
{
    return operation->device_end_ns > operation->device_begin_ns
               ? operation->device_end_ns - operation->device_begin_ns
               : 0;
}

static int compare_begins(const void *left, const void *right)
{
    const braid_record_operation *const *a = left, *const *b = right;
    return ((*a)->device_begin_ns > (*b)->device_begin_ns) -
           ((*a)->device_begin_ns < (*b)->device_begin_ns);
}

// False: memory ran out.
static bool tell_device(const struct import_recorded *recorded, braid_import_info *info)
{
    struct array list = { 0 };
    bool is_done = true;
    for (uint32_t i = recorded->first; i < recorded->end && is_done; i++) {
        const braid_record_operation *of = &recorded->record->operations[i];
        if (!device_ns_of(of))
            continue;
        is_done = braid_array_put(&list, &of, sizeof(of));
        if (of->work.kind == BRAID_RECORD_KERNEL || of->work.kind == BRAID_RECORD_GRAPH)
            info->kernel_ns += device_ns_of(of);
    }
    const braid_record_operation **rows = list.items;
    if (list.num)
        qsort(rows, list.num, sizeof(*rows), compare_begins);
    uint64_t end = list.num ? rows[0]->device_begin_ns : 0;
    for (size_t i = 0; i < list.num; i++) {
        info->idle_ns += rows[i]->device_begin_ns > end ? rows[i]->device_begin_ns - end : 0;
        end = rows[i]->device_end_ns > end ? rows[i]->device_end_ns : end;
    }
    info->device_ns = list.num ? end - rows[0]->device_begin_ns : 0;
    braid_array_finish(&list);
    return is_done;
}

static void tell_host(const struct import_recorded *recorded, braid_import_info *info)
{
    const braid_record_operation *operations = recorded->record->operations;
    uint64_t begin = UINT64_MAX, end = 0;
    for (uint32_t i = recorded->first; i < recorded->end; i++) {
        const braid_record_operation *of = &operations[i];
        const uint64_t ns = of->end_ns - of->begin_ns;
        if (of->work.kind == BRAID_RECORD_SYNCHRONISE) {
            info->num_waits++;
            info->wait_ns += ns;
        } else {
            info->call_ns += ns;
        }
        begin = of->begin_ns < begin ? of->begin_ns : begin;
        end = of->end_ns > end ? of->end_ns : end;
        tell_repeat(recorded->record, i, info);
    }
    info->frame_ns = end > begin ? end - begin : 0;
}

braid_status braid_import_tell_recorded(braid_import *import)
{
    tell_host(&import->recorded, &import->info);
    return tell_device(&import->recorded, &import->info)
               ? BRAID_OK
               : braid_error_no_memory("the times of a recorded frame");
}
