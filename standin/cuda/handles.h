// SPDX-License-Identifier: Apache-2.0
// The set of live driver objects, so that a stale or wrong handle is an error and not a crash.
#ifndef BRAID_STANDIN_HANDLES_H
#define BRAID_STANDIN_HANDLES_H

#include <stdbool.h>

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

#endif
