// SPDX-License-Identifier: Apache-2.0
// Preludes and epilogues of DOT files: main nodes first, and never one of another.
#include <stdlib.h>

#include "dot_attributes.h"

// Gives each main node that is late the place of its first prelude or epilogue.
static void order(const struct dot_file *file, uint32_t *new_index)
{
    for (uint32_t i = 0; i < file->num_nodes; i++)
        new_index[i] = UINT32_MAX;
    uint32_t num = 0;
    for (uint32_t i = 0; i < file->num_nodes; i++) {
        uint32_t main = file->nodes[i].role == DOT_MAIN ? i : file->nodes[i].main;
        if (new_index[main] == UINT32_MAX)
            new_index[main] = num++;
        if (i != main)
            new_index[i] = num++;
    }
}

bool dot_nodes_move(struct dot_file *file, const uint32_t *new_index)
{
    struct dot_node *moved = calloc((size_t)file->num_nodes + 1, sizeof(*moved));
    if (!moved)
        return false;
    for (uint32_t i = 0; i < file->num_nodes; i++) {
        struct dot_node *node = &moved[new_index[i]];
        *node = file->nodes[i];
        node->main = new_index[node->main];
        node->around = node->around == DOT_NONE ? DOT_NONE : new_index[node->around];
    }
    for (uint32_t i = 0; i < file->num_edges + file->num_implied_edges; i++) {
        file->edges[i].from = new_index[file->edges[i].from];
        file->edges[i].to = new_index[file->edges[i].to];
    }
    free(file->nodes);
    file->nodes = moved;
    return true;
}

enum exit_status dot_bundle_refuse(const struct dot_file *file, uint32_t node, const char *what)
{
    const struct dot_node *refused = &file->nodes[node];
    const char *name = refused->role == DOT_PRELUDE ? "prelude_of" : "epilogue_of";
    return dot_attribute_refuse(file, node, name, file->nodes[refused->main].id, what);
}

enum exit_status dot_bundles_check(struct dot_file *file)
{
    bool is_main_late = false; // some stand behind their preludes, in files written by hand
    for (uint32_t i = 0; i < file->num_nodes; i++) {
        const struct dot_node *node = &file->nodes[i];
        if (node->role != DOT_MAIN && file->nodes[node->main].role != DOT_MAIN)
            return dot_bundle_refuse(file, i, "that node is itself a prelude or epilogue");
        is_main_late |= node->role != DOT_MAIN && node->main > i;
    }
    if (!is_main_late)
        return EXIT_DONE;
    uint32_t *new_index = calloc((size_t)file->num_nodes + 1, sizeof(*new_index));
    if (new_index)
        order(file, new_index);
    bool done = new_index && dot_nodes_move(file, new_index);
    free(new_index);
    return done ? EXIT_DONE : dot_text_no_memory(&file->text);
}
