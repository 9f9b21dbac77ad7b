// SPDX-License-Identifier: Apache-2.0
// Changing HIP's source so that its kernels read their grid from memory.
//
// Each kernel is given a parameter behind its own: the address of three words, which every thread
// reads first. Blocks beyond them return, all threads of a block alike, and a variable named as the
// grid hides that one from the rest of the body. Functions have no such variable: whoever mentions
// one that reads the grid, or one that mentions such a one, is left as it is.
#include "backends/gpu/gpu_source_grid.h"

#include <string.h>

#include "backends/gpu/gpu_source_walk.h"

#define PARAMETER "const unsigned *braid_grid_from"

#define LEAST(dimension)                                                                           \
    "const unsigned braid_grid_" dimension " = braid_grid_from[braid_" dimension                   \
    "] < gridDim." dimension " ? braid_grid_from[braid_" dimension "] : gridDim." dimension "; "

static const char begin[] = " enum { braid_x, braid_y, braid_z }; " LEAST("x") LEAST("y")
    LEAST("z") "const dim3 gridDim(braid_grid_x, braid_grid_y, braid_grid_z); (void)gridDim; "
               "if (blockIdx.x >= braid_grid_x || blockIdx.y >= braid_grid_y || blockIdx.z >= "
               "braid_grid_z) "
               "return; ";

// Tells such code from other, for those who look at it: arguments have no names in machine code.
static const char mark[] = "\nextern \"C\" { __device__ char braid_grid_is_read; }\n";

static const char by_function[] = "a function of it reads the grid";

struct grid_reader {
    struct array functions; // struct token: those that read the grid
    const char *entry;
    bool reads; // the body at hand does, other than a kernel by itself
    bool no_memory;
};

static void look_at_word(struct source_walk *walk, struct token word)
{
    static const char *const unknown[] = { "__ockl_get_num_groups", "__ockl_get_global_size",
                                           "get_num_groups",        "get_global_size",
                                           "cooperative_groups",    NULL };
    struct grid_reader *reader = walk->user;
    if (braid_token_is_one_of(word, unknown) || braid_token_begins(word, "hipGridDim_") ||
        braid_token_begins(word, "__builtin_amdgcn_grid_size"))
        braid_source_refuse(walk, "it reads its grid in an unknown way");
    bool is_grid = braid_token_is(word, "gridDim");
    if (walk->braces == 0 && is_grid)
        braid_source_refuse(walk, by_function);
    reader->reads |= walk->braces && ((is_grid && !walk->head.is_kernel) ||
                                      braid_source_has_name(&reader->functions, word));
}

static void look_at_directive(struct source_walk *walk, struct token directive)
{
    const struct grid_reader *reader = walk->user;
    struct lexer inside = { .at = directive.at + 1 };
    struct token token = braid_token_next(&inside);
    for (; token.kind != TOKEN_END && token.at < directive.at + directive.length;
         token = braid_token_next(&inside)) {
        if (braid_token_is(token, "gridDim") || braid_source_has_name(&reader->functions, token))
            braid_source_refuse(walk, "a macro of it reads the grid");
    }
}

static void end_kernel(struct source_walk *walk)
{
    const struct grid_reader *reader = walk->user;
    if (reader->reads && reader->entry && braid_token_is(walk->head.parameters.name, reader->entry))
        braid_source_refuse(walk, by_function);
    if (reader->reads)
        return;
    braid_source_add_parameters(walk, ", " PARAMETER, ", " PARAMETER " = 0");
    braid_gpu_edit(&walk->edits, walk->body, walk->body, begin);
}

static void end_function(struct source_walk *walk)
{
    struct grid_reader *reader = walk->user;
    const struct source_head *head = &walk->head;
    if (!reader->reads || braid_source_has_name(&reader->functions, head->parameters.name))
        return;
    if (head->is_type || head->has_operator || !head->parameters.last)
        braid_source_refuse(walk, "a type or an operator of it reads the grid");
    else
        reader->no_memory |= !braid_source_add_name(&reader->functions, head->parameters.name);
}

static void end_body(struct source_walk *walk)
{
    struct grid_reader *reader = walk->user;
    if (walk->head.is_kernel)
        end_kernel(walk);
    else
        end_function(walk);
    reader->reads = false;
}

// Again until no more functions are found that read the grid, since they may be defined later.
static void walk_all(struct source_walk *walk, const char *source)
{
    struct grid_reader *reader = walk->user;
    size_t before;
    do {
        before = reader->functions.num;
        braid_gpu_edits_finish(&walk->edits);
        *walk = (struct source_walk){ .look_at_word = look_at_word,
                                      .look_at_directive = look_at_directive,
                                      .end_body = end_body,
                                      .user = reader };
        reader->reads = false;
        braid_source_walk(walk, source);
    } while (!reader->no_memory && reader->functions.num > before);
    if (walk->edits.num == 0)
        braid_source_refuse(walk, reader->entry ? "its kernels are not told apart" : by_function);
}

char *braid_gpu_source_with_read_grid(const char *source, const char *entry,
                                      const char **out_reason)
{
    struct grid_reader reader = { .entry = entry };
    struct source_walk walk = { .user = &reader };
    walk_all(&walk, source);
    const char *end = source + strlen(source);
    braid_gpu_edit(&walk.edits, end, end, mark);
    bool failed = reader.no_memory || walk.edits.failed;
    char *made = failed || walk.reason ? NULL : braid_gpu_apply_edits(&walk.edits, source);
    *out_reason = failed ? NULL : walk.reason;
    braid_gpu_edits_finish(&walk.edits);
    braid_array_finish(&reader.functions);
    return made;
}
