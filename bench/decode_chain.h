// SPDX-License-Identifier: Apache-2.0
// Chains of matrix-vector products, as a language model makes them for each token.
#ifndef BRAID_BENCH_DECODE_CHAIN_H
#define BRAID_BENCH_DECODE_CHAIN_H

#include <stdint.h>

#include <braid/braid.h>

enum {
    DECODE_MOST_KERNELS = 96,
    DECODE_WARPS = 8, // in a block
    DECODE_THREADS = 32 * DECODE_WARPS,
    DECODE_NUM_EQUAL = 80,
    DECODE_MOST_ROWS = 131072,
};

// One product: each warp computes `rows_each` rows of `columns` values of two bytes (bfloat16).
struct decode_product {
    uint32_t rows, columns, rows_each;
    uint64_t at; // where its weights begin, in bytes
};

struct decode_chain {
    const char *name;
    struct decode_product products[DECODE_MOST_KERNELS];
    uint32_t num;
    uint64_t bytes;
};

struct decode_memory {
    char *weights;
    float *vectors[2]; // read and written by turns
};

// The shapes of a transformer with 1.2 billion parameters at batch 1: 16 layers and a vocabulary.
struct decode_chain decode_make_transformer(void);
struct decode_chain decode_make_equal(const char *name, uint64_t bytes, uint32_t blocks);
uint32_t decode_count_blocks(const struct decode_product *one);

// The kernel, and as its author would write it for programmatic edges.
extern const braid_kernel decode_product, decode_product_early;

// Adds its kernels to a graph, each behind the one before.
braid_status decode_add_nodes(braid_graph *graph, const struct decode_chain *chain,
                              const struct decode_memory *memory);

#endif
