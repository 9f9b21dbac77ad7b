// SPDX-License-Identifier: Apache-2.0
// Times of the calls of an island: they write them themselves, frame by frame.
#ifndef BRAID_ISLANDS_ISLAND_TIMES_H
#define BRAID_ISLANDS_ISLAND_TIMES_H

#include "islands/gpu_island.h"
#include "tasks/player.h"

struct island_times;

// For the frames of a stage that keeps times; call_of: by task. The device is current.
// Errors: BRAID_UNSUPPORTED (braid_gpu_clock_check), BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_island_times_create(const struct stage *stage, struct gpu_island *island,
                                       const uint32_t *call_of, struct island_times **out_times);
// NULL is destroyed to no effect. Waits for nothing.
void braid_island_times_destroy(struct island_times *times);

// Before a launch, and when it succeeded.
void braid_island_times_begin(struct island_times *times, struct gpu_island *island);
void braid_island_times_launched(struct island_times *times, uint32_t num_frames);

// See player.read_times.
braid_status braid_island_times_read(const struct island_times *times, struct profile *out_profile);
// See player.read_clock.
braid_status braid_island_times_read_clock(const struct island_times *times,
                                           struct profile *profile);

#endif
