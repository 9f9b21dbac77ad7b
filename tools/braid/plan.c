// SPDX-License-Identifier: Apache-2.0
// braid plan: plans the graph of a file and prints, draws or writes down the plan.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/costs.h>

#include "arguments.h"
#include "clock.h"
#include "commands.h"
#include "dot_cost.h"
#include "json_file.h"
#include "output.h"
#include "places.h"
#include "plan_json.h"
#include "plan_table.h"
#include "progress.h"
#include "task_graph.h"

static const char help[] =
    "usage: braid plan FILE.dot [options]\n"
    "\n"
    "Plans the graph in FILE ('-': standard input) onto lanes and prints the plan's figures.\n"
    "Nodes may carry cost=N, a number in any unit; a node without one costs 1, a host\n"
    "call 100, and 0 or an empty node is next to nothing.\n"
    "\n"
    "  --lanes K         use at most K lanes, and as many as there is work for\n"
    "                    (without it, as many as pay)\n"
    "  --sync-cost N     what a wait between lanes costs, in the file's unit (default 0)\n"
    "  --start-cost N    what starting a node takes (default 0)\n"
    "  --call-cost N     what it takes inside an island, a kernel of several nodes: those that "
    "the\n"
    "                    file says may be inside are planned so where that is shorter\n"
    "  --costs FILE      with the costs that 'braid run --costs FILE' measured, in "
    "nanoseconds\n" PLACES_HELP DOT_LIMITS_HELP
    "  --table           print behind the figures which node runs on which lane, and when\n"
    "  --dot OUT         draw the plan: braid plan FILE --dot - | dot -Tsvg -o plan.svg\n"
    "  --svg OUT         draw the plan as a timeline, for any browser and any number of nodes\n"
    "  --trace OUT       write the plan as a trace, for Perfetto or Chrome\n"
    "  --json OUT        write the plan as JSON ('-': standard output, in place of the figures)\n"
    "  --verbose         print how long each step takes, on standard error\n"
    "  --help            print this text\n";

struct plan_arguments {
    const char *path, *costs, *drawing, *timeline, *trace, *json;
    braid_schedule_options options;
    double wait, start, call; // costs in units of the file
    struct place_arguments places;
    struct dot_limits limits;
    bool is_table;
};

static enum exit_status be_verbose(char *text, void *place)
{
    (void)text, (void)place;
    progress_be_verbose();
    return EXIT_DONE;
}

static const struct argument known_options[] = {
    ARGUMENT_READ("lanes", struct plan_arguments, options, argument_read_lanes),
    ARGUMENT_COST("sync-cost", struct plan_arguments, wait, 0),
    ARGUMENT_COST("start-cost", struct plan_arguments, start, 0),
    ARGUMENT_COST("call-cost", struct plan_arguments, call, 1),
    ARGUMENT_TEXT("costs", struct plan_arguments, costs),
    PLACES_ARGUMENTS(struct plan_arguments, places),
    DOT_LIMITS_ARGUMENT(struct plan_arguments, limits),
    ARGUMENT_FLAG("table", struct plan_arguments, is_table),
    ARGUMENT_TEXT("dot", struct plan_arguments, drawing),
    ARGUMENT_TEXT("svg", struct plan_arguments, timeline),
    ARGUMENT_TEXT("trace", struct plan_arguments, trace),
    ARGUMENT_TEXT("json", struct plan_arguments, json),
    ARGUMENT_CALL("verbose", struct plan_arguments, options, be_verbose),
    { .name = NULL },
};

static int count_on_stdout(const struct plan_arguments *arguments)
{
    return output_is_stdout(arguments->drawing) + output_is_stdout(arguments->timeline) +
           output_is_stdout(arguments->trace) + output_is_stdout(arguments->json);
}

static enum exit_status read_arguments(int argc, char **argv, struct plan_arguments *arguments,
                                       bool *out_is_help)
{
    enum exit_status status =
        arguments_read("plan", help, argc, argv, known_options, arguments, out_is_help);
    if (status != EXIT_DONE || *out_is_help)
        return status;
    if (count_on_stdout(arguments) && arguments->is_table)
        return fail(EXIT_BAD_FILE, "--table goes to standard output, where another result goes");
    if (count_on_stdout(arguments) > 1)
        return fail(EXIT_BAD_FILE,
                    "only one of --dot, --svg, --trace and --json can go to standard output");
    return argument_read_file("plan", argc, argv, optind, &arguments->path);
}

// In the file's unit.
static void print_time(const char *what, const struct dot_file *file, uint64_t time_ns)
{
    struct dot_unit unit = dot_cost_unit(file);
    printf("%-10s %s%s%s\n", what, dot_cost_time(file, time_ns).text, unit.space, unit.name);
}

static void print_figures(const struct dot_file *file, const braid_schedule *schedule,
                          uint64_t plan_ns)
{
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    double ratio = info.bound_ns ? (double)info.makespan_ns / (double)info.bound_ns : 1;
    printf("graph      %" PRIu32 " node%s, %" PRIu32 " edge%s\n", file->num_nodes,
           output_plural(file->num_nodes), file->num_edges, output_plural(file->num_edges));
    if (info.num_left_out)
        printf("left out   %" PRIu32 " node%s that no output needs\n", info.num_left_out,
               output_plural(info.num_left_out));
    output_print_missing_costs(file, false);
    if (info.num_guessed)
        printf("guesses    %" PRIu32 " cost%s: planned for concurrency, times are guesses too\n",
               info.num_guessed, output_plural(info.num_guessed));
    printf("lanes      %" PRIu32 "\n", info.num_lanes);
    printf("waits      %" PRIu64 "\n", info.num_waits);
    printf("records    %" PRIu64 "\n", info.num_records);
    if (info.num_islands)
        printf("islands    %" PRIu32 " of %" PRIu32 " node%s\n", info.num_islands,
               info.num_island_nodes, output_plural(info.num_island_nodes));
    print_time("makespan", file, info.makespan_ns);
    print_time("bound", file, info.bound_ns);
    printf("ratio      %.4f\n", ratio);
    print_time("one lane", file, info.one_lane_ns);
    places_print(file, schedule);
    output_print_limit(schedule);
    printf("planned in %.3f ms, verified\n", (double)plan_ns / 1e6);
}

static enum exit_status write_results(const struct plan_arguments *arguments,
                                      const struct dot_file *file, const braid_graph *graph,
                                      const braid_schedule *schedule, uint64_t plan_ns)
{
    enum exit_status status = EXIT_DONE;
    if (arguments->drawing)
        status = output_write_drawing(arguments->drawing, schedule, BRAID_DRAWING_DOT, NULL);
    braid_timeline_options options = dot_cost_timeline(file);
    if (arguments->timeline && status == EXIT_DONE)
        status = output_write_drawing(arguments->timeline, schedule, BRAID_DRAWING_SVG, &options);
    if (arguments->trace && status == EXIT_DONE)
        status = output_write_drawing(arguments->trace, schedule, BRAID_DRAWING_TRACE, &options);
    if (arguments->json && status == EXIT_DONE)
        status = plan_json_write(arguments->json, file, schedule, graph, plan_ns);
    progress_clear();
    if (status == EXIT_DONE && count_on_stdout(arguments) == 0)
        print_figures(file, schedule, plan_ns);
    if (status == EXIT_DONE && arguments->is_table)
        status = plan_table_print(file, schedule, graph);
    return status;
}

static enum exit_status load_costs(const char *path, braid_graph *graph)
{
    if (!path)
        return EXIT_DONE;
    if (json_file_is_stdin(path) && feof(stdin))
        return fail(EXIT_BAD_FILE, "--costs: the graph was read from standard input");
    path = json_file_is_stdin(path) ? "/dev/stdin" : path;
    return braid_graph_load_costs(graph, NULL, path) == BRAID_OK
               ? EXIT_DONE
               : fail(EXIT_BAD_FILE, "%s", braid_error_get_message());
}

static enum exit_status plan_file(const struct plan_arguments *arguments, struct dot_file *file)
{
    braid_graph *graph;
    enum exit_status status = task_graph_create(file, task_graph_add_to_plan, NULL, &graph);
    free(file->edges); // the graph has them, and nobody reads them here again
    file->edges = NULL;
    if (status != EXIT_DONE)
        return status;
    braid_schedule *schedule = NULL;
    status = load_costs(arguments->costs, graph);
    if (status != EXIT_DONE) {
        braid_graph_destroy(graph);
        return status;
    }
    const braid_cost_model ordering = {
        .wait_ns = argument_cost_ns(arguments->wait, file->unit_ns),
        .node_ns = argument_cost_ns(arguments->start, file->unit_ns),
        .island_call_ns = argument_cost_ns(arguments->call, file->unit_ns),
        .default_cost_ns = file->unit_ns,
    };
    braid_schedule_options options = arguments->options;
    options.costs = &ordering;
    progress_show("planning", 0, 0);
    uint64_t start = clock_now_ns();
    braid_status planned = braid_schedule_create(graph, &options, &schedule);
    uint64_t plan_ns = clock_now_ns() - start;
    progress_show("verifying", 0, 0);
    if (planned == BRAID_OK)
        planned = braid_schedule_verify(schedule, graph);
    progress_show("writing", 0, 0);
    status = planned == BRAID_OK ? write_results(arguments, file, graph, schedule, plan_ns)
                                 : task_graph_fail(file, planned);
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
    return status;
}

enum exit_status command_plan(int argc, char **argv)
{
    struct plan_arguments arguments = { 0 };
    bool is_help;
    enum exit_status status = read_arguments(argc, argv, &arguments, &is_help);
    if (status != EXIT_DONE || is_help)
        return status;
    struct dot_file file;
    struct places places = { 0 };
    status = dot_file_read(arguments.path, &arguments.limits, &file);
    if (status != EXIT_DONE)
        return status;
    if (arguments.costs)
        status = dot_cost_take_measured(&file);
    if (status == EXIT_DONE)
        status = places_create(&arguments.places, file.unit_ns, &places);
    arguments.options.places = places.model.num_places > 1 ? &places.model : NULL;
    if (status == EXIT_DONE)
        status = plan_file(&arguments, &file);
    places_finish(&places);
    dot_file_finish(&file);
    return status;
}
