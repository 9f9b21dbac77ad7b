// SPDX-License-Identifier: Apache-2.0
// braid simulate: what a frame would take on other numbers of lanes, or if a node were faster.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/schedule.h>
#include <jansson.h>

#include "arguments.h"
#include "commands.h"
#include "dot_cost.h"
#include "graph_costs.h"
#include "output.h"
#include "places.h"
#include "plan_json.h"
#include "progress.h"
#include "simulate_ranks.h"
#include "task_graph.h"

static const char help[] =
    "usage: braid simulate FILE.dot [options]\n"
    "       braid simulate --ranks R,R... --pattern NAME [options]\n"
    "\n"
    "Plans the graph in FILE ('-': standard input) for several numbers of lanes, and tells what a\n"
    "frame takes on each; nothing is run. With --faster, beside what it would take then.\n"
    "\n"
    "  --lanes K,K...    at most so many lanes (default 1,2,4,8)\n"
    "  --faster NODE=X   as if the node of that id or name took one X-th of its cost, X of 0.5\n"
    "                    twice as long; may be given several times\n"
    "  --sync-cost N     what a wait between lanes costs, in the file's unit (default "
    "0)\n" PLACES_HELP DOT_LIMITS_HELP
    "  --json OUT        write the figures as JSON ('-': standard output, in place of the text)\n"
    "  --help            print this text\n" SIMULATE_RANKS_HELP;

enum { MOST_CASES = 64 };

struct faster {
    const char *node;
    double factor;
};

struct simulation {
    const char *path, *json;
    uint32_t lanes[MOST_CASES];
    struct faster faster[MOST_CASES];
    uint32_t num_lanes, num_faster;
    double sync_cost;
    struct place_arguments place_arguments;
    struct dot_limits limits;
    struct places places;
};

// What a plan came to, as given and with nodes faster.
struct outcome {
    braid_schedule_info given, faster;
};

static enum exit_status read_lanes(char *text, void *into)
{
    struct simulation *simulation = into;
    simulation->num_lanes = 0;
    for (char *word; (word = strsep(&text, ","));) {
        uint64_t number = 0;
        enum exit_status status = argument_read_number("--lanes", word, 1, 65535, &number);
        if (status != EXIT_DONE)
            return status;
        if (simulation->num_lanes == MOST_CASES)
            return fail(EXIT_BAD_FILE, "--lanes takes at most %d numbers", MOST_CASES);
        simulation->lanes[simulation->num_lanes++] = (uint32_t)number;
    }
    return EXIT_DONE;
}

// NODE=X; the name may have a '=' in it, so the last one counts.
static enum exit_status read_faster(char *text, void *into)
{
    struct simulation *simulation = into;
    char *equals = strrchr(text, '=');
    if (!equals)
        return fail(EXIT_BAD_FILE, "--faster takes NODE=X, not '%s'", text);
    if (simulation->num_faster == MOST_CASES)
        return fail(EXIT_BAD_FILE, "--faster may be given at most %d times", MOST_CASES);
    *equals = '\0';
    struct faster *faster = &simulation->faster[simulation->num_faster++];
    faster->node = text;
    return argument_read_factor("--faster", equals + 1, &faster->factor);
}

static const struct argument known_options[] = {
    { "lanes", ARGUMENT_IS_READ, 0, 0, 0, read_lanes },
    { "faster", ARGUMENT_IS_READ, 0, 0, 0, read_faster },
    ARGUMENT_COST("sync-cost", struct simulation, sync_cost, 0),
    PLACES_ARGUMENTS(struct simulation, place_arguments),
    DOT_LIMITS_ARGUMENT(struct simulation, limits),
    ARGUMENT_TEXT("json", struct simulation, json),
    { .name = NULL },
};

// An id is looked for first: names need not be distinct.
static uint32_t find_node(const struct dot_file *file, const char *name)
{
    for (uint32_t i = 0; i < file->num_nodes; i++) {
        if (strcmp(file->nodes[i].id, name) == 0)
            return i;
    }
    for (uint32_t i = 0; i < file->num_nodes; i++) {
        if (strcmp(task_graph_name(&file->nodes[i]), name) == 0)
            return i;
    }
    return UINT32_MAX;
}

static enum exit_status plan_all(const struct simulation *simulation, const struct dot_file *file,
                                 const braid_graph *graph, struct outcome *outcomes, bool is_faster)
{
    for (uint32_t i = 0; i < simulation->num_lanes; i++) {
        braid_schedule_options options = { .max_lanes = simulation->lanes[i],
                                           .fixed_lanes = true,
                                           .places = &simulation->places.model,
                                           .costs = &(braid_cost_model){
                                               .default_cost_ns = file->unit_ns,
                                               .wait_ns = argument_cost_ns(simulation->sync_cost,
                                                                           file->unit_ns) } };
        braid_schedule *schedule;
        progress_show("planning", i, simulation->num_lanes);
        braid_status status = braid_schedule_create(graph, &options, &schedule);
        if (status != BRAID_OK)
            return task_graph_fail(file, status);
        braid_schedule_get_info(schedule, is_faster ? &outcomes[i].faster : &outcomes[i].given);
        braid_schedule_destroy(schedule);
    }
    progress_clear();
    return EXIT_DONE;
}

// Makes a node faster; for a loop or branch, all nodes in its bodies.
static enum exit_status make_one_faster(const struct dot_file *file, const uint64_t *costs_ns,
                                        braid_graph *graph, uint32_t node, double factor)
{
    const uint32_t end = dot_bodies_end(file, node);
    for (uint32_t i = node; i < end; i++) {
        const bool is_region = dot_bodies_end(file, i) > i + 1;
        if (!is_region && braid_graph_set_cost(graph, braid_graph_get_node(graph, i),
                                               dot_cost_part(costs_ns[i], factor)) != BRAID_OK)
            return fail_in_library();
    }
    return EXIT_DONE;
}

static enum exit_status make_nodes_faster(const struct simulation *simulation,
                                          const struct dot_file *file, const uint64_t *costs_ns,
                                          braid_graph *graph)
{
    for (uint32_t i = 0; i < simulation->num_faster; i++) {
        const struct faster *faster = &simulation->faster[i];
        uint32_t node = find_node(file, faster->node);
        if (node == UINT32_MAX)
            return fail(EXIT_BAD_FILE, "--faster: %s has no node '%s'", file->text.path,
                        faster->node);
        if ((double)costs_ns[node] / faster->factor > 0x1p62)
            return fail(EXIT_BAD_FILE, "--faster: node '%s' would take too long to plan",
                        faster->node);
        enum exit_status status = make_one_faster(file, costs_ns, graph, node, faster->factor);
        if (status != EXIT_DONE)
            return status;
    }
    return EXIT_DONE;
}

static enum exit_status make_faster(const struct simulation *simulation,
                                    const struct dot_file *file, braid_graph *graph)
{
    uint64_t *costs_ns = calloc((size_t)file->num_nodes + 1, sizeof(*costs_ns));
    if (!costs_ns)
        return fail(EXIT_FAILED, "out of memory for the costs");
    enum exit_status status = graph_costs_read(graph, file->unit_ns, costs_ns);
    if (status == EXIT_DONE)
        status = make_nodes_faster(simulation, file, costs_ns, graph);
    free(costs_ns);
    return status;
}

static void print_outcomes(const struct simulation *simulation, const struct dot_file *file,
                           const struct outcome *outcomes)
{
    struct dot_unit unit = dot_cost_unit(file);
    bool has_faster = simulation->num_faster > 0;
    bool has_places = simulation->places.model.num_places > 1;
    printf("%5s  %-20s %8s %8s%s%s\n", "lanes", "makespan", "waits", "/ bound",
           has_places ? "   copies        bytes" : "",
           has_faster ? "  faster               saved" : "");
    for (uint32_t i = 0; i < simulation->num_lanes; i++) {
        const braid_schedule_info *given = &outcomes[i].given, *faster = &outcomes[i].faster;
        char text[96];
        snprintf(text, sizeof(text), "%s%s%s", dot_cost_time(file, given->makespan_ns).text,
                 unit.space, unit.name);
        double bound = given->bound_ns ? (double)given->bound_ns : 1;
        printf("%5" PRIu32 "  %-20s %8" PRIu64 " %8.3f", simulation->lanes[i], text,
               given->num_waits, (double)given->makespan_ns / bound);
        if (has_places)
            printf(" %8" PRIu32 " %12" PRIu64, given->num_copies, given->copy_bytes);
        if (has_faster) {
            double before = given->makespan_ns ? (double)given->makespan_ns : 1;
            snprintf(text, sizeof(text), "%s%s%s", dot_cost_time(file, faster->makespan_ns).text,
                     unit.space, unit.name);
            printf("  %-20s %.1f %%", text, 100 - (double)faster->makespan_ns * 100 / before);
        }
        putchar('\n');
    }
}

static json_t *make_json(const struct simulation *simulation, const struct dot_file *file,
                         const struct outcome *outcomes)
{
    json_t *json = output_start_json("simulation"), *runs = json_array();
    bool done = json && json_object_set_new(json, "file", plan_json_text(file->text.path)) == 0;
    if (done && file->cost_unit)
        done = json_object_set_new(json, "cost_unit", plan_json_text(file->cost_unit)) == 0;
    for (uint32_t i = 0; i < simulation->num_lanes && done; i++) {
        const braid_schedule_info *given = &outcomes[i].given;
        json_t *run = json_pack(
            "{s:I, s:I, s:I, s:o, s:o}", "max_lanes", (json_int_t)simulation->lanes[i], "num_lanes",
            (json_int_t)given->num_lanes, "num_waits", (json_int_t)given->num_waits, "makespan",
            plan_json_time(file, given->makespan_ns, file->unit_ns), "bound",
            plan_json_time(file, given->bound_ns, file->unit_ns));
        places_add_counts(run, file, given, file->unit_ns);
        if (simulation->num_faster > 0)
            json_object_set_new(
                run, "faster", plan_json_time(file, outcomes[i].faster.makespan_ns, file->unit_ns));
        done = json_array_append_new(runs, run) == 0;
    }
    if (done)
        done = json_object_set(json, "plans", runs) == 0;
    json_decref(runs);
    if (done)
        return json;
    json_decref(json);
    return NULL;
}

static enum exit_status write_outcomes(const struct simulation *simulation,
                                       const struct dot_file *file, const struct outcome *outcomes)
{
    enum exit_status status = EXIT_DONE;
    if (simulation->json) {
        json_t *json = make_json(simulation, file, outcomes);
        status = json ? output_write_json(simulation->json, json)
                      : fail(EXIT_FAILED, "out of memory for the JSON of the simulation");
        json_decref(json);
    }
    if (status == EXIT_DONE && !output_is_stdout(simulation->json))
        print_outcomes(simulation, file, outcomes);
    return status;
}

static enum exit_status simulate(const struct simulation *simulation, const struct dot_file *file)
{
    braid_graph *graph;
    struct outcome outcomes[MOST_CASES] = { 0 };
    enum exit_status status = task_graph_create(file, task_graph_add_to_plan, NULL, &graph);
    if (status != EXIT_DONE)
        return status;
    status = plan_all(simulation, file, graph, outcomes, false);
    if (status == EXIT_DONE && simulation->num_faster > 0) {
        status = make_faster(simulation, file, graph);
        if (status == EXIT_DONE)
            status = plan_all(simulation, file, graph, outcomes, true);
    }
    if (status == EXIT_DONE)
        status = write_outcomes(simulation, file, outcomes);
    braid_graph_destroy(graph);
    return status;
}

enum exit_status command_simulate(int argc, char **argv)
{
    struct simulation simulation = { .lanes = { 1, 2, 4, 8 }, .num_lanes = 4 };
    if (simulate_ranks_is_meant(argc, argv))
        return simulate_ranks(help, argc, argv);
    bool is_help;
    enum exit_status status =
        arguments_read("simulate", help, argc, argv, known_options, &simulation, &is_help);
    if (status != EXIT_DONE || is_help)
        return status;
    status = argument_read_file("simulate", argc, argv, optind, &simulation.path);
    struct dot_file file;
    if (status == EXIT_DONE)
        status = dot_file_read(simulation.path, &simulation.limits, &file);
    if (status != EXIT_DONE)
        return status;
    status = places_create(&simulation.place_arguments, file.unit_ns, &simulation.places);
    if (status == EXIT_DONE)
        status = simulate(&simulation, &file);
    places_finish(&simulation.places);
    dot_file_finish(&file);
    return status;
}
