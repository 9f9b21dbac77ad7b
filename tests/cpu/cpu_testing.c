// SPDX-License-Identifier: Apache-2.0
// What the tests of the CPU backend share: opening it, queueing work, gates.
#include "cpu/cpu_testing.h"

#include <time.h>

#include "support/check.h"

enum { PATIENCE_MS = 10000 };

struct backend *open_cpu(uint32_t num_workers)
{
    struct backend *backend = NULL;
    check_ok(braid_cpu_driver.open(
        &braid_cpu_driver, &(braid_device_options){ .num_workers = num_workers }, &backend));
    return backend;
}

void close_cpu(struct backend *backend)
{
    backend->ops->close(backend);
}

struct backend_stream *new_stream(struct backend *backend)
{
    struct backend_stream *stream = NULL;
    check_ok(backend->ops->stream_create(backend, 0, &stream));
    return stream;
}

struct backend_event *new_event(struct backend *backend)
{
    struct backend_event *event = NULL;
    check_ok(backend->ops->event_create(backend, false, &event));
    return event;
}

void synchronize(struct backend *backend, struct backend_stream *stream)
{
    check_ok(backend->ops->stream_synchronize(backend, stream));
}

void queue_host(struct backend *backend, struct backend_stream *stream, braid_host_function *call,
                void *user)
{
    struct backend_task task = {
        .kind = WORK_HOST,
        .name = "host call",
        .host = { .call = call, .user = user },
    };
    check_ok(backend->ops->submit(backend, stream, &task));
}

void queue_kernel(struct backend *backend, struct backend_stream *stream,
                  struct backend_kernel *kernel, uint32_t num_blocks, void *pointer)
{
    struct backend_task task = {
        .kind = WORK_KERNEL,
        .name = "kernel",
        .launch = { .kernel = kernel,
                    .grid = { num_blocks, 1, 1 },
                    .block = { 1, 1, 1 },
                    .num_args = 1,
                    .args = (void *[]){ &pointer },
                    .arg_bytes = (const uint32_t[]){ sizeof(pointer) } },
    };
    check_ok(backend->ops->submit(backend, stream, &task));
}

struct backend_kernel *load_kernel(struct backend *backend, const char *name,
                                   braid_cpu_function *call)
{
    braid_kernel kernel = { .name = name, .cpu = call };
    struct backend_kernel *loaded = NULL;
    check_ok(backend->ops->kernel_load(backend, &kernel, KERNEL_AS_IT_IS, NULL, NULL, 0, &loaded));
    return loaded;
}

static void sleep_a_little(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
}

void gate_open(void *user)
{
    struct gate *gate = user;
    atomic_store_explicit(&gate->open, true, memory_order_release);
}

void gate_pass(void *user)
{
    struct gate *gate = user;
    for (int i = 0; i < PATIENCE_MS * 10; i++) {
        if (atomic_load_explicit(&gate->open, memory_order_acquire) ||
            atomic_load_explicit(&gate->gave_way, memory_order_relaxed))
            return;
        sleep_a_little();
    }
    atomic_store_explicit(&gate->gave_way, true, memory_order_relaxed);
}

bool reaches(atomic_uint *word, unsigned value)
{
    for (int i = 0; i < PATIENCE_MS * 10; i++) {
        if (atomic_load_explicit(word, memory_order_acquire) >= value)
            return true;
        sleep_a_little();
    }
    return false;
}
