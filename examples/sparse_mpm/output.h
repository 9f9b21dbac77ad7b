// SPDX-License-Identifier: Apache-2.0
// The files that sparse_mpm leaves behind.
#ifndef MPM_OUTPUT_H
#define MPM_OUTPUT_H

#include "frame.h"

// Makes the folder and those above it. Stops the program when it cannot.
void mpm_output_make_folder(const char *folder);

// Writes schedule.dot and, where Graphviz is installed, schedule.svg.
void mpm_output_schedule(const char *folder, const braid_schedule *schedule);

// Writes splash.png, where the program was built with libpng.
void mpm_output_picture(const char *folder, const struct mpm_world *world);

#endif
