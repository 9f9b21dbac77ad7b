// SPDX-License-Identifier: Apache-2.0
// Takes the pieces of a capture one after another. The first that is wrong is told, and ends it.
#ifndef BRAID_TOOL_CAPTURE_READER_H
#define BRAID_TOOL_CAPTURE_READER_H

#include "capture_file.h"

struct capture_reader {
    struct capture_file *file;
    size_t at, end; // in the section
    char section[5];
    enum exit_status status; // once it failed, pieces are zeros
};

// Tells where the file is wrong, unless something was wrong before.
__attribute__((format(printf, 2, 3))) void capture_refuse(struct capture_reader *reader,
                                                          const char *format, ...);
bool capture_begin_section(struct capture_reader *reader, const char *tag);
void capture_end_section(struct capture_reader *reader);

const unsigned char *capture_take(struct capture_reader *reader, uint64_t num); // NULL: wrong
uint64_t capture_take_number(struct capture_reader *reader, uint32_t bytes);
// A number up to `most`; `what` is for the message.
uint32_t capture_take_below(struct capture_reader *reader, uint32_t bytes, uint64_t end,
                            const char *what);
const char *capture_take_text(struct capture_reader *reader, bool is_needed); // NULL: there is none
const unsigned char *capture_take_block(struct capture_reader *reader, uint64_t *out_num);
// As many zeroed items as the next number says, each of which has `least` bytes in the file at
// least.
void *capture_take_items(struct capture_reader *reader, size_t least, size_t item_bytes,
                         uint32_t *out_num);
// Zeroed items behind those of a list.
void *capture_append(struct capture_reader *reader, struct array *list, size_t num,
                     size_t item_bytes);

#endif
