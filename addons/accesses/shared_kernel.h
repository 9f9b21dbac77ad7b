// SPDX-License-Identifier: Apache-2.0
// Kernels as they were read, kept for the next graph with the same text.
#ifndef BRAID_ACCESSES_SHARED_KERNEL_H
#define BRAID_ACCESSES_SHARED_KERNEL_H

#include "accesses/accesses.h"

struct shared_kernel;

// Reads a kernel, or finds it among those that were read before. The text need not outlive the
// call. Errors: those of braid_accesses_read. Thread-safety: any thread.
braid_status braid_shared_kernel_find(const char *text, const char *entry,
                                      struct shared_kernel **out_kernel);
void braid_shared_kernel_release(struct shared_kernel *kernel);

const struct accesses_kernel *braid_shared_kernel_read(const struct shared_kernel *kernel);

#endif
