// SPDX-License-Identifier: Apache-2.0
// The names of a module, and which of them a kernel of it needs elsewhere.
#ifndef BRAID_ISLANDS_GPU_PTX_SYMBOLS_H
#define BRAID_ISLANDS_GPU_PTX_SYMBOLS_H

#include "ptx/ptx_read.h"
#include "ptx/ptx_words.h"
#include <stdint.h>

// A function or variable of the module.
struct ptx_symbol {
    struct ptx_word name;
    const struct ptx_function *function;       // or
    const struct ptx_declaration *declaration; // a .global, .const or .shared one
    bool is_needed;
    bool is_closed; // what it names is needed, too
};

// In the order of the text, without entries.
struct ptx_symbols {
    const struct ptx *ptx;
    struct array items;
};

// The module outlives the symbols. False: *out_reason says why; there is nothing to finish.
bool braid_ptx_find_symbols(const struct ptx *ptx, struct ptx_symbols *out_symbols,
                            struct ptx_reason *out_reason);
void braid_ptx_symbols_finish(struct ptx_symbols *symbols);

// NULL: there is no symbol of that name.
struct ptx_symbol *braid_ptx_find_symbol(const struct ptx_symbols *symbols, struct ptx_word name);

static inline struct ptx_symbol *ptx_symbols_of(const struct ptx_symbols *symbols)
{
    return symbols->items.items;
}

// Also marks the symbols that needed ones name. False: one of them cannot stand in another module,
// for the reason.
bool braid_ptx_close_symbols(const struct ptx_symbols *symbols, struct ptx_reason *reason);

// Whether drivers have the function, so that its name stays.
bool braid_ptx_is_of_driver(const struct ptx_symbols *symbols, const struct ptx_symbol *symbol);

struct ptx_variable {
    struct ptx_word name;
    uint32_t align;
    uint64_t bytes;
    bool is_open;     // its length is open: the launch says it
    const char *rest; // at the comma, semicolon, parenthesis or equals sign behind it
};

// Reads the text behind the space (.shared, .param), up to `end`. False: it is not understood.
bool braid_ptx_read_variable(const char *at, const char *end, struct ptx_variable *out_variable);

#endif
