// SPDX-License-Identifier: Apache-2.0
// The device functions of an island's walker: visible progress, and barriers of groups.
#include "islands/gpu_island_text.h"

// clang-format off
// A release or an acquire at a barrier's end covers the writes and reads of the group's other
// threads: causality goes through barriers.
const char *const braid_island_device_text[] = {
    "static __device__ __forceinline__ void braid_island_await(unsigned barrier, unsigned threads)\n",
    "{\n",
    "    if (BRAID_GROUP == 32)\n",
    "        __syncwarp();\n",
    "    else\n",
    "        asm volatile(\"barrier.sync %0, %1;\" ::\"r\"(barrier + braid_island_group()), \"r\"(threads)\n",
    "                     : \"memory\");\n",
    "}\n",
    "static __device__ __forceinline__ void braid_island_gather()\n",
    "{\n",
    "    asm volatile(\"barrier.sync 0, %0;\" ::\"n\"(BRAID_GROUPS * BRAID_GROUP) : \"memory\");\n",
    "}\n",
    "static __device__ __forceinline__ unsigned braid_island_look(const unsigned *at)\n",
    "{\n",
    "    unsigned value;\n",
    "    if (BRAID_BLOCKS == 1)\n",
    "        asm volatile(\"ld.acquire.cta.shared.u32 %0, [%1];\"\n",
    "                     : \"=r\"(value) : \"r\"((unsigned)__cvta_generic_to_shared(at)) : \"memory\");\n",
    "    else\n",
    "        asm volatile(\"ld.acquire.gpu.u32 %0, [%1];\" : \"=r\"(value) : \"l\"(at) : \"memory\");\n",
    "    return value;\n",
    "}\n",
    "static __device__ __forceinline__ void braid_island_tell(unsigned *at, unsigned value)\n",
    "{\n",
    "    if (BRAID_BLOCKS == 1)\n",
    "        asm volatile(\"st.release.cta.shared.u32 [%0], %1;\"\n",
    "                     ::\"r\"((unsigned)__cvta_generic_to_shared(at)), \"r\"(value) : \"memory\");\n",
    "    else\n",
    "        asm volatile(\"st.release.gpu.u32 [%0], %1;\" ::\"l\"(at), \"r\"(value) : \"memory\");\n",
    "}\n",
    "?static __device__ __forceinline__ unsigned long long braid_island_now()\n",
    "?{\n",
    "?    unsigned long long now;\n",
    "?    asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(now)::\"memory\");\n",
    "?    return now;\n",
    "?}\n",
    NULL,
};
// clang-format on
