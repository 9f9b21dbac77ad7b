// SPDX-License-Identifier: Apache-2.0
// What a kernel's words say it does, and whether an island can provide for that.
#include "backends/gpu/gpu_island_facts.h"

#include <string.h>

// Words that no kernel of an island may use, and what is said of them.
static const char *forbidden(struct token word)
{
    static const char *const grid_words[] = { "cooperative_groups", "grid_group", NULL };
    static const char *const barrier_words[] = { "__syncthreads_count",
                                                 "__syncthreads_and",
                                                 "__syncthreads_or",
                                                 "__cluster_dims__",
                                                 "__block_size__",
                                                 "__syncblock",
                                                 NULL };
    static const char *const memory_words[] = { "__managed__", "cudaTextureObject_t",
                                                "cudaSurfaceObject_t", NULL };
    if (braid_token_is_one_of(word, grid_words))
        return "it uses cooperative groups";
    if (braid_token_is_one_of(word, barrier_words))
        return "it uses clusters, or barriers that count";
    if (braid_token_is_one_of(word, memory_words))
        return "it uses managed variables, textures or surfaces";
    if (braid_token_is(word, "barrier") || braid_token_is(word, "pipeline"))
        return "it may use barriers of its own";
    return NULL;
}

const char *braid_island_note_word(struct island_facts *facts, struct token word)
{
    static const char *const warp_words[] = { "__activemask", "__syncwarp", "warpSize", NULL };
    static const char *const fence_words[] = {
        "volatile", "__threadfence", "__threadfence_system", "atomic_ref", "atomic", NULL
    };
    facts->barriers |= braid_token_is(word, "__syncthreads");
    facts->shared |= braid_token_is(word, "__shared__");
    facts->warps |= braid_token_is_one_of(word, warp_words) || braid_token_begins(word, "__shfl") ||
                    braid_token_begins(word, "__ballot") || braid_token_begins(word, "__any") ||
                    braid_token_begins(word, "__all") || braid_token_begins(word, "__reduce_") ||
                    braid_token_begins(word, "__match_");
    facts->fences |= braid_token_is_one_of(word, fence_words);
    facts->returns |= braid_token_is(word, "return");
    return forbidden(word);
}

// Inline assembly may name what an island gives a kernel in another way, or end its threads.
const char *braid_island_note_assembly(struct island_facts *facts, struct token string)
{
    static const char *const words[] = { "exit",    "bar.", "barrier",  "griddepcontrol",
                                         "cluster", ".nc",  "mbarrier", "ctaid",
                                         "ntid",    "%tid", "gridid",   "setmaxnreg",
                                         "ret;",    "trap", "bulk",     "%%tid",
                                         NULL };
    static const char *const memory_words[] = { "ld",    "st",     "atom",  "red",
                                                "fence", "membar", "sleep", NULL };
    char text[512];
    size_t length = string.length < sizeof(text) - 1 ? string.length : sizeof(text) - 1;
    memcpy(text, string.at, length);
    text[length] = '\0';
    for (const char *const *word = memory_words; *word; word++)
        facts->fences |= strstr(text, *word) != NULL;
    for (const char *const *word = words; *word; word++) {
        if (strstr(text, *word) || string.length >= sizeof(text))
            return "its assembly may touch what an island stands in for";
    }
    return NULL;
}

const char *braid_island_facts_refuse(const struct island_facts *facts, unsigned long long threads,
                                      unsigned long long blocks)
{
    if (facts->barriers && facts->returns)
        return "it returns from some threads, and others may wait for them";
    if ((facts->barriers || facts->warps) && threads % 32 != 0)
        return "its blocks are not whole warps";
    if (facts->fences && blocks > 1)
        return "its blocks may wait for each other";
    return NULL;
}
