// SPDX-License-Identifier: Apache-2.0
// Writes a plan as JSON, item by item: as a tree in memory a large plan would take gigabytes.
#include <stdlib.h>
#include <string.h>

#include "base/big_memory.h"
#include "base/host_memory.h"
#include "dot_cost.h"
#include "output.h"
#include "places.h"
#include "plan_json.h"
#include "task_graph.h"

enum { ROOM = 1 << 16 };

// The nodes of each lane or island, in issue order.
struct lists {
    uint32_t num;
    uint32_t *first, *last; // by list; DOT_NONE: it is empty
    uint32_t *next;         // by node
};

struct plan_json {
    const struct dot_file *file;
    const braid_schedule *schedule;
    const braid_graph *graph;
    braid_schedule_info info;
    json_t *head, *copies;
    struct lists lanes, islands;
    uint32_t *waiters; // by wait
    const char **ids;  // the file's nodes', near each other: each is written several times
    FILE *stream;
    char *room; // ROOM bytes, `used` of them on their way to the stream
    size_t used;
    const char *separator; // before the next item
    bool is_broken;
};

static bool lists_create(struct lists *lists, uint32_t num, uint32_t num_nodes)
{
    lists->num = num;
    lists->first = calloc((size_t)num + 1, sizeof(*lists->first));
    lists->last = calloc((size_t)num + 1, sizeof(*lists->last));
    lists->next = num ? calloc((size_t)num_nodes + 1, sizeof(*lists->next)) : NULL;
    for (uint32_t i = 0; i < num && lists->first; i++)
        lists->first[i] = DOT_NONE;
    return lists->first && lists->last && (lists->next || !num);
}

static void lists_append(struct lists *lists, uint32_t list, uint32_t node)
{
    lists->next[node] = DOT_NONE;
    if (lists->first[list] == DOT_NONE)
        lists->first[list] = node;
    else
        lists->next[lists->last[list]] = node;
    lists->last[list] = node;
}

static void lists_finish(struct lists *lists)
{
    free(lists->first);
    free(lists->last);
    free(lists->next);
}

// Islands are stretches of lanes; of copies there are none.
static bool fill_lists(struct plan_json *json)
{
    const braid_step *steps = json->info.steps;
    for (size_t i = 0; i < json->info.num_steps; i++) {
        braid_placement placement;
        if (!task_graph_is_node(&steps[i]))
            continue;
        const uint32_t node = steps[i].node;
        lists_append(&json->lanes, steps[i].lane, node);
        if (!json->info.num_islands || node >= json->file->num_nodes)
            continue;
        if (braid_schedule_get_placement(json->schedule, braid_graph_get_node(json->graph, node),
                                         &placement) != BRAID_OK)
            return false;
        if (placement.island != BRAID_NO_ISLAND)
            lists_append(&json->islands, placement.island, node);
    }
    return true;
}

// A wait is for the next node run on its lane: going backwards, the latest one seen.
static bool find_waiters(struct plan_json *json)
{
    uint32_t *next_run = calloc((size_t)json->info.num_lanes + 1, sizeof(*next_run));
    json->waiters = calloc((size_t)json->info.num_waits + 1, sizeof(*json->waiters));
    const braid_step *steps = json->info.steps;
    uint64_t num = json->info.num_waits;
    for (size_t i = json->info.num_steps; i-- > 0 && next_run && json->waiters;) {
        if (task_graph_is_node(&steps[i]))
            next_run[steps[i].lane] = steps[i].node;
        else if (steps[i].kind == BRAID_STEP_WAIT)
            json->waiters[--num] = next_run[steps[i].lane];
    }
    free(next_run);
    return next_run && json->waiters;
}

static bool list_ids(struct plan_json *json)
{
    json->ids = plan_allocate(json->file->num_nodes, sizeof(*json->ids));
    for (uint32_t i = 0; i < json->file->num_nodes && json->ids; i++)
        json->ids[i] = json->file->nodes[i].id;
    return json->ids;
}

static void flush(struct plan_json *json)
{
    fwrite(json->room, 1, json->used, json->stream);
    json->used = 0;
}

// A stream would take longer for each of millions of short pieces.
static void put_bytes(struct plan_json *json, const char *bytes, size_t num)
{
    if (num > ROOM - json->used)
        flush(json);
    if (num > ROOM) {
        fwrite(bytes, 1, num, json->stream);
        return;
    }
    memcpy(json->room + json->used, bytes, num);
    json->used += num;
}

static void put(struct plan_json *json, const char *text)
{
    put_bytes(json, text, strlen(text));
}

static void put_number(struct plan_json *json, uint64_t number)
{
    char digits[20];
    size_t first = sizeof(digits);
    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    put_bytes(json, digits + first, sizeof(digits) - first);
}

static void begin_item(struct plan_json *json)
{
    put(json, json->separator);
    json->separator = ",";
}

static void begin_array(struct plan_json *json, const char *name)
{
    put(json, ",\"");
    put(json, name);
    put(json, "\":[");
    json->separator = "";
}

static void write_value(struct plan_json *json, json_t *value)
{
    flush(json);
    if (!value || json_dumpf(value, json->stream, JSON_COMPACT | JSON_ENCODE_ANY) != 0)
        json->is_broken = true;
    json_decref(value);
}

static void write_text(struct plan_json *json, const char *text)
{
    const char *end = text;
    while (*end >= ' ' && *end < 0x7f && *end != '"' && *end != '\\')
        end++;
    if (*end) {
        write_value(json, plan_json_text(text));
        return;
    }
    put(json, "\"");
    put_bytes(json, text, (size_t)(end - text));
    put(json, "\"");
}

static void write_id(struct plan_json *json, uint32_t node)
{
    struct place_id room;
    write_text(json, node < json->file->num_nodes ? json->ids[node]
                                                  : places_node_id(json->file, node, &room));
}

static void write_time(struct plan_json *json, const char *name, uint64_t time_ns)
{
    const uint64_t unit_ns = json->file->unit_ns;
    put(json, name);
    if (dot_cost_is_whole(json->file, time_ns, unit_ns))
        put_number(json, time_ns / unit_ns);
    else
        write_value(json, plan_json_time(json->file, time_ns, unit_ns));
}

// An array for each list: the ids of its nodes.
static void write_lists(struct plan_json *json, const char *name, const struct lists *lists)
{
    begin_array(json, name);
    for (uint32_t i = 0; i < lists->num; i++) {
        begin_item(json);
        put(json, "[");
        json->separator = "";
        for (uint32_t node = lists->first[i]; node != DOT_NONE; node = lists->next[node]) {
            begin_item(json);
            write_id(json, node);
        }
        put(json, "]");
        json->separator = ",";
    }
    put(json, "]");
}

static void write_waits(struct plan_json *json)
{
    const braid_step *steps = json->info.steps;
    begin_array(json, "waits");
    for (size_t i = 0, num = 0; i < json->info.num_steps; i++) {
        if (steps[i].kind != BRAID_STEP_WAIT)
            continue;
        begin_item(json);
        put(json, "[");
        write_id(json, steps[i].node);
        put(json, ",");
        write_id(json, json->waiters[num++]);
        put(json, "]");
    }
    put(json, "]");
}

static void write_critical_path(struct plan_json *json)
{
    begin_array(json, "critical_path");
    for (uint32_t i = 0; i < json->info.num_critical; i++) {
        begin_item(json);
        write_id(json, json->info.critical_path[i]);
    }
    put(json, "]");
}

static void write_task(struct plan_json *json, uint32_t node, const braid_placement *placement)
{
    const struct dot_node *task = &json->file->nodes[node];
    begin_item(json);
    put(json, "{\"id\":");
    write_text(json, task->id);
    put(json, ",\"name\":");
    write_text(json, task_graph_name(task));
    put(json, ",\"lane\":");
    put_number(json, placement->lane);
    write_time(json, ",\"start\":", placement->start_ns);
    write_time(json, ",\"end\":", placement->end_ns);
    if (json->info.num_places > 1) {
        put(json, ",\"place\":");
        put_number(json, placement->place);
    }
    if (task->changes) {
        put(json, ",\"changes\":");
        write_text(json, task->changes);
    }
    put(json, "}");
}

// When each node is planned, in the order of the file.
static void write_tasks(struct plan_json *json)
{
    begin_array(json, "tasks");
    for (uint32_t i = 0; i < json->file->num_nodes; i++) {
        braid_placement placement;
        if (braid_schedule_get_placement(json->schedule, braid_graph_get_node(json->graph, i),
                                         &placement) != BRAID_OK)
            json->is_broken = true;
        else if (placement.lane != BRAID_NO_LANE)
            write_task(json, i, &placement);
    }
    put(json, "]");
}

static void write_left_out(struct plan_json *json)
{
    begin_array(json, "left_out");
    for (uint32_t i = 0; i < json->file->num_nodes && json->info.num_left_out; i++) {
        if (!task_graph_is_left_out(json->schedule, json->graph, i))
            continue;
        begin_item(json);
        write_id(json, i);
    }
    put(json, "]");
}

static void write_members(struct plan_json *json, const json_t *object)
{
    flush(json);
    if (json_dumpf(object, json->stream, JSON_COMPACT | JSON_EMBED) != 0)
        json->is_broken = true;
}

static braid_status write(FILE *stream, const void *user)
{
    struct plan_json json = *(const struct plan_json *)user;
    json.stream = stream;
    put(&json, "{");
    write_members(&json, json.head);
    write_lists(&json, "lanes", &json.lanes);
    write_lists(&json, "islands", &json.islands);
    write_waits(&json);
    write_critical_path(&json);
    write_tasks(&json);
    write_left_out(&json);
    if (json_object_size(json.copies)) {
        put(&json, ",");
        write_members(&json, json.copies);
    }
    put(&json, "}\n");
    flush(&json);
    return json.is_broken ? BRAID_NO_MEMORY : BRAID_OK;
}

static bool make_head(struct plan_json *json, uint64_t plan_ns)
{
    const struct dot_file *file = json->file;
    json->head = plan_json_summary("plan", file, json->schedule, file->unit_ns);
    json->copies = json_object();
    return json->head && json->copies &&
           (!file->cost_unit ||
            json_object_set_new(json->head, "cost_unit", plan_json_text(file->cost_unit)) == 0) &&
           json_object_set_new(json->head, "plan_ns", json_integer((json_int_t)plan_ns)) == 0 &&
           places_add_copies(json->copies, file, json->graph, json->schedule);
}

enum exit_status plan_json_write(const char *path, const struct dot_file *file,
                                 const braid_schedule *schedule, const braid_graph *graph,
                                 uint64_t plan_ns)
{
    struct plan_json json = {
        .file = file, .schedule = schedule, .graph = graph, .room = malloc(ROOM)
    };
    braid_schedule_get_info(schedule, &json.info);
    const uint32_t num_nodes = (uint32_t)json.info.num_nodes;
    bool done = json.room && make_head(&json, plan_ns) &&
                lists_create(&json.lanes, json.info.num_lanes, num_nodes) &&
                lists_create(&json.islands, json.info.num_islands, num_nodes) &&
                find_waiters(&json) && fill_lists(&json) && list_ids(&json);
    enum exit_status status = done ? output_write(path, write, &json)
                                   : fail(EXIT_FAILED, "out of memory for the JSON of the plan");
    json_decref(json.head);
    json_decref(json.copies);
    lists_finish(&json.lanes);
    lists_finish(&json.islands);
    free(json.waiters);
    braid_free(json.ids);
    free(json.room);
    return status;
}
