// SPDX-License-Identifier: Apache-2.0
// A plan as a table: which node runs on which lane, when, and behind which waits.
#include "plan_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "dot_cost.h"
#include "dot_shown.h"
#include "places.h"
#include "task_graph.h"

struct table {
    const struct dot_file *file;
    const braid_schedule *schedule;
    const braid_graph *graph;
    struct dot_shown shown;
};

static bool print_name(const struct table *table, uint32_t node, const char *before)
{
    struct place_id room;
    char *name =
        message_one_line(node < table->file->num_nodes ? dot_shown_name(&table->shown, node)
                                                       : places_node_id(table->file, node, &room));
    if (name)
        printf("%s%s", before, name);
    free(name);
    return name;
}

// The times of a copy between devices are those of the nodes around it.
static void print_times(const struct table *table, const braid_step *step)
{
    struct dot_time start = { "-" }, end = { "-" };
    braid_placement place;
    if (step->node < table->file->num_nodes &&
        braid_schedule_get_placement(
            table->schedule, braid_graph_get_node(table->graph, step->node), &place) == BRAID_OK) {
        start = dot_cost_time(table->file, place.start_ns);
        end = dot_cost_time(table->file, place.end_ns);
    }
    printf("%4" PRIu32 " %11s %11s  ", step->lane, start.text, end.text);
}

// A node, behind it what its lane waits for before it: the steps of waiting since `first_wait`.
static bool print_row(const struct table *table, const braid_step *steps, size_t first_wait,
                      size_t run)
{
    print_times(table, &steps[run]);
    bool done = print_name(table, steps[run].node, "");
    const char *before = "  (waits for ";
    for (size_t i = first_wait; i < run && done; i++) {
        if (steps[i].kind != BRAID_STEP_WAIT || steps[i].lane != steps[run].lane)
            continue;
        done = print_name(table, steps[i].node, before);
        before = ", ";
    }
    puts(before[0] == ',' ? ")" : "");
    return done;
}

static bool print_lane(const struct table *table, uint32_t lane)
{
    size_t first_wait = 0;
    braid_schedule_info info;
    braid_schedule_get_info(table->schedule, &info);
    const braid_step *steps = info.steps;
    bool done = true;
    for (size_t i = 0; i < info.num_steps && done; i++) {
        if (!task_graph_is_node(&steps[i]) || steps[i].lane != lane)
            continue;
        done = print_row(table, steps, first_wait, i);
        first_wait = i + 1;
    }
    return done;
}

// Behind the lanes, in which they do not run.
static bool print_left_out(const struct table *table)
{
    const char *before = "left out: ";
    bool done = true;
    for (uint32_t i = 0; i < table->file->num_nodes && done; i++) {
        if (!task_graph_is_left_out(table->schedule, table->graph, i))
            continue;
        done = print_name(table, i, before);
        before = ", ";
    }
    if (before[0] == ',')
        putchar('\n');
    return done;
}

enum exit_status plan_table_print(const struct dot_file *file, const braid_schedule *schedule,
                                  const braid_graph *graph)
{
    struct table table = { file, schedule, graph, dot_shown_create(file) };
    const struct dot_unit unit = dot_cost_unit(file);
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    bool done = true;
    printf("\nlane       start         end  node%s%s%s\n", *unit.name ? " (times in " : "",
           unit.name, *unit.name ? ")" : "");
    for (uint32_t lane = 0; lane < info.num_lanes && done; lane++)
        done = print_lane(&table, lane);
    if (info.num_left_out)
        done = done && print_left_out(&table);
    dot_shown_finish(&table.shown);
    return done ? EXIT_DONE : fail(EXIT_FAILED, "out of memory for the table of the plan");
}
