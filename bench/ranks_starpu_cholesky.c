// SPDX-License-Identifier: Apache-2.0
// The factorisation of examples/ranks/cholesky.c by StarPU-MPI: the same kernels, tiles, owners and
// matrix, as tasks that every rank inserts all of. Owners compute, StarPU-MPI sends.
#include <mpi.h>
#include <starpu.h>
#include <starpu_mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "examples/ranks/cholesky_kernels.h"

enum { MOST_TILES = 64, NUM_FRAMES = 5 };

static void run_factor(void *buffers[], void *user)
{
    (void)user;
    int n = (int)STARPU_MATRIX_GET_NX(buffers[0]);
    cholesky_factor((double *)STARPU_MATRIX_GET_PTR(buffers[0]), n);
}

static void run_solve(void *buffers[], void *user)
{
    (void)user;
    int n = (int)STARPU_MATRIX_GET_NX(buffers[0]);
    cholesky_solve((double *)STARPU_MATRIX_GET_PTR(buffers[0]),
                   (const double *)STARPU_MATRIX_GET_PTR(buffers[1]), n);
}

static void run_update(void *buffers[], void *user)
{
    (void)user;
    int n = (int)STARPU_MATRIX_GET_NX(buffers[0]);
    cholesky_update((double *)STARPU_MATRIX_GET_PTR(buffers[0]),
                    (const double *)STARPU_MATRIX_GET_PTR(buffers[1]),
                    (const double *)STARPU_MATRIX_GET_PTR(buffers[2]), n);
}

static struct starpu_codelet factor = {
    .cpu_funcs = { run_factor }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "factor"
};
static struct starpu_codelet solve = {
    .cpu_funcs = { run_solve }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "solve"
};
static struct starpu_codelet update = { .cpu_funcs = { run_update },
                                        .nbuffers = 3,
                                        .modes = { STARPU_RW, STARPU_R, STARPU_R },
                                        .name = "update" };

static starpu_data_handle_t handles[MOST_TILES][MOST_TILES];
static double *tiles[MOST_TILES][MOST_TILES];
static int num_tiles, size, rank, down, across;

static int owner_of(int row, int column)
{
    return row % down * across + column % across;
}

static void register_tiles(void)
{
    for (int row = 0; row < num_tiles; row++) {
        for (int column = 0; column <= row; column++) {
            bool ours = owner_of(row, column) == rank;
            size_t cells = (size_t)size * (size_t)size;
            tiles[row][column] = ours ? malloc(cells * sizeof(double)) : NULL;
            starpu_matrix_data_register(&handles[row][column], ours ? STARPU_MAIN_RAM : -1,
                                        (uintptr_t)tiles[row][column], (uint32_t)size,
                                        (uint32_t)size, (uint32_t)size, sizeof(double));
            starpu_mpi_data_register(handles[row][column], row * MOST_TILES + column,
                                     owner_of(row, column));
        }
    }
}

static void fill_tiles(void)
{
    for (int row = 0; row < num_tiles; row++) {
        for (int column = 0; column <= row; column++) {
            if (owner_of(row, column) != rank)
                continue;
            starpu_data_acquire(handles[row][column], STARPU_W);
            for (int i = 0; i < size * size; i++)
                tiles[row][column][i] = cholesky_cell(num_tiles * size, row * size + i % size,
                                                      column * size + i / size);
            starpu_data_release(handles[row][column]);
        }
    }
}

static void insert_tasks(void)
{
    for (int k = 0; k < num_tiles; k++) {
        starpu_mpi_task_insert(MPI_COMM_WORLD, &factor, STARPU_RW, handles[k][k], 0);
        for (int i = k + 1; i < num_tiles; i++)
            starpu_mpi_task_insert(MPI_COMM_WORLD, &solve, STARPU_RW, handles[i][k], STARPU_R,
                                   handles[k][k], 0);
        for (int i = k + 1; i < num_tiles; i++) {
            for (int j = k + 1; j <= i; j++)
                starpu_mpi_task_insert(MPI_COMM_WORLD, &update, STARPU_RW, handles[i][j], STARPU_R,
                                       handles[i][k], STARPU_R, handles[j][k], 0);
        }
    }
}

static double seconds_now(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    struct starpu_conf conf;
    double best = 1e9;
    int num_ranks;
    num_tiles = argc > 1 ? atoi(argv[1]) : 8;
    size = argc > 2 ? atoi(argv[2]) : 32;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    if (num_tiles > MOST_TILES || starpu_mpi_init_conf(&argc, &argv, 1, MPI_COMM_WORLD, &conf))
        return EXIT_FAILURE;
    starpu_mpi_comm_rank(MPI_COMM_WORLD, &rank);
    starpu_mpi_comm_size(MPI_COMM_WORLD, &num_ranks);
    down = 1;
    for (int i = 2; i * i <= num_ranks; i++)
        down = num_ranks % i == 0 ? i : down;
    across = num_ranks / down;
    register_tiles();
    for (int frame = 0; frame < NUM_FRAMES; frame++) {
        fill_tiles();
        starpu_mpi_barrier(MPI_COMM_WORLD);
        double begin = seconds_now();
        insert_tasks();
        starpu_task_wait_for_all();
        starpu_mpi_barrier(MPI_COMM_WORLD);
        double seconds = seconds_now() - begin;
        best = seconds < best ? seconds : best;
    }
    if (rank == 0)
        printf("%d tiles of %d on %d x %d ranks: %.2f ms, the best of %d\n", num_tiles * num_tiles,
               size, down, across, best * 1e3, NUM_FRAMES);
    for (int row = 0; row < num_tiles; row++) {
        for (int column = 0; column <= row; column++) {
            starpu_data_unregister(handles[row][column]);
            free(tiles[row][column]);
        }
    }
    starpu_mpi_shutdown();
    return EXIT_SUCCESS;
}
