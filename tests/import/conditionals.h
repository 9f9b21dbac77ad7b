// SPDX-License-Identifier: Apache-2.0
// Streams with conditional nodes, captured on the stand-in for CUDA as Warp captures them.
#ifndef BRAID_TESTS_IMPORT_CONDITIONALS_H
#define BRAID_TESTS_IMPORT_CONDITIONALS_H

#include <stdio.h>
#include <string.h>

#include "import/here.h"

enum { WORDS = MEMORIES, MOST_CONDITIONALS = 16 };

// Kernels up(word), down(word), clear(word), move(from, to), number(to, number), and without texts
// hidden(word), set_unnamed(handle, word) and set_in_struct(word, { number, handle }). Setters:
// set(handle, word), set_not(handle, word), set_both(handle, handle, word).
struct conditionals {
    braid_import_conditional told[MOST_CONDITIONALS];
    uint32_t num_told;
    bool gives_all_texts; // also those of hidden kernels
};
extern struct conditionals there;
extern const char conditional_text[]; // without hidden kernels

struct conditional {
    braid_import_conditional told;
    CUgraph around; // paused while a body is captured
    uint32_t index; // in `told`
};

int open_conditionals(void **state);
int close_conditionals(void **state);

void begin(void);
uint64_t make_handle(void);
// Adds a node behind all that the stream has captured, without a setter.
struct conditional add_conditional(braid_import_conditional_kind kind, CUdeviceptr word,
                                   uint64_t handle);
void enter_body(struct conditional *conditional, int which);
void leave_body(struct conditional *conditional);
// A loop or an arm, with its setter; its body is open.
struct conditional begin_conditional(braid_import_conditional_kind kind, CUdeviceptr word);
void end_conditional(struct conditional *conditional);
// A branch with its setter. `arms` has the bits of its bodies. A pair has a node for each.
struct conditional begin_branch(CUdeviceptr word, int arms, bool is_pair);

// The list of all conditional nodes, and the setters.
braid_import_options conditional_options(void);
// Ends the capture, and imports it with the list of all conditional nodes.
void import_all(braid_status status, const char *message);
void play_captured(const uint32_t *words, uint32_t *out_words);
void play_imported(const uint32_t *words, uint32_t *out_words);
void end(void);

#endif
