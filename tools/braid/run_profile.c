// SPDX-License-Identifier: Apache-2.0
// Where the time of the last frames went, as the exec kept it.
#include "run_profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/timings.h>

#include "dot_cost.h"
#include "output.h"
#include "plan_json.h"
#include "printable.h"
#include "task_graph.h"

enum { MOST_LANES = 16, MOST_NODES = 10, MOST_WAITS = 10 };

// Something that took time, for sorting.
struct item {
    uint64_t index, median_ns;
};

static struct printable name_of(const struct run *run, uint32_t node)
{
    return printable_name(node == BRAID_NO_NODE ? "the lane's end"
                                                : task_graph_name(&run->file->nodes[node]));
}

// A time in the unit that the file's measured times have, at least so wide.
static void print_time(const struct run *run, int width, uint64_t time_ns)
{
    const struct dot_clock clock = dot_cost_clock(run->file);
    printf("%*.*f", width, clock.places, (double)time_ns / clock.ns);
}

static void print_heading(const struct run *run, const char *more)
{
    const char *unit = dot_cost_clock(run->file).name;
    printf("\n%*s%s   %s\n", 15 - (int)strlen(unit), "median, ", unit, more);
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? (double)part * 100 / (double)whole : 0;
}

static int compare(const void *a, const void *b)
{
    const struct item *first = a, *second = b;
    if (first->median_ns != second->median_ns)
        return first->median_ns > second->median_ns ? -1 : 1;
    return first->index < second->index ? -1 : first->index > second->index;
}

static void print_lanes(const struct run *run, const braid_timings *timings)
{
    printf("\n  lane      busy   waiting      idle   nodes   waits longest for (means of these "
           "frames)\n");
    for (uint32_t i = 0; i < timings->num_lanes && i < MOST_LANES; i++) {
        const braid_lane_timing *lane = &timings->lanes[i];
        uint64_t whole = lane->busy_ns + lane->waiting_ns + lane->idle_ns;
        printf("  %4" PRIu32 "  %6.1f %%  %6.1f %%  %6.1f %%  %6" PRIu32, i,
               percent(lane->busy_ns, whole), percent(lane->waiting_ns, whole),
               percent(lane->idle_ns, whole), lane->num_nodes);
        if (lane->waited_for != BRAID_NO_NODE) {
            printf("   %s (", name_of(run, lane->waited_for).text);
            print_time(run, 0, lane->waited_for_ns);
            printf(" %s)", dot_cost_clock(run->file).name);
        }
        printf("\n");
    }
    if (timings->num_lanes > MOST_LANES)
        printf("  and %" PRIu32 " more\n", timings->num_lanes - MOST_LANES);
}

static bool print_nodes(const struct run *run, const braid_timings *timings)
{
    uint32_t num = timings->num_nodes;
    struct item *items = calloc((size_t)num + 1, sizeof(*items));
    if (!items)
        return false;
    for (uint32_t i = 0; i < num; i++)
        items[i] = (struct item){ i, timings->nodes[i].time.median_ns };
    qsort(items, num, sizeof(*items), compare);
    print_heading(run, "of the frame   longest nodes");
    for (uint32_t i = 0; i < num && i < MOST_NODES; i++) {
        print_time(run, 15, items[i].median_ns);
        printf("  %11.1f %%   %s\n", percent(items[i].median_ns, timings->frame.median_ns),
               name_of(run, (uint32_t)items[i].index).text);
    }
    free(items);
    return true;
}

static bool print_waits(const struct run *run, const braid_timings *timings)
{
    struct item *items = calloc(timings->num_waits + 1, sizeof(*items));
    if (!items)
        return false;
    for (uint64_t i = 0; i < timings->num_waits; i++)
        items[i] = (struct item){ i, timings->waits[i].wait.median_ns };
    qsort(items, timings->num_waits, sizeof(*items), compare);
    if (timings->num_waits)
        print_heading(run, "longest waits");
    for (uint64_t i = 0; i < timings->num_waits && i < MOST_WAITS; i++) {
        const braid_wait_timing *wait = &timings->waits[items[i].index];
        print_time(run, 15, wait->wait.median_ns);
        printf("   lane %" PRIu32 ", before %s, for %s of lane %" PRIu32 "\n", wait->lane,
               name_of(run, wait->node).text, name_of(run, wait->waited_for).text,
               wait->waited_for_lane);
    }
    free(items);
    return true;
}

enum exit_status run_profile_print(const struct run *run)
{
    braid_timings timings;
    if (braid_exec_get_timings(run->exec, &timings))
        return fail_in_library();
    const struct dot_clock clock = dot_cost_clock(run->file);
    printf("\nThe last %" PRIu32 " frame%s: %.*f %s (median; %.*f to %.*f), from the begin of the "
           "frame on the device to its end\n",
           timings.frames_kept, output_plural(timings.frames_kept), clock.places,
           (double)timings.frame.median_ns / clock.ns, clock.name, clock.places,
           (double)timings.frame.least_ns / clock.ns, clock.places,
           (double)timings.frame.most_ns / clock.ns);
    if (timings.island_wait_ns)
        printf("Inside the island lanes waited for each other for %.*f %s in all\n", clock.places,
               (double)timings.island_wait_ns / clock.ns, clock.name);
    print_lanes(run, &timings);
    if (print_nodes(run, &timings) && print_waits(run, &timings))
        return EXIT_DONE;
    return fail(EXIT_FAILED, "out of memory for the times of frames");
}

json_t *run_profile_spread_to_json(const braid_spread *spread)
{
    return json_pack("{s:I, s:I, s:I}", "least", (json_int_t)spread->least_ns, "median",
                     (json_int_t)spread->median_ns, "most", (json_int_t)spread->most_ns);
}

static json_t *node_to_json(const struct run *run, uint32_t node)
{
    return node == BRAID_NO_NODE ? json_null() : plan_json_text(run->file->nodes[node].id);
}

static void add_lanes(const struct run *run, const braid_timings *timings, json_t *lanes)
{
    for (uint32_t i = 0; i < timings->num_lanes; i++) {
        const braid_lane_timing *lane = &timings->lanes[i];
        json_array_append_new(
            lanes, json_pack("{s:I, s:I, s:I, s:I, s:o, s:I}", "busy_ns", (json_int_t)lane->busy_ns,
                             "waiting_ns", (json_int_t)lane->waiting_ns, "idle_ns",
                             (json_int_t)lane->idle_ns, "nodes", (json_int_t)lane->num_nodes,
                             "waited_for", node_to_json(run, lane->waited_for), "waited_for_ns",
                             (json_int_t)lane->waited_for_ns));
    }
}

static void add_nodes(const struct run *run, const braid_timings *timings, json_t *nodes)
{
    for (uint32_t i = 0; i < timings->num_nodes; i++)
        json_array_append_new(nodes,
                              json_pack("{s:o, s:o}", "id", node_to_json(run, i), "took_ns",
                                        run_profile_spread_to_json(&timings->nodes[i].time)));
}

static void add_waits(const struct run *run, const braid_timings *timings, json_t *waits)
{
    for (uint64_t i = 0; i < timings->num_waits; i++) {
        const braid_wait_timing *wait = &timings->waits[i];
        json_array_append_new(waits,
                              json_pack("{s:I, s:o, s:o, s:I, s:o}", "lane", (json_int_t)wait->lane,
                                        "node", node_to_json(run, wait->node), "waited_for",
                                        node_to_json(run, wait->waited_for), "waited_for_lane",
                                        (json_int_t)wait->waited_for_lane, "took_ns",
                                        run_profile_spread_to_json(&wait->wait)));
    }
}

enum exit_status run_profile_to_json(const struct run *run, json_t **out_json)
{
    json_t *lanes = json_array(), *nodes = json_array(), *waits = json_array();
    braid_timings timings = { 0 };
    braid_status status = braid_exec_get_timings(run->exec, &timings);
    add_lanes(run, &timings, lanes);
    add_nodes(run, &timings, nodes);
    add_waits(run, &timings, waits);
    *out_json = json_pack("{s:I, s:o, s:o, s:o, s:o}", "frames", (json_int_t)timings.frames_kept,
                          "frame_ns", run_profile_spread_to_json(&timings.frame), "lanes", lanes,
                          "nodes", nodes, "waits", waits);
    return status ? fail_in_library() : EXIT_DONE;
}

// Each frame goes to the place of its intervals.
enum exit_status run_profile_take_intervals(struct run *run, uint64_t num_frames)
{
    braid_timings timings;
    if (braid_exec_get_timings(run->exec, &timings))
        return fail_in_library();
    size_t num = timings.frames_kept < KEPT_FRAMES ? timings.frames_kept : KEPT_FRAMES;
    size_t num_nodes = run->file->num_nodes, first = timings.frames_kept - num;
    run->has_launches = true;
    for (size_t i = 0; i < num; i++) {
        const braid_frame_timing *frame = &timings.frames[first + i];
        size_t at = (num_frames - num + i) % KEPT_FRAMES;
        memcpy(run->kept + at * num_nodes, timings.intervals + (first + i) * num_nodes,
               num_nodes * sizeof(*run->kept));
        run->launches[at] = frame->launch;
        run->error_ns = frame->error_ns > run->error_ns ? frame->error_ns : run->error_ns;
    }
    return EXIT_DONE;
}
