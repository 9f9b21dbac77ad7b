// SPDX-License-Identifier: Apache-2.0
// Threads for host calls that block, so that no thread of the driver's waits in them.
#ifndef BRAID_BACKENDS_GPU_GPU_BLOCKER_H
#define BRAID_BACKENDS_GPU_GPU_BLOCKER_H

struct gpu_backend;

// Calls `call` and then `end` with `user` on a thread of its own, and returns at once; where no
// thread can be started, here. When `end` is called the thread is idle for the next call already.
void braid_gpu_blocker_run(struct gpu_backend *gpu, void (*call)(void *user),
                           void (*end)(void *user), void *user);

// No call is under way, nor will be.
void braid_gpu_blockers_stop(struct gpu_backend *gpu);

#endif
