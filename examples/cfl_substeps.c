// SPDX-License-Identifier: Apache-2.0
// The device decides how many substeps a frame has: in each frame the fastest cell is found there,
// the host waits for that one number, and launches as many substeps as it asks for by one call. So
// the device is drained once a frame, however many substeps there are.
#include <math.h>

#include "check.h"

enum { NUM = 1024, NUM_FRAMES = 60 };
static const float frame_time = 0.02f, cell = 1.0f / NUM;

static float speed[NUM], flux[NUM], fastest;

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
    const float *from = *(const float *const *)args[1], step = *(const float *)args[2];
    for (uint64_t i = blocks->begin; i < blocks->end; i++)
        speeds[i] -= step * from[i];
}

static void find_fastest_on_cpu(const braid_blocks *blocks, void *const *args)
{
    const float *speeds = *(const float *const *)args[0];
    float *to = *(float *const *)args[1];
    (void)blocks;
    *to = 0;
    for (int i = 0; i < NUM; i++)
        *to = fmaxf(*to, fabsf(speeds[i]));
}

static const braid_kernel find_flux = { .name = "flux", .cpu = find_flux_on_cpu };
static const braid_kernel move = { .name = "move", .cpu = move_on_cpu };
static const braid_kernel find_fastest = { .name = "fastest", .cpu = find_fastest_on_cpu };

static void add_substep(braid_graph *graph, braid_parameter *out_step)
{
    float *speeds = speed, *fluxes = flux, step = 0;
    braid_resource the_speed, the_flux;
    braid_node last;
    CHECK(braid_graph_add_buffer(graph, "speed", speed, sizeof(speed), &the_speed));
    CHECK(braid_graph_add_buffer(graph, "flux", flux, sizeof(flux), &the_flux));
    CHECK(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){
            .kernel = &find_flux,
            .grid.x = NUM,
            BRAID_ARGS(BRAID_ARG(fluxes), BRAID_ARG(speeds)),
            BRAID_ACCESSES({ the_speed, BRAID_READ }, { the_flux, BRAID_WRITE }) },
        NULL));
    CHECK(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){
            .kernel = &move,
            .grid.x = NUM,
            BRAID_ARGS(BRAID_ARG(speeds), BRAID_ARG(fluxes), BRAID_ARG(step)),
            BRAID_ACCESSES({ the_flux, BRAID_READ }, { the_speed, BRAID_READ_WRITE }) },
        &last));
    CHECK(braid_graph_add_parameter(graph, "time step", sizeof(step), out_step));
    CHECK(braid_graph_use_parameter(graph, *out_step,
                                    &(braid_parameter_use){ .node = last, .argument = 2 }));
}

// CFL: no cell is crossed in less than two substeps.
static size_t num_substeps(float speed_of_fastest)
{
    return 1 + (size_t)(frame_time * speed_of_fastest * 2 / cell);
}

int main(int argc, char **argv)
{
    float *speeds = speed, *result = &fastest;
    size_t num = 0, most = 0, total = 0;
    braid_device *device;
    braid_graph *reduction, *substep;
    braid_exec *reduce, *advance;
    braid_parameter step;
    for (int i = 0; i < NUM / 4; i++)
        speed[i] = 4 * sinf((float)i * 3.14159265f * 4 / NUM);
    CHECK(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    CHECK(braid_graph_create(&reduction));
    CHECK(braid_graph_create(&substep));
    CHECK(braid_graph_add_kernel(
        reduction,
        &(braid_kernel_node){ .kernel = &find_fastest,
                              BRAID_ARGS(BRAID_ARG(speeds), BRAID_ARG(result)) },
        NULL));
    add_substep(substep, &step);
    CHECK(braid_exec_create(device, reduction, NULL, &reduce));
    CHECK(braid_exec_create(device, substep, NULL, &advance));
    write_picture(braid_exec_schedule(advance), argc > 1 ? argv[1] : NULL);
    for (int frame = 0; frame < NUM_FRAMES; frame++, total += num) {
        CHECK(braid_exec_launch(reduce, NULL)); // behind the substeps of the frame before
        CHECK(braid_exec_wait(reduce));         // the one time that the device is drained
        num = num_substeps(fastest);
        most = num > most ? num : most;
        CHECK(braid_exec_set_param(advance, step, &(float){ frame_time / (float)num }));
        CHECK(braid_exec_launch_many(advance, NULL, num));
    }
    CHECK(braid_exec_wait(advance));
    printf("%d frames, %zu substeps, %zu in the first and %zu in the last; the fastest cell has "
           "%.3f\n",
           NUM_FRAMES, total, most, num, (double)fastest);
    braid_exec_destroy(reduce);
    braid_exec_destroy(advance);
    braid_graph_destroy(reduction);
    braid_graph_destroy(substep);
    braid_device_close(device);
    // With too few substeps it would have grown without bound.
    return most > num && fastest > 0.1f && fastest < 4 ? EXIT_SUCCESS : EXIT_FAILURE;
}
