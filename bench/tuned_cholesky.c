// SPDX-License-Identifier: Apache-2.0
// Tiled Cholesky factorisation (Buttari, Langou, Kurzak, Dongarra 2009) for the tuning bench.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tuned.h"

enum { TILES = 8, SIDE = 48, TILE = SIDE * SIDE, ALL = TILES * TILES * TILE };

static double *tile_of(double *matrix, int row, int column)
{
    return matrix + (row * TILES + column) * TILE;
}

static void factor(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    double *a = *(double *const *)args[0];
    for (int j = 0; j < SIDE; j++) {
        for (int k = 0; k < j; k++)
            for (int i = j; i < SIDE; i++)
                a[i * SIDE + j] -= a[i * SIDE + k] * a[j * SIDE + k];
        double root = sqrt(a[j * SIDE + j]);
        for (int i = j; i < SIDE; i++)
            a[i * SIDE + j] /= root;
    }
}

// Solves x * l^T = x for a tile below the factored one.
static void solve(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    double *x = *(double *const *)args[0];
    const double *l = *(const double *const *)args[1];
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            double sum = x[i * SIDE + j];
            for (int k = 0; k < j; k++)
                sum -= x[i * SIDE + k] * l[j * SIDE + k];
            x[i * SIDE + j] = sum / l[j * SIDE + j];
        }
}

static void update(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    tuned_multiply(&(struct tuned_product){ .c = *(double *const *)args[0],
                                            .a = *(const double *const *)args[1],
                                            .b = *(const double *const *)args[2],
                                            .m = SIDE,
                                            .n = SIDE,
                                            .k = SIDE,
                                            .scale = -1,
                                            .is_sum = true,
                                            .is_transposed = true });
}

// The same on a GPU: a thread a row, and of the update three by three elements.
static const char source[] =
    "enum { SIDE = 48 };\n"
    "extern \"C\" __global__ void factor(double *a)\n"
    "{\n"
    "    const int i = threadIdx.x;\n"
    "    for (int j = 0; j < SIDE; j++) {\n"
    "        if (i >= j && i < SIDE) {\n"
    "            double sum = a[i * SIDE + j];\n"
    "            for (int k = 0; k < j; k++)\n"
    "                sum -= a[i * SIDE + k] * a[j * SIDE + k];\n"
    "            a[i * SIDE + j] = sum;\n"
    "        }\n"
    "        __syncthreads();\n"
    "        const double root = sqrt(a[j * SIDE + j]);\n"
    "        __syncthreads();\n"
    "        if (i >= j && i < SIDE)\n"
    "            a[i * SIDE + j] /= root;\n"
    "        __syncthreads();\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__ void solve(double *x, const double *l)\n"
    "{\n"
    "    const int i = threadIdx.x;\n"
    "    for (int j = 0; i < SIDE && j < SIDE; j++) {\n"
    "        double sum = x[i * SIDE + j];\n"
    "        for (int k = 0; k < j; k++)\n"
    "            sum -= x[i * SIDE + k] * l[j * SIDE + k];\n"
    "        x[i * SIDE + j] = sum / l[j * SIDE + j];\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__ void update(double *c, const double *a, const double *b)\n"
    "{\n"
    "    const int i = 3 * (threadIdx.x / 16), j = 3 * (threadIdx.x % 16);\n"
    "    double sum[3][3] = { { 0 } };\n"
    "    for (int k = 0; k < SIDE; k++)\n"
    "        for (int x = 0; x < 3; x++)\n"
    "            for (int y = 0; y < 3; y++)\n"
    "                sum[x][y] += a[(i + x) * SIDE + k] * b[(j + y) * SIDE + k];\n"
    "    for (int x = 0; x < 3; x++)\n"
    "        for (int y = 0; y < 3; y++)\n"
    "            c[(i + x) * SIDE + j + y] -= sum[x][y];\n"
    "}\n";

static const braid_kernel factor_kernel = { .name = "factor", .cpu = factor, .source = source };
static const braid_kernel solve_kernel = { .name = "solve", .cpu = solve, .source = source };
static const braid_kernel update_kernel = { .name = "update", .cpu = update, .source = source };

struct making {
    braid_graph *graph;
    bool is_gpu;
    double *matrix; // behind it the one that it is copied from
    braid_resource tiles[TILES][TILES];
};

static void add(struct making *making, const braid_kernel *kernel, const int tiles[][2], size_t num)
{
    double *pointers[3] = { 0 };
    const uint32_t threads = !making->is_gpu ? 1 : kernel == &update_kernel ? 256 : 64;
    braid_access accesses[3];
    braid_arg args[3];
    for (size_t i = 0; i < num; i++) {
        pointers[i] = tile_of(making->matrix, tiles[i][0], tiles[i][1]);
        accesses[i] = (braid_access){ making->tiles[tiles[i][0]][tiles[i][1]],
                                      i ? BRAID_READ : BRAID_READ_WRITE };
        args[i] = (braid_arg){ &pointers[i], sizeof(pointers[i]) };
    }
    if (num == 3 && tiles[1][0] == tiles[2][0] && tiles[1][1] == tiles[2][1])
        num = 2; // one access for both
    tuned_check(
        braid_graph_add_kernel(making->graph,
                               &(braid_kernel_node){ .kernel = kernel,
                                                     .block = { threads, 1, 1 },
                                                     .args = args,
                                                     .num_args = kernel == &update_kernel ? 3 : num,
                                                     .node.accesses = accesses,
                                                     .node.num_accesses = num },
                               NULL));
}

static void add_step(struct making *making, int k)
{
    add(making, &factor_kernel, (const int[][2]){ { k, k } }, 1);
    for (int i = k + 1; i < TILES; i++)
        add(making, &solve_kernel, (const int[][2]){ { i, k }, { k, k } }, 2);
    for (int i = k + 1; i < TILES; i++)
        for (int j = k + 1; j <= i; j++)
            add(making, &update_kernel, (const int[][2]){ { i, j }, { i, k }, { j, k } }, 3);
}

// One tile of the factor's product with itself beside the tile that was there.
static bool is_right(const struct tuned_graph *graph)
{
    double *matrix = graph->memory.mirror;
    tuned_download(&graph->memory);
    static double product[TILE];
    double worst = 0;
    for (int k = 0; k < TILES; k++) {
        double *last = tile_of(matrix, TILES - 1, k), *other = tile_of(matrix, TILES - 1, k);
        for (int i = 0; i < SIDE && k == TILES - 1; i++)
            for (int j = i + 1; j < SIDE; j++)
                last[i * SIDE + j] = 0; // above the diagonal the copy is left
        tuned_multiply(&(struct tuned_product){ .c = product,
                                                .a = last,
                                                .b = other,
                                                .m = SIDE,
                                                .n = SIDE,
                                                .k = SIDE,
                                                .scale = 1,
                                                .is_sum = k > 0,
                                                .is_transposed = true });
    }
    const double *from = tile_of(matrix + ALL, TILES - 1, TILES - 1);
    for (int i = 0; i < TILE; i++)
        worst = fmax(worst, fabs(product[i] - from[i]));
    return worst < 1e-9 * TILES * SIDE;
}

struct tuned_graph tuned_cholesky(braid_device *device)
{
    struct tuned_memory memory = tuned_allocate(device, 2 * ALL * sizeof(double));
    struct making making = { .matrix = memory.at, .is_gpu = memory.is_gpu };
    tuned_check(braid_graph_create(&making.graph));
    double *from = making.matrix + ALL;
    for (int i = 0; i < TILES; i++)
        for (int j = 0; j <= i; j++) {
            char name[32];
            snprintf(name, sizeof(name), "tile %d %d", i, j);
            tuned_check(braid_graph_add_resource(making.graph, name, &making.tiles[i][j]));
            for (int k = 0; k < TILE; k++) // symmetric, and its diagonal outweighs the rest
                tile_of(tuned_mirror(&memory, from), i, j)[k] =
                    i == j && k % (SIDE + 1) == 0 ? 4.0 * TILES * SIDE : 1.0 + (i + j) % 3;
            tuned_check(braid_graph_add_copy(
                making.graph,
                &(braid_copy){ .to = tile_of(making.matrix, i, j),
                               .from = tile_of(from, i, j),
                               .bytes = TILE * sizeof(double),
                               BRAID_ACCESSES({ making.tiles[i][j], BRAID_WRITE }) },
                NULL));
        }
    for (int k = 0; k < TILES; k++)
        add_step(&making, k);
    tuned_upload(&memory);
    return (struct tuned_graph){ .name = "Cholesky, 8 x 8 tiles of 48 x 48",
                                 .graph = making.graph,
                                 .memory = memory,
                                 .is_right = is_right };
}
