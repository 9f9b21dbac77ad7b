// SPDX-License-Identifier: Apache-2.0
// Takes comments out of a DOT file's text, and refuses what does not end.
#include "dot_comment.h"

#include <stdbool.h>
#include <string.h>

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

enum exit_status dot_comment_remove(struct dot_text *text)
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
