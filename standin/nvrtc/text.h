// SPDX-License-Identifier: Apache-2.0
// A string that grows.
#ifndef BRAID_STANDIN_NVRTC_TEXT_H
#define BRAID_STANDIN_NVRTC_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
    char *bytes; // NULL while empty; always terminated
    size_t length, capacity;
    bool failed; // memory ran out; what was added later is missing
};

__attribute__((format(printf, 2, 3))) void text_add(struct text *text, const char *format, ...);
void text_finish(struct text *text);

#endif
