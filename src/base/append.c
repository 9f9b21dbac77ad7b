// SPDX-License-Identifier: Apache-2.0
// Messages that are put together piece by piece.
#include "base/append.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void braid_append(char *text, size_t size, const char *format, ...)
{
    if (size == 0)
        return;
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}
