// SPDX-License-Identifier: Apache-2.0
// braid report: a page that says what limits the planned frame, and what would change it.

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <braid/schedule.h>

#include "arguments.h"
#include "commands.h"
#include "dot_cost.h"
#include "output.h"
#include "progress.h"
#include "report_page.h"
#include "report_record.h"
#include "task_graph.h"

static const char help[] =
    "usage: braid report FILE.dot --out OUT.html [options]\n"
    "       braid report RECORD [--out OUT.html] [--json OUT] [options]\n"
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
    "0)\n" DOT_LIMITS_HELP "\n"
    "Of a record (braid record), it tells which orders of a frame the memory of its kernels\n"
    "demands, and how long the frame is without the others. No device is needed.\n"
    "\n"
    "  --json OUT        write the report as JSON\n"
    "  --frame N         which frame, from 0 (default: the last)\n"
    "  --unwatched       nobody looks at memory of the host before a frame has ended\n"
    "  --setter NAME     a kernel that only hands a word to the conditions of loops\n"
    "  --help            print this text\n";

struct report_arguments {
    const char *path, *page;
    braid_schedule_options options;
    double wait; // a wait's cost, in units of the file
    struct dot_limits limits;
    struct report_record record;
};

static const struct argument known_options[] = {
    ARGUMENT_TEXT("out", struct report_arguments, page),
    ARGUMENT_READ("lanes", struct report_arguments, options, argument_read_lanes),
    ARGUMENT_COST("sync-cost", struct report_arguments, wait, 0),
    DOT_LIMITS_ARGUMENT(struct report_arguments, limits),
    ARGUMENT_TEXT("json", struct report_arguments, record.json),
    ARGUMENT_NUMBER("frame", struct report_arguments, record.frame, 0, UINT32_MAX - 1),
    ARGUMENT_FLAG("unwatched", struct report_arguments, record.is_unwatched),
    ARGUMENT_TEXT("setter", struct report_arguments, record.setter),
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
    const braid_cost_model ordering = { .wait_ns = argument_cost_ns(arguments->wait, file->unit_ns),
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
    struct report_arguments arguments = { .record.frame = REPORT_LAST_FRAME };
    bool is_help;
    enum exit_status status =
        arguments_read("report", help, argc, argv, known_options, &arguments, &is_help);
    if (status != EXIT_DONE || is_help)
        return status;
    status = argument_read_file("report", argc, argv, optind, &arguments.path);
    if (status == EXIT_DONE && !output_is_stdout(arguments.path) &&
        access(arguments.path, R_OK) != 0)
        return fail(EXIT_BAD_FILE, "cannot open %s: %s", arguments.path, strerror(errno));
    if (status == EXIT_DONE && report_is_record(arguments.path)) {
        arguments.record.path = arguments.path;
        arguments.record.page = arguments.page;
        return report_record_write(&arguments.record);
    }
    struct dot_file file;
    if (status == EXIT_DONE &&
        (arguments.record.json || arguments.record.setter || arguments.record.is_unwatched ||
         arguments.record.frame != REPORT_LAST_FRAME))
        return fail(EXIT_BAD_FILE,
                    "%s is no record: --json, --frame, --unwatched and --setter "
                    "are of records",
                    arguments.path);
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
