// SPDX-License-Identifier: Apache-2.0
// A timeline as a trace in Chrome's JSON: complete events on threads that are lanes, flows for
// waits.
#include <inttypes.h>

#include "base/error.h"
#include "base/text.h"
#include "draw/timeline.h"
#include "draw/tracks.h"

struct chrome {
    const struct timeline *timeline;
    struct tracks tracks; // a thread has the number of its track
    FILE *file;
    uint64_t num_flows;
};

// Chrome counts in microseconds.
static void write_time(FILE *file, const char *name, uint64_t time_ns)
{
    fprintf(file, ",\"%s\":%" PRIu64 ".%03" PRIu64, name, time_ns / 1000, time_ns % 1000);
}

// Threads come in the order of their numbers, unless they are told another.
static void write_tracks(const struct chrome *chrome)
{
    const char *title = chrome->timeline->options.title;
    const struct track *tracks = chrome->tracks.list.items;
    fputs("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"", chrome->file);
    braid_text_write_json(chrome->file, title ? title : "Braid");
    fputs("\"}}", chrome->file);
    for (size_t i = 0; i < chrome->tracks.list.num; i++) {
        fprintf(chrome->file,
                ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":%" PRIu32
                ",\"args\":{\"name\":\"%s\"}}",
                tracks[i].number, tracks[i].name);
        if (chrome->tracks.has_further)
            fprintf(chrome->file,
                    ",\n{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":1,\"tid\":%" PRIu32
                    ",\"args\":{\"sort_index\":%" PRIu32 "}}",
                    tracks[i].number, tracks[i].rank);
    }
}

static void write_node(const struct chrome *chrome, size_t frame, uint32_t node,
                       const braid_interval *interval)
{
    const struct timeline *timeline = chrome->timeline;
    FILE *file = chrome->file;
    fputs(",\n{\"ph\":\"X\",\"name\":\"", file);
    braid_text_write_json(file, braid_schedule_node_name(timeline->schedule, node));
    fprintf(file, "\",\"cat\":\"%s\",\"pid\":1,\"tid\":%" PRIu32,
            timeline->is_critical[node] ? "node,critical" : "node",
            chrome->tracks.of_node[frame * timeline->num_nodes + node]);
    write_time(file, "ts", interval->start_ns);
    write_time(file, "dur", interval->end_ns - interval->start_ns);
    fprintf(file, ",\"args\":{\"node\":%" PRIu32, node);
    uint32_t island = braid_timeline_island(timeline, node);
    if (island != PLAN_NONE)
        fprintf(file, ",\"island\":%" PRIu32, island);
    if (braid_timeline_is_bundled(timeline, node)) {
        fputs(",\"role\":\"", file);
        braid_timeline_write_role(timeline, node, braid_text_write_json, file);
        fputc('"', file);
    }
    fputs("}}", file);
}

static void write_flow_end(const struct chrome *chrome, const char *kind, const char *name,
                           uint64_t id, uint32_t thread, uint64_t time_ns)
{
    fprintf(chrome->file,
            ",\n{%s,\"name\":\"%s\",\"cat\":\"%s\",\"id\":%" PRIu64 ",\"pid\":1,\"tid\":%" PRIu32,
            kind, name, name, id, thread);
    write_time(chrome->file, "ts", time_ns);
    fputs("}", chrome->file);
}

// A flow leaves the slice that its start lies in, and binds to the one that its end lies in.
static void write_flow(struct chrome *chrome, const char *name, uint32_t from_thread,
                       braid_interval from, uint32_t to_thread, braid_interval to)
{
    uint64_t id = ++chrome->num_flows;
    uint64_t leaves_ns = from.end_ns > from.start_ns ? from.end_ns - 1 : from.end_ns;
    write_flow_end(chrome, "\"ph\":\"s\"", name, id, from_thread, leaves_ns);
    write_flow_end(chrome, "\"ph\":\"f\",\"bp\":\"e\"", name, id, to_thread, to.start_ns);
}

static void write_wait(struct chrome *chrome, size_t frame, const struct timeline_wait *wait)
{
    const struct timeline *timeline = chrome->timeline;
    const uint32_t *of_node = chrome->tracks.of_node + frame * timeline->num_nodes;
    braid_interval from, to;
    if (!braid_timeline_interval(timeline, frame, wait->from, &from) ||
        !braid_timeline_interval(timeline, frame, wait->to, &to))
        return;
    write_flow(chrome, "wait", of_node[wait->from], from, of_node[wait->to], to);
}

static void write_launch(struct chrome *chrome, size_t frame, braid_interval whole)
{
    braid_interval launch;
    if (!braid_timeline_launch(chrome->timeline, frame, &launch))
        return;
    fprintf(
        chrome->file,
        ",\n{\"ph\":\"X\",\"name\":\"launch %zu\",\"cat\":\"launch\",\"pid\":1,\"tid\":%" PRIu32,
        frame, chrome->tracks.of_launch[frame]);
    write_time(chrome->file, "ts", launch.start_ns);
    write_time(chrome->file, "dur", launch.end_ns - launch.start_ns);
    fprintf(chrome->file, ",\"args\":{\"clock_error_ns\":%" PRIu64 "}}",
            chrome->timeline->options.error_ns);
    write_flow(chrome, "launch", chrome->tracks.of_launch[frame], launch,
               chrome->tracks.of_frame[frame], whole);
}

static void write_frame(struct chrome *chrome, size_t frame)
{
    const struct timeline *timeline = chrome->timeline;
    braid_interval whole = braid_timeline_frame(timeline, frame);
    fprintf(chrome->file,
            ",\n{\"ph\":\"X\",\"name\":\"frame %zu\",\"cat\":\"frame\",\"pid\":1,"
            "\"tid\":%" PRIu32,
            frame, chrome->tracks.of_frame[frame]);
    write_time(chrome->file, "ts", whole.start_ns);
    write_time(chrome->file, "dur", whole.end_ns - whole.start_ns);
    fputs("}", chrome->file);
    write_launch(chrome, frame, whole);
    for (uint32_t node = 0; node < timeline->num_nodes; node++) {
        braid_interval interval;
        if (braid_timeline_interval(timeline, frame, node, &interval))
            write_node(chrome, frame, node, &interval);
    }
    for (size_t i = 0; i < timeline->num_waits; i++)
        write_wait(chrome, frame, &timeline->waits[i]);
}

braid_status braid_schedule_write_chrome_trace(const braid_schedule *schedule,
                                               const braid_timeline_options *options, FILE *file)
{
    struct timeline timeline;
    braid_status status = braid_timeline_create("braid_schedule_write_chrome_trace", schedule,
                                                options, file, &timeline);
    if (status)
        return status;
    struct chrome chrome = { .timeline = &timeline, .file = file };
    bool ok = braid_tracks_create(&timeline, &chrome.tracks);
    if (ok) {
        fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", file);
        write_tracks(&chrome);
        for (size_t frame = 0; frame < timeline.options.num_frames; frame++)
            write_frame(&chrome, frame);
        fputs("\n]}\n", file);
    }
    braid_tracks_finish(&chrome.tracks);
    braid_timeline_finish(&timeline);
    return ok ? braid_timeline_close(file) : braid_error_no_memory("a trace");
}
