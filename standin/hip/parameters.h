// SPDX-License-Identifier: Apache-2.0
// Descriptions of work that HIP and CUDA lay out differently, translated from the one to the other.
#ifndef BRAID_STANDIN_HIP_PARAMETERS_H
#define BRAID_STANDIN_HIP_PARAMETERS_H

#include <stdbool.h>

#include "cuda_driver.h"

// Room for what CUDA wants instead of a launch's `extra`: two pairs and the end.
struct extra {
    void *words[5];
};

// Translates the tags of a launch's `extra` list. False if the list holds anything but one packed
// buffer and its size.
bool translate_extra(void **extra, struct extra *out_extra);

// `out_extra` must live as long as the result is used. False if params->extra is not valid.
bool translate_kernel(const hipKernelNodeParams *params, struct extra *out_extra,
                      CUDA_KERNEL_NODE_PARAMS_v1 *out_params);

CUDA_MEMSET_NODE_PARAMS translate_fill(const hipMemsetParams *params);

// A copy between two pitched pointers; the caller has refused arrays.
CUDA_MEMCPY3D translate_copy(const hipMemcpy3DParms *params);

CUDA_MEMCPY3D linear_copy(void *to, const void *from, size_t num_bytes);

#endif
