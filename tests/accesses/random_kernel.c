// SPDX-License-Identifier: Apache-2.0
// Random kernels in PTX.
#include "accesses/random_kernel.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const uint32_t kernel_struct_places[3] = { 8, 24, 56 };

enum { MOST_POINTERS = 12, LAST = KERNEL_BUFFER_BYTES - 64, MOST_STEPS = 24 };

// A register that points into a buffer, so many bytes behind its begin.
struct pointer {
    int number, low, high;
};

struct writer {
    struct random *random;
    char *text;
    size_t length, bytes;
    struct pointer pointers[MOST_POINTERS];
    int num_pointers, num_threads, num_long, num_word, num_predicate, num_label; // so far
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *writer, const char *format,
                                                      ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length =
        vsnprintf(writer->text + writer->length, writer->bytes - writer->length, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= writer->bytes - writer->length)
        abort(); // the tests give more room
    writer->length += (size_t)length;
}

static int below(struct writer *writer, int limit)
{
    return (int)random_below(writer->random, (uint32_t)limit);
}

static bool chance(struct writer *writer, uint32_t percent)
{
    return random_chance(writer->random, percent);
}

static struct pointer pick(struct writer *writer)
{
    return writer->pointers[below(writer, writer->num_pointers)];
}

static void add_pointer(struct writer *writer, int number, int low, int high)
{
    const int at = writer->num_pointers < MOST_POINTERS ? writer->num_pointers++
                                                        : below(writer, MOST_POINTERS);
    writer->pointers[at] = (struct pointer){ number, low, high };
}

// ---- pointers of parameters ----

static void load_own(struct writer *writer)
{
    const int to = writer->num_long++;
    put(writer, "ld.param.u64 %%rd%d, [k_param_%d];\n", to, below(writer, KERNEL_POINTERS));
    if (chance(writer, 50))
        put(writer, "cvta.to.global.u64 %%rd%d, %%rd%d;\n", to, to);
    add_pointer(writer, to, KERNEL_FIRST, KERNEL_FIRST);
}

static void load_by_halves(struct writer *writer, uint32_t place)
{
    const int to = writer->num_long++, low = writer->num_word++, high = writer->num_word++;
    put(writer, "ld.param.u32 %%r%d, [k_param_3+%u];\n", low, place);
    put(writer, "ld.param.u32 %%r%d, [k_param_3+%u];\n", high, place + 4);
    put(writer, "mov.b64 %%rd%d, {%%r%d, %%r%d};\n", to, low, high);
    add_pointer(writer, to, KERNEL_FIRST, KERNEL_FIRST);
}

static void load_by_address(struct writer *writer, uint32_t place)
{
    const int to = writer->num_long++, address = writer->num_long++;
    const int moved = below(writer, 3) * 8;
    put(writer, "mov.b64 %%rd%d, k_param_3;\n", address);
    if (chance(writer, 50)) { // in two steps
        put(writer, "add.s64 %%rd%d, %%rd%d, %d;\n", address, address, moved);
        put(writer, "ld.param.b64 %%rd%d, [%%rd%d+%d];\n", to, address, (int)place - moved);
    } else
        put(writer, "ld.param.b64 %%rd%d, [%%rd%d+%u];\n", to, address, place);
    add_pointer(writer, to, KERNEL_FIRST, KERNEL_FIRST);
}

static void load_by_generic_address(struct writer *writer, uint32_t place)
{
    const int to = writer->num_long++, address = writer->num_long++;
    put(writer, "mov.b64 %%rd%d, k_param_3;\n", address);
    put(writer, "cvta.param.u64 %%rd%d, %%rd%d;\n", address, address);
    put(writer, "ld.u64 %%rd%d, [%%rd%d+%u];\n", to, address, place);
    add_pointer(writer, to, KERNEL_FIRST, KERNEL_FIRST);
}

// The table's pointer, which the struct has at 56, is not used so.
static void load_struct(struct writer *writer)
{
    const uint32_t place = kernel_struct_places[below(writer, 2)];
    const int way = below(writer, 5), to = writer->num_long;
    if (way == 0) {
        load_by_halves(writer, place);
    } else if (way == 1) {
        load_by_address(writer, place);
    } else if (way == 2) {
        load_by_generic_address(writer, place);
    } else if (way == 3) {
        writer->num_long += 2;
        put(writer, "ld.param.v2.u64 {%%rd%d, %%rd%d}, [k_param_3+%d];\n", to, to + 1, 16);
        add_pointer(writer, to + 1, KERNEL_FIRST, KERNEL_FIRST);
    } else {
        writer->num_long++;
        put(writer, "ld.param.u64 %%rd%d, [k_param_3+%u];\n", to, place);
        add_pointer(writer, to, KERNEL_FIRST, KERNEL_FIRST);
    }
}

// Nobody can prove what is read there.
static void load_from_table(struct writer *writer)
{
    const int to = writer->num_long++, table = writer->num_long++;
    put(writer, "ld.param.u64 %%rd%d, [k_param_3+56];\n", table);
    put(writer, "ld.global.u64 %%rd%d, [%%rd%d+%d];\n", to, table, 8 * below(writer, KERNEL_TABLE));
    add_pointer(writer, to, KERNEL_FIRST, KERNEL_FIRST);
}

// ---- numbers ----

// A word below 16.
static int put_index(struct writer *writer)
{
    const int to = writer->num_word++;
    const struct pointer from = pick(writer);
    switch (below(writer, 4)) {
    case 0:
        put(writer, "mov.u32 %%r%d, %%tid.x;\n", to);
        break;
    case 1:
        put(writer, "ld.param.u32 %%r%d, [k_param_4];\n", to);
        break;
    case 2:
        put(writer, "ld.param.u32 %%r%d, [k_param_3+%d];\n", to, 4 * below(writer, 2));
        break;
    default:
        put(writer, "ld.global.u32 %%r%d, [%%rd%d];\n", to, from.number);
        put(writer, "and.b32 %%r%d, %%r%d, 15;\n", to, to);
    }
    return to;
}

static int put_predicate(struct writer *writer)
{
    const int index = put_index(writer), to = writer->num_predicate++;
    put(writer, "setp.gt.u32 %%p%d, %%r%d, %d;\n", to, index, below(writer, 8));
    return to;
}

// ---- ways of a pointer ----

static bool moves(const struct pointer *from, int least, int most)
{
    return from->low + least >= 0 && from->high + most <= LAST;
}

static void add_number(struct writer *writer)
{
    const struct pointer from = pick(writer);
    const int by = 8 * (below(writer, 101) - 50), to = writer->num_long++;
    if (!moves(&from, by, by))
        return;
    if (chance(writer, 70))
        put(writer, "add.s64 %%rd%d, %%rd%d, %d;\n", to, from.number, by);
    else
        put(writer, "sub.s64 %%rd%d, %%rd%d, %d;\n", to, from.number, -by);
    add_pointer(writer, to, from.low + by, from.high + by);
}

static void add_index(struct writer *writer)
{
    const struct pointer from = pick(writer);
    const int index = put_index(writer), to = writer->num_long++, wide = writer->num_long++;
    if (!moves(&from, 0, 15 * 8))
        return;
    switch (below(writer, 4)) {
    case 0:
        put(writer, "mul.wide.u32 %%rd%d, %%r%d, 8;\n", wide, index);
        put(writer, "add.s64 %%rd%d, %%rd%d, %%rd%d;\n", to, from.number, wide);
        break;
    case 1:
        put(writer, "mad.wide.u32 %%rd%d, %%r%d, 8, %%rd%d;\n", to, index, from.number);
        break;
    case 2:
        put(writer, "cvt.u64.u32 %%rd%d, %%r%d;\n", wide, index);
        put(writer, "shl.b64 %%rd%d, %%rd%d, 3;\n", wide, wide);
        put(writer, "add.s64 %%rd%d, %%rd%d, %%rd%d;\n", to, wide, from.number);
        break;
    default:
        put(writer, "cvt.u64.u32 %%rd%d, %%r%d;\n", wide, index);
        put(writer, "mad.lo.s64 %%rd%d, %%rd%d, 8, %%rd%d;\n", to, wide, from.number);
    }
    add_pointer(writer, to, from.low, from.high + 15 * 8);
}

static void add_either(struct writer *writer, int to, const struct pointer *a,
                       const struct pointer *b)
{
    add_pointer(writer, to, a->low < b->low ? a->low : b->low,
                a->high > b->high ? a->high : b->high);
}

static void choose(struct writer *writer)
{
    const struct pointer a = pick(writer), b = pick(writer);
    const int predicate = put_predicate(writer), to = writer->num_long++;
    switch (below(writer, 4)) {
    case 0:
        put(writer, "selp.b64 %%rd%d, %%rd%d, %%rd%d, %%p%d;\n", to, a.number, b.number, predicate);
        break;
    case 1:
        put(writer, "mov.u64 %%rd%d, %%rd%d;\n@%%p%d bra L%d;\nmov.u64 %%rd%d, %%rd%d;\nL%d:\n", to,
            a.number, predicate, writer->num_label, to, b.number, writer->num_label);
        writer->num_label++;
        break;
    case 2:
        put(writer, "max.u64 %%rd%d, %%rd%d, %%rd%d;\n", to, a.number, b.number);
        break;
    default:
        put(writer, "mov.u64 %%rd%d, %%rd%d;\n@%%p%d mov.u64 %%rd%d, %%rd%d;\n", to, a.number,
            predicate, to, b.number);
    }
    add_either(writer, to, &a, &b);
}

static void disguise(struct writer *writer)
{
    const struct pointer a = pick(writer), b = pick(writer);
    const int to = writer->num_long++, other = writer->num_long++;
    const int low = writer->num_word++, high = writer->num_word++;
    const int right = 1 + below(writer, 3), more = 4 * below(writer, 3);
    switch (below(writer, 7)) {
    case 0:
        put(writer, "xor.b64 %%rd%d, %%rd%d, %%rd%d;\n", other, a.number, b.number);
        put(writer, "xor.b64 %%rd%d, %%rd%d, %%rd%d;\n", to, other, b.number);
        break;
    case 1:
        put(writer, "sub.s64 %%rd%d, %%rd%d, %%rd%d;\n", other, a.number, b.number);
        put(writer, "add.s64 %%rd%d, %%rd%d, %%rd%d;\n", to, b.number, other);
        break;
    case 2:
        put(writer, "mov.b64 {%%r%d, %%r%d}, %%rd%d;\n", low, high, a.number);
        put(writer, "mov.b64 %%rd%d, {%%r%d, %%r%d};\n", to, low, high);
        break;
    case 3:
        put(writer, "cvt.u32.u64 %%r%d, %%rd%d;\n", low, a.number);
        put(writer, "shr.u64 %%rd%d, %%rd%d, 32;\ncvt.u32.u64 %%r%d, %%rd%d;\n", other, a.number,
            high, other);
        put(writer, "cvt.u64.u32 %%rd%d, %%r%d;\n", other, high);
        for (int left = 32, by = 4 << below(writer, 4); left > 0; left -= by)
            put(writer, "shl.b64 %%rd%d, %%rd%d, %d;\n", other, other, by);
        put(writer, "cvt.u64.u32 %%rd%d, %%r%d;\n", to, low);
        put(writer, "%s.b64 %%rd%d, %%rd%d, %%rd%d;\n", a.low & 8 ? "or" : "xor", to, to, other);
        break;
    case 4:
        put(writer, "shr.u64 %%rd%d, %%rd%d, %d;\n", other, a.number, right);
        put(writer, "shl.b64 %%rd%d, %%rd%d, %d;\n", to, other, right + more);
        put(writer, "shr.u64 %%rd%d, %%rd%d, %d;\n", to, to, more);
        break;
    case 5:
        put(writer, "not.b64 %%rd%d, %%rd%d;\nnot.b64 %%rd%d, %%rd%d;\n", other, a.number, to,
            other);
        break;
    default:
        put(writer, "mul.wide.u32 %%rd%d, %%r0, 4294967295;\n", other); // %r0 is 1
        put(writer, "and.b64 %%rd%d, %%rd%d, %%rd%d;\n", other, other, a.number);
        put(writer, "shr.u64 %%rd%d, %%rd%d, 32;\n", to, a.number);
        put(writer, "mul.lo.s64 %%rd%d, %%rd%d, 4294967296;\n", to, to);
        put(writer, "add.s64 %%rd%d, %%rd%d, %%rd%d;\n", to, to, other);
    }
    add_pointer(writer, to, a.low & ~7, a.high);
}

static void spill(struct writer *writer)
{
    const struct pointer a = pick(writer);
    const int to = writer->num_long++, address = writer->num_long++, place = 8 * below(writer, 4);
    const int low = writer->num_word++, high = writer->num_word++;
    switch (below(writer, 4)) {
    case 0:
        put(writer, "st.local.u64 [depot+%d], %%rd%d;\n", place, a.number);
        put(writer, "ld.local.u64 %%rd%d, [depot+%d];\n", to, place);
        break;
    case 1:
        put(writer, "mov.u64 %%rd%d, depot;\ncvta.local.u64 %%rd%d, %%rd%d;\n", address, address,
            address);
        put(writer, "st.u64 [%%rd%d+%d], %%rd%d;\n", address, place, a.number);
        put(writer, "ld.u64 %%rd%d, [%%rd%d+%d];\n", to, address, place);
        break;
    case 2:
        put(writer, "mov.b64 {%%r%d, %%r%d}, %%rd%d;\n", low, high, a.number);
        put(writer, "st.local.v2.u32 [depot+%d], {%%r%d, %%r%d};\n", place, low, high);
        put(writer, "ld.local.u64 %%rd%d, [depot+%d];\n", to, place);
        break;
    default:
        put(writer, "st.local.u64 [depot+%d], %%rd%d;\n", place, a.number);
        put(writer, "ld.local.u32 %%r%d, [depot+%d];\n", low, place);
        put(writer, "ld.local.u32 %%r%d, [depot+%d];\n", high, place + 4);
        put(writer, "mov.b64 %%rd%d, {%%r%d, %%r%d};\n", to, low, high);
    }
    add_pointer(writer, to, a.low, a.high);
}

// Each thread has words of its own in the variable, at %rd1. Another thread's come behind a
// barrier.
static void share(struct writer *writer)
{
    const struct pointer a = pick(writer);
    const int to = writer->num_long++, address = writer->num_long++;
    if (chance(writer, 50)) {
        put(writer, "st.shared.u64 [%%rd1], %%rd%d;\n", a.number);
        put(writer, "ld.shared.u64 %%rd%d, [%%rd1];\n", to);
    } else {
        put(writer, "bar.sync 0;\nst.shared.u64 [%%rd1], %%rd%d;\nbar.sync 0;\n", a.number);
        put(writer, "mov.u64 %%rd%d, tile;\ncvta.shared.u64 %%rd%d, %%rd%d;\n", address, address,
            address);
        put(writer, "ld.u64 %%rd%d, [%%rd%d+%d];\nbar.sync 0;\n", to, address,
            8 * below(writer, writer->num_threads));
    }
    add_pointer(writer, to, a.low, a.high);
}

// Both functions return one of their arguments, or what a struct holds.
static void call(struct writer *writer)
{
    const struct pointer a = pick(writer), b = pick(writer);
    const int to = writer->num_long++, index = put_index(writer);
    const bool is_struct = chance(writer, 50);
    put(writer, "{\n.param .b64 result;\n");
    if (is_struct) {
        put(writer, ".param .align 8 .b8 pair[16];\n");
        put(writer, "st.param.b64 [pair+0], %%rd%d;\nst.param.b64 [pair+8], %%rd%d;\n", a.number,
            b.number);
        put(writer, "call.uni (result), second, (pair);\n");
    } else {
        put(writer, ".param .b64 one;\n.param .b64 other;\n.param .b32 which;\n");
        put(writer, "st.param.b64 [one], %%rd%d;\nst.param.b64 [other], %%rd%d;\n", a.number,
            b.number);
        put(writer, "st.param.b32 [which], %%r%d;\n", index);
        put(writer, "call.uni (result), either, (one, other, which);\n");
    }
    put(writer, "ld.param.b64 %%rd%d, [result];\n}\n", to);
    add_either(writer, to, &a, &b);
}

// ---- uses ----

static void use(struct writer *writer)
{
    const struct pointer at = pick(writer);
    const int word = writer->num_word++, other = writer->num_word++, wide = writer->num_long++;
    const char *space = chance(writer, 50) ? ".global" : "";
    const int behind = 8 * below(writer, 4);
    switch (below(writer, 8)) {
    case 0:
        put(writer, "st%s.u32 [%%rd%d+%d], %%r0;\n", space, at.number, behind);
        break;
    case 1:
        put(writer, "ld%s.u32 %%r%d, [%%rd%d+%d];\n", space, word, at.number, behind);
        break;
    case 2:
        put(writer, "ld%s.v2.u32 {%%r%d, %%r%d}, [%%rd%d];\n", space, word, other, at.number);
        break;
    case 3:
        put(writer, "red%s.add.u32 [%%rd%d+%d], 1;\n", space, at.number, behind);
        break;
    case 4:
        put(writer, "atom%s.add.u32 %%r%d, [%%rd%d], 1;\n", space, word, at.number);
        break;
    case 5:
        put(writer, "ld%s.u64 %%rd%d, [%%rd%d+%d];\n", space, wide, at.number, behind);
        put(writer, "st.local.u64 [depot+32], %%rd%d;\n", wide);
        break;
    case 6:
        put(writer, "st%s.v2.u32 [%%rd%d], {%%r0, %%r0};\n", space, at.number);
        break;
    default:
        put(writer, "st%s.u8 [%%rd%d+%d], %%r0;\n", space, at.number, behind);
    }
}

static void run_loop(struct writer *writer)
{
    const struct pointer from = pick(writer);
    const int at = writer->num_long++, count = writer->num_word++;
    const int predicate = writer->num_predicate++, label = writer->num_label++;
    if (!moves(&from, 0, 4 * 64))
        return;
    put(writer, "mov.u64 %%rd%d, %%rd%d;\nmov.u32 %%r%d, 0;\nL%d:\n", at, from.number, count,
        label);
    put(writer, "%s.global.u32 [%%rd%d], %%r0;\n", chance(writer, 50) ? "st" : "red.add", at);
    put(writer, "add.s64 %%rd%d, %%rd%d, 64;\nadd.u32 %%r%d, %%r%d, 1;\n", at, at, count, count);
    put(writer, "setp.lt.u32 %%p%d, %%r%d, 4;\n@%%p%d bra L%d;\n", predicate, count, predicate,
        label);
}

static void step(struct writer *writer)
{
    static void (*const ways[])(struct writer *) = {
        load_own, load_struct, add_number, add_index, choose, choose, disguise, disguise,
        spill,    share,       call,       run_loop,  use,    use,    use,      use,
    };
    if (chance(writer, 1))
        load_from_table(writer);
    else
        ways[below(writer, sizeof(ways) / sizeof(ways[0]))](writer);
}

static const char head[] =
    ".version 7.8\n.target sm_80\n.address_size 64\n"
    ".func (.param .b64 either_result) either(.param .b64 either_0, .param .b64 either_1, "
    ".param .b32 either_2)\n{\n.reg .pred %p<2>;\n.reg .b32 %r<2>;\n.reg .b64 %rd<4>;\n"
    "ld.param.b64 %rd0, [either_0];\nld.param.b64 %rd1, [either_1];\n"
    "ld.param.b32 %r0, [either_2];\nsetp.gt.u32 %p0, %r0, 3;\n"
    "selp.b64 %rd2, %rd0, %rd1, %p0;\nst.param.b64 [either_result], %rd2;\nret;\n}\n"
    ".func (.param .b64 second_result) second(.param .align 8 .b8 second_0[16])\n{\n"
    ".reg .b64 %rd<2>;\nld.param.b64 %rd0, [second_0+8];\n"
    "st.param.b64 [second_result], %rd0;\nret;\n}\n"
    ".visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1, .param .u64 k_param_2,\n"
    ".param .align 8 .b8 k_param_3[64], .param .u32 k_param_4)\n{\n"
    ".reg .pred %p<200>;\n.reg .b32 %r<400>;\n.reg .b64 %rd<400>;\n"
    ".local .align 8 .b8 depot[64];\n.shared .align 8 .b8 tile[64];\n"
    "mov.u32 %r0, 1;\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd0, %r1, 8;\n"
    "mov.u64 %rd1, tile;\nadd.s64 %rd1, %rd1, %rd0;\n";

size_t random_kernel_write(struct random *random, int num_threads, char *text, size_t bytes)
{
    struct writer writer = { random, text, .bytes = bytes, .num_threads = num_threads };
    writer.num_long = writer.num_word = 2;
    put(&writer, "%s", head);
    load_own(&writer);
    for (int i = 4 + below(&writer, MOST_STEPS); i > 0; i--)
        step(&writer);
    put(&writer, "ret;\n}\n");
    return writer.length;
}

// ---- mutants ----

// The begin of the nth instruction of the entry, counted around.
static char *find_line(char *text, size_t index)
{
    static const char before[] = ".b8 tile[64];\n"; // the last declaration
    char *first = strstr(text, before) + sizeof(before) - 1, *at = first;
    while (at && index-- > 0) {
        at = strchr(at, '\n');
        at = at && at[1] && at[1] != '}' ? at + 1 : first;
    }
    return at;
}

static char *find_register(char *line, size_t index, size_t *out_length)
{
    char *end = strchr(line, '\n'), *found = NULL;
    for (char *at = line; at < end; at++) {
        if (*at != '%' || at[1] == 't' || (found && index-- == 0))
            continue;
        found = at;
        *out_length = 1 + strspn(at + 1, "rdp0123456789");
    }
    return found;
}

static size_t kind_of(const char *name)
{
    return strspn(name + 1, "rdp");
}

void random_kernel_mutate(struct random *random, char *text, size_t bytes)
{
    size_t length = 0, other_length = 0;
    char *to =
        find_register(find_line(text, random_below(random, 300)), random_below(random, 3), &length);
    char *from = find_register(find_line(text, random_below(random, 300)), random_below(random, 3),
                               &other_length);
    char word[16] = "";
    if (!to || !from || other_length >= sizeof(word) || kind_of(to) != kind_of(from) ||
        strlen(text) + other_length >= bytes)
        return;
    memcpy(word, from, other_length);
    memmove(to + other_length, to + length, strlen(to + length) + 1);
    memcpy(to, word, other_length);
}
