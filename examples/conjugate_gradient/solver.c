// SPDX-License-Identifier: Apache-2.0
// The kernels, and a plain solver that checks them.
#include "solver.h"

#include <string.h>

double dot(const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < NUM; i++)
        sum += a[i] * b[i];
    return sum;
}

// A row of the matrix for each point: 4, and -1 for each neighbour. A block is some rows of points.
static void multiply_on_cpu(const braid_blocks *blocks, void *const *args)
{
    const double *from = *(const double *const *)args[0];
    double *to = *(double *const *)args[1];
    for (uint64_t row = blocks->begin * ROWS + 1; row <= blocks->end * ROWS; row++)
        for (uint64_t i = row * STEP + 1; i <= row * STEP + SIDE; i++)
            to[i] = 4 * from[i] - from[i - 1] - from[i + 1] - from[i - STEP] - from[i + STEP];
}

static void find_alpha_on_cpu(const braid_blocks *blocks, void *const *args)
{
    struct scalars *values = *(struct scalars *const *)args[2];
    (void)blocks; // one block
    values->alpha = values->square / dot(*(double *const *)args[0], *(double *const *)args[1]);
}

// The first point of a block.
static uint64_t first_of(uint64_t block)
{
    return (block * ROWS + 1) * STEP;
}

static void advance_on_cpu(const braid_blocks *blocks, void *const *args) // x and the residual
{
    double *at = *(double *const *)args[0], *rest = *(double *const *)args[1];
    const double *along = *(double *const *)args[2], *change = *(double *const *)args[3];
    double alpha = (*(const struct scalars *const *)args[4])->alpha;
    for (uint64_t i = first_of(blocks->begin); i < first_of(blocks->end); i++)
        at[i] += alpha * along[i], rest[i] -= alpha * change[i];
}

static void test_on_cpu(const braid_blocks *blocks, void *const *args)
{
    struct scalars *values = *(struct scalars *const *)args[1];
    double before = values->square, *rest = *(double *const *)args[0];
    (void)blocks; // one block
    values->square = dot(rest, rest);
    values->beta = values->square / before;
    **(uint32_t *const *)args[2] = values->square > values->least;
}

static void turn_on_cpu(const braid_blocks *blocks, void *const *args)
{
    double *along = *(double *const *)args[0], *rest = *(double *const *)args[1];
    double beta = (*(const struct scalars *const *)args[2])->beta;
    for (uint64_t i = first_of(blocks->begin); i < first_of(blocks->end); i++)
        along[i] = rest[i] + beta * along[i];
}

const braid_kernel multiply = { .name = "multiply",
                                .cpu = multiply_on_cpu,
                                .source = solver_source };
const braid_kernel find_alpha = { .name = "find_alpha",
                                  .cpu = find_alpha_on_cpu,
                                  .source = solver_source };
const braid_kernel advance = { .name = "advance", .cpu = advance_on_cpu, .source = solver_source };
const braid_kernel test = { .name = "test", .cpu = test_on_cpu, .source = solver_source };
const braid_kernel turn = { .name = "turn", .cpu = turn_on_cpu, .source = solver_source };

uint64_t solve_plainly(const double *right, double *x, uint64_t most)
{
    static double rest[NUM], along[NUM], change[NUM];
    memcpy(rest, right, sizeof(rest));
    memcpy(along, right, sizeof(along));
    double square = dot(rest, rest), least = 1e-12 * square;
    uint64_t num = 0;
    for (; num < most && square > least; num++) {
        for (int row = 1; row <= SIDE; row++)
            for (int i = row * STEP + 1; i <= row * STEP + SIDE; i++)
                change[i] =
                    4 * along[i] - along[i - 1] - along[i + 1] - along[i - STEP] - along[i + STEP];
        double alpha = square / dot(along, change), before = square;
        for (int i = 0; i < NUM; i++)
            x[i] += alpha * along[i], rest[i] -= alpha * change[i];
        square = dot(rest, rest);
        for (int i = 0; i < NUM; i++)
            along[i] = rest[i] + square / before * along[i];
    }
    return num;
}
