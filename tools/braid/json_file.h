// SPDX-License-Identifier: Apache-2.0
// Reading JSON from files, of which none is read for ever.
#ifndef BRAID_TOOL_JSON_FILE_H
#define BRAID_TOOL_JSON_FILE_H

#include <stdbool.h>

#include <jansson.h>

#include "message.h"

// The format of the files that the tool writes. It grows when a field changes its meaning or goes
// away; new fields do not count. Format 2 counted places from 0, which no reader here looks at.
enum { JSON_FORMAT = 3, JSON_OLDEST_FORMAT = 2 };

// Whether an input path means standard input.
bool json_file_is_stdin(const char *path);

// How messages name a file.
const char *json_file_name(const char *path);

// As json_load_file, which does not end where a file does not: NULL for more than file_limit.h
// says. "-" is standard input, but where another file was that before.
json_t *json_file_load(const char *path, json_error_t *out_error);

// Refuses a file of the tool's that is of another format than this version writes.
enum exit_status json_file_check_format(const char *path, const json_t *json);

#endif
