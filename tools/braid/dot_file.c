// SPDX-License-Identifier: Apache-2.0
// Task graphs read from Graphviz DOT files.
#include "dot_file.h"

#include <stdbool.h>
#include <stdlib.h>

#include "dot_attributes.h"
#include "dot_cost.h"
#include "dot_cycle.h"
#include "dot_parse.h"
#include "progress.h"

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

// Edges that all lead to later nodes close no cycle.
static enum exit_status check_edges(const struct dot_file *file)
{
    bool all_go_forward = true;
    for (uint32_t i = 0; i < file->num_edges; i++) {
        const struct dot_edge *edge = &file->edges[i];
        if (edge->from == edge->to)
            return fail_in_file(file->text.path, dot_text_line(&file->text, edge->position),
                                "an edge from node '%s' to itself", file->nodes[edge->from].id);
        all_go_forward &= edge->from < edge->to;
    }
    return all_go_forward ? EXIT_DONE : dot_cycle_check(file);
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
