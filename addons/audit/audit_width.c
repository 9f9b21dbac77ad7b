// SPDX-License-Identifier: Apache-2.0
// How many bytes an instruction of x86-64 reads or writes at once. A fault only tells the first.
#include "audit/audit_width.h"

#include <stdbool.h>

struct code {
    const unsigned char *next;
    bool is_short, is_wide; // operands of 2 bytes, or of 8
    unsigned char repeat;   // 0xf2, 0xf3 or 0
};

static unsigned find_operand(const struct code *code)
{
    return code->is_wide ? 8 : code->is_short ? 2 : 4;
}

static unsigned find_x87(unsigned char opcode)
{
    static const unsigned char widths[] = { 4, 4, 4, 10, 8, 8, 2, 10 };
    return widths[opcode & 7];
}

static bool is_of_bytes(unsigned char opcode)
{
    if (opcode < 0x40)
        return !(opcode & 1) && (opcode & 7) < 4;
    switch (opcode) {
    case 0x80:
    case 0x82:
    case 0x84:
    case 0x86:
    case 0x88:
    case 0x8a:
    case 0xa0:
    case 0xa2:
    case 0xa4:
    case 0xa6:
    case 0xaa:
    case 0xac:
    case 0xae:
    case 0xc0:
    case 0xc6:
    case 0xd0:
    case 0xd2:
    case 0xf6:
    case 0xfe:
        return true;
    default:
        return false;
    }
}

// Whether the instruction uses the stack, or the address of a call.
static bool is_of_addresses(unsigned char opcode, unsigned char operands)
{
    bool is_branch = opcode == 0xff && (operands >> 3 & 7) >= 2;
    return (opcode >= 0x50 && opcode <= 0x5f) || opcode == 0x68 || opcode == 0x6a ||
           opcode == 0x8f || opcode == 0xc3 || opcode == 0xc9 || opcode == 0xe8 || is_branch;
}

// The bytes of one number or of a vector.
static unsigned find_scalar(const struct code *code, unsigned vector)
{
    return code->repeat == 0xf3 ? 4 : code->repeat == 0xf2 ? 8 : vector;
}

// The opcodes behind 0x0f, of integers; 0: another one.
static unsigned find_second(const struct code *code, unsigned char opcode)
{
    if (opcode >= 0x40 && opcode <= 0x4f)
        return find_operand(code);
    if (opcode >= 0x90 && opcode <= 0x9f)
        return 1;
    switch (opcode) {
    case 0xb0:
    case 0xb6:
    case 0xbe:
    case 0xc0:
        return 1;
    case 0xb7:
    case 0xbf:
        return 2;
    case 0xa3:
    case 0xab:
    case 0xaf:
    case 0xb1:
    case 0xb3:
    case 0xb8:
    case 0xba:
    case 0xbb:
    case 0xbc:
    case 0xbd:
    case 0xc1:
    case 0xc3:
        return find_operand(code);
    case 0xc7:
        return code->is_wide ? 16 : 8;
    default:
        return 0;
    }
}

// The bytes of instructions of vectors.
static unsigned find_vector(const struct code *code, unsigned char opcode, unsigned vector)
{
    switch (opcode) {
    case 0x12:
    case 0x13:
    case 0x16:
    case 0x17:
        return code->repeat == 0xf3 ? vector : 8;
    case 0x28:
    case 0x29:
    case 0x2b:
        return vector;
    case 0x2a:
        return code->repeat ? find_operand(code) : 8;
    case 0x2e:
    case 0x2f:
        return code->is_short ? 8 : 4;
    case 0x6e:
        return code->is_wide ? 8 : 4;
    case 0x7e:
        return code->repeat || code->is_wide ? 8 : 4;
    case 0x6f:
    case 0x7f:
    case 0xe7:
        return code->is_short || code->repeat ? vector : 8;
    case 0xd6:
        return 8;
    case 0x10:
    case 0x11:
    case 0x51:
    case 0x58:
    case 0x59:
    case 0x5c:
    case 0x5d:
    case 0x5e:
    case 0x5f:
    case 0xc2:
        return find_scalar(code, vector);
    case 0x54:
    case 0x55:
    case 0x56:
    case 0x57:
    case 0xd4:
    case 0xdb:
    case 0xdf:
    case 0xeb:
    case 0xef:
    case 0xf0:
    case 0xfa:
    case 0xfb:
    case 0xfc:
    case 0xfd:
    case 0xfe:
        return vector;
    default:
        return 0;
    }
}

static struct audit_width known(unsigned bytes)
{
    return (struct audit_width){ bytes ? bytes : AUDIT_MOST_WIDTH, bytes != 0 };
}

// A prefix of two or three bytes, with which vectors have 16 or 32. Other lengths are not known.
static struct audit_width find_vex(struct code *code)
{
    static const unsigned char repeats[] = { 0, 0, 0xf3, 0xf2 };
    bool is_long = *code->next++ == 0xc4;
    unsigned char map = is_long ? *code->next++ & 31 : 1, last = *code->next++;
    code->is_wide = is_long && last & 0x80;
    code->is_short = (last & 3) == 1;
    code->repeat = repeats[last & 3];
    return known(map == 1 ? find_vector(code, *code->next, last & 4 ? 32 : 16) : 0);
}

static void skip_prefixes(struct code *code)
{
    for (;; code->next++) {
        switch (*code->next) {
        case 0x66:
            code->is_short = true;
            break;
        case 0xf2:
        case 0xf3:
            code->repeat = *code->next;
            break;
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0x64:
        case 0x65:
        case 0x67:
        case 0xf0:
            break;
        default:
            return;
        }
    }
}

struct audit_width braid_audit_find_width(const unsigned char *instruction)
{
    struct code code = { .next = instruction };
    skip_prefixes(&code);
    if (*code.next == 0xc4 || *code.next == 0xc5)
        return find_vex(&code);
    if ((*code.next & 0xf0) == 0x40)
        code.is_wide = *code.next++ & 8;
    unsigned char opcode = *code.next++;
    if (opcode == 0x0f) {
        unsigned bytes = find_second(&code, *code.next);
        return known(bytes ? bytes : find_vector(&code, *code.next, 16));
    }
    if (opcode == 0x62)
        return known(0);
    if (is_of_bytes(opcode))
        return known(1);
    if (opcode >= 0xd8 && opcode <= 0xdf)
        return (struct audit_width){ find_x87(opcode), false };
    if (opcode == 0x63)
        return known(4);
    return known(is_of_addresses(opcode, *code.next) ? 8 : find_operand(&code));
}
