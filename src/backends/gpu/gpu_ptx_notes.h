// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that its kernels note their begin in a black box (base/note.h).
//
// Each entry gets two parameters behind its own: the address of the note, and the node. The first
// thread of the first block writes.
#ifndef BRAID_BACKENDS_GPU_GPU_PTX_NOTES_H
#define BRAID_BACKENDS_GPU_GPU_PTX_NOTES_H

#include "backends/gpu/gpu_ptx_read.h"

enum { GPU_NOTE_PARAMETERS = 2 };

// As braid_gpu_ptx_with_ends.
char *braid_gpu_ptx_with_notes(const char *text, struct ptx_reason *out_reason);

#endif
