// SPDX-License-Identifier: Apache-2.0
// Compares contents of buffers, exactly or as floating-point numbers.
#include "replay_differences.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static double read_value(const unsigned char *bytes, uint32_t num)
{
    float single = 0;
    double number = 0;
    memcpy(num == sizeof(single) ? (void *)&single : (void *)&number, bytes, num);
    return num == sizeof(single) ? (double)single : number;
}

// Numbers too small to be normal may be integers, which are compared exactly.
static bool is_near(const unsigned char *left, const unsigned char *right,
                    const struct replay_tolerance *tolerance)
{
    uint32_t num = tolerance->value_bytes;
    if (memcmp(left, right, num) == 0)
        return true;
    double a = read_value(left, num), b = read_value(right, num);
    double least = num == sizeof(float) ? (double)FLT_MIN : DBL_MIN;
    bool is_small = (a != 0 && fabs(a) < least) || (b != 0 && fabs(b) < least);
    double scale = fmax(1, fmax(fabs(a), fabs(b)));
    return !is_small && isfinite(scale) && fabs(a - b) <= tolerance->most * scale;
}

bool replay_find_difference(const unsigned char *left, const unsigned char *right, uint64_t bytes,
                            const struct replay_tolerance *tolerance, uint64_t *out_at)
{
    uint64_t at = 0;
    uint32_t step = tolerance->most > 0 ? tolerance->value_bytes : 0;
    while (step && bytes - at >= step && is_near(left + at, right + at, tolerance))
        at += step;
    while (at < bytes && left[at] == right[at])
        at++;
    *out_at = at;
    return at < bytes;
}

struct replay_value replay_show_value(const unsigned char *bytes, uint64_t at, uint64_t num,
                                      const struct replay_tolerance *tolerance)
{
    struct replay_value value;
    uint64_t begin = tolerance->most > 0 ? at - at % tolerance->value_bytes : at;
    if (tolerance->most > 0 && num - begin >= tolerance->value_bytes)
        snprintf(value.text, sizeof(value.text), "%.9g",
                 read_value(bytes + begin, tolerance->value_bytes));
    else
        snprintf(value.text, sizeof(value.text), "0x%02x", bytes[at]);
    return value;
}
