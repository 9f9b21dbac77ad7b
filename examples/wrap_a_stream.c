// SPDX-License-Identifier: Apache-2.0
// Inside a program that has CUDA streams already: a graph runs between two pieces of the program's
// own work on its own stream, and one node is a call that queues work itself, as cuBLAS would.
//
// To need no CUDA header, the program loads the few driver functions it calls.
#include <dlfcn.h>
#include <string.h>

#include "check.h"

enum { NUM_WORDS = 1 << 16 };

// What the program uses of the CUDA driver: int is CUresult, uint64_t is CUdeviceptr.
struct driver {
    int (*init)(unsigned flags);
    int (*device_get)(int *out_device, int ordinal);
    int (*context_retain)(void **out_context, int device);
    int (*context_release)(int device);
    int (*context_set_current)(void *context);
    int (*stream_create)(void **out_stream, unsigned flags);
    int (*stream_synchronize)(void *stream);
    int (*stream_destroy)(void *stream);
    int (*memory_allocate)(uint64_t *out_memory, size_t bytes);
    int (*memory_free)(uint64_t memory);
    int (*memory_fill)(uint64_t memory, unsigned value, size_t num_values, void *stream);
    int (*memory_read)(void *to, uint64_t from, size_t bytes, void *stream);
};

static void check_cuda(int result, const char *call)
{
    if (result == 0)
        return;
    fprintf(stderr, "%s: CUDA error %d\n", call, result);
    exit(EXIT_FAILURE);
}

static bool load(void *library, const char *name, void *out_function)
{
    void *symbol = dlsym(library, name);
    memcpy(out_function, &symbol, sizeof(symbol));
    return symbol != NULL;
}

static bool load_driver(struct driver *driver)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return library && load(library, "cuInit", &driver->init) &&
           load(library, "cuDeviceGet", &driver->device_get) &&
           load(library, "cuDevicePrimaryCtxRetain", &driver->context_retain) &&
           load(library, "cuDevicePrimaryCtxRelease_v2", &driver->context_release) &&
           load(library, "cuCtxSetCurrent", &driver->context_set_current) &&
           load(library, "cuStreamCreate", &driver->stream_create) &&
           load(library, "cuStreamSynchronize", &driver->stream_synchronize) &&
           load(library, "cuStreamDestroy_v2", &driver->stream_destroy) &&
           load(library, "cuMemAlloc_v2", &driver->memory_allocate) &&
           load(library, "cuMemFree_v2", &driver->memory_free) &&
           load(library, "cuMemsetD32Async", &driver->memory_fill) &&
           load(library, "cuMemcpyDtoHAsync_v2", &driver->memory_read);
}

// The program's own state: a context, a stream and two arrays.
struct program {
    struct driver driver;
    int ordinal;
    void *context, *stream;
    uint64_t from, to;
};

static bool start_program(struct program *program)
{
    struct driver *driver = &program->driver;
    if (!load_driver(driver) || driver->init(0) != 0 || driver->device_get(&program->ordinal, 0))
        return false;
    check_cuda(driver->context_retain(&program->context, program->ordinal), "retain");
    check_cuda(driver->context_set_current(program->context), "set current");
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
    check_cuda(program->driver.context_release(program->ordinal), "release");
}

// The native node: queues its work on the stream it is handed and returns at once.
static braid_status fill_last_half(braid_device *device, braid_stream *stream, void *user)
{
    struct program *program = user;
    int result = program->driver.memory_fill(program->to + NUM_WORDS * 2, 7, NUM_WORDS / 2,
                                             braid_stream_native(device, stream));
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
    CHECK(braid_graph_add_native(graph,
                                 &(braid_native){ .node.name = "fill the last half",
                                                  .call = fill_last_half,
                                                  .user = program,
                                                  BRAID_ACCESSES({ to_words, BRAID_WRITE }) },
                                 NULL));
}

static void run_graph(struct program *program, braid_device *device)
{
    braid_stream *theirs;
    braid_graph *graph;
    braid_exec *exec;
    CHECK(braid_stream_wrap(device, program->stream, &theirs));
    CHECK(braid_graph_create(&graph));
    add_nodes(graph, program);
    CHECK(braid_exec_create(device, graph, NULL, &exec));
    CHECK(braid_exec_launch(exec, theirs)); // after what the program queued, before what it queues
    CHECK(braid_exec_wait(exec));
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_stream_destroy(theirs); // unwraps it
}

int main(void)
{
    struct program program = { .ordinal = 0 };
    braid_device *device;
    if (!start_program(&program)) {
        printf("skipped: no CUDA here (libcuda.so.1 cannot be loaded, or finds no device)\n");
        return 77;
    }
    CHECK(braid_device_adopt_cuda(program.context, &device));
    check_cuda(program.driver.memory_fill(program.from, 5, NUM_WORDS, program.stream), "fill");
    run_graph(&program, device);
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
