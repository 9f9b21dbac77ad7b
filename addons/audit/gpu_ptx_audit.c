// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that its kernels tell of their accesses to memory (audit/audit_kernel_table.h).
//
// A text in front of each access calls a function of the module, which looks into the table.
#include "audit/gpu_ptx_audit.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "audit/audit_kernel_table.h"
#include "backends/gpu/gpu_edit.h"
#include "base/hash.h"
#include "base/host_memory.h"
#include "ptx/ptx_access.h"
#include "ptx/ptx_labels.h"

// A variable for the address of the table, and the function that looks into the table.
extern const char braid_gpu_ptx_check_ptx[];

enum { PTX_CHECK_CACHES = AUDIT_NUM_KNOWN }; // a function's: each takes registers

_Static_assert(offsetof(struct audit_table, segments) == 80, "gpu_ptx_check.ptx");
_Static_assert(offsetof(struct audit_table, rest) == 8, "likewise");
_Static_assert(offsetof(struct audit_table, known) == 16, "likewise");
_Static_assert(AUDIT_NUM_KNOWN == 8 && PTX_CHECK_CACHES < 16, "likewise");
_Static_assert(AUDIT_NO_LINE < 1 << 26, "likewise");
_Static_assert(sizeof(struct audit_segment) == 120, "likewise");
_Static_assert(offsetof(struct audit_segment, allowed) == 16, "likewise");
_Static_assert(offsetof(struct audit_segment, seen) == 20, "likewise");
_Static_assert(offsetof(struct audit_segment, tallies) == 24, "likewise");
_Static_assert(sizeof(struct audit_tally) == 32, "likewise");

// Each thread writes the same address, so it reads that.
#define ENTRY_BEGIN                                                                                \
    "\n\t{\n\t.reg .pred %braid_q;\n\t.reg .b64 %braid_a<2>;\n"                                    \
    "\tld.param.u64 %braid_a0, [braid_audit];\n"                                                   \
    "\tld.global.u64 %braid_a1, [braid_audit_table];\n"                                            \
    "\tsetp.ne.u64 %braid_q, %braid_a0, %braid_a1;\n"                                              \
    "\t@%braid_q st.global.u64 [braid_audit_table], %braid_a0;\n\t}\n"

// ---- lines of source ----

static uint32_t read_number(const char **at)
{
    return braid_ptx_read_number(braid_ptx_next_word(at), 0, 10);
}

// The line of the statements behind a .loc; AUDIT_NO_LINE: it is 0, as of code
// that a compiler made, or its numbers are too large.
static uint32_t read_line(const struct ptx_statement *loc)
{
    const char *at = loc->word.at + loc->word.length;
    uint32_t file = read_number(&at), line = read_number(&at);
    bool fits = line > 0 && line < UINT32_C(1) << AUDIT_LINE_BITS &&
                file < AUDIT_NO_LINE >> AUDIT_LINE_BITS;
    return fits ? (file << AUDIT_LINE_BITS | line) : AUDIT_NO_LINE;
}

struct ptx_word braid_ptx_find_file(const char *text, uint32_t file)
{
    const char *at = text;
    for (struct ptx_word word = braid_ptx_next_word(&at); word.length;
         word = braid_ptx_next_word(&at)) {
        if (!braid_ptx_word_is(word, ".file") || read_number(&at) != file)
            continue;
        struct ptx_word name = braid_ptx_next_word(&at);
        if (name.length > 2 && *name.at == '"')
            return (struct ptx_word){ name.at + 1, name.length - 2 };
    }
    return (struct ptx_word){ 0 };
}

// ---- origins ----

// Registers of a function that have an address, and the register from which each is computed.
//
// It is a guess: a sum may be of two addresses, and a register may have several. Registers with one
// origin have addresses in one buffer as a rule.
struct ptx_origin {
    struct ptx_word name, origin; // length 0: the slot is free
};

struct ptx_origins {
    struct ptx_origin *slots; // by the hash of the name
    size_t num_slots;         // the function's at hand: a power of two
};

// A vector has several registers, each of which has a slot.
enum { MOST_RESULTS = 4 };

// At least twice as many as so many statements have results.
static size_t count_slots(size_t num_statements)
{
    size_t num = 16;
    while (num < 2 * MOST_RESULTS * num_statements)
        num *= 2;
    return num;
}

// Room for the registers of any function of the text. False: memory ran out.
static bool create_origins(const struct ptx *ptx, struct ptx_origins *out_origins)
{
    size_t num = count_slots(ptx->statements.num);
    out_origins->slots = braid_allocate_zeroed(num, sizeof(struct ptx_origin));
    out_origins->num_slots = num;
    return out_origins->slots != NULL;
}

// The slot of the name, or the free one where it goes.
static struct ptx_origin *find_slot(const struct ptx_origins *origins, struct ptx_word name)
{
    size_t at = hash_bytes(name.at, name.length) & (origins->num_slots - 1);
    while (origins->slots[at].name.length && !ptx_same_word(origins->slots[at].name, name))
        at = (at + 1) & (origins->num_slots - 1);
    return &origins->slots[at];
}

// The word itself, if nothing is known of it.
static struct ptx_word find_origin(const struct ptx_origins *origins, struct ptx_word name)
{
    const struct ptx_origin *slot = find_slot(origins, name);
    return slot->name.length ? slot->origin : name;
}

// The first origin stays.
static void set_origin(struct ptx_origins *origins, struct ptx_word name, struct ptx_word origin)
{
    struct ptx_origin *slot = find_slot(origins, name);
    if (!slot->name.length && braid_ptx_word_begins(name, "%"))
        *slot = (struct ptx_origin){ name, origin };
}

static bool is_one_of(struct ptx_word opcode, const char *const *names)
{
    for (; *names; names++) {
        if (braid_ptx_word_begins(opcode, *names))
            return true;
    }
    return false;
}

// Addresses that nothing else in the function tells of: of parameters, of memory, of variables.
static void begin_origins(struct ptx_origins *origins, const struct ptx_statement *statement)
{
    const char *at = statement->word.at + statement->word.length;
    struct ptx_word word = braid_ptx_next_word(&at);
    bool is_vector = braid_ptx_word_is(word, "{");
    for (int i = 0; i < MOST_RESULTS && at < statement->end; i++) {
        word = is_vector ? braid_ptx_next_word(&at) : word;
        set_origin(origins, word, word);
        if (!is_vector || braid_ptx_word_is(braid_ptx_next_word(&at), "}"))
            return;
    }
}

// The origin of the first operand from `skipped` on that has one; length 0: there is none.
static struct ptx_word find_source(const struct ptx_origins *origins,
                                   const struct ptx_statement *statement, int skipped)
{
    const char *at = statement->word.at + statement->word.length;
    for (struct ptx_word word = braid_ptx_next_word(&at); word.length && at < statement->end;
         word = braid_ptx_next_word(&at)) {
        const struct ptx_origin *slot = find_slot(origins, word);
        skipped -= braid_ptx_word_is(word, ",");
        if (skipped <= 0 && slot->name.length)
            return slot->origin;
    }
    return (struct ptx_word){ 0 };
}

static void follow(struct ptx_origins *origins, const struct ptx_statement *statement)
{
    static const char *const begins[] = { "ld.", "ldu.", "mov.", NULL };
    static const char *const sums[] = { "add.", "sub.", "mov.", "cvta.", "selp.", "or.", NULL };
    const struct ptx_word opcode = statement->word;
    if (opcode.length < 2 || memcmp(opcode.at + opcode.length - 2, "64", 2) != 0)
        return;
    const char *at = opcode.at + opcode.length;
    struct ptx_word source = { 0 };
    if (is_one_of(opcode, sums))
        source = find_source(origins, statement, 1);
    if (source.length)
        set_origin(origins, braid_ptx_next_word(&at), source);
    else if (is_one_of(opcode, begins))
        begin_origins(origins, statement);
}

// A product is no address. An address may be added to it.
static void follow_product(struct ptx_origins *origins, const struct ptx_statement *statement)
{
    const char *at = statement->word.at + statement->word.length;
    struct ptx_word source = find_source(origins, statement, 3);
    if (source.length)
        set_origin(origins, braid_ptx_next_word(&at), source);
}

// Forgets all others, and follows addresses from where the function loads them.
static void find_origins(struct ptx_origins *origins, const struct ptx_statement *statements,
                         size_t num)
{
    origins->num_slots = count_slots(num); // few, for a text of many small functions
    memset(origins->slots, 0, origins->num_slots * sizeof(*origins->slots));
    for (size_t i = 0; i < num; i++) {
        if (statements[i].kind != PTX_INSTRUCTION)
            continue;
        if (braid_ptx_word_begins(statements[i].word, "mad."))
            follow_product(origins, &statements[i]);
        else
            follow(origins, &statements[i]);
    }
}

// ---- checks ----

// Where accesses of one kind are allowed, in the registers %braid_low and %braid_span of a number.
// The first has an address, the second how far behind it an access may begin.
struct ptx_cache {
    uint32_t number; // PTX_CHECK_CACHES: there are no registers
    bool is_shared;  // through the table, which knows it by its number
};

// The guard without its sign, or length 0.
static struct ptx_word find_guard(const struct ptx_statement *statement)
{
    const char *at = statement->begin;
    struct ptx_word word = braid_ptx_next_word(&at);
    if (!braid_ptx_word_is(word, "@"))
        return (struct ptx_word){ 0 };
    struct ptx_word guard = braid_ptx_next_word(&at);
    while (at < statement->word.at) {
        struct ptx_word next = braid_ptx_next_word(&at);
        if (next.at >= statement->word.at)
            break;
        guard.length = (size_t)(next.at + next.length - guard.at);
    }
    return guard;
}

// Whether the check is due: where the guard holds, and the cache does not say that all is well.
static void write_decision(FILE *file, struct ptx_word guard, uint32_t cache)
{
    const bool is_negated = guard.length && *guard.at == '!';
    if (cache < PTX_CHECK_CACHES) {
        fprintf(file,
                "\tsub.s64 %%braid_a1, %%braid_a0, %%braid_low%u;\n"
                "\tsetp.gt%s.u64 %%braid_q, %%braid_a1, %%braid_span%u",
                cache, guard.length ? ".and" : "", cache);
        if (guard.length)
            fprintf(file, ", %.*s", (int)guard.length, guard.at);
        fprintf(file, ";\n\t@!%%braid_q bra braid_checked;\n");
    } else if (guard.length) {
        fprintf(file, "\t@%s%.*s bra braid_checked;\n", is_negated ? "" : "!",
                (int)guard.length - is_negated, guard.at + is_negated);
    }
}

static void write_size(FILE *file, const struct ptx_access *access)
{
    if (access->bytes || !access->size.length)
        fprintf(file, "\tst.param.b64 [braid_p1], %u;\n", access->bytes);
    else
        fprintf(file,
                "\tcvt.u64.u32 %%braid_a1, %.*s;\n"
                "\tst.param.b64 [braid_p1], %%braid_a1;\n",
                (int)access->size.length, access->size.at);
}

// If there are several rows, the first thread of the warp checks one after another.
static void write_rows_begin(FILE *file, const struct ptx_access *access)
{
    fprintf(file,
            "\t.reg .b64 %%braid_stride;\n\t.reg .b32 %%braid_rows;\n"
            "\tmov.u32 %%braid_rows, %%laneid;\n"
            "\tsetp.ne.u32 %%braid_q, %%braid_rows, 0;\n"
            "\t@%%braid_q bra braid_last_row;\n"
            "\tmov.u32 %%braid_rows, %u;\n",
            access->rows);
    if (access->stride.length)
        fprintf(file, "\tmul.wide.u32 %%braid_stride, %.*s, %u;\n", (int)access->stride.length,
                access->stride.at, access->stride_bits);
    else
        fprintf(file, "\tmov.u64 %%braid_stride, %u;\n", access->stride_bits);
    fprintf(file, "\tshr.u64 %%braid_stride, %%braid_stride, 3;\nbraid_row:\n");
}

// The warp makes the access together.
static void write_rows_end(FILE *file, struct ptx_word guard)
{
    fprintf(file, "\tadd.u64 %%braid_a0, %%braid_a0, %%braid_stride;\n"
                  "\tsub.u32 %%braid_rows, %%braid_rows, 1;\n"
                  "\tsetp.ne.u32 %%braid_q, %%braid_rows, 0;\n"
                  "\t@%%braid_q bra braid_row;\nbraid_last_row:\n\t");
    if (guard.length)
        fprintf(file, "@%.*s ", (int)guard.length, guard.at);
    fprintf(file, "bar.warp.sync 0xffffffff;\n");
}

// The line is that of the source.
static void write_check(FILE *file, const struct ptx_statement *statement,
                        const struct ptx_access *access, struct ptx_cache cache, uint32_t line)
{
    const uint32_t known = cache.is_shared ? cache.number : PTX_CHECK_CACHES;
    const struct ptx_word guard = find_guard(statement);
    fprintf(file,
            "\n\t{\n\t.reg .pred %%braid_q;\n\t.reg .b64 %%braid_a<2>;\n"
            "\tmov.b64 %%braid_a0, %.*s;\n",
            (int)access->base.length, access->base.at);
    if (access->offset.length)
        fprintf(file, "\tadd.s64 %%braid_a0, %%braid_a0, %.*s;\n", (int)access->offset.length,
                access->offset.at);
    if (access->rows)
        write_rows_begin(file, access);
    write_decision(file, guard, cache.number);
    fprintf(file, "\t{\n\t.param .b64 braid_p0;\n\t.param .b64 braid_p1;\n\t.param .b32 "
                  "braid_p2;\n\t.param .align 8 .b8 braid_r[16];\n"
                  "\tst.param.b64 [braid_p0], %%braid_a0;\n");
    write_size(file, access);
    fprintf(file,
            "\tst.param.b32 [braid_p2], %u;\n"
            "\tcall (braid_r), braid_check, (braid_p0, braid_p1, braid_p2);\n",
            (uint32_t)access->act | known << 2 | line << 6);
    if (cache.number < PTX_CHECK_CACHES)
        fprintf(file,
                "\tld.param.b64 %%braid_low%u, [braid_r+0];\n"
                "\tld.param.b64 %%braid_span%u, [braid_r+8];\n",
                cache.number, cache.number);
    fprintf(file, "\t}\nbraid_checked:\n");
    if (access->rows)
        write_rows_end(file, guard);
    fprintf(file, "\t}\n\t");
}

// Writes how a thread begins with a cache. If it is shared, it begins as another thread left it.
static void write_cache(FILE *file, struct ptx_cache cache, uint32_t bytes)
{
    const uint32_t n = cache.number;
    fprintf(file,
            "\tmov.b64 %%braid_low%u, 0;\n"
            "\tmov.b64 %%braid_span%u, 0;\n",
            n, n);
    if (cache.is_shared)
        fprintf(file,
                "\t{\n\t.reg .pred %%braid_q;\n\t.reg .b64 %%braid_a<2>;\n"
                "\tld.param.u64 %%braid_a0, [braid_audit];\n"
                "\tld.global.u64 %%braid_a1, [%%braid_a0+%zu];\n"
                "\tsetp.ne.u64 %%braid_q, %%braid_a1, 0;\n"
                "\t@%%braid_q ld.global.u64 %%braid_low%u, [%%braid_a1];\n"
                "\t@%%braid_q ld.global.u64 %%braid_span%u, [%%braid_a1+8];\n"
                "\t@%%braid_q sub.u64 %%braid_span%u, %%braid_span%u, %%braid_low%u;\n"
                "\t@%%braid_q sub.u64 %%braid_span%u, %%braid_span%u, %u;\n\t}\n",
                offsetof(struct audit_table, known) + n * sizeof(uint64_t), n, n, n, n, n, n, n,
                bytes);
}

// ---- texts ----

// It stays where it is until it is kept.
struct text {
    FILE *file; // NULL: memory ran out
    char *bytes;
    size_t num;
};

struct auditor {
    const struct ptx *ptx;
    struct gpu_edits edits;
    struct array texts;                         // char *, of the edits
    struct ptx_origins origins;                 // the function's
    struct ptx_access caches[PTX_CHECK_CACHES]; // an access of each, with its origin as base
    uint32_t num_caches;
    bool *in_loop; // by statement of the function
    uint32_t line; // where the statement at hand is
    struct ptx_reason *reason;
    bool is_refused; // and the reason is set
};

static void begin_text(struct text *text)
{
    text->bytes = NULL;
    text->file = braid_open_text(&text->bytes, &text->num);
}

// It then lives as long as the edits. NULL: memory ran out.
static const char *keep(struct auditor *auditor, struct text *text)
{
    const bool failed = !text->file || ferror(text->file);
    const bool is_whole = text->file && fclose(text->file) == 0 && !failed;
    char **slot = is_whole ? braid_array_append(&auditor->texts, 1, sizeof(*slot)) : NULL;
    if (slot)
        return *slot = text->bytes;
    braid_free(text->bytes);
    auditor->edits.failed = true;
    return NULL;
}

static void insert(struct auditor *auditor, const char *at, struct text *text)
{
    const char *kept = keep(auditor, text);
    if (kept)
        braid_gpu_edit(&auditor->edits, at, at, kept);
}

// ---- loops ----

// Marks the statements between a label and a branch back to it. False: memory ran out.
static bool mark_loops(const struct ptx_statement *statements, size_t num, bool *in_loop)
{
    struct ptx_labels labels;
    if (!braid_ptx_labels_create(num, &labels))
        return false;
    for (size_t i = 0; i < num; i++) {
        const bool is_label = statements[i].kind == PTX_LABEL;
        const struct ptx_word name =
            is_label ? statements[i].word : braid_ptx_target_of(&statements[i]);
        struct ptx_label *label = name.length ? braid_ptx_find_label(&labels, name) : NULL;
        if (is_label)
            *label = (struct ptx_label){ name, i }; // the last one before a branch counts
        else if (label && label->name.length)
            memset(in_loop + label->index, true, i - label->index);
    }
    braid_ptx_labels_finish(&labels);
    return true;
}

// ---- sites ----

// The number of the cache for such accesses, or PTX_CHECK_CACHES.
static uint32_t find_cache(struct auditor *auditor, struct ptx_access access)
{
    if (!access.bytes)
        return PTX_CHECK_CACHES;
    access.base = find_origin(&auditor->origins, access.base);
    for (uint32_t i = 0; i < auditor->num_caches; i++) {
        const struct ptx_access *like = &auditor->caches[i];
        if (like->act == access.act && like->bytes == access.bytes &&
            ptx_same_word(like->base, access.base))
            return i;
    }
    if (auditor->num_caches == PTX_CHECK_CACHES)
        return PTX_CHECK_CACHES;
    auditor->caches[auditor->num_caches] = access;
    return auditor->num_caches++;
}

static void refuse(struct auditor *auditor, struct ptx_word instruction)
{
    int length = instruction.length < 60 ? (int)instruction.length : 60;
    auditor->is_refused = true;
    braid_ptx_refuse(auditor->reason, "it has the instruction '%.*s', which tells no address",
                     length, instruction.at);
}

// A copy that ignores its source where a predicate says so.
static bool may_ignore(const struct auditor *auditor, const struct ptx_function *function,
                       const struct ptx_access *access)
{
    return access->size.length &&
           braid_ptx_word_is(braid_ptx_type_of(auditor->ptx, function, access->size), ".pred");
}

static void edit_statement(struct auditor *auditor, const struct ptx_function *function,
                           const struct ptx_statement *statement, bool in_loop)
{
    struct ptx_cache cache = { PTX_CHECK_CACHES, function->is_entry };
    struct ptx_access access;
    struct text text;
    if (braid_ptx_word_is(statement->word, ".loc"))
        auditor->line = read_line(statement);
    if (statement->kind != PTX_INSTRUCTION)
        return;
    enum ptx_access_kind kind = braid_ptx_find_access(statement, &access);
    if (kind == PTX_NO_ACCESS)
        return;
    if (may_ignore(auditor, function, &access))
        kind = PTX_UNSEEN_ACCESS;
    if (kind != PTX_ACCESS) {
        refuse(auditor, statement->word);
        return;
    }
    if (in_loop || cache.is_shared)
        cache.number = find_cache(auditor, access);
    begin_text(&text);
    if (text.file)
        write_check(text.file, statement, &access, cache, auditor->line);
    insert(auditor, statement->begin, &text);
}

// ---- functions ----

static bool has_limit(const struct ptx_function *function)
{
    const char *at = function->parameters_end ? function->parameters_end : function->name_end;
    for (struct ptx_word word = braid_ptx_next_word(&at); word.at < function->body - 1;
         word = braid_ptx_next_word(&at)) {
        if (braid_ptx_word_is(word, ".maxntid") || braid_ptx_word_is(word, ".reqntid") ||
            braid_ptx_word_is(word, ".maxnreg"))
            return true;
    }
    return false;
}

static void edit_head(struct auditor *auditor, const struct ptx_function *function,
                      uint32_t most_threads)
{
    static const char table[] = ".param .u64 braid_audit";
    const struct ptx_word parameter = { table, sizeof(table) - 1 };
    struct text limit;
    braid_gpu_edit_parameters(&auditor->edits, function, parameter);
    if (!function->body || !most_threads || has_limit(function))
        return;
    begin_text(&limit);
    if (limit.file)
        fprintf(limit.file, "\n.maxntid %u, 1, 1\n", most_threads);
    insert(auditor, function->body - 1, &limit);
}

// Accesses in loops take the first caches.
static void choose_caches(struct auditor *auditor, const struct ptx_statement *statements,
                          size_t num)
{
    struct ptx_access access;
    auditor->num_caches = 0;
    for (size_t i = 0; i < num; i++) {
        if (auditor->in_loop[i] && statements[i].kind == PTX_INSTRUCTION &&
            braid_ptx_find_access(&statements[i], &access) == PTX_ACCESS)
            find_cache(auditor, access);
    }
}

// The caches are known once all sites are written, and stand in front of them.
static void declare_caches(struct auditor *auditor, bool are_shared, size_t edit)
{
    struct text text;
    uint32_t num = auditor->num_caches;
    if (!num || auditor->edits.failed)
        return;
    begin_text(&text);
    if (text.file)
        fprintf(text.file, "\n\t.reg .b64 %%braid_low<%u>, %%braid_span<%u>;\n", num, num);
    for (uint32_t i = 0; text.file && i < num; i++)
        write_cache(text.file, (struct ptx_cache){ i, are_shared }, auditor->caches[i].bytes);
    struct gpu_edit *declaring = (struct gpu_edit *)auditor->edits.items.items + edit;
    const char *kept = keep(auditor, &text);
    if (kept)
        *declaring = (struct gpu_edit){ declaring->from, declaring->to, kept, strlen(kept) };
}

static void edit_function(struct auditor *auditor, const struct ptx_function *function,
                          uint32_t most_threads)
{
    const struct ptx_statement *statements = ptx_statements(auditor->ptx, function);
    if (function->is_entry)
        edit_head(auditor, function, most_threads);
    if (!function->body)
        return;
    if (function->is_entry)
        braid_gpu_edit(&auditor->edits, function->body, function->body, ENTRY_BEGIN);
    size_t edit = auditor->edits.items.num;
    braid_gpu_edit(&auditor->edits, function->body, function->body, "");
    memset(auditor->in_loop, 0, function->num);
    auditor->edits.failed |= !mark_loops(statements, function->num, auditor->in_loop);
    find_origins(&auditor->origins, statements, function->num);
    choose_caches(auditor, statements, function->num);
    auditor->line = AUDIT_NO_LINE;
    for (size_t i = 0; i < function->num && !auditor->is_refused; i++)
        edit_statement(auditor, function, &statements[i], auditor->in_loop[i]);
    declare_caches(auditor, function->is_entry, edit);
}

// ---- modules ----

static void edit_all(struct auditor *auditor, uint32_t most_threads)
{
    const struct ptx *ptx = auditor->ptx;
    braid_gpu_edit(&auditor->edits, ptx->head_end, ptx->head_end, braid_gpu_ptx_check_ptx);
    for (size_t i = 0; i < ptx->functions.num && !auditor->is_refused; i++) {
        const struct ptx_function *function = &ptx_functions(ptx)[i];
        if (braid_ptx_word_begins(function->name, "cudaLaunchDevice") ||
            braid_ptx_word_begins(function->name, "cudaCDP")) {
            auditor->is_refused = true;
            braid_ptx_refuse(auditor->reason, "it launches kernels itself");
        } else {
            edit_function(auditor, function, most_threads);
        }
    }
}

static void finish(struct auditor *auditor)
{
    char **texts = auditor->texts.items;
    for (size_t i = 0; i < auditor->texts.num; i++)
        braid_free(texts[i]);
    braid_array_finish(&auditor->texts);
    braid_gpu_edits_finish(&auditor->edits);
    braid_free(auditor->origins.slots);
    braid_free(auditor->in_loop);
}

char *braid_gpu_ptx_with_audit(const char *text, uint32_t most_threads,
                               struct ptx_reason *out_reason)
{
    struct ptx ptx;
    if (!braid_ptx_read(text, &ptx, out_reason))
        return NULL;
    struct auditor auditor = { .ptx = &ptx, .reason = out_reason };
    auditor.in_loop = braid_allocate_zeroed(ptx.statements.num + 1, sizeof(bool));
    bool has_room = auditor.in_loop && create_origins(&ptx, &auditor.origins);
    if (has_room)
        edit_all(&auditor, most_threads);
    char *made =
        has_room && !auditor.is_refused ? braid_gpu_apply_edits(&auditor.edits, text) : NULL;
    finish(&auditor);
    braid_ptx_finish(&ptx);
    return made;
}
