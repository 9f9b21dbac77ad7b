// SPDX-License-Identifier: Apache-2.0
// An image goes to the device, is blurred along its rows and then along its columns, and comes
// back: 240 times, each with another radius, which is a parameter. What lies between is transient:
// the exec allocates it, and images that are not alive at the same time share memory.
#include "check.h"

enum { SIDE = 256, NUM_PIXELS = SIDE * SIDE, NUM_FRAMES = 240, BLOCK = 256 };

static const uint64_t BYTES = NUM_PIXELS * sizeof(float);

// The device's version, for CUDA and HIP alike. `step` is the distance to the next pixel.
static const char source[] =
    "extern \"C\" __global__ void blur(const float *from, float *to, int step, int radius)\n"
    "{\n"
    "    int pixel = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    float sum = 0;\n"
    "    for (int i = -radius; i <= radius; i++)\n"
    "        sum += from[(pixel + i * step) & 65535];\n"
    "    to[pixel] = sum / (2 * radius + 1);\n"
    "}\n";

static void blur_on_cpu(const braid_blocks *blocks, void *const *args)
{
    const float *from = *(const float *const *)args[0];
    float *to = *(float *const *)args[1];
    int step = *(const int *)args[2], radius = *(const int *)args[3];
    for (int pixel = (int)blocks->begin * BLOCK; pixel < (int)blocks->end * BLOCK; pixel++) {
        float sum = 0;
        for (int i = -radius; i <= radius; i++)
            sum += from[(pixel + i * step) & (NUM_PIXELS - 1)];
        to[pixel] = sum / (float)(2 * radius + 1);
    }
}

static const braid_kernel blur = { .name = "blur", .cpu = blur_on_cpu, .source = source };

static void add_blur(braid_graph *graph, const char *name, int step, braid_resource from,
                     braid_resource to, braid_parameter radius)
{
    braid_node node;
    int none = 0; // until the parameter is set
    CHECK(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .node.name = name,
                              .kernel = &blur,
                              .grid.x = NUM_PIXELS / BLOCK,
                              .block.x = BLOCK,
                              BRAID_ARGS(braid_resource_address(&from), braid_resource_address(&to),
                                         BRAID_ARG(step), BRAID_ARG(none)),
                              BRAID_ACCESSES({ from, BRAID_READ }, { to, BRAID_WRITE }) },
        &node));
    CHECK(braid_graph_use_parameter(graph, radius,
                                    &(braid_parameter_use){ .node = node, .argument = 3 }));
}

// load -> blur rows -> blur columns -> save. No edge is written down.
static braid_parameter add_nodes(braid_graph *graph, const float *in, float *out)
{
    braid_resource pixels, rows, columns;
    braid_parameter radius;
    CHECK(braid_graph_add_transient(graph, "pixels", BYTES, 0, &pixels));
    CHECK(braid_graph_add_transient(graph, "rows", BYTES, 0, &rows));
    CHECK(braid_graph_add_transient(graph, "columns", BYTES, 0, &columns));
    CHECK(braid_graph_add_parameter(graph, "radius", sizeof(int), &radius));
    braid_copy load = {
        .to_resource = pixels, .from = in, .bytes = BYTES, BRAID_ACCESSES({ pixels, BRAID_WRITE })
    };
    braid_copy save = {
        .to = out, .from_resource = columns, .bytes = BYTES, BRAID_ACCESSES({ columns, BRAID_READ })
    };
    CHECK(braid_graph_add_copy(graph, &load, NULL));
    add_blur(graph, "blur rows", 1, pixels, rows, radius);
    add_blur(graph, "blur columns", SIDE, rows, columns, radius);
    CHECK(braid_graph_add_copy(graph, &save, NULL));
    return radius;
}

int main(int argc, char **argv)
{
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    braid_exec_info info;
    void *in, *out; // host memory that copies reach
    check_arguments(argc, argv, 1, "[PICTURE]");
    CHECK(braid_device_open(NULL, &device));
    CHECK(braid_memory_allocate(device, BRAID_MEMORY_HOST, BYTES, &in));
    CHECK(braid_memory_allocate(device, BRAID_MEMORY_HOST, BYTES, &out));
    float *dot = (float *)in + NUM_PIXELS / 2 + SIDE / 2;
    for (int i = 0; i < NUM_PIXELS; i++)
        ((float *)in)[i] = 0;
    *dot = 1;
    CHECK(braid_graph_create(&graph));
    braid_parameter parameter = add_nodes(graph, in, out);
    CHECK(braid_exec_create(device, graph, NULL, &exec));
    write_picture(braid_exec_get_schedule(exec), argc > 1 ? argv[1] : NULL);
    for (int frame = 0; frame < NUM_FRAMES; frame++) {
        int radius = frame % 8;
        CHECK(braid_exec_set_parameter(exec, parameter, &radius));
        CHECK(braid_exec_launch(exec, NULL));
    }
    CHECK(braid_exec_wait(exec));

    braid_exec_get_info(exec, &info);
    const float *corner = (const float *)out + (dot - (float *)in) + 7 * SIDE + 7;
    printf("the dot's square ends in %g; three images in the memory of %.0f\n", (double)corner[0],
           (double)info.transient_bytes / (double)BYTES);
    bool right = corner[0] == 1.0f / 15 / 15 && corner[1] == 0; // the last radius was 7
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_memory_free(device, in);
    braid_memory_free(device, out);
    braid_device_close(device);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
