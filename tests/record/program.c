// SPDX-License-Identifier: Apache-2.0
// What the tests of the recorder share: a context, a module, and the record of their own process.
#include "record/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char program_text[] = ".version 7.8\n.target sm_90\n.address_size 64\n"
                            ".visible .entry add(.param .u64 memory, .param .u32 number)\n{\n"
                            ".reg .b64 %rd<3>;\n.reg .b32 %r<4>;\n"
                            "ld.param.u64 %rd1, [memory];\n"
                            "ld.param.u32 %r1, [number];\n"
                            "ld.global.u32 %r2, [%rd1];\n"
                            "add.u32 %r3, %r2, %r1;\n"
                            "st.global.u32 [%rd1], %r3;\nret;\n}\n"
                            ".visible .entry nothing()\n{\nret;\n}\n";

struct program program;
static braid_record *own_record;

void must_at(CUresult result, const char *call, const char *file, int line)
{
    if (result == CUDA_SUCCESS)
        return;
    print_error("%s returns %d\n", call, (int)result);
    _fail(file, line);
}

int open_program(void **state)
{
    const char *path = getenv("BRAID_RECORD_FILE");
    (void)state;
    assert_non_null(path);
    unlink(path); // an earlier run left it
    must(cuInit(0));
    must(cuDevicePrimaryCtxRetain(&program.context, 0));
    must(cuCtxSetCurrent(program.context));
    must(cuModuleLoadData(&program.module, program_text));
    must(cuModuleGetFunction(&program.add, program.module, "add"));
    must(cuModuleGetFunction(&program.nothing, program.module, "nothing"));
    return 0;
}

int close_program(void **state)
{
    (void)state;
    must(cuModuleUnload(program.module));
    must(cuDevicePrimaryCtxRelease_v2(0));
    return 0;
}

void launch_add(CUstream stream, CUdeviceptr memory, uint32_t number)
{
    void *arguments[] = { &memory, &number };
    must(cuLaunchKernel(program.add, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

void launch_nothing(CUstream stream)
{
    must(cuLaunchKernel(program.nothing, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
}

const braid_record_contents *open_own_record(void)
{
    check_ok(braid_record_load(getenv("BRAID_RECORD_FILE"), &own_record));
    return braid_record_get_contents(own_record);
}

void close_own_record(void)
{
    braid_record_destroy(own_record);
    own_record = NULL;
}
