// SPDX-License-Identifier: Apache-2.0
// A tiled Cholesky factorisation over several ranks: tiles are dealt out in a block-cyclic way, the
// owner of a tile computes it, and a finished tile goes to those ranks that compute with it.
//
//     mpirun -n 4 cholesky [TILES [TILE_SIZE]]
//
// No rank adds a node that is not its own. Rank 0 is told how far the product of the factors is
// from the matrix.
#include <math.h>
#include <time.h>

#include "../check.h"
#include "cholesky_tasks.h"

enum { MOST_TILES = 64, NUM_FRAMES = 5 };

struct tile {
    double *cells; // NULL: neither the rank's nor given to it
    braid_resource buffer;
    bool arrives;
};

struct job {
    braid_graph *graph;
    braid_resource world;
    uint32_t rank;
    int num_tiles, size, across, down; // tiles a side, cells a side; ranks
    struct tile tiles[MOST_TILES][MOST_TILES];
};

static uint32_t owner_of(const struct job *job, int row, int column)
{
    return (uint32_t)(row % job->down * job->across + column % job->across);
}

static bool is_ours(const struct job *job, int row, int column)
{
    return owner_of(job, row, column) == job->rank;
}

// ---- tiles ----

static double matrix_cell(const struct job *job, int row, int column)
{
    return cholesky_cell(job->num_tiles * job->size, row, column);
}

static struct tile *find_tile(struct job *job, int row, int column)
{
    struct tile *tile = &job->tiles[row][column];
    char name[32];
    if (tile->cells)
        return tile;
    uint64_t bytes = (uint64_t)job->size * (uint64_t)job->size * sizeof(double);
    snprintf(name, sizeof(name), "tile %d,%d", row, column);
    tile->cells = check_memory(malloc(bytes));
    CHECK(braid_graph_add_buffer(job->graph, name, tile->cells, bytes, &tile->buffer));
    return tile;
}

static void fill_tiles(struct job *job)
{
    for (int row = 0; row < job->num_tiles; row++) {
        for (int column = 0; column <= row; column++) {
            if (!is_ours(job, row, column))
                continue;
            double *cells = job->tiles[row][column].cells;
            for (int i = 0; i < job->size * job->size; i++)
                cells[i] = matrix_cell(job, row * job->size + i % job->size,
                                       column * job->size + i / job->size);
        }
    }
}

// ---- the graph ----

static void add_transfer(struct job *job, int row, int column, braid_rank_operation operation,
                         uint32_t peer)
{
    struct tile *tile = find_tile(job, row, column);
    bool sends = operation == BRAID_RANK_SEND;
    char name[48];
    snprintf(name, sizeof(name), "%s %d,%d", sends ? "send" : "receive", row, column);
    braid_communication transfer = {
        .node.name = name,
        .node.accesses = (braid_access[]){ { tile->buffer, sends ? BRAID_READ : BRAID_WRITE } },
        .node.num_accesses = 1,
        .operation = operation,
        .communicator = job->world,
        .count = (uint64_t)job->size * (uint64_t)job->size,
        .element = BRAID_ELEMENT_DOUBLE,
        .peer = peer,
        .tag = (uint32_t)(row * MOST_TILES + column),
    };
    *(sends ? &transfer.from_resource : &transfer.to_resource) = tile->buffer;
    CHECK(braid_graph_add_communication(job->graph, &transfer, NULL));
}

// A tile of column k that is finished goes to the owners of its row, and of the column of its
// number; that of the diagonal to the owners of its column. `is_sent` by rank: they have it.
static void pass_on(struct job *job, int row, int k)
{
    bool is_sent[1024] = { false };
    uint32_t owner = owner_of(job, row, k);
    is_sent[owner] = true;
    for (int i = k + 1; i < job->num_tiles; i++) {
        uint32_t user = row == k   ? owner_of(job, i, k)
                        : i <= row ? owner_of(job, row, i)
                                   : owner_of(job, i, row);
        if (is_sent[user])
            continue;
        is_sent[user] = true;
        if (owner == job->rank)
            add_transfer(job, row, k, BRAID_RANK_SEND, user);
        else if (user == job->rank)
            add_transfer(job, row, k, BRAID_RANK_RECEIVE, owner);
    }
}

static void add_factor(struct job *job, int k)
{
    struct tile *tile = find_tile(job, k, k);
    CHECK(braid_graph_add_kernel(
        job->graph,
        &(braid_kernel_node){ .kernel = &factor_kernel,
                              .node.cost_ns = (uint64_t)job->size * (uint64_t)job->size *
                                              (uint64_t)job->size / 3,
                              BRAID_ARGS(BRAID_ARG(tile->cells), BRAID_ARG(job->size)),
                              BRAID_ACCESSES({ tile->buffer, BRAID_READ_WRITE }) },
        NULL));
}

static void add_solve(struct job *job, int row, int k)
{
    struct tile *tile = find_tile(job, row, k), *diagonal = find_tile(job, k, k);
    CHECK(braid_graph_add_kernel(
        job->graph,
        &(braid_kernel_node){
            .kernel = &solve_kernel,
            .node.cost_ns = (uint64_t)job->size * (uint64_t)job->size * (uint64_t)job->size / 2,
            BRAID_ARGS(BRAID_ARG(tile->cells), BRAID_ARG(diagonal->cells), BRAID_ARG(job->size)),
            BRAID_ACCESSES({ tile->buffer, BRAID_READ_WRITE }, { diagonal->buffer, BRAID_READ }) },
        NULL));
}

static void add_update(struct job *job, int row, int column, int k)
{
    struct tile *tile = find_tile(job, row, column);
    struct tile *left = find_tile(job, row, k), *right = find_tile(job, column, k);
    CHECK(braid_graph_add_kernel(
        job->graph,
        &(braid_kernel_node){
            .kernel = &update_kernel,
            .node.cost_ns = (uint64_t)job->size * (uint64_t)job->size * (uint64_t)job->size / 2,
            BRAID_ARGS(BRAID_ARG(tile->cells), BRAID_ARG(left->cells), BRAID_ARG(right->cells),
                       BRAID_ARG(job->size)),
            BRAID_ACCESSES({ tile->buffer, BRAID_READ_WRITE }, { left->buffer, BRAID_READ },
                           { right->buffer, BRAID_READ }) },
        NULL));
}

static void add_column(struct job *job, int k)
{
    if (is_ours(job, k, k))
        add_factor(job, k);
    pass_on(job, k, k);
    for (int row = k + 1; row < job->num_tiles; row++) {
        if (is_ours(job, row, k))
            add_solve(job, row, k);
        pass_on(job, row, k);
    }
    for (int row = k + 1; row < job->num_tiles; row++) {
        for (int column = k + 1; column <= row; column++) {
            if (is_ours(job, row, column))
                add_update(job, row, column, k);
        }
    }
}

// ---- what came of it ----

// The rank's tiles in the whole factor, by columns.
static double *collect(const struct job *job)
{
    size_t n = (size_t)(job->num_tiles * job->size);
    double *whole = check_memory(calloc(n * n, sizeof(*whole)));
    for (int row = 0; row < job->num_tiles; row++) {
        for (int column = 0; column <= row; column++) {
            const double *cells = job->tiles[row][column].cells;
            for (int i = 0; is_ours(job, row, column) && i < job->size * job->size; i++) {
                int x = column * job->size + i / job->size, y = row * job->size + i % job->size;
                whole[(size_t)x * n + (size_t)y] = y >= x ? cells[i] : 0;
            }
        }
    }
    return whole;
}

static double find_error(const struct job *job, const double *whole)
{
    int n = job->num_tiles * job->size;
    double most = 0;
    for (int row = 0; row < n; row++) {
        for (int column = 0; column <= row; column++) {
            double sum = -matrix_cell(job, row, column);
            for (int k = 0; k <= column; k++)
                sum += whole[(size_t)k * (size_t)n + (size_t)row] *
                       whole[(size_t)k * (size_t)n + (size_t)column];
            most = fabs(sum) > most ? fabs(sum) : most;
        }
    }
    return most / n;
}

// The sum of what all ranks have is the factor: a graph of its own, with one operation.
static bool check(const struct job *job, braid_device *device, braid_communicator *world)
{
    uint64_t n = (uint64_t)(job->num_tiles * job->size);
    double *whole = collect(job), error = 0;
    braid_graph *graph;
    braid_resource resource;
    braid_exec *exec;
    CHECK(braid_graph_create(&graph));
    CHECK(braid_graph_add_communicator(graph, world, &resource));
    CHECK(braid_graph_add_communication(graph,
                                        &(braid_communication){ .node.name = "collect",
                                                                .operation = BRAID_RANK_ALL_REDUCE,
                                                                .communicator = resource,
                                                                .from = whole,
                                                                .to = whole,
                                                                .count = n * n,
                                                                .element = BRAID_ELEMENT_DOUBLE },
                                        NULL));
    CHECK(braid_exec_create(device, graph, NULL, &exec));
    CHECK(braid_exec_launch(exec, NULL));
    CHECK(braid_exec_wait(exec));
    if (job->rank == 0) {
        error = find_error(job, whole);
        printf("the factors' product is within %.1e of the matrix\n", error);
    }
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    free(whole);
    return error < 1e-12;
}

static double seconds_now(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double factor_once(struct job *job, braid_exec *exec, braid_exec *together)
{
    fill_tiles(job);
    CHECK(braid_exec_launch(together, NULL)); // so that no rank waits for another's filling
    CHECK(braid_exec_wait(together));
    double begin = seconds_now();
    CHECK(braid_exec_launch(exec, NULL));
    CHECK(braid_exec_wait(exec));
    CHECK(braid_exec_launch(together, NULL));
    CHECK(braid_exec_wait(together));
    return seconds_now() - begin;
}

static braid_exec *make_barrier(braid_device *device, braid_communicator *world, double *word)
{
    braid_graph *graph;
    braid_resource resource;
    braid_exec *exec;
    CHECK(braid_graph_create(&graph));
    CHECK(braid_graph_add_communicator(graph, world, &resource));
    CHECK(braid_graph_add_communication(graph,
                                        &(braid_communication){ .node.name = "together",
                                                                .operation = BRAID_RANK_ALL_REDUCE,
                                                                .communicator = resource,
                                                                .from = word,
                                                                .to = word,
                                                                .count = 1,
                                                                .element = BRAID_ELEMENT_DOUBLE },
                                        NULL));
    CHECK(braid_exec_create(device, graph, NULL, &exec));
    braid_graph_destroy(graph);
    return exec;
}

static void lay_out(struct job *job, uint32_t num_ranks)
{
    job->down = 1;
    for (int i = 2; i * i <= (int)num_ranks; i++)
        job->down = num_ranks % (uint32_t)i == 0 ? i : job->down;
    job->across = (int)num_ranks / job->down;
}

static void free_tiles(struct job *job)
{
    for (int i = 0; i < MOST_TILES * MOST_TILES; i++)
        free(job->tiles[i / MOST_TILES][i % MOST_TILES].cells);
    free(job);
}

int main(int argc, char **argv)
{
    struct job *job = check_memory(calloc(1, sizeof(*job)));
    braid_ranks *ranks;
    braid_communicator *world;
    braid_device *device;
    braid_exec *exec;
    double best = 1e9, word = 0;
    check_arguments(argc, argv, 2, "[TILES [TILE_SIZE]]");
    job->num_tiles = argc > 1 ? atoi(argv[1]) : 8;
    job->size = argc > 2 ? atoi(argv[2]) : 32;
    CHECK(braid_ranks_open(NULL, &ranks));
    CHECK(braid_communicator_create(ranks, "world", 0, &world));
    CHECK(
        braid_device_open(&(braid_device_options){ .backend = "cpu", .num_workers = 1 }, &device));
    CHECK(braid_graph_create(&job->graph));
    CHECK(braid_graph_add_communicator(job->graph, world, &job->world));
    braid_ranks_info info;
    braid_ranks_get_info(ranks, &info);
    job->rank = info.rank;
    lay_out(job, info.num_ranks);
    if (job->num_tiles < 1 || job->num_tiles > MOST_TILES || job->size < 1)
        return EXIT_FAILURE;
    for (int k = 0; k < job->num_tiles; k++)
        add_column(job, k);
    CHECK(braid_exec_create(device, job->graph, NULL, &exec));
    braid_exec *together = make_barrier(device, world, &word);
    for (int frame = 0; frame < NUM_FRAMES; frame++) {
        double seconds = factor_once(job, exec, together);
        best = seconds < best ? seconds : best;
    }
    if (job->rank == 0)
        printf("%d tiles of %d on %d x %d ranks: %.2f ms, the best of %d\n",
               job->num_tiles * job->num_tiles, job->size, job->down, job->across, best * 1e3,
               NUM_FRAMES);
    bool right = check(job, device, world);
    braid_exec_destroy(together);
    braid_exec_destroy(exec);
    braid_graph_destroy(job->graph);
    free_tiles(job);
    CHECK(braid_device_close(device));
    CHECK(braid_ranks_close(ranks));
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
