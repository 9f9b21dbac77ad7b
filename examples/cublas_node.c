// SPDX-License-Identifier: Apache-2.0
// A library call as a node: two products by cuBLAS that may run at once, each on the lane that the
// plan gives it, and their product behind them. Skips where there is no CUDA or no cuBLAS.
#include "cuda_driver.h"

enum { SIDE = 512, NUM = SIDE * SIDE };

// int is cublasStatus_t.
struct cublas {
    int (*create)(void **out_handle);
    int (*destroy)(void *handle);
    int (*set_stream)(void *handle, void *stream);
    int (*sgemm)(void *handle, int transpose_a, int transpose_b, int m, int n, int k,
                 const float *alpha, const float *a, int lda, const float *b, int ldb,
                 const float *beta, float *c, int ldc);
};

static bool load_cublas(struct cublas *cublas)
{
    static const char *const names[] = { "libcublas.so.13", "libcublas.so.12", "libcublas.so.11" };
    void *library = NULL;
    for (int i = 0; i < 3 && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library && load(library, "cublasCreate_v2", &cublas->create) &&
           load(library, "cublasDestroy_v2", &cublas->destroy) &&
           load(library, "cublasSetStream_v2", &cublas->set_stream) &&
           load(library, "cublasSgemm_v2", &cublas->sgemm);
}

struct product {
    const struct cublas *cublas;
    void *handle; // each node its own: handles keep a stream and a workspace
    uint64_t to, a, b;
};

// Called at each launch with the lane's stream (in a driver graph once, under capture).
static braid_status multiply(braid_device *device, braid_stream *stream, void *user)
{
    (void)device; // the stream knows it
    const struct product *product = user;
    const struct cublas *cublas = product->cublas;
    const float one = 1, zero = 0;
    if (cublas->set_stream(product->handle, braid_stream_get_handle(stream)) ||
        cublas->sgemm(product->handle, 0, 0, SIDE, SIDE, SIDE, &one, (const float *)product->a,
                      SIDE, (const float *)product->b, SIDE, &zero, (float *)product->to, SIDE))
        return BRAID_DEVICE_ERROR;
    return BRAID_OK;
}

static void add_product(braid_graph *graph, const char *name, struct product *product,
                        braid_resource to, braid_resource a, braid_resource b)
{
    CHECK(braid_graph_add_queue_call(
        graph,
        &(braid_queue_call){
            .node.name = name,
            .call = multiply,
            .user = product,
            BRAID_ACCESSES({ to, BRAID_WRITE }, { a, BRAID_READ }, { b, BRAID_READ }) },
        NULL));
}

static float run(struct cuda_driver *driver, const struct cublas *cublas, braid_device *device,
                 const char *picture)
{
    static const char *const names[] = { "in", "left", "right", "out" };
    static float out[NUM];
    const uint32_t quarter = 0x3e800000; // 0.25f
    uint64_t matrices[4];
    braid_resource buffers[4];
    braid_graph *graph;
    braid_exec *exec;
    CHECK(braid_graph_create(&graph));
    for (int i = 0; i < 4; i++) {
        check_cuda(driver->memory_allocate(&matrices[i], sizeof(out)), "allocate");
        check_cuda(driver->memory_fill(matrices[i], quarter, NUM, NULL), "fill");
        CHECK(
            braid_graph_add_buffer(graph, names[i], (void *)matrices[i], sizeof(out), &buffers[i]));
    }
    struct product products[3] = { { cublas, NULL, matrices[1], matrices[0], matrices[0] },
                                   { cublas, NULL, matrices[2], matrices[0], matrices[0] },
                                   { cublas, NULL, matrices[3], matrices[1], matrices[2] } };
    for (int i = 0; i < 3; i++)
        check_cuda(cublas->create(&products[i].handle), "cublasCreate");
    add_product(graph, "left", &products[0], buffers[1], buffers[0], buffers[0]);
    add_product(graph, "right", &products[1], buffers[2], buffers[0], buffers[0]);
    add_product(graph, "out", &products[2], buffers[3], buffers[1], buffers[2]);
    CHECK(braid_exec_create(device, graph, NULL, &exec));
    write_picture(braid_exec_get_schedule(exec), picture);
    CHECK(braid_exec_launch(exec, NULL));
    CHECK(braid_exec_wait(exec));
    check_cuda(driver->memory_read(out, matrices[3], sizeof(out), NULL), "read");
    check_cuda(driver->stream_synchronize(NULL), "synchronize");
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    for (int i = 0; i < 3; i++)
        check_cuda(cublas->destroy(products[i].handle), "cublasDestroy");
    for (int i = 0; i < 4; i++)
        check_cuda(driver->memory_free(matrices[i]), "free");
    return out[0];
}

int main(int argc, char **argv)
{
    struct cuda_driver driver;
    struct cublas cublas;
    void *context;
    braid_device *device;
    check_arguments(argc, argv, 1, "[PICTURE]");
    if (!start_cuda(&driver, &context) || !load_cublas(&cublas)) {
        printf("skipped: no libcublas.so.11 to .13, or no CUDA device\n");
        return 77;
    }
    CHECK(braid_device_open(&(braid_device_options){ .context = context }, &device));
    float out = run(&driver, &cublas, device, argc > 1 ? argv[1] : NULL);
    braid_device_close(device);
    check_cuda(driver.context_release(0), "release");
    printf("an element is %g\n", (double)out); // 512 / 16 = 32; 32 * 32, 512 times
    return out == 32.0f * 32.0f * SIDE ? EXIT_SUCCESS : EXIT_FAILURE;
}
