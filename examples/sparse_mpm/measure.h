// SPDX-License-Identifier: Apache-2.0
// Times and their medians.
#ifndef MPM_MEASURE_H
#define MPM_MEASURE_H

#include <stdint.h>

// Nanoseconds since some fixed moment.
uint64_t mpm_now_ns(void);

// The median of `values`, which are sorted on the way.
uint64_t mpm_median(uint64_t *values, uint32_t num_values);

#endif
