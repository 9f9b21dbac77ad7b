// SPDX-License-Identifier: Apache-2.0
// braid report: a page that says what limits the planned frame, and what would change it.
#include <stdio.h>

#include <braid/schedule.h>

#include "arguments.h"
#include "commands.h"
#include "dot_cost.h"
#include "progress.h"
#include "report_page.h"
#include "task_graph.h"

static const char help[] =
    "usage: braid report FILE.dot --out OUT.html [options]\n"
    "\n"
    "Plans the graph in FILE ('-': standard input) and writes one page of HTML: the plan as a\n"
    "timeline, what limits the frame, the nodes that matter, what each wait costs, and what would\n"
    "change the frame. 'braid run --report OUT.html' writes the same with a measured frame "
    "beside.\n"
    "\n"
    "  --out OUT         where the page goes ('-': standard output)\n"
    "  --lanes K         use at most K lanes, and as many as there is work for\n"
    "                    (without it, as many as pay)\n"
    "  --sync-cost N     what a wait between lanes costs, in the file's unit (default "
    "0)\n" DOT_LIMITS_HELP "  --help            print this text\n";

enum { OPTION_OUT = 256, OPTION_LANES, OPTION_SYNC_COST };

static const struct option long_options[] = {
    { "out", required_argument, NULL, OPTION_OUT },
    { "lanes", required_argument, NULL, OPTION_LANES },
    { "sync-cost", required_argument, NULL, OPTION_SYNC_COST },
    DOT_LIMITS_OPTION,
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

struct report_arguments {
    const char *path, *page;
    braid_schedule_options options;
    struct dot_limits limits;
    bool is_help;
};

static enum exit_status take_option(int option, struct report_arguments *arguments)
{
    uint64_t number = 0;
    enum exit_status status = EXIT_DONE;
    switch (option) {
    case OPTION_OUT:
        arguments->page = optarg;
        return EXIT_DONE;
    case OPTION_LANES:
        status = argument_read_number("--lanes", optarg, 1, 65535, &number);
        arguments->options.max_lanes = (uint32_t)number;
        arguments->options.fixed_lanes = true;
        return status;
    case OPTION_SYNC_COST:
        return argument_read_number("--sync-cost", optarg, 0, (uint64_t)1 << 30,
                                    &arguments->options.costs.wait_ns);
    case DOT_LIMITS_MOST:
        return dot_limits_take_option(optarg, &arguments->limits);
    case 'h':
        arguments->is_help = true;
        return EXIT_DONE;
    default:
        return EXIT_BAD_FILE;
    }
}

static enum exit_status report_file(const struct report_arguments *arguments,
                                    const struct dot_file *file)
{
    struct report report = { .file = file, .options = arguments->options };
    enum exit_status status = task_graph_create(file, task_graph_add_to_plan, NULL, &report.graph);
    if (status != EXIT_DONE)
        return status;
    braid_schedule *schedule = NULL;
    report.options.costs.wait_ns *= file->unit_ns;
    report.options.costs.default_cost_ns = file->unit_ns;
    progress_show("planning", 0, 0);
    braid_status planned = braid_schedule_create(report.graph, &report.options, &schedule);
    if (planned == BRAID_OK)
        planned = braid_schedule_verify(schedule, report.graph);
    progress_clear();
    report.schedule = schedule;
    status = planned == BRAID_OK ? report_page_write(arguments->page, &report)
                                 : task_graph_fail(file, planned);
    braid_schedule_destroy(schedule);
    braid_graph_destroy(report.graph);
    return status;
}

enum exit_status command_report(int argc, char **argv)
{
    struct report_arguments arguments = { 0 };
    for (int option; (option = argument_next_option("report", argc, argv, long_options)) != -1;) {
        enum exit_status status = take_option(option, &arguments);
        if (status != EXIT_DONE)
            return status;
        if (arguments.is_help) {
            fputs(help, stdout);
            return EXIT_DONE;
        }
    }
    enum exit_status status = argument_read_file("report", argc, argv, optind, &arguments.path);
    struct dot_file file;
    if (status == EXIT_DONE && !arguments.page)
        return fail(EXIT_BAD_FILE, "where to? braid report FILE.dot --out OUT.html");
    if (status == EXIT_DONE)
        status = dot_file_read(arguments.path, &arguments.limits, &file);
    if (status != EXIT_DONE)
        return status;
    status = report_file(&arguments, &file);
    dot_file_finish(&file);
    return status;
}
