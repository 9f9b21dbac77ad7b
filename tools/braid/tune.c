// SPDX-License-Identifier: Apache-2.0
// braid tune: finds by trial how the graph of a file is best played on a device.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <braid/braid.h>

#include "arguments.h"
#include "commands.h"
#include "dot_cost.h"
#include "frames.h"
#include "output.h"
#include "progress.h"
#include "run_arguments.h"
#include "task_graph.h"
#include "time_scale.h"
#include "way_file.h"

static const char help[] =
    "usage: braid tune FILE.dot [options]\n"
    "\n"
    "Runs the graph in FILE ('-': standard input), each node busy for its cost, to measure its\n"
    "costs, plans it with them for each mode on several numbers of lanes, with and without a\n"
    "search for a shorter plan, early starts and islands, times what promises most in turns,\n"
    "and prints all that it tried, the fastest first.\n"
    "\n"
    "  --budget MS       milliseconds of timing, besides measuring costs and planning (default\n"
    "                    2000); however few, each way runs twice, the faster half three times\n"
    "                    and half of that four times\n"
    "  --lanes K         try at most K lanes (default 32)\n"
    "  --device NAME     cpu, cuda or hip, or NAME:ORDINAL (default: the best one here)\n"
    "  --workers N       worker threads of the CPU device (default: one a core, at least 2)\n"
    "  --time-scale X    how many nanoseconds a unit of cost lasts (default: as for 'braid "
    "run')\n" DOT_LIMITS_HELP
    "  --out FILE        keep the result, for 'braid run --tuned FILE'; it is refused for another\n"
    "                    graph, device or version of Braid ('-': standard output; the table then\n"
    "                    goes to standard error)\n"
    "  --help            print this text\n";

struct tuning {
    struct run_arguments arguments; // device, workers, time scale, path
    const char *out;
    uint64_t budget_ms;
    uint32_t max_lanes;
    json_t *trials;
    const struct dot_file *file;
};

static const struct argument known_options[] = {
    ARGUMENT_NUMBER("budget", struct tuning, budget_ms, 1, 3600000),
    ARGUMENT_COUNT("lanes", struct tuning, max_lanes, 1, 1024),
    ARGUMENT_READ("device", struct tuning, arguments, run_arguments_read_device),
    ARGUMENT_COUNT("workers", struct tuning, arguments.num_workers, 1, 1024),
    ARGUMENT_FACTOR("time-scale", struct tuning, arguments.time_scale),
    DOT_LIMITS_ARGUMENT(struct tuning, arguments.limits),
    ARGUMENT_TEXT("out", struct tuning, out),
    { .name = NULL },
};

static void show_progress(uint64_t used_ns, uint64_t total_ns, void *user)
{
    const struct tuning *tuning = user;
    if (used_ns == 0 && total_ns > tuning->budget_ms * 1000000) {
        progress_clear();
        fprintf(stderr,
                "tuning takes about %.1f s, longer than the budget: each way runs two frames at "
                "least\n",
                (double)total_ns / 1e9);
    }
    progress_show("tuning", used_ns, total_ns);
}

static void print_trial(const braid_tune_trial *trial, void *user)
{
    struct tuning *tuning = user;
    const struct dot_clock clock = dot_cost_clock(tuning->file);
    char planned[32] = "-"; // the times of a plan without costs are no times
    if (!trial->way->ignore_costs)
        snprintf(planned, sizeof(planned), "%.*f", clock.places,
                 (double)trial->planned_ns / clock.ns);
    progress_clear();
    FILE *table = output_is_stdout(tuning->out) ? stderr : stdout;
    if (json_array_size(tuning->trials) == 0)
        fprintf(table, "%*s%s    least     most   planned  frames\n", 12 - (int)strlen(clock.name),
                "frame, ", clock.name);
    fprintf(table, "%c %10.*f %8.*f %8.*f %9s %7" PRIu32 "  %s%s\n", trial->is_best ? '*' : ' ',
            clock.places, (double)trial->frame.median_ns / clock.ns, clock.places,
            (double)trial->frame.least_ns / clock.ns, clock.places,
            (double)trial->frame.most_ns / clock.ns, planned, trial->frames_timed, trial->name,
            trial->was_dropped ? " (left out half-way)" : "");
    json_array_append_new(tuning->trials,
                          json_pack("{s:s, s:I, s:I, s:I, s:I, s:b}", "name", trial->name, "lanes",
                                    (json_int_t)trial->num_lanes, "median_ns",
                                    (json_int_t)trial->frame.median_ns, "planned_ns",
                                    (json_int_t)trial->planned_ns, "frames",
                                    (json_int_t)trial->frames_timed, "is_best", trial->is_best));
}

static enum exit_status tune_graph(struct tuning *tuning, braid_device *device, braid_graph *graph,
                                   const struct dot_file *file)
{
    braid_exec_options way;
    const braid_tune_options options = { .budget_ns = tuning->budget_ms * 1000000,
                                         .max_lanes = tuning->max_lanes,
                                         .report = print_trial,
                                         .progress = show_progress,
                                         .user = tuning };
    progress_show("tuning", 0, 0);
    braid_status tuned = braid_graph_tune(graph, device, &options, &way);
    progress_clear();
    if (tuned != BRAID_OK)
        return task_graph_fail(file, tuned);
    return tuning->out
               ? way_file_write(tuning->out, device, graph, &way, json_incref(tuning->trials))
               : EXIT_DONE;
}

static enum exit_status tune_on_device(struct tuning *tuning, const struct dot_file *file)
{
    const braid_device_options options = { .backend = tuning->arguments.backend,
                                           .ordinal = tuning->arguments.ordinal,
                                           .num_workers = tuning->arguments.num_workers };
    braid_device *device;
    if (braid_device_open(&options, &device) != BRAID_OK)
        return fail_in_library();
    struct frame_memory memory;
    enum exit_status status = frame_memory_create(device, file->num_nodes, &memory);
    if (status == EXIT_DONE) {
        braid_graph *graph = NULL;
        status = task_graph_create(file, frame_add_node, &memory, &graph);
        if (status == EXIT_DONE)
            status = tune_graph(tuning, device, graph, file);
        braid_graph_destroy(graph);
        frame_memory_destroy(&memory);
    }
    braid_device_close(device);
    return status;
}

enum exit_status command_tune(int argc, char **argv)
{
    struct tuning tuning = { .budget_ms = 2000 };
    bool is_help;
    enum exit_status status =
        arguments_read("tune", help, argc, argv, known_options, &tuning, &is_help);
    if (status != EXIT_DONE || is_help)
        return status;
    status = argument_read_file("tune", argc, argv, optind, &tuning.arguments.path);
    struct dot_file file;
    tuning.file = &file;
    if (status == EXIT_DONE)
        status = dot_file_read(tuning.arguments.path, &tuning.arguments.limits, &file);
    if (status != EXIT_DONE)
        return status;
    if (tuning.arguments.time_scale == 0)
        tuning.arguments.time_scale = time_scale_default(&file);
    if (file.num_nodes == 0)
        status = fail_in_file(file.text.path, 1, "no nodes: there is nothing to run");
    if (status == EXIT_DONE)
        status = time_scale_apply(&file, tuning.arguments.time_scale);
    tuning.trials = json_array();
    if (status == EXIT_DONE)
        status = tune_on_device(&tuning, &file);
    json_decref(tuning.trials);
    dot_file_finish(&file);
    return status;
}
