// SPDX-License-Identifier: Apache-2.0
// No access is declared here. A step of a pond is written as a program with one stream launches its
// kernels, and Braid reads in their PTX (pond.ptx) what each reads and writes. Without a GPU the
// step is planned and drawn, not run. from_code [PICTURE]
#include "../check.h"
#include "pond.h"

enum { NUM = 1 << 14, THREADS = 256, FRAMES = 20, MOST_FIELDS = 4 };

enum field { HEIGHT, FORCE, SPEED, WHITE, HEAT, NEXT, IMAGE, NUM_FIELDS };

static const char *const names[] = { "height", "force", "speed", "white", "heat", "next", "image" };

// Each kernel takes fields, and their length.
static const struct launch {
    braid_kernel kernel;
    size_t num;
    enum field fields[MOST_FIELDS];
} launches[] = {
    { { .name = "slope", .cuda.data = pond_ptx }, 2, { HEIGHT, FORCE } },
    { { .name = "push", .cuda.data = pond_ptx }, 2, { SPEED, FORCE } },
    { { .name = "rise", .cuda.data = pond_ptx }, 2, { HEIGHT, SPEED } },
    { { .name = "foam", .cuda.data = pond_ptx }, 2, { WHITE, SPEED } },
    { { .name = "warm", .cuda.data = pond_ptx }, 2, { HEAT, NEXT } },
    { { .name = "cool", .cuda.data = pond_ptx }, 2, { HEAT, NEXT } },
    { { .name = "draw", .cuda.data = pond_ptx }, 4, { IMAGE, HEIGHT, WHITE, HEAT } },
};

static int content[NUM_FIELDS][NUM];

static void add_launch(braid_graph *graph, const struct launch *launch,
                       const braid_resource *fields)
{
    const int num = NUM;
    braid_arg args[MOST_FIELDS + 1];
    for (size_t i = 0; i < launch->num; i++)
        args[i] = braid_resource_address(&fields[launch->fields[i]]);
    args[launch->num] = BRAID_ARG(num);
    const braid_kernel_node node = { .kernel = &launch->kernel,
                                     .node.cost_ns = 1000, // as long as each other
                                     .grid.x = NUM / THREADS,
                                     .block.x = THREADS,
                                     .args = args,
                                     .num_args = launch->num + 1,
                                     .code_use = BRAID_CODE_DECLARES };
    CHECK(braid_graph_add_kernel(graph, &node, NULL));
}

static void show(const braid_graph *graph, const char *picture)
{
    braid_schedule *schedule;
    braid_schedule_info info;
    const braid_schedule_options options = { .costs = &(braid_cost_model){ 0 } }; // waits are free
    CHECK(braid_schedule_create(graph, &options, &schedule));
    CHECK(braid_schedule_verify(schedule, graph));
    braid_schedule_get_info(schedule, &info);
    printf("%u kernels on %u lanes: longest path %llu us, sum %llu us\n", info.num_nodes,
           info.num_lanes, (unsigned long long)info.critical_path_ns / 1000,
           (unsigned long long)info.work_ns / 1000);
    write_picture(schedule, picture);
    braid_schedule_destroy(schedule);
}

// The sum of the picture after so many frames is that of any run, on any device.
static int run(braid_device *device, const braid_graph *graph, const void *image)
{
    braid_exec *exec;
    int64_t sum = 0;
    braid_stream *stream = braid_device_get_default_stream(device);
    CHECK(braid_exec_create(device, graph, NULL, &exec));
    for (int frame = 0; frame < FRAMES; frame++)
        CHECK(braid_exec_launch(exec, stream));
    CHECK(braid_stream_copy(stream, content[IMAGE], image, sizeof(content[IMAGE])));
    CHECK(braid_stream_wait(stream));
    for (int i = 0; i < NUM; i++)
        sum += content[IMAGE][i];
    printf("%d frames: the picture adds up to %lld\n", FRAMES, (long long)sum);
    braid_exec_destroy(exec);
    return sum == pond_sum ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    braid_device *device = NULL;
    braid_graph *graph;
    braid_resource fields[NUM_FIELDS];
    void *memory[NUM_FIELDS];
    int result = EXIT_SUCCESS;
    check_arguments(argc, argv, 1, "[PICTURE]");
    for (int i = 0; i < NUM; i++) {
        content[HEIGHT][i] = i % 4096 < 1024 ? 4000 : 0;
        content[HEAT][i] = i % 1000;
    }
    const bool runs = !braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device);
    CHECK(braid_graph_create(&graph));
    for (int i = 0; i < NUM_FIELDS; i++) {
        const uint64_t bytes = sizeof(content[i]);
        memory[i] = content[i];
        if (runs)
            CHECK(braid_graph_add_device_buffer(graph, device, names[i], content[i], bytes,
                                                &memory[i], &fields[i]));
        else
            CHECK(braid_graph_add_buffer(graph, names[i], content[i], bytes, &fields[i]));
    }
    for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]); i++)
        add_launch(graph, &launches[i], fields);
    show(graph, argc > 1 ? argv[1] : NULL);
    if (runs)
        result = run(device, graph, memory[IMAGE]);
    else
        printf("planned only: there is no CUDA here\n");
    braid_graph_destroy(graph);
    for (int i = 0; i < NUM_FIELDS && runs; i++)
        braid_memory_free(device, memory[i]);
    CHECK(runs ? braid_device_close(device) : BRAID_OK);
    return result;
}
