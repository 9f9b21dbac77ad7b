// SPDX-License-Identifier: Apache-2.0
// Exit statuses, and the one line that says what went wrong.
#include "message.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <braid/status.h>

#include "base/text.h"
#include "progress.h"

static bool is_quiet;

void message_be_quiet(void)
{
    is_quiet = true;
}

// A control of two bytes, whose second is one in Latin-1.
static bool is_long_control(const char *text)
{
    return (unsigned char)text[0] == 0xc2 && (unsigned char)text[1] >= 0x80 &&
           (unsigned char)text[1] < 0xa0;
}

void message_keep_one_line(char *text)
{
    while (*text) {
        size_t length = braid_text_character(text);
        // Bytes that are no UTF-8 may be letters of Latin-1, but for those that control there.
        if (!length && ((unsigned char)*text < 0xa0 || is_long_control(text)))
            *text = ' ';
        text += length ? length : 1;
    }
}

// Starts with the file and its line, or with "braid" where there is no file.
__attribute__((format(printf, 3, 0))) static void write_line(const char *file, uint64_t number,
                                                             const char *format, va_list arguments)
{
    char *text = NULL;
    size_t length = 0;
    FILE *line = open_memstream(&text, &length);
    progress_clear();
    if (line) {
        if (file)
            fprintf(line, "%s:%" PRIu64 ": ", file, number);
        else
            fputs("braid: ", line);
        vfprintf(line, format, arguments);
    }
    if (line && fclose(line) == 0) {
        message_keep_one_line(text);
        if (!is_quiet)
            fprintf(stderr, "%s\n", text);
    } else {
        fputs("braid: out of memory for a message\n", stderr);
    }
    free(text);
}

enum exit_status fail(enum exit_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_line(NULL, 0, format, arguments);
    va_end(arguments);
    return status;
}

enum exit_status fail_in_file(const char *file, uint64_t line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_line(file, line, format, arguments);
    va_end(arguments);
    return EXIT_BAD_FILE;
}

enum exit_status fail_in_library(void)
{
    return fail(EXIT_FAILED, "%s", braid_error_message());
}
