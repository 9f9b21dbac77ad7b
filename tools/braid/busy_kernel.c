// SPDX-License-Identifier: Apache-2.0
// A kernel that keeps its lane busy for a time and writes down when it started and ended.
#include "busy_kernel.h"

#include "clock.h"

static void busy_on_cpu(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    braid_interval *intervals = *(braid_interval *const *)args[0];
    uint64_t node = *(const uint64_t *)args[1];
    uint64_t busy_ns = *(const uint64_t *)args[2];
    uint64_t start = clock_now_ns(), now = start;
    while (now - start < busy_ns)
        now = clock_now_ns();
    intervals[node] = (braid_interval){ start, now };
}

// AMD's real-time counter runs at 100 MHz.
static const char busy_source[] =
    "typedef unsigned long long number;\n"
    "static __device__ __forceinline__ number now_ns()\n"
    "{\n"
    "#if defined(__HIP_PLATFORM_AMD__) || defined(__HIPCC_RTC__) || defined(__HIP__)\n"
    "    return __builtin_amdgcn_s_memrealtime() * 10;\n"
    "#else\n"
    "    number now;\n"
    "    asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(now)::\"memory\");\n"
    "    return now;\n"
    "#endif\n"
    "}\n"
    "extern \"C\" __global__ void braid_busy(number *intervals, number node, number busy_ns)\n"
    "{\n"
    "    number start = now_ns(), now = start;\n"
    "    while (now - start < busy_ns)\n"
    "        now = now_ns();\n"
    "    intervals[2 * node] = start;\n"
    "    intervals[2 * node + 1] = now;\n"
    "}\n";

const braid_kernel busy_kernel = {
    .name = "braid_busy",
    .cpu = busy_on_cpu,
    .source = busy_source,
};
