// SPDX-License-Identifier: Apache-2.0
// Exit statuses, and the one line that says what went wrong.
#ifndef BRAID_TOOL_MESSAGE_H
#define BRAID_TOOL_MESSAGE_H

#include <stdint.h>

enum exit_status {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,   // a device, memory, an output file; or an order that was not kept
    EXIT_BAD_FILE = 2, // the input file or the command line is wrong
};

// A copy with spaces for control characters, and U+FFFD for bytes that are no UTF-8. Names and
// paths come from files and command lines, and a line break in one must not break the line. The
// caller frees it; NULL when memory runs out.
char *message_one_line(const char *text);

// From now on messages are made, but not written: for a program that reads thousands of bad files.
void message_be_quiet(void);

// Writes "braid: MESSAGE" to standard error and returns `status`.
__attribute__((format(printf, 2, 3))) enum exit_status fail(enum exit_status status,
                                                            const char *format, ...);

// Writes "FILE:LINE: MESSAGE" to standard error and returns EXIT_BAD_FILE.
__attribute__((format(printf, 3, 4))) enum exit_status fail_in_file(const char *file, uint64_t line,
                                                                    const char *format, ...);

// Writes "FILE:LINE: MESSAGE" to standard error, about what is no mistake.
__attribute__((format(printf, 3, 4))) void note_in_file(const char *file, uint64_t line,
                                                        const char *format, ...);

// Writes the library's message for this thread's latest failure and returns EXIT_FAILED.
enum exit_status fail_in_library(void);

#endif
