// SPDX-License-Identifier: Apache-2.0
// Finds a cycle in a file's graph, and says on which line it closes.
#include "dot_cycle.h"

#include <stdio.h>
#include <stdlib.h>

#define NONE UINT32_MAX

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
        peeling->first_out[i] = NONE;
    for (uint32_t i = 0; i < file->num_edges; i++) {
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
        for (uint32_t i = peeling->first_out[node]; i != NONE; i = peeling->next_out[i]) {
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
    uint32_t node = NONE;
    for (uint32_t i = 0; i < file->num_edges; i++) {
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
    for (uint32_t i = 0; i < length && i < MOST_NAMES; i++)
        fprintf(text, "%s -> ", file->nodes[path[length - 1 - i]].id);
    if (length > MOST_NAMES)
        fprintf(text, "... (%u more) -> ", (unsigned)(length - MOST_NAMES));
    fputs(file->nodes[path[length - 1]].id, text);
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

enum exit_status dot_cycle_check(const struct dot_file *file)
{
    size_t num_nodes = (size_t)file->num_nodes + 1, num_edges = (size_t)file->num_edges + 1;
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
