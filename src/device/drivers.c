// SPDX-License-Identifier: Apache-2.0
// The table of backends, best first.
#include "device/device.h"

const struct backend_driver *const braid_drivers[] = {
    &braid_cuda_driver,
    &braid_hip_driver,
    &braid_cpu_driver,
};

const size_t braid_num_drivers = sizeof(braid_drivers) / sizeof(braid_drivers[0]);
