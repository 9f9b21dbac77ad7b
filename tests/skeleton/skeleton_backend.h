// SPDX-License-Identifier: Apache-2.0
// The smallest backend that keeps every law, to copy from.
#ifndef BRAID_TESTS_SKELETON_BACKEND_H
#define BRAID_TESTS_SKELETON_BACKEND_H

#include <braid/device.h>

braid_status skeleton_open(braid_device **out_device);

#endif
