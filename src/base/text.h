// SPDX-License-Identifier: Apache-2.0
// Any bytes as text in UTF-8, XML and JSON, and in one line.
#ifndef BRAID_BASE_TEXT_H
#define BRAID_BASE_TEXT_H

#include <stddef.h>
#include <stdio.h>

enum text_kind {
    TEXT_CHARACTER,
    TEXT_CONTROL, // or a character that XML does not allow
    TEXT_INVALID, // bytes that are no UTF-8
};

// The first piece of a text, and its form in all writers. A character appears as it is, a control
// as "\x1b", and bytes that are no UTF-8 as U+FFFD.
struct text_piece {
    enum text_kind kind;
    size_t length;     // bytes of the text
    const char *shown; // in the text, in `escaped` or in memory that stays
    size_t num_shown;
    char escaped[16];
};

// `text` is not empty.
void braid_text_piece(const char *text, struct text_piece *out_piece);

// Writes the shown form of the first piece of `text`. find_escape returns the escape for a byte in
// the language of the file, or NULL. Returns the length of the piece.
typedef const char *text_find_escape(char byte);
size_t braid_text_write_piece(FILE *file, const char *text, text_find_escape *find_escape);

// Each writes `text` for its language, inside an element or an attribute, or inside a string's
// quotes.
void braid_text_write_xml(FILE *file, const char *text);
void braid_text_write_json(FILE *file, const char *text);

// Copies the shown form of `text` into `size` bytes, at least 8. A longer text is cut, and ends in
// "...".
void braid_text_copy(const char *text, char *out, size_t size);

// A number of 0 or more with so many digits behind a point, which is no comma in any locale.
struct text_decimal {
    char text[32];
};
struct text_decimal braid_text_decimal(double number, int digits);

// Names come from programs and files; a line break in one must not break a line that names it.
void braid_text_keep_one_line(char *text);

#endif
