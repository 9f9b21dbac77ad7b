// SPDX-License-Identifier: Apache-2.0
// A kernel that keeps its lane busy for a time and writes down when it started and ended.
#include "busy_kernel.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"

enum { MOST_ADDRESSES = 1024 };

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
    "extern \"C\" __global__ void braid_busy(number *intervals, number node, number busy_ns";

static const char busy_body[] = ")\n"
                                "{\n"
                                "    number start = now_ns(), now = start;\n"
                                "    while (now - start < busy_ns)\n"
                                "        now = now_ns();\n"
                                "    intervals[2 * node] = start;\n"
                                "    intervals[2 * node + 1] = now;\n"
                                "}\n";

// All nodes of one kernel take as many arguments, so there is one for each number.
static char *write_source(uint32_t num_addresses)
{
    char *source = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&source, &length);
    if (!file)
        return NULL;
    fputs(busy_source, file);
    for (uint32_t i = 0; i < num_addresses; i++)
        fprintf(file, ", number address_%" PRIu32, i);
    fputs(busy_body, file);
    bool is_written = !ferror(file);
    if (fclose(file) == 0 && is_written)
        return source;
    free(source);
    return NULL;
}

const braid_kernel *busy_kernel(uint32_t num_addresses)
{
    static braid_kernel kernels[MOST_ADDRESSES + 1];
    if (num_addresses > MOST_ADDRESSES)
        return NULL;
    braid_kernel *kernel = &kernels[num_addresses];
    if (kernel->source)
        return kernel;
    *kernel = (braid_kernel){ .name = "braid_busy",
                              .cpu = busy_on_cpu,
                              .source = write_source(num_addresses) };
    return kernel->source ? kernel : NULL;
}
