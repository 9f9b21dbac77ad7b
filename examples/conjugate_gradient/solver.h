// SPDX-License-Identifier: Apache-2.0
// The steps of conjugate gradients (Hestenes and Stiefel, 1952) for Poisson's equation on a square.
#ifndef EXAMPLES_SOLVER_H
#define EXAMPLES_SOLVER_H

#include <braid/braid.h>

enum { SIDE = 48, STEP = SIDE + 2, NUM = STEP * STEP }; // a border of zeros
enum { ROWS = 4, NUM_BLOCKS = SIDE / ROWS }; // a block's rows; the blocks that do not sum
enum { THREADS = 256 };                      // a block's, on a GPU

struct scalars {
    double square, least, alpha, beta; // `square` is that of the residual
};

// In the order of an iteration. A block is some rows of points, or all of them where they are
// summed.
extern const char solver_source[];
extern const braid_kernel multiply, find_alpha, advance, test, turn;

double dot(const double *a, const double *b);

// The same method in plain C, without a graph. Returns the number of iterations, `most` at most.
uint64_t solve_plainly(const double *right, double *x, uint64_t most);

#endif
