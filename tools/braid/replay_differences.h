// SPDX-License-Identifier: Apache-2.0
// The first byte where two contents of a buffer differ.
#ifndef BRAID_TOOL_REPLAY_DIFFERENCES_H
#define BRAID_TOOL_REPLAY_DIFFERENCES_H

#include <stdbool.h>
#include <stdint.h>

struct replay_tolerance {
    double most;          // 0: all bytes must be equal
    uint32_t value_bytes; // 4 or 8: contents are such floating-point numbers
};

// False: there is none.
bool replay_find_difference(const unsigned char *left, const unsigned char *right, uint64_t bytes,
                            const struct replay_tolerance *tolerance, uint64_t *out_at);

// The value that a byte is in, as a number or as the byte in hexadecimal digits.
struct replay_value {
    char text[40];
};
struct replay_value replay_show_value(const unsigned char *bytes, uint64_t at, uint64_t num,
                                      const struct replay_tolerance *tolerance);

#endif
