// SPDX-License-Identifier: Apache-2.0
// Programs: whole plans compiled for the lane walker.
#ifndef BRAID_BACKENDS_CPU_CPU_PROGRAM_H
#define BRAID_BACKENDS_CPU_CPU_PROGRAM_H

#include "backends/cpu/cpu.h"

struct backend_program;
struct cpu_patch;

// Begins a frame of the program and returns a lane for the calling thread to run, or NULL if there
// is nothing to do. The thread that ends the last lane runs `then`. Lock not held.
struct cpu_job *cpu_program_start(struct cpu_backend *backend, struct backend_program *program,
                                  struct cpu_patch *patch, struct cpu_job *then);

#endif
