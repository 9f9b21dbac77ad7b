// SPDX-License-Identifier: Apache-2.0
// Which labels tell a node from all others: no other node has one as label or as id.
#include "dot_shown.h"

#include <stdlib.h>
#include <string.h>

#include "dot_names.h"

// Counts a node's label and id once each. False: no memory.
static bool count(struct dot_names *names, const struct dot_node *node, uint32_t *times)
{
    const char *const own[] = { node->id, node->label };
    const int num = node->label && strcmp(node->label, node->id) != 0 ? 2 : 1;
    bool done = true;
    for (int i = 0; i < num && done; i++) {
        bool is_new;
        const uint32_t number = dot_names_add(names, own[i], &is_new);
        done = number != DOT_NONE;
        if (done)
            times[number]++;
    }
    return done;
}

struct dot_shown dot_shown_create(const struct dot_file *file)
{
    struct dot_shown shown = { file, calloc((size_t)file->num_nodes + 1, sizeof(bool)) };
    uint32_t *times = calloc(2 * (size_t)file->num_nodes + 1, sizeof(*times));
    struct dot_names names = { 0 };
    bool done = shown.is_unique && times;
    for (uint32_t i = 0; i < file->num_nodes && done; i++)
        done = count(&names, &file->nodes[i], times);
    for (uint32_t i = 0; i < file->num_nodes && done; i++) {
        const char *label = file->nodes[i].label;
        shown.is_unique[i] =
            label && label[strspn(label, " \t\r\n")] && times[dot_names_find(&names, label)] == 1;
    }
    dot_names_finish(&names);
    free(times);
    return shown;
}

const char *dot_shown_name(const struct dot_shown *shown, uint32_t node)
{
    const struct dot_node *named = &shown->file->nodes[node];
    return shown->is_unique && shown->is_unique[node] ? named->label : named->id;
}

void dot_shown_finish(struct dot_shown *shown)
{
    free(shown->is_unique);
    *shown = (struct dot_shown){ 0 };
}
