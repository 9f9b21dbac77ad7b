// SPDX-License-Identifier: Apache-2.0
// Reading JSON (RFC 8259) piece by piece, as far as the library's own files go.
#ifndef BRAID_BASE_JSON_READ_H
#define BRAID_BASE_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Text that is read from its begin. After a failure all that follows fails too.
struct json_reader {
    const char *at; // ended by a zero
    bool failed;
    unsigned depth;
};

// Whether this character is next, behind space; then it is passed.
bool braid_json_take(struct json_reader *reader, char c);
// A string; what does not fit, and what stands for anything but itself (\u), is a failure.
void braid_json_string(struct json_reader *reader, char *text, size_t size);
// A whole number from 0 on.
uint64_t braid_json_number(struct json_reader *reader);
// Any value.
void braid_json_skip(struct json_reader *reader);
// Whether nothing but space is left, and nothing failed.
bool braid_json_end(struct json_reader *reader);

#endif
