// SPDX-License-Identifier: Apache-2.0
// Counts the calls of malloc, calloc, realloc and their kind, and fails the one it is told to.
// For programs linked with failing_memory_link_args, which wrap these functions; calls from inside
// other shared libraries are not seen. Thread-safety: any thread.
#ifndef BRAID_TESTS_FAILING_MEMORY_H
#define BRAID_TESTS_FAILING_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

// The nth allocation from now on fails, counted from 1, and so do all after it until disarmed:
// memory that has run out stays out.
void failing_memory_arm(uint64_t nth);

// Only the nth fails.
void failing_memory_arm_once(uint64_t nth);

// Whether one has failed since it was armed, also where it is still.
bool failing_memory_has_failed(void);

// Allocations work again; true when one has failed since failing_memory_arm.
bool failing_memory_disarm(void);

// Calls the function at each allocation, with the return address of that call; NULL: none. The
// function may not allocate.
typedef void failing_memory_watcher(const void *caller);
void failing_memory_watch(failing_memory_watcher *watch);

// Allocations and frees so far, failed ones included; frees of NULL do not count.
uint64_t failing_memory_num_calls(void);

// Bytes asked for so far, whether given or not; what is freed stays counted.
uint64_t failing_memory_num_bytes(void);

#endif
