// SPDX-License-Identifier: Apache-2.0
// The kernels of pond.cu, as PTX that the build embeds, and their result.
#ifndef EXAMPLES_POND_H
#define EXAMPLES_POND_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const char pond_ptx[];

#ifdef __cplusplus
}
#endif

// All points of the picture added up, after 20 steps of 16,384 points.
static const int64_t pond_sum = 22389793;

#endif
