// SPDX-License-Identifier: Apache-2.0
// Task graphs read from Graphviz DOT files.
#include "dot_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "dot_cost.h"
#include "dot_cycle.h"
#include "dot_label.h"
#include "dot_line.h"
#include "dot_parse.h"
#include "progress.h"

struct reader {
    struct dot_file file;
    uint32_t node_room, edge_room;
    bool out_of_memory;
};

// Never closed: that would take a quarter of the time of reading it, and the program ends soon.
static Agraph_t *whole_graph;

// Hung on each cgraph node.
struct node_record {
    Agrec_t header;
    uint32_t index;
};

static char record_name[] = "braid";
static char cost_name[] = "cost", label_name[] = "label", unit_name[] = "cost_unit";

// Makes room for one more item, doubling; true if there is room.
static bool make_room(void **items, uint32_t num, uint32_t *room, size_t item_bytes)
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
    struct node_record *record = agbindrec(node, record_name, sizeof(*record), 1);
    char *id = strdup(agnameof(node));
    if (!record || !id ||
        !make_room(&nodes, file->num_nodes, &reader->node_room, sizeof(*file->nodes))) {
        reader->out_of_memory = true;
        free(id);
        return;
    }
    file->nodes = nodes;
    record->index = file->num_nodes;
    file->nodes[file->num_nodes++] = (struct dot_node){ .id = id, .cost = 1 };
}

static uint32_t index_of(Agnode_t *node)
{
    const struct node_record *record = (const struct node_record *)AGDATA(node);
    return record->index;
}

static void take_edge(void *user, Agedge_t *edge)
{
    struct reader *reader = user;
    struct dot_file *file = &reader->file;
    void *edges = file->edges;
    if (reader->out_of_memory ||
        !make_room(&edges, file->num_edges, &reader->edge_room, sizeof(*file->edges))) {
        reader->out_of_memory = true;
        return;
    }
    file->edges = edges;
    file->edges[file->num_edges++] =
        (struct dot_edge){ index_of(agtail(edge)), index_of(aghead(edge)) };
}

static enum exit_status read_cost(struct dot_file *file, uint32_t node, const char *text)
{
    char *end;
    if (!*text)
        return EXIT_DONE;
    errno = 0;
    file->nodes[node].cost = strtoull(text, &end, 10);
    file->without_cost--;
    if (*end || errno || *text < '0' || *text > '9')
        return fail_in_file(file->text.path, dot_line_of_cost(&file->text, node),
                            "node '%s' has cost '%s': a cost is a whole number, 0 or more",
                            file->nodes[node].id, text);
    return EXIT_DONE;
}

static enum exit_status read_attributes(struct dot_file *file, Agraph_t *graph)
{
    Agsym_t *cost = agattr(graph, AGNODE, cost_name, NULL);
    Agsym_t *label = agattr(graph, AGNODE, label_name, NULL);
    const char *unit = agget(graph, unit_name);
    if (unit && *unit && !(file->cost_unit = strdup(unit)))
        return fail(EXIT_FAILED, "out of memory for reading %s", file->text.path);
    if (file->cost_unit)
        message_keep_one_line(file->cost_unit);
    file->without_cost = file->num_nodes;
    for (Agnode_t *node = agfstnode(graph); node; node = agnxtnode(graph, node)) {
        struct dot_node *read = &file->nodes[index_of(node)];
        if (cost && read_cost(file, index_of(node), agxget(node, cost)) != EXIT_DONE)
            return EXIT_BAD_FILE;
        char *text = label ? agxget(node, label) : NULL;
        if (text && *text && !aghtmlstr(text) && !(read->label = dot_label_read(text, read->id)))
            return fail(EXIT_FAILED, "out of memory for reading %s", file->text.path);
    }
    file->unit_ns = dot_cost_choose_unit(file);
    return EXIT_DONE;
}

static enum exit_status check_edges(const struct dot_file *file)
{
    for (uint32_t i = 0; i < file->num_edges; i++) {
        const struct dot_edge *edge = &file->edges[i];
        if (edge->from == edge->to)
            return fail_in_file(file->text.path, dot_line_of_edge(&file->text, i),
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
    return read_attributes(file, whole_graph);
}

enum exit_status dot_file_read(const char *path, struct dot_file *out_file)
{
    struct reader reader = { 0 };
    enum exit_status status = dot_text_read(path, &reader.file.text);
    if (status == EXIT_DONE)
        status = read_graph(&reader);
    if (status == EXIT_DONE)
        status = dot_cost_check(&reader.file);
    if (status == EXIT_DONE)
        status = check_edges(&reader.file);
    progress_clear();
    if (status == EXIT_DONE)
        *out_file = reader.file;
    else
        dot_file_finish(&reader.file);
    return status;
}

void dot_file_finish(struct dot_file *file)
{
    for (uint32_t i = 0; i < file->num_nodes; i++) {
        free(file->nodes[i].id);
        free(file->nodes[i].label);
    }
    free(file->nodes);
    free(file->edges);
    free(file->cost_unit);
    dot_text_finish(&file->text);
    *file = (struct dot_file){ 0 };
}
