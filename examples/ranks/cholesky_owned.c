// SPDX-License-Identifier: Apache-2.0
// A tiled Cholesky factorisation over several ranks whose tiles have owners: each rank adds the
// tasks as one alone would, and Braid runs each where its result belongs and sends what it needs.
//
//     mpirun -n 4 cholesky_owned [TILES [TILE_SIZE]]
//
// Every rank compares its tiles, bit by bit, with those of a factorisation that it makes alone.
#include <string.h>

#include "../check.h"
#include "cholesky_tasks.h"

enum { MOST_TILES = 64 };

struct job {
    braid_graph *graph;
    uint32_t rank;
    int num_tiles, size, across, down;     // tiles a side, cells a side; ranks
    double *cells[MOST_TILES][MOST_TILES]; // for tiles of this rank
    braid_resource tiles[MOST_TILES][MOST_TILES];
};

static double *make_tile(const struct job *job, int row, int column)
{
    int n = job->size;
    double *cells = check_memory(malloc((size_t)n * (size_t)n * sizeof(*cells)));
    for (int i = 0; i < n * n; i++)
        cells[i] = cholesky_cell(job->num_tiles * n, row * n + i % n, column * n + i / n);
    return cells;
}

// Dealt out block-cyclically. Only the owner has memory of its own for a tile.
static void add_tile(struct job *job, braid_resource world, int row, int column)
{
    char name[32];
    uint32_t owner = (uint32_t)(row % job->down * job->across + column % job->across);
    if (owner == job->rank)
        job->cells[row][column] = make_tile(job, row, column);
    snprintf(name, sizeof(name), "tile %d,%d", row, column);
    CHECK(braid_graph_add_owned_buffer(job->graph, world, owner, name, job->cells[row][column],
                                       (uint64_t)job->size * (uint64_t)job->size * sizeof(double),
                                       &job->tiles[row][column]));
}

// Computes a tile from itself and up to two others.
static void add_task(struct job *job, const braid_kernel *kernel, braid_resource tile,
                     const braid_resource *reads, size_t num)
{
    braid_arg args[4] = { braid_resource_address(&tile) };
    braid_access accesses[3] = { { tile, BRAID_READ_WRITE } };
    for (size_t i = 0; i < num; i++) {
        args[1 + i] = braid_resource_address(&reads[i]);
        accesses[1 + i] = (braid_access){ reads[i], BRAID_READ };
    }
    if (!braid_graph_takes_part(job->graph, accesses, 1 + num))
        return; // adding it would do nothing
    args[1 + num] = BRAID_ARG(job->size);
    CHECK(braid_graph_add_kernel(job->graph,
                                 &(braid_kernel_node){ .kernel = kernel,
                                                       .args = args,
                                                       .num_args = 2 + num,
                                                       .node.accesses = accesses,
                                                       .node.num_accesses = 1 + num },
                                 NULL));
}

static void add_column(struct job *job, int k)
{
    add_task(job, &factor_kernel, job->tiles[k][k], NULL, 0);
    for (int row = k + 1; row < job->num_tiles; row++)
        add_task(job, &solve_kernel, job->tiles[row][k], &job->tiles[k][k], 1);
    for (int row = k + 1; row < job->num_tiles; row++) {
        for (int column = k + 1; column <= row; column++)
            add_task(job, &update_kernel, job->tiles[row][column],
                     (braid_resource[]){ job->tiles[row][k], job->tiles[column][k] }, 2);
    }
}

// One column after another, for comparison.
static int count_wrong_alone(const struct job *job)
{
    static double *all[MOST_TILES][MOST_TILES];
    size_t bytes = (size_t)job->size * (size_t)job->size * sizeof(double);
    int num = job->num_tiles, wrong = 0;
    for (int i = 0; i < num * num; i++)
        all[i / num][i % num] = make_tile(job, i / num, i % num);
    for (int k = 0; k < num; k++) {
        cholesky_factor(all[k][k], job->size);
        for (int row = k + 1; row < num; row++)
            cholesky_solve(all[row][k], all[k][k], job->size);
        for (int i = (k + 1) * num; i < num * num; i++) {
            if (i % num > k && i % num <= i / num)
                cholesky_update(all[i / num][i % num], all[i / num][k], all[i % num][k], job->size);
        }
    }
    for (int i = 0; i < num * num; i++) {
        const double *own = job->cells[i / num][i % num];
        wrong += own && memcmp(own, all[i / num][i % num], bytes) != 0;
        free(all[i / num][i % num]);
    }
    return wrong;
}

int main(int argc, char **argv)
{
    static struct job job;
    braid_ranks *ranks;
    braid_communicator *communicator;
    braid_resource world;
    braid_device *device;
    braid_exec *exec;
    check_arguments(argc, argv, 2, "[TILES [TILE_SIZE]]");
    job.num_tiles = argc > 1 ? atoi(argv[1]) : 8;
    job.size = argc > 2 ? atoi(argv[2]) : 32;
    if (job.num_tiles < 1 || job.num_tiles > MOST_TILES || job.size < 1)
        return EXIT_FAILURE;
    CHECK(braid_ranks_open(NULL, &ranks));
    CHECK(braid_communicator_create(ranks, "world", 0, &communicator));
    CHECK(
        braid_device_open(&(braid_device_options){ .backend = "cpu", .num_workers = 1 }, &device));
    CHECK(braid_graph_create(&job.graph));
    CHECK(braid_graph_add_communicator(job.graph, communicator, &world));
    braid_ranks_info info;
    braid_ranks_get_info(ranks, &info);
    job.rank = info.rank;
    job.across = (int)info.num_ranks;
    for (job.down = 1; job.across % 2 == 0 && job.across > job.down; job.down *= 2)
        job.across /= 2;
    for (int i = 0; i < job.num_tiles * job.num_tiles; i++) {
        if (i % job.num_tiles <= i / job.num_tiles)
            add_tile(&job, world, i / job.num_tiles, i % job.num_tiles);
    }
    for (int k = 0; k < job.num_tiles; k++)
        add_column(&job, k);
    CHECK(braid_exec_create(device, job.graph, NULL, &exec));
    CHECK(braid_exec_launch(exec, NULL));
    CHECK(braid_exec_wait(exec));
    int wrong = count_wrong_alone(&job);
    printf("rank %u of %d x %d: %zu nodes, %s\n", job.rank, job.down, job.across,
           braid_graph_get_num_nodes(job.graph), wrong ? "WRONG" : "as computed alone");
    braid_exec_destroy(exec);
    braid_graph_destroy(job.graph);
    for (int i = 0; i < MOST_TILES * MOST_TILES; i++)
        free(job.cells[i / MOST_TILES][i % MOST_TILES]);
    CHECK(braid_device_close(device));
    CHECK(braid_ranks_close(ranks));
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
