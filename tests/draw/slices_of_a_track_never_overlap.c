// SPDX-License-Identifier: Apache-2.0
// Traces of frames in flight: read as their viewers do, every slice has the times it was given.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

#include "support/check.h"
#include "support/random.h"
#include "support/wide_plan.h"

enum { MAX_FRAMES = 8, MAX_SLICES = 1000, NUM_NODES = 4, ZERO_NS = 1000, LINE = 96 };

struct event {
    uint64_t start_ns, end_ns, track;
    size_t order;
    char name[40];
};

struct events {
    struct event all[MAX_SLICES];
    size_t num;
};

// "NAME: START..END" of each slice, in the order of these texts.
struct slices {
    char lines[MAX_SLICES][LINE];
    size_t num;
};

static void add(struct slices *slices, const char *name, uint64_t start_ns, uint64_t end_ns)
{
    assert_true(slices->num < MAX_SLICES);
    snprintf(slices->lines[slices->num++], LINE, "%s: %" PRIu64 "..%" PRIu64, name, start_ns,
             end_ns);
}

static int compare_lines(const void *one, const void *two)
{
    return strcmp(one, two);
}

static int compare_events(const void *one, const void *two)
{
    const struct event *a = one, *b = two;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

static void assert_same(struct slices *read, struct slices *given)
{
    qsort(read->lines, read->num, LINE, compare_lines);
    qsort(given->lines, given->num, LINE, compare_lines);
    for (size_t i = 0; i < read->num && i < given->num; i++)
        assert_string_equal(read->lines[i], given->lines[i]);
    assert_int_equal(read->num, given->num);
}

static uint64_t time_of(const char *line, const char *name)
{
    unsigned long long micros;
    unsigned nanos;
    const char *found = strstr(line, name);
    assert_non_null(found);
    assert_int_equal(sscanf(found + strlen(name), "%llu.%3u", &micros, &nanos), 2);
    return micros * 1000 + nanos;
}

static void read_lines(char *text, const char *kind, struct events *out_events)
{
    for (char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        struct event event = { .order = out_events->num };
        if (strncmp(line, kind, strlen(kind)) != 0)
            continue;
        assert_int_equal(sscanf(strstr(line, "\"name\":"), "\"name\":\"%39[^\"]", event.name), 1);
        assert_int_equal(sscanf(strstr(line, "\"tid\":"), "\"tid\":%" SCNu64, &event.track), 1);
        event.start_ns = event.end_ns = time_of(line, "\"ts\":");
        if (strcmp(kind, "{\"ph\":\"X\"") == 0)
            event.end_ns += time_of(line, "\"dur\":");
        out_events->all[out_events->num++] = event;
    }
}

static bool ends_behind_its_outer_one(const struct events *events, size_t i)
{
    const struct event *slice = &events->all[i];
    for (size_t j = 0; j < i; j++) {
        const struct event *outer = &events->all[j];
        if (outer->track == slice->track && outer->end_ns > slice->start_ns &&
            outer->end_ns < slice->end_ns)
            return true;
    }
    return false;
}

// A slice that ends behind the one that it began in is dropped.
static void read_slices(char *text, struct events *out_events, struct slices *out_slices)
{
    read_lines(text, "{\"ph\":\"X\"", out_events);
    qsort(out_events->all, out_events->num, sizeof(*out_events->all), compare_events);
    for (size_t i = 0; i < out_events->num; i++) {
        const struct event *slice = &out_events->all[i];
        if (!ends_behind_its_outer_one(out_events, i))
            add(out_slices, slice->name, slice->start_ns, slice->end_ns);
    }
}

// Each flow leaves the last nanosecond of a slice on its track, and comes to the start of one.
static void assert_flows_meet_slices(char *text, const struct events *slices)
{
    static struct events ends;
    for (int starts = 0; starts < 2; starts++) {
        ends.num = 0;
        read_lines(text, starts ? "{\"ph\":\"s\"" : "{\"ph\":\"f\"", &ends);
        assert_true(ends.num > 0);
        for (size_t i = 0; i < ends.num; i++) {
            bool met = false;
            for (size_t j = 0; j < slices->num && !met; j++) {
                const struct event *slice = &slices->all[j];
                uint64_t leaves_ns = slice->end_ns - (slice->end_ns > slice->start_ns);
                met = slice->track == ends.all[i].track &&
                      ends.all[i].start_ns == (starts ? leaves_ns : slice->start_ns);
            }
            if (!met)
                fail_msg("a flow at %" PRIu64 " meets no slice", ends.all[i].start_ns);
        }
    }
}

static const char *const node_names[NUM_NODES] = { "start", "left", "right", "end" };

// start -> left, right -> end, on two lanes.
static braid_schedule *make_plan(void)
{
    braid_graph *graph;
    braid_schedule *schedule;
    braid_node nodes[NUM_NODES];
    check_ok(braid_graph_create(&graph));
    for (uint32_t i = 0; i < NUM_NODES; i++) {
        braid_empty node = { .node = { .name = node_names[i],
                                       .cost_ns = 1000,
                                       .after = i == 3 ? &nodes[1] : nodes,
                                       .num_after = i == 0   ? 0
                                                    : i == 3 ? 2
                                                             : 1 } };
        check_ok(braid_graph_add_empty(graph, &node, &nodes[i]));
    }
    braid_schedule_options options = { .costs = &free_costs, .max_lanes = 2, .fixed_lanes = true };
    check_ok(braid_schedule_create(graph, &options, &schedule));
    braid_graph_destroy(graph);
    return schedule;
}

static void list_given(const braid_timeline_options *options, struct slices *out_slices)
{
    char name[32];
    for (size_t frame = 0; frame < options->num_frames; frame++) {
        braid_interval whole = { UINT64_MAX, 0 };
        for (uint32_t i = 0; i < NUM_NODES; i++) {
            braid_interval at = options->intervals[frame * NUM_NODES + i];
            whole.start_ns = at.start_ns < whole.start_ns ? at.start_ns : whole.start_ns;
            whole.end_ns = at.end_ns > whole.end_ns ? at.end_ns : whole.end_ns;
            add(out_slices, node_names[i], at.start_ns - ZERO_NS, at.end_ns - ZERO_NS);
        }
        snprintf(name, sizeof(name), "frame %zu", frame);
        add(out_slices, name, whole.start_ns - ZERO_NS, whole.end_ns - ZERO_NS);
        snprintf(name, sizeof(name), "launch %zu", frame);
        add(out_slices, name, options->launches[frame].start_ns - ZERO_NS,
            options->launches[frame].end_ns - ZERO_NS);
    }
}

// The trace, after it was read. The first launch begins at ZERO_NS.
static char *check_trace(const braid_schedule *schedule, const braid_timeline_options *options)
{
    static struct slices given, read;
    static struct events events;
    char *text = NULL;
    size_t length = 0;
    given.num = read.num = events.num = 0;
    list_given(options, &given);
    FILE *file = open_memstream(&text, &length);
    check_ok(braid_schedule_write(schedule, BRAID_DRAWING_TRACE, options, file));
    fclose(file);
    read_slices(text, &events, &read);
    assert_same(&read, &given);
    assert_flows_meet_slices(text, &events);
    return text;
}

static void assert_thread(const char *trace, unsigned thread, const char *name)
{
    char text[128];
    snprintf(text, sizeof(text), "\"tid\":%u,\"args\":{\"name\":\"%s\"}", thread, name);
    if (!strstr(trace, text))
        fail_msg("no '%s' in:\n%.4000s", text, trace);
}

static void frames_in_flight_have_rows(void **state)
{
    (void)state;
    braid_schedule *schedule = make_plan();
    const braid_interval intervals[] = {
        { 1100, 1200 }, { 1200, 1500 }, { 1250, 1400 }, { 1500, 1600 },
        { 1150, 1300 }, { 1300, 1600 }, { 1350, 1450 }, { 1600, 1700 },
    };
    const braid_interval launches[] = { { 1000, 1060 }, { 1050, 1100 } };
    braid_timeline_options options = { .intervals = intervals,
                                       .num_frames = 2,
                                       .launches = launches };
    char *trace = check_trace(schedule, &options);
    assert_thread(trace, 0, "frames");
    assert_thread(trace, 1, "lane 0");
    assert_thread(trace, 2, "lane 1");
    assert_thread(trace, 3, "host");
    assert_thread(trace, 4, "frames, row 2");
    assert_thread(trace, 5, "lane 0, row 2");
    assert_thread(trace, 6, "lane 1, row 2");
    assert_thread(trace, 7, "host, row 2");
    free(trace);
    braid_schedule_destroy(schedule);
}

static void a_node_may_start_early(void **state)
{
    (void)state;
    braid_schedule *schedule = make_plan();
    const braid_interval intervals[] = {
        { 1100, 1200 }, { 1180, 1300 }, { 1180, 1280 }, { 1290, 1400 }
    };
    const braid_interval launch = { 1000, 1060 };
    braid_timeline_options options = { .intervals = intervals,
                                       .num_frames = 1,
                                       .launches = &launch };
    char *trace = check_trace(schedule, &options);
    assert_thread(trace, 4, "lane 0, row 2");
    assert_null(strstr(trace, "row 3"));
    free(trace);
    braid_schedule_destroy(schedule);
}

static void frames_one_behind_another_have_no_rows(void **state)
{
    (void)state;
    braid_schedule *schedule = make_plan();
    const braid_interval intervals[] = {
        { 1100, 1200 }, { 1200, 1300 }, { 1200, 1280 }, { 1300, 1400 },
        { 1400, 1400 }, { 1400, 1500 }, { 1400, 1500 }, { 1500, 1500 },
    };
    const braid_interval launches[] = { { 1000, 1060 }, { 1060, 1060 } };
    braid_timeline_options options = { .intervals = intervals,
                                       .num_frames = 2,
                                       .launches = launches };
    char *trace = check_trace(schedule, &options);
    assert_null(strstr(trace, "row 2"));
    assert_null(strstr(trace, "sort_index"));
    free(trace);
    braid_schedule_destroy(schedule);
}

static void whatever_overlaps_is_read_as_given(void **state)
{
    (void)state;
    braid_schedule *schedule = make_plan();
    struct random random = { 1 };
    for (int round = 0; round < 300; round++) {
        braid_interval intervals[MAX_FRAMES * NUM_NODES], launches[MAX_FRAMES];
        size_t num_frames = 1 + random_below(&random, MAX_FRAMES);
        for (size_t i = 0; i < num_frames * NUM_NODES; i++) {
            uint64_t start = ZERO_NS + random_below(&random, 20);
            intervals[i] = (braid_interval){ start, start + random_below(&random, 6) };
        }
        for (size_t i = 0; i < num_frames; i++) {
            uint64_t start = ZERO_NS + (i > 0 ? random_below(&random, 20) : 0);
            launches[i] = (braid_interval){ start, start + random_below(&random, 6) };
        }
        braid_timeline_options options = { .intervals = intervals,
                                           .num_frames = num_frames,
                                           .launches = launches };
        free(check_trace(schedule, &options));
    }
    braid_schedule_destroy(schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_in_flight_have_rows),
        cmocka_unit_test(a_node_may_start_early),
        cmocka_unit_test(frames_one_behind_another_have_no_rows),
        cmocka_unit_test(whatever_overlaps_is_read_as_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
