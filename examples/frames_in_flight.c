// SPDX-License-Identifier: Apache-2.0
// Frames in flight: a sensor is read, smoothed with what the frame before made of it, and logged.
// Three frames overlap: while one is logged the next is smoothed and the one after that is read.
// Nothing of that is written down but what each node touches, of its own frame or the one before.
#include <stdatomic.h>
#include <unistd.h>

#include "check.h"

enum { DEPTH = 3, NUM_FRAMES = 100 };

static int num_read, num_logged, logged[NUM_FRAMES];
static atomic_int num_under_way, most_under_way;

static int sense(int frame)
{
    return frame % 7 * 1000;
}

static void read_sensor(void *user)
{
    int now = ++num_under_way, most = most_under_way;
    while (now > most && !atomic_compare_exchange_weak(&most_under_way, &most, now))
        continue;
    usleep(1000);
    *(int *)user = sense(num_read++);
}

static void write_log(void *user)
{
    usleep(1000);
    logged[num_logged++] = *(const int *)user;
    num_under_way--;
}

static void smooth_on_cpu(const braid_blocks *blocks, void *const *args)
{
    (void)blocks; // one block
    int *to = *(int *const *)args[0];
    const int *before = *(const int *const *)args[1], *reading = *(const int *const *)args[2];
    *to = (3 * *before + *reading) / 4;
}

static const braid_kernel smooth = { .name = "smooth", .cpu = smooth_on_cpu };

// A versioned buffer has a memory for each frame in flight. The sensor and the log are resources as
// well: what touches them takes turns, frame after frame.
static void add_nodes(braid_graph *graph)
{
    braid_resource reading, value, before, sensor, file;
    CHECK(braid_graph_add_versioned_buffer(graph, "reading", NULL, DEPTH, sizeof(int), &reading));
    CHECK(braid_graph_add_versioned_buffer(graph, "value", NULL, DEPTH, sizeof(int), &value));
    CHECK(braid_graph_add_earlier_version(graph, value, 1, &before));
    CHECK(braid_graph_add_resource(graph, "sensor", &sensor));
    CHECK(braid_graph_add_resource(graph, "log", &file));
    const braid_host_call read = { .node.name = "read",
                                   .call = read_sensor,
                                   .user_resource = reading,
                                   .blocking = true,
                                   BRAID_ACCESSES({ sensor, BRAID_READ_WRITE },
                                                  { reading, BRAID_WRITE }) };
    const braid_kernel_node launch = {
        .kernel = &smooth,
        BRAID_ARGS(braid_resource_address(&value), braid_resource_address(&before),
                   braid_resource_address(&reading)),
        BRAID_ACCESSES({ value, BRAID_WRITE }, { before, BRAID_READ }, { reading, BRAID_READ })
    };
    const braid_host_call log = { .node.name = "log",
                                  .call = write_log,
                                  .user_resource = value,
                                  .blocking = true,
                                  BRAID_ACCESSES({ file, BRAID_READ_WRITE },
                                                 { value, BRAID_READ }) };
    CHECK(braid_graph_add_host_call(graph, &read, NULL));
    CHECK(braid_graph_add_kernel(graph, &launch, NULL));
    CHECK(braid_graph_add_host_call(graph, &log, NULL));
}

// The graph, with an edge to the next frame; a plan shows one frame.
static void draw(const braid_graph *graph, const char *path)
{
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    CHECK(braid_graph_write_dot(graph, file));
    fclose(file);
}

int main(int argc, char **argv)
{
    braid_device *device;
    braid_stream *stream;
    braid_graph *graph;
    braid_exec *exec;
    check_arguments(argc, argv, 1, "[PICTURE]");
    CHECK(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    CHECK(braid_stream_create(device, NULL, &stream)); // on the default stream frames take turns
    CHECK(braid_graph_create(&graph));
    add_nodes(graph);
    CHECK(braid_exec_create(device, graph, &(braid_exec_options){ .frames_in_flight = DEPTH },
                            &exec));
    draw(graph, argc > 1 ? argv[1] : NULL);
    for (int frame = 0; frame < NUM_FRAMES; frame++)
        CHECK(braid_exec_launch(exec, stream));
    CHECK(braid_exec_wait(exec));

    bool right = num_logged == NUM_FRAMES && most_under_way <= DEPTH;
    for (int frame = 0, value = 0; frame < NUM_FRAMES; frame++) {
        value = (3 * value + sense(frame)) / 4;
        right = right && logged[frame] == value;
    }
    printf("%d frames, up to %d under way at once, %s\n", num_logged, most_under_way,
           right ? "each as by hand" : "not all as by hand");
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_stream_destroy(stream);
    braid_device_close(device);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
