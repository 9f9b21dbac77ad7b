// SPDX-License-Identifier: Apache-2.0
// braid report: a page that says what limits the planned frame, and what would change it.

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

struct report_arguments {
    const char *path, *page;
    braid_schedule_options options;
    uint64_t wait; // a wait's cost, in units of the file
    struct dot_limits limits;
};

static const struct argument known_options[] = {
    ARGUMENT_TEXT("out", struct report_arguments, page),
    ARGUMENT_READ("lanes", struct report_arguments, options, argument_read_lanes),
    ARGUMENT_NUMBER("sync-cost", struct report_arguments, wait, 0, (uint64_t)1 << 30),
    DOT_LIMITS_ARGUMENT(struct report_arguments, limits),
    { .name = NULL },
};

static enum exit_status report_file(const struct report_arguments *arguments,
                                    const struct dot_file *file)
{
    struct report report = { .file = file, .options = arguments->options };
    enum exit_status status = task_graph_create(file, task_graph_add_to_plan, NULL, &report.graph);
    if (status != EXIT_DONE)
        return status;
    braid_schedule *schedule = NULL;
    const braid_cost_model ordering = { .wait_ns = arguments->wait * file->unit_ns,
                                        .default_cost_ns = file->unit_ns };
    report.options.costs = &ordering;
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
    bool is_help;
    enum exit_status status =
        arguments_read("report", help, argc, argv, known_options, &arguments, &is_help);
    if (status != EXIT_DONE || is_help)
        return status;
    status = argument_read_file("report", argc, argv, optind, &arguments.path);
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
