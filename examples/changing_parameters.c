// SPDX-License-Identifier: Apache-2.0
// What changes from frame to frame: a time step, and two buffers that swap. They are declared by
// their roles, front and back; the plan stays, and only the kernels' arguments are replaced.
#include "check.h"

enum { NUM = 256, NUM_FRAMES = 200 };

static void diffuse_on_cpu(const braid_blocks *blocks, void *const *args)
{
    const float *front = *(const float *const *)args[0];
    float *back = *(float *const *)args[1], step = *(const float *)args[2];
    for (uint64_t i = blocks->begin; i < blocks->end; i++)
        back[i] =
            front[i] + step * (front[(i + 1) % NUM] - 2 * front[i] + front[(i + NUM - 1) % NUM]);
}

static void total_on_cpu(const braid_blocks *blocks, void *const *args)
{
    const float *back = *(const float *const *)args[0];
    double *total = *(double *const *)args[1];
    (void)blocks; // one block
    *total = 0;
    for (int i = 0; i < NUM; i++)
        *total += (double)back[i];
}

static const braid_kernel diffuse = { .name = "diffuse", .cpu = diffuse_on_cpu };
static const braid_kernel sum_up = { .name = "total", .cpu = total_on_cpu };

struct nodes {
    braid_node diffuse, total;
};

static void add_nodes(braid_graph *graph, float *a, float *b, double *total, struct nodes *nodes)
{
    braid_resource front, back, sum;
    float step = 0;
    // No addresses: which memory plays which role changes.
    CHECK(braid_graph_add_buffer(graph, "front", NULL, NUM * sizeof(float), &front));
    CHECK(braid_graph_add_buffer(graph, "back", NULL, NUM * sizeof(float), &back));
    CHECK(braid_graph_add_buffer(graph, "total", total, sizeof(*total), &sum));
    CHECK(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .kernel = &diffuse,
                              .grid.x = NUM,
                              BRAID_ARGS(BRAID_ARG(a), BRAID_ARG(b), BRAID_ARG(step)),
                              BRAID_ACCESSES({ front, BRAID_READ }, { back, BRAID_WRITE }) },
        &nodes->diffuse));
    CHECK(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .kernel = &sum_up,
                              BRAID_ARGS(BRAID_ARG(b), BRAID_ARG(total)),
                              BRAID_ACCESSES({ back, BRAID_READ }, { sum, BRAID_WRITE }) },
        &nodes->total));
}

// Frames in flight keep the arguments they were launched with, so nothing is waited for here.
static void run_frames(braid_exec *exec, const struct nodes *nodes, float *front, float *back)
{
    for (int frame = 0; frame < NUM_FRAMES; frame++) {
        float step = frame < 100 ? 0.1f : 0.4f;
        CHECK(braid_exec_set_args(
            exec, nodes->diffuse,
            (braid_arg[]){ BRAID_ARG(front), BRAID_ARG(back), BRAID_ARG(step) }, 3));
        CHECK(braid_exec_set_arg(exec, nodes->total, 0, BRAID_ARG(back)));
        CHECK(braid_exec_launch(exec, NULL));
        float *swapped = front;
        front = back;
        back = swapped;
    }
    CHECK(braid_exec_wait(exec));
}

int main(int argc, char **argv)
{
    static float a[NUM] = { [NUM / 2] = 1 }, b[NUM];
    double total = 0;
    struct nodes nodes;
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    check_arguments(argc, argv, 1, "[PICTURE]");
    CHECK(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    CHECK(braid_graph_create(&graph));
    add_nodes(graph, a, b, &total, &nodes);
    CHECK(braid_exec_create(device, graph, NULL, &exec));
    write_picture(braid_exec_get_schedule(exec), argc > 1 ? argv[1] : NULL);
    run_frames(exec, &nodes, a, b);
    printf("total %.3f, in the middle %.3f\n", total, (double)a[NUM / 2]);
    bool right = total > 0.999 && total < 1.001 && a[NUM / 2] > 0.02f && a[NUM / 2] < 0.1f;
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_device_close(device);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
