// SPDX-License-Identifier: Apache-2.0
// Host and total time a frame of seven shapes at three lengths of kernel, by hand and with Braid.
// Arguments: "table" (default), "sweep" (every number of lanes), "large" (kernels that fill the
// device, or half of it, or a quarter), "checks" (the cost of comparing nodes with their code),
// a backend's name.
#include <stdio.h>
#include <string.h>

#include "gpu/bench.h"

enum { FRAMES = 60, SWEEP_FRAMES = 40, STREAMS_BY_HAND = 8, NUM_BODIES = 3 };

static struct body bodies[NUM_BODIES] = {
    { .name = "empty", .ns = 0 },
    { .name = "2 us", .ns = 2000 },
    { .name = "10 us", .ns = 10000 },
};

static void print_rows(const struct shape *shape, const struct body *body,
                       const struct system *systems, uint32_t num_systems, uint32_t frames)
{
    struct timing timings[MAX_SYSTEMS];
    measure(systems, num_systems, frames, timings);
    for (uint32_t i = 0; i < num_systems; i++)
        printf("| %s | %s | %s | %.1f | %.1f | %.0f | %u | %llu |\n", shape->name, body->name,
               systems[i].name, timings[i].total_us, timings[i].host_us, systems[i].build_us,
               systems[i].num_lanes, (unsigned long long)systems[i].num_waits);
    fflush(stdout);
}

static void measure_graphs(braid_device *device, const struct driver *driver,
                           const struct shape *shape, const struct body *body)
{
    struct system systems[2];
    struct by_hand *graph = by_hand_as_graph(driver, shape, body->cycles, &systems[0]);
    struct with_braid *run = braid_run_shape(device, shape, body, BRAID_MODE_GRAPH, 0, &systems[1]);
    print_rows(shape, body, systems, 2, FRAMES);
    braid_finish_shape(run);
    by_hand_finish(graph);
}

static void measure_streams(braid_device *device, const struct driver *driver,
                            const struct shape *shape, const struct body *body)
{
    struct system systems[MAX_SYSTEMS];
    uint32_t num = 0;
    struct by_hand *one = NULL, *many = NULL;
    if (driver) {
        one = by_hand_on_one_stream(driver, shape, body->cycles, &systems[num++]);
        many = by_hand_on_streams(driver, shape, body->cycles, STREAMS_BY_HAND, &systems[num++]);
    }
    struct with_braid *run =
        braid_run_shape(device, shape, body, BRAID_MODE_STREAMS, 0, &systems[num++]);
    print_rows(shape, body, systems, num, FRAMES);
    braid_finish_shape(run);
    if (one)
        by_hand_finish(one);
    if (many)
        by_hand_finish(many);
}

static void measure_braid(braid_device *device, const struct shape *shape, const struct body *body,
                          braid_exec_mode mode, uint32_t max_lanes, uint32_t frames)
{
    struct system system;
    struct with_braid *run = braid_run_shape(device, shape, body, mode, max_lanes, &system);
    print_rows(shape, body, &system, 1, frames);
    braid_finish_shape(run);
}

static void print_heading(const braid_device_info *info)
{
    printf("# %s, %s\n", info->name, info->backend);
    printf("| shape | body | system | total us | host us | build us | lanes | waits |\n");
    printf("|---|---|---|---|---|---|---|---|\n");
}

// A chain whose kernels may start while the one before still runs.
static void measure_early_chain(braid_device *device)
{
    struct shape shape = make_shape(0);
    shape.name = "chain, early start";
    for (uint32_t b = 0; b < NUM_BODIES; b++) {
        struct body body = bodies[b];
        body.starts_early = true;
        measure_braid(device, &shape, &body, BRAID_MODE_GRAPH, 0, FRAMES);
        measure_braid(device, &shape, &body, BRAID_MODE_STREAMS, 0, FRAMES);
    }
    free_shape(&shape);
}

static void print_table(braid_device *device, const struct driver *driver)
{
    for (uint32_t pass = driver ? 0 : 1; pass < 2; pass++) { // other backends have no graphs
        for (uint32_t i = 0; i < NUM_BODIES * NUM_SHAPES; i++) {
            const struct body *body = &bodies[i / NUM_SHAPES];
            struct shape shape = make_shape(i % NUM_SHAPES);
            if (pass == 0)
                measure_graphs(device, driver, &shape, body);
            else
                measure_streams(device, driver, &shape, body);
            free_shape(&shape);
        }
    }
    if (driver)
        measure_early_chain(device);
}

static void print_sweep(braid_device *device)
{
    static const uint32_t lanes[] = { 1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 100, 128 };
    for (uint32_t b = 0; b < NUM_BODIES; b++) {
        for (uint32_t s = 0; s < NUM_SHAPES; s++) {
            struct shape shape = make_shape(s);
            for (size_t i = 0; i < sizeof(lanes) / sizeof(lanes[0]); i++)
                measure_braid(device, &shape, &bodies[b], BRAID_MODE_GRAPH, lanes[i], SWEEP_FRAMES);
            free_shape(&shape);
        }
    }
}

// The last row of each is the planner's own choice.
static void print_large(braid_device *device, const braid_device_info *info)
{
    enum { BLOCKS_A_UNIT = 8 }; // each has LARGE_BLOCK threads, where a unit runs 2048 at once
    static const uint32_t lanes[] = { 1, 2, 3, 4, 6, 8, 16, 0 };
    static const uint32_t shapes[] = { 1, 2, 4 }; // 8 chains, random, Cholesky
    static const char *const names[] = { "10 us, whole", "10 us, half", "10 us, quarter" };
    for (uint32_t part = 0; part < 3; part++) {
        struct body body = bodies[NUM_BODIES - 1];
        body.name = names[part];
        body.num_blocks = info->num_units * BLOCKS_A_UNIT >> part;
        for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
            struct shape shape = make_shape(shapes[s]);
            for (size_t i = 0; i < sizeof(lanes) / sizeof(lanes[0]); i++)
                measure_braid(device, &shape, &body, BRAID_MODE_GRAPH, lanes[i], SWEEP_FRAMES);
            free_shape(&shape);
        }
    }
}

// The time in which an exec is made, once its kernels are loaded, with its nodes compared with
// their code and without. Each is the least of several, by turns.
static void print_checks(braid_device *device)
{
    enum { ROUNDS = 60 };
    printf(
        "| shape | mode | nodes | unread us | compared us | ratio |\n|---|---|---|---|---|---|\n");
    for (uint32_t i = 0; i < 2 * NUM_SHAPES; i++) {
        struct shape shape = make_shape(i / 2);
        const braid_exec_mode mode = i % 2 ? BRAID_MODE_STREAMS : BRAID_MODE_GRAPH;
        double least[2] = { 1e30, 1e30 };
        for (uint32_t k = 0; k < 2 * ROUNDS; k++) {
            struct body body = bodies[1];
            struct system system;
            body.code_use = k % 2 ? BRAID_CODE_CHECKS : BRAID_CODE_UNREAD;
            braid_finish_shape(braid_run_shape(device, &shape, &body, mode, 0, &system));
            least[k % 2] = system.build_us < least[k % 2] ? system.build_us : least[k % 2];
        }
        printf("| %s | %s | %u | %.1f | %.1f | %.3f |\n", shape.name, i % 2 ? "streams" : "graph",
               shape.num_nodes, least[0], least[1], least[1] / least[0]);
        free_shape(&shape);
    }
}

int main(int argc, char **argv)
{
    bool sweep = false, large = false, checks = false;
    const char *backend = "cuda";
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "sweep") == 0)
            sweep = true;
        else if (strcmp(argv[i], "large") == 0)
            large = true;
        else if (strcmp(argv[i], "checks") == 0)
            checks = true;
        else if (strcmp(argv[i], "table") != 0)
            backend = argv[i];
    }
    braid_device *device;
    braid_device_info info;
    if (braid_device_open(&(braid_device_options){ .backend = backend }, &device)) {
        printf("skipped: %s\n", braid_error_get_message());
        return 77;
    }
    braid_device_get_info(device, &info);
    for (uint32_t b = 0; b < NUM_BODIES; b++)
        bodies[b].cycles = bodies[b].ns ? cycles_of(device, bodies[b].ns) : 0;
    print_heading(&info);
    // Holds the module, so that building an exec below compiles nothing.
    struct shape chain = make_shape(0);
    struct system unused;
    struct with_braid *keeper =
        braid_run_shape(device, &chain, &bodies[0], BRAID_MODE_AUTO, 1, &unused);
    bool by_hand = strcmp(backend, "cuda") == 0 && !sweep && !large && !checks;
    struct driver driver = { 0 };
    if (by_hand)
        driver = open_driver();
    if (checks)
        print_checks(device);
    else if (sweep)
        print_sweep(device);
    else if (large)
        print_large(device, &info);
    else
        print_table(device, by_hand ? &driver : NULL);
    if (by_hand)
        close_driver(&driver);
    braid_finish_shape(keeper);
    free_shape(&chain);
    braid_device_close(device);
    return 0;
}
