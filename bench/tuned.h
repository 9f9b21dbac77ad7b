// SPDX-License-Identifier: Apache-2.0
// What the parts of the tuning bench share: graphs of real matrix kernels on the CPU.
#ifndef BRAID_BENCH_TUNED_H
#define BRAID_BENCH_TUNED_H

#include <stdbool.h>

#include <braid/braid.h>

// A graph without costs, and the memory that its kernels work in.
struct tuned_graph {
    const char *name;
    braid_graph *graph;
    double *memory;
    // Whether the last frame's result is right, by arithmetic of its own.
    bool (*is_right)(const struct tuned_graph *graph);
};

// The lower half of a matrix of 8 x 8 tiles as its Cholesky factor, from a fresh copy each frame.
struct tuned_graph tuned_cholesky(void);
// Three blocks of four branches each, as products of matrices of unlike sizes.
struct tuned_graph tuned_inception(void);

void tuned_check(braid_status status); // ends the program with the message
void *tuned_allocate(size_t bytes);    // zeroed

// c = (is_sum ? c : 0) + scale * a * b, of m x k and k x n; b is n x k where it is transposed.
struct tuned_product {
    double *c;
    const double *a, *b;
    int m, n, k;
    double scale;
    bool is_sum, is_transposed;
};
void tuned_multiply(const struct tuned_product *product);

#endif
