// SPDX-License-Identifier: Apache-2.0
// The CUDA C++ of an island: its walker, the kernels' sources, and how their arguments are found.
#include "backends/gpu/gpu_island_text.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

// How often the loop over calls stands there, where their bodies are few: on an H200 a call that
// does nothing then takes 46 ns instead of 59.
enum { UNROLLED = 4, MOST_UNROLLED = 4 };

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
    NULL,
};

// A barrier is of one number of threads: where kernels of fewer than the group's meet at theirs, the
// others are at the group's already.
static const char *const barriers_text[] = {
    "static __device__ __forceinline__ void braid_island_join()\n",
    "{\n",
    "    braid_island_await(1, BRAID_GROUP);\n",
    "}\n",
    "static __device__ __forceinline__ void braid_island_barrier()\n",
    "{\n",
    "    const braid_island_words &here = braid_island_here[braid_island_group()];\n",
    "    braid_island_await(1 + BRAID_APART, here.dim.x * here.dim.y * here.dim.z);\n",
    "}\n",
    "static __device__ void braid_island_call(unsigned entry, const char *args);\n",
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

static void put_lines(FILE *file, const char *const *lines, const struct island_layout *layout)
{
    for (; *lines; lines++) {
        const bool is_for_times = **lines == '?';
        if (!is_for_times || layout->timed)
            fputs(*lines + is_for_times, file);
    }
}

static void put_layout(FILE *file, const struct island_layout *layout, uint32_t num_kernels)
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
        { "EARLY", layout->early },         { "SMALL", layout->small },
        { "GRIDS", layout->grids_vary },    { "APART", layout->apart ? layout->num_groups : 0 },
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        fprintf(file, "#define BRAID_%s %u\n", numbers[i].name, numbers[i].value);
    fprintf(file, "#define BRAID_UNROLL %u\n",
            layout->small && num_kernels <= MOST_UNROLLED ? UNROLLED : 1);
    fprintf(file, "typedef struct { unsigned long long bytes[%u]; } braid_island_args;\n",
            2 * layout->num_args);
    fprintf(file, "typedef %s braid_island_small;\n",
            layout->small <= 4   ? "unsigned"
            : layout->small == 8 ? "uint2"
                                 : "uint4");
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
    put_layout(file, layout, num_kernels);
    put_lines(file, words_text, layout);
    put_lines(file, braid_island_device_text, layout);
    put_lines(file, barriers_text, layout);
    put_lines(file, braid_island_walker_text, layout);
    put_lines(file, macros_text, layout);
    for (uint32_t i = 0; i < num_sources; i++)
        put_source(file, &sources[i], i);
    put_lines(file, call_text, layout);
    put_entries(file, kernels, num_kernels);
    bool failed = ferror(file) != 0;
    if (fclose(file) == 0 && !failed)
        return text;
    free(text);
    return NULL;
}
