// SPDX-License-Identifier: Apache-2.0
// Kernels run in forms that LLVM writes: numbers in vectors, calls by a pointer on paths that no
// thread takes, long calls, and matches in a warp. A text stands for machine code of its name.
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"

#define HEAD ".version 7.8\n.target sm_90\n.address_size 64\n"

static const char forms[] =
    HEAD ".extern .func unknown(.param .b64 a);\n"
         ".func (.param .b32 result) sum(.param .b32 a, .param .b32 b, .param .b32 c,\n"
         "    .param .b32 d, .param .b32 e, .param .b32 f)\n"
         "{\n.reg .b32 %r<7>;\n"
         "ld.param.b32 %r1, [a];\nld.param.b32 %r2, [b];\nld.param.b32 %r3, [c];\n"
         "ld.param.b32 %r4, [d];\nld.param.b32 %r5, [e];\nld.param.b32 %r6, [f];\n"
         "add.u32 %r1, %r1, %r2;\nadd.u32 %r1, %r1, %r3;\nadd.u32 %r1, %r1, %r4;\n"
         "add.u32 %r1, %r1, %r5;\nadd.u32 %r1, %r1, %r6;\nst.param.b32 [result], %r1;\nret;\n}\n"
         // writes 16, 7, the sum of 1 to 6, and for 8 threads the mask of those of its half
         ".visible .entry forms(.param .u64 to, .param .u64 pointer, .param .u32 way)\n"
         "{\n.reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %d<4>;\n"
         "ld.param.u64 %d0, [to];\nld.param.u64 %d1, [pointer];\nld.param.u32 %r0, [way];\n"
         "mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p0, %r1, 0;\n"
         "shr.u32 %r2, %r1, 2;\ncvt.u64.u32 %d2, %r2;\n"
         "match.any.sync.b64 %r3, %d2, 255;\n"
         "mul.wide.u32 %d3, %r1, 4;\nadd.u64 %d3, %d3, %d0;\nst.u32 [%d3+16], %r3;\n"
         "@%p0 bra END;\n"
         "st.v2.b32 [%d0], {16, 7};\n"
         "{\n.param .b32 param0;\n.param .b32 param1;\n.param .b32 param2;\n.param .b32 param3;\n"
         ".param .b32 param4;\n.param .b32 param5;\n.param .b32 retval0;\n"
         "st.param.b32 [param0], 1;\nst.param.b32 [param1], 2;\nst.param.b32 [param2], 3;\n"
         "st.param.b32 [param3], 4;\nst.param.b32 [param4], 5;\nst.param.b32 [param5], 6;\n"
         "call.uni (retval0), sum, (param0, param1, param2, param3, param4, param5);\n"
         "ld.param.b32 %r4, [retval0];\n}\nst.u32 [%d0+8], %r4;\n"
         "setp.eq.u32 %p1, %r0, 1;\nsetp.eq.u32 %p2, %r0, 2;\n"
         "@%p1 bra BY_POINTER;\n@%p2 bra BY_NAME;\nret;\n"
         "BY_POINTER:\n{\n.param .b64 param0;\n.param .b64 retval0;\nst.param.b64 [param0], %d0;\n"
         "prototype_0 : .callprototype (.param .b64 _) _ (.param .b64 _);\n"
         "call (retval0), %d1, (param0), prototype_0;\n}\nret;\n"
         "BY_NAME:\n{\n.param .b64 param0;\nst.param.b64 [param0], %d0;\n"
         "call.uni unknown, (param0);\n}\n"
         "END:\nret;\n}\n";

static CUresult run(unsigned *words, unsigned way)
{
    CUmodule module;
    CUfunction function;
    CUdeviceptr to = device(words), pointer = 0;
    void *params[] = { &to, &pointer, &way };
    must(cuModuleLoadData(&module, forms));
    must(cuModuleGetFunction(&function, module, "forms"));
    must(cuLaunchKernel(function, 1, 1, 1, 8, 1, 1, 0, NULL, params, NULL));
    const CUresult result = cuStreamSynchronize(NULL);
    standin_forget_faults();
    must(cuModuleUnload(module));
    return result;
}

static void threads_run_them(void **state)
{
    (void)state;
    unsigned *words = make_memory(12);
    must(run(words, 0));
    assert_int_equal(words[0], 16);
    assert_int_equal(words[1], 7);
    assert_int_equal(words[2], 21);
    for (int i = 0; i < 8; i++)
        assert_int_equal(words[4 + i], i < 4 ? 0x0f : 0xf0);
    free_memory(words);
}

// Head of an ELF file, then the name of a section.
static void a_text_stands_for_machine_code(void **state)
{
    (void)state;
    static const char text[] = HEAD ".visible .entry small()\n{\nret;\n}\n";
    char path[] = "/tmp/braid-instead-XXXXXX";
    struct {
        Elf64_Ehdr head;
        char names[64];
    } image = { .head = { .e_shoff = sizeof(image) }, .names = ".text.small" };
    CUmodule module;
    CUfunction function;
    const int file = mkstemp(path);
    assert_int_equal(write(file, text, sizeof(text) - 1), sizeof(text) - 1);
    close(file);
    memcpy(image.head.e_ident, ELFMAG, SELFMAG);
    must_be(cuModuleLoadData(&module, &image), CUDA_ERROR_NO_BINARY_FOR_GPU);
    setenv("BRAID_STANDIN_INSTEAD", path, 1);
    must(cuModuleLoadData(&module, &image));
    must(cuModuleGetFunction(&function, module, "small"));
    must(cuModuleUnload(module));
    snprintf(image.names, sizeof(image.names), ".text.smaller");
    must_be(cuModuleLoadData(&module, &image), CUDA_ERROR_NO_BINARY_FOR_GPU);
    unsetenv("BRAID_STANDIN_INSTEAD");
    unlink(path);
}

static CUresult call_by_name(const char *name, uint64_t a, uint64_t b)
{
    CUresult (*function)(uint64_t, uint64_t);
    void *found = dlsym(RTLD_DEFAULT, name);
    assert_non_null(found);
    memcpy(&function, &found, sizeof(function)); // ISO C has no cast from an object pointer
    return function(a, b);
}

static void names_that_programs_look_up_are_there(void **state)
{
    static const char *const names[] = { "cuExternalMemoryGetMappedBuffer",
                                         "cuExternalMemoryGetMappedMipmappedArray",
                                         "cuImportExternalMemory",
                                         "cuLinkAddData_v2",
                                         "cuLinkAddFile_v2",
                                         "cuLinkComplete",
                                         "cuLinkCreate_v2",
                                         "cuLinkDestroy",
                                         "cuMemAdvise",
                                         "cuMipmappedArrayGetLevel",
                                         "cuSurfObjectCreate" };
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        must_be(call_by_name(names[i], 0, 0), CUDA_ERROR_NOT_SUPPORTED);
    must(call_by_name("cuCtxSetLimit", 0, 1 << 20));
    must_be(call_by_name("cuGraphAddNode", 0, 0), CUDA_ERROR_INVALID_VALUE);
}

static void unknown_functions_fail_where_they_are_called(void **state)
{
    (void)state;
    unsigned *words = make_memory(12);
    must_be(run(words, 1), CUDA_ERROR_LAUNCH_FAILED);
    must_be(run(words, 2), CUDA_ERROR_LAUNCH_FAILED);
    free_memory(words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_run_them),
        cmocka_unit_test(a_text_stands_for_machine_code),
        cmocka_unit_test(names_that_programs_look_up_are_there),
        cmocka_unit_test(unknown_functions_fail_where_they_are_called),
    };
    return cmocka_run_group_tests(tests, open_interpreter, close_interpreter);
}
