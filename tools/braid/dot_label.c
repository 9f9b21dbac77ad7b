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

char *dot_label_read(const char *label, const char *id)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    if (!file)
        return NULL;
    for (const char *next = label; *next; next++) {
        if (*next == '\\' && next[1])
            write_escape(file, *++next, id);
        else
            fputc(*next, file);
    }
    if (fclose(file) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
