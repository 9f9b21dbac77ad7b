// SPDX-License-Identifier: Apache-2.0
// What nvcc would make of the example's own_kernels.cu, for the stand-ins: host functions that are
// only looked up, their images, and what these do.
#include <stddef.h>

#include "standin/standin_kernel.h"

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

void scale(float *to, const float *from, float factor, int num);
void add(float *to, const float *a, const float *b, int num);
void braid_standin_scale(const unsigned grid[3], const unsigned block[3], unsigned shared,
                         void **args);
void braid_standin_add(const unsigned grid[3], const unsigned block[3], unsigned shared,
                       void **args);
extern const char scale_image[], add_image[];

const char scale_image[] = HEAD ".visible .entry scale(.param .u64 to, .param .u64 from,\n"
                                " .param .f32 factor, .param .u32 num)\n{\n ret;\n}\n";
const char add_image[] = HEAD ".visible .entry add(.param .u64 to, .param .u64 a,\n"
                              " .param .u64 b, .param .u32 num)\n{\n ret;\n}\n";

void scale(float *to, const float *from, float factor, int num)
{
    (void)to, (void)from, (void)factor, (void)num;
}

void add(float *to, const float *a, const float *b, int num)
{
    (void)to, (void)a, (void)b, (void)num;
}

// As many threads as there are, like the kernels.
static int count(const unsigned grid[3], const unsigned block[3], const void *num)
{
    int threads = (int)(grid[0] * block[0]);
    return threads < *(const int *)num ? threads : *(const int *)num;
}

void braid_standin_scale(const unsigned grid[3], const unsigned block[3], unsigned shared,
                         void **args)
{
    (void)shared;
    float *to = *(float **)args[0], factor = *(float *)args[2];
    const float *from = *(const float **)args[1];
    for (int i = 0; i < count(grid, block, args[3]); i++)
        to[i] = factor * from[i];
}

void braid_standin_add(const unsigned grid[3], const unsigned block[3], unsigned shared,
                       void **args)
{
    (void)shared;
    float *to = *(float **)args[0];
    const float *a = *(const float **)args[1], *b = *(const float **)args[2];
    for (int i = 0; i < count(grid, block, args[3]); i++)
        to[i] = a[i] + b[i];
}
