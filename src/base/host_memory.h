// SPDX-License-Identifier: Apache-2.0
// Host memory: each block knows the allocator that it came from.
//
// All of src and addons allocates here. A new block is of the allocator that is in force on the
// thread. A call on a device puts the device's in force. Where code of the program runs, none is.
#ifndef BRAID_BASE_HOST_MEMORY_H
#define BRAID_BASE_HOST_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <braid/device.h>

// ---- blocks ----

// Each returns NULL when memory runs out, with errno ENOMEM. A request for nothing still returns a
// pointer. A block is aligned for any type.
void *braid_allocate(size_t bytes) __attribute__((alloc_size(1)));
void *braid_allocate_zeroed(size_t num, size_t bytes) __attribute__((alloc_size(1, 2)));
void *braid_allocate_aligned(size_t alignment, size_t bytes) __attribute__((alloc_size(2)));

// Zeroed memory in pages of its own, for locks where threads sleep: an audit closes the pages of
// the program's buffers.
void *braid_allocate_pages(size_t bytes);

// Memory that is read in no order: large blocks ask for big pages. Uninitialised.
void *braid_allocate_big(size_t bytes);

// A block of braid_allocate or braid_allocate_zeroed gets another size, from the allocator that it
// came from. NULL for the memory makes a block. If it fails, the block stays.
void *braid_reallocate(void *memory, size_t bytes) __attribute__((alloc_size(2)));

void braid_free(void *memory);

// ---- texts ----

// These are blocks, too. The last one takes the arguments of printf.
char *braid_copy_text(const char *text);
char *braid_copy_part(const char *text, size_t length);
char *braid_print_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

// A file in memory, as open_memstream makes it, whose text is a block. Once a write has failed,
// fclose fails.
FILE *braid_open_text(char **out_text, size_t *out_num);

// ---- whose memory it is ----

// An allocator of the program. Devices with equal ones share it.
struct host_allocator;

// Finds or makes the one with these functions. False: memory ran out.
bool braid_host_allocator_hold(const braid_allocator *functions,
                               struct host_allocator **out_allocator);
// NULL: nothing happens. All blocks are back when the last one lets go.
void braid_host_allocator_let_go(struct host_allocator *allocator);

// The calling thread's; NULL: malloc. It is NULL wherever code of the program runs.
extern _Thread_local struct host_allocator *braid_host_allocator_in_force
    __attribute__((visibility("hidden")));

// How many allocators are held. Without one, none is in force on any thread: that is known without
// a look at memory of the thread, which costs a call.
extern atomic_uint braid_host_allocators_held __attribute__((visibility("hidden")));

// Returns the one before, which the caller puts in force again.
static inline struct host_allocator *host_allocator_use(struct host_allocator *allocator)
{
    struct host_allocator *before = braid_host_allocator_in_force;
    braid_host_allocator_in_force = allocator;
    return before;
}

static inline bool host_allocators_are_held(void)
{
    return __builtin_expect(
        atomic_load_explicit(&braid_host_allocators_held, memory_order_relaxed) != 0, 0);
}

// Takes the thread's out of force, and returns it, for a call into the program.
static inline struct host_allocator *host_allocator_suspend(void)
{
    return host_allocators_are_held() ? host_allocator_use(NULL) : NULL;
}

static inline void host_allocator_resume(struct host_allocator *suspended)
{
    if (__builtin_expect(suspended != NULL, 0))
        braid_host_allocator_in_force = suspended;
}

// Until the end of a block another one is in force, or none where the block calls the program.
struct host_scope {
    bool is_other;
    struct host_allocator *before;
};

// Without an allocator none is in force here, and nothing happens.
static inline struct host_scope host_scope_begin(struct host_allocator *allocator)
{
    return (struct host_scope){ allocator != NULL,
                                allocator ? host_allocator_use(allocator) : NULL };
}

static inline void host_scope_end(const struct host_scope *scope)
{
    if (__builtin_expect(scope->is_other, 0))
        braid_host_allocator_in_force = scope->before;
}

#define HOST_SCOPE                                                                                 \
    __attribute__((cleanup(host_scope_end), unused)) const struct host_scope host_scope
// Without an allocator anywhere, `allocator` is not looked at.
#define HOST_MEMORY(allocator)                                                                     \
    HOST_SCOPE = host_scope_begin(host_allocators_are_held() ? (allocator) : NULL)
#define PLAIN_MEMORY HOST_SCOPE = { true, host_allocator_use(NULL) }

#endif
