// SPDX-License-Identifier: Apache-2.0
// A timeline as a trace in Chrome's JSON: complete events on threads that are lanes, flows for
// waits.
//
// Viewers drop a slice that ends behind the one it began in. Frames in flight overlap so, and nodes
// that start early: each slice goes to the first row of its track whose last slice has ended.
#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/text.h"
#include "report/timeline.h"

struct slice {
    braid_interval at;
    size_t order;     // as they are written
    uint32_t track;   // 0: frames; then the lanes, and the host
    uint32_t *thread; // the track, or a further row of it
};

// A track has the thread of its number. Behind them come further rows.
struct row {
    uint32_t track, number; // which row of the track
};

struct chrome {
    const struct timeline *timeline;
    FILE *file;
    uint64_t num_flows;
    bool has_host;
    struct array slices, further;   // struct slice, struct row
    uint32_t *of_node;              // per frame and node: its thread
    uint32_t *of_frame, *of_launch; // per frame
    struct store store;             // holds the arrays
};

// A slice without length breaks no other: readers see it begin and end at once, also inside others.
static bool add_slice(struct chrome *chrome, braid_interval at, uint32_t track, uint32_t *thread)
{
    *thread = track;
    if (at.start_ns == at.end_ns)
        return true;
    size_t order = chrome->slices.num;
    return braid_array_put(&chrome->slices, &(struct slice){ at, order, track, thread },
                           sizeof(struct slice));
}

static bool add_frame(struct chrome *chrome, size_t frame)
{
    const struct timeline *timeline = chrome->timeline;
    uint32_t *of_node = chrome->of_node + frame * timeline->num_nodes;
    braid_interval at;
    bool ok = add_slice(chrome, braid_timeline_frame(timeline, frame), 0, &chrome->of_frame[frame]);
    if (braid_timeline_launch(timeline, frame, &at)) {
        chrome->has_host = true;
        ok = ok && add_slice(chrome, at, timeline->num_lanes + 1, &chrome->of_launch[frame]);
    }
    for (uint32_t i = 0; ok && i < timeline->num_nodes; i++)
        ok = !braid_timeline_interval(timeline, frame, i, &at) ||
             add_slice(chrome, at, timeline->schedule->lane_of[i] + 1, &of_node[i]);
    return ok;
}

static int compare_slices(const void *one, const void *two)
{
    const struct slice *a = one, *b = two;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->at.start_ns != b->at.start_ns)
        return a->at.start_ns < b->at.start_ns ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

// There are about as many rows as frames in flight.
static bool spread(struct chrome *chrome)
{
    struct slice *slices = chrome->slices.items;
    struct array ends = { 0 }; // uint64_t: of each row of the track
    uint32_t first = 0;        // further row of the track
    bool ok = true;
    if (chrome->slices.num)
        qsort(slices, chrome->slices.num, sizeof(*slices), compare_slices);
    for (size_t i = 0; i < chrome->slices.num && ok; i++) {
        uint32_t row = 0;
        if (i == 0 || slices[i].track != slices[i - 1].track) {
            ends.num = 0;
            first = (uint32_t)chrome->further.num;
        }
        while (row < ends.num && ((uint64_t *)ends.items)[row] > slices[i].at.start_ns)
            row++;
        if (row == ends.num) {
            struct row *made = row ? braid_array_append(&chrome->further, 1, sizeof(*made)) : NULL;
            ok = braid_array_append(&ends, 1, sizeof(uint64_t)) && (!row || made);
            if (made)
                *made = (struct row){ slices[i].track, row };
        }
        if (ok)
            ((uint64_t *)ends.items)[row] = slices[i].at.end_ns;
        if (row)
            *slices[i].thread = chrome->timeline->num_lanes + 2 + first + row - 1;
    }
    braid_array_finish(&ends);
    return ok;
}

static bool find_threads(struct chrome *chrome)
{
    const struct timeline *timeline = chrome->timeline;
    size_t num_frames = timeline->options.num_frames;
    chrome->of_node =
        braid_store_take(&chrome->store, num_frames, timeline->num_nodes * sizeof(uint32_t));
    chrome->of_frame = braid_store_take(&chrome->store, num_frames, sizeof(uint32_t));
    chrome->of_launch = braid_store_take(&chrome->store, num_frames, sizeof(uint32_t));
    bool ok = !chrome->store.failed;
    for (size_t i = 0; i < num_frames && ok; i++)
        ok = add_frame(chrome, i);
    return ok && spread(chrome);
}

static void finish(struct chrome *chrome)
{
    braid_array_finish(&chrome->slices);
    braid_array_finish(&chrome->further);
    braid_store_finish(&chrome->store);
}

// Chrome counts in microseconds.
static void write_time(FILE *file, const char *name, uint64_t time_ns)
{
    fprintf(file, ",\"%s\":%" PRIu64 ".%03" PRIu64, name, time_ns / 1000, time_ns % 1000);
}

// The host is shown first, then the frames and the lanes, each with its further rows.
static void write_track(const struct chrome *chrome, uint32_t thread, struct row row)
{
    uint32_t num_lanes = chrome->timeline->num_lanes;
    const char *name = row.track == 0 ? "frames" : "host";
    struct lane_text lane;
    if (row.track > 0 && row.track <= num_lanes) {
        lane = braid_schedule_lane_text(chrome->timeline->schedule, row.track - 1);
        name = lane.text;
    }
    fprintf(chrome->file,
            ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":%" PRIu32
            ",\"args\":{\"name\":\"%s",
            thread, name);
    if (row.number)
        fprintf(chrome->file, ", row %" PRIu32, row.number + 1);
    fputs("\"}}", chrome->file);
    if (chrome->further.num)
        fprintf(chrome->file,
                ",\n{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":1,\"tid\":%" PRIu32
                ",\"args\":{\"sort_index\":%" PRIu32 "}}",
                thread, row.track > num_lanes ? row.number : (row.track + 1) * 1000 + row.number);
}

static void write_tracks(const struct chrome *chrome)
{
    const char *title = chrome->timeline->options.title;
    uint32_t num_lanes = chrome->timeline->num_lanes;
    const struct row *further = chrome->further.items;
    fputs("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"", chrome->file);
    braid_text_write_json(chrome->file, title ? title : "Braid");
    fputs("\"}}", chrome->file);
    for (uint32_t i = 0; i <= num_lanes + chrome->has_host; i++)
        write_track(chrome, i, (struct row){ i, 0 });
    for (uint32_t i = 0; i < chrome->further.num; i++)
        write_track(chrome, num_lanes + 2 + i, further[i]);
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
            chrome->of_node[frame * timeline->num_nodes + node]);
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
    const uint32_t *of_node = chrome->of_node + frame * timeline->num_nodes;
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
        frame, chrome->of_launch[frame]);
    write_time(chrome->file, "ts", launch.start_ns);
    write_time(chrome->file, "dur", launch.end_ns - launch.start_ns);
    fprintf(chrome->file, ",\"args\":{\"clock_error_ns\":%" PRIu64 "}}",
            chrome->timeline->options.error_ns);
    write_flow(chrome, "launch", chrome->of_launch[frame], launch, chrome->of_frame[frame], whole);
}

static void write_frame(struct chrome *chrome, size_t frame)
{
    const struct timeline *timeline = chrome->timeline;
    braid_interval whole = braid_timeline_frame(timeline, frame);
    fprintf(chrome->file,
            ",\n{\"ph\":\"X\",\"name\":\"frame %zu\",\"cat\":\"frame\",\"pid\":1,"
            "\"tid\":%" PRIu32,
            frame, chrome->of_frame[frame]);
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

bool braid_chrome_write(const struct timeline *timeline, FILE *file)
{
    struct chrome chrome = { .timeline = timeline, .file = file };
    bool ok = find_threads(&chrome);
    if (ok) {
        fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", file);
        write_tracks(&chrome);
        for (size_t frame = 0; frame < timeline->options.num_frames; frame++)
            write_frame(&chrome, frame);
        fputs("\n]}\n", file);
    }
    finish(&chrome);
    return ok;
}
