// SPDX-License-Identifier: Apache-2.0
// The text of an input file, whole in memory and without its comments, so that it can be gone
// through again for line numbers.
#include "dot_text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file_limit.h"
#include "progress.h"

// The text is copied onto itself: what was kept never reaches what is still to be read.
struct copying {
    struct dot_text *text;
    size_t from, to;
};

static char peek(const struct copying *copying, size_t ahead)
{
    size_t place = copying->from + ahead;
    return place < copying->text->length ? copying->text->data[place] : '\0';
}

static bool is_at_end(const struct copying *copying)
{
    return copying->from >= copying->text->length;
}

static void keep(struct copying *copying)
{
    copying->text->data[copying->to++] = copying->text->data[copying->from++];
}

static bool may_begin(char byte)
{
    return byte == '"' || byte == '<' || byte == '/' || byte == '#';
}

// Up to what may begin a string or a comment.
static void keep_plain(struct copying *copying)
{
    char *data = copying->text->data;
    size_t end = copying->from;
    while (end < copying->text->length && !may_begin(data[end]))
        end++;
    const size_t num = end - copying->from;
    memmove(data + copying->to, data + copying->from, num);
    copying->from = end;
    copying->to += num;
}

// Up to the quote that ends it; a backslash keeps the next byte from ending it. Returns whether it
// ends.
static bool keep_string(struct copying *copying)
{
    keep(copying);
    while (!is_at_end(copying) && peek(copying, 0) != '"') {
        if (peek(copying, 0) == '\\') {
            keep(copying);
            if (is_at_end(copying))
                break;
        }
        keep(copying);
    }
    if (is_at_end(copying))
        return false;
    keep(copying);
    return true;
}

// <...> may hold further pairs of such brackets. Returns whether it ends.
static bool keep_html(struct copying *copying)
{
    size_t depth = 0;
    do {
        char byte = peek(copying, 0);
        depth += byte == '<';
        depth -= byte == '>';
        keep(copying);
    } while (depth > 0 && !is_at_end(copying));
    return depth == 0;
}

static void drop_line(struct copying *copying)
{
    const char *start = copying->text->data + copying->from;
    const char *end = memchr(start, '\n', copying->text->length - copying->from);
    copying->from = end ? (size_t)(end - copying->text->data) : copying->text->length;
}

// Returns whether the comment ends.
static bool drop_block(struct copying *copying)
{
    for (copying->from += 2; !is_at_end(copying); copying->from++) {
        if (peek(copying, 0) == '\n')
            copying->text->data[copying->to++] = '\n';
        if (peek(copying, 0) == '*' && peek(copying, 1) == '/') {
            copying->from += 2;
            copying->text->data[copying->to++] = ' ';
            return true;
        }
    }
    return false;
}

// Keeps or drops what comes next. Returns what it is if it does not end, else NULL.
static const char *take_next(struct copying *copying)
{
    char byte = peek(copying, 0), next = peek(copying, 1);
    if (byte == '"')
        return keep_string(copying) ? NULL : "quoted string that does not end: is a '\"' missing?";
    if (byte == '<')
        return keep_html(copying) ? NULL : "<string> that does not end: is a '>' missing?";
    if (byte == '/' && next == '*')
        return drop_block(copying) ? NULL : "comment that does not end: is a '*/' missing?";
    if (byte == '#' || (byte == '/' && next == '/'))
        drop_line(copying);
    else
        keep(copying);
    return NULL;
}

// Each comment becomes a space and the line breaks that were in it, so that lines keep their
// numbers. Reports a comment or string that does not end.
static enum exit_status remove_comments(struct dot_text *text)
{
    struct copying copying = { .text = text };
    for (keep_plain(&copying); !is_at_end(&copying); keep_plain(&copying)) {
        size_t start = copying.to;
        const char *open = take_next(&copying);
        if (open)
            return fail_in_file(text->path, dot_text_line(text, start), "a %s", open);
    }
    text->length = copying.to;
    return EXIT_DONE;
}

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
        status = remove_comments(&text);
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
