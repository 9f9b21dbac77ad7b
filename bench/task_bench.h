// SPDX-License-Identifier: Apache-2.0
// The dependence patterns of Task Bench (Slaughter et al., "Task Bench: A Parameterized Benchmark
// for Evaluating Parallel Runtime Performance", SC 2020), as shapes of the replay bench.
#ifndef BRAID_BENCH_TASK_BENCH_H
#define BRAID_BENCH_TASK_BENCH_H

#include "replay.h"

extern const char *const task_bench_pattern_names[];
extern const uint32_t task_bench_num_patterns;

// num_steps rows of up to `width` tasks; a task depends on tasks of the row before. Freed by
// replay_shape_destroy.
struct replay_shape task_bench_shape_create(uint32_t pattern, uint32_t width, uint32_t num_steps);

#endif
