// SPDX-License-Identifier: Apache-2.0
// The shared parts of the HIP column.
#ifndef BRAID_BACKENDS_HIP_HIP_VENDOR_H
#define BRAID_BACKENDS_HIP_HIP_VENDOR_H

#include "backends/gpu/gpu_vendor.h"

// Whether `image` has code for `architecture` ("gfx90a:sramecc+:xnack-"). Each feature that the
// code states must be the device's; one that it does not state may be either. BRAID_UNSUPPORTED: it
// has none; `found` then names the architectures that it has.
braid_status braid_hip_find_architecture(const void *image, const char *architecture, char *found,
                                         size_t found_size);

#endif
