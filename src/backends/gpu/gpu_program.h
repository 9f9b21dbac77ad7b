// SPDX-License-Identifier: Apache-2.0
// One run of the run-time compiler: from source to an image and the name of its entry.
#ifndef BRAID_BACKENDS_GPU_GPU_PROGRAM_H
#define BRAID_BACKENDS_GPU_GPU_PROGRAM_H

#include "backends/gpu/gpu_backend.h"

// The target of a compilation: a device's own code, or text that the driver compiles further.
struct gpu_target {
    char option[96];
    bool text;
};

// *out_block, for the caller to free: the image, a zero byte, the entry named by the code's
// expression ("" without one), a zero byte. Errors: as for braid_gpu_compile.
braid_status braid_gpu_program_compile(const struct gpu_backend *gpu,
                                       const struct gpu_compiler_api *api, const char *name,
                                       const struct gpu_code *code, const struct gpu_target *target,
                                       char **out_block, size_t *out_bytes);

#endif
