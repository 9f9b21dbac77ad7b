// SPDX-License-Identifier: Apache-2.0
// Inside a program that has CUDA streams already: a graph runs between two pieces of the program's
// own work on its own stream, and one node is a call that queues work itself, as cuBLAS would.
#include "cuda_driver.h"

enum { NUM_WORDS = 1 << 16 };

// The program's own state: a context, a stream and two arrays.
struct program {
    struct cuda_driver driver;
    void *context, *stream;
    uint64_t from, to;
};

static bool start_program(struct program *program)
{
    struct cuda_driver *driver = &program->driver;
    if (!start_cuda(driver, &program->context))
        return false;
    check_cuda(driver->stream_create(&program->stream, 1), "stream"); // 1: non-blocking
    check_cuda(driver->memory_allocate(&program->from, NUM_WORDS * 4), "allocate");
    check_cuda(driver->memory_allocate(&program->to, NUM_WORDS * 4), "allocate");
    return true;
}

static void end_program(struct program *program)
{
    check_cuda(program->driver.memory_free(program->from), "free");
    check_cuda(program->driver.memory_free(program->to), "free");
    check_cuda(program->driver.stream_destroy(program->stream), "stream destroy");
    check_cuda(program->driver.context_release(0), "release");
}

// The queue call: queues its work on the stream it is handed and returns at once.
static braid_status fill_last_half(braid_device *device, braid_stream *stream, void *user)
{
    (void)device; // the stream knows it
    struct program *program = user;
    int result = program->driver.memory_fill(program->to + NUM_WORDS * 2, 7, NUM_WORDS / 2,
                                             braid_stream_get_handle(stream));
    return result == 0 ? BRAID_OK : BRAID_DEVICE_ERROR;
}

static void add_nodes(braid_graph *graph, struct program *program)
{
    void *to = (void *)(uintptr_t)program->to, *from = (void *)(uintptr_t)program->from;
    braid_resource from_words, to_words;
    CHECK(braid_graph_add_buffer(graph, "from", from, NUM_WORDS * 4, &from_words));
    CHECK(braid_graph_add_buffer(graph, "to", to, NUM_WORDS * 4, &to_words));
    CHECK(braid_graph_add_copy(
        graph,
        &(braid_copy){ .to = to,
                       .from = from,
                       .bytes = NUM_WORDS * 4,
                       BRAID_ACCESSES({ from_words, BRAID_READ }, { to_words, BRAID_WRITE }) },
        NULL));
    CHECK(
        braid_graph_add_queue_call(graph,
                                   &(braid_queue_call){ .node.name = "fill the last half",
                                                        .call = fill_last_half,
                                                        .user = program,
                                                        BRAID_ACCESSES({ to_words, BRAID_WRITE }) },
                                   NULL));
}

static void run_graph(struct program *program, braid_device *device, const char *picture)
{
    braid_stream *theirs;
    braid_graph *graph;
    braid_exec *exec;
    CHECK(braid_stream_wrap(device, program->stream, &theirs));
    CHECK(braid_graph_create(&graph));
    add_nodes(graph, program);
    CHECK(braid_exec_create(device, graph, NULL, &exec));
    write_picture(braid_exec_get_schedule(exec), picture);
    CHECK(braid_exec_launch(exec, theirs)); // after what the program queued, before what it queues
    CHECK(braid_exec_wait(exec));
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_stream_destroy(theirs); // unwraps it
}

int main(int argc, char **argv)
{
    struct program program = { .context = NULL };
    braid_device *device;
    check_arguments(argc, argv, 1, "[PICTURE]");
    if (!start_program(&program)) {
        printf("skipped: no CUDA here (libcuda.so.1 cannot be loaded, or finds no device)\n");
        return 77;
    }
    CHECK(braid_device_open(&(braid_device_options){ .context = program.context }, &device));
    check_cuda(program.driver.memory_fill(program.from, 5, NUM_WORDS, program.stream), "fill");
    run_graph(&program, device, argc > 1 ? argv[1] : NULL);
    static uint32_t words[NUM_WORDS];
    check_cuda(program.driver.memory_read(words, program.to, sizeof(words), program.stream),
               "read");
    check_cuda(program.driver.stream_synchronize(program.stream), "synchronize");
    braid_device_close(device); // the context and the stream stay the program's
    end_program(&program);
    bool right = words[0] == 5 && words[NUM_WORDS / 2 - 1] == 5 && words[NUM_WORDS / 2] == 7 &&
                 words[NUM_WORDS - 1] == 7;
    printf("%s\n", right ? "the words are right" : "wrong words");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
