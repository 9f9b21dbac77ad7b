// SPDX-License-Identifier: Apache-2.0
// The table of nvJitLink's functions against nvJitLink.h, where it is installed.
#include <nvJitLink.h>

#include "abi.hpp"

#define ASSEMBLER(slot, function)                                                                  \
    ABI_ROW(gpu_assembler_api, braid_gpu_assembler_symbols, GPU_CUDA, slot, function)

int main()
{
    ASSEMBLER(create, nvJitLinkCreate);
    ASSEMBLER(destroy, nvJitLinkDestroy);
    ASSEMBLER(add, nvJitLinkAddData);
    ASSEMBLER(complete, nvJitLinkComplete);
    ASSEMBLER(code_bytes, nvJitLinkGetLinkedCubinSize);
    ASSEMBLER(code, nvJitLinkGetLinkedCubin);
    ASSEMBLER(log_bytes, nvJitLinkGetErrorLogSize);
    ASSEMBLER(log, nvJitLinkGetErrorLog);
    ASSEMBLER(version, nvJitLinkVersion);
    const bool all = abi::rows_checked == abi::count_rows(braid_gpu_assembler_symbols, GPU_CUDA);
    std::printf("1..1\n%s 1 - nvJitLink.h agrees with all rows\n",
                abi::failures || !all ? "not ok" : "ok");
    return abi::failures || !all;
}
