// SPDX-License-Identifier: Apache-2.0
// Kernels of a loaded module get the arguments, grid, block and shared memory of their launch.
#include "probe.h"

#include <string.h>

enum { NUM_ELEMENTS = 1000, BLOCK = 128 };

// A double before and a char behind, so that offsets are not just a multiple of eight.
static const char source[] =
    "extern \"C\" __global__ void scale(char step, double factor, unsigned *values, short count)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < count)\n"
    "        values[i] = (unsigned)(values[i] * factor) + step;\n"
    "}\n"
    "extern \"C\" __global__ void shape(unsigned *out)\n"
    "{\n"
    "    extern __shared__ unsigned scratch[];\n"
    "    scratch[0] = 77;\n"
    "    if (threadIdx.x || threadIdx.y || threadIdx.z || blockIdx.x || blockIdx.y || blockIdx.z)\n"
    "        return;\n"
    "    out[0] = gridDim.x; out[1] = gridDim.y; out[2] = gridDim.z;\n"
    "    out[3] = blockDim.x; out[4] = blockDim.y; out[5] = blockDim.z;\n"
    "    out[6] = scratch[0];\n"
    "}\n";

void braid_standin_scale(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                         void **arguments);
void braid_standin_scale(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                         void **arguments)
{
    char step;
    double factor;
    unsigned *values = probe_pointer_argument(arguments, 2);
    short count;
    (void)shared_bytes;
    memcpy(&step, arguments[0], sizeof(step));
    memcpy(&factor, arguments[1], sizeof(factor));
    memcpy(&count, arguments[3], sizeof(count));
    for (unsigned i = 0; i < grid[0] * block[0] && i < (unsigned)count; i++)
        values[i] = (unsigned)(values[i] * factor) + (unsigned)step;
}

void braid_standin_shape(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                         void **arguments);
void braid_standin_shape(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                         void **arguments)
{
    unsigned *out = probe_pointer_argument(arguments, 0);
    memcpy(out, grid, 3 * sizeof(*out));
    memcpy(out + 3, block, 3 * sizeof(*out));
    out[6] = shared_bytes == 512 ? 77 : 0;
}

struct fixture {
    hipModule_t module;
    hipStream_t stream;
    unsigned *values;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture.module = probe_compile(source);
    fixture.stream = probe_stream();
    check(hip.hipHostMalloc((void **)&fixture.values, NUM_ELEMENTS * sizeof(unsigned),
                            hipHostMallocDefault));
    for (unsigned i = 0; i < NUM_ELEMENTS; i++)
        fixture.values[i] = i;
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    check(hip.hipHostFree(fixture->values));
    check(hip.hipStreamDestroy(fixture->stream));
    check(hip.hipModuleUnload(fixture->module));
    return 0;
}

static void assert_scaled(const unsigned *values, unsigned factor, unsigned step)
{
    for (unsigned i = 0; i < NUM_ELEMENTS; i++)
        assert_int_equal(values[i], i * factor + step);
}

static void arguments_of_every_size_arrive(void **state)
{
    struct fixture *fixture = *state;
    hipFunction_t scale = probe_function(fixture->module, "scale");
    char step = 3;
    double factor = 5;
    short count = NUM_ELEMENTS;
    void *arguments[] = { &step, &factor, &fixture->values, &count };
    unsigned num_blocks = (NUM_ELEMENTS + BLOCK - 1) / BLOCK;
    check(hip.hipModuleLaunchKernel(scale, num_blocks, 1, 1, BLOCK, 1, 1, 0, fixture->stream,
                                    arguments, NULL));
    check(hip.hipStreamSynchronize(fixture->stream));
    assert_scaled(fixture->values, 5, 3);
}

static void arguments_are_captured_at_the_launch(void **state)
{
    struct fixture *fixture = *state;
    struct probe_gate gate = probe_gate_create();
    hipFunction_t scale = probe_function(fixture->module, "scale");
    char step = 1;
    double factor = 2;
    short count = NUM_ELEMENTS;
    void *arguments[] = { &step, &factor, &fixture->values, &count };
    unsigned num_blocks = (NUM_ELEMENTS + BLOCK - 1) / BLOCK;
    probe_gate_close(&gate, fixture->stream);
    check(hip.hipModuleLaunchKernel(scale, num_blocks, 1, 1, BLOCK, 1, 1, 0, fixture->stream,
                                    arguments, NULL));
    step = 100;
    factor = 100;
    count = 0;
    probe_gate_open(&gate);
    check(hip.hipStreamSynchronize(fixture->stream));
    assert_scaled(fixture->values, 2, 1);
    probe_gate_destroy(&gate);
}

static void arguments_may_come_packed_in_one_buffer(void **state)
{
    struct fixture *fixture = *state;
    hipFunction_t scale = probe_function(fixture->module, "scale");
    struct {
        char step;
        double factor;
        unsigned *values;
        short count;
    } packed = { 9, 4, fixture->values, NUM_ELEMENTS };
    // Not sizeof: CUDA refuses a buffer with padding behind the last argument.
    size_t num_bytes = offsetof(__typeof__(packed), count) + sizeof(packed.count);
    void *extra[] = { HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE,
                      &num_bytes, HIP_LAUNCH_PARAM_END };
    unsigned num_blocks = (NUM_ELEMENTS + BLOCK - 1) / BLOCK;
    check(hip.hipModuleLaunchKernel(scale, num_blocks, 1, 1, BLOCK, 1, 1, 0, fixture->stream, NULL,
                                    extra));
    check(hip.hipStreamSynchronize(fixture->stream));
    assert_scaled(fixture->values, 4, 9);
}

static void the_launch_shape_arrives(void **state)
{
    struct fixture *fixture = *state;
    hipFunction_t shape = probe_function(fixture->module, "shape");
    void *arguments[] = { &fixture->values };
    check(
        hip.hipModuleLaunchKernel(shape, 5, 3, 2, 8, 4, 2, 512, fixture->stream, arguments, NULL));
    check(hip.hipStreamSynchronize(fixture->stream));
    const unsigned expected[] = { 5, 3, 2, 8, 4, 2, 77 };
    assert_memory_equal(fixture->values, expected, sizeof(expected));
}

static void a_kernel_that_is_not_in_the_module_is_not_found(void **state)
{
    struct fixture *fixture = *state;
    hipFunction_t function = NULL;
    assert_int_equal(hip.hipModuleGetFunction(&function, fixture->module, "no_such"),
                     hipErrorNotFound);
}

static void an_image_that_is_none_is_refused(void **state)
{
    (void)state;
    static const char image[256] = "this is no image at all";
    hipModule_t module = NULL;
    assert_int_not_equal(hip.hipModuleLoadData(&module, image), hipSuccess);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(arguments_of_every_size_arrive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(arguments_are_captured_at_the_launch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(arguments_may_come_packed_in_one_buffer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_launch_shape_arrives, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_kernel_that_is_not_in_the_module_is_not_found, set_up,
                                        tear_down),
        cmocka_unit_test(an_image_that_is_none_is_refused),
    };
    return probe_run(tests);
}
