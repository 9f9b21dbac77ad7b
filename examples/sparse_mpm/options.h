// SPDX-License-Identifier: Apache-2.0
// The command line of sparse_mpm.
#ifndef MPM_OPTIONS_H
#define MPM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <braid/braid.h>

struct mpm_options {
    const char *backend; // "cpu", "cuda" or "hip"
    braid_exec_mode mode;
    braid_islands islands;
    const char *costs;  // the nodes': "measured" before they are planned, or "estimated"
    uint32_t max_lanes; // 0: the planner chooses
    uint32_t num_frames;
    uint32_t num_particles;
    uint32_t num_devices; // that materials are dealt out to, in runs of their own; 1: none
    uint32_t num_workers; // CPU; 0: one a core, at least 2
    const char *folder;   // for the outputs
    bool quiet;
};

// Returns false after printing what is wrong. After --help and an unknown argument it prints the
// help and ends the program.
bool mpm_options_parse(int argc, char **argv, struct mpm_options *out_options);

#endif
