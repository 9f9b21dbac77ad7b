// SPDX-License-Identifier: Apache-2.0
// In a program that has its kernels, its memory and its stream from CUDA or HIP already: a graph of
// __global__ functions (own_kernels.cu) runs on that stream, between two copies of the program's.
// own_kernels [PICTURE [cuda|hip]]. Skips where the kernels, the library or a GPU is missing.
#include "cuda_driver.h"

enum { NUM = 1 << 16, THREADS = 256, TO_DEVICE = 1, FROM_DEVICE = 2 };

// What nvcc and hipcc make of __global__ functions for the host: only the addresses count, and they
// are NULL where neither was here. In a file of theirs, (const void *)scale is such an address.
extern const char scale __attribute__((weak)), add __attribute__((weak));

// The functions of cudart and HIP are alike; a program with their headers calls them by name.
struct runtime {
    int (*Malloc)(void **out_memory, size_t bytes);
    int (*Free)(void *memory);
    int (*StreamCreate)(void **out_stream);
    int (*StreamDestroy)(void *stream);
    int (*StreamSynchronize)(void *stream);
    int (*MemcpyAsync)(void *to, const void *from, size_t bytes, int kind, void *stream);
    int (*GetFuncBySymbol)(void **out_function, const void *symbol);
};

static bool load_runtime(struct runtime *runtime, const char *vendor)
{
    static const char *const names[] = { "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0",
                                         "libamdhip64.so.7", "libamdhip64.so.6" };
    static const char *const calls[] = {
        "Malloc",      "Free",           "StreamCreate", "StreamDestroy", "StreamSynchronize",
        "MemcpyAsync", "GetFuncBySymbol"
    };
    bool is_hip = strcmp(vendor, "hip") == 0;
    void *library = NULL;
    for (int i = is_hip ? 3 : 0; i < (is_hip ? 5 : 3) && !library; i++)
        library = dlopen(names[i], RTLD_NOW);
    for (int i = 0; i < 7 && library; i++) {
        char name[40];
        snprintf(name, sizeof(name), "%s%s", vendor, calls[i]);
        if (!load(library, name, (char *)runtime + (size_t)i * sizeof(void *)))
            return false;
    }
    return library != NULL;
}

// Two of the kernels may run at once: out = 2 in + 3 in.
static void add_nodes(braid_graph *graph, const braid_kernel *kernels, void *const *memory)
{
    static const char *const names[] = { "in", "left", "right", "out" };
    braid_resource buffers[4];
    const int num = NUM;
    for (int i = 0; i < 4; i++)
        CHECK(braid_graph_add_buffer(graph, names[i], memory[i], NUM * sizeof(float), &buffers[i]));
    for (int i = 1; i <= 2; i++) {
        const float factor = (float)(i + 1);
        const braid_kernel_node node = { .kernel = &kernels[0],
                                         .grid.x = NUM / THREADS,
                                         .block.x = THREADS,
                                         BRAID_ARGS(BRAID_OUT(buffers[i]), BRAID_IN(buffers[0]),
                                                    BRAID_ARG(factor), BRAID_ARG(num)) };
        CHECK(braid_graph_add_kernel(graph, &node, NULL));
    }
    const braid_kernel_node sum = { .kernel = &kernels[1],
                                    .grid.x = NUM / THREADS,
                                    .block.x = THREADS,
                                    BRAID_ARGS(BRAID_OUT(buffers[3]), BRAID_IN(buffers[1]),
                                               BRAID_IN(buffers[2]), BRAID_ARG(num)) };
    CHECK(braid_graph_add_kernel(graph, &sum, NULL));
}

int main(int argc, char **argv)
{
    const char *vendor = argc > 2 ? argv[2] : "cuda";
    struct runtime gpu;
    braid_device *device;
    check_arguments(argc, argv, 2, "[PICTURE [cuda|hip]]");
    if (!&scale || !load_runtime(&gpu, vendor) ||
        braid_device_open(&(braid_device_options){ .backend = vendor }, &device)) {
        printf("skipped: no kernels that nvcc or hipcc compiled, or no %s here\n", vendor);
        return 77;
    }
    void *memory[4], *stream, *functions[2];
    for (int i = 0; i < 4; i++)
        check_cuda(gpu.Malloc(&memory[i], NUM * sizeof(float)), "Malloc");
    check_cuda(gpu.StreamCreate(&stream), "StreamCreate");
    check_cuda(gpu.GetFuncBySymbol(&functions[0], &scale), "GetFuncBySymbol");
    check_cuda(gpu.GetFuncBySymbol(&functions[1], &add), "GetFuncBySymbol");
    const braid_kernel kernels[] = {
        { .name = "scale", .cuda.function = functions[0], .hip.function = functions[0] },
        { .name = "add", .cuda.function = functions[1], .hip.function = functions[1] },
    };
    braid_stream *theirs;
    braid_graph *graph;
    braid_exec *exec;
    CHECK(braid_stream_wrap(device, stream, &theirs));
    CHECK(braid_graph_create(&graph));
    add_nodes(graph, kernels, memory);
    CHECK(braid_exec_create(device, graph, NULL, &exec));
    write_picture(braid_exec_get_schedule(exec), argc > 1 ? argv[1] : NULL);

    static float host[NUM];
    for (int i = 0; i < NUM; i++)
        host[i] = (float)i;
    check_cuda(gpu.MemcpyAsync(memory[0], host, sizeof(host), TO_DEVICE, stream), "MemcpyAsync");
    CHECK(braid_exec_launch(exec, theirs)); // behind the copy, and before the one below
    check_cuda(gpu.MemcpyAsync(host, memory[3], sizeof(host), FROM_DEVICE, stream), "MemcpyAsync");
    check_cuda(gpu.StreamSynchronize(stream), "StreamSynchronize");

    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_stream_destroy(theirs); // unwraps it
    CHECK(braid_device_close(device));
    for (int i = 0; i < 4; i++)
        check_cuda(gpu.Free(memory[i]), "Free");
    check_cuda(gpu.StreamDestroy(stream), "StreamDestroy");
    printf("%g\n", (double)host[1000]);
    return host[1000] == 5000 ? EXIT_SUCCESS : EXIT_FAILURE;
}
