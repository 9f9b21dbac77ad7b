// SPDX-License-Identifier: Apache-2.0
// Outputs of the run-time compiler, kept on disk from process to process.
#ifndef BRAID_BACKENDS_GPU_GPU_CODE_CACHE_H
#define BRAID_BACKENDS_GPU_GPU_CODE_CACHE_H

#include "backends/gpu/gpu_backend.h"

// All that the result of a compilation depends on.
struct gpu_code_inputs {
    const char *compiler; // which one it is, and which version; "": not known
    const char *option, *name, *source;
    const struct gpu_build *build;
};

// Its key in a disk cache.
struct gpu_code_key {
    char *bytes; // NULL: it has none, and is neither looked for nor kept
    size_t num;
};

// The files that the source may include are part of it. A source that may read something else has
// no key (gpu_code_reads.h), and the log tells why, once for each text.
struct gpu_code_key braid_gpu_code_key(const struct gpu_backend *gpu,
                                       const struct gpu_code_inputs *inputs);

// As braid_disk_cache_read and _write with the device's cache.
char *braid_gpu_code_read(const struct gpu_backend *gpu, const struct gpu_code_key *key,
                          size_t *out_bytes);
void braid_gpu_code_write(const struct gpu_backend *gpu, const struct gpu_code_key *key,
                          const char *image, size_t bytes);

#endif
