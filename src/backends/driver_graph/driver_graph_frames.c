// SPDX-License-Identifier: Apache-2.0
// The order of nodes of two frames in driver graphs: events, recorded and waited for by nodes.
//
// Each slot has an event for each frame position. Its graph records the event behind the position's
// node, and graphs of other slots wait for it. At a launch the host captures the latest record of
// each event that the graph waits for. Then the graph's own records become the latest, as when
// cuStreamWaitEvent and cuEventRecord are called. Frames are launched one after another. A slot's
// next frame comes after all frames that wait for its last one. So the captured record is the right
// frame's. An event that was never recorded causes no wait, which is right for the frames before
// the first.
//
// A frame waits for earlier ones alone. So no record can be queued behind a wait for it, in any
// queue of the device that the two graphs share.
#include "backends/driver_graph/driver_graph_frames.h"

#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"

struct graph_frames {
    uint32_t num_users; // playings
    uint32_t num_slots, num_positions;
    braid_event **events; // leased; num_positions of each slot
};

bool braid_driver_graph_frames_orders(struct backend *backend, bool several_places)
{
    const struct gpu_api *api = gpu_from(backend)->api;
    return !several_places && api->graph_add_record && api->graph_add_wait;
}

static braid_status lease(const struct stage *stage, struct graph_frames *frames)
{
    braid_status status = BRAID_OK;
    size_t num = (size_t)frames->num_slots * frames->num_positions;
    frames->events = braid_allocate_zeroed(num, sizeof(*frames->events));
    if (!frames->events)
        return braid_error_no_memory("the order of frames");
    for (size_t i = 0; i < num && !status; i++)
        status = braid_device_lease_event(stage->device, &frames->events[i]);
    return status;
}

braid_status braid_driver_graph_frames_create(const struct stage *stage,
                                              struct graph_frames *of_first,
                                              struct graph_frames **out_frames)
{
    *out_frames = of_first;
    if (of_first)
        of_first->num_users++;
    if (of_first || !stage->program->num_frame_positions)
        return BRAID_OK;
    struct graph_frames *frames = braid_allocate_zeroed(1, sizeof(*frames));
    if (!frames)
        return braid_error_no_memory("the order of frames");
    frames->num_users = 1;
    frames->num_slots = stage->num_slots;
    frames->num_positions = stage->program->num_frame_positions;
    braid_status status = lease(stage, frames);
    if (status)
        braid_driver_graph_frames_leave(frames);
    else
        *out_frames = frames;
    return status;
}

void braid_driver_graph_frames_leave(struct graph_frames *frames)
{
    if (!frames || --frames->num_users > 0)
        return;
    size_t num = (size_t)frames->num_slots * frames->num_positions;
    for (size_t i = 0; frames->events && i < num && frames->events[i]; i++)
        braid_device_return_event(frames->events[i]->device, frames->events[i]);
    braid_free(frames->events);
    braid_free(frames);
}

static gpu_event event_of(const struct graph_frames *frames, const struct stage *stage,
                          const braid_step *op)
{
    uint32_t before = program_frames_before(stage->program, op);
    uint32_t from = (stage->slot + frames->num_slots - before) % frames->num_slots;
    uint32_t position = program_position_index(stage->program, op);
    const braid_event *event = frames->events[(size_t)from * frames->num_positions + position];
    return gpu_event_from(event->backend)->handle;
}

braid_status braid_driver_graph_frames_add(const struct graph_frames *frames,
                                           const struct stage *stage,
                                           const struct gpu_behind *behind, const braid_step *op,
                                           gpu_node *out_node)
{
    const struct gpu_backend *gpu = gpu_from(stage->device->backend);
    const struct gpu_api *api = gpu->api;
    bool waits = op->kind == PROGRAM_AWAIT_FRAME;
    gpu_event event = event_of(frames, stage, op);
    gpu_result result = waits ? api->graph_add_wait(out_node, behind->graph, behind->after,
                                                    behind->num_after, event)
                              : api->graph_add_record(out_node, behind->graph, behind->after,
                                                      behind->num_after, event);
    return braid_gpu_check_task(gpu, result,
                                waits ? (const void *)&api->graph_add_wait
                                      : (const void *)&api->graph_add_record,
                                &stage->program->tasks->items[op->node], NULL);
}
