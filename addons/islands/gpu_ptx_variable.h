// SPDX-License-Identifier: Apache-2.0
// Variables and parameters of PTX: their names and how much room they take.
#ifndef BRAID_ISLANDS_GPU_PTX_VARIABLE_H
#define BRAID_ISLANDS_GPU_PTX_VARIABLE_H

#include <stdint.h>

#include "backends/gpu/gpu_ptx_words.h"

struct ptx_variable {
    struct ptx_word name;
    uint32_t align;
    uint64_t bytes;
    bool is_open;     // its length is open: the launch says it
    const char *rest; // at the comma, semicolon, parenthesis or equals sign behind it
};

// Reads the text behind the space (.shared, .param), up to `end`. False: it is not understood.
bool braid_ptx_read_variable(const char *at, const char *end, struct ptx_variable *out_variable);

#endif
