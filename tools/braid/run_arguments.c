// SPDX-License-Identifier: Apache-2.0
// The command line of braid run.
#include "run_arguments.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "arguments.h"
#include "output.h"

static const char help[] =
    "usage: braid run FILE.dot [options]\n"
    "\n"
    "Plans the graph in FILE ('-': standard input), replays it with each node busy for its cost,\n"
    "checks the order of every edge in every frame by recorded times, and prints the measured\n"
    "makespan beside the planned one.\n"
    "\n"
    "  --frames N        how many frames to run (default 100)\n"
    "  --lanes K         use at most K lanes, and as many as there is work for\n"
    "                    (without it, as many as pay on the device)\n"
    "  --max-concurrency a lane for everything that may run at once, with the fewest waits\n"
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

enum {
    OPTION_FRAMES = 256,
    OPTION_LANES,
    OPTION_MAX_CONCURRENCY,
    OPTION_DEVICE,
    OPTION_PLACES,
    OPTION_WORKERS,
    OPTION_MODE,
    OPTION_TIME_SCALE,
    OPTION_TUNED,
    OPTION_COSTS,
    OPTION_PROFILE,
    OPTION_SVG,
    OPTION_TRACE,
    OPTION_REPORT,
    OPTION_JSON,
};

static const struct option long_options[] = {
    { "frames", required_argument, NULL, OPTION_FRAMES },
    { "lanes", required_argument, NULL, OPTION_LANES },
    { "max-concurrency", no_argument, NULL, OPTION_MAX_CONCURRENCY },
    { "device", required_argument, NULL, OPTION_DEVICE },
    { "places", required_argument, NULL, OPTION_PLACES },
    { "workers", required_argument, NULL, OPTION_WORKERS },
    { "mode", required_argument, NULL, OPTION_MODE },
    { "time-scale", required_argument, NULL, OPTION_TIME_SCALE },
    DOT_LIMITS_OPTION,
    { "tuned", required_argument, NULL, OPTION_TUNED },
    { "costs", required_argument, NULL, OPTION_COSTS },
    { "profile", no_argument, NULL, OPTION_PROFILE },
    { "svg", required_argument, NULL, OPTION_SVG },
    { "trace", required_argument, NULL, OPTION_TRACE },
    { "report", required_argument, NULL, OPTION_REPORT },
    { "json", required_argument, NULL, OPTION_JSON },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

enum exit_status run_arguments_read_device(char *text, struct run_arguments *arguments)
{
    char *colon = strchr(text, ':');
    uint64_t ordinal = 0;
    if (colon) {
        enum exit_status status =
            argument_read_number("the ordinal of --device", colon + 1, 0, 1023, &ordinal);
        if (status != EXIT_DONE)
            return status;
        *colon = '\0';
    }
    if (strcmp(text, "cpu") != 0 && strcmp(text, "cuda") != 0 && strcmp(text, "hip") != 0)
        return fail(EXIT_BAD_FILE, "--device takes cpu, cuda or hip, not '%s'", text);
    arguments->backend = text;
    arguments->ordinal = (uint32_t)ordinal;
    return EXIT_DONE;
}

static enum exit_status read_mode(const char *text, braid_exec_mode *out_mode)
{
    static const struct {
        const char *name;
        braid_exec_mode mode;
    } modes[] = { { "auto", BRAID_MODE_AUTO },
                  { "streams", BRAID_MODE_STREAMS },
                  { "graph", BRAID_MODE_GRAPH } };
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(text, modes[i].name) == 0) {
            *out_mode = modes[i].mode;
            return EXIT_DONE;
        }
    }
    return fail(EXIT_BAD_FILE, "--mode takes auto, streams or graph, not '%s'", text);
}

// An option whose value is a 32-bit number of at least 1.
static enum exit_status read_count(const char *option, uint64_t most, uint32_t *out_count)
{
    uint64_t number = 0;
    enum exit_status status = argument_read_number(option, optarg, 1, most, &number);
    if (status == EXIT_DONE)
        *out_count = (uint32_t)number;
    return status;
}

static enum exit_status take_option(int option, struct run_arguments *arguments)
{
    switch (option) {
    case OPTION_FRAMES:
        return argument_read_number("--frames", optarg, 1, 1000000000, &arguments->num_frames);
    case OPTION_LANES:
        arguments->plan.fixed_lanes = true;
        return read_count("--lanes", 65535, &arguments->plan.max_lanes);
    case OPTION_MAX_CONCURRENCY:
        arguments->plan.policy = BRAID_POLICY_MAX_CONCURRENCY;
        return EXIT_DONE;
    case OPTION_DEVICE:
        return run_arguments_read_device(optarg, arguments);
    case OPTION_PLACES:
        return read_count("--places", 64, &arguments->num_places);
    case OPTION_WORKERS:
        return read_count("--workers", 1024, &arguments->num_workers);
    case OPTION_MODE:
        return read_mode(optarg, &arguments->mode);
    case OPTION_TIME_SCALE:
        return argument_read_factor("--time-scale", optarg, &arguments->time_scale);
    case DOT_LIMITS_MOST:
        return dot_limits_take_option(optarg, &arguments->limits);
    case OPTION_TUNED:
        arguments->tuned = optarg;
        return EXIT_DONE;
    case OPTION_COSTS:
        arguments->costs = optarg;
        return EXIT_DONE;
    case OPTION_PROFILE:
        arguments->is_profiled = true;
        return EXIT_DONE;
    case OPTION_SVG:
        arguments->timeline = optarg;
        return EXIT_DONE;
    case OPTION_TRACE:
        arguments->trace = optarg;
        return EXIT_DONE;
    case OPTION_REPORT:
        arguments->page = optarg;
        return EXIT_DONE;
    case OPTION_JSON:
        arguments->json = optarg;
        return EXIT_DONE;
    case 'h':
        fputs(help, stdout);
        arguments->is_help = true;
        return EXIT_DONE;
    default:
        return EXIT_BAD_FILE;
    }
}

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
                    { "--mode", arguments->mode != BRAID_MODE_AUTO },
                    { "--max-concurrency", arguments->plan.policy != BRAID_POLICY_DEFAULT } };
    for (size_t i = 0; arguments->tuned && i < sizeof(options) / sizeof(options[0]); i++) {
        if (options[i].is_given)
            return fail(EXIT_BAD_FILE, "--tuned and %s both say how to play the graph: give one",
                        options[i].name);
    }
    return EXIT_DONE;
}

enum exit_status run_arguments_read(int argc, char **argv, struct run_arguments *arguments)
{
    for (int option; (option = argument_next_option("run", argc, argv, long_options)) != -1;) {
        enum exit_status status = take_option(option, arguments);
        if (status != EXIT_DONE || arguments->is_help)
            return status;
    }
    if (run_arguments_on_stdout(arguments) > 1)
        return fail(EXIT_BAD_FILE, "only one of --costs, --svg, --trace, --report and --json can "
                                   "go to standard output");
    if (arguments->num_places > 1 && (arguments->tuned || arguments->costs))
        return fail(EXIT_BAD_FILE, "--tuned and --costs are of one device, --places of several");
    if (arguments->num_places > 1 && (arguments->timeline || arguments->trace || arguments->page))
        return fail(EXIT_BAD_FILE, "a run with --places has no pictures: when copies ran is not "
                                   "known");
    enum exit_status status = check_tuned(arguments);
    if (status == EXIT_DONE)
        status = argument_read_file("run", argc, argv, optind, &arguments->path);
    return status == EXIT_DONE ? keep_old_costs(arguments) : status;
}
