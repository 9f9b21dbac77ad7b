// SPDX-License-Identifier: Apache-2.0
// What a life does with frames: two that overlap, which wait for each other, and one that is timed.
#ifndef BRAID_TESTS_GPU_LIFE_OVERLAP_H
#define BRAID_TESTS_GPU_LIFE_OVERLAP_H

#include <braid/braid.h>

// Execs of a graph on two words of device memory. Errors as braid_exec_create.
braid_status life_create_overlapping(braid_device *device, uint32_t *words, braid_exec_mode mode,
                                     braid_exec **out_exec);
braid_status life_create_timed(braid_device *device, uint32_t *words, braid_exec_mode mode,
                               braid_exec **out_exec);

// Each launches, and waits.
braid_status life_run_overlapping(braid_exec *exec, braid_stream *stream);
braid_status life_run_timed(braid_exec *exec, braid_stream *stream);

#endif
