// SPDX-License-Identifier: Apache-2.0
// A kernel as a block inside of another: its special registers, memory, parameters and barriers.
#ifndef BRAID_ISLANDS_GPU_PTX_BLOCK_H
#define BRAID_ISLANDS_GPU_PTX_BLOCK_H

#include <stdio.h>

#include "islands/gpu_ptx_site.h"
#include "islands/gpu_ptx_symbols.h"

enum { PTX_NUM_BARRIERS = 16, PTX_NUM_SPECIALS = 12 }; // x, y and z of tid, ctaid, nctaid and ntid

// A parameter, or a variable in shared memory: where it is, and which registers have its address.
struct ptx_memory {
    struct ptx_word name;
    uint32_t align, bytes, offset;
    bool is_parameter, is_open, is_placed;
    bool is_used, is_wide; // its address is asked for; with 64 bits
};

struct ptx_block {
    const struct ptx_symbols *symbols;
    const struct ptx_site *site;
    struct ptx_callable *made;
    struct ptx_reason *reason;
    FILE *file;
    struct array memory; // struct ptx_memory
    const struct ptx_function *function;
    bool is_entry; // it is the kernel, not a function that it calls
    bool reads[PTX_NUM_SPECIALS];
    bool asks_threads; // it reads how many its block has
    bool copies;       // has copies that end later
    bool loads_word;   // the statement at hand loads 32 or 64 bits of a parameter
    bool failed;
};

// Finds the parameters and shared memory of an entry. False: it cannot, for the reason.
bool braid_ptx_block_begin(struct ptx_block *block, const struct ptx_function *function);
// Once all statements are written: how much shared memory they use.
void braid_ptx_block_end(struct ptx_block *block);
void braid_ptx_block_finish(struct ptx_block *block);

// Says why it cannot be a block, where nothing has before; the format takes the word as %.*s.
void braid_ptx_block_refuse(struct ptx_block *block, const char *format, struct ptx_word word);

struct ptx_memory *braid_ptx_block_find_memory(const struct ptx_block *block, struct ptx_word name);

// Each writes the replacement of a word, if it is such a one.
bool braid_ptx_block_put_special(struct ptx_block *block, struct ptx_word word);
bool braid_ptx_block_put_memory(struct ptx_block *block, struct ptx_word word, bool is_wide);

// Whether a statement loads from the entry's parameters.
bool braid_ptx_block_reads_parameter(const struct ptx_block *block,
                                     const struct ptx_statement *statement);
// Where arguments are in registers, writes the replacement of a load of one.
bool braid_ptx_block_put_small(struct ptx_block *block, const struct ptx_statement *statement);

void braid_ptx_block_put_barrier(struct ptx_block *block, const struct ptx_statement *statement);

// Writes the text in front of the kernel's statements, once these are written.
void braid_ptx_block_put_start(const struct ptx_block *block, FILE *to);

#endif
