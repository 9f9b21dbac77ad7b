// SPDX-License-Identifier: Apache-2.0
// Programs: whole plans compiled for the lane walker.
#include "backends/cpu/cpu_program.h"

struct cpu_job *cpu_program_start(struct cpu_backend *backend, struct backend_program *program,
                                  struct cpu_patch *patch, struct cpu_job *then)
{
    (void)backend;
    (void)program;
    (void)patch;
    (void)then;
    return NULL;
}
