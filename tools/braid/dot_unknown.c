// SPDX-License-Identifier: Apache-2.0
// Attributes that are nearly one of ours, and would be ignored in silence.
#include "dot_unknown.h"

#include <string.h>
#include <strings.h>

enum { LEAST_LENGTH = 4 }; // shorter names are near to too many words

// Whether one letter more, less or other, or two that change places, make one of the other.
static bool is_near(const char *left, const char *right)
{
    size_t same = 0;
    while (left[same] && left[same] == right[same])
        same++;
    left += same;
    right += same;
    return strcasecmp(left, right) == 0 || (*left && strcmp(left + 1, right) == 0) ||
           (*right && strcmp(left, right + 1) == 0) ||
           (*left && *right && strcmp(left + 1, right + 1) == 0) ||
           (*left && *right && left[0] == right[1] && left[1] == right[0] &&
            strcmp(left + 2, right + 2) == 0);
}

static const char *find_near(const char *const *names, size_t num, const char *name)
{
    const char *near = NULL;
    for (size_t i = 0; i < num; i++) {
        if (strcmp(names[i], name) == 0)
            return NULL;
        if (!near && strlen(names[i]) >= LEAST_LENGTH && is_near(names[i], name))
            near = names[i];
        if (strcmp(names[i], "cost_unit") == 0 && strcmp(name, "unit") == 0)
            near = names[i];
    }
    return strcmp(name, "xlabel") == 0 ? NULL : near; // it is Graphviz's, near to one of ours
}

bool dot_unknown_is_near(const char *const *names, size_t num, const char *name)
{
    return find_near(names, num, name);
}

static enum exit_status tell(struct dot_file *file, const char *name, const char *near)
{
    const struct dot_attribute *attribute = dot_given_find(&file->given, name);
    const struct dot_string *text = dot_given_read(file, attribute->near);
    if (text && text->length)
        note_in_file(file->text.path, dot_text_line(&file->text, attribute->near),
                     "node '%s' has '%s', which Braid ignores: is '%s' meant?",
                     file->nodes[attribute->first].id, name, near);
    return text ? EXIT_DONE : EXIT_FAILED;
}

enum exit_status dot_unknown_tell(struct dot_file *file, const char *const *names, size_t num)
{
    enum exit_status status = EXIT_DONE;
    for (uint32_t i = 0; i < file->given.names.num && status == EXIT_DONE; i++) {
        const char *name = file->given.names.names[i], *near = find_near(names, num, name);
        if (near)
            status = tell(file, name, near);
    }
    return status;
}

enum exit_status dot_unknown_tell_of_graph(struct dot_file *file, const char *const *names,
                                           size_t num)
{
    for (uint32_t i = 0; i < file->given.names.num; i++) {
        const uint32_t value = file->given.attributes[i].graph;
        const char *name = file->given.names.names[i], *near = find_near(names, num, name);
        if (!value || !near)
            continue;
        const struct dot_string *text = dot_given_read(file, value);
        if (!text)
            return EXIT_FAILED;
        if (text->length)
            note_in_file(file->text.path, dot_text_line(&file->text, value),
                         "the graph has '%s', which Braid ignores: is '%s' meant?", name, near);
    }
    return EXIT_DONE;
}
