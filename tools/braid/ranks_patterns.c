// SPDX-License-Identifier: Apache-2.0
// Graphs of many ranks by name: a stencil with halo exchange, and a tiled Cholesky factorisation.
//
// They are those of examples/ranks. Both grow with the ranks, so that each has as much memory at
// any number (weak scaling), unless told to stay as they are (strong=1).
#include "ranks_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SETTINGS = 8 };

typedef void pattern_maker(const double *values, uint32_t num_ranks, struct ranks_world *world);

enum { HALO_ROWS, HALO_COLUMNS, HALO_STEPS, HALO_CELL_NS, HALO_STRONG };

// Each rank and field has the rows that neighbours read, and the rest.
struct rows {
    uint32_t first, middle, last;
};

static void need_rows(struct ranks_world *world, const struct rows *rows)
{
    ranks_world_add_edge(world, rows->first);
    ranks_world_add_edge(world, rows->middle);
    ranks_world_add_edge(world, rows->last);
}

static struct rows add_step(struct ranks_world *world, const double *values, uint32_t rank,
                            double rows, const struct rows *before)
{
    double row_ns = values[HALO_COLUMNS] * values[HALO_CELL_NS];
    double bytes = values[HALO_COLUMNS] * sizeof(double);
    struct rows made;
    made.middle = ranks_world_add_task(world, rank, row_ns * (rows > 2 ? rows - 2 : 1), 0);
    if (before)
        need_rows(world, &before[rank]);
    made.first = ranks_world_add_task(world, rank, row_ns, bytes);
    if (before)
        need_rows(world, &before[rank]);
    if (before && rank > 0)
        ranks_world_add_edge(world, before[rank - 1].last);
    made.last = ranks_world_add_task(world, rank, row_ns, bytes);
    if (before)
        need_rows(world, &before[rank]);
    if (before && rank + 1 < world->num_ranks)
        ranks_world_add_edge(world, before[rank + 1].first);
    return made;
}

static void make_halo(const double *values, uint32_t num_ranks, struct ranks_world *world)
{
    struct rows *fields[2] = { calloc(num_ranks, sizeof(struct rows)),
                               calloc(num_ranks, sizeof(struct rows)) };
    double rows = values[HALO_ROWS] / (values[HALO_STRONG] > 0 ? num_ranks : 1);
    world->lacks_memory |= !fields[0] || !fields[1];
    // What the frame begins with is there, and its rows go out at once.
    for (uint32_t rank = 0; rank < num_ranks && !world->lacks_memory; rank++) {
        uint32_t begin = ranks_world_add_task(world, rank, 1, values[HALO_COLUMNS] * 8);
        fields[1][rank] = (struct rows){ begin, begin, begin };
    }
    for (int step = 0; step < (int)values[HALO_STEPS] && !world->lacks_memory; step++) {
        for (uint32_t rank = 0; rank < num_ranks; rank++)
            fields[step % 2][rank] = add_step(world, values, rank, rows, fields[(step + 1) % 2]);
    }
    free(fields[0]);
    free(fields[1]);
}

enum { CHOLESKY_TILES, CHOLESKY_SIZE, CHOLESKY_GFLOPS, CHOLESKY_STRONG };

struct tiles {
    struct ranks_world *world;
    uint32_t *made; // by tile: the task that wrote it last, from 1
    int num, across, down;
    double flop_ns, size, bytes;
};

static uint32_t *tile_at(struct tiles *tiles, int row, int column)
{
    return &tiles->made[(size_t)row * (size_t)tiles->num + (size_t)column];
}

// `flops` of a tile's cube.
static void add_tile_task(struct tiles *tiles, int row, int column, double flops,
                          const int reads[2][2])
{
    uint32_t *tile = tile_at(tiles, row, column);
    double cost = flops * tiles->size * tiles->size * tiles->size * tiles->flop_ns;
    uint32_t rank = (uint32_t)(row % tiles->down * tiles->across + column % tiles->across);
    uint32_t before = *tile;
    *tile = ranks_world_add_task(tiles->world, rank, cost, tiles->bytes) + 1;
    if (before)
        ranks_world_add_edge(tiles->world, before - 1);
    for (int i = 0; i < 2; i++) {
        if (reads[i][0] >= 0)
            ranks_world_add_edge(tiles->world, *tile_at(tiles, reads[i][0], reads[i][1]) - 1);
    }
}

static void add_tile_column(struct tiles *tiles, int k)
{
    const int none[2][2] = { { -1, 0 }, { -1, 0 } }, diagonal[2][2] = { { k, k }, { -1, 0 } };
    add_tile_task(tiles, k, k, 1.0 / 3, none);
    for (int row = k + 1; row < tiles->num; row++)
        add_tile_task(tiles, row, k, 1, diagonal);
    for (int row = k + 1; row < tiles->num; row++) {
        for (int column = k + 1; column <= row; column++) {
            const int both[2][2] = { { row, k }, { row == column ? -1 : column, k } };
            add_tile_task(tiles, row, column, row == column ? 1 : 2, both);
        }
    }
}

static void make_cholesky(const double *values, uint32_t num_ranks, struct ranks_world *world)
{
    double grow = values[CHOLESKY_STRONG] > 0 ? 1 : sqrt(num_ranks);
    struct tiles tiles = { .world = world,
                           .num = (int)(values[CHOLESKY_TILES] * grow + 0.5),
                           .across = (int)num_ranks,
                           .down = 1,
                           .flop_ns = 1 / values[CHOLESKY_GFLOPS],
                           .size = values[CHOLESKY_SIZE] };
    tiles.bytes = tiles.size * tiles.size * sizeof(double);
    for (int i = 2; i * i <= (int)num_ranks; i++)
        tiles.down = (int)num_ranks % i == 0 ? i : tiles.down;
    tiles.across = (int)num_ranks / tiles.down;
    tiles.made = tiles.num < 20000
                     ? calloc((size_t)tiles.num * (size_t)tiles.num + 1, sizeof(*tiles.made))
                     : NULL;
    world->lacks_memory |= !tiles.made;
    for (int k = 0; k < tiles.num && !world->lacks_memory; k++)
        add_tile_column(&tiles, k);
    free(tiles.made);
}

static const struct pattern {
    const char *name;
    pattern_maker *make;
    struct {
        const char *name;
        double value;
    } settings[MOST_SETTINGS];
} patterns[] = {
    { "halo",
      make_halo,
      { { "rows", 512 }, { "columns", 2048 }, { "steps", 4 }, { "cell_ns", 1 }, { "strong", 0 } } },
    { "cholesky",
      make_cholesky,
      { { "tiles", 4 }, { "size", 128 }, { "gflops", 5 }, { "strong", 0 } } },
};

static const struct pattern *find_pattern(const char *name)
{
    for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
        if (strcmp(patterns[i].name, name) == 0)
            return &patterns[i];
    }
    return NULL;
}

static enum exit_status read_setting(const struct pattern *pattern, char *text, double *values)
{
    char *equals = strchr(text, '='), *end = text;
    double value = equals ? strtod(equals + 1, &end) : -1;
    if (!equals || *end || end == equals + 1 || !(value >= 0 && value <= 1e9))
        return fail(EXIT_BAD_FILE, "--pattern: '%s' is not NAME=NUMBER", text);
    *equals = '\0';
    for (int i = 0; i < MOST_SETTINGS && pattern->settings[i].name; i++) {
        if (strcmp(pattern->settings[i].name, text) == 0) {
            bool may_be_0 = strcmp(text, "strong") == 0;
            values[i] = value;
            return value > 0 || may_be_0
                       ? EXIT_DONE
                       : fail(EXIT_BAD_FILE, "--pattern: %s is more than 0", text);
        }
    }
    return fail(EXIT_BAD_FILE, "--pattern: %s has no setting '%s'", pattern->name, text);
}

enum exit_status ranks_pattern_read(char *text, struct ranks_pattern *out_pattern)
{
    char *settings = strchr(text, ':');
    if (settings)
        *settings++ = '\0';
    const struct pattern *pattern = find_pattern(text);
    if (!pattern)
        return fail(EXIT_BAD_FILE, "--pattern takes halo or cholesky, not '%s'", text);
    out_pattern->name = pattern->name;
    for (int i = 0; i < MOST_SETTINGS; i++)
        out_pattern->values[i] = pattern->settings[i].value;
    enum exit_status status = EXIT_DONE;
    for (char *word; status == EXIT_DONE && (word = strsep(&settings, ","));)
        status = read_setting(pattern, word, out_pattern->values);
    return status;
}

enum exit_status ranks_pattern_make(const struct ranks_pattern *pattern, uint32_t num_ranks,
                                    struct ranks_world *out_world)
{
    struct ranks_world world = { .num_ranks = num_ranks };
    find_pattern(pattern->name)->make(pattern->values, num_ranks, &world);
    if (world.lacks_memory) {
        ranks_world_finish(&world);
        return fail(EXIT_FAILED, "out of memory for the graph of %u ranks", num_ranks);
    }
    *out_world = world;
    return EXIT_DONE;
}
