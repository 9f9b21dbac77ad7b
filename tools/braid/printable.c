// SPDX-License-Identifier: Apache-2.0
// Names as tables show them: they come from files, and a terminal obeys what some bytes tell it.
#include "printable.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

void printable_copy(const char *text, char *out, size_t size)
{
    static const char more[] = "...";
    size_t num = 0, cut = 0; // where the dots go, if the rest has no room
    while (*text) {
        char escaped[5];
        size_t length = braid_text_character(text), shown = length;
        const char *piece = text;
        if (!length) {
            shown = (size_t)snprintf(escaped, sizeof(escaped), "\\x%02x", (unsigned char)*text);
            piece = escaped;
        }
        if (num + shown >= size) {
            memcpy(out + cut, more, sizeof(more));
            return;
        }
        memcpy(out + num, piece, shown);
        num += shown;
        if (num + sizeof(more) <= size)
            cut = num;
        text += length ? length : 1;
    }
    out[num] = '\0';
}

struct printable printable_name(const char *name)
{
    struct printable printable;
    printable_copy(name, printable.text, sizeof(printable.text));
    return printable;
}
