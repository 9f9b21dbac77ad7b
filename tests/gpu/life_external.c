// SPDX-License-Identifier: Apache-2.0
// What a life does with objects outside of Braid: a semaphore, a word, and an event.
#include "gpu/life_external.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/gpu/gpu_backend.h"
#include "device/device.h"
#include "support/check.h"

bool life_is_over_cuda(void)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (cuda)
        dlclose(cuda);
    return cuda != NULL;
}

static braid_status create(braid_device *device, braid_external_options options,
                           braid_external **external)
{
    return *external ? BRAID_OK : braid_external_create(device, &options, external);
}

// A stand-in takes a file, which a failed import leaves. Its value lets each wait end, also where a
// signal is lost.
static braid_status create_semaphore(braid_device *device, braid_external **external)
{
    const int fd = memfd_create("semaphore", MFD_CLOEXEC);
    const uint64_t value = UINT64_MAX;
    assert_int_equal(write(fd, &value, sizeof(value)), sizeof(value));
    braid_status status = create(
        device, (braid_external_options){ .kind = BRAID_EXTERNAL_TIMELINE, .fd = fd }, external);
    if (status)
        close(fd);
    return status;
}

static braid_status add_pair(braid_graph *graph, braid_external *external, uint64_t value,
                             braid_node *out_signal)
{
    braid_external_node node = { .external = external, .signals = true, .value = value };
    braid_status status = external ? braid_graph_add_external(graph, &node, out_signal) : BRAID_OK;
    node.signals = false;
    node.node.after = out_signal;
    node.node.num_after = 1;
    return status || !external ? status : braid_graph_add_external(graph, &node, NULL);
}

static braid_status create_exec(const struct frame *frame, braid_exec_mode mode,
                                struct life_external *external)
{
    braid_graph *graph = NULL;
    braid_node word, event;
    braid_status status = braid_graph_create(&graph);
    if (!status)
        status = add_pair(graph, external->objects[0], 1, &external->semaphore);
    if (!status)
        status = add_pair(graph, external->objects[1], 1, &word);
    if (!status)
        status = add_pair(graph, external->objects[2], 0, &event);
    const braid_exec_options options = { .mode = mode };
    if (!status)
        status = braid_exec_create(frame->device, graph, &options, &external->exec);
    braid_graph_destroy(graph);
    return status;
}

braid_status life_create_external(const struct frame *frame, braid_exec_mode mode,
                                  const braid_event *event, struct life_external *external)
{
    if (!life_is_over_cuda())
        return BRAID_OK;
    braid_device *device = frame->device;
    braid_status status = create(
        device, (braid_external_options){ .kind = BRAID_EXTERNAL_WORD, .word = frame->words + 9 },
        &external->objects[1]);
    if (status == BRAID_UNSUPPORTED) // left out
        return BRAID_OK;
    if (!status && !external->objects[0])
        status = create_semaphore(device, &external->objects[0]);
    if (!status)
        status = braid_stream_fill(frame->stream, frame->words + 9, 1, sizeof(uint32_t), 1);
    if (!status && mode != BRAID_MODE_GRAPH && event)
        status = create(device,
                        (braid_external_options){ .kind = BRAID_EXTERNAL_EVENT,
                                                  .event = gpu_event_from(event->backend)->handle },
                        &external->objects[2]);
    return status ? status : create_exec(frame, mode, external);
}

// The second frame of a driver graph has a node captured again.
braid_status life_run_external(const struct frame *frame, struct life_external *external)
{
    braid_status status = BRAID_OK;
    for (uint64_t i = 1; i <= 2 && external->exec && !status; i++) {
        status = braid_exec_set_external(external->exec, external->semaphore, i);
        if (!status)
            status = braid_exec_launch(external->exec, frame->stream);
    }
    return status || !external->exec ? status : braid_exec_wait(external->exec);
}

void life_finish_external(struct life_external *external)
{
    braid_exec_destroy(external->exec);
    for (int i = 0; i < 3; i++)
        braid_external_destroy(external->objects[i]);
}
