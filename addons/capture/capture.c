// SPDX-License-Identifier: Apache-2.0
// Writes the next frame of an exec to a file.
#include <elf.h>
#include <errno.h>
#include <string.h>

#include <braid/capture.h>

#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/node_text.h"
#include "base/pointer_map.h"
#include "base/whole_file.h"
#include "capture/capture_file.h"
#include "exec/exec_memory.h"
#include "exec/exec_parts.h"
#include "graph/graph_ranks.h"
#include "graph/links.h"
#include "graph/regions.h"
#include "plan/schedule.h"

struct capture {
    braid_exec *exec;
    const braid_graph *graph; // as it was when the exec was made
    struct capture_file file;
    struct array kernels; // const braid_kernel *: each once
    uint32_t *kernel_of;  // by node: in `kernels`
    uint32_t *order;      // nodes, one after another
    uint32_t num_ordered; // while it is found
    braid_stream *stream; // leased, to read buffers
    void *staging;        // host memory, likewise
};

// ---- the kernels of a capture: names and code ----

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

// Behind both tables, and the bytes of all sections.
static uint64_t elf_bytes(const unsigned char *data)
{
    Elf64_Ehdr head;
    Elf64_Shdr section;
    memcpy(&head, data, sizeof(head));
    uint64_t end = larger(head.e_shoff + (uint64_t)head.e_shnum * head.e_shentsize,
                          head.e_phoff + (uint64_t)head.e_phnum * head.e_phentsize);
    for (uint32_t i = 0; i < head.e_shnum && head.e_shentsize == sizeof(section); i++) {
        memcpy(&section, data + head.e_shoff + i * sizeof(section), sizeof(section));
        if (section.sh_type != SHT_NULL && section.sh_type != SHT_NOBITS)
            end = larger(end, section.sh_offset + section.sh_size);
    }
    return end;
}

static bool is_text(const unsigned char *data)
{
    return data[0] && strchr("./ \t\r\n", data[0]);
}

// Without the zero at the end of a text. 0: not known.
static uint64_t image_bytes(const braid_image *image)
{
    const unsigned char *data = image->data;
    if (is_text(data))
        return strnlen(image->data, image->bytes ? image->bytes : SIZE_MAX);
    if (image->bytes)
        return image->bytes;
    return memcmp(data, ELFMAG, SELFMAG) == 0 ? elf_bytes(data) : 0;
}

// A loaded function is no code that a file could hold.
static braid_status check_kernel(const struct capture *capture, uint32_t node,
                                 const braid_kernel *kernel)
{
    const braid_image *images[] = { &kernel->cuda, &kernel->hip };
    bool has_code = kernel->cpu || kernel->source;
    if (kernel->user && strcmp(capture->exec->device->backend->ops->name, "cpu") == 0)
        return braid_error(BRAID_UNSUPPORTED,
                           "node %s: its kernel has data of the program at braid_kernel.user, "
                           "which a capture cannot hold",
                           braid_node_text(node, kernel->name).text);
    for (int i = 0; i < 2; i++) {
        if (images[i]->data && !image_bytes(images[i]))
            return braid_error(
                BRAID_UNSUPPORTED,
                "node %s: its kernel's image has no braid_image.bytes, so its size is not known",
                braid_node_text(node, kernel->name).text);
        has_code = has_code || images[i]->data;
    }
    return has_code
               ? BRAID_OK
               : braid_error(
                     BRAID_UNSUPPORTED,
                     "node %s: its kernel is a loaded function, whose code a capture cannot hold",
                     braid_node_text(node, braid_graph_name(capture->graph, node)).text);
}

static braid_status add_kernel(struct capture *capture, struct pointer_map *map, uint32_t node)
{
    const braid_kernel *kernel = graph_kernel_of(capture->graph, node)->kernel;
    capture->kernel_of[node] = braid_pointer_map_get(map, kernel);
    if (capture->kernel_of[node] != POINTER_MAP_NONE)
        return BRAID_OK;
    const braid_kernel **slot = braid_array_append(&capture->kernels, 1, sizeof(*slot));
    if (!slot || !braid_pointer_map_reserve(map))
        return braid_error_no_memory("a capture");
    *slot = kernel;
    capture->kernel_of[node] = (uint32_t)capture->kernels.num - 1;
    braid_pointer_map_put(map, kernel, capture->kernel_of[node]);
    return check_kernel(capture, node, kernel);
}

// Finds the kernels of all nodes, and sees that a file can hold their code. Errors:
// BRAID_UNSUPPORTED, BRAID_NO_MEMORY.
static braid_status capture_find_kernels(struct capture *capture)
{
    uint32_t num = graph_num_nodes(capture->graph);
    struct pointer_map map = { 0 };
    braid_status status = BRAID_OK;
    capture->kernel_of = braid_allocate_zeroed(num, sizeof(*capture->kernel_of));
    if (!capture->kernel_of)
        return braid_error_no_memory("a capture");
    for (uint32_t i = 0; i < num && !status; i++) {
        if (graph_nodes(capture->graph)[i].kind == WORK_KERNEL)
            status = add_kernel(capture, &map, i);
    }
    braid_pointer_map_finish(&map);
    return status;
}

static void put_texts(struct capture_file *file, const char *const *texts, size_t num)
{
    braid_capture_put_number(file, num, 4);
    for (size_t i = 0; i < num; i++)
        braid_capture_put_text(file, texts[i]);
}

static void put_image(struct capture_file *file, const braid_image *image)
{
    uint64_t bytes = image->data ? image_bytes(image) : 0;
    uint32_t num_zeros = image->data && is_text(image->data);
    braid_capture_put_text(file, image->entry);
    braid_capture_put_size(file, bytes + num_zeros);
    braid_capture_put(file, image->data, bytes);
    braid_capture_put_number(file, 0, num_zeros);
}

static void put_kernel(struct capture_file *file, const braid_kernel *kernel)
{
    braid_capture_put_text(file, kernel->name);
    braid_capture_put_number(file, kernel->programmatic, 1);
    braid_capture_put_text(file, kernel->source);
    braid_capture_put_text(file, kernel->name_expression);
    put_texts(file, kernel->options, kernel->num_options);
    put_texts(file, kernel->include_folders, kernel->num_include_folders);
    braid_capture_put_number(file, kernel->num_headers, 4);
    for (size_t i = 0; i < kernel->num_headers; i++) {
        braid_capture_put_text(file, kernel->headers[i].name);
        braid_capture_put_text(file, kernel->headers[i].text);
    }
    put_image(file, &kernel->cuda);
    put_image(file, &kernel->hip);
}

static void capture_put_kernels(struct capture *capture)
{
    braid_capture_begin_section(&capture->file, "KERN");
    braid_capture_put_number(&capture->file, capture->kernels.num, 4);
    for (size_t i = 0; i < capture->kernels.num; i++)
        put_kernel(&capture->file, ((const braid_kernel **)capture->kernels.items)[i]);
    braid_capture_end_section(&capture->file);
}

// ---- buffers ----

// The resources of a capture, and the contents of buffers whose memory outlives the frame.

// As in the file.
enum { KIND_NAME, KIND_BUFFER, KIND_TRANSIENT, KIND_RANGE };

enum { STAGING_BYTES = 1 << 20 };

static uint32_t kind_of(const struct capture *capture, uint32_t resource)
{
    const struct graph_resource *declared = graph_resource_at(capture->graph, resource);
    if (!declared->bytes || declared->is_scratch)
        return KIND_NAME;
    if (declared->buffer != resource)
        return KIND_RANGE;
    return declared->alignment ? KIND_TRANSIENT : KIND_BUFFER;
}

// Returns the memory of a resource with bytes, in the next frame. NULL: not known. That of a
// versioned buffer is the next frame's.
static const unsigned char *capture_memory_of(const struct capture *capture, uint32_t resource)
{
    const struct graph_resource *declared = graph_resource_at(capture->graph, resource);
    uint32_t num = declared->num_versions;
    if (!num)
        return declared->address;
    uint64_t frame = capture->exec->frames.num_launched + num - declared->frames_before;
    return capture->exec->tasks.version_memory[declared->first_version + frame % num];
}

// Sees that the memory of all resources is known. Errors: BRAID_UNSUPPORTED.
static braid_status capture_check_resources(const struct capture *capture)
{
    char buffer[160];
    for (uint32_t i = 0; i < capture->graph->resources.num; i++) {
        if (kind_of(capture, i) == KIND_BUFFER && !capture_memory_of(capture, i))
            return braid_error(
                BRAID_UNSUPPORTED,
                "a capture cannot find the contents of buffer '%s', which was declared without its "
                "address",
                braid_graph_resource_name(capture->graph, i, buffer, sizeof(buffer)));
    }
    return BRAID_OK;
}

// Finds the buffer whose memory ends where this buffer begins, so that copies may span both; else
// this one.
static uint32_t buffer_of(const struct capture *capture, uint32_t resource)
{
    const struct graph_resource *declared = graph_resource_at(capture->graph, resource);
    const struct extents *extents = &capture->exec->extents;
    bool has_address = kind_of(capture, resource) == KIND_BUFFER && declared->address;
    uint32_t i = has_address ? braid_extents_find(extents, declared->address) : 0;
    return i && extents->items[i - 1].last + 1 == (uintptr_t)declared->address
               ? extents->items[i - 1].buffer
               : declared->buffer;
}

// Scratch may have grown since.
static uint64_t bytes_of(const struct capture *capture, uint32_t resource)
{
    const braid_graph *grown = capture->exec->memory.scratch_graph;
    return graph_resource_at(grown ? grown : capture->graph, resource)->bytes;
}

static void capture_put_resources(struct capture *capture)
{
    struct capture_file *file = &capture->file;
    braid_capture_begin_section(file, "RSRC");
    braid_capture_put_number(file, capture->graph->resources.num, 4);
    for (uint32_t i = 0; i < capture->graph->resources.num; i++) {
        const struct graph_resource *declared = graph_resource_at(capture->graph, i);
        braid_capture_put_text(file, braid_names_at(&capture->graph->names, declared->name));
        braid_capture_put_number(file, kind_of(capture, i), 1);
        braid_capture_put_number(file, buffer_of(capture, i), 4);
        braid_capture_put_number(file, declared->offset, 8);
        braid_capture_put_number(file, bytes_of(capture, i), 8);
        braid_capture_put_number(file, declared->alignment, 4);
    }
    braid_capture_end_section(file);
}

static braid_status put_content(struct capture *capture, uint32_t resource)
{
    const unsigned char *memory = capture_memory_of(capture, resource);
    uint64_t bytes = graph_resource_at(capture->graph, resource)->bytes;
    braid_status status = BRAID_OK;
    braid_capture_put_size(&capture->file, bytes);
    if (!capture->file.stream) {
        braid_capture_put(&capture->file, NULL, bytes);
        return BRAID_OK;
    }
    for (uint64_t at = 0; at < bytes && !status; at += STAGING_BYTES) {
        uint64_t num = bytes - at < STAGING_BYTES ? bytes - at : STAGING_BYTES;
        status = braid_stream_copy(capture->stream, capture->staging, memory + at, num);
        if (!status)
            status = braid_stream_wait(capture->stream);
        if (!status)
            braid_capture_put(&capture->file, capture->staging, num);
    }
    return status;
}

// A copy to memory that the driver does not know ends before it returns, or with its stream.
static braid_status prepare(struct capture *capture)
{
    capture->staging = braid_allocate(STAGING_BYTES);
    return capture->staging ? braid_device_lease_stream(capture->exec->device, 0, &capture->stream)
                            : braid_error_no_memory("a capture");
}

// Behind the frames before. Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
static braid_status capture_put_contents(struct capture *capture)
{
    braid_status status = capture->file.stream ? prepare(capture) : BRAID_OK;
    braid_capture_begin_section(&capture->file, "DATA");
    for (uint32_t i = 0; i < capture->graph->resources.num && !status; i++) {
        if (kind_of(capture, i) == KIND_BUFFER)
            status = put_content(capture, i);
    }
    braid_capture_end_section(&capture->file);
    if (capture->stream)
        braid_device_return_stream(capture->exec->device, capture->stream);
    braid_free(capture->staging);
    return status;
}

// ---- nodes ----

// The nodes of a capture, with the values of the next frame. Words that are addresses in a buffer
// become the buffer and an offset in it.

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
        uintptr_t begin = (uintptr_t)capture_memory_of(capture, i);
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

static void put_kernel_node(struct capture *capture, uint32_t node)
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
    braid_capture_put_number(file, launch->cooperative ? 2U : launch->grid_from, 1);
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

static braid_status refuse_rows(const struct capture *capture, uint32_t node,
                                const braid_rows *rows)
{
    if (!rows->num)
        return BRAID_OK;
    return braid_error(BRAID_UNSUPPORTED, "node %s has several rows, which a capture cannot hold",
                       braid_node_text(node, braid_graph_name(capture->graph, node)).text);
}

static braid_status put_copy(struct capture *capture, uint32_t node)
{
    uint64_t num = work_of(capture, node)->copy.bytes;
    braid_status status = refuse_rows(capture, node, &work_of(capture, node)->copy.rows);
    if (!status)
        status = put_end(capture, node, offsetof(struct work_copy, to), num);
    if (!status)
        status = put_end(capture, node, offsetof(struct work_copy, from), num);
    braid_capture_put_number(&capture->file, num, 8);
    return status;
}

static braid_status put_fill(struct capture *capture, uint32_t node)
{
    const struct work_fill *fill = &work_of(capture, node)->fill;
    braid_status status = refuse_rows(capture, node, &fill->rows);
    if (!status)
        status = put_end(capture, node, offsetof(struct work_fill, to),
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
    if (!loop->most)
        return braid_error(BRAID_UNSUPPORTED,
                           "node %s runs no iteration, which a capture cannot hold",
                           braid_node_text(node, braid_graph_name(capture->graph, node)).text);
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
        put_kernel_node(capture, index);
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

// Errors: BRAID_UNSUPPORTED (a kind of node, memory that no buffer has).
static braid_status capture_put_nodes(struct capture *capture)
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

// ---- the capture ----

static const char function[] = "braid_exec_save_capture";

// The order of adding, with bundles as they run.
static void order_as_added(struct capture *capture, const struct graph_units *units)
{
    for (uint32_t i = 0; i < graph_num_nodes(capture->graph); i++)
        capture->order[i] = units->members[i];
}

// A body comes behind its node.
static void order_program(struct capture *capture, const struct program *program)
{
    for (size_t i = 0; i < program->num_ops; i++) {
        const braid_step *op = &program->ops[i];
        if (program_has_node(op))
            capture->order[capture->num_ordered++] = op->node;
        if (op->kind != BRAID_STEP_LOOP)
            continue;
        const struct program *body = &program->bodies[op->position];
        order_program(capture, body);
        if (body->has_else)
            order_program(capture, body + 1);
    }
}

// The plan's order, for edges that lead to earlier nodes. Nodes that are left out come last.
static void order_as_planned(struct capture *capture)
{
    const braid_schedule *schedule = capture->exec->schedule;
    order_program(capture, &schedule->program);
    for (uint32_t i = 0; i < graph_num_nodes(capture->graph); i++) {
        if (schedule_left_out(schedule, i))
            capture->order[capture->num_ordered++] = i;
    }
}

static bool leads_back(const struct capture *capture, const struct graph_units *units)
{
    const struct graph_edge *edges = graph_edges(capture->graph);
    for (size_t i = 0; i < capture->graph->edges.num; i++) {
        if (units->index_of[edges[i].from] > units->index_of[edges[i].to])
            return true;
    }
    return false;
}

static braid_status find_order(struct capture *capture)
{
    struct graph_units units;
    uint32_t num = graph_num_nodes(capture->graph);
    braid_status status = braid_graph_find_units(capture->graph, &units);
    if (status)
        return status;
    capture->order = braid_allocate_zeroed(num, sizeof(*capture->order));
    if (!capture->order)
        status = braid_error_no_memory("a capture");
    else if (leads_back(capture, &units))
        order_as_planned(capture);
    else
        order_as_added(capture, &units);
    braid_graph_units_finish(&units);
    return status;
}

static void put_exec(struct capture *capture)
{
    const braid_exec *exec = capture->exec;
    braid_capture_begin_section(&capture->file, "EXEC");
    braid_capture_put_text(&capture->file, exec->device->backend->ops->name);
    braid_capture_put_number(&capture->file, exec->schedule->info.num_lanes, 4);
    braid_capture_put_number(&capture->file, exec->frames.num_launched, 8);
    braid_capture_end_section(&capture->file);
}

static void put_order(struct capture *capture)
{
    const struct graph_edge *edges = graph_edges(capture->graph);
    braid_capture_begin_section(&capture->file, "EDGE");
    braid_capture_put_number(&capture->file, capture->graph->edges.num, 4);
    for (size_t i = 0; i < capture->graph->edges.num; i++) {
        braid_capture_put_number(&capture->file, edges[i].from, 4);
        braid_capture_put_number(&capture->file, edges[i].to, 4);
    }
    for (uint32_t i = 0; i < graph_num_nodes(capture->graph); i++)
        braid_capture_put_number(&capture->file, capture->order[i], 4);
    braid_capture_end_section(&capture->file);
}

static braid_status put_all(struct capture *capture, FILE *stream)
{
    braid_capture_begin(&capture->file, stream);
    put_exec(capture);
    capture_put_resources(capture);
    capture_put_kernels(capture);
    braid_status status = capture_put_nodes(capture);
    put_order(capture);
    if (!status)
        status = capture_put_contents(capture);
    braid_capture_end(&capture->file);
    return status;
}

static braid_status write_file(struct capture *capture, const char *path)
{
    struct whole_file file;
    if (!braid_whole_file_open(path, &file))
        return braid_error(BRAID_IO_ERROR, "%s cannot be written: %s", path, strerror(errno));
    braid_status status = put_all(capture, file.stream);
    if (!braid_whole_file_close(&file, !status) && !status)
        status = braid_error(BRAID_IO_ERROR, "%s could not be written: %s", path,
                             errno ? strerror(errno) : "a write failed");
    return status;
}

static braid_status check(const braid_exec *exec, const char *path, const uint64_t *out_bytes)
{
    braid_status status = braid_exec_check(function, exec);
    if (!status && exec->memory.pool) // a launch may wait for the turn of this thread
        status = exec->memory.pool->check_launch(exec->memory.pool, function);
    if (status)
        return status;
    if (!path && !out_bytes)
        return braid_error_null(function, "path");
    if (!exec->captured)
        return braid_error(BRAID_UNSUPPORTED,
                           "%s: the exec was made without braid_exec_options.capture", function);
    if (exec->placed || exec->captured->ranks)
        return braid_error(BRAID_UNSUPPORTED, "%s: a file cannot hold %s", function,
                           exec->placed ? "a graph on several devices"
                                        : "a graph with communicators");
    return BRAID_OK;
}

braid_status braid_exec_save_capture(braid_exec *exec, const char *path, uint64_t *out_bytes)
{
    EXEC_MEMORY(exec);
    braid_status status = check(exec, path, out_bytes);
    if (status)
        return status;
    struct capture capture = { .exec = exec, .graph = exec->captured };
    braid_exec_begin_launch(exec);
    status = braid_exec_await_frames(exec);
    braid_exec_idle_update(exec);
    if (!status)
        status = capture_check_resources(&capture);
    if (!status)
        status = capture_find_kernels(&capture);
    if (!status)
        status = find_order(&capture);
    if (!status)
        status = put_all(&capture, NULL);
    uint64_t bytes = capture.file.bytes;
    if (!status && path)
        status = write_file(&capture, path);
    braid_exec_end_launch(exec);
    if (!status && out_bytes)
        *out_bytes = bytes;
    braid_array_finish(&capture.kernels);
    braid_free(capture.kernel_of);
    braid_free(capture.order);
    return status;
}
