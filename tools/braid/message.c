// SPDX-License-Identifier: Apache-2.0
// Exit statuses, and the one line that says what went wrong.
#include "message.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include <braid/status.h>

#include "progress.h"

enum exit_status fail(enum exit_status status, const char *format, ...)
{
    va_list arguments;
    progress_clear();
    fputs("braid: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return status;
}

enum exit_status fail_in_file(const char *file, uint64_t line, const char *format, ...)
{
    va_list arguments;
    progress_clear();
    fprintf(stderr, "%s:%" PRIu64 ": ", file, line);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return EXIT_BAD_FILE;
}

enum exit_status fail_in_library(void)
{
    return fail(EXIT_FAILED, "%s", braid_error_message());
}
