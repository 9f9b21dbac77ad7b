// SPDX-License-Identifier: Apache-2.0
// The lane walker, with a clock.
#include "backends/cpu/walker/walker_walk.h"

struct cpu_job *braid_cpu_lane_run_timed(struct cpu_backend *backend, struct cpu_job *job,
                                         const struct cpu_point *until)
{
    (void)until;
    struct cpu_lane *lane = cpu_lane_of_job(job);
    const struct cpu_program *program = lane->program;
    return walk(backend, lane, &program->profile->clocks[lane - program->lanes], false);
}
