// SPDX-License-Identifier: Apache-2.0
// What the files of the HIP column share.
#ifndef BRAID_BACKENDS_HIP_HIP_VENDOR_H
#define BRAID_BACKENDS_HIP_HIP_VENDOR_H

#include "backends/gpu/gpu_vendor.h"

gpu_result braid_hip_add_kernel(const struct gpu_backend *gpu, const struct gpu_place *place,
                                const struct backend_launch *launch, gpu_node *out_node,
                                const void **out_slot);
gpu_result braid_hip_set_kernel(const struct gpu_backend *gpu, gpu_executable executable,
                                gpu_node node, const struct backend_launch *launch);
gpu_result braid_hip_set_copy(const struct gpu_backend *gpu, gpu_executable executable,
                              gpu_node node, void *to, const void *from, size_t bytes,
                              const void **out_slot);
gpu_result braid_hip_set_fill(const struct gpu_backend *gpu, gpu_executable executable,
                              gpu_node node, void *to, uint32_t value, uint32_t value_bytes,
                              size_t num_values, const void **out_slot);
gpu_result braid_hip_add_copy(const struct gpu_backend *gpu, const struct gpu_place *place,
                              void *to, const void *from, size_t bytes, gpu_node *out_node,
                              const void **out_slot);
gpu_result braid_hip_add_fill(const struct gpu_backend *gpu, const struct gpu_place *place,
                              void *to, uint32_t value, uint32_t value_bytes, size_t num_values,
                              gpu_node *out_node, const void **out_slot);

// Whether the image has code for the backend's architecture, as far as its format is known: loading
// one that has none would abort the process.
braid_status braid_hip_check_image(const struct gpu_backend *gpu, const braid_kernel *kernel,
                                   const void *image);

// Whether `image` has code for `architecture` ("gfx90a:sramecc+:xnack-"): each feature that the
// code states must be the device's; one that it does not state may be either. BRAID_UNSUPPORTED: it
// has not; `found` then names what it has.
braid_status braid_hip_find_architecture(const void *image, const char *architecture, char *found,
                                         size_t found_size);

#endif
