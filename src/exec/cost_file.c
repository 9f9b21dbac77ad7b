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
#include "base/whole_file.h"
#include "device/device.h"
#include "graph/graph.h"

enum { FORMAT = 2 }; // as of all files of the tool: docs/json.md

#define MOST_COST_NS ((uint64_t)INT64_MAX) // planning refuses a longer sum

// The graph and the device that costs belong to.
struct origin {
    char graph[17], backend[32], device[128];
};

static struct origin origin_of(const braid_graph *graph, const braid_device *device)
{
    struct origin origin;
    braid_device_info info;
    braid_device_get_info(device, &info);
    snprintf(origin.graph, sizeof(origin.graph), "%016" PRIx64, braid_graph_digest(graph));
    snprintf(origin.backend, sizeof(origin.backend), "%s", info.backend);
    snprintf(origin.device, sizeof(origin.device), "%s", info.name);
    for (char *c = origin.device; *c; c++) { // so that it stands as it is between quotes
        if (*c == '"' || *c == '\\' || (unsigned char)*c < 0x20)
            *c = '_';
    }
    return origin;
}

static void write_costs(FILE *file, const braid_graph *graph, const struct origin *origin)
{
    fprintf(file,
            "{\"braid\": \"%s\", \"format\": %d, \"kind\": \"costs\", \"graph\": \"%s\", "
            "\"backend\": \"%s\", \"device\": \"%s\", \"costs_ns\": [",
            braid_version(), FORMAT, origin->graph, origin->backend, origin->device);
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
    struct origin origin = origin_of(graph, device);
    struct whole_file file;
    if (!braid_whole_file_open(path, &file))
        return braid_error(BRAID_IO_ERROR, "%s cannot be written: %s", path, strerror(errno));
    write_costs(file.stream, graph, &origin);
    if (!braid_whole_file_close(&file, true))
        return braid_error(BRAID_IO_ERROR, "%s could not be written: %s", path,
                           errno ? strerror(errno) : "a write failed");
    return BRAID_OK;
}

static braid_status refuse(const char *path)
{
    return braid_error(BRAID_INVALID_ARGUMENT, "%s is no file of costs", path);
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
    if (num > 0 && format != FORMAT)
        return braid_error(BRAID_INVALID_ARGUMENT, "%s is of format %u, and this version reads %d",
                           path, format, FORMAT);
    return end ? BRAID_OK : refuse(path);
}

static braid_status check_text(const char *path, const char *what, const char *found,
                               const char *expected)
{
    return strcmp(found, expected) == 0
               ? BRAID_OK
               : braid_error(BRAID_INVALID_ARGUMENT, "%s is of another %s: '%s', and this is '%s'",
                             path, what, found, expected);
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

static braid_status read_numbers(const char *path, FILE *file, uint64_t *costs_ns, size_t num)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < num; i++) {
        char digits[21], next[2];
        if (fscanf(file, " %20[0-9] %1[],]", digits, next) != 2 ||
            (next[0] == ',') != (i + 1 < num))
            return braid_error(BRAID_INVALID_ARGUMENT,
                               "%s: costs_ns[%zu] is no whole number, or not one of %zu", path, i,
                               num);
        errno = 0;
        costs_ns[i] = strtoull(digits, NULL, 10);
        if (errno || costs_ns[i] > MOST_COST_NS - sum)
            return braid_error(BRAID_INVALID_ARGUMENT,
                               "%s: the numbers of costs_ns add up to more than %" PRIu64, path,
                               MOST_COST_NS);
        sum += costs_ns[i];
    }
    int end = 0;
    if (fscanf(file, num ? " }%n" : " ] }%n", &end) == EOF || !end)
        return refuse(path);
    return fscanf(file, " ") == EOF || fgetc(file) == EOF ? BRAID_OK : refuse(path);
}

static braid_status read_file(const char *path, FILE *file, braid_graph *graph,
                              const braid_device *device)
{
    struct origin found, expected = origin_of(graph, device);
    size_t num = graph->nodes.num;
    uint64_t *costs_ns = braid_allocate_zeroed(num, sizeof(*costs_ns));
    braid_status status = costs_ns ? BRAID_OK : braid_error_no_memory("a file of costs");
    if (!status)
        status = read_origin(path, file, &found);
    if (!status)
        status = check_origin(path, &found, &expected, !device);
    if (!status)
        status = read_numbers(path, file, costs_ns, num);
    for (uint32_t i = 0; i < num && !status; i++)
        status = braid_graph_set_cost(graph, braid_graph_node(graph, i), costs_ns[i]);
    free(costs_ns);
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
