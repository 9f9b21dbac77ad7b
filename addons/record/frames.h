// SPDX-License-Identifier: Apache-2.0
// Frames of a program that has no marks: the same launches, again and again.
#ifndef BRAID_RECORD_FRAMES_H
#define BRAID_RECORD_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct repetition {
    size_t first, period, times;
};

// Finds the longest part that repeats at least three times; of equally long ones the one with the
// shortest period. False: there is none, or memory ran out.
bool recorder_find_repetition(const uint64_t *launches, size_t num, struct repetition *out_found);

#endif
