// SPDX-License-Identifier: Apache-2.0
// A timeline as a trace in Chrome's JSON: complete events on threads that are lanes, flows for
// waits.
#include <inttypes.h>

#include "base/text.h"
#include "draw/timeline.h"

struct chrome {
    const struct timeline *timeline;
    FILE *file;
    uint64_t num_flows;
};

// Chrome counts in microseconds.
static void write_time(FILE *file, const char *name, uint64_t time_ns)
{
    fprintf(file, ",\"%s\":%" PRIu64 ".%03" PRIu64, name, time_ns / 1000, time_ns % 1000);
}

// Behind the lanes.
static uint32_t host_thread(const struct chrome *chrome)
{
    return chrome->timeline->num_lanes + 1;
}

// Lanes come in their order, behind the frames.
static void write_tracks(const struct chrome *chrome)
{
    const char *title = chrome->timeline->options.title;
    fputs("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"", chrome->file);
    braid_text_write_json(chrome->file, title ? title : "Braid");
    fputs("\"}},\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":0,"
          "\"args\":{\"name\":\"frames\"}}",
          chrome->file);
    braid_interval launch;
    if (braid_timeline_launch(chrome->timeline, 0, &launch))
        fprintf(chrome->file,
                ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":%" PRIu32
                ",\"args\":{\"name\":\"host\"}}",
                host_thread(chrome));
    for (uint32_t lane = 0; lane < chrome->timeline->num_lanes; lane++)
        fprintf(chrome->file,
                ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":%" PRIu32
                ",\"args\":{\"name\":\"%s\"}}",
                lane + 1, braid_schedule_lane_text(chrome->timeline->schedule, lane).text);
}

static void write_node(const struct chrome *chrome, uint32_t node, const braid_interval *interval)
{
    const struct timeline *timeline = chrome->timeline;
    FILE *file = chrome->file;
    fputs(",\n{\"ph\":\"X\",\"name\":\"", file);
    braid_text_write_json(file, braid_schedule_node_name(timeline->schedule, node));
    fprintf(file, "\",\"cat\":\"%s\",\"pid\":1,\"tid\":%" PRIu32,
            timeline->is_critical[node] ? "node,critical" : "node",
            timeline->schedule->lane_of[node] + 1);
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
    const uint32_t *lane_of = timeline->schedule->lane_of;
    braid_interval from, to;
    if (!braid_timeline_interval(timeline, frame, wait->from, &from) ||
        !braid_timeline_interval(timeline, frame, wait->to, &to))
        return;
    write_flow(chrome, "wait", lane_of[wait->from] + 1, from, lane_of[wait->to] + 1, to);
}

static void write_launch(struct chrome *chrome, size_t frame, braid_interval whole)
{
    braid_interval launch;
    if (!braid_timeline_launch(chrome->timeline, frame, &launch))
        return;
    fprintf(
        chrome->file,
        ",\n{\"ph\":\"X\",\"name\":\"launch %zu\",\"cat\":\"launch\",\"pid\":1,\"tid\":%" PRIu32,
        frame, host_thread(chrome));
    write_time(chrome->file, "ts", launch.start_ns);
    write_time(chrome->file, "dur", launch.end_ns - launch.start_ns);
    fprintf(chrome->file, ",\"args\":{\"clock_error_ns\":%" PRIu64 "}}",
            chrome->timeline->options.error_ns);
    write_flow(chrome, "launch", host_thread(chrome), launch, 0, whole);
}

static void write_frame(struct chrome *chrome, size_t frame)
{
    const struct timeline *timeline = chrome->timeline;
    braid_interval whole = braid_timeline_frame(timeline, frame);
    fprintf(chrome->file,
            ",\n{\"ph\":\"X\",\"name\":\"frame %zu\",\"cat\":\"frame\",\"pid\":1,"
            "\"tid\":0",
            frame);
    write_time(chrome->file, "ts", whole.start_ns);
    write_time(chrome->file, "dur", whole.end_ns - whole.start_ns);
    fputs("}", chrome->file);
    write_launch(chrome, frame, whole);
    for (uint32_t node = 0; node < timeline->num_nodes; node++) {
        braid_interval interval;
        if (braid_timeline_interval(timeline, frame, node, &interval))
            write_node(chrome, node, &interval);
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
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", file);
    write_tracks(&chrome);
    for (size_t frame = 0; frame < timeline.options.num_frames; frame++)
        write_frame(&chrome, frame);
    fputs("\n]}\n", file);
    braid_timeline_finish(&timeline);
    return braid_timeline_close(file);
}
