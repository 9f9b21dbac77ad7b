// SPDX-License-Identifier: Apache-2.0
// Which parts of a source its preprocessor leaves out, as far as that can be told without one.
//
// A condition is known where it asks for a name that the source itself defines, or that nothing
// else can have defined: compilers define names that begin with an underscore or a small letter,
// included files define any. Conditions of any other kind may hold or not.
#ifndef BRAID_BACKENDS_GPU_GPU_ISLAND_CONDITIONS_H
#define BRAID_BACKENDS_GPU_GPU_ISLAND_CONDITIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "backends/gpu/gpu_tokens.h"

enum island_answer { ISLAND_NO, ISLAND_YES, ISLAND_PERHAPS };

struct island_macro {
    struct token name;
    enum island_answer is_defined;
};

enum { ISLAND_MOST_CONDITIONS = 64 };

struct island_conditions {
    struct island_macro *macros;
    size_t num_macros;
    enum island_answer open[ISLAND_MOST_CONDITIONS]; // of #if, whether its part at hand is taken
    int depth;                                       // of #if; beyond the most nothing is known
    bool includes;                                   // a file that may define names
    bool failed;                                     // memory ran out
};

// Takes note of a directive of the source: the word after its #, and the one after that. What a
// part that is left out defines or includes does not count.
void braid_island_conditions_read(struct island_conditions *conditions, struct token word,
                                  struct token name);

// Whether the preprocessor takes what stands here.
enum island_answer braid_island_conditions_here(const struct island_conditions *conditions);

void braid_island_conditions_finish(struct island_conditions *conditions);

#endif
