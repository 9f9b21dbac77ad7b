// SPDX-License-Identifier: Apache-2.0
// Putting kernels in place of the markers of another kernel's PTX (gpu_ptx_callable.h).
#ifndef BRAID_ISLANDS_GPU_PTX_PASTE_H
#define BRAID_ISLANDS_GPU_PTX_PASTE_H

#include <stdint.h>

// The replacement of markers with one number.
struct ptx_pasted {
    char *block; // as braid_ptx_write_callable writes it
    char *note;  // a comment of one line in front of it
};

struct ptx_paste {
    const struct ptx_pasted *blocks; // by the number of their markers
    uint32_t num_blocks;
    uint32_t small;             // bytes of arguments in registers, as in ptx_site
    const char *const *modules; // texts that the blocks are from
    const char *const *needed;  // by module: the text of braid_ptx_write_needed
    uint32_t num_modules;
};

// The text with the blocks, for the caller to free; NULL: memory ran out. It is of the newest
// version and target of all texts.
char *braid_ptx_paste(const char *text, const struct ptx_paste *paste);

#endif
