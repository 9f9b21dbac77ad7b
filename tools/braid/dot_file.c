// SPDX-License-Identifier: Apache-2.0
// Task graphs read from Graphviz DOT files.
#include "dot_file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "dot_attributes.h"
#include "dot_cost.h"
#include "dot_cycle.h"
#include "dot_line.h"
#include "dot_parse.h"
#include "dot_size.h"
#include "progress.h"

struct reader {
    struct dot_file file;
    uint32_t node_room, edge_room, read_edge_room;
    Agedge_t **read_edges; // as cgraph knows them, in the order of the file
    bool out_of_memory;
};

// Closed when the next one is read, not before: that would take a quarter of the time of reading
// it, and the program ends soon.
static Agraph_t *whole_graph;

static char record_name[] = "braid";

bool dot_make_room(void **items, uint32_t num, uint32_t *room, size_t item_bytes)
{
    if (num < *room)
        return true;
    if (*room > UINT32_MAX / 2)
        return false;
    uint32_t new_room = *room ? *room * 2 : 256;
    void *moved = realloc(*items, new_room * item_bytes);
    if (!moved)
        return false;
    *items = moved;
    *room = new_room;
    return true;
}

static void take_node(void *user, Agnode_t *node)
{
    struct reader *reader = user;
    struct dot_file *file = &reader->file;
    void *nodes = file->nodes;
    struct dot_node_record *record = agbindrec(node, record_name, sizeof(*record), 1);
    char *id = strdup(agnameof(node));
    if (!record || !id ||
        !dot_make_room(&nodes, file->num_nodes, &reader->node_room, sizeof(*file->nodes))) {
        reader->out_of_memory = true;
        free(id);
        return;
    }
    file->nodes = nodes;
    record->index = file->num_nodes;
    file->nodes[file->num_nodes] = (struct dot_node){ .id = id,
                                                      .cost.whole = 1,
                                                      .main = file->num_nodes,
                                                      .place = file->num_nodes,
                                                      .grid = { 1, 1, 1 },
                                                      .block = { 1, 1, 1 },
                                                      .grid_from = DOT_NONE,
                                                      .to = DOT_NONE,
                                                      .from = DOT_NONE,
                                                      .user = DOT_NONE,
                                                      .around = DOT_NONE,
                                                      .condition = DOT_NONE };
    file->num_nodes++;
}

static void take_edge(void *user, Agedge_t *edge)
{
    struct reader *reader = user;
    struct dot_file *file = &reader->file;
    void *edges = file->edges, *read_edges = reader->read_edges;
    bool has_room =
        !reader->out_of_memory &&
        dot_make_room(&edges, file->num_edges, &reader->edge_room, sizeof(*file->edges));
    file->edges = has_room ? edges : file->edges;
    has_room = has_room && dot_make_room(&read_edges, file->num_edges, &reader->read_edge_room,
                                         sizeof(*reader->read_edges));
    if (!has_room) {
        reader->out_of_memory = true;
        return;
    }
    reader->read_edges = read_edges;
    file->edges[file->num_edges] =
        (struct dot_edge){ dot_node_index(agtail(edge)), dot_node_index(aghead(edge)),
                           file->num_edges };
    reader->read_edges[file->num_edges++] = edge;
}

// Edges that a drawing has only to show what follows from its bundles and accesses go to the end.
// Those that lead to a later frame order nothing of one, and are left out.
static enum exit_status part_implied(struct reader *reader, Agraph_t *graph)
{
    static char implied_name[] = "implied";
    struct dot_file *file = &reader->file;
    Agsym_t *implied = agattr(graph, AGEDGE, implied_name, NULL);
    if (!implied)
        return EXIT_DONE;
    struct dot_edge *parted = calloc((size_t)file->num_edges + 1, sizeof(*parted));
    if (!parted)
        return fail(EXIT_FAILED, "out of memory for reading %s", file->text.path);
    uint32_t num = 0, num_own = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < file->num_edges; i++) {
            const char *text = agxget(reader->read_edges[i], implied);
            bool is_implied = *text != '\0';
            if (is_implied == (pass == 1) && strcmp(text, "frame") != 0)
                parted[num++] = file->edges[i];
        }
        if (pass == 0)
            num_own = num;
    }
    file->num_edges = num_own;
    file->num_implied_edges = num - num_own;
    free(file->edges);
    file->edges = parted;
    return EXIT_DONE;
}

static enum exit_status check_edges(const struct dot_file *file)
{
    for (uint32_t i = 0; i < file->num_edges; i++) {
        const struct dot_edge *edge = &file->edges[i];
        if (edge->from == edge->to)
            return fail_in_file(file->text.path, dot_line_of_edge(&file->text, edge->place),
                                "an edge from node '%s' to itself", file->nodes[edge->from].id);
    }
    return dot_cycle_check(file);
}

// Braid's drawing of a schedule, known by its name and its first lane. It has arrows between
// neighbours on a lane and no costs, so it would be planned, and wrongly.
static bool is_schedule(Agraph_t *graph)
{
    static char lane_name[] = "cluster_lane_0";
    return strcmp(agnameof(graph), "schedule") == 0 && agsubg(graph, lane_name, 0);
}

static enum exit_status read_graph(struct reader *reader)
{
    struct dot_file *file = &reader->file;
    if (whole_graph)
        agclose(whole_graph);
    whole_graph = NULL;
    struct dot_parser parser = {
        .text = &file->text, .events = { .node = take_node, .edge = take_edge, .user = reader }
    };
    enum exit_status status = dot_parse(&parser, &whole_graph);
    if (status != EXIT_DONE)
        return status;
    if (reader->out_of_memory)
        return fail(EXIT_FAILED, "out of memory for reading %s", file->text.path);
    if (is_schedule(whole_graph))
        return fail_in_file(file->text.path, 1,
                            "the drawing of a plan: its arrows are not the graph's, so give the "
                            "graph that was planned");
    status = part_implied(reader, whole_graph);
    if (status == EXIT_DONE)
        status = dot_attributes_read(file, whole_graph);
    if (status == EXIT_DONE)
        status = dot_bundles_check(file);
    return status == EXIT_DONE ? dot_bodies_check(file) : status;
}

enum exit_status dot_file_read_text(struct dot_text text, const struct dot_limits *limits,
                                    struct dot_file *out_file)
{
    struct reader reader = { .file = { .text = text, .limits = *limits } };
    enum exit_status status = dot_size_check(&reader.file.text, limits);
    if (status == EXIT_DONE)
        status = read_graph(&reader);
    if (status == EXIT_DONE)
        status = dot_cost_check(&reader.file);
    if (status == EXIT_DONE)
        status = dot_blocks_count(&reader.file);
    if (status == EXIT_DONE)
        status = check_edges(&reader.file);
    progress_clear();
    free(reader.read_edges);
    if (status == EXIT_DONE)
        *out_file = reader.file;
    else
        dot_file_finish(&reader.file);
    return status;
}

enum exit_status dot_file_read(const char *path, const struct dot_limits *limits,
                               struct dot_file *out_file)
{
    struct dot_text text;
    enum exit_status status = dot_text_read(path, &text);
    return status == EXIT_DONE ? dot_file_read_text(text, limits, out_file) : status;
}

void dot_file_finish(struct dot_file *file)
{
    for (uint32_t i = 0; i < file->num_nodes; i++) {
        free(file->nodes[i].id);
        free(file->nodes[i].label);
        free(file->nodes[i].changes);
    }
    for (uint32_t i = 0; i < file->num_resources; i++)
        free(file->resources[i].name);
    for (uint32_t i = 0; i < file->num_parameters; i++)
        free(file->parameters[i].name);
    free(file->parameters);
    free(file->args);
    free(file->uses);
    free(file->nodes);
    free(file->edges);
    free(file->resources);
    free(file->accesses);
    free(file->cost_unit);
    dot_text_finish(&file->text);
    *file = (struct dot_file){ 0 };
}
