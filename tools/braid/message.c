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

char *message_one_line(const char *text)
{
    char *line = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&line, &length);
    struct text_piece piece;
    for (; stream && *text; text += piece.length) {
        braid_text_piece(text, &piece);
        if (piece.kind == TEXT_CONTROL)
            fprintf(stream, "%*s", (int)piece.length, "");
        else
            fwrite(piece.shown, 1, piece.num_shown, stream);
    }
    if (stream && fclose(stream) == 0)
        return line;
    free(line);
    return NULL;
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
    char *shown = line && fclose(line) == 0 ? message_one_line(text) : NULL;
    if (!shown)
        fputs("braid: out of memory for a message\n", stderr);
    else if (!is_quiet)
        fprintf(stderr, "%s\n", shown);
    free(shown);
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

void note_in_file(const char *file, uint64_t line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_line(file, line, format, arguments);
    va_end(arguments);
}

enum exit_status fail_in_library(void)
{
    return fail(EXIT_FAILED, "%s", braid_error_get_message());
}
