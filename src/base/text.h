// SPDX-License-Identifier: Apache-2.0
// Any bytes as text in UTF-8, XML and JSON, and in one line.
#ifndef BRAID_BASE_TEXT_H
#define BRAID_BASE_TEXT_H

#include <stddef.h>
#include <stdio.h>

// The length of the UTF-8 character that `text` starts with, or 0 where it is none or cannot be
// shown: controls, and what XML does not allow.
size_t braid_text_character(const char *text);

// Each writes `text` for its language, inside an element or an attribute, or inside a string's
// quotes; bytes that cannot be shown appear as "\xff".
void braid_text_write_xml(FILE *file, const char *text);
void braid_text_write_json(FILE *file, const char *text);

// Names come from programs and files; a line break in one must not break a line that names it.
void braid_text_keep_one_line(char *text);

#endif
