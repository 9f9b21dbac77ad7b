// SPDX-License-Identifier: Apache-2.0
// A kernel that is called from inside another: its needs, and its place.
#ifndef BRAID_ISLANDS_GPU_PTX_SITE_H
#define BRAID_ISLANDS_GPU_PTX_SITE_H

#include <stdbool.h>
#include <stdint.h>

enum { PTX_MOST_PARAMETERS = 128, PTX_MOST_SHARED_ALIGN = 128 };

// The needs and effects of a kernel at the place where it is called.
struct ptx_callable {
    bool barriers, warps;
    bool fences;           // may wait for other blocks of its own
    bool counts;           // meets at a barrier in another way than bar.sync
    bool is_partial;       // fewer threads than those of its block may meet at a barrier
    bool is_plain;         // reads its parameters in words at known places
    uint32_t numbers;      // its barriers: bits
    bool is_open;          // has dynamic shared memory
    uint32_t shared_bytes; // static, behind which the dynamic begins
    uint32_t num_args, arg_bytes[PTX_MOST_PARAMETERS];
};

// Where it is called.
struct ptx_site {
    uint32_t group_threads; // each lane's; 32: it is a warp
    uint32_t num_groups;    // lanes of the block
    bool flat;              // blocks have one dimension
    bool whole;             // each call takes all threads of its lane
    uint32_t small;         // bytes of its arguments, in registers; 0: they are in memory
    uint32_t numbers;       // the barriers of all kernels: bits
    const char *prefix;     // before the module's names there
};

#endif
