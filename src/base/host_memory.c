// SPDX-License-Identifier: Apache-2.0
// Host memory: each block knows the allocator that it came from.
#include "base/host_memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct host_allocator {
    braid_allocator functions;
    uint32_t num_holders;        // guarded by lock
    struct host_allocator *next; // guarded by lock
};

_Thread_local struct host_allocator *braid_host_allocator_in_force;
atomic_uint braid_host_allocators_held;

// ---- blocks ----

// In front of a block: where it came from. The block begins `1 << offset_bits` bytes behind the
// memory that the allocator gave.
struct block {
    struct host_allocator *allocator; // NULL: malloc
    uint64_t bytes : 48;              // that the allocator gave
    uint64_t alignment_bits : 8, offset_bits : 8;
};

enum { LEAST_ALIGNMENT = _Alignof(max_align_t), PAGE = 4096, BIG_PAGE = 2 << 20 };
_Static_assert(sizeof(struct block) <= LEAST_ALIGNMENT, "it has room before each block");

// Less than half of the addresses: differences of pointers into it can be told.
#define MOST_BYTES ((size_t)1 << 46)
#define BYTES_MASK (((uint64_t)1 << 48) - 1)

static struct block *block_of(void *memory)
{
    return (struct block *)memory - 1;
}

static void *begin_of(void *memory)
{
    return (unsigned char *)memory - ((size_t)1 << block_of(memory)->offset_bits);
}

// A block in memory that an allocator gave; NULL: it gave none.
static void *make_block(void *begin, struct block block)
{
    if (!begin) {
        errno = ENOMEM;
        return NULL;
    }
    void *memory = (unsigned char *)begin + ((size_t)1 << block.offset_bits);
    *block_of(memory) = block;
    return memory;
}

static inline struct block describe(size_t bytes, size_t alignment, size_t offset)
{
    return (struct block){ .allocator = braid_host_allocator_in_force,
                           .bytes = bytes & BYTES_MASK,
                           .alignment_bits = (uint8_t)__builtin_ctzl(alignment),
                           .offset_bits = (uint8_t)__builtin_ctzl(offset) };
}

static void *ask(struct block block)
{
    const braid_allocator *functions = &block.allocator->functions;
    return functions->allocate(block.bytes, (size_t)1 << block.alignment_bits, functions->user);
}

void *braid_allocate(size_t bytes)
{
    struct block block = describe(bytes + LEAST_ALIGNMENT, LEAST_ALIGNMENT, LEAST_ALIGNMENT);
    if (bytes > MOST_BYTES)
        return make_block(NULL, block);
    return make_block(block.allocator ? ask(block) : malloc(block.bytes), block);
}

void *braid_allocate_zeroed(size_t num, size_t bytes)
{
    size_t all = 0;
    bool is_too_large = __builtin_mul_overflow(num, bytes, &all) || all > MOST_BYTES;
    struct block block = describe(all + LEAST_ALIGNMENT, LEAST_ALIGNMENT, LEAST_ALIGNMENT);
    if (is_too_large)
        return make_block(NULL, block);
    if (!block.allocator)
        return make_block(calloc(1, block.bytes), block);
    void *memory = make_block(ask(block), block);
    return memory ? memset(memory, 0, all) : NULL;
}

// aligned_alloc takes multiples of the alignment only.
static inline void *allocate_at(size_t alignment, size_t offset, size_t bytes)
{
    size_t all = (bytes + offset + alignment - 1) / alignment * alignment;
    struct block block = describe(all, alignment, offset);
    if (bytes > MOST_BYTES || alignment > MOST_BYTES)
        return make_block(NULL, block);
    return make_block(block.allocator ? ask(block) : aligned_alloc(alignment, all), block);
}

void *braid_allocate_aligned(size_t alignment, size_t bytes)
{
    alignment = alignment < LEAST_ALIGNMENT ? LEAST_ALIGNMENT : alignment;
    return allocate_at(alignment, alignment, bytes);
}

void *braid_allocate_pages(size_t bytes)
{
    bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    void *pages = allocate_at(PAGE, PAGE, bytes);
    return pages ? memset(pages, 0, bytes) : NULL;
}

// The block begins a little behind that of the first big page, which would be wasted otherwise.
void *braid_allocate_big(size_t bytes)
{
    if (bytes < BIG_PAGE)
        return braid_allocate(bytes);
    void *memory = allocate_at(BIG_PAGE, LEAST_ALIGNMENT, bytes);
    if (memory) // only advice: all works without
        (void)madvise(begin_of(memory), block_of(memory)->bytes, MADV_HUGEPAGE);
    return memory;
}

void *braid_reallocate(void *memory, size_t bytes)
{
    if (!memory)
        return braid_allocate(bytes);
    struct block block = *block_of(memory);
    size_t before = block.bytes;
    void *begin = begin_of(memory);
    if (bytes > MOST_BYTES)
        return make_block(NULL, block);
    block.bytes = (bytes + LEAST_ALIGNMENT) & BYTES_MASK;
    if (!block.allocator)
        return make_block(realloc(begin, block.bytes), block);
    const braid_allocator *functions = &block.allocator->functions;
    return make_block(functions->reallocate(begin, before, block.bytes,
                                            (size_t)1 << block.alignment_bits, functions->user),
                      block);
}

void braid_free(void *memory)
{
    if (!memory)
        return;
    const struct block block = *block_of(memory);
    void *begin = begin_of(memory);
    if (block.allocator)
        block.allocator->functions.free(begin, block.bytes, (size_t)1 << block.alignment_bits,
                                        block.allocator->functions.user);
    else
        free(begin);
}

// ---- texts ----

char *braid_copy_part(const char *text, size_t length)
{
    char *copy = braid_allocate(length + 1);
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

char *braid_copy_text(const char *text)
{
    return braid_copy_part(text, strlen(text));
}

char *braid_print_text(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length < 0 ? NULL : braid_allocate((size_t)length + 1);
    if (!text)
        return NULL;
    va_start(arguments, format);
    (void)vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

// ---- files in memory ----

struct text_file {
    char **text;
    size_t *num;
    size_t room;
    bool failed;
};

static ssize_t write_text(void *of, const char *bytes, size_t num)
{
    struct text_file *file = of;
    size_t needed = *file->num + num + 1;
    if (!file->failed && needed > file->room) {
        size_t room = needed > 2 * file->room ? needed : 2 * file->room;
        char *text = braid_reallocate(*file->text, room);
        file->failed = !text;
        if (text) {
            *file->text = text;
            file->room = room;
        }
    }
    if (file->failed)
        return 0;
    memcpy(*file->text + *file->num, bytes, num);
    *file->num += num;
    (*file->text)[*file->num] = '\0';
    return (ssize_t)num;
}

static int close_text(void *of)
{
    struct text_file *file = of;
    int result = file->failed ? -1 : 0;
    braid_free(file);
    return result;
}

FILE *braid_open_text(char **out_text, size_t *out_num)
{
    static const cookie_io_functions_t functions = { .write = write_text, .close = close_text };
    struct text_file *file = braid_allocate(sizeof(*file));
    *out_num = 0;
    *out_text = file ? braid_copy_text("") : NULL;
    FILE *stream = NULL;
    if (*out_text) {
        *file = (struct text_file){ .text = out_text, .num = out_num, .room = 1 };
        stream = fopencookie(file, "w", functions);
    }
    if (stream)
        return stream;
    braid_free(*out_text);
    braid_free(file);
    *out_text = NULL;
    return NULL;
}

// ---- allocators of the program ----

// They are state of the process: blocks of one allocator may be those of several devices, and
// outlive the first of them.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct host_allocator *all; // guarded by lock

static bool are_equal(const braid_allocator *one, const braid_allocator *other)
{
    return one->allocate == other->allocate && one->reallocate == other->reallocate &&
           one->free == other->free && one->user == other->user;
}

bool braid_host_allocator_hold(const braid_allocator *functions,
                               struct host_allocator **out_allocator)
{
    pthread_mutex_lock(&lock);
    struct host_allocator *found = all;
    while (found && !are_equal(&found->functions, functions))
        found = found->next;
    if (!found && (found = malloc(sizeof(*found)))) {
        *found = (struct host_allocator){ .functions = *functions, .next = all };
        all = found;
        atomic_fetch_add(&braid_host_allocators_held, 1);
    }
    if (found)
        found->num_holders++;
    pthread_mutex_unlock(&lock);
    *out_allocator = found;
    return found;
}

void braid_host_allocator_let_go(struct host_allocator *allocator)
{
    if (!allocator)
        return;
    pthread_mutex_lock(&lock);
    bool is_last = --allocator->num_holders == 0;
    struct host_allocator **link = &all;
    while (is_last && *link != allocator)
        link = &(*link)->next;
    if (is_last) {
        *link = allocator->next;
        atomic_fetch_sub(&braid_host_allocators_held, 1);
    }
    pthread_mutex_unlock(&lock);
    if (is_last)
        free(allocator);
}
