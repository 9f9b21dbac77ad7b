// SPDX-License-Identifier: Apache-2.0
// A small kernel in PTX that calls another one as islands do: each lane runs all blocks of a
// launch.
#ifndef BRAID_TESTS_GPU_PTX_WALKER_H
#define BRAID_TESTS_GPU_PTX_WALKER_H

#include "islands/gpu_ptx_callable.h"

enum { WALKER_ARGS = 256 }; // bytes of a lane's arguments

struct walk {
    struct ptx_site place;
    uint32_t grid[3], block[3];
    uint32_t shared_bytes; // a lane's
};

// The module's kernel inside of "walker", whose one parameter is the address of all lanes'
// arguments, for the caller to free; NULL: it cannot be inside, and *out_reason says why.
char *walker_make(const char *text, const char *entry, struct walk *walk,
                  struct ptx_callable *out_callable, struct ptx_reason *out_reason);
// Dynamic shared memory of the walker.
uint32_t walker_shared_bytes(const struct walk *walk);

#endif
