// SPDX-License-Identifier: Apache-2.0
// The nodes of a capture, with the values of the next frame. Words that are addresses in a buffer
// become the buffer and an offset in it.
#include <string.h>

#include "base/error.h"
#include "base/node_text.h"
#include "capture/capture.h"
#include "graph/regions.h"

// As in the file.
enum { WORD_NUMBER, WORD_ADDRESS, WORD_TRAP };

struct word {
    uint32_t kind, resource;
    uint64_t offset;
};

// Frames find it by the same row of the table.
static const struct task_address *find_row(const struct tasks *tasks, uint32_t node,
                                           uint64_t offset)
{
    for (uint32_t i = tasks->first_address[node]; i < tasks->first_address[node + 1]; i++) {
        if (!tasks->addresses[i].is_set && tasks->addresses[i].offset == offset)
            return &tasks->addresses[i];
    }
    return NULL;
}

// In a buffer with an address, or right behind its end.
static struct word find_buffer(const struct capture *capture, const void *address)
{
    const struct extents *extents = &capture->exec->extents;
    uint32_t i = braid_extents_find(extents, address);
    if (i == extents->num || extents->items[i].begin > (uintptr_t)address) {
        if (i == 0 || extents->items[i - 1].last + 1 != (uintptr_t)address)
            return (struct word){ .kind = WORD_NUMBER };
        i--;
    }
    return (struct word){ WORD_ADDRESS, extents->items[i].buffer,
                          (uintptr_t)address - extents->items[i].begin };
}

// In memory of a versioned buffer, as the version that the next frame has there.
static struct word find_version(const struct capture *capture, const void *address)
{
    bool has_versions = capture->exec->tasks.num_version_memory > 0;
    for (uint32_t i = 0; has_versions && i < capture->graph->resources.num; i++) {
        const struct graph_resource *declared = graph_resource_at(capture->graph, i);
        uintptr_t begin = (uintptr_t)braid_capture_memory_of(capture, i);
        if (declared->num_versions && (uintptr_t)address - begin < declared->bytes)
            return (struct word){ WORD_ADDRESS, i, (uintptr_t)address - begin };
    }
    return (struct word){ .kind = WORD_NUMBER };
}

static struct word find_word(const struct capture *capture, uint32_t node, uint64_t offset,
                             const unsigned char *bytes)
{
    const struct task_address *row = find_row(&capture->exec->tasks, node, offset);
    const void *address;
    if (row)
        return (struct word){ row->trap ? WORD_TRAP : WORD_ADDRESS, row->resource, 0 };
    memcpy(&address, bytes, sizeof(address));
    struct word word = find_version(capture, address);
    return word.kind == WORD_ADDRESS ? word : find_buffer(capture, address);
}

static void put_word(struct capture_file *file, const struct word *word, const unsigned char *bytes)
{
    braid_capture_put_number(file, word->kind, 1);
    if (word->kind == WORD_NUMBER)
        braid_capture_put(file, bytes, sizeof(uint64_t));
    if (word->kind != WORD_ADDRESS)
        return;
    braid_capture_put_number(file, word->resource, 4);
    braid_capture_put_number(file, word->offset, 8);
}

// An argument that stands at `offset` of its slot.
static void put_argument(struct capture *capture, uint32_t node, uint64_t offset,
                         const unsigned char *bytes, uint32_t num, bool is_unchecked)
{
    uint32_t at = 0;
    braid_capture_put_number(&capture->file, num, 4);
    braid_capture_put_number(&capture->file, is_unchecked, 1);
    for (; num - at >= sizeof(uint64_t); at += sizeof(uint64_t)) {
        struct word word = find_word(capture, node, offset + at, bytes + at);
        put_word(&capture->file, &word, bytes + at);
    }
    braid_capture_put(&capture->file, bytes + at, num - at);
}

static bool is_unchecked(const braid_graph *graph, uint32_t argument)
{
    const uint32_t *items = graph->unchecked.items;
    size_t low = 0, high = graph->unchecked.num;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (items[middle] < argument)
            low = middle + 1;
        else
            high = middle;
    }
    return low < graph->unchecked.num && items[low] == argument;
}

static void put_grid(struct capture_file *file, braid_dim3 grid)
{
    braid_capture_put_number(file, grid.x, 4);
    braid_capture_put_number(file, grid.y, 4);
    braid_capture_put_number(file, grid.z, 4);
}

static void put_kernel(struct capture *capture, uint32_t node)
{
    struct capture_file *file = &capture->file;
    const struct tasks *tasks = &capture->exec->tasks;
    const struct graph_kernel *kernel = graph_kernel_of(capture->graph, node);
    const struct backend_launch *launch = &tasks->items[node].launch;
    uint64_t offset = tasks->offsets[node];
    braid_capture_put_number(file, capture->kernel_of[node], 4);
    put_grid(file, tasks_control(tasks, node)->grid); // without a block the node is disabled
    put_grid(file, launch->block);
    put_grid(file, launch->cluster);
    braid_capture_put_number(file, launch->shared_bytes, 4);
    braid_capture_put_number(file, (uint32_t)launch->priority, 4);
    braid_capture_put_number(file, launch->grid_from, 1);
    braid_capture_put_number(file, launch->num_args, 4);
    for (uint32_t i = 0; i < launch->num_args; i++) {
        put_argument(capture, node, offset, tasks->slot_bytes[TASK_SLOT_ARGUMENTS] + offset,
                     launch->arg_bytes[i], is_unchecked(capture->graph, kernel->first_arg + i));
        offset += graph_arg_stride(launch->arg_bytes[i]);
    }
}

// In its buffer, or in those that follow it without a gap.
static bool has_bytes(const struct capture *capture, const struct word *word, uint64_t num)
{
    const struct graph_resource *declared = graph_resource_at(capture->graph, word->resource);
    uint32_t last;
    uint64_t beyond;
    if (declared->bytes - word->offset >= num)
        return true;
    return declared->address && !declared->num_versions && word->offset < declared->bytes &&
           !braid_extents_overrun(&capture->exec->extents,
                                  (const unsigned char *)declared->address + word->offset, num,
                                  &last, &beyond);
}

// An end of a copy or fill, with so many bytes.
static braid_status put_end(struct capture *capture, uint32_t node, size_t in_work, uint64_t num)
{
    uint64_t offset = capture->exec->tasks.offsets[node] + in_work;
    const unsigned char *bytes = capture->exec->tasks.slot_bytes[TASK_SLOT_WORKS] + offset;
    struct word word = find_word(capture, node, offset, bytes);
    if (word.kind != WORD_ADDRESS || !has_bytes(capture, &word, num))
        return braid_error(
            BRAID_UNSUPPORTED,
            "node %s uses memory that no buffer declares, so a capture cannot hold its contents",
            braid_node_text(node, braid_graph_name(capture->graph, node)).text);
    put_word(&capture->file, &word, bytes);
    return BRAID_OK;
}

static const union work *work_of(const struct capture *capture, uint32_t node)
{
    const struct tasks *tasks = &capture->exec->tasks;
    return (const union work *)(const void *)(tasks->slot_bytes[TASK_SLOT_WORKS] +
                                              tasks->offsets[node]);
}

static braid_status put_copy(struct capture *capture, uint32_t node)
{
    uint64_t num = work_of(capture, node)->copy.bytes;
    braid_status status = put_end(capture, node, offsetof(struct work_copy, to), num);
    if (!status)
        status = put_end(capture, node, offsetof(struct work_copy, from), num);
    braid_capture_put_number(&capture->file, num, 8);
    return status;
}

static braid_status put_fill(struct capture *capture, uint32_t node)
{
    const struct work_fill *fill = &work_of(capture, node)->fill;
    braid_status status = put_end(capture, node, offsetof(struct work_fill, to),
                                  fill->num_values * fill->value_bytes);
    braid_capture_put_number(&capture->file, fill->value, 4);
    braid_capture_put_number(&capture->file, fill->value_bytes, 4);
    braid_capture_put_number(&capture->file, fill->num_values, 8);
    return status;
}

// The program's own data at `user` is left out.
static void put_host_call(struct capture *capture, uint32_t node)
{
    static const unsigned char none[sizeof(uint64_t)] = { 0 };
    uint64_t offset = capture->exec->tasks.offsets[node] + offsetof(struct work_host, user);
    const unsigned char *bytes = capture->exec->tasks.slot_bytes[TASK_SLOT_WORKS] + offset;
    struct word word = find_word(capture, node, offset, bytes);
    put_word(&capture->file, &word, none);
}

static uint32_t depth_of(const struct capture *capture, uint32_t region)
{
    uint32_t depth = 0;
    for (; region != GRAPH_NONE; region = graph_regions(capture->graph)[region].around)
        depth++;
    return depth;
}

static braid_status put_region(struct capture *capture, uint32_t node)
{
    struct capture_file *file = &capture->file;
    const struct work_loop *loop = &work_of(capture, node)->loop;
    uint32_t index = braid_graph_region_entered(capture->graph, node);
    const struct graph_region *region = &graph_regions(capture->graph)[index];
    uint32_t other = braid_graph_region_else(capture->graph, index);
    if (depth_of(capture, index) > CAPTURE_MOST_NESTING)
        return braid_error(BRAID_UNSUPPORTED,
                           "node %s is nested deeper than %d, the most in a capture",
                           braid_node_text(node, braid_graph_name(capture->graph, node)).text,
                           CAPTURE_MOST_NESTING);
    braid_capture_put_number(file, region->condition, 4);
    braid_capture_put_number(file, loop->most, 8);
    braid_capture_put_number(file, region->expected, 8);
    braid_capture_put_number(file, loop->tests_first, 1);
    braid_capture_put_number(file, region->num, 4);
    braid_capture_put_number(file,
                             other == GRAPH_NONE ? 0 : graph_regions(capture->graph)[other].num, 4);
    return BRAID_OK;
}

static void put_accesses(struct capture *capture, const struct graph_node *node)
{
    const struct graph_access *accesses = capture->graph->accesses.items;
    braid_capture_put_number(&capture->file, node->num_accesses, 4);
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        braid_capture_put_number(&capture->file, accesses[node->first_access + i].resource, 4);
        braid_capture_put_number(&capture->file, accesses[node->first_access + i].mode, 1);
    }
}

static braid_status put_node(struct capture *capture, uint32_t index)
{
    const struct graph_node *node = &graph_nodes(capture->graph)[index];
    const struct task_control *control = tasks_control(&capture->exec->tasks, index);
    bool has_work = node->kind != WORK_KERNEL || !work_grid_is_empty(control->grid);
    bool is_enabled = control->enabled && has_work && !control->rests;
    braid_capture_put_text(&capture->file, braid_graph_name(capture->graph, index));
    braid_capture_put_number(&capture->file, node->kind, 1);
    braid_capture_put_number(&capture->file, node->role, 1);
    braid_capture_put_number(&capture->file, node->main, 4);
    braid_capture_put_number(&capture->file, is_enabled, 1);
    braid_capture_put_number(&capture->file, node->cost_ns, 8);
    braid_capture_put_number(&capture->file, node->lane_hint, 4);
    put_accesses(capture, node);
    switch (node->kind) {
    case WORK_KERNEL:
        put_kernel(capture, index);
        return BRAID_OK;
    case WORK_COPY:
        return put_copy(capture, index);
    case WORK_FILL:
        return put_fill(capture, index);
    case WORK_HOST:
        put_host_call(capture, index);
        return BRAID_OK;
    case WORK_EMPTY:
        return BRAID_OK;
    case WORK_LOOP:
    case WORK_BRANCH:
        return put_region(capture, index);
    default:
        return braid_error(BRAID_UNSUPPORTED, "node %s is a %s, which a capture cannot hold",
                           braid_node_text(index, braid_graph_name(capture->graph, index)).text,
                           braid_work_words[node->kind].name);
    }
}

braid_status braid_capture_put_nodes(struct capture *capture)
{
    braid_status status = BRAID_OK;
    uint32_t num = graph_num_nodes(capture->graph);
    braid_capture_begin_section(&capture->file, "NODE");
    braid_capture_put_number(&capture->file, num, 4);
    for (uint32_t i = 0; i < num && !status; i++)
        status = put_node(capture, i);
    braid_capture_end_section(&capture->file);
    return status;
}
