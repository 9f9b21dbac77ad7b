// SPDX-License-Identifier: Apache-2.0
// What a source includes, put in the place of its directives.
#include "includes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 32 };

// The name between quotes or brackets of an #include line; false: it is no such line.
static bool read_name(const char *line, char *name, size_t size)
{
    line += strspn(line, " \t");
    if (*line++ != '#')
        return false;
    line += strspn(line, " \t");
    if (strncmp(line, "include", 7) != 0)
        return false;
    line += 7 + strspn(line + 7, " \t");
    size_t length = *line == '"' || *line == '<' ? strcspn(line + 1, "\">\n") : 0;
    if (length == 0 || length >= size)
        return false;
    memcpy(name, line + 1, length);
    name[length] = '\0';
    return true;
}

static void expand_file(const struct headers *headers, const char *folder, const char *name,
                        int depth, struct text *out)
{
    char path[1024], line[1024];
    struct text text = { 0 };
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return;
    while (fgets(line, sizeof(line), file))
        text_add(&text, "%s", line);
    fclose(file);
    if (text.bytes != NULL)
        includes_expand(headers, text.bytes, depth + 1, out);
    text_finish(&text);
}

static void expand_name(const struct headers *headers, const char *name, int depth,
                        struct text *out)
{
    for (int i = 0; i < headers->num; i++) {
        if (strcmp(headers->names[i], name) == 0) {
            includes_expand(headers, headers->texts[i], depth + 1, out);
            return;
        }
    }
    for (int i = 0; i < headers->num_options; i++) {
        const char *option = headers->options[i];
        if (strncmp(option, "-I", 2) == 0)
            expand_file(headers,
                        option[2] || i + 1 == headers->num_options ? option + 2
                                                                   : headers->options[i + 1],
                        name, depth, out);
    }
}

void includes_expand(const struct headers *headers, const char *source, int depth, struct text *out)
{
    char name[256];
    while (*source && depth < MOST_DEPTH) {
        size_t length = strcspn(source, "\n");
        length += source[length] == '\n';
        if (read_name(source, name, sizeof(name)))
            expand_name(headers, name, depth, out);
        text_add(out, "%.*s", (int)length, source); // its directive is skipped later
        source += length;
    }
}
