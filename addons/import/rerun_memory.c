// SPDX-License-Identifier: Apache-2.0
// The memory of a recorded frame in another process: at the same addresses, so that no pointer
// moves, neither in arguments nor in memory.
//
// The driver and the host are asked for the addresses. Who gives another address is refused. A
// driver gives addresses in pieces of its areas, where the host can have none. Pinned memory there
// becomes memory of the device, too.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "import/rerun.h"

enum { LARGE_PIECE = 1 << 25, HUGE_PIECE = 1 << 30 };

static braid_status no_memory(void)
{
    return braid_error_no_memory("the memory of a recorded frame");
}

static const braid_record_allocation *allocation_of(const struct import_memory *memory,
                                                    uint32_t buffer)
{
    return &memory->recorded.record->allocations[import_buffers(memory)[buffer].node];
}

static bool is_on_host(const braid_record_allocation *of)
{
    return of->kind == BRAID_RECORD_PINNED || of->kind == BRAID_RECORD_HOST;
}

// ---- which ranges ----

static int compare_ranges(const void *left, const void *right)
{
    const struct rerun_range *a = left, *b = right;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

static struct cuda_mapping_properties properties_of(const struct gpu_backend *gpu)
{
    return (struct cuda_mapping_properties){ .allocation_type = CUDA_MAPPING_PINNED,
                                             .location_type = CUDA_ON_DEVICE,
                                             .location = gpu->device };
}

static struct rerun_range widen(struct rerun_range range, uint64_t granularity)
{
    const uint64_t end = range.begin + range.bytes, first = range.begin / granularity * granularity;
    range.begin = first;
    range.bytes = (end - first + granularity - 1) / granularity * granularity;
    return range;
}

// Bytes that nodes touch by themselves are buffers, too, inside those of their allocations.
static braid_status list_ranges(const struct import_memory *memory, struct array *ranges)
{
    for (uint32_t i = memory->num_given; i < memory->buffers.num; i++) {
        const struct import_buffer *buffer = &import_buffers(memory)[i];
        if (buffer->is_part)
            continue;
        const braid_record_allocation *of = allocation_of(memory, i);
        const struct rerun_range range = { of->address, of->bytes, is_on_host(of), false, false };
        if (of->kind == BRAID_RECORD_VARIABLE || buffer->begin != of->address)
            continue;
        if (of->kind == BRAID_RECORD_FOREIGN)
            return braid_error(BRAID_UNSUPPORTED,
                               "the recorded frame has memory at 0x%llx of another process or "
                               "interface: it cannot be made again",
                               (unsigned long long)of->address);
        if (of->address != of->device_address)
            return braid_error(BRAID_UNSUPPORTED,
                               "the recorded frame has pinned memory at 0x%llx, which the device "
                               "has at another address: it cannot be made again",
                               (unsigned long long)of->address);
        if (!braid_array_put(ranges, &range, sizeof(range)))
            return no_memory();
    }
    return BRAID_OK;
}

// Memory that was freed and given again would be two buffers at one place, without an order.
static braid_status check_ranges(const struct array *ranges)
{
    const struct rerun_range *all = ranges->items;
    for (size_t i = 1; i < ranges->num; i++) {
        if (all[i].begin - all[i - 1].begin < all[i - 1].bytes)
            return braid_error(BRAID_UNSUPPORTED,
                               "the recorded frame frees the memory at 0x%llx and gets it again: "
                               "it cannot be made again",
                               (unsigned long long)all[i].begin);
    }
    return BRAID_OK;
}

// Neighbours share a page, or a piece of the driver's.
static void join_ranges(struct array *ranges, uint64_t granularity, uint64_t page)
{
    struct rerun_range *all = ranges->items;
    size_t num = 0;
    for (size_t i = 0; i < ranges->num; i++) {
        const struct rerun_range range = widen(all[i], all[i].is_on_host ? page : granularity);
        struct rerun_range *last = num ? &all[num - 1] : NULL;
        if (last && range.is_on_host == last->is_on_host &&
            range.begin <= last->begin + last->bytes) {
            const uint64_t end = range.begin + range.bytes;
            if (end > last->begin + last->bytes)
                last->bytes = end - last->begin;
        } else {
            all[num++] = range;
        }
    }
    ranges->num = num;
}

// ---- making them ----

static braid_status refuse(const struct rerun_range *range)
{
    return braid_error(BRAID_UNSUPPORTED,
                       "the %llu bytes at 0x%llx, which the recorded frame uses, are taken in this "
                       "process: another one may have them free",
                       (unsigned long long)range->bytes, (unsigned long long)range->begin);
}

// No pointer of the record may move, and kernels have the device's.
static braid_status check_pinned(const struct gpu_backend *gpu, void *at)
{
    void *on_device = NULL;
    const braid_status status =
        braid_gpu_check(gpu, gpu->api->pointer_attribute(&on_device, GPU_POINTER_ON_DEVICE, at),
                        &gpu->api->pointer_attribute, "asking where the device has pinned memory");
    if (status || on_device == at)
        return status;
    return braid_error(BRAID_UNSUPPORTED,
                       "the device has the pinned memory at %p of the recorded frame at another "
                       "address: it cannot be made again",
                       at);
}

// Whether the pages were free. An old kernel gives others.
static bool map_on_host(const struct rerun_range *pages)
{
    void *wish = (void *)(uintptr_t)pages->begin; // NOLINT
    void *got = mmap(wish, pages->bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != MAP_FAILED && got != wish)
        munmap(got, pages->bytes);
    return got == wish;
}

static braid_status make_on_host(const struct gpu_backend *gpu, struct rerun_range *range)
{
    void *wish = (void *)(uintptr_t)range->begin; // NOLINT
    range->is_reserved = map_on_host(range);
    if (!range->is_reserved)
        return refuse(range);
    const braid_status status =
        braid_gpu_check(gpu, gpu->api->host_register(wish, range->bytes, 0),
                        &gpu->api->host_register, "pinning the memory of a recorded frame");
    range->is_mapped = !status;
    return status ? status : check_pinned(gpu, wish);
}

static braid_status map_on_device(const struct gpu_backend *gpu, struct rerun_range *range)
{
    const struct gpu_api *api = gpu->api;
    const struct cuda_mapping_properties properties = properties_of(gpu);
    const struct cuda_mapping_access access = { CUDA_ON_DEVICE, gpu->device, CUDA_READ_AND_WRITE };
    void *at = (void *)(uintptr_t)range->begin; // NOLINT
    uint64_t mapping = 0;
    braid_status status =
        braid_gpu_check(gpu, api->mapping_create(&mapping, range->bytes, &properties, 0),
                        &api->mapping_create, "allocating the memory of a recorded frame");
    if (status)
        return status;
    status = braid_gpu_check(gpu, api->mapping_map(at, range->bytes, 0, mapping, 0),
                             &api->mapping_map, "mapping the memory of a recorded frame");
    range->is_mapped = !status;
    // The mapping keeps the memory.
    const braid_status released =
        braid_gpu_check(gpu, api->mapping_release(mapping), &api->mapping_release,
                        "mapping the memory of a recorded frame");
    if (!status)
        status = released;
    return status ? status
                  : braid_gpu_check(gpu, api->mapping_access(at, range->bytes, &access, 1),
                                    &api->mapping_access,
                                    "giving access to the memory of a recorded frame");
}

// ---- addresses of the device ----

static void free_addresses(const struct gpu_backend *gpu, struct array *reserved)
{
    const struct rerun_range *all = reserved->items;
    for (size_t i = 0; i < reserved->num; i++) {
        void *at = (void *)(uintptr_t)all[i].begin; // NOLINT
        braid_gpu_check_freed(gpu, gpu->api->address_free(at, all[i].bytes),
                              &gpu->api->address_free, "freeing the addresses of a recorded frame");
    }
    reserved->num = 0;
}

static braid_status reserve(const struct gpu_backend *gpu, const struct rerun_range *range)
{
    void *wish = (void *)(uintptr_t)range->begin, *got = NULL; // NOLINT
    const braid_status status =
        braid_gpu_check(gpu, gpu->api->address_reserve(&got, range->bytes, 0, wish, 0),
                        &gpu->api->address_reserve, "reserving the addresses of a recorded frame");
    if (status || got == wish)
        return status;
    braid_gpu_check_freed(gpu, gpu->api->address_free(got, range->bytes), &gpu->api->address_free,
                          "giving up other addresses");
    return refuse(range);
}

static bool meet(const struct rerun_range *a, const struct rerun_range *b)
{
    return a->begin - b->begin < b->bytes || b->begin - a->begin < a->bytes;
}

// Puts memory of the host on the device where it meets one of the pieces. Both lists are sorted.
static bool take_met(struct array *ranges, const struct array *pieces)
{
    struct rerun_range *all = ranges->items;
    const struct rerun_range *piece = pieces->items;
    size_t at = 0;
    bool has_taken = false;
    for (size_t i = 0; i < ranges->num; i++) {
        while (at < pieces->num && piece[at].begin + piece[at].bytes <= all[i].begin)
            at++;
        if (at == pieces->num || !all[i].is_on_host || !meet(&all[i], &piece[at]))
            continue;
        all[i].is_on_host = false;
        has_taken = true;
    }
    return has_taken;
}

// Pieces of a number of bytes, which may have room around the ranges of the device.
static braid_status list_pieces(struct array *ranges, uint64_t bytes, struct array *out_pieces)
{
    do {
        const struct rerun_range *all = ranges->items;
        out_pieces->num = 0;
        for (size_t i = 0; i < ranges->num; i++) {
            if (!all[i].is_on_host && !braid_array_put(out_pieces, &all[i], sizeof(all[i])))
                return no_memory();
        }
        join_ranges(out_pieces, bytes, bytes);
    } while (take_met(ranges, out_pieces));
    return BRAID_OK;
}

// All of them, or none.
static braid_status reserve_pieces(const struct gpu_backend *gpu, const struct array *pieces,
                                   struct array *out_reserved)
{
    const struct rerun_range *all = pieces->items;
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < pieces->num && !status; i++) {
        if (!braid_array_put(out_reserved, &all[i], sizeof(all[i])))
            status = no_memory();
        else if ((status = reserve(gpu, &all[i])) != BRAID_OK)
            out_reserved->num--;
    }
    if (status)
        free_addresses(gpu, out_reserved);
    return status;
}

// Puts memory of the host on the device where its address is taken. The driver may have it, in an
// area around a piece.
static bool take_taken(struct array *ranges)
{
    struct rerun_range *all = ranges->items;
    bool has_taken = false;
    for (size_t i = 0; i < ranges->num; i++) {
        if (!all[i].is_on_host)
            continue;
        const struct rerun_range pages = widen(all[i], (uint64_t)sysconf(_SC_PAGESIZE));
        all[i].is_on_host = map_on_host(&pages);
        if (all[i].is_on_host)
            munmap((void *)(uintptr_t)pages.begin, pages.bytes); // NOLINT
        has_taken |= !all[i].is_on_host;
    }
    return has_taken;
}

// In pieces of one size, which begins with all ranges as they are in the record.
static braid_status reserve_by(const struct gpu_backend *gpu, const struct array *recorded,
                               uint64_t size, struct import_rerun *rerun)
{
    struct array pieces = { 0 };
    bool has_taken = false;
    rerun->ranges.num = 0;
    void *to = braid_array_append(&rerun->ranges, recorded->num, sizeof(struct rerun_range));
    if (!to)
        return no_memory();
    memcpy(to, recorded->items, recorded->num * sizeof(struct rerun_range));
    braid_status status = BRAID_OK;
    do {
        free_addresses(gpu, &rerun->reserved);
        status = list_pieces(&rerun->ranges, size, &pieces);
        if (!status)
            status = reserve_pieces(gpu, &pieces, &rerun->reserved);
        has_taken = !status && take_taken(&rerun->ranges);
    } while (has_taken);
    braid_array_finish(&pieces);
    return status;
}

// The driver takes a wish into its present areas only where these have room. It makes another area
// for a large one, whose wish must lie on a large boundary.
static braid_status reserve_ranges(const struct gpu_backend *gpu, const struct array *recorded,
                                   uint64_t granularity, struct import_rerun *rerun)
{
    const uint64_t sizes[] = { granularity, LARGE_PIECE, HUGE_PIECE };
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        status = reserve_by(gpu, recorded, sizes[i], rerun);
        if (status != BRAID_UNSUPPORTED)
            break;
    }
    return status;
}

static bool has_calls(const struct gpu_api *api)
{
    return api->mapping_granularity && api->address_reserve && api->address_free &&
           api->mapping_create && api->mapping_map && api->mapping_access && api->mapping_unmap &&
           api->mapping_release && api->host_register && api->host_unregister;
}

static braid_status make_ranges(const struct gpu_backend *gpu, const struct array *recorded,
                                uint64_t granularity, struct import_rerun *rerun)
{
    const struct rerun_range *all = recorded->items;
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < recorded->num; i++) {
        const struct rerun_range *made = rerun->ranges.items;
        rerun->moved_bytes += all[i].is_on_host && !made[i].is_on_host ? all[i].bytes : 0;
    }
    join_ranges(&rerun->ranges, granularity, (uint64_t)sysconf(_SC_PAGESIZE));
    struct rerun_range *ranges = rerun->ranges.items;
    for (size_t i = 0; i < rerun->ranges.num && !status; i++)
        status =
            ranges[i].is_on_host ? make_on_host(gpu, &ranges[i]) : map_on_device(gpu, &ranges[i]);
    return status;
}

braid_status braid_import_rerun_make_memory(const struct import_memory *memory,
                                            struct import_rerun *rerun)
{
    const struct gpu_backend *gpu = rerun->gpu;
    const struct cuda_mapping_properties properties = properties_of(gpu);
    size_t granularity = 0;
    if (!has_calls(gpu->api))
        return braid_error(BRAID_UNSUPPORTED, "this driver gives no addresses by choice, so that a "
                                              "recorded frame has no memory");
    braid_status status =
        braid_gpu_check(gpu, gpu->api->mapping_granularity(&granularity, &properties, 0),
                        &gpu->api->mapping_granularity, "asking how memory is mapped");
    struct array recorded = { 0 };
    if (!status)
        status = list_ranges(memory, &recorded);
    if (!status && recorded.num) {
        qsort(recorded.items, recorded.num, sizeof(struct rerun_range), compare_ranges);
        status = check_ranges(&recorded);
        if (!status)
            status = reserve_ranges(gpu, &recorded, granularity, rerun);
        if (!status)
            status = make_ranges(gpu, &recorded, granularity, rerun);
    }
    braid_array_finish(&recorded);
    return status;
}

static void free_range(const struct gpu_backend *gpu, const struct rerun_range *range)
{
    const struct gpu_api *api = gpu->api;
    void *at = (void *)(uintptr_t)range->begin; // NOLINT
    if (range->is_mapped && range->is_on_host)
        braid_gpu_check_freed(gpu, api->host_unregister(at), &api->host_unregister,
                              "freeing the memory of a recorded frame");
    if (range->is_mapped && !range->is_on_host)
        braid_gpu_check_freed(gpu, api->mapping_unmap(at, range->bytes), &api->mapping_unmap,
                              "freeing the memory of a recorded frame");
    if (range->is_reserved)
        munmap(at, range->bytes);
}

bool braid_import_rerun_has(const struct import_rerun *rerun, uint64_t begin, uint64_t bytes)
{
    const struct rerun_range *all = rerun->ranges.items;
    bool has = false;
    for (size_t i = 0; i < rerun->ranges.num && !has; i++)
        has = begin - all[i].begin < all[i].bytes && bytes <= all[i].bytes - (begin - all[i].begin);
    return has;
}

void braid_import_rerun_free_memory(struct import_rerun *rerun)
{
    const struct rerun_range *ranges = rerun->ranges.items;
    for (size_t i = 0; i < rerun->ranges.num; i++)
        free_range(rerun->gpu, &ranges[i]);
    rerun->ranges.num = 0;
    if (rerun->reserved.num)
        free_addresses(rerun->gpu, &rerun->reserved);
}
