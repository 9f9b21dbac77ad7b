// SPDX-License-Identifier: Apache-2.0
// Operations on values: each takes and gives the bits of its type.
#include <math.h>
#include <string.h>

#include "operations.h"
#include "ptx_code.h"

static uint64_t cut(uint64_t value, int bits)
{
    return bits >= 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

static int64_t with_sign(uint64_t value, int bits)
{
    return bits >= 64 ? (int64_t)value : (int64_t)(value << (64 - bits)) >> (64 - bits);
}

static double to_double(uint64_t value, int bits)
{
    double wide;
    float narrow;
    uint32_t low = (uint32_t)value;
    if (bits == 64) {
        memcpy(&wide, &value, sizeof(wide));
        return wide;
    }
    memcpy(&narrow, &low, sizeof(narrow));
    return (double)narrow;
}

static uint64_t from_double(double value, int bits)
{
    float narrow = (float)value;
    uint32_t low;
    uint64_t wide;
    memcpy(&low, &narrow, sizeof(low));
    memcpy(&wide, &value, sizeof(wide));
    return bits == 64 ? wide : low;
}

// A product of two 24-bit fractions fits a double, so that narrow operations are rounded once.
static bool run_float(const struct instruction *instruction, const uint64_t *values, uint64_t *out)
{
    int bits = instruction->type.bits;
    double a = to_double(values[0], bits), b = to_double(values[1], bits),
           c = to_double(values[2], bits), result;
    switch (instruction->operation) {
    case OP_add:
        result = a + b;
        break;
    case OP_sub:
        result = a - b;
        break;
    case OP_mul:
        result = a * b;
        break;
    case OP_mad:
    case OP_fma:
        result = bits == 64 ? fma(a, b, c) : (double)fmaf((float)a, (float)b, (float)c);
        break;
    case OP_div:
        result = a / b;
        break;
    case OP_abs:
        result = fabs(a);
        break;
    case OP_neg:
        result = -a;
        break;
    case OP_min:
        result = fmin(a, b);
        break;
    case OP_max:
        result = fmax(a, b);
        break;
    case OP_sqrt:
        result = sqrt(a);
        break;
    case OP_rcp:
        result = 1 / a;
        break;
    case OP_rsqrt:
        result = 1 / sqrt(a);
        break;
    case OP_ex2:
        result = exp2(a);
        break;
    case OP_lg2:
        result = log2(a);
        break;
    case OP_sin:
        result = sin(a);
        break;
    case OP_cos:
        result = cos(a);
        break;
    case OP_copysign:
        result = copysign(b, a);
        break;
    default:
        return false;
    }
    *out = from_double(result, bits);
    return true;
}

static uint64_t multiply(const struct instruction *instruction, const uint64_t *values)
{
    int bits = instruction->type.bits;
    bool is_signed = instruction->type.kind == 's';
    __extension__ typedef __int128 wide;
    wide a = is_signed ? (wide)with_sign(values[0], bits) : (wide)cut(values[0], bits);
    wide b = is_signed ? (wide)with_sign(values[1], bits) : (wide)cut(values[1], bits);
    wide product = a * b;
    if (code_has_part(instruction, PART_hi))
        product >>= bits;
    return (uint64_t)product;
}

static uint64_t divide(const struct instruction *instruction, const uint64_t *values, bool rest)
{
    int bits = instruction->type.bits;
    uint64_t a = cut(values[0], bits), b = cut(values[1], bits);
    int64_t x = with_sign(values[0], bits), y = with_sign(values[1], bits);
    if (b == 0)
        return rest ? a : UINT64_MAX;
    if (instruction->type.kind != 's')
        return rest ? a % b : a / b;
    if (y == -1)
        return rest ? 0 : (uint64_t)0 - (uint64_t)x;
    return (uint64_t)(rest ? x % y : x / y);
}

static uint64_t shift(const struct instruction *instruction, const uint64_t *values)
{
    int bits = instruction->type.bits;
    uint64_t by = cut(values[1], 32);
    bool is_signed = instruction->type.kind == 's';
    if (instruction->operation == OP_shl)
        return by >= (uint64_t)bits ? 0 : values[0] << by;
    if (is_signed)
        return (uint64_t)(with_sign(values[0], bits) >>
                          (by >= (uint64_t)bits ? bits - 1 : (int)by));
    return by >= (uint64_t)bits ? 0 : cut(values[0], bits) >> by;
}

// shf.l and shf.r of two words, the low one first.
static uint64_t funnel(const struct instruction *instruction, const uint64_t *values)
{
    uint64_t both = cut(values[1], 32) << 32 | cut(values[0], 32), by = cut(values[2], 32);
    by = code_has_part(instruction, PART_wrap) ? by & 31 : by > 32 ? 32 : by;
    return code_has_part(instruction, PART_l) ? (by == 32 ? cut(values[0], 32) : both << by >> 32)
                                              : both >> by;
}

static uint64_t count_leading(uint64_t value, int bits)
{
    uint64_t num = 0;
    while (num < (uint64_t)bits && !(value >> ((uint64_t)bits - 1 - num) & 1))
        num++;
    return num;
}

static uint64_t extract(const struct instruction *instruction, const uint64_t *values)
{
    int bits = instruction->type.bits, at = (int)(values[1] & 255), num = (int)(values[2] & 255);
    uint64_t result = at >= bits ? 0 : cut(cut(values[0], bits) >> at, num);
    int top = at + num - 1 < bits - 1 ? at + num - 1 : bits - 1;
    bool negative = num && instruction->type.kind == 's' && (values[0] >> top & 1);
    return negative && num < 64 ? result | UINT64_MAX << num : result;
}

static uint64_t permute(const uint64_t *values)
{
    uint64_t both = cut(values[1], 32) << 32 | cut(values[0], 32), result = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t choice = values[2] >> 4 * i & 15;
        uint64_t byte = both >> 8 * (choice & 7) & 255;
        if (choice & 8)
            byte = byte & 128 ? 255 : 0;
        result |= byte << 8 * i;
    }
    return result;
}

static uint64_t look_up(const uint64_t *values)
{
    uint64_t result = 0;
    for (int i = 0; i < 32; i++) {
        uint64_t place =
            (values[0] >> i & 1) << 2 | (values[1] >> i & 1) << 1 | (values[2] >> i & 1);
        result |= (values[3] >> place & 1) << i;
    }
    return result;
}

static uint64_t reverse(uint64_t value, int bits)
{
    uint64_t result = 0;
    for (int i = 0; i < bits; i++)
        result |= (value >> i & 1) << (bits - 1 - i);
    return result;
}

static bool is_less(const struct type *type, uint64_t a, uint64_t b)
{
    if (type->kind == 's')
        return with_sign(a, type->bits) < with_sign(b, type->bits);
    return cut(a, type->bits) < cut(b, type->bits);
}

static bool run_bits(const struct instruction *instruction, const uint64_t *values, uint64_t *out)
{
    int bits = instruction->type.bits;
    uint64_t a = values[0], b = values[1], c = values[2];
    switch (instruction->operation) {
    case OP_and:
        *out = a & b;
        return true;
    case OP_or:
        *out = a | b;
        return true;
    case OP_xor:
        *out = a ^ b;
        return true;
    case OP_not:
        *out = bits == 1 ? !a : ~a;
        return true;
    case OP_cnot:
        *out = cut(a, bits) == 0;
        return true;
    case OP_shl:
    case OP_shr:
        *out = shift(instruction, values);
        return true;
    case OP_shf:
        *out = funnel(instruction, values);
        return true;
    case OP_popc:
        *out = (uint64_t)__builtin_popcountll(cut(a, bits));
        return true;
    case OP_clz:
        *out = count_leading(cut(a, bits), bits);
        return true;
    case OP_bfind:
        *out = cut(a, bits) ? (uint64_t)bits - 1 - count_leading(cut(a, bits), bits) : UINT32_MAX;
        return true;
    case OP_brev:
        *out = reverse(a, bits);
        return true;
    case OP_bfe:
        *out = extract(instruction, values);
        return true;
    case OP_bfi:
        *out = (values[3] & 255) == 0
                   ? b
                   : (b & ~(cut(UINT64_MAX, (int)(values[3] & 255)) << (c & 63))) |
                         cut(a, (int)(values[3] & 255)) << (c & 63);
        return true;
    case OP_prmt:
        *out = permute(values);
        return true;
    case OP_lop3:
        *out = look_up(values);
        return true;
    default:
        return false;
    }
}

static bool run_whole(const struct instruction *instruction, const uint64_t *values, uint64_t *out)
{
    const struct type *type = &instruction->type;
    uint64_t a = values[0], b = values[1];
    switch (instruction->operation) {
    case OP_add:
        *out = a + b;
        return true;
    case OP_sub:
        *out = a - b;
        return true;
    case OP_mul:
        *out = multiply(instruction, values);
        return true;
    case OP_mad:
        *out = multiply(instruction, values) + values[2];
        return true;
    case OP_sad:
        *out = (is_less(type, a, b) ? b - a : a - b) + values[2];
        return true;
    case OP_div:
        *out = divide(instruction, values, false);
        return true;
    case OP_rem:
        *out = divide(instruction, values, true);
        return true;
    case OP_abs:
        *out = with_sign(a, type->bits) < 0 ? 0 - a : a;
        return true;
    case OP_neg:
        *out = 0 - a;
        return true;
    case OP_min:
        *out = is_less(type, b, a) ? b : a;
        return true;
    case OP_max:
        *out = is_less(type, a, b) ? b : a;
        return true;
    default:
        return run_bits(instruction, values, out);
    }
}

// setp.lt.and.f32: the comparison, and what a third value does to its result.
static bool compare(const struct instruction *instruction, const uint64_t *values)
{
    const struct type *type = &instruction->type;
    const char *how = instruction->how;
    bool is_float = type->kind == 'f';
    double x = is_float ? to_double(values[0], type->bits) : 0,
           y = is_float ? to_double(values[1], type->bits) : 0;
    bool unordered = is_float && (isnan(x) || isnan(y));
    struct type kind = *type;
    if (how[0] == 'h' || (how[0] == 'l' && how[1] == 'o') || (how[0] == 'l' && how[1] == 's'))
        kind.kind = 'u';
    bool less = is_float ? x < y : is_less(&kind, values[0], values[1]);
    bool more = is_float ? x > y : is_less(&kind, values[1], values[0]);
    bool equal = is_float ? x == y : !less && !more;
    bool asks_for_numbers = how[0] == 'n' && (how[1] == 'u' || how[1] == 'a'); // num or nan
    if (asks_for_numbers)
        return (how[1] == 'a') == unordered;
    if (unordered)
        return how[2] == 'u';
    switch (how[0]) {
    case 'e':
        return equal;
    case 'n':
        return !equal;
    case 'l':
        return less || (equal && (how[1] == 'e' || how[1] == 's'));
    default:
        return more || (equal && (how[1] == 'e' || how[1] == 's'));
    }
}

static uint64_t run_compare(const struct instruction *instruction, const uint64_t *values)
{
    bool result = compare(instruction, values), third = values[2] & 1;
    if (code_has_part(instruction, PART_and))
        return result && third;
    if (code_has_part(instruction, PART_or))
        return result || third;
    return code_has_part(instruction, PART_xor) ? result != third : result;
}

// Numbers that do not fit become the nearest that do.
static uint64_t to_whole(double value, const struct type *type)
{
    double most = ldexp(1, type->kind == 's' ? type->bits - 1 : type->bits);
    double least = type->kind == 's' ? -most : 0;
    if (isnan(value))
        return 0;
    if (value >= most)
        return type->kind == 's' ? cut(UINT64_MAX, type->bits) >> 1 : cut(UINT64_MAX, type->bits);
    if (value <= least)
        return (uint64_t)(int64_t)least;
    return type->kind == 's' ? (uint64_t)(int64_t)value : (uint64_t)value;
}

static double rounded(const struct instruction *instruction, double value)
{
    if (code_has_part(instruction, PART_rni))
        return nearbyint(value);
    if (code_has_part(instruction, PART_rmi))
        return floor(value);
    if (code_has_part(instruction, PART_rpi))
        return ceil(value);
    return code_has_part(instruction, PART_rzi) ? trunc(value) : value;
}

// cvt.TO.FROM
static uint64_t convert(const struct instruction *instruction, uint64_t value)
{
    const struct type *from = &instruction->type, *to = &instruction->other;
    double number = from->kind == 'f'   ? rounded(instruction, to_double(value, from->bits))
                    : from->kind == 's' ? (double)with_sign(value, from->bits)
                                        : (double)cut(value, from->bits);
    if (to->kind == 'f' && to->bits == 32 && from->kind == 's')
        return from_double((double)(float)with_sign(value, from->bits), 32);
    if (to->kind == 'f' && to->bits == 32 && from->kind == 'u')
        return from_double((double)(float)cut(value, from->bits), 32);
    if (to->kind == 'f')
        return from_double(code_has_part(instruction, PART_sat) ? fmin(fmax(number, 0), 1) : number,
                           to->bits);
    if (from->kind == 'f')
        return to_whole(number, to);
    return from->kind == 's' ? (uint64_t)with_sign(value, from->bits) : cut(value, from->bits);
}

bool arithmetic_run(const struct instruction *instruction, const uint64_t *values,
                    uint64_t *out_result)
{
    bool known = true;
    int bits = instruction->type.bits;
    switch (instruction->operation) {
    case OP_setp:
        *out_result = run_compare(instruction, values);
        return true;
    case OP_set:
        *out_result = run_compare(instruction, values) ? UINT64_MAX : 0;
        return true;
    case OP_selp:
        *out_result = values[2] & 1 ? values[0] : values[1];
        break;
    case OP_slct:
        *out_result = with_sign(values[2], bits) >= 0 ? values[0] : values[1];
        break;
    case OP_cvt:
        *out_result = convert(instruction, values[0]);
        bits = instruction->other.bits;
        break;
    default:
        known = instruction->type.kind == 'f' ? run_float(instruction, values, out_result)
                                              : run_whole(instruction, values, out_result);
        bits = code_has_part(instruction, PART_wide) ? 2 * bits : bits;
    }
    // A narrow signed result fills its register.
    bool is_signed = instruction->operation == OP_cvt && instruction->other.kind == 's';
    if (known)
        *out_result = is_signed ? cut((uint64_t)with_sign(*out_result, bits), bits < 32 ? 32 : bits)
                                : cut(*out_result, bits);
    return known;
}
