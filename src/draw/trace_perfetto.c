// SPDX-License-Identifier: Apache-2.0
// A timeline as Perfetto's protobuf trace: tracks for frames and lanes, slices for nodes, flows for
// waits. The numbers of fields are those of protos/perfetto/trace in github.com/google/perfetto.
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "draw/protobuf.h"
#include "draw/timeline.h"
#include "draw/tracks.h"

enum trace_field { TRACE_PACKET = 1 };
enum packet_field {
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_TRACK_DESCRIPTOR = 60,
};
enum descriptor_field {
    DESCRIPTOR_UUID = 1,
    DESCRIPTOR_NAME = 2,
    DESCRIPTOR_PROCESS = 3,
    DESCRIPTOR_PARENT = 5,
    DESCRIPTOR_CHILD_ORDERING = 11,
    DESCRIPTOR_RANK = 12,
};
enum process_field { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum event_field {
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_TRACK = 11,
    EVENT_CATEGORY = 22,
    EVENT_NAME = 23,
    EVENT_FLOWS = 47,
    EVENT_ENDING_FLOWS = 48,
};
enum annotation_field { ANNOTATION_NUMBER = 3, ANNOTATION_TEXT = 6, ANNOTATION_NAME = 10 };
enum event_type { SLICE_BEGIN = 1, SLICE_END = 2 };
enum { ORDER_EXPLICIT = 3, SEQUENCE_CLEARED = 1, THE_SEQUENCE = 1 };
enum { TRACK_PROCESS = 1, TRACK_FRAMES = 2 }; // and the other tracks by their numbers

struct perfetto {
    const struct timeline *timeline;
    struct tracks tracks;
    FILE *file;
    struct protobuf outer, packet, event, inner; // one of each, used again and again
    struct array text;                           // characters of a name made readable
    bool is_started, out_of_memory;
    size_t *first_from, *next_from, *first_to,
        *next_to; // lists of the waits of a node, by index + 1
};

static void write_packet(struct perfetto *perfetto)
{
    struct protobuf *packet = &perfetto->packet;
    braid_protobuf_add_number(packet, PACKET_SEQUENCE, THE_SEQUENCE);
    if (!perfetto->is_started)
        braid_protobuf_add_number(packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_CLEARED);
    perfetto->is_started = true;
    protobuf_clear(&perfetto->outer);
    braid_protobuf_add_message(&perfetto->outer, TRACE_PACKET, packet);
    perfetto->out_of_memory = perfetto->out_of_memory || perfetto->outer.out_of_memory;
    if (!perfetto->out_of_memory)
        fwrite(perfetto->outer.bytes.items, 1, perfetto->outer.bytes.num, perfetto->file);
    protobuf_clear(packet);
}

// Protobuf strings are UTF-8: what is not appears as "\xff".
static const char *readable(struct perfetto *perfetto, const char *name)
{
    static const char hex[] = "0123456789abcdef";
    perfetto->text.num = 0;
    char *room = braid_array_append(&perfetto->text, strlen(name) * 4 + 1, 1), *to = room;
    if (!room) {
        perfetto->out_of_memory = true;
        return "";
    }
    while (*name) {
        size_t length = braid_text_character(name);
        if (length > 0) {
            memcpy(to, name, length);
            to += length;
            name += length;
        } else {
            unsigned char byte = (unsigned char)*name++;
            const char code[] = { '\\', 'x', hex[byte >> 4], hex[byte & 15] };
            memcpy(to, code, sizeof(code));
            to += sizeof(code);
        }
    }
    *to = '\0';
    return room;
}

static void write_process(struct perfetto *perfetto)
{
    struct protobuf *descriptor = &perfetto->event, *process = &perfetto->inner;
    const char *title = perfetto->timeline->options.title;
    protobuf_clear(descriptor);
    protobuf_clear(process);
    braid_protobuf_add_number(descriptor, DESCRIPTOR_UUID, TRACK_PROCESS);
    braid_protobuf_add_number(process, PROCESS_PID, 1);
    braid_protobuf_add_text(process, PROCESS_NAME, readable(perfetto, title ? title : "Braid"));
    braid_protobuf_add_message(descriptor, DESCRIPTOR_PROCESS, process);
    braid_protobuf_add_number(descriptor, DESCRIPTOR_CHILD_ORDERING, ORDER_EXPLICIT);
    braid_protobuf_add_message(&perfetto->packet, PACKET_TRACK_DESCRIPTOR, descriptor);
    write_packet(perfetto);
}

static void write_tracks(struct perfetto *perfetto)
{
    struct protobuf *descriptor = &perfetto->event;
    const struct track *tracks = perfetto->tracks.list.items;
    write_process(perfetto);
    for (size_t i = 0; i < perfetto->tracks.list.num; i++) {
        protobuf_clear(descriptor);
        braid_protobuf_add_number(descriptor, DESCRIPTOR_UUID,
                                  (uint64_t)TRACK_FRAMES + tracks[i].number);
        braid_protobuf_add_text(descriptor, DESCRIPTOR_NAME, tracks[i].name);
        braid_protobuf_add_number(descriptor, DESCRIPTOR_PARENT, TRACK_PROCESS);
        braid_protobuf_add_number(descriptor, DESCRIPTOR_RANK, (uint64_t)tracks[i].rank + 1);
        braid_protobuf_add_message(&perfetto->packet, PACKET_TRACK_DESCRIPTOR, descriptor);
        write_packet(perfetto);
    }
}

// Starts an event in perfetto->event; write_event ends it.
static struct protobuf *start_event(struct perfetto *perfetto, enum event_type type, uint32_t track)
{
    struct protobuf *event = &perfetto->event;
    protobuf_clear(event);
    braid_protobuf_add_number(event, EVENT_TYPE, type);
    braid_protobuf_add_number(event, EVENT_TRACK, (uint64_t)TRACK_FRAMES + track);
    return event;
}

static void write_event(struct perfetto *perfetto, uint64_t time_ns)
{
    braid_protobuf_add_number(&perfetto->packet, PACKET_TIMESTAMP, time_ns);
    braid_protobuf_add_message(&perfetto->packet, PACKET_TRACK_EVENT, &perfetto->event);
    write_packet(perfetto);
}

// A wait has the same number as flow where it begins and where it ends, other ones in each frame.
static void add_flows(struct perfetto *perfetto, size_t frame, uint32_t node)
{
    uint64_t before = (uint64_t)frame * perfetto->timeline->num_waits;
    for (size_t i = perfetto->first_from[node]; i > 0; i = perfetto->next_from[i - 1])
        braid_protobuf_add_fixed(&perfetto->event, EVENT_FLOWS, before + i);
    for (size_t i = perfetto->first_to[node]; i > 0; i = perfetto->next_to[i - 1])
        braid_protobuf_add_fixed(&perfetto->event, EVENT_ENDING_FLOWS, before + i);
}

// To the event that was started.
static void add_number(struct perfetto *perfetto, const char *name, uint64_t number)
{
    protobuf_clear(&perfetto->inner);
    braid_protobuf_add_text(&perfetto->inner, ANNOTATION_NAME, name);
    braid_protobuf_add_number(&perfetto->inner, ANNOTATION_NUMBER, number);
    braid_protobuf_add_message(&perfetto->event, EVENT_ANNOTATION, &perfetto->inner);
}

static void write_node(struct perfetto *perfetto, size_t frame, uint32_t node)
{
    const struct timeline *timeline = perfetto->timeline;
    const braid_schedule *schedule = timeline->schedule;
    uint32_t track = perfetto->tracks.of_node[frame * timeline->num_nodes + node];
    braid_interval interval;
    if (!braid_timeline_interval(timeline, frame, node, &interval))
        return;
    struct protobuf *event = start_event(perfetto, SLICE_BEGIN, track);
    const char *name = readable(perfetto, braid_schedule_node_name(schedule, node));
    braid_protobuf_add_text(event, EVENT_NAME, *name ? name : "(no name)");
    braid_protobuf_add_text(event, EVENT_CATEGORY, "node");
    if (timeline->is_critical[node])
        braid_protobuf_add_text(event, EVENT_CATEGORY, "critical");
    add_number(perfetto, "node", node);
    uint32_t island = braid_timeline_island(timeline, node);
    if (island != PLAN_NONE)
        add_number(perfetto, "island", island);
    add_flows(perfetto, frame, node);
    write_event(perfetto, interval.start_ns);
    start_event(perfetto, SLICE_END, track);
    write_event(perfetto, interval.end_ns);
}

// Behind the numbers of waits.
static uint64_t flow_of_launch(const struct perfetto *perfetto, size_t frame)
{
    const struct timeline *timeline = perfetto->timeline;
    return (uint64_t)timeline->options.num_frames * timeline->num_waits + frame + 1;
}

static void write_launch(struct perfetto *perfetto, size_t frame)
{
    braid_interval launch;
    uint32_t track = perfetto->tracks.of_launch[frame];
    char name[32];
    if (!braid_timeline_launch(perfetto->timeline, frame, &launch))
        return;
    snprintf(name, sizeof(name), "launch %zu", frame);
    struct protobuf *event = start_event(perfetto, SLICE_BEGIN, track);
    braid_protobuf_add_text(event, EVENT_NAME, name);
    braid_protobuf_add_text(event, EVENT_CATEGORY, "launch");
    add_number(perfetto, "clock_error_ns", perfetto->timeline->options.error_ns);
    braid_protobuf_add_fixed(event, EVENT_FLOWS, flow_of_launch(perfetto, frame));
    write_event(perfetto, launch.start_ns);
    start_event(perfetto, SLICE_END, track);
    write_event(perfetto, launch.end_ns);
}

static void write_frame(struct perfetto *perfetto, size_t frame)
{
    write_launch(perfetto, frame);
    const braid_schedule *schedule = perfetto->timeline->schedule;
    braid_interval whole = braid_timeline_frame(perfetto->timeline, frame);
    uint32_t track = perfetto->tracks.of_frame[frame];
    char name[32];
    snprintf(name, sizeof(name), "frame %zu", frame);
    struct protobuf *event = start_event(perfetto, SLICE_BEGIN, track);
    braid_protobuf_add_text(event, EVENT_NAME, name);
    braid_protobuf_add_text(event, EVENT_CATEGORY, "frame");
    if (perfetto->timeline->options.launches)
        braid_protobuf_add_fixed(event, EVENT_ENDING_FLOWS, flow_of_launch(perfetto, frame));
    write_event(perfetto, whole.start_ns);
    start_event(perfetto, SLICE_END, track);
    write_event(perfetto, whole.end_ns);
    for (uint32_t i = 0; i < perfetto->timeline->num_nodes; i++)
        write_node(perfetto, frame, schedule->lane_nodes[i]);
}

static bool list_waits(struct perfetto *perfetto)
{
    const struct timeline *timeline = perfetto->timeline;
    perfetto->first_from = braid_allocate_zeroed(timeline->num_nodes, sizeof(size_t));
    perfetto->first_to = braid_allocate_zeroed(timeline->num_nodes, sizeof(size_t));
    perfetto->next_from = braid_allocate_zeroed(timeline->num_waits, sizeof(size_t));
    perfetto->next_to = braid_allocate_zeroed(timeline->num_waits, sizeof(size_t));
    if (!perfetto->first_from || !perfetto->first_to || !perfetto->next_from || !perfetto->next_to)
        return false;
    for (size_t i = 0; i < timeline->num_waits; i++) {
        const struct timeline_wait *wait = &timeline->waits[i];
        perfetto->next_from[i] = perfetto->first_from[wait->from];
        perfetto->first_from[wait->from] = i + 1;
        perfetto->next_to[i] = perfetto->first_to[wait->to];
        perfetto->first_to[wait->to] = i + 1;
    }
    return true;
}

static void finish(struct perfetto *perfetto)
{
    braid_tracks_finish(&perfetto->tracks);
    free(perfetto->first_from);
    free(perfetto->first_to);
    free(perfetto->next_from);
    free(perfetto->next_to);
    braid_array_finish(&perfetto->outer.bytes);
    braid_array_finish(&perfetto->packet.bytes);
    braid_array_finish(&perfetto->event.bytes);
    braid_array_finish(&perfetto->inner.bytes);
    braid_array_finish(&perfetto->text);
}

braid_status braid_schedule_write_perfetto_trace(const braid_schedule *schedule,
                                                 const braid_timeline_options *options, FILE *file)
{
    struct timeline timeline;
    braid_status status = braid_timeline_create("braid_schedule_write_perfetto_trace", schedule,
                                                options, file, &timeline);
    if (status)
        return status;
    struct perfetto perfetto = { .timeline = &timeline, .file = file };
    perfetto.out_of_memory =
        !list_waits(&perfetto) || !braid_tracks_create(&timeline, &perfetto.tracks);
    if (!perfetto.out_of_memory)
        write_tracks(&perfetto);
    for (size_t i = 0; i < timeline.options.num_frames && !perfetto.out_of_memory; i++)
        write_frame(&perfetto, i);
    bool out_of_memory = perfetto.out_of_memory;
    finish(&perfetto);
    braid_timeline_finish(&timeline);
    return out_of_memory ? braid_error_no_memory("a trace") : braid_timeline_close(file);
}
