// SPDX-License-Identifier: Apache-2.0
// The command line of braid run.
#include "run_arguments.h"

#include <string.h>
#include <sys/stat.h>

#include "arguments.h"
#include "output.h"

static const char help[] =
    "usage: braid run FILE.dot [options]\n"
    "       braid run RECORD [--frames N] [--lanes K] [--device NAME] [--mode MODE]\n"
    "\n"
    "Plans the graph in FILE ('-': standard input), replays it with each node busy for its cost,\n"
    "checks the order of every edge in every frame by recorded times, and prints the measured\n"
    "makespan beside the planned one, in the file's unit where that is a time, else in us.\n"
    "\n"
    "Of a record with memory (braid record --memory begin:N), it runs the last frame again, on one "
    "lane\n"
    "and as planned, and compares the memory with that of the program behind its frame.\n"
    "\n"
    "  --frames N        how many frames to run (default 100)\n"
    "  --lanes K         use at most K lanes, and as many as there is work for\n"
    "                    (without it, as many as pay on the device)\n"
    "  --device NAME     cpu, cuda or hip, or NAME:ORDINAL (default: the best one here)\n"
    "  --places N        as N devices: each place is the device again, with lanes and memory of\n"
    "                    its own, and what nodes need from others is copied\n"
    "  --workers N       worker threads of the CPU device (default: one a core, at least 2)\n"
    "  --mode MODE       streams, or graph for the device's own replay (default: auto)\n"
    "  --time-scale X    how many nanoseconds a unit of cost lasts (default: as the file's\n"
    "                    cost_unit says; 1 without one; 1000 for units that are not "
    "times)\n" DOT_LIMITS_HELP
    "  --tuned FILE      run it as 'braid tune --out FILE' found to be best; not with --lanes,\n"
    "                    --mode or others that say how\n"
    "  --plan FILE       run it as planned in FILE, without planning; not with --lanes, --tuned "
    "or\n"
    "                    --report\n"
    "  --save-plan OUT   write the plan, for 'braid run --plan' of an equal graph\n"
    "  --costs OUT       measure what each node costs and write that, for 'braid plan --costs', "
    "to\n"
    "                    a file that is not there yet\n"
    "  --profile         keep the times of the last 16 frames: tell where they went, lane by "
    "lane,\n"
    "                    the longest nodes and waits; pictures and traces are then of these\n"
    "  --svg OUT         draw a frame as measured as a timeline: of the last 16, the one nearest\n"
    "                    to the median of all\n"
    "  --trace OUT       write the last 16 frames as a trace, for Perfetto or Chrome\n"
    "  --report OUT      write a page of HTML: as 'braid report', with the measured frame beside\n"
    "  --json OUT        write the results as JSON ('-': standard output, in place of the text)\n"
    "  --help            print this text\n";

enum exit_status run_arguments_read_device(char *text, void *into)
{
    static const char *const names[] = { "cpu", "cuda", "hip" };
    struct run_arguments *arguments = into;
    const char *colon = strchr(text, ':');
    const size_t length = colon ? (size_t)(colon - text) : strlen(text);
    uint64_t ordinal = 0;
    if (colon) {
        enum exit_status status =
            argument_read_number("the ordinal of --device", colon + 1, 0, 1023, &ordinal);
        if (status != EXIT_DONE)
            return status;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strlen(names[i]) != length || memcmp(text, names[i], length) != 0)
            continue;
        arguments->backend = names[i];
        arguments->ordinal = (uint32_t)ordinal;
        return EXIT_DONE;
    }
    return fail(EXIT_BAD_FILE, "--device takes cpu, cuda or hip, not '%.*s'", (int)length, text);
}

static enum exit_status read_mode(char *text, void *out_mode)
{
    static const struct {
        const char *name;
        braid_exec_mode mode;
    } modes[] = { { "auto", BRAID_MODE_AUTO },
                  { "streams", BRAID_MODE_STREAMS },
                  { "graph", BRAID_MODE_GRAPH } };
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(text, modes[i].name) == 0) {
            *(braid_exec_mode *)out_mode = modes[i].mode;
            return EXIT_DONE;
        }
    }
    return fail(EXIT_BAD_FILE, "--mode takes auto, streams or graph, not '%s'", text);
}

static const struct argument known_options[] = {
    ARGUMENT_NUMBER("frames", struct run_arguments, num_frames, 1, 1000000000),
    ARGUMENT_READ("lanes", struct run_arguments, plan, argument_read_lanes),
    { "device", ARGUMENT_IS_READ, 0, 0, 0, run_arguments_read_device },
    ARGUMENT_COUNT("places", struct run_arguments, num_places, 1, 64),
    ARGUMENT_COUNT("workers", struct run_arguments, num_workers, 1, 1024),
    ARGUMENT_READ("mode", struct run_arguments, mode, read_mode),
    ARGUMENT_FACTOR("time-scale", struct run_arguments, time_scale),
    DOT_LIMITS_ARGUMENT(struct run_arguments, limits),
    ARGUMENT_TEXT("tuned", struct run_arguments, tuned),
    ARGUMENT_TEXT("plan", struct run_arguments, saved),
    ARGUMENT_TEXT("save-plan", struct run_arguments, saved_to),
    ARGUMENT_TEXT("costs", struct run_arguments, costs),
    ARGUMENT_FLAG("profile", struct run_arguments, is_profiled),
    ARGUMENT_TEXT("svg", struct run_arguments, timeline),
    ARGUMENT_TEXT("trace", struct run_arguments, trace),
    ARGUMENT_TEXT("report", struct run_arguments, page),
    ARGUMENT_TEXT("json", struct run_arguments, json),
    { .name = NULL },
};

int run_arguments_on_stdout(const struct run_arguments *arguments)
{
    return output_is_stdout(arguments->costs) + output_is_stdout(arguments->timeline) +
           output_is_stdout(arguments->trace) + output_is_stdout(arguments->page) +
           output_is_stdout(arguments->json);
}

// Costs that somebody has may be meant to be read, as braid plan reads them: they are not replaced.
static enum exit_status keep_old_costs(const struct run_arguments *arguments)
{
    struct stat file;
    if (!arguments->costs || stat(arguments->costs, &file) != 0 || !S_ISREG(file.st_mode) ||
        file.st_size == 0 || output_is_stdout(arguments->costs))
        return EXIT_DONE;
    return fail(EXIT_BAD_FILE,
                "%s is there already, and 'braid run --costs' writes what it measures: remove the "
                "file first, or name another ('braid plan --costs' reads it)",
                arguments->costs);
}

// What a file of tuning says is how the graph is played, so nothing else can.
static enum exit_status check_tuned(const struct run_arguments *arguments)
{
    const struct {
        const char *name;
        bool is_given;
    } options[] = { { "--lanes", arguments->plan.fixed_lanes },
                    { "--mode", arguments->mode != BRAID_MODE_AUTO } };
    for (size_t i = 0; arguments->tuned && i < sizeof(options) / sizeof(options[0]); i++) {
        if (options[i].is_given)
            return fail(EXIT_BAD_FILE, "--tuned and %s both say how to play the graph: give one",
                        options[i].name);
    }
    return EXIT_DONE;
}

// A saved plan is one device's, and a report plans anew.
static enum exit_status check_saved(const struct run_arguments *arguments)
{
    if (arguments->saved && (arguments->plan.fixed_lanes || arguments->tuned || arguments->page))
        return fail(EXIT_BAD_FILE,
                    "--plan says how the graph is planned, and so %s does not go "
                    "with it",
                    arguments->tuned  ? "--tuned"
                    : arguments->page ? "--report"
                                      : "--lanes");
    if ((arguments->saved || arguments->saved_to) && arguments->num_places > 1)
        return fail(EXIT_BAD_FILE, "--plan and --save-plan are of one device, --places of several");
    return EXIT_DONE;
}

enum exit_status run_arguments_read(int argc, char **argv, struct run_arguments *arguments)
{
    enum exit_status status =
        arguments_read("run", help, argc, argv, known_options, arguments, &arguments->is_help);
    if (status != EXIT_DONE || arguments->is_help)
        return status;
    if (run_arguments_on_stdout(arguments) > 1)
        return fail(EXIT_BAD_FILE, "only one of --costs, --svg, --trace, --report and --json can "
                                   "go to standard output");
    if (arguments->num_places > 1 && (arguments->tuned || arguments->costs))
        return fail(EXIT_BAD_FILE, "--tuned and --costs are of one device, --places of several");
    if (arguments->num_places > 1 && (arguments->timeline || arguments->trace || arguments->page))
        return fail(EXIT_BAD_FILE, "a run with --places has no pictures: when copies ran is not "
                                   "known");
    status = check_tuned(arguments);
    if (status == EXIT_DONE)
        status = check_saved(arguments);
    if (status == EXIT_DONE)
        status = argument_read_file("run", argc, argv, optind, &arguments->path);
    return status == EXIT_DONE ? keep_old_costs(arguments) : status;
}
