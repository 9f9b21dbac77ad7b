// SPDX-License-Identifier: Apache-2.0
// What a function tells of itself, to those who name it otherwise: see library.c.
#ifndef BRAID_STANDIN_FUNCTION_H
#define BRAID_STANDIN_FUNCTION_H

#include "cuda_abi.h"

// The first two expect the world's lock.
CUresult function_get_attribute(CUfunction function, CUfunction_attribute attribute,
                                int *out_value);
CUresult function_set_attribute(CUfunction function, CUfunction_attribute attribute, int value);
CUresult function_get_parameter(CUfunction function, size_t index, size_t *out_offset,
                                size_t *out_bytes);

#endif
