// SPDX-License-Identifier: Apache-2.0
// Reads the corpus line by line.
#include "planner/corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef BRAID_SOURCE_ROOT
#define BRAID_SOURCE_ROOT "."
#endif

size_t corpus_step(void)
{
    const char *text = getenv("BRAID_SWEEP_STEP");
    long step = text ? strtol(text, NULL, 10) : 1;
    return step > 1 ? (size_t)step : 1;
}

const char *corpus_folder(void)
{
    static const char *const beside[] = {
        BRAID_SOURCE_ROOT "/shared/dags",
        BRAID_SOURCE_ROOT "/../shared/dags",
    };
    const char *given = getenv("BRAID_CORPUS");
    if (given && given[0])
        return given;
    for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
        if (access(beside[i], R_OK) == 0)
            return beside[i];
    }
    return NULL;
}

static FILE *open_file(const char *folder, const char *file)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    FILE *stream = fopen(path, "r");
    if (!stream)
        fprintf(stderr, "%s: cannot be read\n", path);
    return stream;
}

// Appends to a growing array of `bytes` wide items; NULL when memory runs out.
static void *grow(void *items, size_t num, size_t bytes)
{
    // Powers of two only: the array is full just when num is one.
    if (num < 16 ? num > 0 : (num & (num - 1)) != 0)
        return items;
    return realloc(items, (num < 16 ? 16 : num * 2) * bytes);
}

static bool add_node(struct corpus_graph *graph, uint64_t id, uint64_t cost)
{
    uint64_t *costs = grow(graph->costs, graph->num_nodes, sizeof(*costs));
    if (!costs || id != graph->num_nodes)
        return false;
    graph->costs = costs;
    graph->costs[graph->num_nodes++] = cost;
    return true;
}

static bool add_edge(struct corpus_graph *graph, uint64_t from, uint64_t to)
{
    uint32_t *grown = grow(graph->from, graph->num_edges, sizeof(*grown));
    if (!grown)
        return false;
    graph->from = grown;
    grown = grow(graph->to, graph->num_edges, sizeof(*grown));
    if (!grown || from >= graph->num_nodes || to >= graph->num_nodes)
        return false;
    graph->to = grown;
    graph->from[graph->num_edges] = (uint32_t)from;
    graph->to[graph->num_edges++] = (uint32_t)to;
    return true;
}

// `ID [cost=INT ...];` or `A -> B;`; other lines say nothing about the graph.
static bool read_line(struct corpus_graph *graph, const char *line)
{
    char *rest;
    unsigned long long first = strtoull(line, &rest, 10);
    if (rest == line)
        return true;
    unsigned long long second;
    if (sscanf(rest, " -> %llu;", &second) == 1)
        return add_edge(graph, first, second);
    if (sscanf(rest, " [cost=%llu", &second) == 1)
        return add_node(graph, first, second);
    return false;
}

static bool read_graph(const char *folder, struct corpus_graph *graph)
{
    char file[160];
    snprintf(file, sizeof(file), "%s.dot", graph->name);
    FILE *stream = open_file(folder, file);
    if (!stream)
        return false;
    char *line = NULL;
    size_t size = 0, number = 0;
    bool done = true;
    while (done && getline(&line, &size, stream) > 0) {
        number++;
        done = read_line(graph, line);
        if (!done)
            fprintf(stderr, "%s/%s:%zu: not a node or an edge\n", folder, file, number);
    }
    free(line);
    fclose(stream);
    return done;
}

bool corpus_read_table(const char *folder, const char *file, struct corpus_row **out_rows,
                       size_t *out_num_rows)
{
    FILE *stream = open_file(folder, file);
    if (!stream)
        return false;
    struct corpus_row *rows = NULL;
    size_t num = 0, size = 0;
    char *line = NULL;
    bool done = getline(&line, &size, stream) > 0;
    while (done && getline(&line, &size, stream) > 0) {
        struct corpus_row *grown = grow(rows, num, sizeof(*rows));
        done = grown;
        rows = grown ? grown : rows;
        if (!done)
            break;
        struct corpus_row *row = &rows[num++];
        *row = (struct corpus_row){ 0 };
        char *end = line + strcspn(line, "\t\n");
        snprintf(row->name, sizeof(row->name), "%.*s", (int)(end - line), line);
        for (int i = 0; i < 7 && *end == '\t'; i++)
            row->values[i] = strtoull(end + 1, &end, 10);
    }
    free(line);
    fclose(stream);
    *out_rows = rows;
    *out_num_rows = num;
    return done;
}

// The name stands first.
static bool read_index_line(char *line, struct corpus_graph *graph)
{
    *graph = (struct corpus_graph){ 0 };
    char *rest = line;
    const char *name = strsep(&rest, "\t");
    snprintf(graph->name, sizeof(graph->name), "%s", name);
    return rest;
}

bool corpus_read(const char *folder, struct corpus *out_corpus)
{
    struct corpus corpus = { 0 };
    FILE *stream = open_file(folder, "INDEX.tsv");
    if (!stream)
        return false;
    char *line = NULL;
    size_t size = 0;
    bool done = getline(&line, &size, stream) > 0;
    while (done && getline(&line, &size, stream) > 0) {
        struct corpus_graph *grown = grow(corpus.graphs, corpus.num_graphs, sizeof(*grown));
        done = grown && (corpus.graphs = grown) && read_index_line(line, &grown[corpus.num_graphs]);
        if (done)
            done = read_graph(folder, &grown[corpus.num_graphs++]);
    }
    free(line);
    fclose(stream);
    if (done)
        *out_corpus = corpus;
    else
        corpus_finish(&corpus);
    return done;
}

void corpus_finish(struct corpus *corpus)
{
    for (size_t i = 0; i < corpus->num_graphs; i++) {
        free(corpus->graphs[i].costs);
        free(corpus->graphs[i].from);
        free(corpus->graphs[i].to);
    }
    free(corpus->graphs);
    *corpus = (struct corpus){ 0 };
}

const struct corpus_graph *corpus_find(const struct corpus *corpus, const char *name)
{
    for (size_t i = 0; i < corpus->num_graphs; i++) {
        if (strcmp(corpus->graphs[i].name, name) == 0)
            return &corpus->graphs[i];
    }
    return NULL;
}

braid_status corpus_make_graph(const struct corpus_graph *graph, braid_graph **out_graph)
{
    braid_graph *made;
    braid_status status = braid_graph_create(&made);
    if (status)
        return status;
    for (uint32_t i = 0; !status && i < graph->num_nodes; i++) {
        braid_empty node = { .node.cost_ns = graph->costs[i] };
        status = braid_graph_add_empty(made, &node, NULL);
    }
    for (size_t i = 0; !status && i < graph->num_edges; i++)
        status = braid_graph_add_edge(made, braid_graph_get_node(made, graph->from[i]),
                                      braid_graph_get_node(made, graph->to[i]));
    if (status)
        braid_graph_destroy(made);
    else
        *out_graph = made;
    return status;
}
