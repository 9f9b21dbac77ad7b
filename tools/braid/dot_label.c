// SPDX-License-Identifier: Apache-2.0
// Labels of DOT files as plain text.
#include "dot_label.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_escape(FILE *file, char escape, const char *id)
{
    if (strchr("nlr", escape))
        fputc('\n', file);
    else if (escape == 'N')
        fputs(id, file);
    else
        fputc(escape, file);
}

// Graphviz shows what an entity stands for. Returns its length, or 0 where there is none.
static size_t write_entity(FILE *file, const char *text)
{
    static const struct {
        const char *entity;
        char c;
    } entities[] = { { "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' }, { "&quot;", '"' } };
    for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++) {
        size_t length = strlen(entities[i].entity);
        if (strncmp(text, entities[i].entity, length) == 0) {
            fputc(entities[i].c, file);
            return length;
        }
    }
    return 0;
}

char *dot_label_read(const char *label, const char *id)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    if (!file)
        return NULL;
    for (const char *next = label; *next;) {
        size_t taken = *next == '&' ? write_entity(file, next) : 0;
        if (taken == 0) {
            taken = *next == '\\' && next[1] ? 2 : 1;
            if (taken == 2)
                write_escape(file, next[1], id);
            else
                fputc(*next, file);
        }
        next += taken;
    }
    if (fclose(file) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
