// SPDX-License-Identifier: Apache-2.0
// Writing lines piece by piece into a buffer, cut to fit.
#ifndef BRAID_PLAN_TEXT_H
#define BRAID_PLAN_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "base/text.h"

struct plan_text {
    char *bytes;
    size_t size; // more than 0
    size_t used; // without the NUL
};

// Names in it break no line.
__attribute__((format(printf, 2, 3))) static inline void plan_text_add(struct plan_text *text,
                                                                       const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t room = text->size - text->used;
    int wrote = vsnprintf(text->bytes + text->used, room, format, arguments);
    va_end(arguments);
    braid_text_keep_one_line(text->bytes + text->used);
    if (wrote > 0)
        text->used += (size_t)wrote < room ? (size_t)wrote : room - 1;
}

#endif
