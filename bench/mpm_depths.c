// SPDX-License-Identifier: Apache-2.0
// The main job, sparse_mpm, with 1, 2 and 3 frames in flight: frames a second where the program
// does not wait between launches, in turn; and how long the longest chain of nodes is that so many
// frames in a row have, which no number of lanes shortens. bench_mpm_depths [BACKEND [FRAMES]]
#include <stdlib.h>
#include <string.h>

#include "../examples/check.h"
#include "measure.h"
#include "run.h"
#include "scene.h"
#include "verify/verify_program.h"

enum { MOST_DEPTH = 3, NUM_TURNS = 5 };

static const struct {
    const char *name;
    braid_exec_mode mode;
} ways[] = { { "graph", BRAID_MODE_GRAPH }, { "streams", BRAID_MODE_STREAMS } };
enum { NUM_WAYS = 2 };

struct depths {
    braid_device *device;
    struct mpm_scene scene;
    uint32_t num_frames;
    double ns[NUM_WAYS][MOST_DEPTH][NUM_TURNS]; // a frame
    braid_exec_info info[NUM_WAYS][MOST_DEPTH];
};

// From the start of the scene, so that all do the same work.
static void run(struct depths *depths, int way, uint32_t depth, int turn)
{
    struct mpm_run run;
    braid_stream *stream;
    const braid_exec_options options = { .mode = ways[way].mode,
                                         .frames_in_flight = depth,
                                         .when_full = BRAID_FULL_WAITS };
    CHECK(braid_stream_create(depths->device, NULL, &stream));
    if (!mpm_run_init(&run, ways[way].name, depths->device, &depths->scene, NULL, &options, 1))
        exit(EXIT_FAILURE);
    uint64_t start = mpm_now_ns();
    for (uint32_t i = 0; i < depths->num_frames; i++) {
        mpm_frame_set_gravity(&run.frame, run.exec, mpm_scene_gravity(&depths->scene, i));
        CHECK(braid_exec_launch(run.exec, stream));
    }
    CHECK(braid_exec_wait(run.exec));
    depths->ns[way][depth - 1][turn] = (double)(mpm_now_ns() - start) / depths->num_frames;
    braid_exec_get_info(run.exec, &depths->info[way][depth - 1]);
    mpm_run_finish(&run);
    braid_stream_destroy(stream);
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static void print(struct depths *depths)
{
    printf("| | frames in flight | us a frame, median (least) | of one | between frames |\n"
           "|---|---:|---:|---:|---|\n");
    for (int way = 0; way < NUM_WAYS; way++)
        for (int depth = 0; depth < MOST_DEPTH; depth++) {
            double *ns = depths->ns[way][depth];
            qsort(ns, NUM_TURNS, sizeof(*ns), compare);
            printf("| %s | %d | %.0f (%.0f) | %.2f | %s |\n", ways[way].name, depth + 1,
                   ns[NUM_TURNS / 2] / 1e3, ns[0] / 1e3,
                   ns[NUM_TURNS / 2] / depths->ns[way][0][NUM_TURNS / 2],
                   depth ? depths->info[way][depth].frames_reason : "");
        }
}

// In planned costs, of frames that nothing but what they access orders.
static uint64_t find_chain_ns(const braid_graph *graph, uint32_t num_frames)
{
    const braid_schedule_options options = { .costs = &(braid_cost_model){ 0 },
                                             .max_lanes = BRAID_ALL_LANES,
                                             .fixed_lanes = true };
    uint32_t num_nodes = graph_num_nodes(graph);
    braid_schedule_info info;
    braid_graph *frames;
    braid_schedule *schedule;
    CHECK(braid_unroll_frames(graph, num_frames, &frames));
    for (uint32_t i = 0; i < num_frames * num_nodes; i++)
        CHECK(braid_graph_set_cost(frames, braid_graph_get_node(frames, i),
                                   graph_nodes(graph)[i % num_nodes].cost_ns));
    CHECK(braid_schedule_create(frames, &options, &schedule));
    braid_schedule_get_info(schedule, &info);
    braid_schedule_destroy(schedule);
    braid_graph_destroy(frames);
    return info.bound_ns;
}

static void print_chains(const struct depths *depths)
{
    struct mpm_run run;
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH };
    if (!mpm_run_init(&run, "chains", depths->device, &depths->scene, NULL, &options, 1))
        exit(EXIT_FAILURE);
    uint64_t one = find_chain_ns(run.frame.graph, 1);
    for (uint32_t frames = 1; frames <= MOST_DEPTH; frames++)
        printf("longest chain of %u frame%s: %.2f of one's\n", frames, frames == 1 ? "" : "s",
               (double)find_chain_ns(run.frame.graph, frames) / (double)one);
    mpm_run_finish(&run);
}

int main(int argc, char **argv)
{
    static struct depths depths;
    const braid_device_options options = { .backend = argc > 1 ? argv[1] : "cpu",
                                           .num_workers = 2 };
    depths.num_frames = argc > 2 ? (uint32_t)atoi(argv[2]) : 60;
    CHECK(braid_device_open(&options, &depths.device));
    mpm_scene_init(&depths.scene, 16000);
    for (int turn = 0; turn < NUM_TURNS; turn++)
        for (int way = 0; way < NUM_WAYS; way++)
            for (uint32_t depth = 1; depth <= MOST_DEPTH; depth++)
                run(&depths, way, depth, turn);
    print(&depths);
    print_chains(&depths);
    mpm_scene_finish(&depths.scene);
    CHECK(braid_device_close(depths.device));
    return 0;
}
