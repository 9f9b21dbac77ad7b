// SPDX-License-Identifier: Apache-2.0
// How the replay bench measures a player.
#ifndef BRAID_BENCH_REPLAY_MEASURE_H
#define BRAID_BENCH_REPLAY_MEASURE_H

#include <sys/types.h>

#include "replay.h"

struct replay_case {
    const struct replay_shape *shape;
    const struct replay_body *body;
    uint32_t num_workers;
    uint64_t gap_ns;    // slept before each frame
    uint64_t budget_ns; // for frames; 0: as much as a measurement usually has
};

// Times of a frame, in ns; -1 if the player cannot play. On a machine that others use, the fastest
// frame says what a player can do, and the median what it did there.
struct replay_times {
    double median, fastest;
};

struct replay_times replay_measure(const struct replay_player *player,
                                   const struct replay_case *played);

double replay_median(double *values, size_t num); // sorts them

struct replay_idle {
    double gaps_percent, later_percent; // a part of one core; -1: cannot play
};

struct replay_idle replay_measure_idle(const struct replay_player *player);

// How many of the players run a node before one that it needs; each is printed.
uint32_t replay_count_wrong_orders(const struct replay_player *const *players, uint32_t num_players,
                                   const struct replay_shape *shape, const char *shape_name,
                                   uint32_t num_workers);

// A process that keeps core 0 busy.
struct replay_hog {
    pid_t process;
};

struct replay_hog replay_hog_start(void);
void replay_hog_stop(struct replay_hog hog);

#endif
