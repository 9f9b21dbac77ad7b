// SPDX-License-Identifier: Apache-2.0
// Kernels for the CPU that Python gets as C functions.
#include <braid/kernel.h>

BRAID_API braid_cpu_function add_scaled, store, count;

// y[i] += factor * x[i], a block for each element
void add_scaled(const braid_blocks *blocks, void *const *args)
{
    float *y = *(float *const *)args[0];
    const float *x = *(const float *const *)args[1];
    float factor = *(const float *)args[2];
    for (uint64_t i = blocks->begin; i < blocks->end; i++)
        y[i] += factor * x[i];
}

// *to = value
void store(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    **(int64_t *const *)args[0] = *(const int64_t *)args[1];
}

// *to = how often it was called in this process, so no two calls write the same.
void count(const braid_blocks *blocks, void *const *args)
{
    static int64_t num;
    (void)blocks;
    **(int64_t *const *)args[0] = ++num;
}
