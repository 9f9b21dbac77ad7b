// SPDX-License-Identifier: Apache-2.0
// The buffers that addresses in a captured graph point into.
#include "import/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/host_memory.h"

static braid_status no_memory(void)
{
    return braid_error_no_memory("the buffers of a captured graph");
}

static bool contains(const struct import_buffer *buffer, uint64_t address)
{
    return address >= buffer->begin && address - buffer->begin < buffer->bytes;
}

// The member whose own memory the address is in. Pinned and managed memory is nobody's.
static uint32_t find_member(const struct import_memory *memory, uint64_t address)
{
    const struct gpu_api *api = memory->gpu->api;
    void *at = (void *)(uintptr_t)address; // NOLINT
    int type = 0, ordinal = -1, managed = 0;
    if (api->pointer_attribute(&type, GPU_POINTER_MEMORY_TYPE, at) ||
        api->pointer_attribute(&ordinal, GPU_POINTER_DEVICE, at) ||
        api->pointer_attribute(&managed, GPU_POINTER_MANAGED, at) || type != GPU_MEMORY_DEVICE ||
        managed)
        return MEMBER_NONE;
    return braid_import_member_numbered(&memory->captured->members, ordinal);
}

// ---- buffers that the program gives ----

static int compare_begins(const void *left, const void *right)
{
    const struct import_buffer *a = left, *b = right;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

static braid_status add_given(struct import_memory *memory)
{
    for (size_t i = 0; i < memory->options->num_buffers; i++) {
        const braid_import_buffer *given = &memory->options->buffers[i];
        struct import_buffer buffer = { .kind = BUFFER_GIVEN,
                                        .node = IMPORT_NONE,
                                        .begin = (uintptr_t)given->address,
                                        .bytes = given->bytes,
                                        .name = given->name,
                                        .member = MEMBER_NONE,
                                        .is_watched = given->is_watched,
                                        .is_closed = given->is_closed };
        memory->has_closed |= given->is_closed && memory->options->follows_pointers;
        if (memory->captured->members.num > 1)
            buffer.member = find_member(memory, buffer.begin);
        if (!given->address || !given->bytes || given->bytes > UINTPTR_MAX - buffer.begin)
            return braid_error_invalid("braid_import_create: buffer %zu has %s", i,
                                       given->address ? "no bytes, or too many" : "no address");
        if (!braid_array_put(&memory->buffers, &buffer, sizeof(buffer)))
            return no_memory();
    }
    struct import_buffer *all = memory->buffers.items;
    memory->num_given = (uint32_t)memory->buffers.num;
    if (memory->num_given)
        qsort(all, memory->num_given, sizeof(*all), compare_begins);
    for (uint32_t i = 1; i < memory->num_given; i++) {
        if (contains(&all[i - 1], all[i].begin))
            return braid_error_invalid("braid_import_create: two buffers overlap at %p",
                                       (void *)all[i].begin);
    }
    return BRAID_OK;
}

// ---- allocations of the graph ----

bool braid_import_memory_lives(const struct import_buffer *allocation, uint32_t node)
{
    return captured_has(allocation->born, node) && !captured_has(allocation->dead, node);
}

static braid_status find_free(const struct import_memory *memory, struct import_buffer *buffer)
{
    const struct captured_node *nodes = captured_nodes(memory->captured);
    for (uint32_t i = 0; i < memory->captured->nodes.num; i++) {
        if (nodes[i].type == GPU_NODE_FREE && nodes[i].memory.address == buffer->begin &&
            captured_has(buffer->born, i)) {
            braid_captured_mark_behind(memory->captured, i, buffer->dead);
            return BRAID_OK;
        }
    }
    return braid_error(BRAID_UNSUPPORTED,
                       "node %s of the captured graph, an allocation, is not freed in the graph, "
                       "so that its memory outlives a frame",
                       nodes[buffer->node].place);
}

static braid_status add_allocation(struct import_memory *memory, uint32_t node)
{
    const struct captured_node *of = &captured_nodes(memory->captured)[node];
    const size_t words = memory->captured->nodes.num / 64 + 1;
    struct import_buffer buffer = { .kind = BUFFER_ALLOCATION,
                                    .member = MEMBER_NONE,
                                    .begin = (uintptr_t)of->memory.address,
                                    .bytes = of->memory.bytes,
                                    .node = node };
    buffer.born = braid_store_take(&memory->store, words, sizeof(uint64_t));
    buffer.dead = braid_store_take(&memory->store, words, sizeof(uint64_t));
    if (memory->store.failed)
        return no_memory();
    braid_captured_mark_behind(memory->captured, node, buffer.born);
    braid_status status = find_free(memory, &buffer);
    if (!status && !braid_array_put(&memory->buffers, &buffer, sizeof(buffer)))
        status = no_memory();
    memory->num_allocations += !status;
    return status;
}

// A free of memory that the graph does not allocate would end memory of the program.
static braid_status check_free(const struct import_memory *memory, uint32_t node)
{
    const struct captured_node *of = &captured_nodes(memory->captured)[node];
    const struct import_buffer *buffers = import_buffers(memory);
    for (uint32_t i = memory->num_given; i < memory->num_given + memory->num_allocations; i++) {
        if (buffers[i].begin == of->memory.address && captured_has(buffers[i].born, node))
            return BRAID_OK;
    }
    return braid_error(BRAID_UNSUPPORTED,
                       "node %s of the captured graph, a free, frees memory that no node before it "
                       "allocates",
                       of->place);
}

// A batch has captured addresses, and allocations of the graph move. The address of a reduction
// stands where others have their value.
static braid_status check_batch(const struct import_memory *memory, uint32_t node)
{
    const struct captured_node *of = &captured_nodes(memory->captured)[node];
    const uint32_t end = memory->num_given + memory->num_allocations;
    const struct import_buffer *all = import_buffers(memory);
    for (uint32_t i = 0; i < of->batch.num; i++) {
        const struct cuda_wait_value *one = &of->batch.operations[i];
        for (uint32_t k = memory->num_given; k < end; k++) {
            if (contains(&all[k], one->word) || contains(&all[k], one->value) ||
                contains(&all[k], one->alias))
                return braid_error(BRAID_UNSUPPORTED,
                                   "node %s of the captured graph, a batch of memory operations, "
                                   "has an address of node %s, an allocation, whose memory moves",
                                   of->place, captured_nodes(memory->captured)[all[k].node].place);
        }
    }
    return BRAID_OK;
}

braid_status braid_import_memory_create(const struct captured_graph *captured,
                                        const struct import_recorded *recorded,
                                        const braid_import_options *options,
                                        struct import_memory *out_memory)
{
    struct import_memory memory = { .gpu = captured->members.gpu[0],
                                    .captured = captured,
                                    .options = options,
                                    .recorded = *recorded };
    braid_status status = add_given(&memory);
    if (!status && recorded->record)
        status = braid_import_memory_add_recorded(&memory);
    for (uint32_t i = 0; i < captured->nodes.num && !status; i++) {
        if (captured_nodes(captured)[i].type == GPU_NODE_ALLOCATION)
            status = add_allocation(&memory, i);
    }
    for (uint32_t i = 0; i < captured->nodes.num && !status; i++) {
        if (captured_nodes(captured)[i].type == GPU_NODE_FREE)
            status = check_free(&memory, i);
        else if (captured_nodes(captured)[i].type == GPU_NODE_OPERATIONS)
            status = check_batch(&memory, i);
    }
    if (status)
        braid_import_memory_finish(&memory);
    else
        *out_memory = memory;
    return status;
}

void braid_import_memory_finish(struct import_memory *memory)
{
    braid_array_finish(&memory->buffers);
    braid_array_finish(&memory->copies);
    braid_store_finish(&memory->store);
}

// ---- addresses ----

static enum import_place find_allocation(const struct import_memory *memory, uint32_t node,
                                         uint64_t address, uint32_t *out_buffer)
{
    const struct import_buffer *buffers = import_buffers(memory);
    enum import_place place = PLACE_UNKNOWN;
    for (uint32_t i = memory->num_given; i < memory->num_given + memory->num_allocations; i++) {
        if (!contains(&buffers[i], address))
            continue;
        place = PLACE_DEAD;
        *out_buffer = i;
        if (braid_import_memory_lives(&buffers[i], node))
            return PLACE_BUFFER;
    }
    return place;
}

static enum import_place find_known(const struct import_memory *memory, uint64_t address,
                                    enum import_buffer_kind kind, uint32_t *out_buffer)
{
    const struct import_buffer *buffers = import_buffers(memory);
    for (uint32_t i = 0; i < memory->buffers.num; i++) {
        if (buffers[i].kind != kind || !contains(&buffers[i], address))
            continue;
        *out_buffer = i;
        return PLACE_BUFFER;
    }
    return PLACE_UNKNOWN;
}

// The page of the address is mapped in this process. Devices that share the process's page tables
// reach such memory.
static bool is_mapped(uint64_t address)
{
    const long page = sysconf(_SC_PAGESIZE);
    unsigned char state;
    void *begin = (void *)(uintptr_t)(address & ~((uint64_t)page - 1)); // NOLINT
    return mincore(begin, 1, &state) == 0 || errno != ENOMEM;
}

// Memory that the program mapped piece by piece is one buffer, since a kernel may pass from one
// piece to the next. The driver tells memory of a pool by allocations.
static braid_status widen(const struct gpu_backend *gpu, void *address, void **begin, size_t *bytes)
{
    void *pool = NULL, *first = NULL;
    size_t all = 0;
    if (!gpu->api->pointer_attribute(&pool, GPU_POINTER_POOL, address) && pool)
        return BRAID_OK;
    gpu_result result = gpu->api->pointer_attribute(&first, GPU_POINTER_BEGIN, address);
    if (!result)
        result = gpu->api->pointer_attribute(&all, GPU_POINTER_BYTES, address);
    const uintptr_t before = (uintptr_t)*begin - (uintptr_t)first;
    if (!result && before < all && *bytes <= all - before) {
        *begin = first;
        *bytes = all;
    }
    return braid_gpu_check(gpu, result, &gpu->api->pointer_attribute,
                           "asking for the range of an address");
}

// Whether it comes from cuMemMap. Handles of the same memory may differ, so they tell no more.
static braid_status ask_mapping(const struct gpu_backend *gpu, void *address, bool *out_is_mapped)
{
    const struct gpu_api *api = gpu->api;
    uint64_t mapping = 0;
    if (!api->mapping_retain || !api->mapping_release)
        return BRAID_OK;
    const gpu_result result = api->mapping_retain(&mapping, address);
    *out_is_mapped = result == GPU_SUCCESS;
    if (result == GPU_INVALID_VALUE || result == GPU_NOT_FOUND || result == GPU_NOT_SUPPORTED)
        return BRAID_OK;
    if (result)
        return braid_gpu_check(gpu, result, &api->mapping_retain, "asking for a mapping");
    return braid_gpu_check(gpu, api->mapping_release(mapping), &api->mapping_release,
                           "asking for a mapping");
}

// Only a driver that does not know the address says so. Other errors say nothing of the memory.
// Others may look at pinned and managed memory, and at that of other devices.
static braid_status add_known(struct import_memory *memory, uint64_t address, uint32_t member,
                              enum import_place *out_place, uint32_t *out_buffer)
{
    void *begin = NULL;
    size_t bytes = 0;
    void *at = (void *)(uintptr_t)address; // NOLINT
    const gpu_result result = memory->gpu->api->address_range(&begin, &bytes, at);
    if (result == GPU_NOT_FOUND || result == GPU_INVALID_VALUE) {
        *out_place = is_mapped(address) ? PLACE_UNKNOWN : PLACE_NOWHERE;
        return BRAID_OK;
    }
    if (result)
        return braid_gpu_check(memory->gpu, result, &memory->gpu->api->address_range,
                               "asking for the memory of an address");
    bool is_mapped = false;
    braid_status status = widen(memory->gpu, at, &begin, &bytes);
    if (!status)
        status = ask_mapping(memory->gpu, at, &is_mapped);
    if (status)
        return status;
    const struct import_buffer buffer = {
        .kind = BUFFER_DRIVER,
        .begin = (uintptr_t)begin,
        .bytes = bytes,
        .is_watched = !memory->options->is_unwatched && member == MEMBER_NONE,
        .member = member,
        .is_mapped = is_mapped,
    };
    *out_buffer = (uint32_t)memory->buffers.num;
    *out_place = contains(&buffer, address) ? PLACE_BUFFER : PLACE_UNKNOWN;
    return braid_array_put(&memory->buffers, &buffer, sizeof(buffer)) ? BRAID_OK : no_memory();
}

static braid_status ask_driver(struct import_memory *memory, uint64_t address,
                               enum import_place *out_place, uint32_t *out_buffer)
{
    const struct import_members *members = &memory->captured->members;
    const uint32_t member = find_member(memory, address);
    struct gpu_scope scope;
    const struct gpu_backend *gpu = members->gpu[member == MEMBER_NONE ? 0 : member];
    braid_status status = braid_gpu_enter(gpu, &scope, "import");
    if (status)
        return status;
    status = add_known(memory, address, member, out_place, out_buffer);
    braid_gpu_leave(gpu, &scope);
    return status;
}

// A module's variable is in memory of its device, unless it is managed. The driver may tell nothing
// of constants.
static bool is_managed(const struct gpu_backend *gpu, void *address)
{
    int managed = 0;
    const gpu_result result = gpu->api->pointer_attribute(&managed, GPU_POINTER_MANAGED, address);
    return result ? result != GPU_INVALID_VALUE : managed;
}

// The program has no address of a variable that the driver does not find.
static braid_status add_variable(struct import_memory *memory, gpu_module module, const char *name,
                                 bool *watched)
{
    const struct gpu_api *api = memory->gpu->api;
    void *begin = NULL;
    size_t bytes = 0;
    uint32_t known;
    const gpu_result result = api->module_variable(&begin, &bytes, module, name);
    if (result == GPU_NOT_FOUND)
        return BRAID_OK;
    if (result)
        return braid_gpu_check(memory->gpu, result, &api->module_variable,
                               "reading a variable of a captured kernel");
    const struct import_buffer buffer = {
        .kind = BUFFER_VARIABLE,
        .member = MEMBER_NONE,
        .begin = (uintptr_t)begin,
        .bytes = bytes,
        .is_watched = !memory->options->is_unwatched && is_managed(memory->gpu, begin),
    };
    *watched = *watched || buffer.is_watched;
    if (find_known(memory, buffer.begin, BUFFER_VARIABLE, &known) == PLACE_BUFFER)
        return BRAID_OK;
    return braid_array_put(&memory->buffers, &buffer, sizeof(buffer)) ? BRAID_OK : no_memory();
}

braid_status braid_import_memory_add_variables(struct import_memory *memory, gpu_function function,
                                               const struct array *names, bool *out_watched)
{
    const struct gpu_api *api = memory->gpu->api;
    const char *name = names->items;
    gpu_module module = NULL;
    braid_status status = BRAID_OK;
    *out_watched = false;
    if (names->num)
        status = braid_gpu_check(memory->gpu, api->function_module(&module, function),
                                 &api->function_module, "finding a captured kernel's module");
    for (size_t at = 0; at < names->num && !status; at += strlen(name + at) + 1)
        status = add_variable(memory, module, name + at, out_watched);
    return status;
}

braid_status braid_import_memory_find_whole(struct import_memory *memory, uint64_t address,
                                            enum import_place *out_place, uint32_t *out_buffer)
{
    *out_place = find_known(memory, address, BUFFER_VARIABLE, out_buffer);
    if (*out_place == PLACE_UNKNOWN)
        *out_place = find_known(memory, address, BUFFER_DRIVER, out_buffer);
    return *out_place == PLACE_UNKNOWN ? ask_driver(memory, address, out_place, out_buffer)
                                       : BRAID_OK;
}

braid_status braid_import_memory_find(struct import_memory *memory, uint32_t node, uint64_t address,
                                      enum import_place *out_place, uint32_t *out_buffer)
{
    *out_place = find_allocation(memory, node, address, out_buffer);
    if (*out_place == PLACE_UNKNOWN)
        *out_place = find_known(memory, address, BUFFER_GIVEN, out_buffer);
    if (*out_place == PLACE_UNKNOWN && memory->recorded.record)
        *out_place = braid_import_memory_find_recorded(memory, node, address, out_buffer);
    return *out_place == PLACE_UNKNOWN
               ? braid_import_memory_find_whole(memory, address, out_place, out_buffer)
               : BRAID_OK;
}

braid_status braid_import_memory_find_or_end(struct import_memory *memory, uint32_t node,
                                             uint64_t address, enum import_place *out_place,
                                             uint32_t *out_buffer, uint32_t *out_before)
{
    enum import_place end = PLACE_UNKNOWN;
    uint32_t buffer = 0;
    braid_status status = braid_import_memory_find(memory, node, address, out_place, out_buffer);
    if (out_before)
        *out_before = IMPORT_NONE;
    if (status || !address)
        return status;
    const bool is_found = *out_place == PLACE_BUFFER;
    if (is_found && (!out_before || import_buffers(memory)[*out_buffer].begin != address))
        return status;
    status = braid_import_memory_find(memory, node, address - 1, &end, &buffer);
    if (status || end != PLACE_BUFFER)
        return status;
    if (is_found) // or the allocation around a part, of which the rest is not told apart
        *out_before = buffer;
    else
        *out_buffer = buffer;
    *out_place = end;
    return status;
}

// ---- contents ----

// A small buffer is read as a whole, since a kernel mostly loads several pointers from it.
enum { SMALL = 1 << 16 };

static const struct import_copy *find_copy(const struct import_memory *memory, uint32_t node,
                                           uint64_t address, uint64_t bytes)
{
    const struct import_copy *copies = memory->copies.items;
    for (size_t i = 0; i < memory->copies.num; i++) {
        const uint64_t before = address - copies[i].begin;
        if (before < copies[i].bytes && bytes <= copies[i].bytes - before &&
            (copies[i].node == IMPORT_NONE || copies[i].node == node))
            return &copies[i];
    }
    return NULL;
}

static braid_status make_copy(struct import_memory *memory, uint32_t node, struct import_copy copy)
{
    const void *from = (const void *)(uintptr_t)copy.begin; // NOLINT
    braid_status status = BRAID_OK;
    copy.data = braid_store_take(&memory->store, copy.bytes, 1);
    if (memory->recorded.record)
        copy.known = braid_store_take(&memory->store, copy.bytes, 1);
    if (memory->store.failed)
        return no_memory();
    if (memory->recorded.record)
        status = braid_import_memory_fill_recorded(memory, node, &copy);
    else
        status = braid_gpu_copy_now(memory->gpu, copy.data, from, copy.bytes,
                                    "reading pointers that captured kernels load");
    return status || braid_array_put(&memory->copies, &copy, sizeof(copy)) ? status : no_memory();
}

braid_status braid_import_memory_read(struct import_memory *memory, uint32_t node,
                                      const struct import_buffer *of, uint64_t address,
                                      uint64_t bytes, const unsigned char **out_bytes)
{
    const bool is_small = of->bytes <= SMALL;
    const struct import_copy *copy = find_copy(memory, node, address, bytes);
    braid_status status = BRAID_OK;
    *out_bytes = NULL;
    // The host writes its memory without a call, and mapped memory is written by another address.
    if (memory->recorded.record && of->kind == BUFFER_DRIVER &&
        (of->is_mapped ||
         braid_import_is_of_host(memory->recorded.record->allocations[of->node].kind)))
        return BRAID_OK;
    if (!copy)
        status = make_copy(memory, node,
                           (struct import_copy){ .node = IMPORT_NONE,
                                                 .begin = is_small ? of->begin : address,
                                                 .bytes = is_small ? of->bytes : bytes });
    if (status)
        return status;
    copy = find_copy(memory, node, address, bytes);
    const uint64_t before = address - copy->begin;
    bool is_known = true;
    for (uint64_t i = 0; i < bytes && copy->known; i++)
        is_known = is_known && copy->known[before + i] == 1;
    *out_bytes = is_known ? copy->data + before : NULL;
    return BRAID_OK;
}
