// SPDX-License-Identifier: Apache-2.0
// What the tests of the CPU backend share: opening it, queueing work, gates.
#ifndef BRAID_TESTS_CPU_TESTING_H
#define BRAID_TESTS_CPU_TESTING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/backend.h"

struct backend *open_cpu(uint32_t num_workers);
void close_cpu(struct backend *backend);

struct backend_stream *new_stream(struct backend *backend);
struct backend_event *new_event(struct backend *backend);
void synchronize(struct backend *backend, struct backend_stream *stream);

void queue_host(struct backend *backend, struct backend_stream *stream, braid_host_function *call,
                void *user);
// Queues a kernel of num_blocks blocks with one argument, a pointer.
void queue_kernel(struct backend *backend, struct backend_stream *stream,
                  struct backend_kernel *kernel, uint32_t num_blocks, void *pointer);
struct backend_kernel *load_kernel(struct backend *backend, const char *name,
                                   braid_cpu_function *call);

// A door that queued work waits at. A door that nobody opens gives way after a while and remembers
// it, so that a broken ordering fails a test instead of hanging it.
struct gate {
    atomic_bool open;
    atomic_bool gave_way;
};

void gate_open(void *gate);
void gate_pass(void *gate); // waits until it is open
// Waits until *word is at least `value`; false if that takes far too long.
bool reaches(atomic_uint *word, unsigned value);

#endif
