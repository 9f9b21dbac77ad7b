// SPDX-License-Identifier: Apache-2.0
// The seven shapes of graph that launches are measured on, about 1000 nodes each.
#include "gpu/shapes.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_NODES = 1100, MAX_EDGES = 9000, LENGTH = 1000, TILES = 16 };

static void *must_allocate(size_t num, size_t bytes)
{
    void *memory = calloc(num, bytes);
    if (!memory) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return memory;
}

// Adds a node and returns its index; the edges added next are its own.
static uint32_t add_node(struct shape *shape)
{
    uint32_t node = shape->num_nodes++;
    shape->first[node + 1] = shape->first[node];
    return node;
}

// The newest node runs after `before`.
static void add_edge(struct shape *shape, uint32_t before)
{
    shape->before[shape->first[shape->num_nodes]++] = before;
}

static void make_chain(struct shape *shape)
{
    for (uint32_t i = 0; i < LENGTH; i++) {
        add_node(shape);
        if (i > 0)
            add_edge(shape, i - 1);
    }
}

static void make_chains(struct shape *shape)
{
    for (uint32_t i = 0; i < LENGTH; i++) {
        add_node(shape);
        if (i >= 8)
            add_edge(shape, i - 8);
    }
}

// Two of the previous 16, by a small generator of fixed seed.
static void make_random(struct shape *shape)
{
    uint32_t state = 1;
    for (uint32_t i = 0; i < LENGTH; i++) {
        uint32_t window = i < 16 ? i : 16, picked[2] = { 0, 0 };
        add_node(shape);
        for (uint32_t k = 0; k < 2 && k < window; k++) {
            do {
                state = state * 1664525u + 1013904223u;
                picked[k] = 1 + (uint32_t)(((uint64_t)state * window) >> 32);
            } while (k == 1 && picked[1] == picked[0]);
            add_edge(shape, i - picked[k]);
        }
    }
}

static void make_redundant(struct shape *shape)
{
    for (uint32_t i = 0; i < LENGTH; i++) {
        add_node(shape);
        for (uint32_t back = 1; back <= 8 && back <= i; back++)
            add_edge(shape, i - back);
    }
}

// The latest writer of each tile; a task reads some tiles and updates one.
struct tiles {
    uint32_t writer[TILES][TILES];
    uint32_t written[TILES][TILES];
};

static void read_tile(struct shape *shape, const struct tiles *tiles, uint32_t i, uint32_t j)
{
    if (tiles->written[i][j])
        add_edge(shape, tiles->writer[i][j]);
}

static void write_tile(struct shape *shape, struct tiles *tiles, uint32_t i, uint32_t j)
{
    tiles->writer[i][j] = shape->num_nodes - 1;
    tiles->written[i][j] = 1;
}

static void make_cholesky(struct shape *shape)
{
    struct tiles tiles = { { { 0 } }, { { 0 } } };
    for (uint32_t k = 0; k < TILES; k++) {
        add_node(shape); // potrf
        read_tile(shape, &tiles, k, k);
        write_tile(shape, &tiles, k, k);
        for (uint32_t i = k + 1; i < TILES; i++) { // trsm
            add_node(shape);
            read_tile(shape, &tiles, k, k);
            read_tile(shape, &tiles, i, k);
            write_tile(shape, &tiles, i, k);
        }
        for (uint32_t i = k + 1; i < TILES; i++) { // syrk where j == i, else gemm
            for (uint32_t j = k + 1; j <= i; j++) {
                add_node(shape);
                read_tile(shape, &tiles, i, k);
                if (j != i)
                    read_tile(shape, &tiles, j, k);
                read_tile(shape, &tiles, i, j);
                write_tile(shape, &tiles, i, j);
            }
        }
    }
}

static void make_fork_join(struct shape *shape)
{
    enum { ROUNDS = 10, WIDTH = 100 };
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t start = shape->num_nodes;
        for (uint32_t i = 0; i < WIDTH; i++) {
            add_node(shape);
            if (round > 0)
                add_edge(shape, start - 1);
        }
        add_node(shape);
        for (uint32_t i = 0; i < WIDTH; i++)
            add_edge(shape, start + i);
    }
}

static void make_inception(struct shape *shape)
{
    static const uint32_t branches[] = { 1, 2, 3, 2 };
    enum { MODULES = 100 };
    for (uint32_t module = 0; module < MODULES; module++) {
        uint32_t start = shape->num_nodes, ends[4];
        for (uint32_t branch = 0; branch < 4; branch++) {
            for (uint32_t i = 0; i < branches[branch]; i++) {
                ends[branch] = add_node(shape);
                if (i > 0)
                    add_edge(shape, ends[branch] - 1);
                else if (module > 0)
                    add_edge(shape, start - 1);
            }
        }
        add_node(shape);
        for (uint32_t branch = 0; branch < 4; branch++)
            add_edge(shape, ends[branch]);
    }
}

struct shape make_shape(uint32_t index)
{
    static const struct {
        const char *name;
        void (*make)(struct shape *shape);
    } makers[NUM_SHAPES] = {
        { "chain", make_chain },         { "8 chains", make_chains },
        { "random", make_random },       { "redundant", make_redundant },
        { "Cholesky", make_cholesky },   { "fork-join", make_fork_join },
        { "inception", make_inception },
    };
    struct shape shape = { .name = makers[index].name };
    shape.first = must_allocate(MAX_NODES + 1, sizeof(*shape.first));
    shape.before = must_allocate(MAX_EDGES, sizeof(*shape.before));
    makers[index].make(&shape);
    return shape;
}

void free_shape(struct shape *shape)
{
    free(shape->first);
    free(shape->before);
    *shape = (struct shape){ 0 };
}
