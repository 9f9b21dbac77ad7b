// SPDX-License-Identifier: Apache-2.0
// A table of keys that were seen, each with a number.
#ifndef BRAID_TOOL_DOT_SEEN_H
#define BRAID_TOOL_DOT_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dot_seen_key {
    uint64_t key; // 0: none
    uint32_t number;
};

struct dot_seen {
    struct dot_seen_key *keys; // a power of two of them, at most half of them used
    size_t room, num;
};

// Finds a key made of two numbers, or adds it with `number`. Returns NULL without memory. The
// result is valid until the next call.
const struct dot_seen_key *dot_seen_add(struct dot_seen *seen, uint64_t one, uint64_t two,
                                        uint32_t number, bool *out_is_new);

#endif
