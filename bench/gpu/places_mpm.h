// SPDX-License-Identifier: Apache-2.0
// sparse_mpm on two devices as a program writes it by hand: a stream for each material on its
// device, events where materials meet, and cells that are read where they are.
#ifndef BRAID_BENCH_PLACES_MPM_H
#define BRAID_BENCH_PLACES_MPM_H

#include "examples/sparse_mpm/run.h"

struct mpm_by_hand;
// The kernels and arguments are those of the run's exec, which is on streams and outlives it.
// Captured: once, into one graph over both devices.
struct mpm_by_hand *mpm_by_hand_open(struct mpm_run *run, bool captured);
void mpm_by_hand_launch(struct mpm_by_hand *hand);
void mpm_by_hand_wait(struct mpm_by_hand *hand);
void mpm_by_hand_close(struct mpm_by_hand *hand);

#endif
