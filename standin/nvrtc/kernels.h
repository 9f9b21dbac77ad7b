// SPDX-License-Identifier: Apache-2.0
// From CUDA C to the entries of its PTX, without compiling: only declarations are read.
#ifndef BRAID_STANDIN_NVRTC_KERNELS_H
#define BRAID_STANDIN_NVRTC_KERNELS_H

#include <stdbool.h>

#include "text.h"

// Adds an .entry for every __global__ function that the source defines. Names are plain under
// extern "C", else mangled beyond use, as the real compiler's are. False: errors are in the log.
//
// Understood: pointers, the arithmetic types, the <stdint.h> names, size_t, and typedefs of those.
// Refused with a message: templates, and parameters of any other type. #error anywhere fails:
// conditional compilation is not followed.
bool kernels_translate(const char *source, const char *file, struct text *ptx, struct text *log);

#endif
