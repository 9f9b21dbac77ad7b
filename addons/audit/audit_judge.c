// SPDX-License-Identifier: Apache-2.0
// Judges accesses by the declarations of the node at hand, and opens pages where no more can be
// learned. A handler of a fault calls it.
#include <sys/mman.h>

#include "audit/audit_by_pages.h"

// ---- how many bytes an instruction of x86-64 reads or writes at once ----
//
// A fault only tells the first.

enum { MOST_WIDTH = 64 };

struct width {
    unsigned bytes;  // at most
    bool is_known;   // exactly as many
    unsigned before; // at most as many of the page are before what the fault tells
    bool is_update;  // if it writes these bytes, it reads them first
    bool is_masked;  // registers may leave out what the fault tells
    uintptr_t begin; // where its operand is in memory; 0: not known
};

struct code {
    const unsigned char *next;
    bool is_short, is_wide; // operands of 2 bytes, or of 8
    bool is_elsewhere;      // addresses are short, or in a segment
    unsigned char repeat;   // 0xf2, 0xf3 or 0
    unsigned char high;     // 1: the base is among the last eight registers; 2: the index
};

static unsigned find_operand(const struct code *code)
{
    return code->is_wide ? 8 : code->is_short ? 2 : 4;
}

// 0: not by this instruction, or not known.
static unsigned find_x87(unsigned char opcode, unsigned char operands)
{
    static const unsigned char widths[8][8] = {
        { 4, 4, 4, 4, 4, 4, 4, 4 },   { 4, 0, 4, 4, 28, 2, 28, 2 }, { 4, 4, 4, 4, 4, 4, 4, 4 },
        { 4, 4, 4, 4, 0, 10, 0, 10 }, { 8, 8, 8, 8, 8, 8, 8, 8 },   { 8, 8, 8, 8, 108, 0, 108, 2 },
        { 2, 2, 2, 2, 2, 2, 2, 2 },   { 2, 2, 2, 2, 10, 8, 10, 8 },
    };
    return widths[opcode & 7][operands >> 3 & 7];
}

// Rows of 16 opcodes, with a bit for each.
typedef const uint16_t opcodes[16];

static bool is_among(const uint16_t *rows, unsigned char opcode)
{
    return rows[opcode >> 4] >> (opcode & 15) & 1;
}

static bool is_of_bytes(unsigned char opcode)
{
    static opcodes all = { 0x0505,        0x0505,        0x0505, 0x0505,       [8] = 0x0555,
                           [10] = 0x5455, [12] = 0x0041, 0x0085, [15] = 0x4040 };
    return is_among(all, opcode);
}

// Whether the instruction uses the stack, or the address of a call.
static bool is_of_addresses(const unsigned char *opcode)
{
    static opcodes all = {
        [5] = 0xffff, 0x0500, [8] = 0x8000, 0x3000, [12] = 0x020c, [14] = 0x0100
    };
    return is_among(all, *opcode) || (*opcode == 0xff && (opcode[1] >> 3 & 7) >= 2);
}

// Whether it goes to another segment, or returns from one. An interrupt's return reads 40 bytes.
static bool is_far(const unsigned char *opcode)
{
    return *opcode == 0xca || *opcode == 0xcb || *opcode == 0xcf ||
           (*opcode == 0xff && ((opcode[1] & 0x38) == 0x18 || (opcode[1] & 0x38) == 0x28));
}

// Where code is to be short, compilers store 0 by "and", and -1 by "or", each with a byte behind
// the operand.
static bool is_short_store(const unsigned char *opcode)
{
    enum { WITH_BYTE = 0x83, LIST = 4, NO_BASE = 5, OR = 1, AND = 4 };
    static const unsigned char displaced[] = { 0, 1, 4, 0 };
    const unsigned char *at = opcode + 1;
    const unsigned mode = *at >> 6, operation = *at >> 3 & 7;
    unsigned base = *at++ & 7;
    if (base == LIST)
        base = *at++ & 7;
    at += mode == 0 && base == NO_BASE ? 4 : displaced[mode];
    return *opcode == WITH_BYTE &&
           ((operation == AND && *at == 0) || (operation == OR && *at == 0xff));
}

// An exchange is none: compilers store by it where the order counts.
static bool is_update(const unsigned char *opcode)
{
    static opcodes all = {
        0x0303, 0x0303, 0x0303, 0x0003, [8] = 0x000f, [12] = 0x0003, 0x000f, [15] = 0xc0c0
    };
    static opcodes behind_0f = { [10] = 0x3830, 0x0c0b, 0x0083 };
    if (*opcode == 0x0f)
        return is_among(behind_0f, opcode[1]);
    return is_among(all, *opcode) && !is_of_addresses(opcode) && !is_short_store(opcode);
}

// The bytes of one number or of a vector.
static unsigned find_scalar(const struct code *code, unsigned vector)
{
    return code->repeat == 0xf3 ? 4 : code->repeat == 0xf2 ? 8 : vector;
}

// The opcodes behind 0x0f, of integers; 0: another one.
static unsigned find_second(const struct code *code, unsigned char opcode)
{
    static opcodes of_operand = { [4] = 0xffff, [10] = 0x8808, 0x3d0a, 0x000a };
    static opcodes of_bytes = { [9] = 0xffff, [11] = 0x4041, 0x0001 };
    if (is_among(of_operand, opcode))
        return find_operand(code);
    if (opcode == 0xb7 || opcode == 0xbf)
        return 2;
    if (opcode == 0xc7)
        return code->is_wide ? 16 : 8;
    return is_among(of_bytes, opcode);
}

// Whether its vectors are of integers, and those without a prefix have 8 bytes.
static bool is_of_integers(unsigned char opcode)
{
    static opcodes all = { [6] = 0xbff8, 0x8071, [13] = 0xff30, 0xffb9, 0x7f71 };
    return is_among(all, opcode);
}

// The bytes of instructions of vectors; 0: not known.
static unsigned find_vector(const struct code *code, unsigned char opcode, unsigned vector)
{
    static opcodes of_all = { [1] = 0x0030, 0x0b00, [5] = 0x08f0, [12] = 0x0040 };
    static opcodes of_scalars = { [1] = 0x0003, [5] = 0xf302, [12] = 0x0004 };
    if (is_of_integers(opcode))
        return code->is_short || code->repeat ? vector : 8;
    if (is_among(of_all, opcode))
        return vector;
    if (is_among(of_scalars, opcode))
        return find_scalar(code, vector);
    switch (opcode) {
    case 0x12:
    case 0x13:
    case 0x16:
    case 0x17:
        return code->repeat == 0xf3 || (code->repeat && vector > 16) ? vector : 8;
    case 0x2a:
        return code->repeat ? find_operand(code) : 8;
    case 0x2c:
    case 0x2d:
        return find_scalar(code, 0);
    case 0x2e:
    case 0x2f:
        return code->is_short ? 8 : 4;
    case 0x5a:
        return find_scalar(code, code->is_short ? vector : vector / 2);
    case 0x6e:
        return code->is_wide ? 8 : 4;
    case 0x7e:
        return code->repeat || code->is_wide ? 8 : 4;
    case 0xd6:
        return 8;
    default:
        return 0;
    }
}

static struct width known(unsigned bytes)
{
    return (struct width){ .bytes = bytes ? bytes : MOST_WIDTH, .is_known = bytes != 0 };
}

static struct width anywhere(void)
{
    return (struct width){ .bytes = AUDIT_PAGE, .before = AUDIT_PAGE };
}

// A vector at RDI is written with a mask. A fault tells of any byte.
static struct width find_masked(void)
{
    enum { VECTOR = 16 };
    return (struct width){ .bytes = VECTOR, .before = VECTOR - 1, .is_masked = true };
}

static bool is_masked(unsigned char opcode)
{
    return opcode == 0xf7;
}

static void read_vector_prefix(struct code *code, unsigned char prefix)
{
    static const unsigned char repeats[] = { 0, 0, 0xf3, 0xf2 };
    code->is_wide = prefix & 0x80;
    code->is_short = (prefix & 3) == 1;
    code->repeat = repeats[prefix & 3];
}

// The opcodes behind 0x0f 0x38, of vectors with a longer prefix: one element for a vector's all,
// and products that are added. 0: another one.
static unsigned find_third(const struct code *code, unsigned char opcode, unsigned vector)
{
    unsigned row = opcode >> 4, column = opcode & 15;
    if (opcode == 0x78 || opcode == 0x79)
        return opcode == 0x78 ? 1 : 2;
    if (opcode == 0x18 || opcode == 0x58)
        return 4;
    if (row < 9 || row > 11 || column < 6)
        return 0;
    return column < 9 || column % 2 == 0 ? vector : code->is_wide ? 8 : 4;
}

static unsigned find_in_map(const struct code *code, unsigned map, unsigned vector)
{
    return map == 1   ? find_vector(code, *code->next, vector)
           : map == 2 ? find_third(code, *code->next, vector)
                      : 0;
}

// A prefix of two or three bytes, with which vectors have 16 or 32. Other lengths are not known.
// Gathers and tiles have an address for each part.
static struct width find_vex(struct code *code)
{
    bool is_long = *code->next++ == 0xc4;
    unsigned char first = is_long ? *code->next++ : 1, last = *code->next++, map = first & 31;
    read_vector_prefix(code, is_long ? last : last & 0x7f);
    code->high = is_long ? (unsigned char)~first >> 5 & 3 : 0;
    if (map == 2 && ((*code->next & 0xfc) == 0x90 || *code->next == 0x4b))
        return anywhere();
    if (map == 1 && is_masked(*code->next))
        return find_masked();
    return known(find_in_map(code, map, last & 4 ? 32 : 16));
}

// A prefix of four bytes. With a mask some parts are left out.
static struct width find_evex(struct code *code)
{
    enum { MASK = 7, BROADCASTS = 0x10, LENGTH = 0x60, TOO_LONG = 0x60 };
    unsigned char map = code->next[1] & 7, last = code->next[3];
    bool is_plain = !(last & (MASK | BROADCASTS)) && (last & LENGTH) != TOO_LONG;
    read_vector_prefix(code, code->next[2]);
    code->next += 4;
    if (map == 2 && ((*code->next & 0xfc) == 0x90 || (*code->next & 0xfc) == 0xa0)) // scatters, too
        return anywhere();
    return known(is_plain ? find_in_map(code, map, 16u << (last >> 5 & 3)) : 0);
}

// The last prefix alone may ask for wide operands.
static void skip_prefixes(struct code *code)
{
    for (;; code->next++) {
        if ((*code->next & 0xf0) == 0x40) {
            code->is_wide = *code->next & 8;
            code->high = *code->next & 3;
            continue;
        }
        switch (*code->next) {
        case 0x66:
            code->is_short = true;
            break;
        case 0xf2:
        case 0xf3:
            code->repeat = *code->next;
            break;
        case 0x64:
        case 0x65:
        case 0x67:
            code->is_elsewhere = true;
            break;
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0xf0:
            break;
        default:
            return;
        }
        code->is_wide = false;
        code->high = 0;
    }
}

// Whether the instruction uses several places, or a fault may tell of its last byte.
static bool is_anywhere(const unsigned char *opcode)
{
    if (opcode[0] != 0x0f)
        return opcode[0] == 0xa6 || opcode[0] == 0xa7 || opcode[0] == 0xc8;
    unsigned char operation = opcode[2] >> 3 & 7;
    if (opcode[1] == 0xae)
        return operation == 4 || operation == 5 || operation == 6;
    return opcode[1] == 0x01 || (opcode[1] == 0xc7 && operation >= 3 && operation <= 5);
}

// A fault may tell of the last byte of a large state. With short operands it is smaller.
static struct width find_state(const struct code *code, unsigned bytes)
{
    const unsigned most_scalar = 10;
    return bytes > most_scalar
               ? (struct width){ .bytes = bytes, .before = bytes - 1, .is_known = !code->is_short }
               : known(bytes);
}

// Behind the prefixes.
static struct width find_plain(struct code *code)
{
    enum { VECTORS = 512 };
    unsigned char opcode = *code->next++;
    if (opcode == 0x0f) {
        unsigned bytes = find_second(code, *code->next);
        if (*code->next == 0xae && (code->next[1] >> 3 & 7) < 2)
            return find_state(code, VECTORS);
        if (is_masked(*code->next))
            return find_masked();
        return known(bytes ? bytes : find_vector(code, *code->next, 16));
    }
    code->next--;
    if (opcode == 0xd5 || (opcode == 0x8f && code->next[1] >> 3 & 7)) // later prefixes
        return known(0);
    if (is_of_bytes(opcode))
        return known(1);
    if (opcode >= 0xd8 && opcode <= 0xdf)
        return find_state(code, find_x87(opcode, code->next[1]));
    if (opcode == 0x63)
        return known(code->is_short ? 2 : 4);
    if (opcode == 0x8c || opcode == 0x8e)
        return known(2);
    if (is_far(code->next))
        return known(0);
    if (is_of_addresses(code->next))
        return known(code->is_short ? 0 : 8);
    return known(find_operand(code));
}

// Where an operand in memory begins, as far as registers tell it; 0: not known. `at` is behind the
// opcode.
static uintptr_t find_begin(const struct code *code, const unsigned char *at,
                            const uintptr_t *registers)
{
    enum { NONE = 4, LIST = 4, NO_BASE = 5 };
    const unsigned mode = *at >> 6;
    unsigned base = *at++ & 7, index = NONE, scale = 0;
    if (base == LIST) {
        base = *at & 7;
        index = (*at >> 3 & 7) | (code->high & 2u) << 2;
        scale = *at++ >> 6;
    }
    if (code->is_elsewhere || mode == 3 || (mode == 0 && base == NO_BASE))
        return 0;
    uintptr_t begin = registers[base | (code->high & 1u) << 3];
    if (index != NONE)
        begin += registers[index] << scale;
    if (mode == 1)
        begin += (uintptr_t)(signed char)*at;
    if (mode == 2)
        begin += (uintptr_t)(int32_t)((uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 |
                                      (uint32_t)at[1] << 8 | at[0]);
    return begin;
}

// Others use the stack, or an address of their own.
static bool has_operand_only(const unsigned char *opcode)
{
    static opcodes none = {
        [5] = 0xffff, 0xf500, [9] = 0xffff, 0xffff, [12] = 0xff0c, 0x0080, 0xffff
    };
    return !is_among(none, *opcode) && !is_of_addresses(opcode);
}

// The width of a common instruction of integers or vectors is known.
static struct width find_width(const struct audit_fault *fault)
{
    struct code code = { .next = fault->instruction };
    skip_prefixes(&code);
    const bool is_vex = *code.next == 0xc4 || *code.next == 0xc5;
    if (*code.next == 0x62)
        return find_evex(&code);
    if (!is_vex && is_anywhere(code.next))
        return anywhere();
    const bool updates = !is_vex && is_update(code.next),
               operates = is_vex || has_operand_only(code.next);
    struct width width = is_vex ? find_vex(&code) : find_plain(&code);
    width.is_update = updates;
    width.begin = operates ? find_begin(&code, code.next + 1, fault->registers) : 0;
    if (width.begin > fault->address || fault->address - width.begin >= width.bytes)
        width.begin = 0;
    return width;
}

// ---- judging ----

enum { READS_AND_WRITES = PROT_READ | PROT_WRITE };

static uintptr_t round_down(uintptr_t address, uint64_t bytes)
{
    return address / bytes * bytes;
}

static uintptr_t larger(uintptr_t a, uintptr_t b)
{
    return a > b ? a : b;
}

static uintptr_t smaller(uintptr_t a, uintptr_t b)
{
    return a < b ? a : b;
}

static bool has(const struct audit_access *access, uintptr_t address)
{
    return access->begin <= address && address < access->end;
}

static bool overlaps(const struct audit_access *access, uintptr_t begin, uintptr_t end)
{
    return access->begin < end && begin < access->end;
}

static void note_buffer(struct audit *audit, struct audit_buffer *buffer)
{
    if (!buffer->is_noted)
        audit->noted[audit->num_noted++] = (uint32_t)(buffer - audit->memory.buffers);
    buffer->is_noted = true;
}

// A node that has not written the page reads older data. A node that is not seen in full, or not at
// this page, may have written it, and so may others with the same memory.
static bool may_read(const struct audit *audit, const struct audit_access *access, size_t page)
{
    const int own = audit->pages.own[page];
    return access->may_read || audit->unseen || !own || own & AUDIT_SHARED ||
           audit->users[page].writer == audit->num_begun;
}

// Whether the node declares such accesses to these bytes.
static bool declares(const struct audit *audit, uintptr_t begin, uintptr_t end, bool writes)
{
    while (begin < end) {
        uintptr_t reached = begin;
        for (uint32_t i = 0; i < audit->num_declared; i++) {
            const struct audit_access *access = &audit->declared[i];
            if (has(access, begin) && access->end > reached && (!writes || access->may_write))
                reached = access->end;
        }
        if (reached == begin)
            return false;
        begin = reached;
    }
    return true;
}

// Whether it declares such accesses to all bytes of buffers among these.
static bool declares_all(const struct audit *audit, uintptr_t begin, uintptr_t end, bool writes)
{
    const struct audit_extent *extents = audit->memory.extents;
    size_t low = 0, high = audit->memory.num_extents;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (extents[middle].end > begin)
            high = middle;
        else
            low = middle + 1;
    }
    for (size_t i = low; i < audit->memory.num_extents && extents[i].begin < end; i++) {
        if (!declares(audit, larger(extents[i].begin, begin), smaller(extents[i].end, end), writes))
            return false;
    }
    return true;
}

// ---- accesses, by their faults ----

// The bytes of a page that an access uses.
struct faulted {
    uintptr_t begin, end;
    uintptr_t told; // one of them, by the fault
    size_t page;
    bool writes;
    bool is_exact;  // else these bytes are the most
    bool is_masked; // not even that one is known
};

static struct width width_of(const struct audit *audit, const struct audit_fault *fault)
{
    const struct audit_pages *pages = &audit->pages;
    const uintptr_t begin = (uintptr_t)fault->instruction;
    bool is_readable = braid_audit_page_at(pages, begin) == AUDIT_NO_PAGE &&
                       braid_audit_page_at(pages, begin + 15) == AUDIT_NO_PAGE;
    return is_readable ? find_width(fault) : anywhere();
}

static bool allows(const struct audit *audit, const struct audit_access *access,
                   const struct faulted *faulted)
{
    return faulted->writes ? access->may_write : may_read(audit, access, faulted->page);
}

// The end of the bytes from `begin` on that are declared alike, and whether they are.
static uintptr_t find_end(const struct audit *audit, uintptr_t begin, uintptr_t end,
                          const struct faulted *faulted, bool *out_is_declared)
{
    uintptr_t next = end, reached = begin;
    for (uint32_t i = 0; i < audit->num_declared; i++) {
        const struct audit_access *access = &audit->declared[i];
        if (!allows(audit, access, faulted))
            continue;
        if (has(access, begin))
            reached = larger(reached, access->end);
        else if (access->begin > begin)
            next = smaller(next, access->begin);
    }
    *out_is_declared = reached > begin;
    return *out_is_declared ? reached : next;
}

static void count(struct audit *audit, uintptr_t begin, uintptr_t end, bool writes)
{
    for (size_t i = 0; i < audit->memory.num_buffers; i++) {
        struct audit_buffer *buffer = &audit->memory.buffers[i];
        uintptr_t from = larger(buffer->begin, begin), last = smaller(buffer->end, end) - 1;
        if (from > last)
            continue;
        note_buffer(audit, buffer);
        audit_count_bytes(&buffer->counts[writes], from, last);
    }
}

static void judge_beside(struct audit *audit, uintptr_t begin, uintptr_t end,
                         const struct faulted *faulted)
{
    for (uintptr_t at = begin, next; at < end; at = next) {
        bool is_declared = false;
        next = find_end(audit, at, end, faulted, &is_declared);
        if (!is_declared && faulted->is_exact)
            count(audit, at, next, faulted->writes);
        else if (!is_declared && braid_audit_has_buffer(&audit->memory, at, next))
            audit->is_wide = true;
    }
}

// A buffer counts once for each access.
static void judge_faulted(struct audit *audit, const struct faulted *faulted)
{
    bool is_declared = false;
    if (faulted->is_masked) {
        judge_beside(audit, faulted->begin, faulted->end, faulted);
        return;
    }
    uintptr_t behind = faulted->told + 1;
    find_end(audit, faulted->told, behind, faulted, &is_declared);
    if (!is_declared) {
        const struct audit_buffer *buffer = braid_audit_find_buffer(&audit->memory, faulted->told);
        count(audit, faulted->told, behind, faulted->writes);
        behind = buffer ? buffer->end : behind;
    }
    judge_beside(audit, faulted->begin, faulted->told, faulted);
    judge_beside(audit, behind, faulted->end, faulted);
}

// A write may hide reads of its page. Without the exact bytes, nobody knows which other accesses
// are made.
static void mark_made(struct audit *audit, const struct faulted *faulted)
{
    bool is_written = false, may_be_written = false;
    for (uint32_t i = 0; i < audit->num_declared; i++) {
        struct audit_access *access = &audit->declared[i];
        if (!overlaps(access, faulted->begin, faulted->end))
            continue;
        const bool is_made =
            faulted->is_exact || (!faulted->is_masked && has(access, faulted->told));
        const bool writes = faulted->writes && access->may_write;
        access->is_unsure = access->is_unsure || !is_made;
        access->was_read = access->was_read || is_made;
        access->was_written = access->was_written || (is_made && writes);
        is_written = is_written || (is_made && writes);
        may_be_written =
            may_be_written || (!is_made && writes && !may_read(audit, access, faulted->page));
    }
    audit->is_wide = audit->is_wide || (may_be_written && !is_written);
    if (is_written || may_be_written)
        audit->users[faulted->page].writer = audit->num_begun;
}

bool braid_audit_is_unsure(struct audit *audit)
{
    bool is_unsure = false;
    for (uint32_t i = 0; i < audit->num_declared; i++) {
        struct audit_access *access = &audit->declared[i];
        if (access->is_unsure && !(access->may_write ? access->was_written : access->was_read))
            is_unsure = access->was_read = access->was_written = true;
        access->is_unsure = false;
    }
    return is_unsure;
}

// Bytes that the node may only write, and has not written.
static void judge_update(struct audit *audit, const struct faulted *faulted)
{
    struct faulted reads = *faulted;
    reads.writes = false;
    const uintptr_t begin = faulted->is_exact ? faulted->begin : faulted->told;
    const uintptr_t end = faulted->is_exact ? faulted->end : begin + 1;
    for (uintptr_t at = begin, next; at < end; at = next) {
        bool is_declared = false;
        next = smaller(end, find_end(audit, at, end, &reads, &is_declared));
        if (!is_declared && declares(audit, at, next, true))
            count(audit, at, next, false);
    }
}

// Bytes in the next page are declared, or make a fault of their own. So at a page's begin the first
// bytes may lie before it, unless registers tell where they begin. An instruction that reads and
// then writes a place makes one fault, by which it writes. Where the node may do neither, one
// finding is enough.
void braid_audit_judge(struct audit *audit, const struct audit_fault *fault)
{
    const uintptr_t address = fault->address, page = round_down(address, AUDIT_PAGE);
    if (!audit->runs)
        return;
    const struct width width = width_of(audit, fault);
    const bool is_exact = width.is_known && (width.begin || (!width.before && address != page));
    const uintptr_t begin = is_exact && width.begin ? width.begin : address - width.before;
    const struct faulted faulted = {
        .begin = larger(page, begin),
        .end = smaller(page + AUDIT_PAGE, (is_exact ? begin : address) + width.bytes),
        .told = address,
        .page = braid_audit_page_at(&audit->pages, address),
        .writes = fault->writes,
        .is_exact = is_exact,
        .is_masked = width.is_masked,
    };
    if (fault->writes && width.is_update)
        judge_update(audit, &faulted);
    mark_made(audit, &faulted);
    judge_faulted(audit, &faulted);
}

// Bytes behind each other that are undeclared count once.
void braid_audit_judge_bytes(struct audit *audit, uintptr_t begin, uintptr_t end, bool writes)
{
    uintptr_t undeclared = begin;
    for (uintptr_t at = begin, next; audit->runs && at < end; at = next) {
        const size_t page = braid_audit_page_at(&audit->pages, at);
        bool is_declared = false;
        next = smaller(end, round_down(at, AUDIT_PAGE) + AUDIT_PAGE);
        if (page == AUDIT_NO_PAGE)
            continue;
        const struct faulted faulted = { at, next, at, page, writes, true, false };
        next = smaller(next, find_end(audit, at, next, &faulted, &is_declared));
        mark_made(audit, &faulted);
        if (!is_declared)
            continue;
        count(audit, undeclared, at, writes);
        undeclared = next;
    }
    if (audit->runs && undeclared < end)
        count(audit, undeclared, end, writes);
}

// Whether the page has bytes that the node may only write, and has not written.
static bool may_be_read_first(const struct audit *audit, uintptr_t page)
{
    for (uint32_t i = 0; i < audit->num_declared; i++) {
        const struct audit_access *access = &audit->declared[i];
        if (overlaps(access, page, page + AUDIT_PAGE) &&
            !may_read(audit, access, braid_audit_page_at(&audit->pages, page)))
            return true;
    }
    return false;
}

void braid_audit_judge_hidden(struct audit *audit, uintptr_t address)
{
    uintptr_t page = address / AUDIT_PAGE * AUDIT_PAGE;
    const bool hides_reads = may_be_read_first(audit, page);
    for (uint32_t i = 0; i < audit->num_declared; i++) {
        struct audit_access *access = &audit->declared[i];
        if (overlaps(access, page, page + AUDIT_PAGE))
            access->was_read = access->was_written = true;
    }
    if (audit->runs && (hides_reads || !declares_all(audit, page, page + AUDIT_PAGE, true)))
        audit->hides = true;
}

// The rights with which a page hides neither an undeclared access nor the first declared one.
static int find_rights(const struct audit *audit, uintptr_t page)
{
    bool writes = true;
    if (!audit->runs || !declares_all(audit, page, page + AUDIT_PAGE, false))
        return PROT_NONE;
    for (uint32_t i = 0; i < audit->num_declared; i++) {
        const struct audit_access *access = &audit->declared[i];
        if (!overlaps(access, page, page + AUDIT_PAGE))
            continue;
        const bool is_unwritten =
            !may_read(audit, access, braid_audit_page_at(&audit->pages, page)) &&
            audit->num_opened < AUDIT_MOST_OPENED;
        const bool is_whole = access->begin <= page && access->end >= page + AUDIT_PAGE;
        if ((!access->was_read && !access->may_write) || (is_unwritten && !is_whole))
            return PROT_NONE; // a read of other data there must not open the page
        writes = writes && (access->was_written || !access->may_write) && !is_unwritten;
    }
    return writes && declares_all(audit, page, page + AUDIT_PAGE, true) ? READS_AND_WRITES
                                                                        : PROT_READ;
}

// The pages of the buffer, around this one, that no declared access reaches.
static struct audit_extent find_undeclared(const struct audit *audit,
                                           const struct audit_buffer *buffer, uintptr_t page)
{
    struct audit_extent found = { round_down(buffer->begin + AUDIT_PAGE - 1, AUDIT_PAGE),
                                  round_down(buffer->end, AUDIT_PAGE) };
    for (uint32_t i = 0; i < audit->num_declared; i++) {
        const struct audit_access *access = &audit->declared[i];
        uintptr_t behind = round_down(access->end + AUDIT_PAGE - 1, AUDIT_PAGE);
        if (access->begin >= page + AUDIT_PAGE && access->begin < found.end)
            found.end = round_down(access->begin, AUDIT_PAGE);
        else if (access->begin < page + AUDIT_PAGE && behind > found.begin)
            found.begin = behind; // behind this page, if the access reaches it
    }
    return found;
}

// Behind many undeclared accesses to a buffer each further one would take a fault, and tell little.
// Single pages would be more mappings than the system allows. So faults open ever more pages.
static int open_counted(struct audit *audit, uintptr_t address, bool writes,
                        struct audit_extent *pages)
{
    enum { MOST_DOUBLED = 40 };
    struct audit_buffer *buffer =
        audit->runs ? braid_audit_find_buffer(&audit->memory, address) : NULL;
    if (!buffer)
        return PROT_NONE;
    bool opens_writes = buffer->counts[true].num >= AUDIT_MOST_COUNTED;
    struct audit_extent most = find_undeclared(audit, buffer, pages->begin);
    struct audit_count *count = &buffer->counts[opens_writes || writes];
    if (count->num < AUDIT_MOST_COUNTED || pages->begin < most.begin || pages->end > most.end)
        return PROT_NONE;
    uint64_t doubled = count->num_opened++ / AUDIT_SAME_OPENED;
    uint64_t bytes = (uint64_t)AUDIT_PAGE << (doubled < MOST_DOUBLED ? doubled : MOST_DOUBLED);
    uintptr_t begin = round_down(address, bytes);
    pages->begin = begin > most.begin ? begin : most.begin;
    pages->end = begin + bytes < most.end ? begin + bytes : most.end;
    return opens_writes ? READS_AND_WRITES : PROT_READ;
}

bool braid_audit_open(struct audit *audit, uintptr_t address, bool writes)
{
    const int wanted = writes ? PROT_WRITE : PROT_READ;
    uintptr_t begin = address / AUDIT_PAGE * AUDIT_PAGE, end = begin + AUDIT_PAGE;
    int rights = find_rights(audit, begin);
    for (uint32_t i = 0; i < audit->num_declared && rights & wanted; i++) {
        struct audit_access *access = &audit->declared[i];
        if (has(access, address) && !access->may_read && audit->num_opened < AUDIT_MOST_OPENED) {
            audit->num_opened++;
            continue; // each page tells whether it is read first
        }
        while (has(access, address) && end < access->end && find_rights(audit, end) == rights)
            end += AUDIT_PAGE;
        while (has(access, address) && begin > access->begin &&
               find_rights(audit, begin - AUDIT_PAGE) == rights)
            begin -= AUDIT_PAGE;
    }
    for (uint32_t i = 0; i < audit->num_declared && rights & wanted; i++)
        if (overlaps(&audit->declared[i], begin, end))
            audit->declared[i].is_open = true;
    if (!(rights & wanted)) {
        struct audit_extent pages = { begin, end };
        rights = open_counted(audit, address, writes, &pages);
        begin = pages.begin, end = pages.end;
    }
    for (uintptr_t at = begin; at < end && rights & wanted && rights & PROT_WRITE;
         at += AUDIT_PAGE) {
        audit->hides_reads = audit->hides_reads || may_be_read_first(audit, at);
        audit->users[braid_audit_page_at(&audit->pages, at)].writer = audit->num_begun;
    }
    return (rights & wanted) &&
           braid_audit_pages_allow(&audit->pages, begin, (end - begin) / AUDIT_PAGE,
                                   rights | PROT_EXEC);
}

bool braid_audit_hides_reads(const struct audit *audit)
{
    for (uint32_t i = 0; i < audit->num_noted; i++) {
        const struct audit_count *counts = audit->memory.buffers[audit->noted[i]].counts;
        if (counts[true].num_opened && !counts[false].num)
            return true;
    }
    return false;
}

bool braid_audit_open_all(struct audit *audit)
{
    audit->is_open = true;
    return braid_audit_pages_allow_all(&audit->pages, PROT_READ | PROT_WRITE | PROT_EXEC);
}

void braid_audit_miss(struct audit *audit, const char *reason)
{
    audit->unseen = reason;
    for (uint32_t i = 0; i < audit->num_declared; i++)
        audit->declared[i].was_read = audit->declared[i].was_written = true;
}

bool braid_audit_give_up(struct audit *audit, const char *reason)
{
    braid_audit_miss(audit, reason);
    return braid_audit_open_all(audit);
}

static bool close_bytes(struct audit *audit, uintptr_t begin, uintptr_t end)
{
    uintptr_t page = begin / AUDIT_PAGE * AUDIT_PAGE;
    return audit->is_open ||
           braid_audit_pages_allow(&audit->pages, page, (end - page + AUDIT_PAGE - 1) / AUDIT_PAGE,
                                   PROT_NONE);
}

bool braid_audit_close(struct audit *audit)
{
    bool done = true;
    for (uint32_t i = 0; i < audit->num_declared; i++) {
        struct audit_access *access = &audit->declared[i];
        if (access->is_open)
            done = close_bytes(audit, access->begin, access->end) && done;
        access->is_open = false;
    }
    for (uint32_t i = 0; i < audit->num_noted; i++) {
        const struct audit_buffer *buffer = &audit->memory.buffers[audit->noted[i]];
        if (buffer->counts[false].num_opened || buffer->counts[true].num_opened)
            done = close_bytes(audit, buffer->begin, buffer->end) && done;
    }
    return done;
}
