// SPDX-License-Identifier: Apache-2.0
// Build once, replay, look: an image is blurred along its rows and, at the same time, along its
// columns, and the two are mixed, 240 times with another radius.
#include <string.h>

#include "check.h"

enum { SIDE = 256, NUM_PIXELS = SIDE * SIDE, NUM_FRAMES = 240, BLOCK = 256 };

// The device's version, for CUDA and HIP alike. `step` is the distance to the next pixel.
static const char source[] =
    "extern \"C\" __global__ void blur(const float *from, float *to, int step, int radius)\n"
    "{\n"
    "    int pixel = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    float sum = 0;\n"
    "    for (int i = -radius; i <= radius; i++)\n"
    "        sum += from[(pixel + i * step) & 65535];\n"
    "    to[pixel] = sum / (2 * radius + 1);\n"
    "}\n"
    "extern \"C\" __global__ void mix(const float *a, const float *b, float *to)\n"
    "{\n"
    "    int pixel = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    to[pixel] = 0.5f * (a[pixel] + b[pixel]);\n"
    "}\n";

static void blur_cpu(const braid_blocks *blocks, void *const *args)
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

static void mix_cpu(const braid_blocks *blocks, void *const *args)
{
    const float *a = *(const float *const *)args[0], *b = *(const float *const *)args[1];
    float *to = *(float *const *)args[2];
    for (int pixel = (int)blocks->begin * BLOCK; pixel < (int)blocks->end * BLOCK; pixel++)
        to[pixel] = 0.5f * (a[pixel] + b[pixel]);
}

static const braid_kernel blur = { .name = "blur", .cpu = blur_cpu, .source = source };
static const braid_kernel mix = { .name = "mix", .cpu = mix_cpu, .source = source };

// The program's memory: host memory that copies reach, and the device's own.
struct images {
    float *in, *out;                        // host
    float *pixels, *rows, *columns, *mixed; // device
};

static float *allocate(braid_device *device, braid_memory_kind kind)
{
    void *memory;
    CHECK(braid_memory_allocate(device, kind, NUM_PIXELS * sizeof(float), &memory));
    return memory;
}

static void allocate_images(braid_device *device, struct images *images)
{
    images->in = allocate(device, BRAID_MEMORY_HOST);
    images->out = allocate(device, BRAID_MEMORY_HOST);
    images->pixels = allocate(device, BRAID_MEMORY_DEVICE);
    images->rows = allocate(device, BRAID_MEMORY_DEVICE);
    images->columns = allocate(device, BRAID_MEMORY_DEVICE);
    images->mixed = allocate(device, BRAID_MEMORY_DEVICE);
    memset(images->in, 0, NUM_PIXELS * sizeof(float));
    images->in[NUM_PIXELS / 2 + SIDE / 2] = 1.0f; // one bright dot
}

static void free_images(braid_device *device, struct images *images)
{
    braid_memory_free(device, BRAID_MEMORY_HOST, images->in);
    braid_memory_free(device, BRAID_MEMORY_HOST, images->out);
    braid_memory_free(device, BRAID_MEMORY_DEVICE, images->pixels);
    braid_memory_free(device, BRAID_MEMORY_DEVICE, images->rows);
    braid_memory_free(device, BRAID_MEMORY_DEVICE, images->columns);
    braid_memory_free(device, BRAID_MEMORY_DEVICE, images->mixed);
}

static braid_resource add_buffer(braid_graph *graph, const char *name, const float *memory)
{
    braid_resource resource;
    CHECK(braid_graph_add_buffer(graph, name, memory, NUM_PIXELS * sizeof(float), &resource));
    return resource;
}

// load -> (blur rows, blur columns) -> mix -> save. No edge is written down: they follow from what
// the nodes read and write. blur_nodes are the two whose radius changes.
static void add_nodes(braid_graph *graph, const struct images *images, braid_node *blur_nodes)
{
    const uint64_t bytes = NUM_PIXELS * sizeof(float);
    const int right = 1, down = SIDE, radius = 0;
    braid_resource pixels = add_buffer(graph, "pixels", images->pixels);
    braid_resource rows = add_buffer(graph, "rows", images->rows);
    braid_resource columns = add_buffer(graph, "columns", images->columns);
    braid_resource mixed = add_buffer(graph, "mixed", images->mixed);
    CHECK(braid_graph_add_copy(graph,
                               &(braid_copy){ .node.name = "load",
                                              .to = images->pixels,
                                              .from = images->in,
                                              .bytes = bytes,
                                              BRAID_ACCESSES({ pixels, BRAID_WRITE }) },
                               NULL));
    CHECK(braid_graph_add_kernel(
        graph,
        &(braid_launch){ .node.name = "blur rows",
                         .kernel = &blur,
                         .grid.x = NUM_PIXELS / BLOCK,
                         .block.x = BLOCK,
                         BRAID_ARGS(BRAID_ARG(images->pixels), BRAID_ARG(images->rows),
                                    BRAID_ARG(right), BRAID_ARG(radius)),
                         BRAID_ACCESSES({ pixels, BRAID_READ }, { rows, BRAID_WRITE }) },
        &blur_nodes[0]));
    CHECK(braid_graph_add_kernel(
        graph,
        &(braid_launch){ .node.name = "blur columns",
                         .kernel = &blur,
                         .grid.x = NUM_PIXELS / BLOCK,
                         .block.x = BLOCK,
                         BRAID_ARGS(BRAID_ARG(images->pixels), BRAID_ARG(images->columns),
                                    BRAID_ARG(down), BRAID_ARG(radius)),
                         BRAID_ACCESSES({ pixels, BRAID_READ }, { columns, BRAID_WRITE }) },
        &blur_nodes[1]));
    CHECK(braid_graph_add_kernel(
        graph,
        &(braid_launch){
            .kernel = &mix,
            .grid.x = NUM_PIXELS / BLOCK,
            .block.x = BLOCK,
            BRAID_ARGS(BRAID_ARG(images->rows), BRAID_ARG(images->columns),
                       BRAID_ARG(images->mixed)),
            BRAID_ACCESSES({ rows, BRAID_READ }, { columns, BRAID_READ }, { mixed, BRAID_WRITE }) },
        NULL));
    CHECK(braid_graph_add_copy(graph,
                               &(braid_copy){ .node.name = "save",
                                              .to = images->out,
                                              .from = images->mixed,
                                              .bytes = bytes,
                                              BRAID_ACCESSES({ mixed, BRAID_READ }) },
                               NULL));
}

static void replay(braid_exec *exec, const braid_node *blur_nodes)
{
    for (int frame = 0; frame < NUM_FRAMES; frame++) {
        int radius = frame % 8;
        for (int i = 0; i < 2; i++)
            CHECK(braid_exec_set_arg(exec, blur_nodes[i], 3, BRAID_ARG(radius)));
        CHECK(braid_exec_launch(exec, NULL)); // asynchronous
    }
    CHECK(braid_exec_wait(exec)); // errors of the device surface here
}

// Of the last frame, whose radius was 7: the dot has become a cross with arms of 7 pixels.
static int check_cross(const float *out)
{
    const float *centre = &out[NUM_PIXELS / 2 + SIDE / 2];
    float arm = 0.5f / 15.0f;
    if (centre[7] == arm && centre[-7] == arm && centre[7 * SIDE] == arm && centre[8] == 0 &&
        centre[SIDE + 1] == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, "wrong picture: %g instead of %g\n", (double)centre[7], (double)arm);
    return EXIT_FAILURE;
}

int main(void)
{
    braid_device *device;
    CHECK(braid_device_open(NULL, &device)); // the best device here; options pick one
    struct images images;
    allocate_images(device, &images);

    braid_graph *graph;
    CHECK(braid_graph_create(&graph));
    braid_node blur_nodes[2];
    add_nodes(graph, &images, blur_nodes);

    braid_exec *exec; // plans, leases and allocates
    CHECK(braid_exec_create(device, graph, NULL, &exec));
    braid_graph_destroy(graph);
    CHECK(braid_schedule_write_dot(braid_exec_schedule(exec), stdout));
    replay(exec, blur_nodes);
    int result = check_cross(images.out);

    braid_exec_destroy(exec);
    free_images(device, &images);
    braid_device_close(device);
    return result;
}
