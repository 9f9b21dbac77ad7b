// SPDX-License-Identifier: Apache-2.0
// The main job, sparse_mpm, on the CPU as a graph and on streams: frames by turns, so that other
// work on the machine meets both. Prints the median of the ratios of a pair. bench_mpm_modes
// [PAIRS]
#include <math.h>
#include <stdlib.h>

#include "../examples/check.h"
#include "measure.h"
#include "plan_shapes.h"
#include "run.h"
#include "scene.h"

enum { NUM_MODES = 2 };

static const struct {
    const char *name;
    braid_exec_mode mode;
} modes[NUM_MODES] = { { "graph", BRAID_MODE_GRAPH }, { "streams", BRAID_MODE_STREAMS } };

struct pairs {
    struct mpm_scene scene;
    struct mpm_run runs[NUM_MODES];
    braid_stream *stream;
    double *ratios;
    double cpu_seconds[NUM_MODES];
};

static double play(struct pairs *pairs, int mode, uint32_t frame)
{
    struct mpm_run *run = &pairs->runs[mode];
    mpm_frame_set_gravity(&run->frame, run->exec, mpm_scene_gravity(&pairs->scene, frame));
    double start = plan_wall_seconds(), start_cpu = plan_cpu_seconds();
    CHECK(braid_exec_launch(run->exec, pairs->stream));
    CHECK(braid_exec_wait(run->exec));
    pairs->cpu_seconds[mode] += plan_cpu_seconds() - start_cpu;
    return plan_wall_seconds() - start;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

// The 90 % interval of a median by ranks.
static void print(struct pairs *pairs, uint32_t num_particles, uint32_t num)
{
    uint32_t half = num / 2, reach = (uint32_t)(0.8225 * sqrt(num));
    qsort(pairs->ratios, num, sizeof(*pairs->ratios), compare);
    printf("| %u | %u | %.3f (%.3f to %.3f) | %.3f |\n", num_particles, num, pairs->ratios[half],
           pairs->ratios[half - reach], pairs->ratios[half + reach],
           pairs->cpu_seconds[0] / pairs->cpu_seconds[1]);
    fflush(stdout);
}

static void measure(braid_device *device, uint32_t num_particles, uint32_t num)
{
    struct pairs pairs = { .ratios = calloc(num, sizeof(double)) };
    if (!pairs.ratios)
        abort();
    mpm_scene_init(&pairs.scene, num_particles);
    CHECK(braid_stream_create(device, NULL, &pairs.stream));
    for (int i = 0; i < NUM_MODES; i++) {
        const braid_exec_options options = { .mode = modes[i].mode };
        if (!mpm_run_init(&pairs.runs[i], modes[i].name, device, &pairs.scene, NULL, &options, 1))
            exit(EXIT_FAILURE);
    }
    for (uint32_t i = 0; i < num; i++) {
        double seconds[NUM_MODES];
        for (uint32_t k = 0; k < NUM_MODES; k++)
            seconds[(k + i) % NUM_MODES] = play(&pairs, (int)((k + i) % NUM_MODES), i);
        pairs.ratios[i] = seconds[0] / seconds[1];
    }
    print(&pairs, num_particles, num);
    for (int i = 0; i < NUM_MODES; i++)
        mpm_run_finish(&pairs.runs[i]);
    braid_stream_destroy(pairs.stream);
    mpm_scene_finish(&pairs.scene);
    free(pairs.ratios);
}

int main(int argc, char **argv)
{
    uint32_t num = argc > 1 ? (uint32_t)atoi(argv[1]) : 200;
    const braid_device_options options = { .backend = "cpu", .num_workers = 2 };
    braid_device *device;
    CHECK(braid_device_open(&options, &device));
    printf("| particles | pairs | graph / streams, median (90 %%) | processor time |\n"
           "|---:|---:|---:|---:|\n");
    measure(device, 300, 5 * num);
    measure(device, 1500, 3 * num);
    measure(device, 16000, num);
    CHECK(braid_device_close(device));
    return 0;
}
