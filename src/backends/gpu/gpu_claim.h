// SPDX-License-Identifier: Apache-2.0
// Claims on code that a thread is about to make and load.
//
// A driver may compile for seconds, or wait for all work on the device, while it loads or unloads.
// So no lock is held meanwhile. Of two threads that want the same code one makes it, and the other
// waits for that claim alone. Then it looks for the code again, since the first may have failed.
#ifndef BRAID_BACKENDS_GPU_GPU_CLAIM_H
#define BRAID_BACKENDS_GPU_GPU_CLAIM_H

#include <stdint.h>

struct gpu_backend;

struct gpu_claim {
    struct gpu_claim *next; // guarded by gpu_backend.claim_lock
    uint64_t what;
};

// `what`: an address, or a hash. If two codes have the same one, their threads take turns. A thread
// has one claim at a time, and no lock that its holder may want.
void braid_gpu_claim(struct gpu_backend *gpu, struct gpu_claim *claim, uint64_t what);
void braid_gpu_end_claim(struct gpu_backend *gpu, struct gpu_claim *claim);

#endif
