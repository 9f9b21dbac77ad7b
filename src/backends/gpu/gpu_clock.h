// SPDX-License-Identifier: Apache-2.0
// Readings of the clock of kernels, with the host's clock at the same moment.
#ifndef BRAID_BACKENDS_GPU_GPU_CLOCK_H
#define BRAID_BACKENDS_GPU_GPU_CLOCK_H

#include "backends/gpu/gpu_backend.h"
#include "base/clock.h"

// Whether times that kernels write can be told: BRAID_UNSUPPORTED, and the reason, where the driver
// takes no kernel that reads the clock. Errors: also those of loading that kernel. The device is
// current.
braid_status braid_gpu_clock_check(struct gpu_backend *gpu);

// By a kernel between two readings of the host's clock, which writes 8 bytes of the device's
// memory. Nothing else is on the stream. Errors: BRAID_UNSUPPORTED (there is no such kernel for the
// device), BRAID_DEVICE_ERROR.
braid_status braid_gpu_read_clock(struct gpu_backend *gpu, struct backend_stream *stream,
                                  void *memory, struct clock_pair *out_pair);

#endif
