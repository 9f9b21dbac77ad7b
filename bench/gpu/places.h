// SPDX-License-Identifier: Apache-2.0
// What the files of the bench of several devices share.
#ifndef BRAID_BENCH_PLACES_H
#define BRAID_BENCH_PLACES_H

#include "gpu/bench.h"
#include "gpu/places_cholesky.h"

enum { NUM_PLACES = 2 };

struct world {
    braid_device *devices[NUM_PLACES]; // the same twice where there is one
    braid_device *group;
    braid_stream *stream;
    uint32_t num_tiles, tile;
    uint64_t cost_ns[CHOLESKY_NUM_KINDS];
};

// Tiles, each in memory of its owner.
struct matrix {
    braid_device *owners[CHOLESKY_MOST_TILES * CHOLESKY_MOST_TILES];
    uint32_t places[CHOLESKY_MOST_TILES * CHOLESKY_MOST_TILES];
    void *tiles[CHOLESKY_MOST_TILES * CHOLESKY_MOST_TILES];
};

static inline uint64_t world_tile_bytes(const struct world *world)
{
    return (uint64_t)world->tile * world->tile * sizeof(float);
}

// A program's own streams and events: who owns a tile computes it, and panels are copied to the
// other device. Not on the CPU.
struct places_by_hand;
struct places_by_hand *places_by_hand_open(const struct world *world,
                                           const struct cholesky_tasks *tasks,
                                           const struct matrix *matrix);
void places_by_hand_launch(void *hand);
void places_by_hand_wait(void *hand);
void places_by_hand_close(struct places_by_hand *hand);

#endif
