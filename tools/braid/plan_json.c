// SPDX-License-Identifier: Apache-2.0
// A plan as JSON; docs/json.md describes it.
#include "plan_json.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "dot_cost.h"
#include "output.h"
#include "places.h"
#include "task_graph.h"

// JSON has escapes for controls.
json_t *plan_json_text(const char *text)
{
    char *valid = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&valid, &length);
    struct text_piece piece;
    for (; stream && *text; text += piece.length) {
        braid_text_piece(text, &piece);
        if (piece.kind == TEXT_CONTROL)
            fwrite(text, 1, piece.length, stream);
        else
            fwrite(piece.shown, 1, piece.num_shown, stream);
    }
    json_t *string = stream && fclose(stream) == 0 ? json_string(valid) : NULL;
    free(valid);
    return string;
}

static json_t *text_of(const struct dot_file *file, uint32_t node)
{
    struct place_id room;
    return plan_json_text(places_node_id(file, node, &room));
}

static json_int_t integer(uint64_t number)
{
    return (json_int_t)number;
}

json_t *plan_json_time(const struct dot_file *file, uint64_t time_ns, uint64_t unit_ns)
{
    if (!dot_cost_is_whole(file, time_ns, unit_ns))
        return json_real((double)time_ns / (double)unit_ns);
    return json_integer(integer(time_ns / unit_ns));
}

static const char *name_limit(braid_limit limit)
{
    static const char *const names[] = { "nothing",       "critical_path", "lanes",
                                         "launch_cost",   "resources",     "wait_cost",
                                         "path_and_lanes" };
    return names[limit];
}

json_t *plan_json_summary(const char *kind, const struct dot_file *file,
                          const braid_schedule *schedule, uint64_t unit_ns)
{
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    json_t *json = output_start_json(kind);
    json_t *numbers = json_pack(
        "{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "file",
        plan_json_text(file->text.path), "nodes", integer(file->num_nodes), "edges",
        integer(file->num_edges), "without_cost", integer(file->without_cost), "guessed",
        integer(info.num_guessed), "num_lanes", integer(info.num_lanes), "num_waits",
        integer(info.num_waits), "records", integer(info.num_records), "num_islands",
        integer(info.num_islands), "num_island_nodes", integer(info.num_island_nodes), "makespan",
        plan_json_time(file, info.makespan_ns, unit_ns), "bound",
        plan_json_time(file, info.bound_ns, unit_ns), "work",
        plan_json_time(file, info.work_ns, unit_ns), "one_lane",
        plan_json_time(file, info.one_lane_ns, unit_ns), "limit",
        plan_json_text(name_limit(info.limit)));
    if (!json || !numbers || json_object_update(json, numbers) != 0 ||
        !places_add_counts(json, file, &info, unit_ns)) {
        json_decref(json);
        json = NULL;
    }
    json_decref(numbers);
    return json;
}

// Appends to the array of each lane the nodes it runs, in issue order.
static bool add_lanes(json_t *json, const struct dot_file *file, const braid_schedule *schedule)
{
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    json_t *lanes = json_array();
    bool done = json_object_set_new(json, "lanes", lanes) == 0;
    for (uint32_t lane = 0; lane < info.num_lanes && done; lane++)
        done = json_array_append_new(lanes, json_array()) == 0;
    const braid_step *steps = info.steps;
    for (size_t i = 0; i < info.num_steps && done; i++) {
        if (task_graph_is_node(&steps[i]))
            done = json_array_append_new(json_array_get(lanes, steps[i].lane),
                                         text_of(file, steps[i].node)) == 0;
    }
    return done;
}

// Appends to the array of each island its nodes, in issue order. Islands are stretches of lanes.
static bool add_islands(json_t *json, const struct dot_file *file, const braid_schedule *schedule,
                        const braid_graph *graph)
{
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    json_t *islands = json_array();
    bool done = json_object_set_new(json, "islands", islands) == 0;
    for (uint32_t island = 0; island < info.num_islands && done; island++)
        done = json_array_append_new(islands, json_array()) == 0;
    const braid_step *steps = info.steps;
    for (size_t i = 0; i < info.num_steps && info.num_islands && done; i++) {
        braid_placement placement;
        if (!task_graph_is_node(&steps[i]) || steps[i].node >= file->num_nodes)
            continue; // of copies there are none
        done = braid_schedule_get_placement(schedule, braid_graph_node(graph, steps[i].node),
                                            &placement) == BRAID_OK;
        if (done && placement.island != BRAID_NO_ISLAND)
            done = json_array_append_new(json_array_get(islands, placement.island),
                                         text_of(file, steps[i].node)) == 0;
    }
    return done;
}

// A wait is for the next node run on its lane: going backwards, the latest one seen.
static bool add_waits(json_t *json, const struct dot_file *file, const braid_schedule *schedule)
{
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    uint32_t *next_run = calloc((size_t)info.num_lanes + 1, sizeof(*next_run));
    uint32_t *waiter = calloc((size_t)info.num_waits + 1, sizeof(*waiter));
    json_t *waits = json_array();
    bool done = json_object_set_new(json, "waits", waits) == 0 && next_run && waiter;
    const braid_step *steps = info.steps;
    uint64_t num = info.num_waits;
    for (size_t i = info.num_steps; i-- > 0 && done;) {
        if (task_graph_is_node(&steps[i]))
            next_run[steps[i].lane] = steps[i].node;
        else if (steps[i].kind == BRAID_STEP_WAIT)
            waiter[--num] = next_run[steps[i].lane];
    }
    for (size_t i = 0; i < info.num_steps && done; i++) {
        if (steps[i].kind != BRAID_STEP_WAIT)
            continue;
        json_t *pair =
            json_pack("[o, o]", text_of(file, steps[i].node), text_of(file, waiter[num++]));
        done = json_array_append_new(waits, pair) == 0;
    }
    free(next_run);
    free(waiter);
    return done;
}

static bool add_critical_path(json_t *json, const struct dot_file *file,
                              const braid_schedule *schedule)
{
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    json_t *path = json_array();
    bool done = json_object_set_new(json, "critical_path", path) == 0;
    for (uint32_t i = 0; i < info.num_critical && done; i++)
        done = json_array_append_new(path, text_of(file, info.critical_path[i])) == 0;
    return done;
}

// When each node is planned, in the order of the file.
static bool add_tasks(json_t *json, const struct dot_file *file, const braid_schedule *schedule,
                      const braid_graph *graph)
{
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    json_t *tasks = json_array();
    bool done = json_object_set_new(json, "tasks", tasks) == 0;
    for (uint32_t i = 0; i < file->num_nodes && done; i++) {
        braid_placement placement;
        if (braid_schedule_get_placement(schedule, braid_graph_node(graph, i), &placement) !=
            BRAID_OK)
            return false;
        json_t *task = json_pack("{s:o, s:o, s:I, s:o, s:o}", "id", text_of(file, i), "name",
                                 plan_json_text(task_graph_name(&file->nodes[i])), "lane",
                                 integer(placement.lane), "start",
                                 plan_json_time(file, placement.start_ns, file->unit_ns), "end",
                                 plan_json_time(file, placement.end_ns, file->unit_ns));
        done = json_array_append_new(tasks, task) == 0;
        if (done && info.num_places > 1)
            done = json_object_set_new(task, "place", json_integer(placement.place)) == 0;
        if (done && file->nodes[i].changes)
            done =
                json_object_set_new(task, "changes", plan_json_text(file->nodes[i].changes)) == 0;
    }
    return done;
}

json_t *plan_json_create(const struct dot_file *file, const braid_schedule *schedule,
                         const braid_graph *graph, uint64_t plan_ns)
{
    json_t *json = plan_json_summary("plan", file, schedule, file->unit_ns);
    if (!json)
        return NULL;
    if (file->cost_unit)
        json_object_set_new(json, "cost_unit", plan_json_text(file->cost_unit));
    bool done = json_object_set_new(json, "plan_ns", json_integer(integer(plan_ns))) == 0 &&
                add_lanes(json, file, schedule) && add_islands(json, file, schedule, graph) &&
                add_waits(json, file, schedule) && add_critical_path(json, file, schedule) &&
                add_tasks(json, file, schedule, graph) &&
                places_add_copies(json, file, graph, schedule);
    if (!done) {
        json_decref(json);
        return NULL;
    }
    return json;
}
