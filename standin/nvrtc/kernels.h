// SPDX-License-Identifier: Apache-2.0
// From CUDA C to the entries of its PTX, without compiling: only declarations are read.
#ifndef BRAID_STANDIN_NVRTC_KERNELS_H
#define BRAID_STANDIN_NVRTC_KERNELS_H

#include <stdbool.h>

#include "text.h"
#include "tokens.h"

// Adds an .entry for every __global__ function that the source defines. Names are plain under
// extern "C", else mangled beyond use, as the real compiler's are. False: errors are in the log.
//
// A template is translated for the arguments that `expression` gives it, if that names it; NULL: no
// expression.
//
// Understood: pointers, the arithmetic types, the <stdint.h> names, size_t, and typedefs of those.
// Refused with a message: templates that no
// expression names, and parameters of any other type. #error anywhere fails:
// conditional compilation is not followed.
bool kernels_translate(const char *source, const char *file, const char *expression,
                       struct text *ptx, struct text *log);

// The entry of a function that is not extern "C", in `name`.
void kernels_lower(struct token function, char *name, size_t size);

#endif
