// SPDX-License-Identifier: Apache-2.0
// The device decides how many substeps a frame has. In each frame a kernel finds the fastest cell,
// and from it the time step and the number of substeps. A loop in the graph runs as many. The host
// launches all frames in a row and waits once.
#include <math.h>

#include "check.h"

enum { NUM = 1024, NUM_FRAMES = 60, MOST = 1000 }; // substeps of a frame
static const float frame_time = 0.02f, cell = 1.0f / NUM;

struct substeps {
    float time_step, fastest;
    uint32_t in_first, most, total;
};

static float speed[NUM], flux[NUM];
static struct substeps substeps;
static uint32_t left; // substeps of the frame

static void find_flux_on_cpu(const braid_blocks *blocks, void *const *args)
{
    float *to = *(float *const *)args[0];
    const float *speeds = *(const float *const *)args[1];
    for (uint64_t i = blocks->begin; i < blocks->end; i++)
        to[i] = speeds[i] * (speeds[i] - speeds[(i + NUM - 1) % NUM]) / cell;
}

static void move_on_cpu(const braid_blocks *blocks, void *const *args)
{
    float *speeds = *(float *const *)args[0];
    const float *from = *(const float *const *)args[1];
    float time_step = (*(const struct substeps *const *)args[2])->time_step;
    for (uint64_t i = blocks->begin; i < blocks->end; i++)
        speeds[i] -= time_step * from[i];
}

// CFL: no cell is crossed in less than two substeps.
static void choose_on_cpu(const braid_blocks *blocks, void *const *args)
{
    const float *speeds = *(const float *const *)args[0];
    struct substeps *all = *(struct substeps *const *)args[1];
    uint32_t *num = *(uint32_t *const *)args[2];
    (void)blocks; // one block
    all->fastest = 0;
    for (int i = 0; i < NUM; i++)
        all->fastest = fmaxf(all->fastest, fabsf(speeds[i]));
    *num = 1 + (uint32_t)(frame_time * all->fastest * 2 / cell);
    all->time_step = frame_time / (float)*num;
    all->in_first = all->total ? all->in_first : *num;
    all->most = *num > all->most ? *num : all->most;
    all->total += *num;
}

static void count_on_cpu(const braid_blocks *blocks, void *const *args)
{
    (void)blocks; // one block
    --**(uint32_t *const *)args[0];
}

static const braid_kernel find_flux = { .name = "flux", .cpu = find_flux_on_cpu };
static const braid_kernel move = { .name = "move", .cpu = move_on_cpu };
static const braid_kernel choose = { .name = "choose", .cpu = choose_on_cpu };
static const braid_kernel count = { .name = "count", .cpu = count_on_cpu };

#define ADD(which, grid_x, ...)                                                                    \
    CHECK(braid_graph_add_kernel(                                                                  \
        graph,                                                                                     \
        &(braid_kernel_node){ .kernel = &which, .grid.x = (grid_x), BRAID_ARGS(__VA_ARGS__) },     \
        NULL))

static braid_node add_frame(braid_graph *graph)
{
    braid_resource speeds, fluxes, all, num;
    braid_node loop;
    CHECK(braid_graph_add_buffer(graph, "speed", speed, sizeof(speed), &speeds));
    CHECK(braid_graph_add_buffer(graph, "flux", flux, sizeof(flux), &fluxes));
    CHECK(braid_graph_add_buffer(graph, "substeps", &substeps, sizeof(substeps), &all));
    CHECK(braid_graph_add_buffer(graph, "left", &left, sizeof(left), &num));
    ADD(choose, 1, BRAID_IN(speeds), BRAID_INOUT(all), BRAID_OUT(num));
    CHECK(braid_graph_begin_loop(
        graph, &(braid_loop){ .node.name = "substeps", .condition = num, .most = MOST }, &loop));
    ADD(find_flux, NUM, BRAID_OUT(fluxes), BRAID_IN(speeds));
    ADD(move, NUM, BRAID_INOUT(speeds), BRAID_IN(fluxes), BRAID_IN(all));
    ADD(count, 1, BRAID_INOUT(num));
    CHECK(braid_graph_end(graph));
    return loop;
}

int main(int argc, char **argv)
{
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    uint64_t in_last;
    check_arguments(argc, argv, 1, "[PICTURE]");
    for (int i = 0; i < NUM / 4; i++)
        speed[i] = 4 * sinf((float)i * 3.14159265f * 4 / NUM);
    CHECK(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    CHECK(braid_graph_create(&graph));
    braid_node loop = add_frame(graph);
    CHECK(braid_exec_create(device, graph, NULL, &exec));
    write_picture(braid_exec_get_schedule(exec), argc > 1 ? argv[1] : NULL);
    for (int frame = 0; frame < NUM_FRAMES; frame++)
        CHECK(braid_exec_launch(exec, NULL));
    CHECK(braid_exec_wait(exec)); // the one time that the device is drained
    CHECK(braid_exec_get_iterations(exec, loop, &in_last));
    printf(
        "%d frames, %u substeps, %u in the first and %u in the last; the fastest cell has %.3f\n",
        NUM_FRAMES, substeps.total, substeps.in_first, (unsigned)in_last, (double)substeps.fastest);
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_device_close(device);
    // With too few substeps it would have grown without bound.
    bool is_bounded = substeps.fastest > 0.1f && substeps.fastest < 4;
    return substeps.most > in_last && is_bounded ? EXIT_SUCCESS : EXIT_FAILURE;
}
