// SPDX-License-Identifier: Apache-2.0
// The seven shapes of graph that launches are measured on.
#ifndef BRAID_BENCH_GPU_SHAPES_H
#define BRAID_BENCH_GPU_SHAPES_H

#include <stdint.h>

enum { NUM_SHAPES = 7 };

// A graph of equal kernels: node i runs after before[first[i]] .. before[first[i + 1] - 1], all of
// which are less than i.
struct shape {
    const char *name;
    uint32_t num_nodes;
    uint32_t *first;
    uint32_t *before;
};

// Makes the shape at an index; exits when memory runs out.
struct shape make_shape(uint32_t index);
void free_shape(struct shape *shape);

#endif
