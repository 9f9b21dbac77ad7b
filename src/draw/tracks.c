// SPDX-License-Identifier: Apache-2.0
// Which track of a trace each slice is on: viewers drop a slice that ends behind the one it began
// in. Frames in flight overlap so, and nodes that start early: each slice goes to the first row
// whose last slice has ended.
#include "draw/tracks.h"

#include <inttypes.h>

struct slice {
    braid_interval at;
    size_t order; // as they are written
    uint32_t *track;
};

struct spreading {
    const struct timeline *timeline;
    struct tracks *tracks;
    struct array slices, rows; // of what is spread now; a row is the time its last slice ends
    uint32_t next_further;     // number of the next further row
};

// One of no length breaks no other: readers see it begin and end at once, whatever is open. It need
// not be spread.
static bool add_slice(struct spreading *spreading, braid_interval at, uint32_t first,
                      uint32_t *track)
{
    *track = first;
    if (at.start_ns == at.end_ns)
        return true;
    size_t order = spreading->slices.num;
    struct slice *slice = braid_array_append(&spreading->slices, 1, sizeof(*slice));
    if (slice)
        *slice = (struct slice){ at, order, track };
    return slice;
}

static bool add_frames(struct spreading *spreading)
{
    bool ok = true;
    for (size_t i = 0; ok && i < spreading->timeline->options.num_frames; i++)
        ok = add_slice(spreading, braid_timeline_frame(spreading->timeline, i), 0,
                       &spreading->tracks->of_frame[i]);
    return ok;
}

static bool add_launches(struct spreading *spreading, uint32_t first)
{
    bool ok = true;
    braid_interval launch;
    for (size_t i = 0; ok && i < spreading->timeline->options.num_frames; i++)
        ok = !braid_timeline_launch(spreading->timeline, i, &launch) ||
             add_slice(spreading, launch, first, &spreading->tracks->of_launch[i]);
    return ok;
}

static bool add_lane(struct spreading *spreading, uint32_t lane)
{
    const struct timeline *timeline = spreading->timeline;
    const braid_schedule *schedule = timeline->schedule;
    bool ok = true;
    for (size_t frame = 0; frame < timeline->options.num_frames; frame++) {
        uint32_t *of_node = spreading->tracks->of_node + frame * timeline->num_nodes;
        uint32_t end = schedule->lane_first[lane + 1];
        for (uint32_t i = schedule->lane_first[lane]; ok && i < end; i++) {
            uint32_t node = schedule->lane_nodes[i];
            braid_interval at;
            ok = !braid_timeline_interval(timeline, frame, node, &at) ||
                 add_slice(spreading, at, lane + 1, &of_node[node]);
        }
    }
    return ok;
}

static int compare_slices(const void *one, const void *two)
{
    const struct slice *a = one, *b = two;
    if (a->at.start_ns != b->at.start_ns)
        return a->at.start_ns < b->at.start_ns ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static bool declare(struct spreading *spreading, uint32_t first, const char *name)
{
    size_t num_rows = spreading->rows.num > 0 ? spreading->rows.num : 1;
    struct track *tracks = braid_array_append(&spreading->tracks->list, num_rows, sizeof(*tracks));
    if (!tracks)
        return false;
    tracks[0].number = first;
    snprintf(tracks[0].name, sizeof(tracks[0].name), "%s", name);
    for (size_t row = 1; row < num_rows; row++) {
        tracks[row].number = spreading->next_further++;
        snprintf(tracks[row].name, sizeof(tracks[row].name), "%s, row %zu", name, row + 1);
        spreading->tracks->has_further = true;
    }
    return true;
}

// Spreads the slices that were added. There are about as many rows as frames in flight.
static bool spread(struct spreading *spreading, uint32_t first, const char *name)
{
    struct array *rows = &spreading->rows;
    struct slice *slices = spreading->slices.items;
    if (spreading->slices.num > 0)
        qsort(slices, spreading->slices.num, sizeof(*slices), compare_slices);
    rows->num = 0;
    for (size_t i = 0; i < spreading->slices.num; i++) {
        size_t row = 0;
        while (row < rows->num && ((uint64_t *)rows->items)[row] > slices[i].at.start_ns)
            row++;
        if (row == rows->num && !braid_array_append(rows, 1, sizeof(uint64_t)))
            return false;
        ((uint64_t *)rows->items)[row] = slices[i].at.end_ns;
        if (row > 0)
            *slices[i].track = spreading->next_further + (uint32_t)row - 1;
    }
    spreading->slices.num = 0;
    return declare(spreading, first, name);
}

static void rank_tracks(struct array *list, size_t num_frames, size_t num_host)
{
    struct track *tracks = list->items;
    size_t place_of_host = num_host > 0 ? num_host : 1;
    for (size_t i = 0; i < list->num; i++) {
        size_t rank = i + place_of_host;
        if (i >= num_frames + num_host)
            rank -= num_host;
        else if (i >= num_frames)
            rank = i - num_frames;
        tracks[i].rank = (uint32_t)rank;
    }
}

static bool spread_all(struct spreading *spreading)
{
    const struct timeline *timeline = spreading->timeline;
    struct array *list = &spreading->tracks->list;
    uint32_t host = timeline->num_lanes + 1;
    braid_interval launch;
    if (!add_frames(spreading) || !spread(spreading, 0, "frames"))
        return false;
    size_t num_frames = list->num;
    if (braid_timeline_launch(timeline, 0, &launch) &&
        (!add_launches(spreading, host) || !spread(spreading, host, "host")))
        return false;
    size_t num_host = list->num - num_frames;
    for (uint32_t lane = 0; lane < timeline->num_lanes; lane++)
        if (!add_lane(spreading, lane) ||
            !spread(spreading, lane + 1, braid_schedule_lane_text(timeline->schedule, lane).text))
            return false;
    rank_tracks(list, num_frames, num_host);
    return true;
}

bool braid_tracks_create(const struct timeline *timeline, struct tracks *out_tracks)
{
    size_t num_frames = timeline->options.num_frames;
    *out_tracks = (struct tracks){
        .of_node = braid_allocate_zeroed(num_frames, timeline->num_nodes * sizeof(uint32_t)),
        .of_frame = braid_allocate_zeroed(num_frames, sizeof(uint32_t)),
        .of_launch = braid_allocate_zeroed(num_frames, sizeof(uint32_t)),
    };
    if (!out_tracks->of_node || !out_tracks->of_frame || !out_tracks->of_launch)
        return false;
    struct spreading spreading = { .timeline = timeline,
                                   .tracks = out_tracks,
                                   .next_further = timeline->num_lanes + 2 };
    bool ok = spread_all(&spreading);
    braid_array_finish(&spreading.slices);
    braid_array_finish(&spreading.rows);
    return ok;
}

void braid_tracks_finish(struct tracks *tracks)
{
    braid_array_finish(&tracks->list);
    free(tracks->of_node);
    free(tracks->of_frame);
    free(tracks->of_launch);
    *tracks = (struct tracks){ 0 };
}
