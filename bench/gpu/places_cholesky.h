// SPDX-License-Identifier: Apache-2.0
// Tiled Cholesky: the kernels of a tile, on a GPU and the CPU, and the tasks in the order in which
// a program would make them one after the other.
#ifndef BRAID_BENCH_PLACES_CHOLESKY_H
#define BRAID_BENCH_PLACES_CHOLESKY_H

#include <braid/braid.h>

enum { CHOLESKY_MOST_TILES = 48 }; // a side

enum cholesky_kind { CHOLESKY_POTRF, CHOLESKY_TRSM, CHOLESKY_GEMM, CHOLESKY_NUM_KINDS };

// The tile (i, j) is written; those that are read besides are the first `num_reads` of `reads`.
struct cholesky_task {
    enum cholesky_kind kind;
    uint32_t to, num_reads, reads[2]; // tiles: i * CHOLESKY_MOST_TILES + j
};

struct cholesky_tasks {
    uint32_t num;
    struct cholesky_task items[CHOLESKY_MOST_TILES * CHOLESKY_MOST_TILES * CHOLESKY_MOST_TILES / 6 +
                               2 * CHOLESKY_MOST_TILES * CHOLESKY_MOST_TILES];
};

static inline uint32_t cholesky_tile(uint32_t i, uint32_t j)
{
    return i * CHOLESKY_MOST_TILES + j;
}

void cholesky_list(uint32_t num_tiles, struct cholesky_tasks *out_tasks);

extern const braid_kernel cholesky_kernels[CHOLESKY_NUM_KINDS];
// For a tile of n * n; n is a multiple of 32, up to 256. Arguments: the tile that is written,
// those that are read, n.
braid_dim3 cholesky_grid(enum cholesky_kind kind, uint32_t n);
braid_dim3 cholesky_block(enum cholesky_kind kind, uint32_t n);

#endif
