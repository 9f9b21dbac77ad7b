// SPDX-License-Identifier: Apache-2.0
// A video pipeline of three frames in flight: while a picture is filtered five times, the next is
// read on the host and the last is written there. All that says so is what each node touches.
#include <unistd.h>

#include "check.h"

enum { WIDTH = 96, HEIGHT = 64, NUM_FILTERS = 5, NUM_FRAMES = 120, DEPTH = 3 };

struct picture {
    uint32_t number, pixels[WIDTH * HEIGHT];
};

// The codecs. Each has a state of its own, so pictures pass it one after another.
static uint32_t num_read, num_written, num_wrong;

static void read_picture(void *user)
{
    struct picture *picture = user;
    usleep(500); // a file, a camera
    picture->number = num_read++;
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++)
        picture->pixels[i] = i * picture->number;
}

static void write_picture_to(void *user)
{
    const struct picture *picture = user;
    usleep(500);
    num_wrong += picture->number != num_written++;
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++)
        num_wrong += picture->pixels[i] != i * picture->number + NUM_FILTERS;
}

static void filter_on_cpu(const braid_blocks *blocks, void *const *args)
{
    struct picture *to = *(struct picture *const *)args[0];
    const struct picture *from = *(const struct picture *const *)args[1];
    if (blocks->begin == 0)
        to->number = from->number;
    for (uint64_t row = blocks->begin; row < blocks->end; row++)
        for (uint64_t i = row * WIDTH; i < (row + 1) * WIDTH; i++)
            to->pixels[i] = from->pixels[i] + 1;
}

static const braid_kernel filter = { .name = "filter", .cpu = filter_on_cpu };

static void add_filters(braid_graph *graph, const braid_resource *pictures)
{
    for (int i = 0; i < NUM_FILTERS; i++)
        CHECK(braid_graph_add_kernel(
            graph,
            &(braid_kernel_node){
                .kernel = &filter,
                .grid.x = HEIGHT,
                BRAID_ARGS(braid_resource_address(&pictures[i + 1]),
                           braid_resource_address(&pictures[i])),
                BRAID_ACCESSES({ pictures[i], BRAID_READ }, { pictures[i + 1], BRAID_WRITE }) },
            NULL));
}

// Each frame in flight has its own memory to read into and write from on the host.
static void add_nodes(braid_graph *graph, void *const *in, void *const *out)
{
    const uint64_t bytes = sizeof(struct picture);
    braid_resource input, output, pictures[NUM_FILTERS + 1], reader, writer;
    CHECK(braid_graph_add_versioned_buffer(graph, "input", in, DEPTH, bytes, &input));
    CHECK(braid_graph_add_versioned_buffer(graph, "output", out, DEPTH, bytes, &output));
    CHECK(braid_graph_add_resource(graph, "reader", &reader));
    CHECK(braid_graph_add_resource(graph, "writer", &writer));
    for (int i = 0; i <= NUM_FILTERS; i++)
        CHECK(braid_graph_add_transient(graph, "picture", bytes, 0, &pictures[i]));
    CHECK(braid_graph_add_host_call(
        graph,
        &(braid_host_call){ BRAID_ACCESSES({ reader, BRAID_READ_WRITE }, { input, BRAID_WRITE }),
                            .call = read_picture, .user_resource = input, .blocking = true },
        NULL));
    CHECK(braid_graph_add_copy(
        graph,
        &(braid_copy){ BRAID_ACCESSES({ input, BRAID_READ }, { pictures[0], BRAID_WRITE }),
                       .to_resource = pictures[0], .from_resource = input, .bytes = bytes },
        NULL));
    add_filters(graph, pictures);
    CHECK(braid_graph_add_copy(
        graph,
        &(braid_copy){
            BRAID_ACCESSES({ pictures[NUM_FILTERS], BRAID_READ }, { output, BRAID_WRITE }),
            .to_resource = output, .from_resource = pictures[NUM_FILTERS], .bytes = bytes },
        NULL));
    CHECK(braid_graph_add_host_call(
        graph,
        &(braid_host_call){ BRAID_ACCESSES({ writer, BRAID_READ_WRITE }, { output, BRAID_READ }),
                            .call = write_picture_to, .user_resource = output, .blocking = true },
        NULL));
}

int main(int argc, char **argv)
{
    static struct picture in[DEPTH], out[DEPTH];
    braid_device *device;
    braid_graph *graph;
    braid_stream *stream;
    braid_exec *exec;
    check_arguments(argc, argv, 1, "[PICTURE]");
    CHECK(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    CHECK(braid_stream_create(device, NULL, &stream));
    CHECK(braid_graph_create(&graph));
    add_nodes(graph, (void *[]){ &in[0], &in[1], &in[2] }, (void *[]){ &out[0], &out[1], &out[2] });
    CHECK(braid_exec_create(device, graph, &(braid_exec_options){ .frames_in_flight = DEPTH },
                            &exec));
    write_picture(braid_exec_get_schedule(exec), argc > 1 ? argv[1] : NULL);
    CHECK(braid_exec_launch_many(exec, stream, NUM_FRAMES, NULL, 0));
    CHECK(braid_exec_wait(exec));
    printf("%u pictures, %u faults\n", num_written, num_wrong);
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_stream_destroy(stream);
    braid_device_close(device);
    return num_written == NUM_FRAMES && num_wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
