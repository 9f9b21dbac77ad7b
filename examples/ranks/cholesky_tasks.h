// SPDX-License-Identifier: Apache-2.0
// The kernels of a tiled Cholesky factorisation as tasks: the tile that is written, those that are
// read, and their size.
#ifndef EXAMPLES_CHOLESKY_TASKS_H
#define EXAMPLES_CHOLESKY_TASKS_H

#include <braid/braid.h>

#include "cholesky_kernels.h"

static void factor(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    cholesky_factor(*(double *const *)args[0], *(const int *)args[1]);
}

static void solve(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    cholesky_solve(*(double *const *)args[0], *(const double *const *)args[1],
                   *(const int *)args[2]);
}

static void update(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    cholesky_update(*(double *const *)args[0], *(const double *const *)args[1],
                    *(const double *const *)args[2], *(const int *)args[3]);
}

static const braid_kernel factor_kernel = { .name = "factor", .cpu = factor };
static const braid_kernel solve_kernel = { .name = "solve", .cpu = solve };
static const braid_kernel update_kernel = { .name = "update", .cpu = update };

#endif
