// SPDX-License-Identifier: Apache-2.0
// Accesses of an instruction of PTX to global memory.
#include "ptx/ptx_access.h"

#include <ctype.h>
#include <string.h>

enum { MOST_PARTS = 16, MOST_SIDE = 256 };

// The words between the points of an opcode.
struct parts {
    struct ptx_word items[MOST_PARTS];
    size_t num;
};

static struct parts split(struct ptx_word opcode)
{
    struct parts parts = { .num = 0 };
    size_t begin = 0;
    for (size_t i = 0; i <= opcode.length && parts.num < MOST_PARTS; i++) {
        if (i < opcode.length && opcode.at[i] != '.')
            continue;
        parts.items[parts.num++] = (struct ptx_word){ opcode.at + begin, i - begin };
        begin = i + 1;
    }
    return parts;
}

static bool has(const struct parts *parts, const char *text)
{
    for (size_t i = 1; i < parts->num; i++) {
        if (braid_ptx_word_is(parts->items[i], text))
            return true;
    }
    return false;
}

static bool is_of_other_space(const struct parts *parts)
{
    static const char *const names[] = { "shared", "local", "param", "const" };
    for (size_t i = 1; i < parts->num; i++) {
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
            if (braid_ptx_word_begins(parts->items[i], names[k]))
                return true;
        }
    }
    return false;
}

// 4 of f16x2 and 16 of b128; 0: it is no type.
static uint32_t bytes_of_type(struct ptx_word part)
{
    size_t at = braid_ptx_word_begins(part, "bf") ? 2 : 1;
    if (part.length <= at || !strchr("subf", part.at[0]))
        return 0;
    uint32_t bits = braid_ptx_read_number(part, at, 10), bytes = bits <= 128 ? bits / 8 : 0;
    bool is_pair = part.length > 2 && memcmp(part.at + part.length - 2, "x2", 2) == 0;
    return is_pair ? 2 * bytes : bytes;
}

static uint32_t count_bytes(const struct parts *parts)
{
    uint32_t bytes = 0, num = 1;
    for (size_t i = 1; i < parts->num; i++) {
        struct ptx_word part = parts->items[i];
        bytes = bytes_of_type(part) ? bytes_of_type(part) : bytes;
        if (part.length == 2 && part.at[0] == 'v' && isdigit((unsigned char)part.at[1]))
            num = (uint32_t)(part.at[1] - '0');
    }
    return bytes * num;
}

// Operand `index` of the statement, without space around it; length 0: there is none.
static struct ptx_word find_operand(const struct ptx_statement *statement, size_t index)
{
    const char *at = statement->word.at + statement->word.length;
    struct ptx_word operand = { 0 };
    int depth = 0;
    for (struct ptx_word word = braid_ptx_next_word(&at); word.length && word.at < statement->end;
         word = braid_ptx_next_word(&at)) {
        bool ends = depth == 0 && (braid_ptx_word_is(word, ",") || braid_ptx_word_is(word, ";"));
        depth += braid_ptx_word_is(word, "{") || braid_ptx_word_is(word, "[");
        depth -= braid_ptx_word_is(word, "}") || braid_ptx_word_is(word, "]");
        if (ends && index-- == 0)
            return operand;
        if (!ends && !operand.length)
            operand.at = word.at;
        operand.length = ends ? 0 : (size_t)(at - operand.at);
    }
    return (struct ptx_word){ 0 };
}

static bool is_name_or_number(struct ptx_word word)
{
    return braid_ptx_is_name(word) || braid_ptx_is_number(word);
}

// Nothing, a name or a number.
static bool is_plain(struct ptx_word operand)
{
    const char *at = operand.at;
    if (operand.length == 0)
        return true;
    return is_name_or_number(operand) && braid_ptx_next_word(&at).length == operand.length;
}

// -number or number, from the words at *at on; length 0: it is something else.
static struct ptx_word read_offset(const char **at)
{
    const struct ptx_word first = braid_ptx_next_word(at);
    struct ptx_word number = first;
    if (braid_ptx_word_is(first, "-"))
        number = braid_ptx_next_word(at);
    size_t length = braid_ptx_is_number(number) ? (size_t)(*at - first.at) : 0;
    return (struct ptx_word){ first.at, length };
}

// [base], [base+offset], [base-number]: false: it is something else.
static bool read_address(struct ptx_word operand, struct ptx_access *access)
{
    const char *at = operand.at;
    if (operand.length == 0 || !braid_ptx_word_is(braid_ptx_next_word(&at), "["))
        return false;
    access->base = braid_ptx_next_word(&at);
    const char *before = at;
    struct ptx_word word = braid_ptx_next_word(&at);
    if (!braid_ptx_word_is(word, "]")) {
        at = braid_ptx_word_is(word, "+") ? at : before;
        access->offset = read_offset(&at);
        word = access->offset.length ? braid_ptx_next_word(&at) : word;
    }
    return is_name_or_number(access->base) && braid_ptx_word_is(word, "]") &&
           at == operand.at + operand.length;
}

// With a size and stride that are nothing, names or numbers: they are written elsewhere, too.
static enum ptx_access_kind at_operand(const struct ptx_statement *statement, size_t index,
                                       struct ptx_access *access)
{
    bool is_seen = is_plain(access->size) && is_plain(access->stride) &&
                   read_address(find_operand(statement, index), access);
    return is_seen ? PTX_ACCESS : PTX_UNSEEN_ACCESS;
}

static void take_size(struct ptx_access *access, struct ptx_word operand)
{
    access->size = operand;
    access->bytes = braid_ptx_read_number(operand, 0, 0);
}

// cp.async.bulk and cp.reduce.async.bulk: to memory, from memory, bytes. Some forms leave out bytes
// that operands name.
static enum ptx_access_kind find_bulk(const struct ptx_statement *statement,
                                      const struct parts *parts, struct ptx_access *access)
{
    const bool reduces = braid_ptx_word_is(parts->items[1], "reduce");
    const size_t to = reduces ? 4 : 3;
    if (has(parts, "tensor") || has(parts, "cp_mask") || has(parts, "ignore_oob"))
        return PTX_UNSEEN_ACCESS;
    if (!has(parts, "global") || parts->num <= to)
        return PTX_NO_ACCESS;
    bool writes = braid_ptx_word_is(parts->items[to], "global");
    access->act = !writes ? PTX_READS : reduces ? PTX_UPDATES : PTX_WRITES;
    take_size(access, find_operand(statement, 2));
    return at_operand(statement, !writes, access);
}

// cp.async.ca and cp.async.cg: to shared memory, from memory, bytes, and perhaps how many of these
// are read.
static enum ptx_access_kind find_copy(const struct ptx_statement *statement,
                                      const struct parts *parts, struct ptx_access *access)
{
    bool is_hinted = has(parts, "L2::cache_hint");
    struct ptx_word read = find_operand(statement, 3), hint = find_operand(statement, 4);
    bool is_fewer = read.length && (!is_hinted || hint.length);
    access->act = PTX_READS;
    take_size(access, is_fewer ? read : find_operand(statement, 2));
    return at_operand(statement, 1, access);
}

static enum ptx_access_kind find_any_copy(const struct ptx_statement *statement,
                                          const struct parts *parts, struct ptx_access *access)
{
    if (has(parts, "prefetch"))
        return PTX_NO_ACCESS;
    if (has(parts, "bulk"))
        return find_bulk(statement, parts, access);
    return has(parts, "ca") || has(parts, "cg") ? find_copy(statement, parts, access)
                                                : PTX_NO_ACCESS;
}

// A write of unknown values, of as many bytes as its operand says.
static enum ptx_access_kind find_discard(const struct ptx_statement *statement,
                                         struct ptx_access *access)
{
    access->act = PTX_WRITES;
    take_size(access, find_operand(statement, 1));
    return access->size.length ? at_operand(statement, 0, access) : PTX_UNSEEN_ACCESS;
}

static bool is_unseen(struct ptx_word name)
{
    static const char *const names[] = { "tex",   "tld4",     "suld",     "sust",
                                         "sured", "multimem", "tensormap" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (braid_ptx_word_is(name, names[i]))
            return true;
    }
    return false;
}

// ---- fragments of matrices ----

static uint32_t bits_of_element(struct ptx_word part)
{
    static const struct {
        const char *name;
        uint32_t bits;
    } small[] = { { "b1", 1 }, { "s4", 4 }, { "u4", 4 }, { "tf32", 32 } };
    for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++) {
        if (braid_ptx_word_is(part, small[i].name))
            return small[i].bits;
    }
    return 8 * bytes_of_type(part);
}

// The number behind a letter of m16n16k16; 0: there is none.
static uint32_t find_side(const struct parts *parts, char letter)
{
    uint32_t side = 0;
    for (size_t i = 1; i < parts->num; i++) {
        struct ptx_word part = parts->items[i];
        const char *at = part.length > 5 && *part.at == 'm' && isdigit((unsigned char)part.at[1])
                             ? memchr(part.at, letter, part.length)
                             : NULL;
        if (at)
            side = braid_ptx_read_number(part, (size_t)(at + 1 - part.at), 10);
    }
    return side <= MOST_SIDE ? side : 0;
}

// wmma.load.a: of M rows of K elements, or K columns of M; b: K and N; c, and wmma.store.d: M and
// N.
static enum ptx_access_kind find_fragment(const struct ptx_statement *statement,
                                          const struct parts *parts, struct ptx_access *access)
{
    const bool loads = braid_ptx_word_is(parts->items[1], "load");
    const char *matrix = parts->items[2].at;
    const uint32_t down = find_side(parts, *matrix == 'b' ? 'k' : 'm');
    const uint32_t across = find_side(parts, *matrix == 'a' ? 'k' : 'n');
    const uint32_t bits = bits_of_element(parts->items[parts->num - 1]);
    const uint32_t length = has(parts, "row") ? across : down;
    access->act = loads ? PTX_READS : PTX_WRITES;
    access->rows = has(parts, "row") ? down : across;
    access->bytes = length * bits / 8;
    access->stride = find_operand(statement, 2);
    access->stride_bits = access->stride.length ? bits : length * bits;
    return access->rows && access->bytes ? at_operand(statement, loads, access) : PTX_UNSEEN_ACCESS;
}

static enum ptx_access_kind find_matrix(const struct ptx_statement *statement,
                                        const struct parts *parts, struct ptx_access *access)
{
    if (is_of_other_space(parts) || has(parts, "mma"))
        return PTX_NO_ACCESS;
    return parts->num > 2 ? find_fragment(statement, parts, access) : PTX_UNSEEN_ACCESS;
}

enum ptx_access_kind braid_ptx_find_access(const struct ptx_statement *statement,
                                           struct ptx_access *out_access)
{
    static const struct {
        const char *name;
        size_t operand;
        enum ptx_act act;
    } rows[] = { { "ld", 1, PTX_READS },
                 { "ldu", 1, PTX_READS },
                 { "st", 0, PTX_WRITES },
                 { "atom", 1, PTX_UPDATES },
                 { "red", 0, PTX_UPDATES } };
    const struct parts parts = split(statement->word);
    struct ptx_word name = parts.items[0];
    *out_access = (struct ptx_access){ 0 };
    if (braid_ptx_word_is(name, "cp"))
        return find_any_copy(statement, &parts, out_access);
    if (braid_ptx_word_is(name, "wmma"))
        return find_matrix(statement, &parts, out_access);
    if (braid_ptx_word_is(name, "discard"))
        return find_discard(statement, out_access);
    if (is_unseen(name))
        return PTX_UNSEEN_ACCESS;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (!braid_ptx_word_is(name, rows[i].name) || is_of_other_space(&parts))
            continue;
        out_access->act = rows[i].act;
        out_access->bytes = count_bytes(&parts);
        return out_access->bytes ? at_operand(statement, rows[i].operand, out_access)
                                 : PTX_UNSEEN_ACCESS;
    }
    return PTX_NO_ACCESS;
}
