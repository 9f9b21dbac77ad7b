// SPDX-License-Identifier: Apache-2.0
// A frame of sparse_mpm by hand: materials wait for each other twice a substep, before one's update
// reads the others' cells, and before what changes one's cells when others have read them.
#include "gpu/places_mpm.h"

#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_backend.h"
#include "device/device.h"
#include "exec/exec.h"
#include "gpu/bench.h"

struct mpm_by_hand {
    const braid_exec *exec;
    braid_device *first;
    braid_stream *streams[MPM_NUM_MATERIALS];
    braid_event *begin, *ends[MPM_NUM_MATERIALS];
    braid_event *added[MPM_NUM_MATERIALS]; // particles to cells
    braid_event *seen[MPM_NUM_MATERIALS];  // the others' cells, by its update
    struct gpu_backend *gpu;               // the first device's
    gpu_graph graph;
    gpu_executable executable; // NULL: it is queued each frame
};

// Across devices, too, as drivers do.
static void wait_for(braid_stream *stream, const braid_event *event)
{
    struct backend *backend = stream->device->backend;
    must(backend->ops->stream_wait(backend, stream->backend, event->backend));
}

static int material_of(const char *name)
{
    int m = 0;
    while (strncmp(name, mpm_material_names[m], strlen(mpm_material_names[m])) != 0)
        m++;
    return m;
}

static void wait_for_others(const struct mpm_by_hand *hand, int material,
                            braid_event *const *events)
{
    for (int m = 0; m < MPM_NUM_MATERIALS; m++)
        if (m != material)
            wait_for(hand->streams[material], events[m]);
}

static void queue_task(const struct mpm_by_hand *hand, const struct backend_task *task)
{
    int material = material_of(task->name);
    const char *kernel = strchr(task->name, '.') + 1;
    braid_stream *stream = hand->streams[material];
    if (strcmp(kernel, "update_grid") == 0)
        wait_for_others(hand, material, hand->added);
    if (strcmp(kernel, "clear_cells") == 0 || strcmp(kernel, "deactivate") == 0)
        wait_for_others(hand, material, hand->seen);
    struct backend *backend = stream->device->backend;
    must(backend->ops->submit(backend, stream->backend, task));
    if (strcmp(kernel, "particles_to_grid") == 0)
        must(braid_event_record(hand->added[material], stream));
    if (strcmp(kernel, "update_grid") == 0)
        must(braid_event_record(hand->seen[material], stream));
}

// In an order that Braid's own plan has, in which an event is recorded before it is waited for.
static void queue(const struct mpm_by_hand *hand, braid_stream *stream)
{
    const struct program *program = &hand->exec->program;
    must(braid_event_record(hand->begin, stream));
    for (int m = 0; m < MPM_NUM_MATERIALS; m++) {
        wait_for(hand->streams[m], hand->begin);
        must(braid_event_record(hand->seen[m], hand->streams[m]));
    }
    for (size_t i = 0; i < program->num_ops; i++) {
        if (program_runs(program, &program->ops[i]))
            queue_task(hand, &hand->exec->frames.slots[0].frame.tasks[program->ops[i].node]);
    }
    for (int m = 0; m < MPM_NUM_MATERIALS; m++) {
        must(braid_event_record(hand->ends[m], hand->streams[m]));
        wait_for(stream, hand->ends[m]);
    }
}

void mpm_by_hand_launch(struct mpm_by_hand *hand)
{
    struct gpu_scope scope;
    if (!hand->executable) {
        queue(hand, hand->streams[0]);
        return;
    }
    must(braid_gpu_enter(hand->gpu, &scope, "by hand"));
    must_call(hand->gpu->api->executable_launch(hand->executable,
                                                braid_stream_get_handle(hand->streams[0])),
              "launch of a graph");
    braid_gpu_leave(hand->gpu, &scope);
}

void mpm_by_hand_wait(struct mpm_by_hand *hand)
{
    must(braid_stream_wait(hand->streams[0]));
}

static void capture(struct mpm_by_hand *hand)
{
    const struct gpu_api *api = hand->gpu->api;
    gpu_stream stream = braid_stream_get_handle(hand->streams[0]);
    must_call(api->capture_begin(stream, GPU_CAPTURE_THREAD_LOCAL), "begin of a capture");
    queue(hand, hand->streams[0]);
    must_call(api->capture_end(stream, &hand->graph), "end of a capture");
    must_call(api->graph_instantiate(&hand->executable, hand->graph, 0), "instantiation");
}

struct mpm_by_hand *mpm_by_hand_open(struct mpm_run *run, bool captured)
{
    struct mpm_by_hand *hand = calloc(1, sizeof(*hand));
    struct gpu_scope scope;
    if (!hand)
        abort();
    hand->exec = run->exec;
    hand->first = run->world.device;
    hand->gpu = gpu_from(hand->first->backend);
    // Braid gives tasks the values that were set, as the gravity, when it launches them.
    must(braid_exec_update(run->exec, &run->exec->frames.slots[0], 0, 0));
    must(braid_event_create(hand->first, NULL, &hand->begin));
    for (int m = 0; m < MPM_NUM_MATERIALS; m++) {
        braid_device *device = run->world.devices[m];
        must(braid_stream_create(device, NULL, &hand->streams[m]));
        must(braid_event_create(device, NULL, &hand->ends[m]));
        must(braid_event_create(device, NULL, &hand->added[m]));
        must(braid_event_create(device, NULL, &hand->seen[m]));
    }
    if (captured) {
        must(braid_gpu_enter(hand->gpu, &scope, "by hand"));
        capture(hand);
        braid_gpu_leave(hand->gpu, &scope);
    }
    return hand;
}

void mpm_by_hand_close(struct mpm_by_hand *hand)
{
    if (!hand)
        return;
    if (hand->executable) {
        must_call(hand->gpu->api->executable_destroy(hand->executable), "destruction");
        must_call(hand->gpu->api->graph_destroy(hand->graph), "destruction");
    }
    for (int m = 0; m < MPM_NUM_MATERIALS; m++) {
        braid_stream_destroy(hand->streams[m]);
        braid_event_destroy(hand->ends[m]);
        braid_event_destroy(hand->added[m]);
        braid_event_destroy(hand->seen[m]);
    }
    braid_event_destroy(hand->begin);
    free(hand);
}
