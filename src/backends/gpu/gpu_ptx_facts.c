// SPDX-License-Identifier: Apache-2.0
// The instructions of PTX, and their effects beside their arithmetic.
#include "backends/gpu/gpu_ptx_read.h"

// clang-format off
// By the word before the first point, in the order of the manual.
static const struct {
    const char *name;
    unsigned facts;
} instructions[] = {
    // Arithmetic, comparison and logic
    { "add", 0 }, { "sub", 0 }, { "mul", 0 }, { "mad", 0 }, { "mul24", 0 }, { "mad24", 0 },
    { "sad", 0 }, { "div", 0 }, { "rem", 0 }, { "abs", 0 }, { "neg", 0 }, { "min", 0 },
    { "max", 0 }, { "popc", 0 }, { "clz", 0 }, { "bfind", 0 }, { "fns", 0 }, { "brev", 0 },
    { "bfe", 0 }, { "bfi", 0 }, { "szext", 0 }, { "bmsk", 0 }, { "dp4a", 0 }, { "dp2a", 0 },
    { "addc", 0 }, { "subc", 0 }, { "madc", 0 }, { "testp", 0 }, { "copysign", 0 }, { "fma", 0 },
    { "rcp", 0 }, { "sqrt", 0 }, { "rsqrt", 0 }, { "sin", 0 }, { "cos", 0 }, { "lg2", 0 },
    { "ex2", 0 }, { "tanh", 0 }, { "set", 0 }, { "setp", 0 }, { "selp", 0 }, { "slct", 0 },
    { "and", 0 }, { "or", 0 }, { "xor", 0 }, { "not", 0 }, { "cnot", 0 }, { "lop3", 0 },
    { "shf", 0 }, { "shl", 0 }, { "shr", 0 }, { "vadd", 0 }, { "vsub", 0 }, { "vabsdiff", 0 },
    { "vmin", 0 }, { "vmax", 0 }, { "vshl", 0 }, { "vshr", 0 }, { "vmad", 0 }, { "vset", 0 },
    { "vadd2", 0 }, { "vsub2", 0 }, { "vavrg2", 0 }, { "vabsdiff2", 0 }, { "vmin2", 0 },
    { "vmax2", 0 }, { "vset2", 0 }, { "vadd4", 0 }, { "vsub4", 0 }, { "vavrg4", 0 },
    { "vabsdiff4", 0 }, { "vmin4", 0 }, { "vmax4", 0 }, { "vset4", 0 },
    // Moving data
    { "mov", 0 }, { "prmt", 0 }, { "cvt", 0 }, { "cvta", 0 }, { "ld", 0 }, { "ldu", 0 },
    { "st", 0 }, { "prefetch", 0 }, { "prefetchu", 0 }, { "applypriority", 0 }, { "discard", 0 },
    { "createpolicy", 0 }, { "isspacep", 0 }, { "mapa", PTX_CLUSTER },
    { "getctarank", PTX_CLUSTER }, { "alloca", 0 }, { "stacksave", 0 }, { "stackrestore", 0 },
    { "shfl", PTX_WARP }, { "vote", PTX_WARP }, { "match", PTX_WARP }, { "activemask", PTX_WARP },
    { "redux", PTX_WARP }, { "elect", PTX_WARP }, { "movmatrix", PTX_WARP }, { "wmma", PTX_WARP },
    { "mma", PTX_WARP }, { "ldmatrix", PTX_WARP }, { "stmatrix", PTX_WARP },
    { "wgmma", PTX_WARP | PTX_ASYNC }, { "tcgen05", PTX_WARP | PTX_ASYNC }, { "cp", PTX_ASYNC },
    { "multimem", PTX_ATOMIC }, { "mbarrier", PTX_ASYNC | PTX_SYNC },
    { "tensormap", PTX_ASYNC },
    // Textures and surfaces
    { "tex", PTX_TEXTURE }, { "tld4", PTX_TEXTURE }, { "txq", PTX_TEXTURE },
    { "istypep", PTX_TEXTURE }, { "suld", PTX_TEXTURE }, { "sust", PTX_TEXTURE },
    { "sured", PTX_TEXTURE }, { "suq", PTX_TEXTURE },
    // Order
    { "bar", PTX_BARRIER | PTX_SYNC }, { "barrier", PTX_BARRIER | PTX_SYNC },
    { "membar", PTX_VOLATILE }, { "fence", PTX_VOLATILE }, { "atom", PTX_ATOMIC },
    { "red", PTX_ATOMIC }, { "griddepcontrol", PTX_GRID_CONTROL },
    { "clusterlaunchcontrol", PTX_CLUSTER },
    // Control
    { "bra", PTX_BRANCH }, { "brx", PTX_BRANCH }, { "call", PTX_CALL | PTX_SYNC },
    { "ret", PTX_EXIT }, { "exit", PTX_EXIT }, { "brkpt", PTX_TRAP }, { "trap", PTX_TRAP },
    { "nanosleep", 0 }, { "pmevent", 0 }, { "setmaxnreg", PTX_WARP },
};
// clang-format on

// The facts that a part behind a point adds.
static unsigned facts_of_part(struct ptx_word part)
{
    static const struct {
        const char *name;
        unsigned facts;
    } parts[] = {
        { "volatile", PTX_VOLATILE },    { "acquire", PTX_VOLATILE }, { "release", PTX_VOLATILE },
        { "acq_rel", PTX_VOLATILE },     { "relaxed", PTX_VOLATILE }, { "mmio", PTX_VOLATILE },
        { "sync", PTX_WARP | PTX_SYNC },
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (braid_ptx_word_is(part, parts[i].name))
            return parts[i].facts;
    }
    return 0;
}

static unsigned facts_of_parts(struct ptx_word instruction, size_t at)
{
    unsigned facts = 0;
    while (at < instruction.length) {
        size_t begin = ++at;
        while (at < instruction.length && instruction.at[at] != '.')
            at++;
        facts |= facts_of_part((struct ptx_word){ instruction.at + begin, at - begin });
    }
    return facts;
}

bool braid_ptx_facts_of(struct ptx_word instruction, unsigned *out_facts)
{
    size_t length = 0;
    while (length < instruction.length && instruction.at[length] != '.')
        length++;
    for (size_t i = 0; i < sizeof(instructions) / sizeof(instructions[0]); i++) {
        if (!braid_ptx_word_is((struct ptx_word){ instruction.at, length }, instructions[i].name))
            continue;
        *out_facts = instructions[i].facts | facts_of_parts(instruction, length);
        if (*out_facts & PTX_BARRIER) // it is the block's: its ".sync" is none of the warp
            *out_facts &= ~(unsigned)PTX_WARP;
        if (braid_ptx_word_begins(instruction, "bar.warp"))
            *out_facts = PTX_WARP | PTX_SYNC;
        if (braid_ptx_word_begins(instruction, "barrier.cluster"))
            *out_facts = PTX_CLUSTER | PTX_SYNC;
        return true;
    }
    return false;
}
