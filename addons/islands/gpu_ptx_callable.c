// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that a kernel becomes a block of code inside of another kernel.
#include "islands/gpu_ptx_callable.h"

#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_ptx_leave.h"
#include "islands/gpu_ptx_block.h"

// ---- the needs of an instruction ----

static bool has_part(struct ptx_word instruction, const char *part)
{
    size_t length = strlen(part);
    for (size_t i = 0; i + length <= instruction.length; i++) {
        if (memcmp(instruction.at + i, part, length) == 0)
            return true;
    }
    return false;
}

// Copies to shared memory that the thread itself waits for.
static bool is_plain_copy(struct ptx_word instruction)
{
    static const char *const names[] = { "cp.async.ca.",      "cp.async.cg.",
                                         "cp.async.commit",   "cp.async.wait_group",
                                         "cp.async.wait_all", NULL };
    for (const char *const *name = names; *name; name++) {
        if (braid_ptx_word_begins(instruction, *name))
            return true;
    }
    return false;
}

static bool can_be_inside(const struct ptx_block *block, const struct ptx_statement *statement)
{
    static const char *const names[] = { "alloca",     "stacksave",      "stackrestore",
                                         "setmaxnreg", "isspacep.param", NULL };
    unsigned facts = 0, forbidden = PTX_TEXTURE | PTX_CLUSTER | PTX_GRID_CONTROL | PTX_ASYNC;
    const struct ptx_word word = statement->word;
    braid_ptx_facts_of(word, &facts);
    for (const char *const *name = names; *name; name++) {
        if (braid_ptx_word_begins(word, *name))
            return false;
    }
    if (!block->is_entry && ((facts & PTX_BARRIER) || braid_ptx_word_is(word, "exit")))
        return false;
    if (is_plain_copy(word) || braid_ptx_word_begins(word, "fence."))
        return true;
    return !(facts & forbidden) && !has_part(word, ".async") && !has_part(word, "mbarrier");
}

static void note_facts(struct ptx_block *block, const struct ptx_statement *statement)
{
    struct ptx_callable *made = block->made;
    if (statement->kind != PTX_INSTRUCTION)
        return;
    made->barriers |= (statement->facts & PTX_BARRIER) != 0;
    made->warps |= (statement->facts & PTX_WARP) != 0;
    made->fences |= (statement->facts & PTX_VOLATILE) != 0;
    block->copies |= is_plain_copy(statement->word);
    if (!can_be_inside(block, statement))
        braid_ptx_block_refuse(block,
                               block->is_entry
                                   ? "it has the instruction '%.*s', which islands do not have"
                                   : "a function of it has the instruction '%.*s', which "
                                     "functions in islands do not have",
                               statement->word);
}

// ---- writing ----

static void put_word(struct ptx_block *block, struct ptx_word word)
{
    fwrite(word.at, 1, word.length, block->file);
}

// Drops the parts that load past the caches, and loads parameters from their new space.
static void put_opcode(struct ptx_block *block, const struct ptx_statement *statement)
{
    struct ptx_word word = statement->word;
    const bool is_uniform = braid_ptx_word_begins(word, "ldu.");
    size_t at = is_uniform ? 3 : 0;
    if (block->is_entry && (statement->facts & PTX_EXIT)) {
        fputs("bra braid_end", block->file);
        return;
    }
    if (is_uniform)
        fputs("ld", block->file);
    bool is_read = block->is_entry && braid_ptx_block_reads_parameter(block, statement);
    while (at < word.length) {
        size_t part = at + 1;
        while (part < word.length && word.at[part] != '.')
            part++;
        struct ptx_word piece = { word.at + at, part - at };
        if (is_read &&
            (braid_ptx_word_is(piece, ".param") || braid_ptx_word_is(piece, ".param::entry")))
            fputs(".shared", block->file);
        else if (!braid_ptx_word_is(piece, ".nc"))
            put_word(block, piece);
        at = part;
    }
}

// A name of the module, of shared memory or of a parameter, or a special register.
static void put_operand(struct ptx_block *block, const struct ptx_statement *statement,
                        struct ptx_word word, bool is_address)
{
    if (word.length == 0 || braid_ptx_block_put_special(block, word))
        return;
    if (block->failed)
        return;
    // An address in brackets may have 32 bits; a value has those of the instruction.
    bool is_wide = !is_address && statement->word.length > 2 &&
                   memcmp(statement->word.at + statement->word.length - 2, "64", 2) == 0;
    if (braid_ptx_block_put_memory(block, word, is_wide))
        return;
    struct ptx_symbol *symbol = braid_ptx_find_symbol(block->symbols, word);
    if (symbol)
        symbol->is_needed = true;
    if (symbol && !braid_ptx_is_of_driver(block->symbols, symbol))
        fputs(block->site->prefix, block->file);
    put_word(block, word);
}

static void put_words(struct ptx_block *block, const struct ptx_statement *statement)
{
    const char *from = statement->begin, *at = from;
    int brackets = 0;
    for (struct ptx_word word = braid_ptx_next_word(&at); word.length && word.at < statement->end;
         word = braid_ptx_next_word(&at)) {
        fwrite(from, 1, (size_t)(word.at - from), block->file);
        brackets += braid_ptx_word_is(word, "[") - braid_ptx_word_is(word, "]");
        if (word.at == statement->word.at)
            put_opcode(block, statement);
        else
            put_operand(block, statement, word, brackets > 0);
        from = at;
    }
}

static void put_statement(struct ptx_block *block, const struct ptx_statement *statement)
{
    note_facts(block, statement);
    bool is_left_out =
        statement->kind == PTX_DIRECTIVE &&
        (braid_ptx_word_is(statement->word, ".shared") ||
         braid_ptx_word_is(statement->word, ".loc") || braid_ptx_word_is(statement->word, ".file"));
    if (block->failed || is_left_out)
        return;
    fputc('\t', block->file);
    if (statement->kind != PTX_INSTRUCTION) {
        fwrite(statement->begin, 1, (size_t)(statement->end - statement->begin), block->file);
    } else if (statement->facts & PTX_BARRIER) {
        braid_ptx_block_put_barrier(block, statement);
    } else if (!block->is_entry || !braid_ptx_block_put_small(block, statement)) {
        put_words(block, statement);
    }
    fputc('\n', block->file);
}

static const struct ptx_function *find_entry(const struct ptx *ptx, const char *name)
{
    for (size_t i = 0; i < ptx->functions.num; i++) {
        const struct ptx_function *function = &ptx_functions(ptx)[i];
        if (function->is_entry && function->body && braid_ptx_word_is(function->name, name))
            return function;
    }
    return NULL;
}

static void put_body(struct ptx_block *block, const struct ptx_function *function)
{
    const struct ptx *ptx = block->symbols->ptx;
    for (size_t i = 0; i < function->num && !block->failed; i++)
        put_statement(block, &ptx_statements(ptx, function)[i]);
}

// The head of a function without its linkage, with another name.
static void put_head(struct ptx_block *block, const struct ptx_function *function)
{
    const char *end = function->body ? function->body : function->end;
    fwrite(function->begin, 1, (size_t)(function->name.at - function->begin), block->file);
    fputs(block->site->prefix, block->file);
    fwrite(function->name.at, 1, (size_t)(end - function->name.at), block->file);
    fputc('\n', block->file);
}

static void put_function(struct ptx_block *block, const struct ptx_function *function)
{
    put_head(block, function);
    if (function->body) {
        put_body(block, function);
        fputs("}\n", block->file);
    }
}

static void put_variable(struct ptx_block *block, const struct ptx_declaration *declaration)
{
    const char *from = declaration->begin, *at = from;
    for (struct ptx_word word = braid_ptx_next_word(&at); word.length && word.at < declaration->end;
         word = braid_ptx_next_word(&at)) {
        fwrite(from, 1, (size_t)(word.at - from), block->file);
        if (braid_ptx_find_symbol(block->symbols, word))
            fputs(block->site->prefix, block->file);
        put_word(block, word);
        from = at;
    }
    fputc('\n', block->file);
}

static void put_needed(struct ptx_block *block)
{
    for (size_t i = 0; i < block->symbols->items.num && !block->failed; i++) {
        const struct ptx_symbol *symbol = &ptx_symbols_of(block->symbols)[i];
        if (!symbol->is_needed)
            continue;
        if (braid_ptx_is_of_driver(block->symbols, symbol))
            fprintf(block->file, ".extern %.*s\n", // keeps its name; several modules may declare it
                    (int)(symbol->function->end - symbol->function->begin),
                    symbol->function->begin);
        else if (symbol->function)
            put_function(block, symbol->function);
        else if (!braid_ptx_word_is(symbol->declaration->space, ".shared"))
            put_variable(block, symbol->declaration);
    }
}

// ---- reading and writing ----

// Refuses a kernel whose threads may end while others meet at a barrier.
static void check_leaving(struct ptx_block *block, const struct ptx_function *function)
{
    const struct ptx_statement *statements = ptx_statements(block->symbols->ptx, function);
    enum ptx_leaving leaving = braid_ptx_find_leaving(statements, function->num, PTX_BARRIER);
    block->failed |= leaving != PTX_STAYS;
    if (leaving == PTX_LEAVES)
        braid_ptx_refuse(block->reason, "threads of it end while others meet at a barrier");
}

static void read_parts(struct ptx_block *block, const char *entry)
{
    const struct ptx *ptx = block->symbols->ptx;
    const struct ptx_function *function = find_entry(ptx, entry);
    if (!function || braid_ptx_target(ptx) < 70) {
        braid_ptx_refuse(block->reason, function ? "it is for a device before sm_70"
                                                 : "its module does not have it");
        block->failed = true;
        return;
    }
    if (braid_ptx_block_begin(block, function)) {
        put_body(block, function);
        braid_ptx_block_end(block);
        if (!block->failed && (function->facts & PTX_CLUSTER)) {
            braid_ptx_refuse(block->reason, "it has clusters");
            block->failed = true;
        }
    }
    if (!block->failed)
        check_leaving(block, function);
    block->failed = block->failed || !braid_ptx_close_symbols(block->symbols, block->reason);
    block->is_entry = false;
    if (!block->failed)
        put_needed(block);
}

bool braid_ptx_read_callable(const struct ptx_symbols *symbols, const char *entry,
                             struct ptx_callable *out_callable, struct ptx_reason *out_reason)
{
    static const struct ptx_site nowhere = { .prefix = "" };
    struct ptx_callable made = { .is_plain = true };
    struct ptx_block block = {
        .symbols = symbols, .site = &nowhere, .made = &made, .reason = out_reason, .is_entry = true
    };
    char *text = NULL;
    size_t bytes = 0;
    *out_reason = (struct ptx_reason){ 0 };
    block.file = open_memstream(&text, &bytes);
    if (!block.file)
        return false;
    read_parts(&block, entry);
    if (fclose(block.file) != 0)
        block.failed = true;
    free(text);
    braid_ptx_block_finish(&block);
    *out_callable = made;
    return !block.failed;
}

bool braid_ptx_write_callable(const struct ptx_symbols *symbols, const char *entry,
                              const struct ptx_site *site, FILE *to)
{
    struct ptx_callable made = { 0 };
    struct ptx_reason reason = { 0 };
    struct ptx_block block = {
        .symbols = symbols, .site = site, .made = &made, .reason = &reason, .is_entry = true
    };
    const struct ptx_function *function = find_entry(symbols->ptx, entry);
    char *text = NULL;
    size_t bytes = 0;
    block.file = open_memstream(&text, &bytes);
    if (!block.file)
        return false;
    if (braid_ptx_block_begin(&block, function))
        put_body(&block, function);
    if (fclose(block.file) != 0)
        block.failed = true;
    braid_ptx_block_end(&block);
    if (!block.failed) {
        braid_ptx_block_put_start(&block, to);
        fprintf(to, "\t{\n%s\t}\nbraid_end:\n%s", text,
                block.copies ? "\tcp.async.wait_all;\n" : "");
    }
    free(text);
    braid_ptx_block_finish(&block);
    return !block.failed;
}

void braid_ptx_write_needed(const struct ptx_symbols *symbols, const char *prefix, FILE *to)
{
    const struct ptx_site site = { .prefix = prefix };
    struct ptx_callable made = { 0 };
    struct ptx_reason reason = { 0 };
    struct ptx_block block = {
        .symbols = symbols, .site = &site, .made = &made, .reason = &reason, .file = to
    };
    put_needed(&block);
}
