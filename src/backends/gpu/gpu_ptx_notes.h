// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that its kernels note their begin and end in a black box (base/note.h).
//
// Each entry gets three parameters behind its own: the address of the note, the node, and the
// address of a count. That is a word of the device, zero between launches. The first thread of the
// first block writes the begin. If the count has an address, the block that ends last writes the
// end.
#ifndef BRAID_BACKENDS_GPU_GPU_PTX_NOTES_H
#define BRAID_BACKENDS_GPU_GPU_PTX_NOTES_H

#include "ptx/ptx_read.h"

enum { GPU_NOTE_PARAMETERS = 3 };

// As braid_gpu_ptx_with_read_grid, where the reasons are those of put_ends in gpu_ptx_passes.c.
char *braid_gpu_ptx_with_notes(const char *text, struct ptx_reason *out_reason);
// The same, but the entries write no end.
char *braid_gpu_ptx_with_begin_notes(const char *text, struct ptx_reason *out_reason);

#endif
