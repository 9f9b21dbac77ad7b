// SPDX-License-Identifier: Apache-2.0
// Changing HIP's source so that its kernels write down when they began and ended.
#include "backends/gpu/gpu_source_stamps.h"

#include "backends/gpu/gpu_source_walk.h"

// As in gpu_ptx_stamps.c: thread 0 of the first eight blocks writes the begin, and of each wave one
// thread the end, here into the stamp of its block's number and the mask.
static const char before[] =
    "struct braid_stamp {\n"
    "    unsigned long long *const at;\n"
    "    static __device__ unsigned long long braid_now()\n"
    "    {\n"
    "        return (unsigned long long)::wall_clock64();\n"
    "    }\n"
    "    __device__ braid_stamp(unsigned long long *stamps, unsigned mask)\n"
    "        : at(stamps + 16 * ((blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)) "
    "& mask))\n"
    "    {\n"
    "        if ((threadIdx.x | threadIdx.y | threadIdx.z | blockIdx.x >> 3 | blockIdx.y | "
    "blockIdx.z) == 0)\n"
    "            atomicMax(at, ~braid_now());\n"
    "    }\n"
    "    __device__ ~braid_stamp()\n"
    "    {\n"
    "        const int thread = (int)(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * "
    "threadIdx.z));\n"
    "        if (__builtin_amdgcn_readfirstlane(thread) == thread)\n"
    "            atomicMax(at + 1, braid_now());\n"
    "    }\n"
    "};\n"
    "#line 1\n";

static const char parameters[] = ", unsigned long long *braid_stamps, unsigned braid_mask";
static const char with_defaults[] =
    ", unsigned long long *braid_stamps = 0, unsigned braid_mask = 0";
static const char begin[] = " const braid_stamp braid_stamped(braid_stamps, braid_mask); ";

struct stamper {
    struct array kernels; // struct token: their names
    bool no_memory;
};

// Who launches a kernel, makes one of a template or passes it on knows nothing of more parameters.
static void look_at_word(struct source_walk *walk, struct token word)
{
    const struct stamper *stamper = walk->user;
    if (braid_source_has_name(&stamper->kernels, word))
        braid_source_refuse(walk, "a kernel of it is mentioned behind its definition");
}

static void end_body(struct source_walk *walk)
{
    struct stamper *stamper = walk->user;
    if (!walk->head.is_kernel)
        return;
    stamper->no_memory |= !braid_source_add_name(&stamper->kernels, walk->head.parameters.name);
    braid_source_add_parameters(walk, parameters, with_defaults);
    braid_gpu_edit(&walk->edits, walk->body, walk->body, begin);
}

char *braid_gpu_source_with_stamps(const char *source, const char **out_reason)
{
    struct stamper stamper = { 0 };
    struct source_walk walk = { .look_at_word = look_at_word,
                                .end_body = end_body,
                                .user = &stamper };
    braid_gpu_edit(&walk.edits, source, source, before);
    braid_source_walk(&walk, source);
    if (walk.edits.num == 1)
        braid_source_refuse(&walk, "it has no kernels that can be told");
    bool failed = stamper.no_memory || walk.edits.failed;
    char *made = failed || walk.reason ? NULL : braid_gpu_apply_edits(&walk.edits, source);
    *out_reason = failed ? NULL : walk.reason;
    braid_gpu_edits_finish(&walk.edits);
    braid_array_finish(&stamper.kernels);
    return made;
}
