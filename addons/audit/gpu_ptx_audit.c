// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that its kernels tell of their accesses to memory (audit/audit_kernel_table.h).
#include "audit/gpu_ptx_audit.h"

#include <stdio.h>
#include <stdlib.h>

#include "audit/gpu_ptx_check.h"
#include "audit/gpu_ptx_lines.h"
#include "audit/gpu_ptx_origins.h"
#include "backends/gpu/gpu_edit.h"
#include "backends/gpu/gpu_ptx_labels.h"

// Each thread writes the same address, so it reads that.
#define ENTRY_BEGIN                                                                                \
    "\n\t{\n\t.reg .pred %braid_q;\n\t.reg .b64 %braid_a<2>;\n"                                    \
    "\tld.param.u64 %braid_a0, [braid_audit];\n"                                                   \
    "\tld.global.u64 %braid_a1, [braid_audit_table];\n"                                            \
    "\tsetp.ne.u64 %braid_q, %braid_a0, %braid_a1;\n"                                              \
    "\t@%braid_q st.global.u64 [braid_audit_table], %braid_a0;\n\t}\n"

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
    text->file = open_memstream(&text->bytes, &text->num);
}

// It then lives as long as the edits. NULL: memory ran out.
static const char *keep(struct auditor *auditor, struct text *text)
{
    const bool failed = !text->file || ferror(text->file);
    const bool is_whole = text->file && fclose(text->file) == 0 && !failed;
    char **slot = is_whole ? braid_array_append(&auditor->texts, 1, sizeof(*slot)) : NULL;
    if (slot)
        return *slot = text->bytes;
    free(text->bytes);
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
    access.base = braid_ptx_origin_of(&auditor->origins, access.base);
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
        auditor->line = braid_ptx_read_line(statement);
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
        braid_ptx_write_check(text.file, statement, &access, cache, auditor->line);
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
    braid_ptx_add_parameters(&auditor->edits, function, parameter);
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
        braid_ptx_write_cache(text.file, (struct ptx_cache){ i, are_shared },
                              auditor->caches[i].bytes);
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
    braid_ptx_origins_find(&auditor->origins, statements, function->num);
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
        free(texts[i]);
    braid_array_finish(&auditor->texts);
    braid_gpu_edits_finish(&auditor->edits);
    braid_ptx_origins_finish(&auditor->origins);
    free(auditor->in_loop);
}

char *braid_gpu_ptx_with_audit(const char *text, uint32_t most_threads,
                               struct ptx_reason *out_reason)
{
    struct ptx ptx;
    if (!braid_ptx_read(text, &ptx, out_reason))
        return NULL;
    struct auditor auditor = { .ptx = &ptx, .reason = out_reason };
    auditor.in_loop = braid_allocate_zeroed(ptx.statements.num + 1, sizeof(bool));
    bool has_room = auditor.in_loop && braid_ptx_origins_create(&ptx, &auditor.origins);
    if (has_room)
        edit_all(&auditor, most_threads);
    char *made =
        has_room && !auditor.is_refused ? braid_gpu_apply_edits(&auditor.edits, text) : NULL;
    finish(&auditor);
    braid_ptx_finish(&ptx);
    return made;
}
