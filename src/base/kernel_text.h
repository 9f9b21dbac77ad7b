// SPDX-License-Identifier: Apache-2.0
// The PTX of kernels that the program gives as source.
#ifndef BRAID_BASE_KERNEL_TEXT_H
#define BRAID_BASE_KERNEL_TEXT_H

#include <braid/kernel.h>

struct text_compiler {
    char target[64]; // compilers of one target make the same texts
    void *user;
    // *out_block is the text, for the caller to free, and *out_entry stands in it too. Errors:
    // BRAID_UNSUPPORTED (no compiler is here), BRAID_DEVICE_ERROR (it refuses the source).
    braid_status (*compile)(void *user, const braid_kernel *kernel, char **out_block,
                            const char **out_entry);
};

// The one for the CUDA device that was opened last; without any, for a common one.
void braid_text_compiler_find(struct text_compiler *out_compiler);

#endif
