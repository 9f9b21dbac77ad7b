// SPDX-License-Identifier: Apache-2.0
// Costs of graphs: reading those that were measured, and files of them.
#include "graph_costs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <braid/braid.h>

#include "output.h"

// By the placements of a plan on one lane, where no node slows another.
enum exit_status graph_costs_read(const braid_graph *graph, uint64_t default_cost_ns,
                                  uint64_t *costs_ns)
{
    const braid_schedule_options options = { .max_lanes = 1,
                                             .fixed_lanes = true,
                                             .costs = &(braid_cost_model){ .default_cost_ns =
                                                                               default_cost_ns } };
    braid_schedule *schedule;
    if (braid_schedule_create(graph, &options, &schedule) != BRAID_OK)
        return fail_in_library();
    enum exit_status status = EXIT_DONE;
    for (uint32_t i = 0; i < braid_graph_get_num_nodes(graph) && status == EXIT_DONE; i++) {
        braid_placement placement;
        if (braid_schedule_get_placement(schedule, braid_graph_get_node(graph, i), &placement) !=
            BRAID_OK)
            status = fail_in_library();
        else
            costs_ns[i] = placement.end_ns - placement.start_ns;
    }
    braid_schedule_destroy(schedule);
    return status;
}

// The library writes and reads files by their names. This one is in memory, in no folder.
struct nameless {
    FILE *file;
    char name[32];
};

static enum exit_status nameless_open(struct nameless *out_file)
{
    const int number = memfd_create("costs", MFD_CLOEXEC);
    out_file->file = number < 0 ? NULL : fdopen(number, "w+");
    if (!out_file->file) {
        const int reason = errno;
        if (number >= 0)
            close(number);
        return fail(EXIT_FAILED, "no memory for a file of the costs: %s", strerror(reason));
    }
    snprintf(out_file->name, sizeof(out_file->name), "/dev/fd/%d", number);
    return EXIT_DONE;
}

enum exit_status graph_costs_to_json(const braid_graph *graph, const braid_device *device,
                                     json_t **out_json)
{
    struct nameless place;
    json_error_t error;
    enum exit_status status = nameless_open(&place);
    if (status != EXIT_DONE)
        return status;
    *out_json = NULL;
    if (braid_graph_save_costs(graph, device, place.name) != BRAID_OK)
        status = fail_in_library();
    else if (!(*out_json = json_loadf(place.file, 0, &error)))
        status = fail(EXIT_FAILED, "the costs could not be read again: %s", error.text);
    fclose(place.file);
    return status;
}

// The library's message, about the file that the costs are from.
static enum exit_status fail_about(const char *path, const char *name)
{
    const char *message = braid_error_get_message();
    const size_t length = strlen(name);
    return strncmp(message, name, length) == 0 ? fail(EXIT_BAD_FILE, "%s%s", path, message + length)
                                               : fail_in_library();
}

static enum exit_status load(const char *path, const json_t *costs, braid_graph *graph)
{
    struct nameless place;
    enum exit_status status = nameless_open(&place);
    if (status != EXIT_DONE)
        return status;
    if (json_dumpf(costs, place.file, 0) != 0 || fflush(place.file) != 0)
        status = fail(EXIT_FAILED, "the costs of %s could not be copied", path);
    else if (braid_graph_load_costs(graph, NULL, place.name) != BRAID_OK)
        status = fail_about(path, place.name);
    fclose(place.file);
    return status;
}

// The library takes only fields in its own order: those in front of the lists are the graph's.
enum exit_status graph_costs_take(const char *path, json_t *json, const braid_device *device,
                                  braid_graph *graph)
{
    static const char *const lists[] = { "costs_ns", "iterations", "inside_ns", "outside_ns" };
    enum { NUM_LISTS = sizeof(lists) / sizeof(*lists) };
    json_t *costs;
    enum exit_status status = graph_costs_to_json(graph, device, &costs);
    if (status != EXIT_DONE)
        return status;
    bool is_whole = true;
    for (int i = 0; i < NUM_LISTS; i++)
        json_object_del(costs, lists[i]);
    for (int i = 0; i < NUM_LISTS; i++) {
        json_t *list = json_object_get(json, lists[i]);
        is_whole = is_whole && (!list || json_object_set(costs, lists[i], list) == 0);
    }
    status = is_whole ? load(path, costs, graph)
                      : fail(EXIT_FAILED, "out of memory for the costs of %s", path);
    json_decref(costs);
    return status;
}

// The graph of the file as braid plan makes it, whose nodes are of other kinds than those run.
static enum exit_status name_plan(const struct run *run, json_t *costs)
{
    braid_graph *graph;
    enum exit_status status = task_graph_create(run->file, task_graph_add_to_plan, NULL, &graph);
    if (status != EXIT_DONE)
        return status;
    char digest[17];
    snprintf(digest, sizeof(digest), "%016" PRIx64, braid_graph_get_digest(graph));
    braid_graph_destroy(graph);
    return json_object_set_new(costs, "graph", json_string(digest)) == 0
               ? EXIT_DONE
               : fail(EXIT_FAILED, "out of memory for the costs");
}

enum exit_status graph_costs_measure(const char *path, const struct run *run)
{
    if (braid_exec_measure(run->exec, run->graph, 0) != BRAID_OK)
        return fail_in_library();
    json_t *costs;
    enum exit_status status = graph_costs_to_json(run->graph, run->device, &costs);
    if (status != EXIT_DONE)
        return status;
    status = name_plan(run, costs);
    if (status == EXIT_DONE)
        status = output_write_json(path, costs);
    json_decref(costs);
    return status;
}
