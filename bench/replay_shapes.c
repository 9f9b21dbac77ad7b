// SPDX-License-Identifier: Apache-2.0
// The shapes that the replay bench plays.
#include <stdlib.h>

#include "replay.h"

const char *const replay_shape_names[] = { "chain",    "8 chains",  "random",
                                           "cholesky", "fork-join", "inception" };
const uint32_t replay_num_shapes = 6;

struct builder {
    struct replay_shape shape;
    uint32_t num_edges, capacity;
};

static void add_edge(struct builder *builder, uint32_t from)
{
    if (builder->num_edges == builder->capacity) {
        builder->capacity = builder->capacity ? 2 * builder->capacity : 1024;
        void *edges = realloc(builder->shape.edges, builder->capacity * sizeof(uint32_t));
        if (!edges)
            abort();
        builder->shape.edges = edges;
    }
    builder->shape.edges[builder->num_edges++] = from;
}

// Ends the edges of the node that was begun last, and gives its index.
static uint32_t end_node(struct builder *builder)
{
    uint32_t node = builder->shape.num_nodes++;
    builder->shape.first_edge[node + 1] = builder->num_edges;
    return node;
}

static void add_chains(struct builder *builder, uint32_t num_nodes, uint32_t num_chains)
{
    for (uint32_t i = 0; i < num_nodes; i++) {
        if (i >= num_chains)
            add_edge(builder, i - num_chains);
        end_node(builder);
    }
}

// Two of the sixteen nodes before.
static void add_random(struct builder *builder, uint32_t num_nodes)
{
    uint32_t state = 12345;
    for (uint32_t i = 0; i < num_nodes; i++) {
        uint32_t range = i < 16 ? i : 16;
        for (int k = 0; k < 2 && range; k++) {
            state = state * 1664525u + 1013904223u;
            add_edge(builder, i - 1 - (uint32_t)((uint64_t)state * range >> 32));
        }
        end_node(builder);
    }
}

// last[i * tiles + j]: the latest writer of a tile.
static void add_writer(struct builder *builder, uint32_t *last, uint32_t tile, uint32_t read_1,
                       uint32_t read_2)
{
    const uint32_t tiles[3] = { tile, read_1, read_2 };
    for (int i = 0; i < 3; i++) {
        bool seen = (i > 0 && tiles[i] == tile) || (i == 2 && tiles[2] == tiles[1]);
        if (!seen && last[tiles[i]] != UINT32_MAX)
            add_edge(builder, last[tiles[i]]);
    }
    last[tile] = end_node(builder);
}

static void add_cholesky(struct builder *builder, uint32_t num_nodes)
{
    uint32_t tiles = 1;
    while ((tiles + 1) * (tiles + 2) * (tiles + 3) / 6 <= num_nodes)
        tiles++;
    uint32_t *last = replay_allocate((size_t)tiles * tiles, sizeof(*last));
    for (uint32_t i = 0; i < tiles * tiles; i++)
        last[i] = UINT32_MAX;
    for (uint32_t k = 0; k < tiles; k++) {
        uint32_t pivot = k * tiles + k;
        add_writer(builder, last, pivot, pivot, pivot);
        for (uint32_t i = k + 1; i < tiles; i++)
            add_writer(builder, last, i * tiles + k, pivot, pivot);
        for (uint32_t i = k + 1; i < tiles; i++)
            for (uint32_t j = k + 1; j <= i; j++)
                add_writer(builder, last, i * tiles + j, i * tiles + k, j * tiles + k);
    }
    free(last);
}

// One node, eight after it, one after those, and so on.
static void add_fork_join(struct builder *builder, uint32_t num_nodes)
{
    uint32_t fork = end_node(builder);
    while (builder->shape.num_nodes + 9 <= num_nodes) {
        for (int i = 0; i < 8; i++) {
            add_edge(builder, fork);
            end_node(builder);
        }
        for (uint32_t i = 1; i <= 8; i++)
            add_edge(builder, fork + i);
        fork = end_node(builder);
    }
}

// Modules of four branches of 1, 2, 3 and 2 nodes between a concatenation and the next.
static void add_inception(struct builder *builder, uint32_t num_nodes)
{
    static const int lengths[] = { 1, 2, 3, 2 };
    uint32_t input = end_node(builder);
    while (builder->shape.num_nodes + 9 <= num_nodes) {
        uint32_t ends[4];
        for (int branch = 0; branch < 4; branch++) {
            uint32_t last = input;
            for (int i = 0; i < lengths[branch]; i++) {
                add_edge(builder, last);
                last = end_node(builder);
            }
            ends[branch] = last;
        }
        for (int branch = 0; branch < 4; branch++)
            add_edge(builder, ends[branch]);
        input = end_node(builder);
    }
}

struct replay_shape replay_shape_create(uint32_t kind, uint32_t num_nodes)
{
    struct builder builder = { 0 };
    builder.shape.first_edge = replay_allocate((size_t)num_nodes + 1, sizeof(uint32_t));
    if (kind == 0 || kind == 1)
        add_chains(&builder, num_nodes, kind == 0 ? 1 : 8);
    else if (kind == 2)
        add_random(&builder, num_nodes);
    else if (kind == 3)
        add_cholesky(&builder, num_nodes);
    else if (kind == 4)
        add_fork_join(&builder, num_nodes);
    else
        add_inception(&builder, num_nodes);
    return builder.shape;
}

void replay_shape_destroy(struct replay_shape *shape)
{
    free(shape->first_edge);
    free(shape->edges);
}
