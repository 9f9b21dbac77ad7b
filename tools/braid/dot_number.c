// SPDX-License-Identifier: Apache-2.0
// Costs as numbers: decimal text to whole units and billionths, without a detour over doubles.
#include <errno.h>
#include <stdlib.h>

#include "dot_cost.h"

#define BILLION 1000000000u

// The digits of a number without its point, of which there are `point` before it.
struct decimal {
    const char *first, *end; // around digits and at most one '.'
    long point;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// Digits with at most one point among them, and then perhaps an exponent.
static bool split(const char *text, struct decimal *out)
{
    struct decimal decimal = { .first = text, .end = text };
    long num_digits = 0, before_point = -1;
    for (; is_digit(*decimal.end) || (*decimal.end == '.' && before_point < 0); decimal.end++) {
        if (*decimal.end == '.')
            before_point = num_digits;
        else
            num_digits++;
    }
    decimal.point = before_point < 0 ? num_digits : before_point;
    const char *rest = decimal.end;
    if (num_digits > 0 && (*rest == 'e' || *rest == 'E')) {
        const char *digits = rest + 1 + (rest[1] == '+' || rest[1] == '-');
        char *end = NULL;
        errno = 0;
        long exponent = strtol(rest + 1, &end, 10);
        if (!is_digit(*digits) || errno || exponent > 1000 || exponent < -1000)
            return false;
        decimal.point += exponent;
        rest = end;
    }
    *out = decimal;
    return num_digits > 0 && !*rest;
}

struct digits {
    const char *next, *end;
};

// Zeros follow the last.
static unsigned take_digit(struct digits *digits)
{
    if (digits->next < digits->end && *digits->next == '.')
        digits->next++;
    return digits->next < digits->end ? (unsigned)(*digits->next++ - '0') : 0;
}

bool dot_cost_parse(const char *text, struct dot_cost *out_cost)
{
    struct decimal decimal;
    if (!split(text, &decimal))
        return false;
    struct digits digits = { decimal.first, decimal.end };
    uint64_t whole = 0, billionths = 0;
    for (long i = 0; i < decimal.point; i++) {
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_add_overflow(whole, take_digit(&digits), &whole))
            return false;
    }
    for (long place = 0; place < 9; place++)
        billionths = billionths * 10 + (decimal.point + place < 0 ? 0 : take_digit(&digits));
    billionths += decimal.point + 9 >= 0 && take_digit(&digits) >= 5;
    if (billionths == BILLION && whole == UINT64_MAX)
        return false;
    whole += billionths / BILLION;
    *out_cost = (struct dot_cost){ whole, (uint32_t)(billionths % BILLION), true };
    return true;
}

double dot_cost_value(const struct dot_cost *cost)
{
    return (double)cost->whole + (double)cost->billionths * 1e-9;
}
