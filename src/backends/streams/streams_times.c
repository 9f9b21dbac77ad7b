// SPDX-License-Identifier: Apache-2.0
// Times of frames on streams: where the marks are, how they are recorded and read.

#include "backends/streams/streams.h"
#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"

static size_t count_marks(const struct streams_playing *streams)
{
    const struct program *program = streams->program;
    size_t num = 2; // the frame's begin and end
    for (uint32_t i = 0; i < streams->num_lanes; i++)
        num += streams->lanes[i].needs_fork;
    for (size_t i = 0; i < program->num_ops; i++)
        num += program_is_timed(program, &program->ops[i]);
    return num;
}

static braid_status make_marks(struct streams_playing *streams, struct streams_times *times)
{
    times->num_marks = count_marks(streams);
    size_t num = times->num_marks * times->room;
    times->is_whole = braid_store_take(&times->store, times->room, sizeof(bool));
    times->marks = num / times->room == times->num_marks
                       ? braid_store_take(&times->store, num, sizeof(*times->marks))
                       : NULL;
    if (!times->marks || !times->is_whole)
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

braid_status braid_streams_times_create(struct streams_playing *streams, uint32_t num_frames)
{
    struct streams_times *times = braid_allocate_zeroed(1, sizeof(*times));
    streams->times = times;
    if (!times)
        return braid_error_no_memory("the times of frames");
    times->room = num_frames;
    braid_status status = make_marks(streams, times);
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
    braid_free(times);
}

// Returns where the frame begun last has its times.
static size_t slot_of_last(const struct streams_times *times)
{
    return (times->num_frames - 1) % times->room;
}

braid_status braid_streams_times_mark(struct streams_playing *streams, const braid_stream *stream)
{
    struct streams_times *times = streams->times;
    struct backend *backend = streams->device->backend;
    size_t slot = slot_of_last(times);
    braid_event *event = times->marks[slot * times->num_marks + times->num_recorded++];
    braid_status status = backend->ops->event_record(backend, event->backend, stream->backend);
    times->is_whole[slot] = !status && times->num_recorded == times->num_marks;
    return status;
}

braid_status braid_streams_times_begin(struct streams_playing *streams, braid_stream *stream)
{
    streams->times->num_frames++;
    streams->times->num_recorded = 0;
    return braid_streams_times_mark(streams, stream);
}

braid_status braid_streams_times_forked(struct streams_playing *streams)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < streams->num_lanes && !status; i++)
        if (streams->lanes[i].needs_fork)
            status = braid_streams_times_mark(streams, streams->lanes[i].stream);
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

// Finds when the next mark was recorded, in a frame that began at begin_ns, its first mark.
static braid_status read_mark(const struct streams_playing *streams, braid_event *const *marks,
                              size_t *next, uint64_t begin_ns, uint64_t *out_ns)
{
    braid_status status = find_elapsed(streams, marks[0], marks[(*next)++], out_ns);
    *out_ns += begin_ns;
    return status;
}

// Time 0 would be one that is not known.
static braid_status read_frame(const struct streams_playing *streams, braid_event *origin,
                               braid_event *const *marks, struct profile_span *frame,
                               struct profile_span *ops)
{
    const struct program *program = streams->program;
    uint64_t *now = braid_allocate_zeroed(streams->num_lanes, sizeof(*now)); // by lane
    size_t next = 1;
    if (!now)
        return braid_error_no_memory("the times of frames");
    braid_status status = find_begin(streams, origin, marks[0], &frame->begin);
    for (uint32_t i = 0; i < streams->num_lanes && !status; i++) {
        now[i] = frame->begin;
        if (streams->lanes[i].needs_fork)
            status = read_mark(streams, marks, &next, frame->begin, &now[i]);
    }
    for (size_t i = 0; i < program->num_ops && !status; i++) {
        uint64_t *lane = &now[program->ops[i].lane];
        if (!program_is_timed(program, &program->ops[i]))
            continue;
        ops[i].begin = *lane;
        status = read_mark(streams, marks, &next, frame->begin, lane);
        ops[i].end = *lane;
    }
    if (!status)
        status = read_mark(streams, marks, &next, frame->begin, &frame->end);
    braid_free(now);
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
        origin = origin ? origin : marks[0];
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
    braid_status status =
        backend->ops->event_record(backend, event->backend, times->clock_stream->backend);
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
