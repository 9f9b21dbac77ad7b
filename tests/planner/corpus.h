// SPDX-License-Identifier: Apache-2.0
// Reads the corpus of real task graphs, for tests and benches: a strict subset of DOT, one
// statement a line, and tables of what is known about each graph.
#ifndef BRAID_TESTS_CORPUS_H
#define BRAID_TESTS_CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <braid/graph.h>

struct corpus_graph {
    char name[128];
    uint32_t num_nodes;
    uint64_t *costs;
    size_t num_edges;
    uint32_t *from, *to;
};

struct corpus {
    size_t num_graphs;
    struct corpus_graph *graphs;
};

// BRAID_SWEEP_STEP=N: a test that walks the corpus may take each Nth graph. Otherwise 1.
size_t corpus_step(void);

// The folder of the corpus: $BRAID_CORPUS, or shared/dags in or beside the source tree; NULL where
// there is none.
const char *corpus_folder(void);

// Reads every graph of the index, in its order. False, with a line on standard error, when a file
// is missing or not in that form.
bool corpus_read(const char *folder, struct corpus *out_corpus);
void corpus_finish(struct corpus *corpus);

// The graph of a name, or NULL.
const struct corpus_graph *corpus_find(const struct corpus *corpus, const char *name);

// A table of a name and up to seven numbers a line, under a line of headings.
struct corpus_row {
    char name[128];
    uint64_t values[7];
};

bool corpus_read_table(const char *folder, const char *file, struct corpus_row **out_rows,
                       size_t *out_num_rows);

// The same as a graph to plan.
braid_status corpus_make_graph(const struct corpus_graph *graph, braid_graph **out_graph);

#endif
