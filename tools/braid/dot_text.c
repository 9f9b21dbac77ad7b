// SPDX-License-Identifier: Apache-2.0
// The text of an input file, whole in memory and without its comments, so that it can be gone
// through again for line numbers.
#include "dot_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dot_comment.h"
#include "file_limit.h"
#include "progress.h"

// In the bytes from the first one on.
static enum exit_status check_piece(FILE *stream, const struct dot_text *text, size_t first)
{
    const char *nul =
        first < text->length ? memchr(text->data + first, '\0', text->length - first) : NULL;
    if (nul)
        return fail_in_file(text->path, dot_text_line(text, (size_t)(nul - text->data)),
                            "a NUL byte: this is not a text file");
    if (file_is_too_long(stream, text->length))
        return fail(EXIT_BAD_FILE, "cannot read %s: more than %d MiB", text->path, FILE_MOST_MIB);
    return EXIT_DONE;
}

enum exit_status dot_text_no_memory(const struct dot_text *text)
{
    return fail(EXIT_FAILED, "out of memory for reading %s", text->path);
}

static enum exit_status read_stream(FILE *stream, struct dot_text *text)
{
    size_t room = 0;
    enum exit_status status = check_piece(stream, text, 0);
    while (status == EXIT_DONE) {
        if (text->length == room) {
            room = room ? room * 2 : 65536;
            char *data = realloc(text->data, room);
            if (!data)
                return dot_text_no_memory(text);
            text->data = data;
        }
        errno = 0;
        size_t num = fread(text->data + text->length, 1, room - text->length, stream);
        text->length += num;
        if (num == 0)
            break;
        status = check_piece(stream, text, text->length - num);
        progress_show("reading", 0, 0);
    }
    if (status == EXIT_DONE && ferror(stream))
        return fail(EXIT_BAD_FILE, "cannot read %s: %s", text->path, strerror(errno));
    return status;
}

// Graphviz takes a byte order mark on a line of its own only. Spaces keep what follows in its
// place.
static void blank_byte_order_mark(struct dot_text *text)
{
    static const char mark[] = { '\xef', '\xbb', '\xbf' };
    if (text->length >= sizeof(mark) && memcmp(text->data, mark, sizeof(mark)) == 0)
        memset(text->data, ' ', sizeof(mark));
}

enum exit_status dot_text_read_stream(FILE *stream, const char *name, struct dot_text *out_text)
{
    struct dot_text text = { .path = name };
    enum exit_status status = read_stream(stream, &text);
    blank_byte_order_mark(&text);
    if (status == EXIT_DONE)
        status = dot_comment_remove(&text);
    if (status == EXIT_DONE)
        *out_text = text;
    else
        free(text.data);
    return status;
}

enum exit_status dot_text_read(const char *path, struct dot_text *out_text)
{
    if (strcmp(path, "-") == 0)
        return dot_text_read_stream(stdin, "<stdin>", out_text);
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return fail(EXIT_BAD_FILE, "cannot open %s: %s", path, strerror(errno));
    enum exit_status status = dot_text_read_stream(stream, path, out_text);
    fclose(stream);
    return status;
}

void dot_text_finish(struct dot_text *text)
{
    free(text->data);
    *text = (struct dot_text){ 0 };
}

uint64_t dot_text_line(const struct dot_text *text, size_t position)
{
    uint64_t line = 1;
    for (size_t i = 0; i < position && i < text->length; i++)
        line += text->data[i] == '\n';
    return line;
}
