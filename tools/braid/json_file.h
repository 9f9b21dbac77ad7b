// SPDX-License-Identifier: Apache-2.0
// Reading JSON from files, of which none is read for ever.
#ifndef BRAID_TOOL_JSON_FILE_H
#define BRAID_TOOL_JSON_FILE_H

#include <jansson.h>

// As json_load_file, which does not end where a file does not: NULL for more than file_limit.h
// says.
json_t *json_file_load(const char *path, json_error_t *out_error);

#endif
