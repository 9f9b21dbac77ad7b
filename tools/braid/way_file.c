// SPDX-License-Identifier: Apache-2.0
// Files that keep how a graph is best played; docs/json.md describes them.
#include "way_file.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

#include "graph_costs.h"
#include "json_file.h"
#include "output.h"

enum { DIGEST_CHARACTERS = 17 };
enum { MOST_LANES = 65535 };

// Words of a file for numbers of the library; ended by one without a name.
struct word {
    const char *name;
    int value;
};

static const struct word modes[] = { { "streams", BRAID_MODE_STREAMS },
                                     { "graph", BRAID_MODE_GRAPH },
                                     { NULL, 0 } };
static const struct word islands[] = { { "auto", BRAID_ISLANDS_AUTO },
                                       { "never", BRAID_ISLANDS_NEVER },
                                       { "whole", BRAID_ISLANDS_WHOLE },
                                       { NULL, 0 } };

// Without one for the value, the first.
static const char *name_value(const struct word *words, int value)
{
    for (const struct word *word = words; word->name; word++) {
        if (word->value == value)
            return word->name;
    }
    return words->name;
}

static enum exit_status read_word(const char *path, const char *field, const struct word *words,
                                  const char *name, int *out_value)
{
    for (const struct word *word = words; word->name; word++) {
        if (strcmp(word->name, name) == 0) {
            *out_value = word->value;
            return EXIT_DONE;
        }
    }
    return fail(EXIT_BAD_FILE, "%s: no %s '%s' is known", path, field, name);
}

static json_t *way_to_json(const braid_exec_options *way)
{
    return json_pack("{s:s, s:I, s:b, s:b, s:b, s:s}", "mode", name_value(modes, (int)way->mode),
                     "max_lanes", (json_int_t)way->max_lanes, "fixed_lanes", way->fixed_lanes,
                     "ignore_costs", way->ignore_costs, "early_start", !way->no_early_start,
                     "islands", name_value(islands, (int)way->islands));
}

enum exit_status way_file_write(const char *path, const braid_device *device,
                                const braid_graph *graph, const braid_exec_options *way,
                                json_t *trials)
{
    json_t *json;
    enum exit_status status = graph_costs_to_json(graph, device, &json);
    if (status != EXIT_DONE) {
        json_decref(trials);
        return status;
    }
    braid_device_info info;
    braid_device_get_info(device, &info);
    // Each takes its value over, and refuses NULL.
    bool is_whole = json_object_set_new(json, "kind", json_string("tuning")) == 0;
    is_whole &= json_object_set_new(json, "device", json_string(info.name)) == 0; // as it is
    is_whole &= json_object_set_new(json, "way", way_to_json(way)) == 0;
    is_whole &= json_object_set_new(json, "trials", trials) == 0;
    status =
        is_whole ? output_write_json(path, json) : fail(EXIT_FAILED, "out of memory for %s", path);
    json_decref(json);
    return status;
}

// Refuses a file in which `name` is not what it is here.
static enum exit_status check_text(const char *path, const json_t *json, const char *name,
                                   const char *what, const char *expected)
{
    const char *text = json_string_value(json_object_get(json, name));
    if (!text)
        return fail(EXIT_BAD_FILE, "%s: no '%s': it is not of 'braid tune'", path, name);
    if (strcmp(text, expected) != 0)
        return fail(EXIT_BAD_FILE, "%s is of another %s: '%s', and this is '%s'; tune again", path,
                    what, text, expected);
    return EXIT_DONE;
}

static enum exit_status check_file(const char *path, const json_t *json, const braid_device *device,
                                   const braid_graph *graph)
{
    braid_device_info info;
    braid_device_get_info(device, &info);
    char digest[DIGEST_CHARACTERS];
    snprintf(digest, sizeof(digest), "%016" PRIx64, braid_graph_get_digest(graph));
    const char *kind = json_string_value(json_object_get(json, "kind"));
    if (!kind || strcmp(kind, "tuning") != 0)
        return fail(EXIT_BAD_FILE, "%s is not of 'braid tune'", path);
    enum exit_status status = json_file_check_format(path, json);
    if (status == EXIT_DONE)
        status = check_text(path, json, "braid", "version of Braid", braid_get_version());
    if (status == EXIT_DONE)
        status = check_text(path, json, "graph", "graph", digest);
    if (status == EXIT_DONE)
        status = check_text(path, json, "backend", "backend", info.backend);
    if (status == EXIT_DONE)
        status = check_text(path, json, "device", "device", info.name);
    return status;
}

static enum exit_status read_number(const char *path, const char *key, const json_t *value,
                                    json_int_t most, json_int_t *out_number)
{
    *out_number = json_integer_value(value);
    if (json_is_integer(value) && *out_number >= 0 && *out_number <= most)
        return EXIT_DONE;
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    enum exit_status status = fail(EXIT_BAD_FILE,
                                   "%s: %s is %.40s, and must be a whole number from 0 to "
                                   "%" JSON_INTEGER_FORMAT,
                                   path, key, text ? text : "missing", most);
    free(text);
    return status;
}

static enum exit_status take_way(const char *path, json_t *json, braid_exec_options *out_way)
{
    const char *mode_name = NULL, *islands_name = NULL;
    int mode = 0, island = 0;
    json_int_t lanes = 0;
    int fixed = 0, early = 0, blind = 0;
    if (json_unpack(json, "{s:s, s:b, s:b, s:b, s:s}", "mode", &mode_name, "fixed_lanes", &fixed,
                    "ignore_costs", &blind, "early_start", &early, "islands", &islands_name) != 0)
        return fail(EXIT_BAD_FILE, "%s: 'way' is not as 'braid tune' writes it", path);
    if (json_is_true(json_object_get(json, "max_concurrency")))
        return fail(
            EXIT_BAD_FILE,
            "%s: way.max_concurrency is true, which is a way of an earlier Braid; tune again",
            path);
    const json_t *max_lanes = json_object_get(json, "max_lanes");
    enum exit_status status = EXIT_DONE;
    lanes = json_integer_value(max_lanes);
    if (lanes != BRAID_ALL_LANES)
        status = read_number(path, "way.max_lanes", max_lanes, MOST_LANES, &lanes);
    if (status == EXIT_DONE)
        status = read_word(path, "way.mode", modes, mode_name, &mode);
    if (status == EXIT_DONE)
        status = read_word(path, "way.islands", islands, islands_name, &island);
    if (status != EXIT_DONE)
        return status;
    *out_way = (braid_exec_options){
        .mode = (braid_exec_mode)mode,
        .max_lanes = (uint32_t)lanes,
        .fixed_lanes = fixed,
        .ignore_costs = blind,
        .no_early_start = !early,
        .islands = (braid_islands)island,
    };
    return EXIT_DONE;
}

enum exit_status way_file_read(const char *path, const braid_device *device, braid_graph *graph,
                               braid_exec_options *out_way)
{
    json_error_t error;
    json_t *json = json_file_load(path, &error);
    path = json_file_name(path);
    if (!json && error.line < 1)
        return fail(EXIT_BAD_FILE, "--tuned: %s", error.text);
    if (!json)
        return fail(EXIT_BAD_FILE, "%s:%d: %s", path, error.line, error.text);
    enum exit_status status = check_file(path, json, device, graph);
    if (status == EXIT_DONE)
        status = take_way(path, json_object_get(json, "way"), out_way);
    if (status == EXIT_DONE)
        status = graph_costs_take(path, json, device, graph);
    json_decref(json);
    return status;
}
