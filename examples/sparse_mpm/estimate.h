// SPDX-License-Identifier: Apache-2.0
// Costs measured on the device, in place of the estimates in cost.c.
#ifndef MPM_ESTIMATE_H
#define MPM_ESTIMATE_H

#include <braid/braid.h>

#include "scene.h"

// Runs some frames of the scene on the device and returns the cost of each node in nanoseconds, for
// the caller to free. Prints what each kernel took.
uint64_t *mpm_measure_costs(braid_device *device, const struct mpm_scene *scene);

#endif
