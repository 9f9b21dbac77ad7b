// SPDX-License-Identifier: Apache-2.0
// A first graph: two sums that may be made at once, and a third that needs both. Nobody writes an
// edge or a wait: they follow from what the nodes say they touch.
#include "check.h"

enum { NUM = 1000 };

// On the CPU a kernel does a part of the grid at a time; args[i] points to argument i.
static void add_on_cpu(const braid_blocks *blocks, void *const *args)
{
    int *to = *(int *const *)args[0];
    const int *a = *(const int *const *)args[1], *b = *(const int *const *)args[2];
    for (uint64_t i = blocks->begin; i < blocks->end; i++)
        to[i] = a[i] + b[i];
}

// The same for GPUs; without it the kernel would run on the CPU only.
static const char source[] =
    "extern \"C\" __global__ void add(int *to, const int *a, const int *b)\n"
    "{\n"
    "    to[blockIdx.x] = a[blockIdx.x] + b[blockIdx.x];\n"
    "}\n";

static const braid_kernel add = { .name = "add", .cpu = add_on_cpu, .source = source };

// BRAID_OUT and BRAID_IN hand over the address of a buffer, and declare the access to it.
static void add_sum(braid_graph *graph, const char *name, braid_resource to, braid_resource a,
                    braid_resource b)
{
    const braid_kernel_node node = { .node.name = name,
                                     .kernel = &add,
                                     .grid.x = NUM,
                                     BRAID_ARGS(BRAID_OUT(to), BRAID_IN(a), BRAID_IN(b)) };
    CHECK(braid_graph_add_kernel(graph, &node, NULL));
}

int main(int argc, char **argv)
{
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    int in[NUM], last;
    void *arrays[4]; // in, left = in + in, right = in + in, sum = left + right
    braid_resource buffers[4];
    check_arguments(argc, argv, 1, "[PICTURE]");
    CHECK(braid_device_open(NULL, &device)); // the best one here
    CHECK(braid_graph_create(&graph));
    static const char *const names[] = { "in", "left", "right", "sum" };
    for (int i = 0; i < NUM; i++)
        in[i] = i;
    for (int i = 0; i < 4; i++)
        CHECK(braid_graph_add_device_buffer(graph, device, names[i], i == 0 ? in : NULL, sizeof(in),
                                            &arrays[i], &buffers[i]));
    add_sum(graph, "left", buffers[1], buffers[0], buffers[0]);
    add_sum(graph, "right", buffers[2], buffers[0], buffers[0]);
    add_sum(graph, "sum", buffers[3], buffers[1], buffers[2]);

    CHECK(braid_exec_create(device, graph, NULL, &exec)); // plans, once
    write_picture(braid_exec_get_schedule(exec), argc > 1 ? argv[1] : NULL);
    for (int frame = 0; frame < 100; frame++)
        CHECK(braid_exec_launch(exec, NULL)); // replays; does not wait
    braid_stream *stream = braid_device_get_default_stream(device);
    CHECK(braid_stream_copy(stream, &last, (int *)arrays[3] + NUM - 1, sizeof(last)));
    CHECK(braid_stream_wait(stream));
    printf("%d + %d and as much again is %d\n", NUM - 1, NUM - 1, last);

    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    for (int i = 0; i < 4; i++)
        braid_memory_free(device, arrays[i]);
    braid_device_close(device);
    return last == 4 * (NUM - 1) ? EXIT_SUCCESS : EXIT_FAILURE;
}
