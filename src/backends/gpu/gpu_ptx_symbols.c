// SPDX-License-Identifier: Apache-2.0
// The names of a module, and which of them a kernel of it needs elsewhere.
#include "backends/gpu/gpu_ptx_symbols.h"

#include <stdio.h>

#include "backends/gpu/gpu_ptx_change.h"
#include "backends/gpu/gpu_ptx_variable.h"

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
    else if (symbol->declaration && braid_ptx_word_is(symbol->declaration->space, ".global") &&
             braid_ptx_may_change(symbols->ptx, symbol->name))
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
            const struct ptx_symbol *symbol = &ptx_symbols_of(symbols)[i];
            const char *begin =
                symbol->function ? symbol->function->begin : symbol->declaration->begin;
            const char *end = symbol->function ? symbol->function->end : symbol->declaration->end;
            if (symbol->is_needed)
                grows |= need_words(symbols, begin, end);
        }
    }
    for (size_t i = 0; i < symbols->items.num; i++) {
        const struct ptx_symbol *symbol = &ptx_symbols_of(symbols)[i];
        if (symbol->is_needed && !check(symbols, symbol, reason))
            return false;
    }
    return true;
}
