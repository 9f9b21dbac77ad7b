// SPDX-License-Identifier: Apache-2.0
// The ledger of memory: host memory that plays device memory, with bounds, limits and a graveyard.
#include "memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "report.h"
#include "settings.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ADDRESS_SANITIZER 1
#endif
#endif
#ifdef HAS_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

enum { ALIGNMENT = 256, FRESH_BYTE = 0xCD, FREED_BYTE = 0xDD };
static const size_t graveyard_limit = (size_t)64 << 20, graveyard_most_blocks = 1000;

struct block {
    struct block *next;
    char *start;
    size_t bytes;
    enum memory_kind kind;
    enum memory_state state;
    bool free_announced;
    bool in_stream_order, is_reserved, is_mapped;
    struct reservation reservation; // if it is one
    CUdevice device;
    CUcontext context;
    uint64_t id;
};

static struct block *blocks; // newest first
// The same by their starts, and how many of them may overlap others.
static struct block **sorted;
static size_t num_blocks, room, num_registered;
static size_t used[MAX_DEVICES];
static size_t graveyard_bytes, graveyard_blocks;
static long bad_accesses;
static uint64_t last_id;

static bool on_device(const struct block *block)
{
    return block->kind == MEMORY_DEVICE || block->kind == MEMORY_MANAGED;
}

// How many begin there or before.
static size_t num_until(const char *at)
{
    size_t low = 0, high = num_blocks;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (sorted[middle]->start <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has(const struct block *block, const char *at)
{
    return at >= block->start && (size_t)(at - block->start) < block->bytes;
}

// Every argument of each kernel may be an address.
static struct block *find(const void *memory)
{
    size_t num = num_until(memory);
    if (num_registered == 0)
        return num > 0 && has(sorted[num - 1], memory) ? sorted[num - 1] : NULL;
    for (struct block *block = blocks; block != NULL; block = block->next)
        if (has(block, memory))
            return block;
    return NULL;
}

bool memory_find_kind(const void *memory, enum memory_kind *out_kind)
{
    const struct block *block = find(memory);
    if (block == NULL || block->state == MEMORY_FREED)
        return false;
    *out_kind = block->kind;
    return true;
}

bool memory_describe(const void *memory, struct memory_facts *out_facts)
{
    const struct block *block = find(memory);
    if (block == NULL || block->state == MEMORY_FREED ||
        (block->is_reserved && !block->reservation.is_mapped))
        return false;
    *out_facts = (struct memory_facts){ .start = block->start,
                                        .bytes = block->bytes,
                                        .kind = block->kind,
                                        .in_stream_order = block->in_stream_order,
                                        .device = block->device,
                                        .context = block->context,
                                        .id = block->id };
    return true;
}

// Under AddressSanitizer a kernel that touches freed memory stops there with a stack trace.
static void forbid_access(struct block *block)
{
#ifdef HAS_ADDRESS_SANITIZER
    ASAN_UNPOISON_MEMORY_REGION(block->start, block->bytes); // freed by its graph before
#endif
    memset(block->start, FREED_BYTE, block->bytes);
#ifdef HAS_ADDRESS_SANITIZER
    ASAN_POISON_MEMORY_REGION(block->start, block->bytes);
#endif
}

static void allow_access(struct block *block)
{
#ifdef HAS_ADDRESS_SANITIZER
    ASAN_UNPOISON_MEMORY_REGION(block->start, block->bytes);
#endif
    memset(block->start, FRESH_BYTE, block->bytes);
}

static void erase(struct block **link)
{
    struct block *block = *link;
    size_t at = num_until(block->start) - 1;
    while (sorted[at] != block)
        at--;
    memmove(&sorted[at], &sorted[at + 1], (--num_blocks - at) * sizeof(*sorted));
    num_registered -= block->kind == MEMORY_REGISTERED;
    *link = block->next;
    if (block->kind != MEMORY_REGISTERED && !block->is_mapped) {
#ifdef HAS_ADDRESS_SANITIZER
        ASAN_UNPOISON_MEMORY_REGION(block->start, block->bytes);
#endif
        free(block->start);
    }
    free(block);
}

// Gives the oldest freed blocks back until the graveyard is within its limits: of bytes, and of
// blocks, since all are looked at when memory is not the device's.
static void trim_graveyard(void)
{
    while (graveyard_bytes > graveyard_limit || graveyard_blocks > graveyard_most_blocks) {
        struct block **oldest = NULL;
        for (struct block **link = &blocks; *link != NULL; link = &(*link)->next)
            if ((*link)->state == MEMORY_FREED)
                oldest = link;
        if (oldest == NULL)
            return;
        graveyard_bytes -= (*oldest)->bytes;
        graveyard_blocks--;
        erase(oldest);
    }
}

static struct block *add_block(CUcontext context, enum memory_kind kind, void *start, size_t bytes)
{
    size_t at = num_until(start), more = room == 0 ? 64 : 2 * room;
    struct block **larger = num_blocks < room ? sorted : realloc(sorted, more * sizeof(*sorted));
    if (larger == NULL)
        return NULL;
    room = num_blocks < room ? room : more;
    sorted = larger;
    struct block *block = calloc(1, sizeof(*block));
    if (block == NULL)
        return NULL;
    *block = (struct block){ .next = blocks, .start = start, .bytes = bytes, .kind = kind };
    block->state = MEMORY_LIVE;
    block->device = context->device;
    block->context = context;
    block->id = ++last_id;
    blocks = block;
    memmove(&sorted[at + 1], &sorted[at], (num_blocks++ - at) * sizeof(*sorted));
    sorted[at] = block;
    num_registered += kind == MEMORY_REGISTERED;
    return block;
}

CUresult memory_allocate(CUcontext context, enum memory_kind kind, enum memory_state state,
                         size_t bytes, void **out_memory)
{
    size_t limit = (size_t)setting(SETTING_MEMORY);
    bool counted = kind == MEMORY_DEVICE || kind == MEMORY_MANAGED;
    if (bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes > limit || (counted && (used[context->device] > limit - bytes)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    char *start = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    struct block *block = start == NULL ? NULL : add_block(context, kind, start, bytes);
    if (block == NULL) {
        free(start);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memset(start, FRESH_BYTE, bytes);
    block->state = state;
    block->in_stream_order = state == MEMORY_PENDING;
    if (counted)
        used[context->device] += bytes;
    *out_memory = start;
    return CUDA_SUCCESS;
}

CUresult memory_register(CUcontext context, void *memory, size_t bytes)
{
    struct block *known = find(memory);
    if (known != NULL && known->state != MEMORY_FREED)
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    struct block *block = add_block(context, MEMORY_REGISTERED, memory, bytes);
    return block == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult memory_unregister(void *memory)
{
    for (struct block **link = &blocks; *link != NULL; link = &(*link)->next)
        if ((*link)->start == memory && (*link)->kind == MEMORY_REGISTERED) {
            erase(link);
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

CUresult memory_map(CUcontext context, void *memory, size_t bytes)
{
    struct block *block = add_block(context, MEMORY_DEVICE, memory, bytes);
    if (block == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    block->is_mapped = true;
    return CUDA_SUCCESS;
}

// All mappings in the range, which has nothing else.
CUresult memory_unmap(void *memory, size_t bytes)
{
    size_t left = bytes;
    for (const struct block *block = blocks; block != NULL; block = block->next)
        if (block->is_mapped && block->start >= (char *)memory &&
            (size_t)(block->start - (char *)memory) < bytes)
            left -= block->bytes;
    if (left != 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (struct block **link = &blocks; *link != NULL;)
        if ((*link)->is_mapped && (*link)->start >= (char *)memory &&
            (size_t)((*link)->start - (char *)memory) < bytes)
            erase(link);
        else
            link = &(*link)->next;
    return CUDA_SUCCESS;
}

// A graph allocates reserved memory again.
static void bury(struct block *block)
{
    if (block->is_reserved && block->reservation.holders > 0) {
        block->state = MEMORY_PENDING;
        forbid_access(block);
        return;
    }
    if (on_device(block))
        used[block->device] -= block->bytes;
    block->state = MEMORY_FREED;
    graveyard_bytes += block->bytes;
    graveyard_blocks++;
    forbid_access(block);
    trim_graveyard();
}

// Memory of a graph can be freed outside of it while a launch has left it allocated.
static bool can_be_freed(const struct block *block, const void *memory)
{
    if (block == NULL || block->start != memory || block->state == MEMORY_FREED)
        return false;
    if (block->is_mapped)
        return false;
    return block->is_reserved ? block->reservation.is_out : !block->free_announced;
}

CUresult memory_free(void *memory, enum memory_kind kind, enum memory_kind or_kind)
{
    struct block *block = find(memory);
    if (!can_be_freed(block, memory) || (block->kind != kind && block->kind != or_kind))
        return CUDA_ERROR_INVALID_VALUE;
    block->reservation.is_out = false;
    bury(block);
    return CUDA_SUCCESS;
}

CUresult memory_announce_free(void *memory)
{
    struct block *block = find(memory);
    if (!can_be_freed(block, memory) || block->kind != MEMORY_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    block->reservation.is_out = false;
    block->free_announced = true;
    return CUDA_SUCCESS;
}

CUresult memory_reserve(CUcontext context, size_t bytes, void **out_memory)
{
    CUresult result = memory_allocate(context, MEMORY_DEVICE, MEMORY_PENDING, bytes, out_memory);
    if (result != CUDA_SUCCESS)
        return result;
    struct block *block = find(*out_memory);
    block->is_reserved = true;
    block->reservation.holders = 1;
    forbid_access(block);
    return CUDA_SUCCESS;
}

struct reservation *memory_reservation(const void *memory)
{
    struct block *block = find(memory);
    bool is_one = block != NULL && block->is_reserved && block->start == memory &&
                  block->state != MEMORY_FREED;
    return is_one ? &block->reservation : NULL;
}

// What a launch has left allocated stays until it is freed.
void memory_let_go(void *memory)
{
    struct block *block = find(memory);
    struct reservation *reservation = &block->reservation;
    bool stays = block->state == MEMORY_LIVE && (reservation->is_out || !reservation->freed_within);
    if (--reservation->holders == 0 && !stays)
        bury(block);
}

void memory_bury(void *memory)
{
    struct block *block = find(memory);
    if (block != NULL && block->state != MEMORY_FREED)
        bury(block);
}

CUresult memory_check_argument(const void *memory, size_t bytes, bool must_be_device)
{
    if (bytes == 0)
        return CUDA_SUCCESS;
    struct block *block = find(memory);
    if (block == NULL)
        return must_be_device || memory == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    size_t offset = (size_t)((const char *)memory - block->start);
    return bytes > block->bytes - offset ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static bool reject(CUcontext context, const void *memory, size_t bytes, const char *why)
{
    complain("work touches %zu bytes at %p: %s", bytes, memory, why);
    bad_accesses++;
    context_poison(context, CUDA_ERROR_ILLEGAL_ADDRESS);
    return false;
}

// It is as when it was freed last.
static bool is_untouched(const struct block *block)
{
#ifndef HAS_ADDRESS_SANITIZER // which has caught it
    for (size_t i = 0; i < block->bytes; i++)
        if ((unsigned char)block->start[i] != FREED_BYTE)
            return false;
#endif
    return true;
}

void memory_arrive(CUcontext context, void *memory)
{
    struct block *block = find(memory);
    if (block == NULL || block->state != MEMORY_PENDING)
        return;
    if (block->is_reserved && !is_untouched(block))
        reject(context, memory, block->bytes, "it was written to while its graph had it freed");
    if (block->is_reserved)
        allow_access(block);
    block->state = MEMORY_LIVE;
}

bool memory_is_of(CUdevice device, const void *memory)
{
    const struct block *block = find(memory);
    return block != NULL && on_device(block) && block->device == device;
}

static bool can_reach(CUcontext context, const struct block *block)
{
    return block->kind != MEMORY_DEVICE || block->device == context->device ||
           (context->peers & (1u << block->device)) != 0 ||
           (block->reservation.peers & (1u << context->device)) != 0;
}

static bool reject_foreign(CUcontext context, const struct block *block, const void *memory,
                           size_t bytes)
{
    char why[96];
    snprintf(why, sizeof(why), "memory of device %d, to which device %d has no peer access",
             block->device, context->device);
    return reject(context, memory, bytes, why);
}

bool memory_touch(CUcontext context, const void *memory, size_t bytes, bool staged)
{
    struct block *block = bytes == 0 ? NULL : find(memory);
    if (block == NULL)
        return true;
    if (block->state == MEMORY_FREED)
        return reject(context, memory, bytes, "freed memory");
    if (block->state == MEMORY_PENDING)
        return reject(context, memory, bytes,
                      block->is_reserved ? "memory that its graph has not allocated, or has freed"
                                         : "memory that the stream has not allocated yet");
    if (bytes > block->bytes - (size_t)((const char *)memory - block->start))
        return reject(context, memory, bytes, "past the end of its block");
    if (!staged && !can_reach(context, block))
        return reject_foreign(context, block, memory, bytes);
    return true;
}

bool memory_touch_argument(CUcontext context, const void *value)
{
    struct block *block = find(value);
    if (block == NULL || (block->state == MEMORY_LIVE && can_reach(context, block)))
        return true;
    return memory_touch(context, value, 1, false);
}

size_t memory_used(CUdevice device)
{
    return used[device];
}

long memory_live(void)
{
    long count = 0;
    for (struct block *block = blocks; block != NULL; block = block->next)
        count += block->state != MEMORY_FREED;
    return count;
}

long memory_bad_accesses(void)
{
    return bad_accesses;
}
