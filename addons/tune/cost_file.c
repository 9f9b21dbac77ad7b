// SPDX-License-Identifier: Apache-2.0
// Costs of a graph's nodes in a file of JSON. The reader takes only the form of the writer, with
// any space between.
#include <braid/braid.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/whole_file.h"
#include "device/device.h"
#include "graph/regions.h"

enum { FORMAT = 3, OLDEST_FORMAT = 2 }; // as of all files of the tool: docs/json.md

#define MOST_COST_NS ((uint64_t)INT64_MAX) // planning refuses a longer sum

// A list of numbers in the file, by nodes, or by regions. All but costs_ns may be missing.
enum list { COSTS, ITERATIONS, INSIDE, OUTSIDE, NUM_LISTS };
static const char *const list_names[NUM_LISTS] = { "costs_ns", "iterations", "inside_ns",
                                                   "outside_ns" };

// The largest number of a list, or their largest sum.
static const uint64_t most_of[NUM_LISTS] = { MOST_COST_NS, INT64_MAX, MOST_COST_NS, MOST_COST_NS };

static bool is_sum(enum list list)
{
    return list != ITERATIONS;
}

struct lists {
    uint64_t *numbers[NUM_LISTS];
};

// The graph and the device that costs belong to.
struct origin {
    char graph[17], backend[32], device[128];
};

static struct origin origin_of(const braid_graph *graph, const braid_device *device)
{
    struct origin origin;
    braid_device_info info;
    braid_device_get_info(device, &info);
    snprintf(origin.graph, sizeof(origin.graph), "%016" PRIx64, braid_graph_get_digest(graph));
    snprintf(origin.backend, sizeof(origin.backend), "%s", info.backend);
    snprintf(origin.device, sizeof(origin.device), "%s", info.name);
    for (char *c = origin.device; *c; c++) { // so that it stands as it is between quotes
        if (*c == '"' || *c == '\\' || (unsigned char)*c < 0x20)
            *c = '_';
    }
    return origin;
}

static size_t list_length(const braid_graph *graph, enum list list)
{
    return list == ITERATIONS ? graph->regions.num : graph->nodes.num;
}

static void finish_lists(struct lists *lists)
{
    for (int i = 0; i < NUM_LISTS; i++)
        braid_free(lists->numbers[i]);
}

// As the graph has them.
static braid_status begin_lists(const braid_graph *graph, struct lists *out_lists)
{
    bool done = true;
    for (enum list i = 0; i < NUM_LISTS; i++) {
        out_lists->numbers[i] = braid_allocate_zeroed(list_length(graph, i), sizeof(uint64_t));
        done = done && out_lists->numbers[i];
    }
    if (!done) {
        finish_lists(out_lists);
        return braid_error_no_memory("a file of costs");
    }
    for (uint32_t i = 0; i < graph->nodes.num; i++) {
        out_lists->numbers[COSTS][i] = graph_nodes(graph)[i].cost_ns;
        out_lists->numbers[INSIDE][i] = graph_measured_of(graph, i).inside_ns;
        out_lists->numbers[OUTSIDE][i] = graph_measured_of(graph, i).outside_ns;
    }
    for (size_t i = 0; i < graph->regions.num; i++)
        out_lists->numbers[ITERATIONS][i] = graph_regions(graph)[i].expected;
    return BRAID_OK;
}

static bool is_told(const struct lists *lists, enum list list, size_t num)
{
    size_t first = 0;
    while (first < num && !lists->numbers[list][first])
        first++;
    return list == COSTS || first < num;
}

// Writes no larger numbers than a file may have.
static void write_list(FILE *file, enum list list, const uint64_t *numbers, size_t num)
{
    uint64_t left = most_of[list];
    fprintf(file, ", \"%s\": [", list_names[list]);
    for (size_t i = 0; i < num; i++) {
        const uint64_t number = numbers[i] < left ? numbers[i] : left;
        fprintf(file, "%s%" PRIu64, i ? ", " : "", number);
        left -= is_sum(list) ? number : 0;
    }
    fputs("]", file);
}

static void write_costs(FILE *file, const braid_graph *graph, const struct origin *origin,
                        const struct lists *lists)
{
    fprintf(file,
            "{\"braid\": \"%s\", \"format\": %d, \"kind\": \"costs\", \"graph\": \"%s\", "
            "\"backend\": \"%s\", \"device\": \"%s\"",
            braid_get_version(), FORMAT, origin->graph, origin->backend, origin->device);
    for (enum list list = 0; list < NUM_LISTS; list++) {
        const size_t num = list_length(graph, list);
        if (is_told(lists, list, num))
            write_list(file, list, lists->numbers[list], num);
    }
    fputs("}\n", file);
}

static braid_status save(const braid_graph *graph, const braid_device *device, const char *path,
                         const struct lists *lists)
{
    struct origin origin = origin_of(graph, device);
    struct whole_file file;
    if (!braid_whole_file_open(path, &file))
        return braid_error(BRAID_IO_ERROR, "%s cannot be written: %s", path, strerror(errno));
    write_costs(file.stream, graph, &origin, lists);
    if (!braid_whole_file_close(&file, true))
        return braid_error(BRAID_IO_ERROR, "%s could not be written: %s", path,
                           errno ? strerror(errno) : "a write failed");
    return BRAID_OK;
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
    struct lists lists;
    status = begin_lists(graph, &lists);
    if (status)
        return status;
    status = save(graph, device, path, &lists);
    finish_lists(&lists);
    return status;
}

static braid_status refuse(const char *path)
{
    return braid_error_invalid("%s is no file of costs", path);
}

static braid_status refuse_list(const char *path, const char *name)
{
    return braid_error_invalid("%s: '%s' is missing, or is no list", path, name);
}

static braid_status read_origin(const char *path, FILE *file, struct origin *out_origin)
{
    unsigned format = 0;
    int end = 0; // stays so where the text is another
    int num = fscanf(file,
                     " { \"braid\" : \"%*63[^\"]\" , \"format\" : %9u , \"kind\" : \"costs\" , "
                     "\"graph\" : \"%16[^\"]\" , \"backend\" : \"%31[^\"]\" , "
                     "\"device\" : \"%127[^\"]\" , \"costs_ns\" : [%n",
                     &format, out_origin->graph, out_origin->backend, out_origin->device, &end);
    if (ferror(file))
        return braid_error(BRAID_IO_ERROR, "%s could not be read: %s", path, strerror(errno));
    if (num > 0 && (format < OLDEST_FORMAT || format > FORMAT))
        return braid_error_invalid("%s is of format %u, and this version reads %d to %d", path,
                                   format, OLDEST_FORMAT, FORMAT);
    if (num == 4 && !end) // all but the list
        return refuse_list(path, list_names[COSTS]);
    return end ? BRAID_OK : refuse(path);
}

static braid_status check_text(const char *path, const char *what, const char *found,
                               const char *expected)
{
    return strcmp(found, expected) == 0
               ? BRAID_OK
               : braid_error_invalid("%s is of another %s: '%s', and this is '%s'", path, what,
                                     found, expected);
}

static braid_status check_origin(const char *path, const struct origin *found,
                                 const struct origin *expected, bool of_any_device)
{
    braid_status status = check_text(path, "graph", found->graph, expected->graph);
    if (!status && !of_any_device)
        status = check_text(path, "backend", found->backend, expected->backend);
    if (!status && !of_any_device)
        status = check_text(path, "device", found->device, expected->device);
    return status;
}

// Up to the bracket behind them.
static braid_status read_numbers(const char *path, FILE *file, enum list list, uint64_t *numbers,
                                 size_t num)
{
    const uint64_t least = list == ITERATIONS, most = most_of[list];
    uint64_t sum = 0;
    int end = 0;
    for (size_t i = 0; i < num; i++) {
        char digits[21], next[2];
        if (fscanf(file, " %20[0-9] %1[],]", digits, next) != 2 ||
            (next[0] == ',') != (i + 1 < num))
            return braid_error_invalid("%s: %s[%zu] is no whole number, or not one of %zu", path,
                                       list_names[list], i, num);
        errno = 0;
        numbers[i] = strtoull(digits, NULL, 10);
        if (numbers[i] < least)
            return braid_error_invalid("%s: %s[%zu] is 0", path, list_names[list], i);
        if (errno || numbers[i] > most - sum)
            return braid_error_invalid("%s: the numbers of %s %s more than %" PRIu64, path,
                                       list_names[list], is_sum(list) ? "add up to" : "have one of",
                                       most);
        sum += is_sum(list) ? numbers[i] : 0;
    }
    return num || (fscanf(file, " ]%n", &end) != EOF && end) ? BRAID_OK : refuse(path);
}

// Each list at most once, in their order.
static braid_status read_lists(const char *path, FILE *file, const braid_graph *graph,
                               struct lists *lists)
{
    enum list list = COSTS;
    braid_status status =
        read_numbers(path, file, COSTS, lists->numbers[COSTS], list_length(graph, COSTS));
    char next[2], name[16];
    for (int end = 0; !status; end = 0) {
        if (fscanf(file, " %1[,}]", next) != 1)
            return refuse(path);
        if (next[0] == '}')
            return fscanf(file, " ") == EOF || fgetc(file) == EOF ? BRAID_OK : refuse(path);
        if (fscanf(file, " \"%15[a-z_]\" : [%n", name, &end) != 1)
            return refuse(path);
        if (!end)
            return refuse_list(path, name);
        for (list++; list < NUM_LISTS && strcmp(name, list_names[list]) != 0;)
            list++;
        if (list >= NUM_LISTS)
            return braid_error_invalid(
                "%s is no file of costs that this version reads: it has '%s' "
                "in this place. Measure the costs again",
                path, name);
        status = read_numbers(path, file, list, lists->numbers[list], list_length(graph, list));
    }
    return status;
}

static braid_status set_costs(braid_graph *graph, const struct lists *lists)
{
    struct graph_region *regions = graph->regions.items;
    if (!braid_graph_reserve_measured(graph))
        return braid_error_no_memory("a file of costs");
    for (uint32_t i = 0; i < graph->nodes.num; i++) {
        const uint64_t cost_ns = lists->numbers[COSTS][i];
        braid_status status = braid_graph_set_cost(graph, braid_graph_get_node(graph, i), cost_ns);
        if (status)
            return status;
        braid_graph_set_measured(graph, i, cost_ns);
        graph_keep_measured(graph, i,
                            (struct graph_measured){ .outside_ns = lists->numbers[OUTSIDE][i],
                                                     .inside_ns = lists->numbers[INSIDE][i] });
    }
    for (size_t i = 0; i < graph->regions.num; i++)
        regions[i].expected = lists->numbers[ITERATIONS][i];
    return BRAID_OK;
}

static braid_status read_file(const char *path, FILE *file, braid_graph *graph,
                              const braid_device *device)
{
    struct origin found, expected = origin_of(graph, device);
    struct lists lists;
    braid_status status = begin_lists(graph, &lists);
    if (status)
        return status;
    for (uint32_t i = 0; i < graph->nodes.num; i++) // where the file has none
        lists.numbers[INSIDE][i] = lists.numbers[OUTSIDE][i] = 0;
    status = read_origin(path, file, &found);
    if (!status)
        status = check_origin(path, &found, &expected, !device);
    if (!status)
        status = read_lists(path, file, graph, &lists);
    if (!status)
        status = set_costs(graph, &lists);
    finish_lists(&lists);
    return status;
}

braid_status braid_graph_load_costs(braid_graph *graph, const braid_device *device,
                                    const char *path)
{
    if (!graph || !path)
        return braid_error_null("braid_graph_load_costs", graph ? "path" : "graph");
    braid_status status = BRAID_OK;
    if (device)
        status = braid_device_check("braid_graph_load_costs", device);
    if (status)
        return status;
    FILE *file = fopen(path, "r");
    if (!file)
        return braid_error(BRAID_IO_ERROR, "%s cannot be read: %s", path, strerror(errno));
    status = read_file(path, file, graph, device);
    fclose(file);
    return status;
}
