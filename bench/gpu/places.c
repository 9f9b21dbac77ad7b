// SPDX-License-Identifier: Apache-2.0
// What several devices cost and gain: an edge and a byte from one to another, for the model that
// plans are made with, and a tiled Cholesky on one, on two by hand, and on two through Braid.
//
//   bench_gpu_places [BACKEND [DEVICES [TILES [TILE]]]]     cuda 2 24 256
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "gpu/bench.h"
#include "gpu/places.h"

enum { NUM_HOPS = 200, FRAMES = 20 };

// Over a stand-in.
__attribute__((visibility("default"))) void braid_standin_bench_spin(const unsigned grid[3],
                                                                     const unsigned block[3],
                                                                     unsigned shared, void **args);
void braid_standin_bench_spin(const unsigned grid[3], const unsigned block[3], unsigned shared,
                              void **args)
{
    (void)grid, (void)block, (void)shared, (void)args;
}

struct run {
    braid_exec *exec;
    braid_stream *stream;
};

static void launch(void *user)
{
    const struct run *run = user;
    must(braid_exec_launch(run->exec, run->stream));
}

static void wait(void *user)
{
    must(braid_exec_wait(((const struct run *)user)->exec));
}

static double time_exec(const struct world *world, braid_exec *exec, double *out_host_us)
{
    struct run run = { exec, world->stream };
    const struct system system = { .launch = launch, .wait = wait, .user = &run };
    struct timing timing;
    measure(&system, 1, FRAMES, &timing);
    *out_host_us = timing.host_us;
    return timing.total_us;
}

static braid_exec *make(const struct world *world, braid_graph *graph, braid_exec_mode mode)
{
    braid_exec *exec;
    const braid_exec_options options = { .mode = mode };
    must(braid_exec_create(world->group, graph, &options, &exec));
    braid_graph_destroy(graph);
    return exec;
}

// ---- an edge and a byte ----

static double time_hops(const struct world *world, braid_exec_mode mode, uint32_t num_places)
{
    braid_graph *graph;
    braid_node node = { 0 };
    const uint32_t cycles = 0;
    double host;
    must(braid_graph_create(&graph));
    for (uint32_t i = 0; i < NUM_HOPS; i++) {
        const braid_kernel_node hop = { .node = { .after = i ? &node : NULL,
                                                  .num_after = i > 0,
                                                  .cost_ns = 2000,
                                                  .place = i % num_places + 1 },
                                        .kernel = &bench_spin,
                                        BRAID_ARGS(BRAID_ARG(cycles)) };
        must(braid_graph_add_kernel(graph, &hop, &node));
    }
    braid_exec *exec = make(world, graph, mode);
    double us = time_exec(world, exec, &host);
    braid_exec_destroy(exec);
    return us / NUM_HOPS;
}

// A word is written on the first device, and read there or on the second: then all bytes of its
// buffer go there.
static double time_bytes(const struct world *world, braid_exec_mode mode, uint64_t bytes, bool away)
{
    braid_graph *graph;
    braid_resource buffer, word;
    void *memory, *words;
    double host;
    must(braid_memory_allocate(world->devices[0], BRAID_MEMORY_DEVICE, bytes, &memory));
    must(braid_memory_allocate(world->devices[away], BRAID_MEMORY_DEVICE, 4, &words));
    must(braid_graph_create(&graph));
    must(braid_graph_add_buffer(graph, "buffer", memory, bytes, &buffer));
    must(braid_graph_add_buffer(graph, "word", words, 4, &word));
    must(braid_graph_set_home(graph, word, away + 1));
    const braid_fill fill = { BRAID_ACCESSES({ buffer, BRAID_WRITE }),
                              .node.cost_ns = 2000,
                              .node.place = 1,
                              .to_resource = buffer,
                              .value_bytes = 4,
                              .num_values = 1 };
    must(braid_graph_add_fill(graph, &fill, NULL));
    const braid_copy copy = { BRAID_ACCESSES({ buffer, BRAID_READ }, { word, BRAID_WRITE }),
                              .node.cost_ns = 2000,
                              .node.place = away + 1,
                              .to_resource = word,
                              .from_resource = buffer,
                              .bytes = 4 };
    must(braid_graph_add_copy(graph, &copy, NULL));
    braid_exec *exec = make(world, graph, mode);
    double us = time_exec(world, exec, &host);
    braid_exec_destroy(exec);
    braid_memory_free(world->devices[0], memory);
    braid_memory_free(world->devices[away], words);
    return us;
}

static void price(const struct world *world, braid_exec_mode mode, const char *name)
{
    double here = time_hops(world, mode, 1), there = time_hops(world, mode, NUM_PLACES);
    printf("%s: a kernel behind one of the same device %.2f us, of the other one %.2f us\n", name,
           here, there);
    for (uint64_t bytes = 4096; bytes <= UINT64_C(64) << 20; bytes *= 16) {
        double copied = time_bytes(world, mode, bytes, true);
        double none = time_bytes(world, mode, bytes, false);
        printf("%s: %9llu bytes to the other device add %.1f us, %.1f GB/s\n", name,
               (unsigned long long)bytes, copied - none, (double)bytes / (copied - none) / 1e3);
    }
}

// ---- Cholesky ----

// Owned row by row in turn.
static void allocate(const struct world *world, uint32_t num_places, struct matrix *matrix)
{
    for (uint32_t i = 0; i < world->num_tiles; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            uint32_t t = cholesky_tile(i, j);
            matrix->places[t] = i % num_places;
            matrix->owners[t] = world->devices[i % num_places];
            must(braid_memory_allocate(matrix->owners[t], BRAID_MEMORY_DEVICE,
                                       world_tile_bytes(world), &matrix->tiles[t]));
        }
    }
}

static void release(const struct world *world, struct matrix *matrix)
{
    for (uint32_t i = 0; i < world->num_tiles; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            uint32_t t = cholesky_tile(i, j);
            braid_memory_free(matrix->owners[t], matrix->tiles[t]);
        }
    }
}

// Symmetric, and its diagonal outweighs the rest.
static float element(const struct world *world, uint64_t row, uint64_t column)
{
    uint64_t a = row > column ? row : column, b = row > column ? column : row;
    uint64_t mixed = (a * 2654435761u + b * 40503u) >> 7;
    return row == column ? (float)(world->num_tiles * world->tile)
                         : (float)(mixed % 1000) / 1000.0f;
}

static void copy(const struct world *world, void *to, const void *from)
{
    must(braid_stream_copy(world->stream, to, from, world_tile_bytes(world)));
    must(braid_stream_wait(world->stream));
}

static void fill(const struct world *world, const struct matrix *matrix, float *staged)
{
    for (uint32_t i = 0; i < world->num_tiles; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            for (uint32_t k = 0; k < world->tile * world->tile; k++)
                staged[k] = element(world, i * world->tile + k / world->tile,
                                    j * world->tile + k % world->tile);
            copy(world, matrix->tiles[cholesky_tile(i, j)], staged);
        }
    }
}

// Hashes all tiles' bytes (FNV-1a). The upper half of the diagonal's tiles is left out: nobody
// reads it.
static uint64_t digest(const struct world *world, const struct matrix *matrix, float *staged)
{
    uint64_t hash = 1469598103934665603u;
    for (uint32_t i = 0; i < world->num_tiles; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            copy(world, staged, matrix->tiles[cholesky_tile(i, j)]);
            for (uint32_t k = 0; k < world->tile * world->tile; k++) {
                uint32_t bits = 0;
                if (i != j || k % world->tile <= k / world->tile)
                    memcpy(&bits, &staged[k], sizeof(bits));
                hash = (hash ^ bits) * 1099511628211u;
            }
        }
    }
    return hash;
}

// What the tiles hold, times itself transposed, is the matrix that they were made of.
static void check_factor(const struct world *world, const struct matrix *matrix)
{
    enum { NUM = 300 };
    uint32_t num = world->num_tiles, n = world->tile;
    size_t tile = (size_t)n * n;
    float *all = malloc(tile * num * num * sizeof(*all));
    void *staged;
    double worst = 0;
    must(braid_memory_allocate(world->devices[0], BRAID_MEMORY_HOST, world_tile_bytes(world),
                               &staged));
    for (uint32_t i = 0; i < num && all; i++)
        for (uint32_t j = 0; j <= i; j++) {
            copy(world, staged, matrix->tiles[cholesky_tile(i, j)]);
            memcpy(all + (i * num + j) * tile, staged, world_tile_bytes(world));
        }
    for (uint32_t s = 0; s < NUM && all; s++) {
        uint32_t i = s * 2654435761u % (num * n), j = s % 7 ? s * 40503u % (i + 1) : i;
        double sum = 0;
        for (uint32_t k = 0; k <= j; k++)
            sum += (double)all[(i / n * num + k / n) * tile + i % n * n + k % n] *
                   all[(j / n * num + k / n) * tile + j % n * n + k % n];
        double error = sum - element(world, i, j);
        error = error < 0 ? -error : error;
        worst = error > worst || error != error ? error : worst;
    }
    printf("the factor times itself differs from the matrix by at most %.2g in %d places\n", worst,
           all ? NUM : 0);
    braid_memory_free(world->devices[0], staged);
    free(all);
    if (!(worst < 0.05))
        exit(1);
}

// Places: 0: the planner chooses; else who owns what is written computes it.
static braid_graph *build(const struct world *world, const struct cholesky_tasks *tasks,
                          const struct matrix *matrix, bool owner_computes)
{
    static braid_resource resources[CHOLESKY_MOST_TILES * CHOLESKY_MOST_TILES];
    braid_graph *graph;
    must(braid_graph_create(&graph));
    for (uint32_t i = 0; i < world->num_tiles; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            uint32_t t = cholesky_tile(i, j);
            char name[32];
            snprintf(name, sizeof(name), "tile %u %u", i, j);
            must(braid_graph_add_buffer(graph, name, matrix->tiles[t], world_tile_bytes(world),
                                        &resources[t]));
            must(braid_graph_set_home(graph, resources[t], matrix->places[t] + 1));
        }
    }
    for (uint32_t k = 0; k < tasks->num; k++) {
        const struct cholesky_task *task = &tasks->items[k];
        braid_access accesses[3] = { { resources[task->to], BRAID_READ_WRITE } };
        braid_arg args[4] = { braid_resource_address(&resources[task->to]) };
        uint32_t num = 1, num_args = 1;
        for (uint32_t r = 0; r < task->num_reads; r++) {
            args[num_args++] = braid_resource_address(&resources[task->reads[r]]);
            if (r == 0 || task->reads[1] != task->reads[0])
                accesses[num++] = (braid_access){ resources[task->reads[r]], BRAID_READ };
        }
        args[num_args++] = BRAID_ARG(world->tile);
        const braid_kernel_node node = {
            .node = { .accesses = accesses,
                      .num_accesses = num,
                      .cost_ns = world->cost_ns[task->kind],
                      .place = owner_computes ? matrix->places[task->to] + 1 : 0 },
            .kernel = &cholesky_kernels[task->kind],
            .grid = cholesky_grid(task->kind, world->tile),
            .block = cholesky_block(task->kind, world->tile),
            .args = args,
            .num_args = num_args,
        };
        must(braid_graph_add_kernel(graph, &node, NULL));
    }
    return graph;
}

// What a kernel takes: 20 in a row.
static void find_costs(struct world *world)
{
    enum { NUM = 20 };
    struct matrix matrix;
    uint32_t num_tiles = world->num_tiles;
    static struct cholesky_tasks tasks;
    world->num_tiles = 2;
    allocate(world, 1, &matrix);
    for (int kind = 0; kind < CHOLESKY_NUM_KINDS; kind++) {
        double host;
        tasks.num = NUM;
        for (uint32_t i = 0; i < NUM; i++)
            tasks.items[i] = (struct cholesky_task){ (enum cholesky_kind)kind,
                                                     cholesky_tile(1, 1),
                                                     (uint32_t)kind,
                                                     { cholesky_tile(0, 0), cholesky_tile(1, 0) } };
        world->cost_ns[kind] = 10000;
        braid_graph *graph = build(world, &tasks, &matrix, false);
        braid_exec *exec;
        must(braid_exec_create(world->devices[0], graph, NULL, &exec));
        braid_graph_destroy(graph);
        world->cost_ns[kind] = (uint64_t)(1000 * time_exec(world, exec, &host) / NUM);
        braid_exec_destroy(exec);
        printf("%s: %.1f us\n", cholesky_kernels[kind].name, (double)world->cost_ns[kind] / 1e3);
    }
    release(world, &matrix);
    world->num_tiles = num_tiles;
}

// ---- the table ----

static uint64_t expected; // the digest of the first system

// One frame from a fresh matrix is checked, then frames are timed.
static void report(const struct world *world, const struct matrix *matrix, const char *name,
                   struct system system)
{
    void *memory;
    struct timing timing;
    must(braid_memory_allocate(world->devices[0], BRAID_MEMORY_HOST, world_tile_bytes(world),
                               &memory));
    fill(world, matrix, memory);
    system.launch(system.user);
    system.wait(system.user);
    uint64_t hash = digest(world, matrix, memory);
    if (!expected)
        check_factor(world, matrix);
    expected = expected ? expected : hash;
    measure(&system, 1, FRAMES, &timing);
    printf("| %s | %.0f | %.0f | %s |\n", name, timing.total_us, timing.host_us,
           hash == expected ? "equal" : "WRONG");
    fflush(stdout);
    braid_memory_free(world->devices[0], memory);
    if (hash != expected)
        exit(1);
}

static void report_exec(const struct world *world, const struct matrix *matrix, const char *name,
                        braid_exec *exec)
{
    struct run run = { exec, world->stream };
    braid_schedule_info info;
    char text[160];
    braid_schedule_get_info(braid_exec_get_schedule(exec), &info);
    snprintf(text, sizeof(text), "%s (%u lanes, %u copies of %.0f MB, %.0f us planned)", name,
             info.num_lanes, info.num_copies, (double)info.copy_bytes / 1e6,
             (double)info.makespan_ns / 1e3);
    report(world, matrix, text, (struct system){ .launch = launch, .wait = wait, .user = &run });
    braid_exec_destroy(exec);
}

static void compare(const struct world *world)
{
    static struct cholesky_tasks tasks;
    static struct matrix one, two;
    braid_exec *exec;
    cholesky_list(world->num_tiles, &tasks);
    printf("\n| Cholesky, %u x %u tiles of %u, %u tasks | us | of it the launch | result |\n"
           "|---|---:|---:|---|\n",
           world->num_tiles, world->num_tiles, world->tile, tasks.num);
    allocate(world, 1, &one);
    braid_graph *graph = build(world, &tasks, &one, false);
    must(braid_exec_create(world->devices[0], graph, NULL, &exec));
    braid_graph_destroy(graph);
    report_exec(world, &one, "one device", exec);
    release(world, &one);
    allocate(world, NUM_PLACES, &two);
    if (strcmp(world->devices[0]->backend->ops->name, "cpu") != 0) {
        struct places_by_hand *hand = places_by_hand_open(world, &tasks, &two);
        report(world, &two, "two by hand, 4 streams each",
               (struct system){
                   .launch = places_by_hand_launch, .wait = places_by_hand_wait, .user = hand });
        places_by_hand_close(hand);
    }
    for (int owner = 1; owner >= 0; owner--) {
        for (int mode = BRAID_MODE_STREAMS; mode <= BRAID_MODE_GRAPH; mode++) {
            char name[80];
            snprintf(name, sizeof(name), "two by Braid, %s, %s",
                     owner ? "owner computes" : "planner places",
                     mode == BRAID_MODE_GRAPH ? "graph" : "streams");
            graph = build(world, &tasks, &two, owner);
            report_exec(world, &two, name, make(world, graph, (braid_exec_mode)mode));
        }
    }
    release(world, &two);
}

int main(int argc, char **argv)
{
    struct world world = { .num_tiles = argc > 3 ? (uint32_t)atoi(argv[3]) : 24,
                           .tile = argc > 4 ? (uint32_t)atoi(argv[4]) : 256 };
    uint32_t num_devices = argc > 2 ? (uint32_t)atoi(argv[2]) : NUM_PLACES;
    if (world.num_tiles < 2 || world.num_tiles > CHOLESKY_MOST_TILES || world.tile % 32 ||
        world.tile > 256 || num_devices < 1 || num_devices > NUM_PLACES)
        return 2;
    for (uint32_t i = 0; i < NUM_PLACES; i++) {
        const braid_device_options options = { .backend = argc > 1 ? argv[1] : "cuda",
                                               .ordinal = i };
        if (i < num_devices)
            must(braid_device_open(&options, &world.devices[i]));
        else
            world.devices[i] = world.devices[0];
    }
    must(braid_device_open_group(world.devices, NUM_PLACES, &world.group));
    must(braid_stream_create(world.devices[0], NULL, &world.stream));
    braid_device_info info;
    braid_device_get_info(world.group, &info);
    printf("devices reach each other: %s\n", info.place_model->links[1].is_direct ? "yes" : "no");
    price(&world, BRAID_MODE_STREAMS, "streams");
    price(&world, BRAID_MODE_GRAPH, "graph");
    find_costs(&world);
    compare(&world);
    braid_stream_destroy(world.stream);
    braid_device_close(world.group);
    for (uint32_t i = 0; i < num_devices; i++)
        must(braid_device_close(world.devices[i]));
    return 0;
}
