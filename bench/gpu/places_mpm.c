// SPDX-License-Identifier: Apache-2.0
// sparse_mpm with its materials on two devices: on one, on two by hand, on two by Braid. All begin
// with the same scene, take turns frame by frame, and must end with the same bits.
//
//   bench_gpu_places_mpm [BACKEND [DEVICES [FRAMES [PARTICLES]]]]     cuda 2 200 16000
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "examples/sparse_mpm/kernels.h"
#include "examples/sparse_mpm/run.h"
#include "gpu/bench.h"
#include "gpu/places_mpm.h"

enum { NUM_DEVICES = 2, MOST = MAX_SYSTEMS };

// Over a stand-in of the driver, which finds kernels by their names: all blocks, one after the
// other.
static void run_on_stand_in(enum mpm_kernel kernel, const unsigned grid[3], const unsigned block[3],
                            void **args)
{
    const braid_blocks blocks = { .end = grid[0],
                                  .grid = { grid[0], grid[1], grid[2] },
                                  .block = { block[0], block[1], block[2] } };
    mpm_kernels[kernel].cpu(&blocks, args);
}

#define ON_STAND_IN(name, kernel)                                                                  \
    __attribute__((visibility("default"))) void braid_standin_##name(                              \
        const unsigned grid[3], const unsigned block[3], unsigned shared, void **args);            \
    void braid_standin_##name(const unsigned grid[3], const unsigned block[3], unsigned shared,    \
                              void **args)                                                         \
    {                                                                                              \
        (void)shared;                                                                              \
        run_on_stand_in(kernel, grid, block, args);                                                \
    }

ON_STAND_IN(clear_list, MPM_CLEAR_LIST)
ON_STAND_IN(list_pointers, MPM_LIST_POINTERS)
ON_STAND_IN(list_parts, MPM_LIST_PARTS)
ON_STAND_IN(clear_cells, MPM_CLEAR_CELLS)
ON_STAND_IN(mark_slots, MPM_MARK_SLOTS)
ON_STAND_IN(activate, MPM_ACTIVATE)
ON_STAND_IN(particles_to_grid, MPM_PARTICLES_TO_GRID)
ON_STAND_IN(update_grid, MPM_UPDATE_GRID)
ON_STAND_IN(update_grid_from, MPM_UPDATE_FROM)
ON_STAND_IN(grid_to_particles, MPM_GRID_TO_PARTICLES)
ON_STAND_IN(fade_foam, MPM_FADE_FOAM)
ON_STAND_IN(deactivate, MPM_DEACTIVATE)
ON_STAND_IN(free_recycled, MPM_FREE_RECYCLED)

struct way {
    struct mpm_run run;
    struct mpm_by_hand *hand; // NULL: the run's exec is launched
};

static struct {
    braid_device *devices[NUM_DEVICES];
    braid_device *group;
    struct mpm_scene scene;
    struct way ways[MOST];
    struct system systems[MOST];
    uint32_t num;
} bench;

static void launch(void *user)
{
    const struct way *way = user;
    if (way->hand)
        mpm_by_hand_launch(way->hand);
    else
        must(braid_exec_launch(way->run.exec, NULL));
}

static void wait(void *user)
{
    const struct way *way = user;
    if (way->hand)
        mpm_by_hand_wait(way->hand);
    else
        must(braid_exec_wait(way->run.exec));
}

static struct way *add(const char *title, bool is_split, bool shared, braid_exec_mode mode)
{
    struct way *way = &bench.ways[bench.num];
    const braid_exec_options options = { .mode = mode, .islands = BRAID_ISLANDS_NEVER };
    bool is_there = is_split ? mpm_run_init_split(&way->run, title, bench.group, bench.devices,
                                                  shared, &bench.scene, &options, 1)
                             : mpm_run_init(&way->run, title, bench.devices[0], &bench.scene, NULL,
                                            &options, 1);
    if (!is_there)
        return NULL;
    // The same in all frames, since a graph that was captured by hand would have to be changed.
    mpm_frame_set_gravity(&way->run.frame, way->run.exec, mpm_scene_gravity(&bench.scene, 0));
    bench.systems[bench.num++] =
        (struct system){ .name = title, .launch = launch, .wait = wait, .user = way };
    return way;
}

// By hand on the program's own streams and events, queued each frame or captured once: the kernels
// and arguments are those of an exec whose materials are shared.
static void add_by_hand(void)
{
    for (int captured = 0; captured < 2; captured++) {
        struct way *way = add(captured ? "two by hand, captured" : "two by hand, streams", true,
                              true, BRAID_MODE_STREAMS);
        if (way)
            way->hand = mpm_by_hand_open(&way->run, captured);
    }
}

static void add_all(void)
{
    add("one by Braid, streams", false, false, BRAID_MODE_STREAMS);
    add("one by Braid, graph", false, false, BRAID_MODE_GRAPH);
    if (strcmp(bench.devices[0]->backend->ops->name, "cpu") != 0)
        add_by_hand();
    add("two by Braid, streams, copies", true, false, BRAID_MODE_STREAMS);
    add("two by Braid, graph, copies", true, false, BRAID_MODE_GRAPH);
    add("two by Braid, streams, shared", true, true, BRAID_MODE_STREAMS);
    add("two by Braid, graph, shared", true, true, BRAID_MODE_GRAPH);
}

static bool is_equal(const struct mpm_run *run, const struct mpm_state *expected)
{
    struct mpm_state state;
    size_t num_cells = (size_t)bench.scene.num_cells * (size_t)bench.scene.num_cells;
    mpm_world_read(&run->world, &state);
    bool is_equal = memcmp(state.foam, expected->foam, num_cells * sizeof(*state.foam)) == 0;
    for (int m = 0; m < MPM_NUM_MATERIALS; m++)
        is_equal = is_equal && memcmp(state.particles[m], expected->particles[m],
                                      bench.scene.num_particles[m] * sizeof(mpm_particle)) == 0;
    mpm_state_finish(&state);
    return is_equal;
}

// Returns whether all results are those of the first.
static bool report(uint32_t num_frames)
{
    static struct timing timings[MOST];
    struct mpm_state expected;
    bool all = true;
    measure(bench.systems, bench.num, num_frames, timings);
    mpm_world_read(&bench.ways[0].run.world, &expected);
    printf("| sparse_mpm, %u + %u + %u particles | us a frame | of it the launch | against one "
           "device | lanes, copies | result |\n|---|---:|---:|---:|---|---|\n",
           bench.scene.num_particles[0], bench.scene.num_particles[1],
           bench.scene.num_particles[2]);
    for (uint32_t i = 0; i < bench.num; i++) {
        const struct way *way = &bench.ways[i];
        braid_schedule_info info;
        braid_schedule_get_info(braid_exec_get_schedule(way->run.exec), &info);
        bool equal = is_equal(&way->run, &expected);
        all = all && equal;
        printf("| %s | %.1f | %.1f | %.2f | %u, %u (%.1f MB), %.0f us planned | %s |\n",
               bench.systems[i].name, timings[i].total_us, timings[i].host_us,
               timings[i].total_us / timings[1].total_us, way->hand ? 0 : info.num_lanes,
               way->hand ? 0 : info.num_copies, way->hand ? 0 : (double)info.copy_bytes / 1e6,
               way->hand ? 0 : (double)info.makespan_ns / 1e3, equal ? "equal" : "DIFFERENT");
    }
    mpm_state_finish(&expected);
    return all;
}

int main(int argc, char **argv)
{
    uint32_t num_devices = argc > 2 ? (uint32_t)atoi(argv[2]) : NUM_DEVICES;
    uint32_t num_frames = argc > 3 ? (uint32_t)atoi(argv[3]) : 200;
    if (num_devices < 1 || num_devices > NUM_DEVICES || num_frames < 1)
        return 2;
    for (uint32_t i = 0; i < NUM_DEVICES; i++) {
        const braid_device_options options = { .backend = argc > 1 ? argv[1] : "cuda",
                                               .ordinal = i };
        if (i < num_devices)
            must(braid_device_open(&options, &bench.devices[i]));
        else
            bench.devices[i] = bench.devices[0];
    }
    must(braid_device_open_group(bench.devices, NUM_DEVICES, &bench.group));
    mpm_scene_init(&bench.scene, argc > 4 ? (uint32_t)atoi(argv[4]) : 16000);
    add_all();
    bool all = report(num_frames);
    for (uint32_t i = 0; i < bench.num; i++) {
        mpm_by_hand_close(bench.ways[i].hand);
        mpm_run_finish(&bench.ways[i].run);
    }
    mpm_scene_finish(&bench.scene);
    braid_device_close(bench.group);
    for (uint32_t i = 0; i < num_devices; i++)
        must(braid_device_close(bench.devices[i]));
    return all ? EXIT_SUCCESS : EXIT_FAILURE;
}
