// SPDX-License-Identifier: Apache-2.0
// Which files a compilation may read besides its source.
//
// No run-time compiler lists them. So they come from every #include in the source, in headers given
// as text and in files so found, even if the preprocessor skips it. A name stands for each file
// that it may mean, in each folder that the compiler looks in.
#ifndef BRAID_BACKENDS_GPU_GPU_CODE_READS_H
#define BRAID_BACKENDS_GPU_GPU_CODE_READS_H

#include <stdbool.h>
#include <stdio.h>

#include "backends/gpu/gpu_backend.h"

// Writes the included files, the options and the headers into a key. False: something cannot be
// known, and *out_reason says why (a constant, without the name of the source); NULL: memory ran
// out. `knows_own`: names that are nowhere else are headers inside of the compiler.
bool braid_gpu_put_reads(FILE *key, const char *source, const struct gpu_build *build,
                         bool knows_own, const char **out_reason);

// Writes a part of a key that may hold anything: behind its length, so that no two keys read alike.
void braid_gpu_put_part(FILE *key, const char *what, const char *value);

#endif
