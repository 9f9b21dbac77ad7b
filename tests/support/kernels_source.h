// SPDX-License-Identifier: Apache-2.0
// The GPU source of the test kernels: CUDA C that is also HIP C++.
#ifndef BRAID_TESTS_KERNELS_SOURCE_H
#define BRAID_TESTS_KERNELS_SOURCE_H

extern const char test_kernels_source[];

#endif
