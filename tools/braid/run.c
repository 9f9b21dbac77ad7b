// SPDX-License-Identifier: Apache-2.0
// braid run: replays the graph of a file on a device, each node busy for its cost.
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

#include "commands.h"
#include "dot_file.h"
#include "frames.h"
#include "graph_costs.h"
#include "output.h"
#include "progress.h"
#include "report_record.h"
#include "run_arguments.h"
#include "run_profile.h"
#include "run_record.h"
#include "run_report.h"
#include "task_graph.h"
#include "time_scale.h"
#include "way_file.h"

// Says how long the run takes where that is long, as nothing may be seen until its end.
static void announce(const struct run_arguments *arguments, const struct run *run)
{
    braid_schedule_info plan;
    braid_schedule_get_info(braid_exec_get_schedule(run->exec), &plan);
    double seconds = (double)plan.makespan_ns * 1e-9 * (double)arguments->num_frames;
    if (seconds <= 10)
        return;
    bool in_seconds = seconds < 120, in_minutes = seconds < 600 * 60;
    double length = in_seconds ? seconds : seconds / (in_minutes ? 60 : 3600);
    const char *unit = in_seconds ? "s" : (in_minutes ? "min" : "h");
    fprintf(stderr,
            "braid: at least %.0f %s for %" PRIu64
            " frame%s; --frames and --time-scale shorten it\n",
            length, unit, arguments->num_frames, output_plural(arguments->num_frames));
}

static enum exit_status run_frames(const struct run_arguments *arguments, struct run *run)
{
    for (uint64_t i = 0; i < arguments->num_frames; i++) {
        progress_show("running", i, arguments->num_frames);
        enum exit_status status =
            frame_run(run->exec, run->graph, &run->memory, run->file, i, &run->frames[i]);
        if (status != EXIT_DONE)
            return status;
        if (run->kept)
            memcpy(run->kept + i % KEPT_FRAMES * run->file->num_nodes, run->memory.on_host,
                   run->memory.bytes);
    }
    progress_clear();
    return EXIT_DONE;
}

static braid_status create_exec(const struct run_arguments *arguments, struct run *run,
                                braid_exec_options *options)
{
    braid_schedule *saved = NULL;
    braid_device *device = run->group ? run->group : run->device;
    braid_status status = BRAID_OK;
    if (arguments->saved)
        status = braid_schedule_load(run->graph, arguments->saved, &saved);
    options->schedule = saved;
    if (!status)
        status = braid_exec_create(device, run->graph, options, &run->exec);
    braid_schedule_destroy(saved); // the exec has its own
    return status;
}

static enum exit_status save_plan(const struct run_arguments *arguments, const struct run *run)
{
    const braid_schedule *schedule = braid_exec_get_schedule(run->exec);
    if (!arguments->saved_to ||
        braid_schedule_save(schedule, run->graph, arguments->saved_to) == BRAID_OK)
        return EXIT_DONE;
    return fail_in_library();
}

static enum exit_status run_exec(const struct run_arguments *arguments, struct run *run)
{
    enum exit_status status = task_graph_create_with(run->file, frame_add_node, &run->memory,
                                                     run->memory.buffers, &run->graph);
    if (status != EXIT_DONE)
        return status;
    braid_exec_options options = { .mode = arguments->mode,
                                   .max_lanes = arguments->plan.max_lanes,
                                   .fixed_lanes = arguments->plan.fixed_lanes,
                                   .frames_kept = arguments->is_profiled || arguments->costs
                                                      ? KEPT_FRAMES
                                                      : 0 };
    if (arguments->tuned) {
        const uint32_t profile = options.frames_kept;
        status = way_file_read(arguments->tuned, run->device, run->graph, &options);
        options.frames_kept = profile;
        if (status != EXIT_DONE) {
            braid_graph_destroy(run->graph);
            return status;
        }
    }
    run->plan = (braid_schedule_options){ .max_lanes = options.max_lanes,
                                          .fixed_lanes = options.fixed_lanes,
                                          .ignore_costs = options.ignore_costs };
    progress_show("planning", 0, 0);
    braid_status created = create_exec(arguments, run, &options);
    progress_clear();
    if (created != BRAID_OK) {
        status = task_graph_fail(run->file, created);
    } else {
        announce(arguments, run);
        status = save_plan(arguments, run);
        if (status == EXIT_DONE)
            status = run_frames(arguments, run);
        if (status == EXIT_DONE && arguments->is_profiled && run->kept)
            status = run_profile_take_intervals(run, arguments->num_frames);
        if (status == EXIT_DONE)
            status = run_report(arguments, run);
        if (status == EXIT_DONE && arguments->costs)
            status = graph_costs_measure(arguments->costs, run);
        braid_exec_destroy(run->exec);
    }
    braid_graph_destroy(run->graph);
    return status;
}

// The same device several times.
static enum exit_status make_group(const struct run_arguments *arguments, struct run *run)
{
    braid_device *devices[64];
    if (arguments->num_places < 2)
        return EXIT_DONE;
    for (uint32_t i = 0; i < arguments->num_places; i++)
        devices[i] = run->device;
    if (braid_device_open_group(devices, arguments->num_places, &run->group) != BRAID_OK)
        return fail_in_library();
    return frame_memory_add_buffers(&run->memory, run->file);
}

static enum exit_status run_on_device(const struct run_arguments *arguments,
                                      const struct dot_file *file)
{
    struct run run = { .file = file };
    braid_device_options options = { .backend = arguments->backend,
                                     .ordinal = arguments->ordinal,
                                     .num_workers = arguments->num_workers };
    bool is_kept = arguments->timeline || arguments->trace || arguments->page;
    run.frames = calloc(arguments->num_frames, sizeof(*run.frames));
    if (is_kept)
        run.kept = calloc((size_t)file->num_nodes * KEPT_FRAMES, sizeof(*run.kept));
    enum exit_status status = EXIT_DONE;
    if (!run.frames || (is_kept && !run.kept))
        status = fail(EXIT_FAILED, "out of memory for %" PRIu64 " frames", arguments->num_frames);
    if (status == EXIT_DONE && braid_device_open(&options, &run.device) != BRAID_OK)
        status = fail_in_library();
    if (status == EXIT_DONE) {
        status = frame_memory_create(run.device, file->num_nodes, &run.memory);
        if (status == EXIT_DONE) {
            status = make_group(arguments, &run);
            if (status == EXIT_DONE)
                status = run_exec(arguments, &run);
            braid_device_close(run.group);
            frame_memory_destroy(&run.memory);
        }
        braid_device_close(run.device);
    }
    free(run.kept);
    free(run.frames);
    return status;
}

enum exit_status command_run(int argc, char **argv)
{
    struct run_arguments arguments = { .num_frames = 100 };
    enum exit_status status = run_arguments_read(argc, argv, &arguments);
    if (status != EXIT_DONE || arguments.is_help)
        return status;
    if (report_is_record(arguments.path))
        return run_record(&arguments, argv);
    struct dot_file file;
    status = dot_file_read(arguments.path, &arguments.limits, &file);
    if (status != EXIT_DONE)
        return status;
    if (arguments.time_scale == 0)
        arguments.time_scale = time_scale_default(&file);
    if (file.num_nodes == 0)
        status = fail_in_file(file.text.path, 1, "no nodes: there is nothing to run");
    if (status == EXIT_DONE)
        status = time_scale_apply(&file, arguments.time_scale);
    if (status == EXIT_DONE)
        status = run_on_device(&arguments, &file);
    dot_file_finish(&file);
    return status;
}
