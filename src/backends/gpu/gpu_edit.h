// SPDX-License-Identifier: Apache-2.0
// A text with pieces of it replaced, in order.
#ifndef BRAID_BACKENDS_GPU_GPU_EDIT_H
#define BRAID_BACKENDS_GPU_GPU_EDIT_H

#include <stdbool.h>

#include "base/array.h"
#include "ptx/ptx_read.h"

struct gpu_edit {
    const char *from, *to; // in the old text
    const char *with;      // lives until the edits are applied
    size_t length;         // its bytes
};

struct gpu_edits {
    struct array items; // struct gpu_edit
    bool failed;        // memory ran out, or an edit is out of order
};

// Puts `with` in place of the old text between two places, neither before an earlier edit.
void braid_gpu_edit(struct gpu_edits *edits, const char *from, const char *to, const char *with);
// The same with a part of a text.
void braid_gpu_edit_part(struct gpu_edits *edits, const char *from, const char *to,
                         const char *with, size_t length);

// Puts parameters behind those of an entry.
void braid_gpu_edit_parameters(struct gpu_edits *edits, const struct ptx_function *function,
                               struct ptx_word more);

// The new text, for the caller to free; NULL: it failed.
char *braid_gpu_apply_edits(const struct gpu_edits *edits, const char *text);

void braid_gpu_edits_finish(struct gpu_edits *edits);

#endif
