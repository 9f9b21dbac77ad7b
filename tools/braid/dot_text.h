// SPDX-License-Identifier: Apache-2.0
// The text of an input file, whole in memory and without its comments, so that it can be gone
// through again for line numbers.
#ifndef BRAID_TOOL_DOT_TEXT_H
#define BRAID_TOOL_DOT_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "message.h"

struct dot_text {
    const char *path; // for messages: the caller's, or "<stdin>"
    char *data;       // not NUL-terminated
    size_t length;
};

// Reads a file, or standard input for "-". Reports what cannot be read.
enum exit_status dot_text_read(const char *path, struct dot_text *out_text);

// The same from an open stream, which stays open; `name` is for messages, and must live as long.
enum exit_status dot_text_read_stream(FILE *stream, const char *name, struct dot_text *out_text);

// Says that memory ran out, and returns EXIT_FAILED.
enum exit_status dot_text_no_memory(const struct dot_text *text);

void dot_text_finish(struct dot_text *text);

// The line that the byte at `position` is on, counted from 1.
uint64_t dot_text_line(const struct dot_text *text, size_t position);

#endif
