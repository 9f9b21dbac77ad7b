// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that a kernel may be launched before the kernel that it waits for has ended.
//
// Each entry begins with
//     griddepcontrol.wait;    the kernels before this one have ended, and their writes are here
// All threads of all blocks wait first. So the end of a kernel implies the end of everything before
// it, as with ordinary edges, and implied edges stay implied. If the kernel is launched in the
// ordinary way, the instruction does nothing.
//
// Only kernels that prefetch execute griddepcontrol.launch_dependents (gpu_ptx_prefetch.h). Each
// block that does takes 0.6 ns of the whole device. A kernel of many short blocks would take twice
// as long (H200, docs/measured). The edges of a driver graph say instead when the next kernel
// starts: see struct gpu_edge_data.
#ifndef BRAID_BACKENDS_GPU_GPU_PTX_EARLY_H
#define BRAID_BACKENDS_GPU_GPU_PTX_EARLY_H

#include <stdbool.h>

#include "ptx/ptx_read.h"

// The same text with the instruction at the start of every entry, for the caller to free. NULL: it
// stays as it is. Then *out_reason says why, or is empty when memory ran out. It stays if the text
// uses griddepcontrol or clusters itself. It also stays if it is for a device before sm_70: raising
// the target would change how its threads keep step. Text for sm_70 to sm_89, or of a PTX version
// before 7.8, has both raised to the instruction's needs. The driver must accept that, or be given
// the original.
char *braid_gpu_ptx_with_early_start(const char *text, struct ptx_reason *out_reason);

#endif
