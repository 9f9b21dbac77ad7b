// SPDX-License-Identifier: Apache-2.0
// Reading JSON from files, of which none is read for ever.
#include "json_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "file_limit.h"

struct input {
    FILE *stream;
    uint64_t num_bytes;
    bool is_too_long;
};

// What ends here is no JSON, or not what its first part says: it is refused below either way.
static size_t read_piece(void *buffer, size_t size, void *data)
{
    struct input *input = data;
    size_t num = fread(buffer, 1, size, input->stream);
    input->num_bytes += num;
    input->is_too_long = file_is_too_long(input->stream, input->num_bytes);
    return input->is_too_long ? (size_t)-1 : num;
}

static json_t *refuse(json_error_t *error, const char *what, const char *path, const char *reason)
{
    *error = (json_error_t){ .line = -1, .column = -1 };
    snprintf(error->text, sizeof(error->text), "%s %s: %s", what, path, reason);
    return NULL;
}

bool json_file_is_stdin(const char *path)
{
    return strcmp(path, "-") == 0;
}

const char *json_file_name(const char *path)
{
    return json_file_is_stdin(path) ? "<stdin>" : path;
}

json_t *json_file_load(const char *path, json_error_t *out_error)
{
    bool is_stdin = json_file_is_stdin(path);
    struct input input = { .stream = is_stdin ? stdin : fopen(path, "rb") };
    path = json_file_name(path);
    if (is_stdin && feof(stdin))
        return refuse(out_error, "unable to read", path, "another file was read from there");
    if (!input.stream)
        return refuse(out_error, "unable to open", path, strerror(errno));
    errno = 0;
    input.is_too_long = file_is_too_long(input.stream, 0);
    json_t *json = input.is_too_long ? NULL : json_load_callback(read_piece, &input, 0, out_error);
    int reason = ferror(input.stream) ? errno : 0;
    if (!is_stdin)
        fclose(input.stream);
    if (!input.is_too_long && !reason)
        return json;
    char text[64];
    snprintf(text, sizeof(text), "more than %d MiB", FILE_MOST_MIB);
    json_decref(json);
    return refuse(out_error, "unable to read", path, reason ? strerror(reason) : text);
}

enum exit_status json_file_check_format(const char *path, const json_t *json)
{
    const json_t *format = json_object_get(json, "format");
    if (!json_is_integer(format))
        return fail_in_file(path, 1, "no whole number 'format'");
    if (json_integer_value(format) < JSON_OLDEST_FORMAT || json_integer_value(format) > JSON_FORMAT)
        return fail_in_file(path, 1,
                            "of format %" JSON_INTEGER_FORMAT ", and this version reads %d to %d",
                            json_integer_value(format), JSON_OLDEST_FORMAT, JSON_FORMAT);
    return EXIT_DONE;
}
