// SPDX-License-Identifier: Apache-2.0
// The names of a module, and which of them a kernel of it needs elsewhere.
#include "islands/gpu_ptx_symbols.h"

#include <stdio.h>
#include <string.h>

#include "ptx/ptx_read.h"

// ---- variables and parameters: their names and how much room they take ----

// 8 of .f64; 0: it is no type.
static uint32_t bytes_of(struct ptx_word word)
{
    bool is_type = word.length > 2 && word.at[0] == '.' && strchr("usbf", word.at[1]);
    uint32_t bits = is_type ? braid_ptx_read_number(word, 2, 10) : 0;
    return bits <= 128 ? bits / 8 : 0;
}

static bool ends(struct ptx_word word)
{
    return word.length == 0 || (word.length == 1 && strchr(",;)=", word.at[0]));
}

struct reading {
    struct ptx_variable variable;
    uint64_t count;  // cut down to UINT32_MAX
    bool is_pointee; // an alignment is of the memory that a parameter points to
};

static void multiply(struct reading *reading, uint32_t by)
{
    reading->count *= by;
    if (reading->count > UINT32_MAX)
        reading->count = UINT32_MAX;
}

// Behind the bracket that opens it.
static bool read_length(struct reading *reading, const char **at)
{
    struct ptx_word number = braid_ptx_next_word(at);
    if (braid_ptx_word_is(number, "]")) {
        reading->variable.is_open = true;
        return true;
    }
    multiply(reading, braid_ptx_read_number(number, 0, 10));
    return braid_ptx_is_number(number) && braid_ptx_word_is(braid_ptx_next_word(at), "]");
}

// Not for the alignment of the memory that a parameter points to.
static bool read_align(struct reading *reading, const char **at)
{
    uint32_t align = braid_ptx_read_number(braid_ptx_next_word(at), 0, 10);
    if (!reading->is_pointee)
        reading->variable.align = align;
    return align > 0;
}

static bool read_word(struct reading *reading, struct ptx_word word, const char **at)
{
    struct ptx_variable *variable = &reading->variable;
    if (braid_ptx_word_is(word, ".align"))
        return read_align(reading, at);
    if (braid_ptx_word_is(word, "["))
        return read_length(reading, at);
    if (braid_ptx_word_is(word, ".ptr")) {
        reading->is_pointee = true;
    } else if (braid_ptx_word_is(word, ".v2") || braid_ptx_word_is(word, ".v4")) {
        multiply(reading, braid_ptx_read_number(word, 2, 10));
    } else if (bytes_of(word)) {
        variable->bytes = bytes_of(word);
    } else if (word.at[0] != '.') {
        variable->name = word;
        return braid_ptx_is_name(word);
    }
    return !braid_ptx_word_is(word, ".attribute");
}

bool braid_ptx_read_variable(const char *at, const char *end, struct ptx_variable *out_variable)
{
    struct reading reading = { .count = 1 };
    struct ptx_variable *variable = &reading.variable;
    struct ptx_word word = braid_ptx_next_word(&at);
    for (; !ends(word) && word.at < end; word = braid_ptx_next_word(&at)) {
        if (!read_word(&reading, word, &at))
            return false;
    }
    variable->rest = word.at;
    if (word.at >= end)
        return false;
    variable->align = variable->align ? variable->align : (uint32_t)variable->bytes;
    if (variable->bytes == 0 || !braid_ptx_is_name(variable->name) || variable->align == 0 ||
        reading.count > UINT32_MAX / variable->bytes)
        return false;
    variable->bytes = variable->is_open ? 0 : variable->bytes * reading.count;
    *out_variable = *variable;
    return true;
}

// ---- tracking addresses ----

// Each needs a look through the whole text.
enum { MOST_VARIABLES = 256 };

// The variable, and registers that may have an address in it.
struct tracks {
    struct array words; // struct ptx_word
    bool failed;
};

static bool is_tracked(const struct tracks *tracks, struct ptx_word word)
{
    const struct ptx_word *words = tracks->words.items;
    for (size_t i = 0; i < tracks->words.num; i++) {
        if (ptx_same_word(words[i], word))
            return true;
    }
    return false;
}

// Whether the word is new.
static bool track(struct tracks *tracks, struct ptx_word word)
{
    if (is_tracked(tracks, word))
        return false;
    struct ptx_word *slot = braid_array_append(&tracks->words, 1, sizeof(*slot));
    tracks->failed |= !slot;
    if (slot)
        *slot = word;
    return slot != NULL;
}

// Whether a tracked word stands between the two places.
static bool has_tracked(const struct tracks *tracks, const char *at, const char *end)
{
    for (struct ptx_word word = braid_ptx_next_word(&at); word.length && word.at < end;
         word = braid_ptx_next_word(&at)) {
        if (is_tracked(tracks, word))
            return true;
    }
    return false;
}

static const char *end_of_first(const struct ptx_statement *statement)
{
    const char *at = statement->word.at + statement->word.length;
    struct ptx_word word = braid_ptx_next_word(&at);
    int depth = 0;
    while (at < statement->end && !(depth == 0 && braid_ptx_word_is(word, ","))) {
        depth += braid_ptx_word_is(word, "{") - braid_ptx_word_is(word, "}");
        word = braid_ptx_next_word(&at);
    }
    return at;
}

// A value computed from an address may be an address: tracks all registers that are written.
static bool track_results(struct tracks *tracks, const struct ptx_statement *statement,
                          const char *end)
{
    const char *at = statement->word.at + statement->word.length;
    bool grows = false;
    for (struct ptx_word word = braid_ptx_next_word(&at); word.length && word.at < end;
         word = braid_ptx_next_word(&at)) {
        if (braid_ptx_word_begins(word, "%"))
            grows |= track(tracks, word);
    }
    return grows;
}

static bool only_reads(struct ptx_word instruction)
{
    static const char *const names[] = { "ld.", "ldu.", "prefetch", NULL };
    for (const char *const *name = names; *name; name++) {
        if (braid_ptx_word_begins(instruction, *name))
            return true;
    }
    return false;
}

static bool writes(const struct ptx_statement *statement)
{
    return braid_ptx_word_begins(statement->word, "st.") ||
           (statement->facts & (PTX_ATOMIC | PTX_CALL | PTX_ASYNC | PTX_TEXTURE));
}

// Whether the function changes it; *grows: more registers have its address now.
static bool look(const struct ptx *ptx, const struct ptx_function *function, struct tracks *tracks,
                 bool *grows)
{
    for (size_t i = 0; i < function->num; i++) {
        const struct ptx_statement *statement = &ptx_statements(ptx, function)[i];
        if (statement->kind != PTX_INSTRUCTION || only_reads(statement->word))
            continue;
        const char *behind = end_of_first(statement);
        if (writes(statement)) {
            if (has_tracked(tracks, statement->word.at, statement->end))
                return true;
        } else if (has_tracked(tracks, behind, statement->end)) {
            *grows |= track_results(tracks, statement, behind);
        }
    }
    return false;
}

// Whether a variable begins as an address in this one: its own name stands there once.
static bool is_pointed_to(const struct ptx *ptx, struct ptx_word variable)
{
    int num = 0;
    for (size_t i = 0; i < ptx->declarations.num; i++) {
        const char *at = ptx_declarations(ptx)[i].begin, *end = ptx_declarations(ptx)[i].end;
        while (at < end)
            num += ptx_same_word(braid_ptx_next_word(&at), variable);
    }
    return num > 1;
}

// Follows the variable's address through the registers of each function. It may say so of one that
// stays as it is: where its address is stored, or given to a function. It also says so where memory
// runs out.
static bool may_change(const struct ptx *ptx, struct ptx_word variable)
{
    struct tracks tracks = { 0 };
    bool changes = is_pointed_to(ptx, variable);
    for (size_t i = 0; i < ptx->functions.num && !changes; i++) {
        bool grows = true;
        tracks.words.num = 0;
        track(&tracks, variable);
        while (grows && !changes) {
            grows = false;
            changes = look(ptx, &ptx_functions(ptx)[i], &tracks, &grows);
        }
    }
    changes |= tracks.failed;
    braid_array_finish(&tracks.words);
    return changes;
}

static bool add(struct ptx_symbols *symbols, const struct ptx_symbol *symbol)
{
    struct ptx_symbol *slot = braid_array_append(&symbols->items, 1, sizeof(*slot));
    if (slot)
        *slot = *symbol;
    return slot != NULL;
}

static bool add_declaration(struct ptx_symbols *symbols, const struct ptx_declaration *declaration,
                            struct ptx_reason *reason)
{
    struct ptx_variable variable;
    struct ptx_word space = declaration->space;
    if (!braid_ptx_read_variable(space.at + space.length, declaration->end, &variable) ||
        *variable.rest == ',') {
        braid_ptx_refuse(reason, "it has a variable that Braid does not understand");
        return false;
    }
    const struct ptx_symbol symbol = { .name = variable.name, .declaration = declaration };
    return add(symbols, &symbol);
}

bool braid_ptx_find_symbols(const struct ptx *ptx, struct ptx_symbols *out_symbols,
                            struct ptx_reason *out_reason)
{
    struct ptx_symbols symbols = { .ptx = ptx };
    size_t variable = 0, num_variables = ptx->declarations.num;
    bool found = true;
    *out_reason = (struct ptx_reason){ 0 };
    for (size_t i = 0; found && i <= ptx->functions.num; i++) {
        const struct ptx_function *function =
            i < ptx->functions.num ? &ptx_functions(ptx)[i] : NULL;
        for (; found && variable < num_variables; variable++) {
            const struct ptx_declaration *declaration = &ptx_declarations(ptx)[variable];
            if (function && declaration->begin > function->begin)
                break;
            found = add_declaration(&symbols, declaration, out_reason);
        }
        const struct ptx_symbol symbol = { .name =
                                               function ? function->name : (struct ptx_word){ 0 },
                                           .function = function };
        if (found && function && !function->is_entry)
            found = add(&symbols, &symbol);
    }
    if (found)
        *out_symbols = symbols;
    else
        braid_ptx_symbols_finish(&symbols);
    return found;
}

void braid_ptx_symbols_finish(struct ptx_symbols *symbols)
{
    braid_array_finish(&symbols->items);
}

struct ptx_symbol *braid_ptx_find_symbol(const struct ptx_symbols *symbols, struct ptx_word name)
{
    for (size_t i = 0; i < symbols->items.num; i++) {
        if (ptx_same_word(ptx_symbols_of(symbols)[i].name, name))
            return &ptx_symbols_of(symbols)[i];
    }
    return NULL;
}

// ---- needed symbols ----

// A function's declaration and its definition have one name.
static bool need(const struct ptx_symbols *symbols, struct ptx_word name)
{
    bool is_new = false;
    for (size_t i = 0; i < symbols->items.num; i++) {
        struct ptx_symbol *symbol = &ptx_symbols_of(symbols)[i];
        if (!ptx_same_word(symbol->name, name))
            continue;
        is_new |= !symbol->is_needed;
        symbol->is_needed = true;
    }
    return is_new;
}

// Whether something came to be needed.
static bool need_words(const struct ptx_symbols *symbols, const char *at, const char *end)
{
    bool grows = false;
    for (struct ptx_word word = braid_ptx_next_word(&at); word.length && word.at < end;
         word = braid_ptx_next_word(&at))
        grows |= need(symbols, word);
    return grows;
}

static bool is_open_function(const struct ptx_symbols *symbols, const struct ptx_symbol *symbol)
{
    for (size_t i = 0; i < symbols->items.num; i++) {
        const struct ptx_symbol *other = &ptx_symbols_of(symbols)[i];
        if (other->function && other->function->body && ptx_same_word(other->name, symbol->name))
            return false;
    }
    return true;
}

// Functions that drivers have, for device code to call without more.
static bool is_of_driver(struct ptx_word name)
{
    static const char *const names[] = { "vprintf", "malloc", "free", "__assertfail", NULL };
    for (const char *const *other = names; *other; other++) {
        if (braid_ptx_word_is(name, *other))
            return true;
    }
    return false;
}

bool braid_ptx_is_of_driver(const struct ptx_symbols *symbols, const struct ptx_symbol *symbol)
{
    return symbol->function && is_open_function(symbols, symbol) && is_of_driver(symbol->name);
}

// A variable on the device. The texts of printf and assert are none: they go to functions that
// change nothing.
static bool is_variable(const struct ptx_symbol *symbol)
{
    return symbol->declaration && braid_ptx_word_is(symbol->declaration->space, ".global") &&
           !braid_ptx_word_begins(symbol->name, "$str") &&
           !braid_ptx_word_begins(symbol->name, "__unnamed_");
}

static bool check(const struct ptx_symbols *symbols, const struct ptx_symbol *symbol,
                  struct ptx_reason *reason)
{
    int length = symbol->name.length < 60 ? (int)symbol->name.length : 60;
    const char *name = symbol->name.at, *why = NULL;
    if (symbol->function && is_open_function(symbols, symbol) && !is_of_driver(symbol->name))
        why = "it calls '%.*s', which is not in its module";
    else if (symbol->declaration && symbol->declaration->is_extern &&
             !braid_ptx_word_is(symbol->declaration->space, ".shared"))
        why = "it uses '%.*s', which is not in its module";
    else if (is_variable(symbol) && may_change(symbols->ptx, symbol->name))
        why = "it has variables of its own on the device: '%.*s'";
    if (why)
        snprintf(reason->text, sizeof(reason->text), why, length, name);
    return !why;
}

bool braid_ptx_close_symbols(const struct ptx_symbols *symbols, struct ptx_reason *reason)
{
    bool grows = true;
    while (grows) {
        grows = false;
        for (size_t i = 0; i < symbols->items.num; i++) {
            struct ptx_symbol *symbol = &ptx_symbols_of(symbols)[i];
            const char *begin =
                symbol->function ? symbol->function->begin : symbol->declaration->begin;
            const char *end = symbol->function ? symbol->function->end : symbol->declaration->end;
            if (!symbol->is_needed || symbol->is_closed)
                continue;
            symbol->is_closed = true;
            grows |= need_words(symbols, begin, end);
        }
    }
    size_t num_variables = 0;
    for (size_t i = 0; i < symbols->items.num; i++) {
        const struct ptx_symbol *symbol = &ptx_symbols_of(symbols)[i];
        if (symbol->is_needed && !check(symbols, symbol, reason))
            return false;
        num_variables += symbol->is_needed && is_variable(symbol);
        if (num_variables > MOST_VARIABLES) {
            braid_ptx_refuse(reason, "it uses more than %d variables of its module",
                             MOST_VARIABLES);
            return false;
        }
    }
    return true;
}
