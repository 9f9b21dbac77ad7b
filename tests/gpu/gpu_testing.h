// SPDX-License-Identifier: Apache-2.0
// What the tests of the CUDA column over the stand-in driver share, some of which run over the
// stand-in for HIP above it too.
#ifndef BRAID_TESTS_GPU_TESTING_H
#define BRAID_TESTS_GPU_TESTING_H

#include "gpu/frame.h"
#include "standin/standin_control.h"

// "cuda", or what BRAID_TEST_BACKEND says; whether that is "hip".
const char *backend_under_test(void);
bool is_over_hip(void);

// Undoes every BRAID_STANDIN_* setting.
void reset_standin(void);

// Asserts that the driver holds nothing and saw no bad access.
void check_nothing_is_left(void);

#endif
