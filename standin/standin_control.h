// SPDX-License-Identifier: Apache-2.0
// What a test may ask of the stand-in driver beyond the driver's own API: change a setting while
// the process runs, and read the counters.
#ifndef BRAID_STANDIN_CONTROL_H
#define BRAID_STANDIN_CONTROL_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

// Sets one of the BRAID_STANDIN_* settings of README.md as if the environment had held it; NULL
// clears it. Setting _FAIL or _ASYNC starts their counts again from zero. False: not understood.
bool standin_configure(const char *setting, const char *value);

// How often a function was called, by its name without the _vN ending; "*" counts every call.
long standin_calls(const char *function);

// Calls the function at each call of the driver's, before it fails or is made; NULL: none. The
// function may not call the driver.
typedef void standin_watcher(const char *function);
void standin_watch(standin_watcher *watch);

// The same, but that the function may wait for other threads, which call the driver meanwhile.
void standin_hold(standin_watcher *hold);

// Calls the function with the text of each module that is loaded; NULL: none.
typedef void standin_module_watcher(const char *text);
void standin_watch_modules(standin_module_watcher *watch);

// Calls the function for each kernel that is queued, with its name and the priority that it runs
// with: of an executable graph, that of the node or of the stream, as the driver does; NULL: none.
typedef void standin_priority_watcher(const char *kernel, int priority);
void standin_watch_priorities(standin_priority_watcher *watch);

// How many objects of a kind are live: "context" (retained or created), "stream", "event",
// "module", "graph", "exec", "pool", "memory". Streams that the stand-in made for itself (the
// null streams) do not count. -1: no such kind.
long standin_live(const char *kind);

// Heals every context that a fault poisoned. A real process cannot: after a fault it gets no
// working context any more, not even by a reset of the primary one. This stands for a new process.
void standin_forget_faults(void);

// From a kernel's host function: the kernel traps with this error of the driver's once it returns.
void standin_trap(int error);

// How many work items touched memory that was freed, not yet allocated, or out of bounds.
long standin_bad_accesses(void);

// How many bytes kernels that ran as PTX have fetched into the device's cache. Each must be memory
// that the kernel might read.
long standin_fetched(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
