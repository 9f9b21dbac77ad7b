// SPDX-License-Identifier: Apache-2.0
// The CUDA C++ of an island: constants, its walker, and markers where kernels are called.
#include "islands/gpu_island_text.h"

#include <stdio.h>
#include <stdlib.h>

// The copies of the loop over calls, if there are few bodies. On an H200 an empty call then takes
// 46 ns instead of 59.
enum { UNROLLED = 4, MOST_UNROLLED = 4 };

extern const char braid_gpu_island_words_cu[], braid_gpu_island_steps_cu[],
    braid_gpu_island_walker_cu[];

static void put_layout(FILE *file, const struct island_layout *layout, uint32_t num_kernels)
{
    const struct {
        const char *name;
        uint32_t value;
    } numbers[] = {
        { "GROUP", layout->group_threads },
        { "GROUPS", layout->num_groups },
        { "BLOCKS", layout->num_blocks },
        { "LANES", layout->num_blocks * layout->num_groups },
        { "CHAIN", layout->chain },
        { "FLAT", layout->flat },
        { "WIDE", layout->wide },
        { "WHOLE", layout->whole },
        { "THREADS", layout->num_threads },
        { "ARGS", layout->num_args },
        { "AT_ONCE", layout->num_at_once },
        { "EARLY", layout->early },
        { "SMALL", layout->small },
        { "GRIDS", layout->grids_vary },
        { "APART", layout->apart ? layout->num_groups : 0 },
        { "SHARED", layout->lane_shared },
        { "LOOPS", layout->loops },
        { "CANCELS", layout->cancels },
        { "TIMED", layout->timed },
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        fprintf(file, "#define BRAID_%s %u\n", numbers[i].name, numbers[i].value);
    fprintf(file, "#define BRAID_UNROLL %u\n",
            layout->small && num_kernels <= MOST_UNROLLED ? UNROLLED : 1);
    fprintf(file, "#define BRAID_STEP %u\n",
            1 + (layout->chain ? 1 : (layout->num_groups + 1) / 2));
    fprintf(file, "typedef struct { unsigned long long bytes[%u]; } braid_island_args;\n",
            2 * layout->num_args);
    fprintf(file, "typedef %s braid_island_small;\n",
            layout->small <= 4   ? "unsigned"
            : layout->small == 8 ? "uint2"
                                 : "uint4");
    fputs(layout->small ? "#define BRAID_CALL const braid_island_small &\n"
                          "#define BRAID_HERE held_args\n"
                        : "#define BRAID_CALL const char *\n#define BRAID_HERE args_here\n",
          file);
}

static void put_calls(FILE *file, const struct island_layout *layout, uint32_t num_kernels)
{
    static const char *const args[] = {
        "\"r\"(braid_island_address(args))",
        "\"r\"(args)",
        "\"r\"(args.x), \"r\"(args.y)",
        "\"r\"(args.x), \"r\"(args.y), \"r\"(args.z), \"r\"(args.w)",
    };
    static const char *const operands[] = { "%4", "%4", "%4, %5", "%4, %5, %6, %7" };
    // Barriers are of one number of threads: where those of a kernel may be of fewer than its
    // group's, they have others.
    fputs("static __device__ __forceinline__ void braid_island_call(unsigned entry, BRAID_CALL "
          "args)\n"
          "{\n"
          "    const unsigned group = braid_island_group(), index = braid_island_index();\n"
          "    const unsigned here = braid_island_address(&braid_island_here[group]);\n"
          "    const unsigned barrier = 1 + BRAID_APART + group;\n"
          "    const unsigned shared =\n"
          "        braid_island_address(braid_island_memory) + group * BRAID_SHARED;\n"
          "    switch (entry) {\n",
          file);
    int which = layout->small == 0 ? 0 : layout->small <= 4 ? 1 : layout->small == 8 ? 2 : 3;
    for (uint32_t i = 0; i < num_kernels; i++)
        fprintf(file,
                "    case %u:\n        asm volatile(\"braid_call_%u %%0, %%1, %%2, %%3, %s;\"\n"
                "                     ::\"r\"(index), \"r\"(here), \"r\"(barrier), "
                "\"r\"(shared), %s : \"memory\");\n        break;\n",
                i, i, operands[which], args[which]);
    fputs("    }\n}\n", file);
}

char *braid_island_text(const struct island_layout *layout, uint32_t num_kernels)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    if (!file)
        return NULL;
    put_layout(file, layout, num_kernels);
    fputs(braid_gpu_island_words_cu, file);
    put_calls(file, layout, num_kernels);
    fputs(braid_gpu_island_steps_cu, file);
    fputs(braid_gpu_island_walker_cu, file);
    bool failed = ferror(file) != 0;
    if (fclose(file) == 0 && !failed)
        return text;
    free(text);
    return NULL;
}
