// SPDX-License-Identifier: Apache-2.0
// Each public call of the interface that may reach the driver, with work in flight.
#include <sched.h>

#include "gpu/beside_captures.h"
#include "gpu/frame.h"

static braid_status queue_copy(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    struct world *world = user;
    world->mode_inside = get_mode();
    return braid_stream_copy(stream, &world->words[2], world->words, sizeof(uint32_t));
}

static void hold(void *user)
{
    const struct world *world = user;
    while (world->is_held)
        sched_yield();
}

static void host_call(void *user)
{
    (void)user;
}

static void late(uint64_t frame, const braid_running_node *nodes, size_t num_nodes, void *user)
{
    (void)frame, (void)nodes, (void)num_nodes;
    ++((struct world *)user)->num_late;
}

static braid_status make_graph(struct world *world)
{
    braid_resource words = { 0 }, own = { 0 };
    static uint32_t pageable;
    braid_status status = braid_graph_create(&world->graph);
    if (!status)
        status = braid_graph_add_buffer(world->graph, "words", world->words, 64, &words);
    if (!status)
        status = braid_graph_add_buffer(world->graph, "own", &pageable, 4, &own);
    const braid_kernel_node kernel = {
        .kernel = &sum_kernel,
        BRAID_ACCESSES({ words, BRAID_READ_WRITE }),
        BRAID_ARGS(BRAID_ARG(world->words), BRAID_ARG(world->words), BRAID_ARG(world->words),
                   BRAID_ARG(((uint32_t){ 1 }))),
    };
    for (int i = 0; i < 3 && !status; i++)
        status = braid_graph_add_kernel(world->graph, &kernel, NULL);
    if (!status)
        status = braid_graph_add_queue_call(
            world->graph,
            &(braid_queue_call){
                .call = queue_copy, .user = world, BRAID_ACCESSES({ words, BRAID_READ_WRITE }) },
            NULL);
    if (!status)
        status = braid_graph_add_copy(
            world->graph,
            &(braid_copy){ .to = &pageable,
                           .from = world->words,
                           .bytes = 4,
                           BRAID_ACCESSES({ words, BRAID_READ }, { own, BRAID_WRITE }) },
            NULL);
    if (!status)
        status = braid_graph_add_host_call(
            world->graph, &(braid_host_call){ .call = hold, .user = world, .blocking = true },
            NULL);
    return status;
}

static braid_status make_exec(struct world *world, uint32_t frames, uint64_t deadline_ns,
                              braid_exec **out_exec)
{
    return braid_exec_create(world->device, world->graph,
                             &(braid_exec_options){ .mode = world->mode,
                                                    .frames_in_flight = frames,
                                                    .deadline_ns = deadline_ns,
                                                    .on_deadline = deadline_ns ? late : NULL,
                                                    .on_deadline_user = world },
                             out_exec);
}

static braid_status allocate(struct world *world, braid_memory_kind kind, uint32_t **out_words)
{
    void *memory = NULL;
    braid_status status = braid_memory_allocate(world->device, kind, 64, &memory);
    *out_words = memory;
    return status;
}

braid_status open_world(struct world *world)
{
    static const braid_event_options timed = { .timing = true };
    braid_status status =
        braid_device_open(&(braid_device_options){ .backend = world->backend }, &world->device);
    if (!status)
        status = allocate(world, BRAID_MEMORY_DEVICE, &world->words);
    if (!status)
        status = allocate(world, BRAID_MEMORY_HOST, &world->read);
    if (!status)
        status = braid_stream_create(world->device, NULL, &world->stream);
    if (!status)
        status = braid_event_create(world->device, &timed, &world->start);
    if (!status)
        status = braid_event_create(world->device, &timed, &world->end);
    if (!status)
        status = make_graph(world);
    if (!status)
        status = make_exec(world, 1, 0, &world->exec);
    return status ? status : make_exec(world, 3, 0, &world->other);
}

braid_status queue_work(struct world *world)
{
    braid_status status = braid_event_record(world->start, world->stream);
    for (int i = 0; i < 2 && !status; i++) {
        status = braid_exec_launch(world->exec, world->stream);
        if (!status)
            status = braid_exec_launch(world->other, world->stream);
    }
    return status ? status : braid_event_record(world->end, world->stream);
}

braid_status close_world(struct world *world)
{
    braid_exec_destroy(world->exec);
    braid_exec_destroy(world->other);
    braid_graph_destroy(world->graph);
    braid_event_destroy(world->start);
    braid_event_destroy(world->end);
    braid_stream_destroy(world->wrapped);
    braid_stream_destroy(world->stream);
    braid_memory_free(world->device, world->words);
    braid_memory_free(world->device, world->read);
    return braid_device_close(world->device);
}

// The calls. Each gets a world with work in flight.

static braid_status query_backend(struct world *world)
{
    braid_backend_info info;
    return braid_backend_get_info(world->backend, &info);
}

static braid_status open_and_close(struct world *world)
{
    braid_device *device;
    braid_status status =
        braid_device_open(&(braid_device_options){ .backend = world->backend }, &device);
    return status ? status : braid_device_close(device);
}

static braid_status make_memory(struct world *world, braid_memory_kind kind)
{
    uint32_t *words = NULL;
    braid_status status = allocate(world, kind, &words);
    braid_memory_free(world->device, words);
    return status;
}

static braid_status device_memory(struct world *world)
{
    return make_memory(world, BRAID_MEMORY_DEVICE);
}

static braid_status host_memory(struct world *world)
{
    return make_memory(world, BRAID_MEMORY_HOST);
}

static braid_status make_stream(struct world *world)
{
    braid_stream *stream = NULL;
    braid_status status = braid_stream_create(world->device, NULL, &stream);
    braid_stream_destroy(stream);
    return status;
}

static braid_status wrap_stream(struct world *world)
{
    return braid_stream_wrap(world->device, world->theirs, &world->wrapped);
}

static braid_status synchronize_stream(struct world *world)
{
    return braid_stream_wait(world->stream);
}

braid_status synchronize_default(struct world *world)
{
    return braid_stream_wait(braid_device_get_default_stream(world->device));
}

static braid_status query_stream(struct world *world)
{
    return braid_stream_query(world->stream);
}

static braid_status make_event(struct world *world)
{
    braid_event *event = NULL;
    braid_status status = braid_event_create(world->device, NULL, &event);
    braid_event_destroy(event);
    return status;
}

static braid_status record_event(struct world *world)
{
    return braid_event_record(world->end, world->stream);
}

static braid_status wait_for_event(struct world *world)
{
    return braid_stream_follow(world->stream, world->end);
}

static braid_status query_event(struct world *world)
{
    return braid_event_query(world->end);
}

static braid_status synchronize_event(struct world *world)
{
    return braid_event_wait(world->end);
}

static braid_status elapsed(struct world *world)
{
    uint64_t ns;
    braid_status status = braid_event_wait(world->end);
    return status ? status : braid_event_get_elapsed(world->start, world->end, &ns);
}

static braid_status copy(struct world *world)
{
    return braid_stream_copy(world->stream, world->read, world->words, 64);
}

static braid_status copy_pageable(struct world *world)
{
    static uint32_t own[16];
    return braid_stream_copy(world->stream, own, world->words, 64);
}

static braid_status fill(struct world *world)
{
    return braid_stream_fill(world->stream, world->words, 0, 4, 8);
}

static braid_status fill_host(struct world *world)
{
    return braid_stream_fill(world->stream, world->read, 0, 4, 8);
}

static braid_status call_host(struct world *world)
{
    return braid_stream_host_call(world->stream, host_call, NULL);
}

braid_status make_and_destroy(struct world *world)
{
    braid_exec *exec = NULL;
    braid_status status = make_exec(world, 3, 0, &exec);
    braid_exec_destroy(exec);
    return status;
}

braid_status launch(struct world *world)
{
    return braid_exec_launch(world->exec, world->stream);
}

static braid_status launch_overlapping(struct world *world)
{
    braid_status status = BRAID_OK;
    for (int i = 0; i < 5 && !status; i++) // with one that waits for its place
        status = braid_exec_launch(world->other, world->stream);
    return status;
}

// The default stream is not ordered behind frames in flight, which write the same words. So the
// call waits for them first.
braid_status launch_default(struct world *world)
{
    braid_status status = braid_exec_wait(world->other);
    return status ? status : braid_exec_launch(world->exec, NULL);
}

static braid_status launch_many(struct world *world)
{
    return braid_exec_launch_many(world->exec, world->stream, 4, NULL, 0);
}

static braid_status wait_for_exec(struct world *world)
{
    return braid_exec_wait(world->other);
}

static braid_status ask_exec(struct world *world)
{
    return braid_exec_wait_for(world->other, BRAID_LAST_FRAME, 0);
}

static braid_status wait_with_limit(struct world *world)
{
    return braid_exec_wait_for(world->exec, BRAID_LAST_FRAME, UINT64_C(10000000000));
}

static braid_status wait_for_frame(struct world *world)
{
    return braid_exec_wait_for(world->other, 0, UINT64_MAX);
}

// With its frames in flight.
static braid_status destroy_exec(struct world *world)
{
    braid_exec_destroy(world->exec);
    world->exec = NULL;
    return braid_event_wait(world->end); // the device has not failed
}

// Its thread asks for the end of each frame.
static braid_status miss_a_deadline(struct world *world)
{
    braid_exec *exec = NULL;
    braid_status status = make_exec(world, 1, 1, &exec);
    world->is_held = true;
    if (!status)
        status = braid_exec_launch(exec, world->stream);
    while (!status && world->num_late == 0)
        sched_yield();
    world->is_held = false;
    braid_exec_destroy(exec);
    return status;
}

static braid_status read_times(struct world *world)
{
    braid_exec *exec = NULL;
    braid_timings timings;
    braid_status status = braid_exec_create(
        world->device, world->graph,
        &(braid_exec_options){ .mode = BRAID_MODE_STREAMS, .frames_kept = 3 }, &exec);
    if (!status) // no order puts measured frames behind those in flight
        status = braid_event_wait(world->end);
    if (!status)
        status = braid_exec_measure(exec, world->graph, 3);
    if (!status)
        status = braid_exec_get_timings(exec, &timings);
    braid_exec_destroy(exec);
    return status;
}

const struct call calls[] = {
    { "query of a backend", query_backend, DONE },
    { "opening and closing", open_and_close, DONE },
    { "device memory", device_memory, DONE },
    { "pinned memory", host_memory, DONE },
    { "a stream", make_stream, DONE },
    { "a wrapped stream", wrap_stream, DONE },
    { "wait for a stream", synchronize_stream, DONE },
    { "wait for the default stream", synchronize_default, DONE },
    { "query of a stream", query_stream, EARLY },
    { "an event", make_event, DONE },
    { "record of an event", record_event, DONE },
    { "wait of a stream", wait_for_event, DONE },
    { "query of an event", query_event, EARLY },
    { "wait for an event", synchronize_event, DONE },
    { "time between events", elapsed, DONE },
    { "copy", copy, DONE },
    { "copy of pageable memory", copy_pageable, DONE },
    { "fill", fill, DONE },
    { "fill of pinned memory", fill_host, DONE },
    { "host call", call_host, DONE },
    { "an exec", make_and_destroy, DONE },
    { "launch", launch, DONE },
    { "launches that overlap", launch_overlapping, DONE },
    { "launch on the default stream", launch_default, DONE },
    { "several frames by a launch", launch_many, DONE },
    { "wait for an exec", wait_for_exec, DONE },
    { "query of an exec", ask_exec, EARLY },
    { "wait with a limit", wait_with_limit, DONE },
    { "wait for a frame", wait_for_frame, DONE },
    { "destroying an exec in flight", destroy_exec, DONE },
    { "a deadline's callback", miss_a_deadline, DONE },
    { "times of frames", read_times, DONE },
};

const size_t num_calls = sizeof(calls) / sizeof(calls[0]);
