// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that its kernels may be launched before what they wait for has ended.
//
// Each entry begins with
//     griddepcontrol.launch_dependents;   what runs after me may be launched
//     griddepcontrol.wait;                what I run after has ended, and its writes are here
// so that no instruction of the kernel itself runs before all kernels that it was launched early
// behind have ended and can be seen. All threads of all blocks wait: so a kernel that has ended
// stands for everything before it, as with ordinary edges, and edges that the planner found implied
// by others stay implied. Launched in the ordinary way, the two instructions do nothing.
#ifndef BRAID_BACKENDS_GPU_GPU_PTX_H
#define BRAID_BACKENDS_GPU_GPU_PTX_H

#include <stdbool.h>

// Whether an image is PTX text.
bool braid_gpu_is_ptx(const char *image);

// The same text with the two instructions at the start of every entry, for the caller to free; NULL
// where it stays as it is: then *out_reason says why in a few words (a constant), or is NULL when
// memory ran out. It stays where the text uses griddepcontrol or clusters itself, or is for a
// device before sm_70, whose threads kept step in a way that raising the target would change. Text
// for sm_70 to sm_89, or of a PTX version before 7.8, has both raised to what the instructions
// need: the driver must accept it, or be given the original.
char *braid_gpu_ptx_with_early_start(const char *text, const char **out_reason);

#endif
