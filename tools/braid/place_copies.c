// SPDX-License-Identifier: Apache-2.0
// What a plan for several devices copies between them, as text and as JSON.
#include <inttypes.h>
#include <stdio.h>

#include "dot_cost.h"
#include "output.h"
#include "places.h"
#include "plan_json.h"
#include "printable.h"

enum { MOST_LINES = 16 };

const char *places_node_id(const struct dot_file *file, uint32_t node, struct place_id *room)
{
    if (node < file->num_nodes)
        return file->nodes[node].id;
    snprintf(room->text, sizeof(room->text), "copy:%" PRIu32, node - file->num_nodes);
    return room->text;
}

static void print_copy(const struct dot_file *file, const braid_planned_copy *copy)
{
    const struct dot_resource *buffer = &file->resources[copy->resource];
    printf("  '%s' from place %" PRIu32 " to %" PRIu32 ": %" PRIu64 " byte%s",
           printable_name(copy->resource_name).text, copy->from, copy->to, copy->bytes,
           output_plural(copy->bytes));
    if (copy->bytes < buffer->bytes)
        printf(" at %" PRIu64, copy->offset);
    printf("%s\n", copy->is_return ? ", back home" : "");
}

void places_print(const struct dot_file *file, const braid_schedule *schedule)
{
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    struct dot_unit unit = dot_cost_unit(file);
    if (info.num_places < 2)
        return;
    if (info.one_place_ns)
        printf("one device %s%s%s\n", dot_cost_time(file, info.one_place_ns).text, unit.space,
               unit.name);
    printf("devices    %" PRIu32 ", %" PRIu32 " cop%s of %" PRIu64 " byte%s\n", info.num_places,
           info.num_copies, info.num_copies == 1 ? "y" : "ies", info.copy_bytes,
           output_plural(info.copy_bytes));
    for (uint32_t i = 0; i < info.num_copies && i < MOST_LINES; i++)
        print_copy(file, &info.copies[i]);
    if (info.num_copies > MOST_LINES)
        printf("  and %" PRIu32 " more (--json lists all)\n", info.num_copies - MOST_LINES);
}

bool places_add_counts(json_t *json, const struct dot_file *file, const braid_schedule_info *info,
                       uint64_t unit_ns)
{
    if (info->num_places < 2)
        return true;
    json_t *one =
        info->one_place_ns ? plan_json_time(file, info->one_place_ns, unit_ns) : json_null();
    json_t *more = json_pack("{s:I, s:I, s:I, s:o}", "num_places", (json_int_t)info->num_places,
                             "num_copies", (json_int_t)info->num_copies, "copy_bytes",
                             (json_int_t)info->copy_bytes, "one_place", one);
    bool done = more && json_object_update(json, more) == 0;
    json_decref(more);
    return done;
}

static json_t *copy_to_json(const struct dot_file *file, const braid_graph *graph,
                            const braid_schedule *schedule, const braid_planned_copy *copy)
{
    braid_placement placement;
    struct place_id id;
    braid_node node = braid_graph_get_node(graph, 0);
    node.index = copy->node;
    if (braid_schedule_get_placement(schedule, node, &placement) != BRAID_OK)
        return NULL;
    return json_pack("{s:s, s:o, s:I, s:I, s:I, s:I, s:b, s:I, s:o, s:o}", "id",
                     places_node_id(file, copy->node, &id), "buffer",
                     plan_json_text(copy->resource_name), "from", (json_int_t)copy->from, "to",
                     (json_int_t)copy->to, "offset", (json_int_t)copy->offset, "bytes",
                     (json_int_t)copy->bytes, "is_return", copy->is_return, "lane",
                     (json_int_t)placement.lane, "start",
                     plan_json_time(file, placement.start_ns, file->unit_ns), "end",
                     plan_json_time(file, placement.end_ns, file->unit_ns));
}

bool places_add_copies(json_t *json, const struct dot_file *file, const braid_graph *graph,
                       const braid_schedule *schedule)
{
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    if (info.num_places < 2)
        return true;
    json_t *copies = json_array();
    bool done = json_object_set_new(json, "copies", copies) == 0;
    for (uint32_t i = 0; i < info.num_copies && done; i++)
        done = json_array_append_new(copies,
                                     copy_to_json(file, graph, schedule, &info.copies[i])) == 0;
    return done;
}
