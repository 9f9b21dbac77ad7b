// SPDX-License-Identifier: Apache-2.0
// Graphs over words that lie on several devices.
#ifndef BRAID_TESTS_WORDS_H
#define BRAID_TESTS_WORDS_H

#include "groups/field.h"

enum { WORDS_MOST = 16, WORDS_BEFORE = 41, WORDS_FRAMES = 2 };

// Word i is a buffer with memory of its home.
struct words {
    struct field *field;
    braid_graph *graph;
    braid_resource resources[WORDS_MOST];
    uint32_t *addresses[WORDS_MOST];
    uint32_t num, last; // the last place
};

// All words are at home on one device, or by turns on all: `home` WORDS_BY_TURNS.
#define WORDS_BY_TURNS UINT32_MAX
struct words words_begin(struct field *field, uint32_t num, uint32_t home);
// Does the same; buffers from `first_transient` on are transient.
struct words words_begin_some(struct field *field, uint32_t num, uint32_t home,
                              uint32_t first_transient);
void words_end(struct words *words, braid_exec *exec); // takes NULL

// `place` counts from 1; 0 is none. to = from * factor + addend; to = one + other.
braid_node words_add_axpy(struct words *words, uint32_t to, uint32_t from, uint32_t factor,
                          uint32_t addend, uint32_t place);
braid_node words_add_add(struct words *words, uint32_t to, uint32_t one, uint32_t other,
                         uint32_t place);
braid_node words_add_fill(struct words *words, uint32_t to, uint32_t value, uint32_t place);
braid_node words_add_copy(struct words *words, uint32_t to, uint32_t from, uint32_t place);

// Proves its plan. NULL: what plays here plays no such loop, and says so.
braid_exec *words_make_exec(struct words *words);

// Before the first frame each word is WORDS_BEFORE. All frames are the same. A transient word is
// read as 0.
void words_run(struct words *words, braid_exec *exec);
uint32_t words_read(const struct words *words, uint32_t word);

#endif
