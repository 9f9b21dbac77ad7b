// SPDX-License-Identifier: Apache-2.0
// The PTX of kernels that the program gives as source.
#ifndef BRAID_BASE_KERNEL_TEXT_H
#define BRAID_BASE_KERNEL_TEXT_H

#include <braid/kernel.h>

struct text_finder {
    char target[128]; // finders of one target find the same texts
    void *user;
    // *out_text is for the caller to free, and *out_entry stands in its memory. Errors:
    // BRAID_UNSUPPORTED (no compiler is here), BRAID_DEVICE_ERROR (it refuses the source).
    braid_status (*find)(void *user, uint32_t node, const braid_kernel *kernel, char **out_text,
                         const char **out_entry);
};

// Compiles for the CUDA device that was opened last; without any, for a common one. The node does
// not matter.
void braid_text_finder_make(struct text_finder *out_finder);

#endif
