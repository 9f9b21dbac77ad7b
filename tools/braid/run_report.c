// SPDX-License-Identifier: Apache-2.0
// What braid run found out, as text or JSON.
#include "run_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/spread.h"
#include "base/text.h"
#include "dot_cost.h"
#include "output.h"
#include "plan_json.h"
#include "report_page.h"
#include "run_profile.h"

static void print_report(const struct run_arguments *arguments, const struct run *run,
                         const braid_spread *makespan, const braid_spread *launch)
{
    braid_schedule_info plan;
    braid_exec_info exec;
    braid_device_info device;
    braid_schedule_get_info(braid_exec_get_schedule(run->exec), &plan);
    braid_exec_get_info(run->exec, &exec);
    braid_device_get_info(run->device, &device);
    printf("device     %s:%" PRIu32 " (%s)\n", device.backend, device.ordinal, device.name);
    char reason[4096]; // more than an exec says
    braid_text_copy(exec.reason, reason, sizeof(reason));
    printf("mode       %s\n", reason);
    uint32_t num_nodes = run->file->num_nodes, num_edges = run->file->num_edges;
    const struct dot_clock clock = dot_cost_clock(run->file);
    const bool named = dot_cost_named_unit(run->file) > 0;
    printf("graph      %" PRIu32 " node%s, %" PRIu32 " edge%s; 1 cost = %g %s\n", num_nodes,
           output_plural(num_nodes), num_edges, output_plural(num_edges),
           arguments->time_scale / (named ? clock.ns : 1), named ? clock.name : "ns");
    output_print_missing_costs(run->file, true);
    printf("plan       %" PRIu32 " lane%s, %" PRIu64 " wait%s, %" PRIu64 " record%s\n",
           plan.num_lanes, output_plural(plan.num_lanes), plan.num_waits,
           output_plural(plan.num_waits), plan.num_records, output_plural(plan.num_records));
    if (plan.num_places > 1)
        printf("devices    %" PRIu32 ", %" PRIu32 " cop%s of %" PRIu64 " byte%s\n", plan.num_places,
               plan.num_copies, plan.num_copies == 1 ? "y" : "ies", plan.copy_bytes,
               output_plural(plan.copy_bytes));
    if (exec.transient_bytes)
        printf("memory     %" PRIu64 " bytes for transient buffers, %" PRIu64 " unshared\n",
               exec.transient_bytes, exec.unshared_transient_bytes);
    printf("frames     %" PRIu64 ", the order of %" PRIu32 " edge%s kept in each\n",
           arguments->num_frames, num_edges, output_plural(num_edges));
    printf("makespan   planned %.*f %s, measured %.*f %s (median; %.*f to %.*f), ratio %.3f\n",
           clock.places, (double)plan.makespan_ns / clock.ns, clock.name, clock.places,
           (double)makespan->median_ns / clock.ns, clock.name, clock.places,
           (double)makespan->least_ns / clock.ns, clock.places,
           (double)makespan->most_ns / clock.ns,
           plan.makespan_ns ? (double)makespan->median_ns / (double)plan.makespan_ns : 0);
    output_print_limit(braid_exec_get_schedule(run->exec));
    printf("launch     %.3f us of the host's time (median; %.3f to %.3f)\n",
           (double)launch->median_ns / 1e3, (double)launch->least_ns / 1e3,
           (double)launch->most_ns / 1e3);
}

static json_t *make_json(const struct run_arguments *arguments, const struct run *run,
                         const braid_spread *makespan, const braid_spread *launch)
{
    braid_exec_info exec;
    braid_device_info device;
    braid_exec_get_info(run->exec, &exec);
    braid_device_get_info(run->device, &device);
    json_t *json = plan_json_summary("run", run->file, braid_exec_get_schedule(run->exec), 1);
    json_t *more = json_pack(
        "{s:s, s:s, s:I, s:s, s:s, s:f, s:I, s:o, s:o, s:I, s:I}", "cost_unit", "ns", "backend",
        device.backend, "ordinal", (json_int_t)device.ordinal, "device", device.name, "mode",
        exec.mode == BRAID_MODE_GRAPH ? "graph" : "streams", "time_scale", arguments->time_scale,
        "frames", (json_int_t)arguments->num_frames, "measured_makespan_ns",
        run_profile_spread_to_json(makespan), "launch_ns", run_profile_spread_to_json(launch),
        "transient_bytes", (json_int_t)exec.transient_bytes, "unshared_transient_bytes",
        (json_int_t)exec.unshared_transient_bytes);
    if (!json || !more || json_object_update(json, more) != 0) {
        json_decref(json);
        json = NULL;
    }
    json_decref(more);
    return json;
}

static enum exit_status write_json(const struct run_arguments *arguments, const struct run *run,
                                   const braid_spread *makespan, const braid_spread *launch)
{
    json_t *json = make_json(arguments, run, makespan, launch), *profile = NULL;
    if (!json)
        return fail(EXIT_FAILED, "out of memory for the JSON of the run");
    enum exit_status status = EXIT_DONE;
    if (arguments->is_profiled)
        status = run_profile_to_json(run, &profile);
    if (profile && json_object_set_new(json, "profile", profile) != 0)
        status = fail(EXIT_FAILED, "out of memory for the JSON of the run");
    if (status == EXIT_DONE)
        status = output_write_json(arguments->json, json);
    json_decref(json);
    return status;
}

// Finds the frame kept whose makespan is nearest to the median of all.
static uint64_t find_typical(const struct run *run, uint64_t num_frames, uint64_t median_ns)
{
    uint64_t first = num_frames > KEPT_FRAMES ? num_frames - KEPT_FRAMES : 0;
    uint64_t best = first, least = UINT64_MAX;
    for (uint64_t i = first; i < num_frames; i++) {
        uint64_t makespan = run->frames[i].makespan_ns;
        uint64_t off = makespan > median_ns ? makespan - median_ns : median_ns - makespan;
        if (off < least) {
            least = off;
            best = i;
        }
    }
    return best;
}

// The options show num_frames frames behind each other, with their launches, if these are known.
static braid_timeline_options timeline_options(const struct run *run, const braid_interval *first,
                                               const braid_interval *launches, size_t num_frames)
{
    braid_timeline_options options = dot_cost_timeline(run->file);
    options.unit = NULL;
    options.unit_ns = 0;
    options.intervals = first;
    options.num_frames = num_frames;
    if (run->has_launches) {
        options.launches = launches;
        options.error_ns = run->error_ns;
    }
    return options;
}

static enum exit_status write_timeline(const struct run_arguments *arguments, const struct run *run,
                                       uint64_t median_ns)
{
    uint64_t typical = find_typical(run, arguments->num_frames, median_ns);
    uint64_t slot = typical % KEPT_FRAMES;
    braid_timeline_options options =
        timeline_options(run, run->kept + slot * run->file->num_nodes, &run->launches[slot], 1);
    return output_write_drawing(arguments->timeline, braid_exec_get_schedule(run->exec),
                                BRAID_DRAWING_SVG, &options);
}

// The frames kept, put into the order in which they ran.
static enum exit_status write_trace(const struct run_arguments *arguments, const struct run *run)
{
    uint32_t num_nodes = run->file->num_nodes;
    uint64_t num = arguments->num_frames < KEPT_FRAMES ? arguments->num_frames : KEPT_FRAMES;
    braid_interval launches[KEPT_FRAMES] = { { 0 } };
    braid_interval *ordered = calloc((size_t)num_nodes * num, sizeof(*ordered));
    if (!ordered)
        return fail(EXIT_FAILED, "out of memory for a trace");
    for (uint64_t i = 0; i < num; i++) {
        uint64_t frame = arguments->num_frames - num + i;
        launches[i] = run->launches[frame % KEPT_FRAMES];
        memcpy(ordered + i * num_nodes, run->kept + frame % KEPT_FRAMES * num_nodes,
               num_nodes * sizeof(*ordered));
    }
    braid_timeline_options options = timeline_options(run, ordered, launches, num);
    enum exit_status status = output_write_drawing(
        arguments->trace, braid_exec_get_schedule(run->exec), BRAID_DRAWING_TRACE, &options);
    free(ordered);
    return status;
}

static enum exit_status write_page(const struct run_arguments *arguments, const struct run *run,
                                   uint64_t median_ns, uint64_t launch_ns)
{
    uint64_t typical = find_typical(run, arguments->num_frames, median_ns);
    struct report report = { .file = run->file,
                             .graph = run->graph,
                             .schedule = braid_exec_get_schedule(run->exec),
                             .options = run->plan,
                             .measured = run->kept + typical % KEPT_FRAMES * run->file->num_nodes,
                             .measured_ns = median_ns,
                             .launch_ns = launch_ns };
    if (run->has_launches) {
        report.launch = &run->launches[typical % KEPT_FRAMES];
        report.error_ns = run->error_ns;
    }
    braid_exec_info exec;
    braid_exec_get_info(run->exec, &exec);
    report.exec = &exec;
    braid_device_info device;
    braid_device_get_info(run->device, &device);
    report.options.costs = device.costs[exec.mode];
    return report_page_write(arguments->page, &report);
}

enum exit_status run_report(const struct run_arguments *arguments, const struct run *run)
{
    uint64_t num = arguments->num_frames;
    uint64_t *values = calloc(num, sizeof(*values));
    if (!values)
        return fail(EXIT_FAILED, "out of memory for %" PRIu64 " frames", num);
    for (uint64_t i = 0; i < num; i++)
        values[i] = run->frames[i].makespan_ns;
    braid_spread makespan = find_spread(values, num);
    for (uint64_t i = 0; i < num; i++)
        values[i] = run->frames[i].launch_ns;
    braid_spread launch = find_spread(values, num);
    free(values);
    enum exit_status status = EXIT_DONE;
    if (arguments->json)
        status = write_json(arguments, run, &makespan, &launch);
    if (arguments->timeline && status == EXIT_DONE)
        status = write_timeline(arguments, run, makespan.median_ns);
    if (arguments->trace && status == EXIT_DONE)
        status = write_trace(arguments, run);
    if (arguments->page && status == EXIT_DONE)
        status = write_page(arguments, run, makespan.median_ns, launch.median_ns);
    if (status == EXIT_DONE && run_arguments_on_stdout(arguments) == 0) {
        print_report(arguments, run, &makespan, &launch);
        if (arguments->is_profiled)
            status = run_profile_print(run);
    }
    return status;
}
