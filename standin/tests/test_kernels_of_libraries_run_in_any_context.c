// SPDX-License-Identifier: Apache-2.0
// A library's kernels are named once for all contexts; modules and functions tell what they are.
#include "driver.h"

static CUlibrary load_library(void)
{
    CUlibrary library = NULL;
    must(cuLibraryLoadData(&library, word_kernels, NULL, NULL, 0, NULL, NULL, 0));
    return library;
}

static CUkernel get_kernel(CUlibrary library, const char *name)
{
    CUkernel kernel = NULL;
    must(cuLibraryGetKernel(&kernel, library, name));
    return kernel;
}

static void a_kernel_is_launched_like_a_function(void **state)
{
    (void)state;
    CUlibrary library = load_library();
    CUkernel kernel = get_kernel(library, "add_one");
    CUfunction function = NULL;
    unsigned *word = make_memory(1);
    void *params[] = { &word };
    must(cuLaunchKernel((CUfunction)(void *)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    must(cuKernelGetFunction(&function, kernel));
    assert_true((void *)function != (void *)kernel);
    must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    must(cuStreamSynchronize(NULL));
    assert_int_equal(word[0], 2);
    must(cuLibraryUnload(library));
    must_be(cuLaunchKernel((CUfunction)(void *)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
            CUDA_ERROR_INVALID_HANDLE);
    must_be(cuKernelGetFunction(&function, kernel), CUDA_ERROR_INVALID_HANDLE);
    must_be(cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
    free_memory(word);
}

static void a_captured_kernel_is_told_as_a_kernel(void **state)
{
    (void)state;
    CUlibrary library = load_library();
    CUkernel kernel = get_kernel(library, "add_one");
    CUfunction function;
    CUcontext context;
    CUstream stream = make_stream();
    CUgraph graph, again;
    CUgraphNode nodes[2], node;
    CUgraphExec exec;
    CUDA_KERNEL_NODE_PARAMS told;
    CUDA_KERNEL_NODE_PARAMS_v1 told_v1;
    unsigned *word = make_memory(1);
    void *params[] = { &word };
    size_t count = 2;
    must(cuCtxGetCurrent(&context));
    must(cuKernelGetFunction(&function, kernel));
    must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    must(cuLaunchKernel((CUfunction)(void *)kernel, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
    must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
    must(cuStreamEndCapture(stream, &graph));
    must(cuGraphGetNodes(graph, nodes, &count));
    must(cuGraphKernelNodeGetParams_v2(nodes[1], &told));
    assert_ptr_equal(told.func, function);
    assert_null(told.kern);
    must(cuGraphKernelNodeGetParams_v2(nodes[0], &told));
    assert_ptr_equal(told.func, function); // both ways
    assert_ptr_equal(told.kern, kernel);
    assert_ptr_equal(told.ctx, context);
    must(cuGraphKernelNodeGetParams(nodes[0], &told_v1));
    assert_ptr_equal(told_v1.func, function);
    must(cuGraphCreate(&again, 0));
    must(cuGraphAddKernelNode_v2(&node, again, NULL, 0, &told)); // as it was told
    must(cuGraphInstantiateWithFlags(&exec, again, 0));
    must(cuGraphLaunch(exec, stream));
    must(cuStreamSynchronize(stream));
    assert_int_equal(word[0], 1);
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(again));
    must(cuGraphDestroy(graph));
    must(cuStreamDestroy_v2(stream));
    must(cuLibraryUnload(library));
    free_memory(word);
}

static void each_context_has_functions_of_its_own(void **state)
{
    (void)state;
    CUcontext first, second;
    CUlibrary library = load_library();
    CUkernel kernel = get_kernel(library, "add_one");
    CUfunction here, there;
    CUmodule module, other;
    long loaded = standin_live("module");
    assert_true(standin_configure("BRAID_STANDIN_DEVICES", "2"));
    must(cuCtxGetCurrent(&first));
    must(cuKernelGetFunction(&here, kernel));
    must(cuLibraryGetModule(&module, library));
    assert_int_equal(standin_live("module"), loaded); // it is there already
    must(cuDevicePrimaryCtxRetain(&second, 1));
    must(cuCtxSetCurrent(second));
    must(cuKernelGetFunction(&there, kernel));
    must(cuLibraryGetModule(&other, library));
    assert_true(there != here);
    assert_true(other != module);
    unsigned *word = make_memory(1);
    void *params[] = { &word };
    must(cuLaunchKernel((CUfunction)(void *)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    must(cuStreamSynchronize(NULL));
    assert_int_equal(word[0], 1);
    must_be(cuLaunchKernel(here, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
            CUDA_ERROR_INVALID_HANDLE);
    int bytes = 0;
    must(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000, kernel, 1));
    must(cuKernelGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 1));
    assert_int_equal(bytes, 100000);
    must(cuKernelGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 0));
    assert_int_equal(bytes, 49152);
    must_be(cuKernelGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 7),
            CUDA_ERROR_INVALID_DEVICE);
    free_memory(word);
    must(cuLibraryUnload(library));
    assert_int_equal(standin_live("module"), 0);
    must(cuCtxSetCurrent(first));
    must(cuDevicePrimaryCtxRelease_v2(1));
}

static void libraries_list_their_kernels(void **state)
{
    (void)state;
    CUlibrary library = load_library(), told = NULL, none;
    CUkernel kernels[3] = { NULL, NULL, NULL }, kernel;
    unsigned count = 0;
    size_t offset = 9, bytes = 9;
    const char *name = NULL;
    must(cuLibraryGetKernelCount(&count, library));
    assert_int_equal(count, 2);
    must(cuLibraryEnumerateKernels(kernels, 3, library));
    assert_ptr_equal(kernels[0], get_kernel(library, "add_one"));
    assert_ptr_equal(kernels[1], get_kernel(library, "copy_word"));
    assert_null(kernels[2]);
    must(cuKernelGetName(&name, kernels[1]));
    assert_string_equal(name, "copy_word");
    must(cuKernelGetParamInfo(kernels[1], 1, &offset, &bytes));
    assert_int_equal(offset, 8);
    assert_int_equal(bytes, 8);
    must(cuKernelGetLibrary(&told, kernels[1]));
    assert_ptr_equal(told, library);
    must_be(cuKernelGetParamInfo(kernels[1], 2, &offset, NULL), CUDA_ERROR_INVALID_VALUE);
    must_be(cuKernelGetName(&name, NULL), CUDA_ERROR_INVALID_VALUE);
    must_be(cuLibraryGetKernel(&kernel, library, "nothing"), CUDA_ERROR_NOT_FOUND);
    must_be(cuLibraryEnumerateKernels(kernels, 0, library), CUDA_ERROR_INVALID_VALUE);
    must_be(cuLibraryLoadData(&none, "no text", NULL, NULL, 0, NULL, NULL, 0),
            CUDA_ERROR_INVALID_IMAGE);
    must_be(cuLibraryLoadData(&none, NULL, NULL, NULL, 0, NULL, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    must(cuLibraryUnload(library));
    must_be(cuLibraryGetKernelCount(&count, library), CUDA_ERROR_INVALID_HANDLE);
}

static void functions_tell_what_their_text_was_made_for(void **state)
{
    (void)state;
    const char text[] = ".version 7.8\n.target sm_80\n.address_size 64\n"
                        ".visible .entry add_one(.param .u64 word)\n{ ret; }\n";
    CUmodule module;
    CUfunction function;
    int version = 0;
    must(cuModuleLoadData(&module, text));
    must(cuModuleGetFunction(&function, module, "add_one"));
    must(cuFuncGetAttribute(&version, CU_FUNC_ATTRIBUTE_PTX_VERSION, function));
    assert_int_equal(version, 80);
    must(cuFuncGetAttribute(&version, CU_FUNC_ATTRIBUTE_BINARY_VERSION, function));
    assert_int_equal(version, 90); // the device's
    must(cuModuleUnload(module));
}

static void modules_list_their_functions(void **state)
{
    (void)state;
    struct words words = load_words();
    CUfunction functions[3] = { NULL, NULL, NULL };
    CUmodule module = NULL;
    const char *name = NULL;
    unsigned count = 0;
    must(cuModuleGetFunctionCount(&count, words.module));
    assert_int_equal(count, 2);
    must(cuModuleEnumerateFunctions(functions, 3, words.module));
    assert_ptr_equal(functions[0], words.add_one);
    assert_ptr_equal(functions[1], words.copy_word);
    assert_null(functions[2]);
    must(cuFuncGetName(&name, functions[1]));
    assert_string_equal(name, "copy_word");
    must(cuFuncGetModule(&module, functions[1]));
    assert_ptr_equal(module, words.module);
    must_be(cuFuncGetName(NULL, functions[1]), CUDA_ERROR_INVALID_VALUE);
    must_be(cuFuncGetModule(NULL, functions[1]), CUDA_ERROR_INVALID_VALUE);
    must_be(cuFuncGetAttribute(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, functions[0]),
            CUDA_ERROR_INVALID_VALUE);
    must_be(cuModuleEnumerateFunctions(NULL, 1, words.module), CUDA_ERROR_INVALID_VALUE);
    must(cuModuleUnload(words.module));
    must_be(cuModuleGetFunctionCount(&count, words.module), CUDA_ERROR_INVALID_HANDLE);
    must_be(cuFuncGetName(&name, functions[1]), CUDA_ERROR_INVALID_HANDLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_kernel_is_launched_like_a_function, open_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(a_captured_kernel_is_told_as_a_kernel, open_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(each_context_has_functions_of_its_own, open_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(libraries_list_their_kernels, open_driver, close_driver),
        cmocka_unit_test_setup_teardown(functions_tell_what_their_text_was_made_for, open_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(modules_list_their_functions, open_driver, close_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
