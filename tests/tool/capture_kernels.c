// SPDX-License-Identifier: Apache-2.0
// A plug-in for braid replay: the kernels of capture_frames.c on the CPU. PLANTED is a mistake.
#include <stdint.h>

#include <braid/kernel.h>

#ifndef PLANTED
#define PLANTED 0
#endif

BRAID_API braid_cpu_function add_value, scale, count, lower, parity, grow, gather, sneak;
BRAID_API void note(void *user), mark(void *user);

// (float *to, float value, uint32_t num)
void add_value(const braid_blocks *blocks, void *const *args)
{
    float *to = *(float *const *)args[0];
    (void)blocks;
    for (uint32_t i = 0; i < *(const uint32_t *)args[2]; i++)
        to[i] += *(const float *)args[1];
}

// (float *to, const float *from, float factor, uint32_t num)
void scale(const braid_blocks *blocks, void *const *args)
{
    float *to = *(float *const *)args[0];
    const float *from = *(const float *const *)args[1];
    (void)blocks;
    for (uint32_t i = 0; i < *(const uint32_t *)args[3]; i++)
        to[i] = from[i] * *(const float *)args[2] + (i == 5 ? (float)PLANTED : 0.0f);
}

// (uint32_t *to, braid_trap *trap): how many blocks a grid that was read has.
void count(const braid_blocks *blocks, void *const *args)
{
    if (blocks->begin == 0) // several workers have blocks
        (*(uint32_t *const *)args[0])[8] = blocks->grid.x;
}

// (uint32_t *word, uint32_t by)
void lower(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    **(uint32_t *const *)args[0] -= *(const uint32_t *)args[1];
}

// (uint32_t *to, const uint32_t *from)
void parity(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    **(uint32_t *const *)args[0] = **(const uint32_t *const *)args[1] & 1;
}

// (float *to, const uint32_t *rounds, uint32_t num): the mistake comes in the third of five rounds.
void grow(const braid_blocks *blocks, void *const *args)
{
    float *to = *(float *const *)args[0];
    const uint32_t *rounds = *(const uint32_t *const *)args[1];
    (void)blocks;
    for (uint32_t i = 0; i < *(const uint32_t *)args[2]; i++)
        to[i] += 1 + (i == 5 && *rounds == 3 ? (float)PLANTED : 0.0f);
}

// (float *to, const float *from, uint32_t num)
void gather(const braid_blocks *blocks, void *const *args)
{
    float *to = *(float *const *)args[0];
    const float *from = *(const float *const *)args[1];
    (void)blocks;
    for (uint32_t i = 0; i < *(const uint32_t *)args[2]; i++)
        to[i] += from[i];
}

// (float *hidden, const uint32_t *rounds)
void sneak(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    if (**(const uint32_t *const *)args[1] == 3)
        (*(float *const *)args[0])[3] += 1;
}

// The call of the node of this name: counts in a buffer.
void note(void *user)
{
    *(uint32_t *)user += 1;
}

// The call of a node whose data the file lacks: it gets the addresses of the buffers 'in' and
// 'calls', which the node declares in this order.
void mark(void *user)
{
    const float *in = ((void *const *)user)[0];
    uint32_t *calls = ((void *const *)user)[1];
    calls[4] += (uint32_t)in[3];
}
