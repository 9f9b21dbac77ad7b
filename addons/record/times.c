// SPDX-License-Identifier: Apache-2.0
// When work ran on the device: an event before each operation on its stream, and one behind.
//
// Events are made and recorded beside the lock, and read and destroyed under it. A time has in it
// all that the stream did between both events. So it is never shorter than the kernel's, and may be
// longer.
#include <stdio.h>

#include "base/host_memory.h"
#include "record/recorder.h"

struct timing {
    struct timing *next;
    uint32_t operation, number; // its stream's
    word stream, begin, end;    // CUevents
    bool is_known, is_lost;     // lost: the events are, with their context
    int64_t begin_ns, end_ns;
};

static bool is_timed(braid_record_work_kind kind)
{
    return kind == BRAID_RECORD_KERNEL || kind == BRAID_RECORD_COPY || kind == BRAID_RECORD_FILL ||
           kind == BRAID_RECORD_GRAPH;
}

static void destroy_events(struct timing *timing)
{
    if (timing->begin)
        ASK("cuEventDestroy_v2", timing->begin, 0, 0, 0);
    if (timing->end)
        ASK("cuEventDestroy_v2", timing->end, 0, 0, 0);
    timing->begin = timing->end = 0;
}

// Both events are made before the work, so that the second one follows it at once.
struct timing *recorder_time_begin(const struct place *place, uint32_t stream,
                                   braid_record_work_kind kind)
{
    if (!place->has_stream || !is_timed(kind))
        return NULL;
    struct timing *timing = braid_allocate_zeroed(1, sizeof(*timing));
    if (!timing) {
        recorder_lock();
        recorder.failed = true;
        recorder_unlock();
        return NULL;
    }
    timing->stream = place->stream;
    timing->number = stream;
    if (ASK("cuEventCreate", POINTER(&timing->begin), 0, 0, 0) == SUCCEEDED &&
        ASK("cuEventCreate", POINTER(&timing->end), 0, 0, 0) == SUCCEEDED &&
        ASK("cuEventRecord", timing->begin, timing->stream, 0, 0) == SUCCEEDED)
        return timing;
    destroy_events(timing);
    braid_free(timing);
    return NULL;
}

void recorder_time_end(const struct begun *begun, word answer)
{
    struct timing *timing = begun->timing;
    if (answer != SUCCEEDED ||
        ASK("cuEventRecord", timing->end, timing->stream, 0, 0) != SUCCEEDED) {
        destroy_events(timing);
        braid_free(timing);
        return;
    }
    timing->operation = begun->number;
    recorder_lock();
    timing->next = recorder.timings;
    recorder.timings = timing;
    recorder_unlock();
}

// Negative where `to` came first.
static bool elapsed(word from, word to, int64_t *out_ns)
{
    float milliseconds = 0;
    if (ASK("cuEventElapsedTime", POINTER(&milliseconds), from, to, 0) != SUCCEEDED)
        return false;
    *out_ns = (int64_t)((double)milliseconds * 1e6);
    return true;
}

static bool has_events(const struct timing *timing)
{
    return timing->begin && !timing->is_lost;
}

// Under the lock. NULL: none has its events.
static struct timing *find_first(void)
{
    struct timing *first = recorder.timings;
    while (first && !has_events(first))
        first = first->next;
    return first;
}

// Under the lock, since another thread may end a context, and the driver gives handles again. If
// another thread is at a mark too, the second one finds no events.
static void read_times(bool is_over)
{
    const struct timing *first = find_first();
    int64_t least = 0;
    for (struct timing *at = recorder.timings; at; at = at->next) {
        if (!has_events(at))
            continue;
        at->is_known = is_over && elapsed(first->begin, at->begin, &at->begin_ns) &&
                       elapsed(first->begin, at->end, &at->end_ns);
        least = at->is_known && at->begin_ns < least ? at->begin_ns : least;
    }
    for (struct timing *at = recorder.timings; at; at = at->next) {
        if (!has_events(at))
            continue;
        at->begin_ns -= least;
        at->end_ns -= least;
        destroy_events(at);
    }
}

// The program is at a mark. Other threads may go on: their later operations are in no frame. A wait
// would end a capture.
void recorder_take_times(void)
{
    recorder_lock();
    const bool has_any = find_first() != NULL;
    recorder_unlock();
    const bool captures = atomic_load(&recorder.captures) > 0;
    const bool is_over = has_any && !captures && ASK("cuCtxSynchronize", 0, 0, 0, 0) == SUCCEEDED;
    if (has_any && !is_over)
        fprintf(stderr, "braid record: %s at the end of the last frame: the record has no times\n",
                captures ? "a stream captures" : "the driver does not wait for the device");
    recorder_lock();
    read_times(is_over);
    recorder_unlock();
}

// The context takes its events along, and the driver may give their handles to the program.
void recorder_lose_times(uint32_t context, bool are_lost)
{
    const braid_record_stream *streams = recorder.streams.items;
    for (struct timing *at = recorder.timings; at; at = at->next)
        if (at->number != BRAID_RECORD_NONE && streams[at->number].context == context)
            at->is_lost = are_lost;
}

void recorder_put_times(void)
{
    braid_record_operation *rows = recorder.operations.items;
    for (const struct timing *at = recorder.timings; at; at = at->next) {
        const uint32_t number = at->operation - recorder.dropped;
        if (number >= recorder.operations.num || !at->is_known || at->end_ns < at->begin_ns)
            continue;
        rows[number].device_begin_ns = (uint64_t)at->begin_ns;
        rows[number].device_end_ns = (uint64_t)at->end_ns;
    }
}
