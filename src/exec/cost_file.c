// SPDX-License-Identifier: Apache-2.0
// Costs of a graph's nodes in a file.
#include <braid/braid.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json_read.h"
#include "base/whole_file.h"
#include "device/device.h"
#include "graph/graph.h"

enum {
    FORMAT = 2,               // as of all files of the tool: docs/json.md
    MOST_BYTES = 1024 * 1024, // of a file, and
    MOST_BYTES_A_NODE = 64,   // those of its numbers
};

#define MOST_COST_NS ((uint64_t)INT64_MAX) // planning refuses a longer sum

static void write_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        if ((unsigned char)*text >= 0x20)
            fputc(*text, file);
    }
    fputc('"', file);
}

static void write_costs(FILE *file, const braid_graph *graph, const braid_device_info *info)
{
    fprintf(file, "{\"braid\": \"%s\", \"format\": %d, \"kind\": \"costs\", ", braid_version(),
            FORMAT);
    fprintf(file, "\"graph\": \"%016" PRIx64 "\", \"backend\": ", braid_graph_digest(graph));
    write_string(file, info->backend);
    fputs(", \"device\": ", file);
    write_string(file, info->name);
    fputs(", \"costs_ns\": [", file);
    for (uint32_t i = 0; i < graph->nodes.num; i++)
        fprintf(file, "%s%" PRIu64, i ? ", " : "", graph_nodes(graph)[i].cost_ns);
    fputs("]}\n", file);
}

braid_status braid_graph_save_costs(const braid_graph *graph, const braid_device *device,
                                    const char *path)
{
    if (!graph || !device || !path)
        return braid_error_null("braid_graph_save_costs", !graph    ? "graph"
                                                          : !device ? "device"
                                                                    : "path");
    braid_status status = braid_device_check("braid_graph_save_costs", device);
    if (status)
        return status;
    braid_device_info info;
    braid_device_get_info(device, &info);
    struct whole_file file;
    if (!braid_whole_file_open(path, &file))
        return braid_error(BRAID_IO_ERROR, "%s cannot be written: %s", path, strerror(errno));
    write_costs(file.stream, graph, &info);
    if (!braid_whole_file_close(&file, true))
        return braid_error(BRAID_IO_ERROR, "%s could not be written: %s", path,
                           errno ? strerror(errno) : "a write failed");
    return BRAID_OK;
}

// The first number of a file that is out of its range.
struct wrong_number {
    const char *key, *text; // NULL: there is none
    uint64_t most;
    size_t index; // in an array, or SIZE_MAX
};

// What a file says.
struct costs {
    char kind[16], graph[32], backend[32], device[256];
    uint64_t format;
    struct array costs_ns; // of uint64_t
    struct wrong_number wrong;
    bool no_memory;
};

static uint64_t read_number(struct json_reader *reader, struct costs *costs, const char *key,
                            size_t index, uint64_t most)
{
    const char *text = reader->at;
    if (reader->failed)
        return 0;
    uint64_t number = braid_json_number(reader);
    if (!reader->failed && number <= most)
        return number;
    costs->wrong = (struct wrong_number){ key, text, most, index };
    reader->failed = true;
    return 0;
}

static void read_numbers(struct json_reader *reader, struct costs *costs)
{
    reader->failed |= !braid_json_take(reader, '[');
    if (braid_json_take(reader, ']'))
        return;
    do {
        uint64_t *place = braid_array_append(&costs->costs_ns, 1, sizeof(*place));
        costs->no_memory |= !place;
        if (!place)
            return;
        *place = read_number(reader, costs, "costs_ns", costs->costs_ns.num - 1, MOST_COST_NS);
    } while (braid_json_take(reader, ','));
    reader->failed |= !braid_json_take(reader, ']');
}

static void read_member(struct json_reader *reader, struct costs *costs)
{
    const struct {
        const char *name;
        char *text;
        size_t size;
    } texts[] = { { "kind", costs->kind, sizeof(costs->kind) },
                  { "graph", costs->graph, sizeof(costs->graph) },
                  { "backend", costs->backend, sizeof(costs->backend) },
                  { "device", costs->device, sizeof(costs->device) } };
    char name[64];
    braid_json_string(reader, name, sizeof(name));
    reader->failed |= !braid_json_take(reader, ':');
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (strcmp(name, texts[i].name) == 0) {
            braid_json_string(reader, texts[i].text, texts[i].size);
            return;
        }
    }
    if (strcmp(name, "format") == 0)
        costs->format = read_number(reader, costs, "format", SIZE_MAX, UINT32_MAX);
    else if (strcmp(name, "costs_ns") == 0)
        read_numbers(reader, costs);
    else
        braid_json_skip(reader);
}

static bool read_costs(const char *text, struct costs *costs)
{
    struct json_reader reader = { .at = text };
    reader.failed = !braid_json_take(&reader, '{');
    if (!braid_json_take(&reader, '}')) {
        do
            read_member(&reader, costs);
        while (!reader.failed && !costs->no_memory && braid_json_take(&reader, ','));
        reader.failed |= !braid_json_take(&reader, '}');
    }
    return braid_json_end(&reader);
}

static braid_status check_text(const char *path, const char *what, const char *found,
                               const char *expected)
{
    return strcmp(found, expected) == 0
               ? BRAID_OK
               : braid_error(BRAID_INVALID_ARGUMENT, "%s is of another %s: '%s', and this is '%s'",
                             path, what, found, expected);
}

static braid_status check_sum(const char *path, const char *key, const struct array *numbers)
{
    const uint64_t *costs_ns = numbers->items;
    uint64_t sum = 0;
    for (size_t i = 0; i < numbers->num; i++) {
        if (costs_ns[i] > MOST_COST_NS - sum)
            return braid_error(BRAID_INVALID_ARGUMENT,
                               "%s: the numbers of %s add up to more than %" PRIu64, path, key,
                               MOST_COST_NS);
        sum += costs_ns[i];
    }
    return BRAID_OK;
}

static braid_status check(const char *path, const struct costs *costs, const braid_graph *graph,
                          const braid_device *device)
{
    if (strcmp(costs->kind, "costs") != 0)
        return braid_error(BRAID_INVALID_ARGUMENT, "%s is no file of costs", path);
    if (costs->format != FORMAT)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "%s is of format %" PRIu64 ", and this version reads %d", path,
                           costs->format, FORMAT);
    char digest[32];
    snprintf(digest, sizeof(digest), "%016" PRIx64, braid_graph_digest(graph));
    braid_device_info info = { .backend = costs->backend };
    if (device)
        braid_device_get_info(device, &info);
    braid_status status = check_text(path, "graph", costs->graph, digest);
    if (!status)
        status = check_text(path, "backend", costs->backend, info.backend);
    if (!status && device)
        status = check_text(path, "device", costs->device, info.name);
    if (!status && costs->costs_ns.num != graph->nodes.num)
        status = braid_error(BRAID_INVALID_ARGUMENT, "%s has %zu cost%s, and the graph %zu node%s",
                             path, costs->costs_ns.num, costs->costs_ns.num == 1 ? "" : "s",
                             graph->nodes.num, graph->nodes.num == 1 ? "" : "s");
    return status ? status : check_sum(path, "costs_ns", &costs->costs_ns);
}

static braid_status set_costs(const struct costs *costs, braid_graph *graph)
{
    const uint64_t *costs_ns = costs->costs_ns.items;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < costs->costs_ns.num && !status; i++)
        status = braid_graph_set_cost(graph, braid_graph_node(graph, i), costs_ns[i]);
    return status;
}

static braid_status append_piece(const char *path, const char *piece, size_t num, size_t most,
                                 struct array *text)
{
    if (memchr(piece, '\0', num))
        return braid_error(BRAID_INVALID_ARGUMENT, "%s is no file of costs: it has a zero byte",
                           path);
    if (text->num + num > most)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "%s is no file of costs of this graph: more "
                           "than %zu bytes",
                           path, most);
    char *place = braid_array_append(text, num, 1);
    if (!place)
        return braid_error_no_memory("a file of costs");
    memcpy(place, piece, num);
    return BRAID_OK;
}

// A zero stands behind the text. What has no end is left where that shows.
static braid_status read_stream(const char *path, FILE *file, size_t most, struct array *text)
{
    char piece[4096];
    size_t num = 0;
    braid_status status = BRAID_OK;
    errno = 0;
    while (!status && (num = fread(piece, 1, sizeof(piece), file)) > 0)
        status = append_piece(path, piece, num, most, text);
    if (!status && ferror(file))
        return braid_error(BRAID_IO_ERROR, "%s could not be read: %s", path, strerror(errno));
    char *end = status ? NULL : braid_array_append(text, 1, 1);
    if (end)
        *end = '\0';
    return status || end ? status : braid_error_no_memory("a file of costs");
}

static braid_status read_file(const char *path, size_t most, struct array *text)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return braid_error(BRAID_IO_ERROR, "%s cannot be read: %s", path, strerror(errno));
    braid_status status = read_stream(path, file, most, text);
    fclose(file);
    return status;
}

// What is not even a number, such as the end of the file, makes the file one of another kind.
static braid_status refuse(const char *path, const struct wrong_number *wrong)
{
    static const char space[] = " \t\r\n";
    const char *text = wrong->text ? wrong->text + strspn(wrong->text, space) : "";
    const int length = (int)strcspn(text, " \t\r\n,:[]{}");
    char index[32] = "";
    if (length == 0)
        return braid_error(BRAID_INVALID_ARGUMENT, "%s is no file of costs", path);
    if (wrong->index != SIZE_MAX)
        snprintf(index, sizeof(index), "[%zu]", wrong->index);
    return braid_error(BRAID_INVALID_ARGUMENT,
                       "%s: %s%s is %.*s, and must be a whole number from 0 to %" PRIu64, path,
                       wrong->key, index, length < 40 ? length : 40, text, wrong->most);
}

static braid_status take_costs(const char *path, const char *text, const braid_device *device,
                               braid_graph *graph)
{
    struct costs costs = { .format = 0 };
    bool is_json = read_costs(text, &costs);
    braid_status status = BRAID_OK;
    if (costs.no_memory)
        status = braid_error_no_memory("a file of costs");
    else if (!is_json)
        status = refuse(path, &costs.wrong);
    if (!status)
        status = check(path, &costs, graph, device);
    if (!status)
        status = set_costs(&costs, graph);
    braid_array_finish(&costs.costs_ns);
    return status;
}

braid_status braid_graph_load_costs(braid_graph *graph, const braid_device *device,
                                    const char *path)
{
    if (!graph || !path)
        return braid_error_null("braid_graph_load_costs", graph ? "path" : "graph");
    struct array text = { 0 };
    size_t most = MOST_BYTES + (size_t)MOST_BYTES_A_NODE * graph->nodes.num;
    braid_status status = BRAID_OK;
    if (device)
        status = braid_device_check("braid_graph_load_costs", device);
    if (!status)
        status = read_file(path, most, &text);
    if (!status)
        status = take_costs(path, text.items, device, graph);
    braid_array_finish(&text);
    return status;
}
