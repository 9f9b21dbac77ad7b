// SPDX-License-Identifier: Apache-2.0
// Counts allocations and fails the one it is told to, by the linker's --wrap.
#include "support/failing_memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

// Relaxed throughout: the numbers order nothing.
static atomic_uint_fast64_t num_calls;
static atomic_uint_fast64_t num_bytes;
static atomic_int_fast64_t left = INT64_MAX; // allocations until the one that fails
static atomic_bool failed, once;
static _Atomic(failing_memory_watcher *) watcher;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t num, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
int __real_posix_memalign(void **out_memory, size_t alignment, size_t bytes);
void __real_free(void *memory);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t num, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **out_memory, size_t alignment, size_t bytes);
void __wrap_free(void *memory);

void failing_memory_arm(uint64_t nth)
{
    atomic_store_explicit(&failed, false, memory_order_relaxed);
    atomic_store_explicit(&once, false, memory_order_relaxed);
    atomic_store_explicit(&left, (int_fast64_t)nth, memory_order_relaxed);
}

void failing_memory_arm_once(uint64_t nth)
{
    failing_memory_arm(nth);
    atomic_store_explicit(&once, true, memory_order_relaxed);
}

bool failing_memory_has_failed(void)
{
    return atomic_load_explicit(&failed, memory_order_relaxed);
}

bool failing_memory_disarm(void)
{
    atomic_store_explicit(&left, INT64_MAX, memory_order_relaxed);
    return atomic_load_explicit(&failed, memory_order_relaxed);
}

uint64_t failing_memory_num_calls(void)
{
    return atomic_load_explicit(&num_calls, memory_order_relaxed);
}

uint64_t failing_memory_num_bytes(void)
{
    return atomic_load_explicit(&num_bytes, memory_order_relaxed);
}

void failing_memory_watch(failing_memory_watcher *watch)
{
    atomic_store_explicit(&watcher, watch, memory_order_relaxed);
}

static bool may_allocate(size_t bytes, const void *caller)
{
    failing_memory_watcher *watch = atomic_load_explicit(&watcher, memory_order_relaxed);
    if (watch)
        watch(caller);
    atomic_fetch_add_explicit(&num_bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&num_calls, 1, memory_order_relaxed);
    int_fast64_t before = atomic_fetch_sub_explicit(&left, 1, memory_order_relaxed);
    if (before > 1 || (before < 1 && atomic_load_explicit(&once, memory_order_relaxed)))
        return true;
    atomic_store_explicit(&failed, true, memory_order_relaxed);
    errno = ENOMEM;
    return false;
}

void *__wrap_malloc(size_t bytes)
{
    return may_allocate(bytes, __builtin_return_address(0)) ? __real_malloc(bytes) : NULL;
}

void *__wrap_calloc(size_t num, size_t bytes)
{
    return may_allocate(num * bytes, __builtin_return_address(0)) ? __real_calloc(num, bytes)
                                                                  : NULL;
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    return may_allocate(bytes, __builtin_return_address(0)) ? __real_realloc(memory, bytes) : NULL;
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return may_allocate(bytes, __builtin_return_address(0)) ? __real_aligned_alloc(alignment, bytes)
                                                            : NULL;
}

int __wrap_posix_memalign(void **out_memory, size_t alignment, size_t bytes)
{
    return may_allocate(bytes, __builtin_return_address(0))
               ? __real_posix_memalign(out_memory, alignment, bytes)
               : ENOMEM;
}

void __wrap_free(void *memory)
{
    if (memory)
        atomic_fetch_add_explicit(&num_calls, 1, memory_order_relaxed);
    __real_free(memory);
}

// Under a sanitizer, an allocation that is too large must fail like any other, not end the program.
__attribute__((visibility("default"))) const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__tsan_default_options(void);

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}
