// SPDX-License-Identifier: Apache-2.0
// A program that knows nothing of Braid launches a pond's kernels on one stream, and captures that
// as a CUDA graph. Braid imports the graph, reads in the kernels' PTX which of them may run at
// once, and plays it. captured [PICTURE]
#include "../cuda_driver.h"
#include "pond.h"
enum { NUM = 1 << 14, THREADS = 256, FRAMES = 20, MOST_FIELDS = 4 };
enum field { HEIGHT, FORCE, SPEED, WHITE, HEAT, NEXT, IMAGE, NUM_FIELDS };
static const struct launch {
    const char *kernel;
    size_t num;
    enum field fields[MOST_FIELDS];
} launches[] = {
    { "slope", 2, { HEIGHT, FORCE } },
    { "push", 2, { SPEED, FORCE } },
    { "rise", 2, { HEIGHT, SPEED } },
    { "foam", 2, { WHITE, SPEED } },
    { "warm", 2, { HEAT, NEXT } },
    { "cool", 2, { HEAT, NEXT } },
    { "draw", 4, { IMAGE, HEIGHT, WHITE, HEAT } },
};

static struct cuda_driver cuda;
static void *context, *stream, *module, *graph;
static uint64_t fields[NUM_FIELDS];

static void launch_step(void)
{
    int num = NUM;
    for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]); i++) {
        void *function, *args[MOST_FIELDS + 1];
        for (size_t k = 0; k < launches[i].num; k++)
            args[k] = &fields[launches[i].fields[k]];
        args[launches[i].num] = &num;
        check_cuda(cuda.module_function(&function, module, launches[i].kernel), "function");
        check_cuda(cuda.launch(function, NUM / THREADS, 1, 1, THREADS, 1, 1, 0, stream, args, NULL),
                   "launch");
    }
}

static void reset_fields(void)
{
    static int content[NUM_FIELDS][NUM];
    for (int i = 0; i < NUM; i++) {
        content[HEIGHT][i] = i % 4096 < 1024 ? 4000 : 0;
        content[HEAT][i] = i % 1000;
    }
    for (int i = 0; i < NUM_FIELDS; i++)
        check_cuda(cuda.memory_write(fields[i], content[i], sizeof(content[i]), stream), "write");
    check_cuda(cuda.stream_synchronize(stream), "synchronize");
}

static bool is_picture_right(const char *by)
{
    static int image[NUM];
    int64_t sum = 0;
    check_cuda(cuda.memory_read(image, fields[IMAGE], sizeof(image), stream), "read");
    check_cuda(cuda.stream_synchronize(stream), "synchronize");
    for (int i = 0; i < NUM; i++)
        sum += image[i];
    printf("%s: the picture adds up to %lld\n", by, (long long)sum);
    return sum == pond_sum;
}

static bool play_captured(void)
{
    void *executable;
    check_cuda(cuda.graph_instantiate(&executable, graph, 0), "instantiate");
    reset_fields();
    for (int frame = 0; frame < FRAMES; frame++)
        check_cuda(cuda.graph_launch(executable, stream), "graph launch");
    check_cuda(cuda.executable_destroy(executable), "destroy"); // once it has ended
    return is_picture_right("the captured graph");
}

static bool play_imported(const char *picture)
{
    braid_device *device;
    braid_import *import;
    braid_exec *exec;
    const char *const text = pond_ptx;
    CHECK(braid_device_open(&(braid_device_options){ .context = context }, &device));
    CHECK(braid_import_create(device, graph,
                              &(braid_import_options){ .texts = &text, .num_texts = 1 }, &import));
    check_cuda(cuda.graph_destroy(graph), "destroy"); // the import does without
    CHECK(braid_import_write(import, BRAID_IMPORT_TEXT, stdout));
    CHECK(braid_exec_create(device, braid_import_get_graph(import), NULL, &exec));
    write_picture(braid_exec_get_schedule(exec), picture);
    reset_fields();
    for (int frame = 0; frame < FRAMES; frame++)
        CHECK(braid_exec_launch(exec, NULL));
    CHECK(braid_exec_wait(exec));
    braid_exec_destroy(exec);
    braid_import_destroy(import);
    CHECK(braid_device_close(device));
    return is_picture_right("Braid");
}

int main(int argc, char **argv)
{
    check_arguments(argc, argv, 1, "[PICTURE]");
    if (!start_cuda(&cuda, &context)) {
        printf("skipped: no CUDA here\n");
        return 77;
    }
    check_cuda(cuda.stream_create(&stream, 1), "stream"); // 1: non-blocking
    check_cuda(cuda.module_load(&module, pond_ptx), "module");
    for (int i = 0; i < NUM_FIELDS; i++)
        check_cuda(cuda.memory_allocate(&fields[i], NUM * sizeof(int)), "allocate");
    check_cuda(cuda.capture_begin(stream, 0), "begin");
    launch_step();
    check_cuda(cuda.capture_end(stream, &graph), "end");
    const bool is_right = play_captured() && play_imported(argc > 1 ? argv[1] : NULL);
    for (int i = 0; i < NUM_FIELDS; i++)
        check_cuda(cuda.memory_free(fields[i]), "free");
    check_cuda(cuda.module_unload(module), "unload");
    check_cuda(cuda.stream_destroy(stream), "destroy");
    check_cuda(cuda.context_release(0), "release");
    return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
