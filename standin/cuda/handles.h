// SPDX-License-Identifier: Apache-2.0
// The set of live driver objects, so that a stale or wrong handle is an error and not a crash.
#ifndef BRAID_STANDIN_HANDLES_H
#define BRAID_STANDIN_HANDLES_H

#include <stdbool.h>
#include <stddef.h>

enum handle_kind {
    HANDLE_NONE,
    HANDLE_CONTEXT,
    HANDLE_STREAM,
    HANDLE_EVENT,
    HANDLE_MODULE,
    HANDLE_FUNCTION,
    HANDLE_GRAPH,
    HANDLE_NODE,
    HANDLE_EXEC,
    HANDLE_POOL,
    HANDLE_LIBRARY,
    HANDLE_KERNEL,
    HANDLE_SEMAPHORE,
    NUM_HANDLE_KINDS,
};

// All expect the world's lock to be held.
bool handles_add(enum handle_kind kind, const void *object); // false: no memory
void handles_remove(const void *object);
bool handles_known(enum handle_kind kind, const void *object);
long handles_live(enum handle_kind kind);

// Memory for objects, zeroed, and without the lock. With BRAID_STANDIN_REUSE an object gets the
// address of the last one of its size that was freed. NULL: no memory.
void *handles_allocate(size_t bytes);
void handles_free(void *object, size_t bytes);

// Calls the function for each object of a kind. It may remove that.
void handles_each(enum handle_kind kind, void (*visit)(void *object, void *user), void *user);

#endif
