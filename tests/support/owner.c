// SPDX-License-Identifier: Apache-2.0
// A list of the objects that a test has made.
#include "support/owner.h"

#include <string.h>

#include "support/check.h"

enum kind { EXEC, STREAM, SCHEDULE, GRAPH, MEMORY, DEVICE, NUM_KINDS, MOST = 1024 };

static struct owned {
    enum kind kind;
    void *object;
    braid_device *device; // whose memory it is
    braid_memory_kind memory;
} list[MOST];
static size_t num;

static void own(struct owned owned)
{
    assert_true(num < MOST);
    list[num++] = owned;
}

braid_device *own_device_with(const braid_device_options *options)
{
    braid_device *device;
    check_ok(braid_device_open(options, &device));
    own_opened_device(device);
    return device;
}

braid_device *own_device(const char *backend)
{
    return own_device_with(&(braid_device_options){ .backend = backend });
}

void own_opened_device(braid_device *device)
{
    own((struct owned){ DEVICE, device });
}

braid_graph *own_graph(void)
{
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    own((struct owned){ GRAPH, graph });
    return graph;
}

braid_exec *own_exec(braid_device *device, const braid_graph *graph,
                     const braid_exec_options *options)
{
    braid_exec *exec;
    check_ok(braid_exec_create(device, graph, options, &exec));
    own((struct owned){ EXEC, exec });
    return exec;
}

braid_schedule *own_schedule(const braid_graph *graph, const braid_schedule_options *options)
{
    braid_schedule *schedule;
    check_ok(braid_schedule_create(graph, options, &schedule));
    own((struct owned){ SCHEDULE, schedule });
    return schedule;
}

braid_stream *own_stream(braid_device *device)
{
    braid_stream *stream;
    check_ok(braid_stream_create(device, NULL, &stream));
    own((struct owned){ STREAM, stream });
    return stream;
}

void *own_memory(braid_device *device, braid_memory_kind kind, size_t bytes)
{
    void *memory;
    check_ok(braid_memory_allocate(device, kind, bytes, &memory));
    own((struct owned){ MEMORY, memory, device, kind });
    return memory;
}

static void destroy(const struct owned *owned)
{
    if (owned->kind == EXEC)
        braid_exec_destroy(owned->object);
    else if (owned->kind == STREAM)
        braid_stream_destroy(owned->object);
    else if (owned->kind == SCHEDULE)
        braid_schedule_destroy(owned->object);
    else if (owned->kind == GRAPH)
        braid_graph_destroy(owned->object);
    else if (owned->kind == MEMORY)
        braid_memory_free(owned->device, owned->object);
    else
        check_ok(braid_device_close(owned->object));
}

void destroy_now(void *object)
{
    size_t i = 0;
    while (i < num && list[i].object != object)
        i++;
    assert_true(i < num);
    struct owned found = list[i];
    memmove(&list[i], &list[i + 1], (--num - i) * sizeof(*list));
    destroy(&found);
}

void destroy_owned(void)
{
    size_t num_owned = num;
    num = 0; // nothing is destroyed twice, should closing a device fail
    for (int kind = 0; kind < NUM_KINDS; kind++) {
        for (size_t i = num_owned; i-- > 0;) {
            if (list[i].kind == (enum kind)kind)
                destroy(&list[i]);
        }
    }
}

int owner_tear_down(void **state)
{
    (void)state;
    destroy_owned();
    return 0;
}
