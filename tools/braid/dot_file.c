// SPDX-License-Identifier: Apache-2.0
// Task graphs read from Graphviz DOT files.
#include "dot_file.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "dot_attributes.h"
#include "dot_build.h"
#include "dot_cost.h"
#include "dot_shown.h"
#include "progress.h"

// With those that only show what follows from bundles and accesses.
static uint32_t count_edges(const struct dot_file *file)
{
    return file->num_edges + file->num_implied_edges;
}

// What is left after taking away, again and again, nodes without predecessors.
struct peeling {
    const struct dot_file *file;
    uint32_t *num_preds; // per node: predecessors that are left; 0 for a node taken away
    uint32_t *first_out; // per node: head of the list of edges from it
    uint32_t *next_out;  // per edge: the next of that list
    uint32_t *ready;     // nodes to take away, and those taken
    uint32_t num_taken;
};

static void list_edges(struct peeling *peeling)
{
    const struct dot_file *file = peeling->file;
    for (uint32_t i = 0; i < file->num_nodes; i++)
        peeling->first_out[i] = DOT_NONE;
    for (uint32_t i = 0; i < count_edges(file); i++) {
        const struct dot_edge *edge = &file->edges[i];
        peeling->num_preds[edge->to]++;
        peeling->next_out[i] = peeling->first_out[edge->from];
        peeling->first_out[edge->from] = i;
    }
}

static void peel(struct peeling *peeling)
{
    const struct dot_file *file = peeling->file;
    uint32_t num_ready = 0;
    for (uint32_t i = 0; i < file->num_nodes; i++) {
        if (peeling->num_preds[i] == 0)
            peeling->ready[num_ready++] = i;
    }
    while (peeling->num_taken < num_ready) {
        uint32_t node = peeling->ready[peeling->num_taken++];
        for (uint32_t i = peeling->first_out[node]; i != DOT_NONE; i = peeling->next_out[i]) {
            uint32_t to = file->edges[i].to;
            if (--peeling->num_preds[to] == 0)
                peeling->ready[num_ready++] = to;
        }
    }
}

// Each node that is left has a predecessor that is left: going back along these must come round.
// Fills `pred_edge` with an edge into each such node, and returns a node on the cycle.
static uint32_t find_node_on_cycle(const struct peeling *peeling, uint32_t *pred_edge)
{
    const struct dot_file *file = peeling->file;
    uint32_t node = DOT_NONE;
    for (uint32_t i = 0; i < count_edges(file); i++) {
        const struct dot_edge *edge = &file->edges[i];
        if (peeling->num_preds[edge->from] > 0 && peeling->num_preds[edge->to] > 0) {
            pred_edge[edge->to] = i;
            node = edge->to;
        }
    }
    // As many steps as there are nodes lead onto the cycle from wherever it began.
    for (uint32_t i = 0; i < file->num_nodes; i++)
        node = file->edges[pred_edge[node]].from;
    return node;
}

// The cycle's names, from its start back to it, at most a line's worth of them.
static void write_names(FILE *text, const struct dot_file *file, const uint32_t *pred_edge,
                        uint32_t last, uint32_t *path)
{
    enum { MOST_NAMES = 16 };
    uint32_t length = 0;
    uint32_t node = last;
    do {
        path[length++] = node;
        node = file->edges[pred_edge[node]].from;
    } while (node != last);
    struct dot_shown shown = dot_shown_create(file);
    for (uint32_t i = 0; i < length && i < MOST_NAMES; i++)
        fprintf(text, "%s -> ", dot_shown_name(&shown, path[length - 1 - i]));
    if (length > MOST_NAMES)
        fprintf(text, "... (%u more) -> ", (unsigned)(length - MOST_NAMES));
    fputs(dot_shown_name(&shown, path[length - 1]), text);
    dot_shown_finish(&shown);
}

static enum exit_status report(const struct peeling *peeling, uint32_t *pred_edge, uint32_t *path)
{
    const struct dot_file *file = peeling->file;
    uint32_t last = find_node_on_cycle(peeling, pred_edge);
    uint32_t node = last, closing = pred_edge[last];
    do {
        uint32_t edge = pred_edge[node];
        if (edge > closing)
            closing = edge;
        node = file->edges[edge].from;
    } while (node != last);
    char *names = NULL;
    size_t length = 0;
    FILE *text = open_memstream(&names, &length);
    if (!text)
        return fail(EXIT_FAILED, "out of memory");
    // The closing edge comes last, so the list starts where that edge ends.
    write_names(text, file, pred_edge, file->edges[closing].from, path);
    fclose(text);
    enum exit_status status =
        fail_in_file(file->text.path, dot_text_line(&file->text, file->edges[closing].position),
                     "this edge closes a cycle: %s", names ? names : "");
    free(names);
    return status;
}

// Reports a cycle if the graph has one: the line of the last of its edges, and its nodes.
static enum exit_status check_cycles(const struct dot_file *file)
{
    size_t num_nodes = (size_t)file->num_nodes + 1, num_edges = (size_t)count_edges(file) + 1;
    struct peeling peeling = { .file = file,
                               .num_preds = calloc(num_nodes, sizeof(uint32_t)),
                               .first_out = calloc(num_nodes, sizeof(uint32_t)),
                               .next_out = calloc(num_edges, sizeof(uint32_t)),
                               .ready = calloc(num_nodes, sizeof(uint32_t)) };
    enum exit_status status = EXIT_DONE;
    if (!peeling.num_preds || !peeling.first_out || !peeling.next_out || !peeling.ready) {
        status = fail(EXIT_FAILED, "out of memory for %u nodes", (unsigned)file->num_nodes);
    } else {
        list_edges(&peeling);
        peel(&peeling);
        if (peeling.num_taken < file->num_nodes)
            status = report(&peeling, peeling.first_out, peeling.ready);
    }
    free(peeling.num_preds);
    free(peeling.first_out);
    free(peeling.next_out);
    free(peeling.ready);
    return status;
}

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

// Edges that a drawing has only to show what follows from its bundles and accesses go to the end.
// Those that lead to a later frame order nothing of one, and are left out.
static enum exit_status part_implied(struct dot_file *file)
{
    uint32_t num = 0, num_own = 0;
    for (uint32_t i = 0; i < file->num_edges; i++)
        num_own += file->edges[i].implied == DOT_OWN;
    if (num_own == file->num_edges)
        return EXIT_DONE;
    struct dot_edge *parted = calloc(file->num_edges, sizeof(*parted));
    if (!parted)
        return dot_text_no_memory(&file->text);
    for (uint32_t kind = DOT_OWN; kind <= DOT_IMPLIED; kind++) {
        for (uint32_t i = 0; i < file->num_edges; i++) {
            if (file->edges[i].implied == kind)
                parted[num++] = file->edges[i];
        }
    }
    file->num_edges = num_own;
    file->num_implied_edges = num - num_own;
    free(file->edges);
    file->edges = parted;
    return EXIT_DONE;
}

static enum exit_status report_loop(const struct dot_file *file, const struct dot_edge *edge)
{
    struct dot_shown shown = dot_shown_create(file);
    enum exit_status status =
        fail_in_file(file->text.path, dot_text_line(&file->text, edge->position),
                     "an edge from node '%s' to itself", dot_shown_name(&shown, edge->from));
    dot_shown_finish(&shown);
    return status;
}

// Edges that all lead to later nodes close no cycle.
static enum exit_status check_edges(const struct dot_file *file)
{
    bool all_go_forward = true;
    for (uint32_t i = 0; i < count_edges(file); i++) {
        const struct dot_edge *edge = &file->edges[i];
        if (edge->from == edge->to)
            return report_loop(file, edge);
        all_go_forward &= edge->from < edge->to;
    }
    return all_go_forward ? EXIT_DONE : check_cycles(file);
}

static enum exit_status read_graph(struct dot_file *file)
{
    struct dot_build build = { .file = file };
    enum exit_status status = dot_parse(&build);
    dot_build_finish(&build);
    progress_show("reading attributes", 0, 0);
    if (status == EXIT_DONE)
        status = part_implied(file);
    if (status == EXIT_DONE)
        status = dot_attributes_read(file);
    if (status == EXIT_DONE)
        status = dot_bundles_check(file);
    return status == EXIT_DONE ? dot_bodies_check(file) : status;
}

// Nobody reads the text again.
static void forget_text(struct dot_file *file)
{
    const char *path = file->text.path;
    dot_text_finish(&file->text);
    file->text.path = path;
    dot_given_finish(&file->given);
    dot_names_close(&file->ids);
}

enum exit_status dot_file_read_text(struct dot_text text, const struct dot_limits *limits,
                                    struct dot_file *out_file)
{
    struct dot_file file = { .text = text, .limits = *limits };
    enum exit_status status = read_graph(&file);
    progress_show("checking costs and cycles", 0, 0);
    if (status == EXIT_DONE)
        status = dot_cost_check(&file);
    if (status == EXIT_DONE)
        status = dot_blocks_count(&file);
    if (status == EXIT_DONE)
        status = dot_links_count(&file);
    if (status == EXIT_DONE)
        status = check_edges(&file);
    progress_clear();
    forget_text(&file);
    if (status == EXIT_DONE)
        *out_file = file;
    else
        dot_file_finish(&file);
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
    dot_names_finish(&file->ids);
    *file = (struct dot_file){ 0 };
}
