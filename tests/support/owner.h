// SPDX-License-Identifier: Apache-2.0
// Objects that a test makes and need not destroy: they go when the test ends, also when an
// assertion fails. Each call asserts that it succeeds. One thread at a time.
#ifndef BRAID_TESTS_OWNER_H
#define BRAID_TESTS_OWNER_H

#include <braid/braid.h>

#define owning_test(name) cmocka_unit_test_teardown(name, owner_tear_down)
int owner_tear_down(void **state);

braid_device *own_device(const char *backend);
braid_device *own_device_with(const braid_device_options *options);
braid_graph *own_graph(void);
braid_exec *own_exec(braid_device *device, const braid_graph *graph,
                     const braid_exec_options *options);
braid_schedule *own_schedule(const braid_graph *graph, const braid_schedule_options *options);
braid_stream *own_stream(braid_device *device);
void *own_memory(braid_device *device, braid_memory_kind kind, size_t bytes);
// A device that was opened otherwise.
void own_opened_device(braid_device *device);

// Destroys one of them before the test ends.
void destroy_now(void *object);

// Destroys all at once: execs, streams, schedules, graphs, memory, devices, each the latest first.
void destroy_owned(void);

#endif
