// SPDX-License-Identifier: Apache-2.0
// What the JSON of plans and of runs has in common; docs/json.md describes it.
#include "plan_json.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "dot_cost.h"
#include "output.h"
#include "places.h"

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
        "{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:I}", "file",
        plan_json_text(file->text.path), "nodes", integer(file->num_nodes), "edges",
        integer(file->num_edges), "without_cost", integer(file->without_cost), "guessed",
        integer(info.num_guessed), "num_lanes", integer(info.num_lanes), "num_waits",
        integer(info.num_waits), "records", integer(info.num_records), "num_islands",
        integer(info.num_islands), "num_island_nodes", integer(info.num_island_nodes), "makespan",
        plan_json_time(file, info.makespan_ns, unit_ns), "bound",
        plan_json_time(file, info.bound_ns, unit_ns), "work",
        plan_json_time(file, info.work_ns, unit_ns), "one_lane",
        plan_json_time(file, info.one_lane_ns, unit_ns), "limit",
        plan_json_text(name_limit(info.limit)), "num_left_out", integer(info.num_left_out));
    if (!json || !numbers || json_object_update(json, numbers) != 0 ||
        !places_add_counts(json, file, &info, unit_ns)) {
        json_decref(json);
        json = NULL;
    }
    json_decref(numbers);
    return json;
}
