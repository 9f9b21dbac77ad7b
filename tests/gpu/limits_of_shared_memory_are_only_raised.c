// SPDX-License-Identifier: Apache-2.0
// A kernel's limit of dynamic shared memory belongs to all who launch it: Braid raises it where a
// launch needs more, and lowers it under nobody.
#include <pthread.h>

#include "gpu/gpu_testing.h"
#include "standin/cuda/cuda_abi.h"
#include "support/check.h"

enum { SMALL = 64 * 1024, LARGE = 100 * 1024, RACES = 100 };

static const char image[] = ".version 7.0\n"
                            ".target sm_70\n"
                            ".address_size 64\n"
                            ".visible .entry shares()\n"
                            "{\n"
                            "    ret;\n"
                            "}\n";

typedef void kernel_function(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                             void **args);
BRAID_API kernel_function braid_standin_shares;

void braid_standin_shares(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                          void **args)
{
    (void)grid, (void)block, (void)shared_bytes, (void)args;
}

static braid_device *open_device(void)
{
    braid_device *device;
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
    return device;
}

static braid_exec *create_exec(braid_device *device, const braid_kernel *kernel, uint32_t shared)
{
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS };
    const braid_kernel_node launch = { .kernel = kernel, .shared_bytes = shared };
    braid_exec *exec;
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    check_ok(braid_exec_create(device, graph, &options, &exec));
    return exec;
}

// The program's own function, on the context that Braid's devices are on too.
struct own {
    CUcontext context;
    CUmodule module;
    CUfunction function;
    braid_kernel kernel;
};

static void load_own(struct own *own)
{
    assert_int_equal(cuInit(0), CUDA_SUCCESS);
    assert_int_equal(cuDevicePrimaryCtxRetain(&own->context, 0), CUDA_SUCCESS);
    assert_int_equal(cuCtxSetCurrent(own->context), CUDA_SUCCESS);
    assert_int_equal(cuModuleLoadData(&own->module, image), CUDA_SUCCESS);
    assert_int_equal(cuModuleGetFunction(&own->function, own->module, "shares"), CUDA_SUCCESS);
    own->kernel = (braid_kernel){ .name = "shares", .cuda = { .function = own->function } };
}

static void unload_own(struct own *own)
{
    assert_int_equal(cuModuleUnload(own->module), CUDA_SUCCESS);
    assert_int_equal(cuCtxSetCurrent(NULL), CUDA_SUCCESS);
    assert_int_equal(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
}

static void two_devices_may_share_a_function(void **state)
{
    (void)state;
    struct own own;
    load_own(&own);
    braid_device *first = open_device(), *second = open_device();
    braid_exec *small = create_exec(first, &own.kernel, SMALL);
    braid_exec *large = create_exec(second, &own.kernel, LARGE);
    check_ok(braid_exec_launch(large, NULL));
    check_ok(braid_exec_launch(small, NULL));
    check_ok(braid_exec_launch(large, NULL));
    braid_exec_destroy(small);
    braid_exec_destroy(large);
    braid_device_close(first);
    braid_device_close(second);
    unload_own(&own);
}

static void what_the_program_raised_stays_raised(void **state)
{
    (void)state;
    struct own own;
    load_own(&own);
    braid_device *device = open_device();
    braid_exec *exec = create_exec(device, &own.kernel, SMALL);
    const CUfunction_attribute most = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    assert_int_equal(cuFuncSetAttribute(own.function, most, LARGE), CUDA_SUCCESS);
    check_ok(braid_exec_launch(exec, NULL));
    int limit = 0;
    assert_int_equal(cuFuncGetAttribute(&limit, most, own.function), CUDA_SUCCESS);
    assert_int_equal(limit, LARGE);
    braid_exec_destroy(exec);
    braid_device_close(device);
    unload_own(&own);
}

struct racer {
    pthread_barrier_t *start;
    braid_exec *exec;
    braid_stream *stream;
    braid_status status;
};

static void *race(void *user)
{
    struct racer *racer = user;
    pthread_barrier_wait(racer->start);
    racer->status = braid_exec_launch(racer->exec, racer->stream);
    return NULL;
}

static void run_race(void)
{
    static const braid_kernel kernel = { .name = "shares", .cuda = { .data = image } };
    static const uint32_t shared[2] = { SMALL, LARGE };
    braid_device *device = open_device();
    pthread_barrier_t start;
    pthread_t threads[2];
    struct racer racers[2];
    pthread_barrier_init(&start, NULL, 2);
    for (int i = 0; i < 2; i++) {
        racers[i] =
            (struct racer){ .start = &start, .exec = create_exec(device, &kernel, shared[i]) };
        check_ok(braid_stream_create(device, NULL, &racers[i].stream));
        assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        check_ok(racers[i].status);
        check_ok(braid_exec_launch(racers[i].exec, racers[i].stream));
    }
    for (int i = 0; i < 2; i++) {
        braid_exec_destroy(racers[i].exec);
        braid_stream_destroy(racers[i].stream);
    }
    pthread_barrier_destroy(&start);
    braid_device_close(device);
}

static void two_threads_may_raise_it_at_once(void **state)
{
    (void)state;
    for (int i = 0; i < RACES; i++)
        run_race();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(two_devices_may_share_a_function),
        standin_test(what_the_program_raised_stays_raised),
        standin_test(two_threads_may_raise_it_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
