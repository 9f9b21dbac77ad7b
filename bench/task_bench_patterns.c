// SPDX-License-Identifier: Apache-2.0
// Makes the shapes of Task Bench's patterns, after its paper's table of dependence relations.
#include <stdlib.h>

#include "task_bench.h"

enum { RADIX = 5 }; // tasks that nearest, spread and random look at

enum pattern {
    TRIVIAL,
    NO_COMM,
    STENCIL,
    STENCIL_PERIODIC,
    DOM,
    TREE,
    FFT,
    ALL_TO_ALL,
    NEAREST,
    SPREAD,
    RANDOM_NEAREST,
    NUM_PATTERNS,
};

const char *const task_bench_pattern_names[] = {
    [TRIVIAL] = "trivial",
    [NO_COMM] = "no_comm",
    [STENCIL] = "stencil_1d",
    [STENCIL_PERIODIC] = "stencil_1d_periodic",
    [DOM] = "dom",
    [TREE] = "tree",
    [FFT] = "fft",
    [ALL_TO_ALL] = "all_to_all",
    [NEAREST] = "nearest",
    [SPREAD] = "spread",
    [RANDOM_NEAREST] = "random_nearest",
};
const uint32_t task_bench_num_patterns = NUM_PATTERNS;

struct row {
    uint32_t begin, end; // columns that have a task
    uint32_t first_node;
};

struct builder {
    struct replay_shape shape;
    enum pattern pattern;
    uint32_t width, num_steps, num_edges, seed;
    struct row before;
};

// dom sweeps from one corner of the rectangle to the other; tree doubles until it is wide.
static struct row row_at(const struct builder *builder, uint32_t step)
{
    uint32_t width = builder->width, left = builder->num_steps - step;
    struct row row = { .end = width, .first_node = builder->shape.num_nodes };
    if (builder->pattern == DOM) {
        row.begin = left < width ? width - left : 0;
        row.end = step + 1 < width ? step + 1 : width;
        if (row.begin >= row.end)
            row.begin = row.end - 1;
    }
    if (builder->pattern == TREE && step < 31 && 1u << step < width)
        row.end = 1u << step;
    return row;
}

// Columns without a task in the row before are left out, as are those named twice by a pattern.
static void add_edge(struct builder *builder, int64_t column)
{
    const struct row *before = &builder->before;
    if (column < before->begin || column >= before->end)
        return;
    uint32_t from = before->first_node + (uint32_t)column - before->begin;
    uint32_t first = builder->shape.first_edge[builder->shape.num_nodes];
    for (uint32_t i = first; i < builder->num_edges; i++)
        if (builder->shape.edges[i] == from)
            return;
    builder->shape.edges[builder->num_edges++] = from;
}

static void add_range(struct builder *builder, int64_t first, int64_t last)
{
    for (int64_t column = first; column <= last; column++)
        add_edge(builder, column);
}

// 1, 2, 4, ... by turns, up to the width.
static int64_t fft_distance(const struct builder *builder, uint32_t step)
{
    uint32_t num_distances = 1;
    while (1u << num_distances < builder->width)
        num_distances++;
    return (int64_t)1 << (step - 1) % num_distances;
}

static void add_random(struct builder *builder, int64_t column)
{
    for (int64_t other = column - RADIX / 2; other <= column + RADIX / 2; other++) {
        builder->seed = builder->seed * 1664525u + 1013904223u;
        if (builder->seed >> 31)
            add_edge(builder, other);
    }
}

static void add_edges(struct builder *builder, uint32_t step, int64_t column)
{
    int64_t width = builder->width, distance;
    switch (builder->pattern) {
    case NO_COMM:
        add_edge(builder, column);
        break;
    case STENCIL:
        add_range(builder, column - 1, column + 1);
        break;
    case STENCIL_PERIODIC:
        for (int64_t i = -1; i <= 1; i++)
            add_edge(builder, (column + i + width) % width);
        break;
    case DOM:
        add_range(builder, column - 1, column);
        break;
    case TREE:
        add_edge(builder, column / 2);
        break;
    case FFT:
        distance = fft_distance(builder, step);
        for (int64_t i = -1; i <= 1; i++)
            add_edge(builder, column + i * distance);
        break;
    case ALL_TO_ALL:
        add_range(builder, 0, width - 1);
        break;
    case NEAREST:
        add_range(builder, column - RADIX / 2, column + RADIX / 2);
        break;
    case SPREAD:
        for (int64_t i = 0; i < RADIX; i++)
            add_edge(builder, (column + i * width / RADIX + (i ? step : 0)) % width);
        break;
    case RANDOM_NEAREST:
        add_random(builder, column);
        break;
    case TRIVIAL:
    case NUM_PATTERNS:
        break;
    }
}

static void add_row(struct builder *builder, uint32_t step)
{
    struct replay_shape *shape = &builder->shape;
    struct row row = row_at(builder, step);
    for (uint32_t column = row.begin; column < row.end; column++) {
        shape->first_edge[shape->num_nodes] = builder->num_edges;
        if (step)
            add_edges(builder, step, column);
        shape->num_nodes++;
    }
    shape->first_edge[shape->num_nodes] = builder->num_edges;
    builder->before = row;
}

struct replay_shape task_bench_shape_create(uint32_t pattern, uint32_t width, uint32_t num_steps)
{
    struct builder builder = {
        .pattern = (enum pattern)pattern, .width = width, .num_steps = num_steps, .seed = 12345
    };
    size_t most = (size_t)width * num_steps;
    uint32_t most_before = pattern == ALL_TO_ALL ? width : RADIX;
    builder.shape.first_edge = replay_allocate(most + 1, sizeof(uint32_t));
    builder.shape.edges = replay_allocate(most * most_before, sizeof(uint32_t));
    for (uint32_t step = 0; step < num_steps; step++)
        add_row(&builder, step);
    return builder.shape;
}
