// SPDX-License-Identifier: Apache-2.0
// Times of frames on streams: where the marks are, how they are recorded and read.
#include <stdlib.h>

#include "backends/streams/streams.h"
#include "base/array.h"
#include "base/error.h"

enum { STREAMS_MARK_BEGIN, STREAMS_MARK_END, STREAMS_NUM_FRAME_MARKS };

// Marks of operations in issue order.
static braid_status number_marks(struct streams_playing *streams, struct streams_times *times,
                                 const struct program *program)
{
    size_t *last = braid_allocate_zeroed(program->num_lanes, sizeof(*last));
    times->num_marks = STREAMS_NUM_FRAME_MARKS;
    for (uint32_t i = 1; last && i < program->num_lanes; i++)
        if (streams->lanes[i].needs_fork)
            last[i] = times->mark_of_lane[i] = times->num_marks++;
    for (size_t i = 0; last && i < program->num_ops; i++) {
        const braid_step *op = &program->ops[i];
        if (op->kind != BRAID_STEP_WAIT && op->kind != PROGRAM_AWAIT_FRAME &&
            !program_takes_time(program, op))
            continue;
        times->before_op[i] = last[op->lane];
        times->mark_of_op[i] = last[op->lane] = times->num_marks++;
    }
    free(last);
    return last ? BRAID_OK : braid_error_no_memory("the times of frames");
}

static braid_status make_marks(struct streams_playing *streams, struct streams_times *times)
{
    size_t num = times->num_marks * times->room;
    times->marks = num / times->room == times->num_marks
                       ? braid_store_take(&times->store, num, sizeof(*times->marks))
                       : NULL;
    if (!times->marks)
        return braid_error_no_memory("the times of frames");
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < num && !status; i++)
        status = braid_device_create_timing_event(streams->device, &times->marks[i]);
    return status;
}

static braid_status make_clock(braid_device *device, struct streams_times *times)
{
    times->device = device;
    braid_status status = braid_device_lease_stream(device, 0, &times->clock_stream);
    return status ? status : braid_device_create_timing_event(device, &times->clock_event);
}

braid_status braid_streams_times_create(struct streams_playing *streams,
                                        const struct program *program, uint32_t num_frames)
{
    struct streams_times *times = calloc(1, sizeof(*times));
    streams->times = times;
    if (!times)
        return braid_error_no_memory("the times of frames");
    times->room = num_frames;
    times->num_ops = program->num_ops;
    times->is_whole = braid_store_take(&times->store, times->room, sizeof(bool));
    times->mark_of_op = braid_store_take(&times->store, program->num_ops, sizeof(size_t));
    times->before_op = braid_store_take(&times->store, program->num_ops, sizeof(size_t));
    times->mark_of_lane = braid_store_take(&times->store, program->num_lanes, sizeof(size_t));
    if (times->store.failed)
        return braid_error_no_memory("the times of frames");
    braid_status status = number_marks(streams, times, program);
    if (!status)
        status = make_marks(streams, times);
    return status ? status : make_clock(streams->device, times);
}

void braid_streams_times_destroy(struct streams_times *times)
{
    if (!times)
        return;
    for (size_t i = 0; times->marks && i < times->num_marks * times->room; i++)
        braid_device_destroy_timing_event(times->marks[i]);
    braid_device_destroy_timing_event(times->clock_event);
    if (times->clock_stream)
        braid_device_return_stream(times->device, times->clock_stream);
    braid_store_finish(&times->store);
    free(times);
}

// Returns where the frame begun last has its times.
static size_t slot_of_last(const struct streams_times *times)
{
    return (times->num_frames - 1) % times->room;
}

static braid_status record(const struct streams_playing *streams, size_t mark, braid_stream *stream)
{
    const struct streams_times *times = streams->times;
    struct backend *backend = streams->device->backend;
    braid_event *event = times->marks[slot_of_last(times) * times->num_marks + mark];
    return backend->ops->event_record(backend, event->backend, device_backend_stream(stream));
}

braid_status braid_streams_times_begin(struct streams_playing *streams, braid_stream *stream)
{
    streams->times->num_frames++;
    streams->times->is_whole[slot_of_last(streams->times)] = false;
    return record(streams, STREAMS_MARK_BEGIN, stream);
}

braid_status braid_streams_times_forked(struct streams_playing *streams)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 1; i < streams->num_lanes && !status; i++)
        if (streams->times->mark_of_lane[i])
            status = record(streams, streams->times->mark_of_lane[i], streams->lanes[i].stream);
    return status;
}

braid_status braid_streams_times_op(struct streams_playing *streams, size_t op)
{
    size_t mark = streams->times->mark_of_op[op];
    return mark ? record(streams, mark, streams->lanes[streams->program->ops[op].lane].stream)
                : BRAID_OK;
}

braid_status braid_streams_times_end(struct streams_playing *streams, braid_stream *stream)
{
    braid_status status = record(streams, STREAMS_MARK_END, stream);
    if (!status)
        streams->times->is_whole[slot_of_last(streams->times)] = true;
    return status;
}

// Nanoseconds between two marks; 0 where the second came first.
static braid_status find_elapsed(const struct streams_playing *streams, braid_event *from,
                                 braid_event *to, uint64_t *out_ns)
{
    struct backend *backend = streams->device->backend;
    return backend->ops->event_elapsed(backend, from->backend, to->backend, out_ns);
}

// The begin of a frame of any slot, by a clock that says FIRST_NS at the origin. The oldest frame
// may have begun a little later than the next, which is on another stream.
static braid_status find_begin(const struct streams_playing *streams, braid_event *origin,
                               braid_event *begin, uint64_t *out_ns)
{
    enum { FIRST_NS = 1000000000 };
    uint64_t after = 0, before = 0;
    braid_status status = find_elapsed(streams, origin, begin, &after);
    if (!status && !after)
        status = find_elapsed(streams, begin, origin, &before);
    *out_ns = FIRST_NS + after - (before < FIRST_NS ? before : FIRST_NS - 1);
    return status;
}

// Time 0 would be one that is not known.
static braid_status read_frame(const struct streams_playing *streams, braid_event *origin,
                               braid_event *const *marks, struct profile_span *frame,
                               struct profile_span *ops)
{
    const struct streams_times *times = streams->times;
    uint64_t *at = braid_allocate_zeroed(times->num_marks, sizeof(*at));
    if (!at)
        return braid_error_no_memory("the times of frames");
    uint64_t begin = 0;
    braid_status status = find_begin(streams, origin, marks[STREAMS_MARK_BEGIN], &begin);
    for (size_t i = 0; i < times->num_marks && !status; i++) {
        if (i != STREAMS_MARK_BEGIN)
            status = find_elapsed(streams, marks[STREAMS_MARK_BEGIN], marks[i], &at[i]);
        at[i] += begin;
    }
    *frame = (struct profile_span){ at[STREAMS_MARK_BEGIN], at[STREAMS_MARK_END] };
    for (size_t i = 0; i < times->num_ops; i++)
        if (times->mark_of_op[i])
            ops[i] = (struct profile_span){ at[times->before_op[i]], at[times->mark_of_op[i]] };
    free(at);
    return status;
}

braid_status braid_streams_times_read(struct playing *playing, struct profile *out_profile)
{
    const struct streams_playing *streams = (const struct streams_playing *)playing;
    const struct streams_times *times = streams->times;
    uint64_t num = times->num_frames < times->room ? times->num_frames : times->room;
    braid_event *origin = (braid_event *)(uintptr_t)out_profile->clock.origin;
    braid_status status = BRAID_OK;
    for (uint64_t i = times->num_frames - num; i < times->num_frames && !status; i++) {
        if (!times->is_whole[i % times->room])
            continue;
        braid_event *const *marks = &times->marks[i % times->room * times->num_marks];
        origin = origin ? origin : marks[STREAMS_MARK_BEGIN];
        size_t to = out_profile->num_frames++;
        status = read_frame(streams, origin, marks, &out_profile->frames[to],
                            &out_profile->ops[to * out_profile->num_ops]);
    }
    out_profile->clock.origin = origin;
    return status || !streams->played ? status
                                      : braid_streams_played_read_tallies(streams, out_profile);
}

enum {
    READINGS = 9,         // one may meet a busy host or device: the best of them counts
    RESOLUTION_NS = 1000, // each event has it, and two are compared
};

// The driver tells the time between two events as a float.
static uint64_t find_rounding(uint64_t elapsed_ns)
{
    enum { BITS = 22 };
    return RESOLUTION_NS + (elapsed_ns >> BITS);
}

static braid_status read_clock_once(const struct streams_playing *streams, braid_event *origin,
                                    struct clock_pair *best)
{
    const struct streams_times *times = streams->times;
    struct backend *backend = streams->device->backend;
    braid_event *event = times->clock_event;
    uint64_t before_ns = clock_now_ns(), device_ns = 0;
    braid_status status = backend->ops->event_record(backend, event->backend,
                                                     device_backend_stream(times->clock_stream));
    if (!status)
        status = backend->ops->event_synchronize(backend, event->backend);
    uint64_t after_ns = clock_now_ns();
    if (!status)
        status = find_begin(streams, origin, event, &device_ns);
    if (!status)
        clock_pair_take(best, before_ns, after_ns, device_ns);
    return status;
}

braid_status braid_streams_read_clock(struct playing *playing, struct profile *profile)
{
    const struct streams_playing *streams = (const struct streams_playing *)playing;
    braid_event *origin = (braid_event *)(uintptr_t)profile->clock.origin;
    struct clock_pair *host = &profile->clock.host;
    braid_status status = BRAID_OK;
    for (int i = 0; i < READINGS && !status && origin; i++) // without: no frame was whole
        status = read_clock_once(streams, origin, host);
    host->error_ns += find_rounding(host->device_ns);
    return status;
}
