// SPDX-License-Identifier: Apache-2.0
// Random programs with loops and branches over a few words, and what they leave in memory if their
// statements run one after the other.
#ifndef BRAID_TESTS_WRITTEN_H
#define BRAID_TESTS_WRITTEN_H

#include <braid/braid.h>

#include "support/random.h"

enum { NUM_WORDS = 5, MOST_LOOPS = 6, NUM_ALL = NUM_WORDS + MOST_LOOPS, MOST_DEPTH = 4 };
enum { MOST_BRANCHES = 4, NUM_REGIONS = MOST_LOOPS + MOST_BRANCHES };
enum { MOST_STATEMENTS = 96, MOST_STEPS = 32, MOST_ITEMS = 8 };

enum statement_kind { SCALE, ADD, FILL, COPY, LOOP, IF, ELSE, END };

// One statement. A loop has a counter word, behind the others, that it ends by.
struct statement {
    enum statement_kind kind;
    uint32_t region;
    uint32_t to, from, other, factor, addend;
    braid_loop how; // for LOOP; its condition is the counter where `has_condition`
    bool has_condition;
    bool is_off; // no iteration of the loop runs
};

struct written {
    struct random *random;
    struct statement statements[MOST_STATEMENTS];
    uint32_t num, num_loops, num_branches;
};

// What a program leaves, and how often each statement ran.
struct memory {
    uint32_t words[NUM_ALL];
    uint64_t iterations[NUM_REGIONS];
    uint64_t runs[MOST_STATEMENTS];
};

// The program as nodes of a graph.
struct built {
    braid_graph *graph;
    braid_resource words[NUM_ALL];
    // Adds the node of a statement, and is asked before a scope opens, which it does not add.
    // `depth` scopes are open.
    braid_node (*add)(struct built *built, const struct statement *it, uint32_t depth);
    void *user;
    braid_node nodes[MOST_STATEMENTS]; // ELSE and END have none
    braid_node regions[NUM_REGIONS];
};

void written_make(struct written *written, struct random *random);
void written_build(const struct written *written, struct built *built);
// Gives loops other bounds, of which a quarter is 0.
void written_change_bounds(struct written *written, struct random *random,
                           const struct built *built, braid_exec *exec);
struct memory written_run(const struct written *written);

#endif
