// SPDX-License-Identifier: Apache-2.0
// Costs of graphs: reading those that were measured, and files of them.
#include "graph_costs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

#include "output.h"

// By the placements of a plan on one lane, where no node slows another.
enum exit_status graph_costs_read(const braid_graph *graph, uint64_t default_cost_ns,
                                  uint64_t *costs_ns)
{
    const braid_schedule_options options = { .max_lanes = 1,
                                             .fixed_lanes = true,
                                             .costs = { .default_cost_ns = default_cost_ns } };
    braid_schedule *schedule;
    if (braid_schedule_create(graph, &options, &schedule) != BRAID_OK)
        return fail_in_library();
    enum exit_status status = EXIT_DONE;
    for (uint32_t i = 0; i < braid_graph_num_nodes(graph) && status == EXIT_DONE; i++) {
        braid_placement placement;
        if (braid_schedule_get_placement(schedule, braid_graph_node(graph, i), &placement) !=
            BRAID_OK)
            status = fail_in_library();
        else
            costs_ns[i] = placement.end_ns - placement.start_ns;
    }
    braid_schedule_destroy(schedule);
    return status;
}

// The graph of the file as braid plan makes it, whose nodes are of other kinds than those run.
static enum exit_status save_to(const char *place, const struct run *run, const uint64_t *costs_ns)
{
    braid_graph *graph;
    enum exit_status status = task_graph_create(run->file, task_graph_add_to_plan, NULL, &graph);
    if (status != EXIT_DONE)
        return status;
    braid_status saved = BRAID_OK;
    for (uint32_t i = 0; i < run->file->num_nodes && saved == BRAID_OK; i++)
        saved = braid_graph_set_cost(graph, braid_graph_node(graph, i), costs_ns[i]);
    if (saved == BRAID_OK)
        saved = braid_graph_save_costs(graph, run->device, place);
    braid_graph_destroy(graph);
    return saved == BRAID_OK ? EXIT_DONE : fail_in_library();
}

// The library writes files by their names; standard output may be one that others write to.
static enum exit_status save_to_stdout(const struct run *run, const uint64_t *costs_ns)
{
    char name[32], piece[4096];
    FILE *file = tmpfile();
    if (!file)
        return fail(EXIT_FAILED, "no temporary file for the costs: %s", strerror(errno));
    snprintf(name, sizeof(name), "/dev/fd/%d", fileno(file));
    enum exit_status status = save_to(name, run, costs_ns);
    for (size_t num; status == EXIT_DONE && (num = fread(piece, 1, sizeof(piece), file)) > 0;)
        fwrite(piece, 1, num, stdout);
    fclose(file);
    return status;
}

enum exit_status graph_costs_measure(const char *path, const struct run *run)
{
    if (braid_exec_measure(run->exec, run->graph, 0) != BRAID_OK)
        return fail_in_library();
    uint64_t *costs_ns = calloc((size_t)run->file->num_nodes + 1, sizeof(*costs_ns));
    if (!costs_ns)
        return fail(EXIT_FAILED, "out of memory for the costs");
    enum exit_status status = graph_costs_read(run->graph, 0, costs_ns);
    if (status == EXIT_DONE)
        status =
            output_is_stdout(path) ? save_to_stdout(run, costs_ns) : save_to(path, run, costs_ns);
    free(costs_ns);
    return status;
}
