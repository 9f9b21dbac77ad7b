// SPDX-License-Identifier: Apache-2.0
// Attributes of nodes that are nearly one of ours, and would be ignored in silence.
#include "dot_unknown.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "dot_line.h"

enum { LEAST_LENGTH = 4 }; // shorter names are near to too many words

// Whether one letter more, less or other makes one of the other.
static bool is_near(const char *left, const char *right)
{
    size_t same = 0;
    while (left[same] && left[same] == right[same])
        same++;
    left += same;
    right += same;
    return strcasecmp(left, right) == 0 || (*left && strcmp(left + 1, right) == 0) ||
           (*right && strcmp(left, right + 1) == 0) ||
           (*left && *right && strcmp(left + 1, right + 1) == 0);
}

// Those of Graphviz that are near to one of ours.
static bool is_known_elsewhere(const char *name)
{
    return strcmp(name, "xlabel") == 0;
}

static const char *find_near(const char *const *names, size_t num, const char *name)
{
    const char *near = NULL;
    for (size_t i = 0; i < num; i++) {
        if (strcmp(names[i], name) == 0)
            return NULL;
        if (!near && strlen(names[i]) >= LEAST_LENGTH && is_near(names[i], name))
            near = names[i];
    }
    return is_known_elsewhere(name) ? NULL : near;
}

static Agnode_t *find_user(Agraph_t *graph, Agsym_t *symbol)
{
    Agnode_t *node = agfstnode(graph);
    while (node && !*agxget(node, symbol))
        node = agnxtnode(graph, node);
    return node;
}

void dot_unknown_tell(const struct dot_file *file, Agraph_t *graph, const char *const *names,
                      size_t num)
{
    for (Agsym_t *symbol = agnxtattr(graph, AGNODE, NULL); symbol;
         symbol = agnxtattr(graph, AGNODE, symbol)) {
        const char *near = find_near(names, num, symbol->name);
        Agnode_t *node = near ? find_user(graph, symbol) : NULL;
        if (!node)
            continue;
        const struct dot_node *user = &file->nodes[dot_node_index(node)];
        note_in_file(file->text.path, dot_line_of_attribute(&file->text, user->place, symbol->name),
                     "node '%s' has '%s', which Braid ignores: is '%s' meant?", user->id,
                     symbol->name, near);
    }
}
