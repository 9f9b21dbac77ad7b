// SPDX-License-Identifier: Apache-2.0
// Costs measured on the device, in place of the estimates in cost.c.
#ifndef MPM_ESTIMATE_H
#define MPM_ESTIMATE_H

#include <braid/braid.h>

#include "scene.h"

// Runs half of the frames of the scene on the device, measures the next ones and returns the cost
// of each node in nanoseconds, for the caller to free. Prints the time of each kernel.
// NULL, and a line that says so: Braid was built without the add-on that measures.
uint64_t *mpm_measure_costs(braid_device *device, const struct mpm_scene *scene,
                            uint32_t num_frames);

#endif
