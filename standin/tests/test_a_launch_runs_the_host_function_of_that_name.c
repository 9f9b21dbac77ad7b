// SPDX-License-Identifier: Apache-2.0
// A launch runs the host function named like the PTX entry, with arguments as they were then.
#include <string.h>

#include "driver.h"

struct odd {
    char bytes[24];
};

static const char many_kinds[] =
    "// a comment, and a string with .entry in it\n"
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".file 1 \"an .entry fake(.param .u64 x)\"\n"
    "/* .entry hidden(.param .u64 x) */\n"
    ".visible .func (.param .b32 r) helper(.param .b64 p) { ret; }\n"
    ".visible .entry many(\n"
    "    .param .u8 many_param_0,\n"
    "    .param .u16 many_param_1,\n"
    "    .param .u32 many_param_2,\n"
    "    .param .u64 .ptr .global .align 16 many_param_3,\n"
    "    .param .f64 many_param_4,\n"
    "    .param .align 8 .b8 many_param_5[24]\n"
    ")\n.maxntid 256, 1, 1\n{ .param .b64 local; ret; }\n"
    ".visible .entry nothing()\n{ ret; }\n"
    ".visible .entry has_no_body(.param .u32 has_no_body_param_0)\n{ ret; }\n";

struct call {
    unsigned grid[3], block[3], shared_bytes;
    unsigned char byte;
    unsigned short half;
    unsigned word;
    void *pointer;
    double real;
    struct odd odd;
};

static struct call last_call;
static int num_nothing;

__attribute__((visibility("default"))) void braid_standin_many(const unsigned grid[3],
                                                               const unsigned block[3],
                                                               unsigned shared_bytes, void **args);
__attribute__((visibility("default"))) void braid_standin_nothing(const unsigned grid[3],
                                                                  const unsigned block[3],
                                                                  unsigned shared_bytes,
                                                                  void **args);

void braid_standin_many(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                        void **args)
{
    memcpy(last_call.grid, grid, sizeof(last_call.grid));
    memcpy(last_call.block, block, sizeof(last_call.block));
    last_call.shared_bytes = shared_bytes;
    memcpy(&last_call.byte, args[0], sizeof(last_call.byte));
    memcpy(&last_call.half, args[1], sizeof(last_call.half));
    memcpy(&last_call.word, args[2], sizeof(last_call.word));
    memcpy(&last_call.pointer, args[3], sizeof(last_call.pointer));
    memcpy(&last_call.real, args[4], sizeof(last_call.real));
    memcpy(&last_call.odd, args[5], sizeof(last_call.odd));
}

void braid_standin_nothing(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                           void **args)
{
    (void)grid, (void)block, (void)shared_bytes, (void)args;
    num_nothing++;
}

static void arguments_are_those_of_the_call(void **state)
{
    (void)state;
    struct gate gate;
    CUmodule module;
    CUfunction many;
    CUstream stream = make_stream();
    unsigned char byte = 1;
    unsigned short half = 2;
    unsigned word = 3;
    void *pointer = &gate;
    double real = 5.5;
    struct odd odd = { "twenty four bytes here" };
    void *params[] = { &byte, &half, &word, &pointer, &real, &odd };
    must(cuModuleLoadData(&module, many_kinds));
    must(cuModuleGetFunction(&many, module, "many"));
    close_gate(&gate, stream);
    must(cuLaunchKernel(many, 2, 3, 4, 8, 2, 1, 128, stream, params, NULL));
    byte = 0, half = 0, word = 0, pointer = NULL, real = 0, odd = (struct odd){ "" };
    open_gate(&gate);
    must(cuStreamSynchronize(stream));
    const struct call expected = { { 2, 3, 4 }, { 8, 2, 1 }, 128,
                                   1,           2,           3,
                                   &gate,       5.5,         { "twenty four bytes here" } };
    assert_memory_equal(last_call.grid, expected.grid, sizeof(expected.grid));
    assert_memory_equal(last_call.block, expected.block, sizeof(expected.block));
    assert_int_equal(last_call.shared_bytes, expected.shared_bytes);
    assert_int_equal(last_call.byte, expected.byte);
    assert_int_equal(last_call.half, expected.half);
    assert_int_equal(last_call.word, expected.word);
    assert_ptr_equal(last_call.pointer, expected.pointer);
    assert_true(last_call.real == expected.real);
    assert_string_equal(last_call.odd.bytes, expected.odd.bytes);
    must(cuStreamDestroy_v2(stream));
    must(cuModuleUnload(module));
}

static void parameters_lie_at_their_natural_places(void **state)
{
    (void)state;
    static const size_t places[][2] = { { 0, 1 }, { 2, 2 },  { 4, 4 },
                                        { 8, 8 }, { 16, 8 }, { 24, 24 } };
    CUmodule module;
    CUfunction many, nothing;
    size_t offset, bytes;
    must(cuModuleLoadData(&module, many_kinds));
    must(cuModuleGetFunction(&many, module, "many"));
    must(cuModuleGetFunction(&nothing, module, "nothing"));
    for (size_t i = 0; i < 6; i++) {
        must(cuFuncGetParamInfo(many, i, &offset, &bytes));
        assert_int_equal(offset, places[i][0]);
        assert_int_equal(bytes, places[i][1]);
    }
    must_be(cuFuncGetParamInfo(many, 6, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
    must_be(cuFuncGetParamInfo(nothing, 0, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
    must(cuModuleUnload(module));
}

static void a_packed_buffer_serves_as_arguments(void **state)
{
    (void)state;
    struct words words = load_words();
    unsigned *memory = make_memory(1), *packed[] = { memory };
    size_t bytes = sizeof(packed);
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                      CU_LAUNCH_PARAM_END };
    must(cuLaunchKernel(words.add_one, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
    must(cuStreamSynchronize(NULL));
    assert_int_equal(memory[0], 1);
    bytes = 16; // longer than the parameters
    must_be(cuLaunchKernel(words.add_one, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra),
            CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    free_memory(memory);
    must(cuModuleUnload(words.module));
}

static void a_launch_of_the_wrong_shape_is_refused(void **state)
{
    (void)state;
    struct words words = load_words();
    unsigned *memory = make_memory(1);
    void *params[] = { &memory };
    CUfunction add = words.add_one;
    must_be(cuLaunchKernel(add, 0, 1, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
    must_be(cuLaunchKernel(add, 1, 70000, 1, 1, 1, 1, 0, NULL, params, NULL),
            CUDA_ERROR_INVALID_VALUE);
    must_be(cuLaunchKernel(add, 1, 1, 1, 2048, 1, 1, 0, NULL, params, NULL),
            CUDA_ERROR_INVALID_VALUE);
    must_be(cuLaunchKernel(add, 1, 1, 1, 64, 64, 1, 0, NULL, params, NULL),
            CUDA_ERROR_INVALID_VALUE);
    must_be(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    must_be(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 65536, NULL, params, NULL),
            CUDA_ERROR_INVALID_VALUE);
    must(cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536));
    must(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 65536, NULL, params, NULL));
    must(cuCtxSynchronize());
    assert_int_equal(memory[0], 1);
    free_memory(memory);
    must(cuModuleUnload(words.module));
}

static void launch_attributes_are_accepted(void **state)
{
    (void)state;
    struct words words = load_words();
    unsigned *memory = make_memory(1);
    void *params[] = { &memory };
    CUlaunchAttribute attributes[3] = {
        { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION },
        { .id = CU_LAUNCH_ATTRIBUTE_PRIORITY },
        { .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION }
    };
    CUlaunchConfig config = { 4, 1, 1, 32, 1, 1, .attrs = attributes, .numAttrs = 3 };
    attributes[0].value.clusterDim.x = 2;
    attributes[0].value.clusterDim.y = attributes[0].value.clusterDim.z = 1;
    attributes[1].value.priority = -1;
    attributes[2].value.programmaticStreamSerializationAllowed = 1;
    must(cuLaunchKernelEx(&config, words.add_one, params, NULL));
    attributes[0].value.clusterDim.x = 3; // does not divide the grid
    must_be(cuLaunchKernelEx(&config, words.add_one, params, NULL),
            CUDA_ERROR_INVALID_CLUSTER_SIZE);
    must(cuCtxSynchronize());
    assert_int_equal(memory[0], 1);
    free_memory(memory);
    must(cuModuleUnload(words.module));
}

// All blocks of a cooperative launch are there at once, or it is refused: on the stream, and where
// its graph is instantiated.
static void a_cooperative_launch_has_room_or_is_refused(void **state)
{
    (void)state;
    struct words words = load_words();
    unsigned *memory = make_memory(1);
    CUdeviceptr at = device(memory);
    void *params[] = { &at };
    CUlaunchAttribute attribute = { .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE };
    CUlaunchConfig config = { 1, 1, 1, 1024, 1, 1, .attrs = &attribute, .numAttrs = 1 };
    int units = 0, fit = 0;
    must(cuDeviceGetAttribute(&units, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    must(cuOccupancyMaxActiveBlocksPerMultiprocessor(&fit, words.add_one, 1024, 0));
    config.gridDimX = (unsigned)(units * fit);
    attribute.value.cooperative = 1;
    must(cuLaunchKernelEx(&config, words.add_one, params, NULL));
    config.gridDimX++;
    must_be(cuLaunchKernelEx(&config, words.add_one, params, NULL),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    attribute.value.cooperative = 0;
    must(cuLaunchKernelEx(&config, words.add_one, params, NULL));
    must(cuCtxSynchronize());
    assert_int_equal(memory[0], 2);

    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    const CUDA_KERNEL_NODE_PARAMS kernel = {
        words.add_one, config.gridDimX, 1, 1, 1024, 1, 1, .kernelParams = params,
    };
    must(cuGraphCreate(&graph, 0));
    must(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &kernel));
    attribute.value.cooperative = 1;
    must(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &attribute.value));
    must_be(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    must(cuGraphDestroy(graph));
    free_memory(memory);
    must(cuModuleUnload(words.module));
}

// Libraries of the vendor's ask for tables that only its own driver has.
static void no_table_is_exported(void **state)
{
    (void)state;
    const void *table = &table;
    const CUuuid id = { .bytes = "unknown" };
    must_be(cuGetExportTable(&table, &id), CUDA_ERROR_NOT_FOUND);
    assert_ptr_equal(table, &table);
}

static void what_cannot_be_loaded_says_so(void **state)
{
    (void)state;
    CUmodule module;
    CUfunction function;
    char log[128] = "";
    CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    void *values[] = { log, (void *)sizeof(log) };
    must_be(cuModuleLoadData(&module, "no image at all"), CUDA_ERROR_INVALID_IMAGE);
    must_be(cuModuleLoadData(&module, "\177ELF for another machine"), CUDA_ERROR_NO_BINARY_FOR_GPU);
    must_be(cuModuleLoadDataEx(&module, ".version 7.0\n.target sm_90\n.entry f(.param .q9 x) {}", 2,
                               options, values),
            CUDA_ERROR_INVALID_PTX);
    assert_non_null(strstr(log, "parameter"));
    must(cuModuleLoadData(&module, many_kinds));
    must_be(cuModuleGetFunction(&function, module, "missing"), CUDA_ERROR_NOT_FOUND);
    must_be(cuModuleGetFunction(&function, module, "hidden"), CUDA_ERROR_NOT_FOUND);
    must_be(cuModuleGetFunction(&function, module, "has_no_body"), CUDA_ERROR_NOT_FOUND);
    must(cuModuleUnload(module));
    must_be(cuModuleGetFunction(&function, module, "many"), CUDA_ERROR_INVALID_HANDLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_those_of_the_call),
        cmocka_unit_test(parameters_lie_at_their_natural_places),
        cmocka_unit_test(a_packed_buffer_serves_as_arguments),
        cmocka_unit_test(a_launch_of_the_wrong_shape_is_refused),
        cmocka_unit_test(launch_attributes_are_accepted),
        cmocka_unit_test(a_cooperative_launch_has_room_or_is_refused),
        cmocka_unit_test(no_table_is_exported),
        cmocka_unit_test(what_cannot_be_loaded_says_so),
    };
    return cmocka_run_group_tests(tests, open_driver, close_driver);
}
