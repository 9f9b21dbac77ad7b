// SPDX-License-Identifier: Apache-2.0
// The CUDA C++ of an island: its walker, the kernels' sources, and how their arguments are found.
#include "backends/gpu/gpu_island_text.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

// clang-format off
// What a kernel reads of its place, from words of its group.
static const char *const words_text[] = {
    "struct braid_island_words {\n",
    "    uint3 block, grid, dim;\n",
    "};\n",
    "__shared__ braid_island_words braid_island_here[BRAID_GROUPS];\n",
    "static __device__ __forceinline__ unsigned braid_island_group()\n",
    "{\n",
    "    return BRAID_GROUPS == 1 ? 0u : threadIdx.x / BRAID_GROUP;\n",
    "}\n",
    "static __device__ __forceinline__ unsigned braid_island_index()\n",
    "{\n",
    "    return BRAID_GROUPS == 1 ? threadIdx.x : threadIdx.x % BRAID_GROUP;\n",
    "}\n",
    "static __device__ __forceinline__ uint3 braid_island_thread()\n",
    "{\n",
    "    unsigned i = braid_island_index();\n",
    "    if (BRAID_FLAT)\n",
    "        return make_uint3(i, 0, 0);\n",
    "    uint3 dim = braid_island_here[braid_island_group()].dim;\n",
    "    return make_uint3(i % dim.x, i / dim.x % dim.y, i / dim.x / dim.y);\n",
    "}\n",
    "static __device__ __forceinline__ void braid_island_join(unsigned threads)\n",
    "{\n",
    "    if (BRAID_GROUP == 32)\n",
    "        __syncwarp();\n",
    "    else\n",
    "        asm volatile(\"barrier.sync %0, %1;\" ::\"r\"(1 + braid_island_group()), \"r\"(threads)\n",
    "                     : \"memory\");\n",
    "}\n",
    "static __device__ __forceinline__ void braid_island_barrier()\n",
    "{\n",
    "    const braid_island_words &here = braid_island_here[braid_island_group()];\n",
    "    braid_island_join(here.dim.x * here.dim.y * here.dim.z);\n",
    "}\n",
    "static __device__ void braid_island_call(unsigned entry, const char *args);\n",
    NULL,
};

// Each group walks its list: wait, call, publish. Lanes of one block see each other's progress in
// shared memory; of several, in global memory, where it is never reset: each frame begins where the
// last one ended, at the same number on every lane. A frame's arguments are the kernel's own, so
// that one in flight keeps its own; of several frames in one launch they may stand in rows, which
// are loaded when all groups of the block have done with the frame before. Notes are in host memory,
// where they can be read after a fault: for each lane twice the number of its call and 1 while it
// waits, 2 while it runs, and 0 between frames.
//
// What other kernels have written is read behind griddepcontrol.wait only: not even the progress,
// which the frame before may still write. The lists are constant, and read before. All threads of
// all blocks wait, so that an island that has ended stands for everything before it (gpu_ptx.h).
//
// Lines with a question mark are only in islands that are timed: one thread of each lane writes for
// each call when it began, as a complement, and ended. It begins when its waits have ended, or what
// was before it on its lane.
static const char *const walker_text[] = {
    "struct braid_island_shape {\n",
    "    unsigned entry, threads, blocks, unused;\n",
    "    uint3 grid, dim;\n",
    "    unsigned pad[2];\n",
    "};\n",
    "static __device__ __forceinline__ unsigned braid_island_look(const unsigned *at)\n",
    "{\n",
    "    unsigned value;\n",
    "    if (BRAID_BLOCKS == 1)\n",
    "        asm volatile(\"ld.acquire.cta.u32 %0, [%1];\" : \"=r\"(value) : \"l\"(at) : \"memory\");\n",
    "    else\n",
    "        asm volatile(\"ld.acquire.gpu.u32 %0, [%1];\" : \"=r\"(value) : \"l\"(at) : \"memory\");\n",
    "    return value;\n",
    "}\n",
    "static __device__ __forceinline__ void braid_island_tell(unsigned *at, unsigned value)\n",
    "{\n",
    "    if (BRAID_BLOCKS == 1)\n",
    "        asm volatile(\"st.release.cta.u32 [%0], %1;\" ::\"l\"(at), \"r\"(value) : \"memory\");\n",
    "    else\n",
    "        asm volatile(\"st.release.gpu.u32 [%0], %1;\" ::\"l\"(at), \"r\"(value) : \"memory\");\n",
    "}\n",
    "?static __device__ __forceinline__ unsigned long long braid_island_now()\n",
    "?{\n",
    "?    unsigned long long now;\n",
    "?    asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(now)::\"memory\");\n",
    "?    return now;\n",
    "?}\n",
    "static __device__ __forceinline__ void braid_island_meet()\n",
    "{\n",
    "    if (BRAID_CHAIN && BRAID_GROUPS > 1)\n",
    "        __syncthreads();\n",
    "    else\n",
    "        braid_island_join(BRAID_GROUP);\n",
    "}\n",
    "extern \"C\" __global__ void __launch_bounds__(BRAID_THREADS)\n",
    "    braid_island(const uint4 *program, unsigned *progress, unsigned span, unsigned frames,\n",
    "                 const uint4 *rows, const __grid_constant__ braid_island_args args,\n",
    "                 volatile unsigned *notes\n",
    "?                 , ulonglong2 *times, unsigned first, unsigned room, unsigned stride\n",
    "    )\n",
    "{\n",
    "    static_assert(!BRAID_EARLY || __CUDA_ARCH__ >= 900, \"the compiler is older than the device\");\n",
    "    if (BRAID_EARLY)\n",
    "        asm volatile(\"griddepcontrol.launch_dependents;\" ::: \"memory\");\n",
    "    extern __shared__ uint4 braid_island_memory[];\n",
    "    __shared__ unsigned braid_island_done[BRAID_GROUPS];\n",
    "    const unsigned group = braid_island_group(), index = braid_island_index();\n",
    "    const unsigned lane = blockIdx.x * BRAID_GROUPS + group;\n",
    "    const uint4 head = program[blockIdx.x];\n",
    "    uint4 *const own = braid_island_memory + BRAID_ARGS;\n",
    "    for (unsigned i = threadIdx.x; i < BRAID_ARGS; i += BRAID_THREADS)\n",
    "        braid_island_memory[i] = make_uint4((unsigned)args.bytes[2 * i], (unsigned)(args.bytes[2 * i] >> 32), (unsigned)args.bytes[2 * i + 1], (unsigned)(args.bytes[2 * i + 1] >> 32));\n",
    "    for (unsigned i = threadIdx.x; i < head.y; i += BRAID_THREADS)\n",
    "        own[i] = program[head.x + i];\n",
    "    if (threadIdx.x < BRAID_GROUPS)\n",
    "        braid_island_done[threadIdx.x] = 0;\n",
    "    if (BRAID_EARLY)\n",
    "        asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n",
    "    for (unsigned i = threadIdx.x; rows && i < BRAID_ARGS; i += BRAID_THREADS)\n",
    "        braid_island_memory[i] = rows[i];\n",
    "    __syncthreads();\n",
    "    if (threadIdx.x >= BRAID_GROUPS * BRAID_GROUP)\n",
    "        return;\n",
    "    const braid_island_shape *const shapes = (const braid_island_shape *)own;\n",
    "    const unsigned *const waits = (const unsigned *)(own + head.w);\n",
    "    const uint2 list = ((const uint2 *)(own + head.z))[BRAID_CHAIN ? 0 : group];\n",
    "    const char *const frame_args = (const char *)braid_island_memory;\n",
    "    const bool takes_notes = notes && index == 0 && (!BRAID_CHAIN || group == 0);\n",
    "    unsigned base = BRAID_BLOCKS == 1 ? 0u : progress[lane * 32];\n",
    "    for (unsigned frame = 0; frame < frames; frame++, base += span) {\n",
    "        if (rows && frame) {\n",
    "            for (unsigned i = threadIdx.x; i < BRAID_ARGS; i += BRAID_GROUPS * BRAID_GROUP)\n",
    "                braid_island_memory[i] = rows[frame * BRAID_ARGS + i];\n",
    "            asm volatile(\"barrier.sync 0, %0;\" ::\"n\"(BRAID_GROUPS * BRAID_GROUP) : \"memory\");\n",
    "        }\n",
    "        unsigned shape = ~0u, entry = 0, threads = 0, blocks = 0, told = 0;\n",
    "?        const bool timed = index == 0 && (!BRAID_CHAIN || group == 0);\n",
    "?        ulonglong2 *const stamps = times + ((first + frame) % room * (BRAID_CHAIN ? 1 : BRAID_LANES) + lane) * stride;\n",
    "?        unsigned long long now = timed ? braid_island_now() : 0;\n",
    "        uint4 next = own[list.x];\n",
    "        for (unsigned t = list.x; t < list.y; t++) {\n",
    "            const uint4 task = next;\n",
    "            next = own[t + 1];\n",
    "            const unsigned num_waits = task.x >> 16 & 0x7fff;\n",
    "            if (!BRAID_CHAIN && num_waits) {\n",
    "                if (takes_notes)\n",
    "                    notes[lane] = 2 * (t - list.x) + 1;\n",
    "                const unsigned inside[2] = { task.z, task.w };\n",
    "                for (unsigned i = index; i < num_waits; i += BRAID_GROUP) {\n",
    "                    const unsigned wait = num_waits <= 2 ? (i ? inside[1] : inside[0])\n",
    "                                                         : waits[task.z + i];\n",
    "                    const unsigned other = wait >> 20, number = base + (wait & 0xfffff);\n",
    "                    const unsigned *at = BRAID_BLOCKS == 1 ? braid_island_done + other\n",
    "                                                           : progress + other * 32;\n",
    "                    while ((int)(braid_island_look(at) - number) < 0) {\n",
    "                    }\n",
    "                }\n",
    "                braid_island_meet();\n",
    "?                if (timed)\n",
    "?                    now = braid_island_now();\n",
    "            }\n",
    "            if (takes_notes)\n",
    "                notes[lane] = 2 * (t - list.x) + 2;\n",
    "            if ((task.x & 0xffff) != shape) {\n",
    "                shape = task.x & 0xffff;\n",
    "                entry = shapes[shape].entry;\n",
    "                threads = shapes[shape].threads;\n",
    "                blocks = shapes[shape].blocks;\n",
    "                if (index == 0) {\n",
    "                    braid_island_here[group].block = make_uint3(0, 0, 0);\n",
    "                    braid_island_here[group].grid = shapes[shape].grid;\n",
    "                    braid_island_here[group].dim = shapes[shape].dim;\n",
    "                }\n",
    "                braid_island_join(BRAID_GROUP);\n",
    "            }\n",
    "            if (!BRAID_WIDE || blocks == 1) {\n",
    "                if ((BRAID_WHOLE || index < threads) && (!BRAID_CHAIN || group == 0))\n",
    "                    braid_island_call(entry, frame_args + task.y);\n",
    "            } else {\n",
    "                for (unsigned b = BRAID_CHAIN ? group : 0; b < blocks;\n",
    "                     b += BRAID_CHAIN ? BRAID_GROUPS : 1) {\n",
    "                    if (index == 0) {\n",
    "                        const uint3 grid = shapes[shape].grid;\n",
    "                        braid_island_here[group].block =\n",
    "                            make_uint3(b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y);\n",
    "                    }\n",
    "                    braid_island_join(BRAID_GROUP);\n",
    "                    if (index < threads)\n",
    "                        braid_island_call(entry, frame_args + task.y);\n",
    "                    braid_island_join(BRAID_GROUP);\n",
    "                }\n",
    "                shape = ~0u;\n",
    "            }\n",
    "            braid_island_meet();\n",
    "?            if (timed) {\n",
    "?                const unsigned long long end = braid_island_now();\n",
    "?                stamps[t - list.x] = make_ulonglong2(~now, end);\n",
    "?                now = end;\n",
    "?            }\n",
    "            if (!BRAID_CHAIN && task.x >> 31) {\n",
    "                told++;\n",
    "                if (index == 0)\n",
    "                    braid_island_tell(BRAID_BLOCKS == 1 ? braid_island_done + group\n",
    "                                                        : progress + lane * 32,\n",
    "                                      base + told);\n",
    "            }\n",
    "        }\n",
    "        if (takes_notes)\n",
    "            notes[lane] = 0;\n",
    "        if (!BRAID_CHAIN && index == 0 && told != span)\n",
    "            braid_island_tell(BRAID_BLOCKS == 1 ? braid_island_done + group : progress + lane * 32,\n",
    "                              base + span);\n",
    "        if (BRAID_BLOCKS == 1) {\n",
    "            if (!BRAID_CHAIN)\n",
    "                asm volatile(\"barrier.sync 0, %0;\" ::\"n\"(BRAID_GROUPS * BRAID_GROUP) : \"memory\");\n",
    "        } else if (frame + 1 < frames) {\n",
    "            for (unsigned i = index; i < BRAID_LANES; i += BRAID_GROUP) {\n",
    "                while ((int)(braid_island_look(progress + i * 32) - (base + span)) < 0) {\n",
    "                }\n",
    "            }\n",
    "            braid_island_meet();\n",
    "        }\n",
    "    }\n",
    "}\n",
    NULL,
};

// From here on the text is the program's. Nothing may be loaded past the caches' order: another
// call of the same kernel may have written it.
static const char *const macros_text[] = {
    "#undef threadIdx\n",
    "#undef blockIdx\n",
    "#undef gridDim\n",
    "#undef blockDim\n",
    "#undef __syncthreads\n",
    "#undef __ldg\n",
    "#undef __restrict__\n",
    "#undef __restrict\n",
    "#undef __global__\n",
    "#undef __launch_bounds__\n",
    "#undef __maxnreg__\n",
    "#undef __grid_constant__\n",
    "#define threadIdx (braid_island_thread())\n",
    "#define blockIdx (braid_island_here[braid_island_group()].block)\n",
    "#define gridDim (braid_island_here[braid_island_group()].grid)\n",
    "#define blockDim (braid_island_here[braid_island_group()].dim)\n",
    "#define __syncthreads() braid_island_barrier()\n",
    "#define __ldg(...) (*(__VA_ARGS__))\n",
    "#define __restrict__\n",
    "#define __restrict\n",
    "#define __global__ __device__\n",
    "#define __launch_bounds__(...)\n",
    "#define __maxnreg__(...)\n",
    "#define __grid_constant__\n",
    NULL,
};

// Calls a function with arguments that lie one behind the other (island_arg_place).
static const char *const call_text[] = {
    "static __device__ constexpr unsigned braid_island_place(unsigned at, unsigned bytes)\n",
    "{\n",
    "    unsigned align = bytes <= 4 ? 4 : bytes <= 8 ? 8 : 16;\n",
    "    return (at + align - 1) / align * align;\n",
    "}\n",
    "template <unsigned at, class... Left> struct braid_island_apply;\n",
    "template <unsigned at> struct braid_island_apply<at> {\n",
    "    static constexpr unsigned bytes = at;\n",
    "    template <class F, class... Done>\n",
    "    static __device__ __forceinline__ void call(F f, const char *, const Done &...done)\n",
    "    {\n",
    "        f(done...);\n",
    "    }\n",
    "};\n",
    "template <unsigned at, class A, class... Left> struct braid_island_apply<at, A, Left...> {\n",
    "    static_assert(alignof(A) <= 16, \"an argument's alignment\");\n",
    "    static constexpr unsigned here = braid_island_place(at, sizeof(A));\n",
    "    typedef braid_island_apply<here + sizeof(A), Left...> next;\n",
    "    static constexpr unsigned bytes = next::bytes;\n",
    "    template <class F, class... Done>\n",
    "    static __device__ __forceinline__ void call(F f, const char *args, const Done &...done)\n",
    "    {\n",
    "        next::call(f, args, done..., *(const A *)(args + here));\n",
    "    }\n",
    "};\n",
    "template <class... A>\n",
    "static __device__ __forceinline__ void braid_island_run(void (*f)(A...), const char *args)\n",
    "{\n",
    "    braid_island_apply<0, A...>::call(f, args);\n",
    "}\n",
    "template <class... A> static __device__ constexpr unsigned braid_island_bytes(void (*)(A...))\n",
    "{\n",
    "    return braid_island_apply<0, A...>::bytes;\n",
    "}\n",
    NULL,
};

// clang-format on

static void put_lines(FILE *file, const char *const *lines, bool timed)
{
    for (; *lines; lines++) {
        bool is_for_times = **lines == '?';
        if (timed || !is_for_times)
            fputs(*lines + is_for_times, file);
    }
}

static void put_layout(FILE *file, const struct island_layout *layout)
{
    const struct {
        const char *name;
        uint32_t value;
    } numbers[] = {
        { "GROUP", layout->group_threads }, { "GROUPS", layout->num_groups },
        { "BLOCKS", layout->num_blocks },   { "LANES", layout->num_blocks * layout->num_groups },
        { "CHAIN", layout->chain },         { "FLAT", layout->flat },
        { "WIDE", layout->wide },           { "WHOLE", layout->whole },
        { "THREADS", layout->num_threads }, { "ARGS", layout->num_args },
        { "EARLY", layout->early },
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        fprintf(file, "#define BRAID_%s %u\n", numbers[i].name, numbers[i].value);
    fprintf(file, "typedef struct { unsigned long long bytes[%u]; } braid_island_args;\n",
            2 * layout->num_args);
}

static uint32_t bytes_of(const struct island_kernel *kernel)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < kernel->num_args; i++)
        at = island_arg_place(at, kernel->arg_bytes[i]) + kernel->arg_bytes[i];
    return at;
}

static void put_source(FILE *file, const struct island_source *source, uint32_t index)
{
    fprintf(file, "namespace braid_source_%u {\n%s\n}\n", index, source->text);
    if (source->undefs)
        fputs(source->undefs, file);
}

static void put_entries(FILE *file, const struct island_kernel *kernels, uint32_t num_kernels)
{
    for (uint32_t i = 0; i < num_kernels; i++)
        fprintf(file,
                "static_assert(braid_island_bytes(braid_source_%u::%s) == %u, "
                "\"its arguments have other sizes\");\n",
                kernels[i].source, kernels[i].name, bytes_of(&kernels[i]));
    fputs("static __device__ void braid_island_call(unsigned entry, const char *args)\n"
          "{\n    switch (entry) {\n",
          file);
    for (uint32_t i = 0; i < num_kernels; i++)
        fprintf(
            file,
            "    case %u:\n        braid_island_run(braid_source_%u::%s, args);\n        break;\n",
            i, kernels[i].source, kernels[i].name);
    fputs("    }\n}\n", file);
}

char *braid_island_text(const struct island_layout *layout, const struct island_source *sources,
                        uint32_t num_sources, const struct island_kernel *kernels,
                        uint32_t num_kernels)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    if (!file)
        return NULL;
    for (uint32_t i = 0; i < num_sources; i++) {
        if (sources[i].includes)
            fputs(sources[i].includes, file);
    }
    put_layout(file, layout);
    put_lines(file, words_text, layout->timed);
    put_lines(file, walker_text, layout->timed);
    put_lines(file, macros_text, layout->timed);
    for (uint32_t i = 0; i < num_sources; i++)
        put_source(file, &sources[i], i);
    put_lines(file, call_text, layout->timed);
    put_entries(file, kernels, num_kernels);
    bool failed = ferror(file) != 0;
    if (fclose(file) == 0 && !failed)
        return text;
    free(text);
    return NULL;
}
