// SPDX-License-Identifier: Apache-2.0
// A small kernel in PTX that calls another one as islands do.
#include "gpu/ptx_walker.h"

#include <stdlib.h>
#include <string.h>

#include "islands/gpu_ptx_paste.h"
#include "support/check.h"

// clang-format off
static const char walker[] =
    ".version 6.4\n.target sm_75\n.address_size 64\n"
    ".extern .shared .align 128 .b8 room[];\n"
    ".visible .entry walker(.param .u64 args)\n{\n"
    ".reg .pred %p<4>;\n.reg .b32 %r<24>;\n.reg .b64 %rd<6>;\n"
    "ld.param.u64 %rd1, [args];\n"
    "mov.u32 %r1, %tid.x;\n"
    "div.u32 %r2, %r1, GROUP;\n"
    "rem.u32 %r3, %r1, GROUP;\n"
    "mov.u32 %r4, room;\n"
    "mad.lo.u32 %r5, %r2, SHARED, %r4;\n"
    "mad.lo.u32 %r6, %r2, 256, %r4;\n"
    "add.u32 %r6, %r6, ARGUMENTS;\n"
    "mad.lo.u32 %r7, %r2, 36, %r4;\n"
    "add.u32 %r7, %r7, PLACES;\n"
    "add.u32 %r8, %r2, APART;\n"
    "add.u32 %r14, %r2, 1;\n"
    "mov.u32 %r9, %r3;\n"
    "copy:\n"
    "setp.ge.u32 %p1, %r9, 64;\n"
    "@%p1 bra copied;\n"
    "mad.lo.u32 %r10, %r2, 64, %r9;\n"
    "mul.wide.u32 %rd2, %r10, 4;\n"
    "add.s64 %rd2, %rd1, %rd2;\n"
    "ld.global.u32 %r11, [%rd2];\n"
    "shl.b32 %r12, %r9, 2;\n"
    "add.u32 %r12, %r12, %r6;\n"
    "st.shared.u32 [%r12], %r11;\n"
    "add.u32 %r9, %r9, GROUP;\n"
    "bra copy;\n"
    "copied:\n"
    "mov.u32 %r13, 0;\n"
    "next:\n"
    "setp.ge.u32 %p2, %r13, BLOCKS;\n"
    "@%p2 bra done;\n"
    "barrier.sync %r14, GROUP;\n"
    "setp.ne.u32 %p3, %r3, 0;\n"
    "@%p3 bra told;\n"
    "rem.u32 %r15, %r13, GRID_X;\n"
    "st.shared.u32 [%r7], %r15;\n"
    "div.u32 %r15, %r13, GRID_X;\n"
    "rem.u32 %r16, %r15, GRID_Y;\n"
    "st.shared.u32 [%r7+4], %r16;\n"
    "div.u32 %r16, %r15, GRID_Y;\n"
    "st.shared.u32 [%r7+8], %r16;\n"
    "mov.u32 %r16, GRID_X;\n"
    "st.shared.u32 [%r7+12], %r16;\n"
    "mov.u32 %r16, GRID_Y;\n"
    "st.shared.u32 [%r7+16], %r16;\n"
    "mov.u32 %r16, GRID_Z;\n"
    "st.shared.u32 [%r7+20], %r16;\n"
    "mov.u32 %r16, DIM_X;\n"
    "st.shared.u32 [%r7+24], %r16;\n"
    "mov.u32 %r16, DIM_Y;\n"
    "st.shared.u32 [%r7+28], %r16;\n"
    "mov.u32 %r16, DIM_Z;\n"
    "st.shared.u32 [%r7+32], %r16;\n"
    "told:\n"
    "barrier.sync %r14, GROUP;\n"
    "setp.ge.u32 %p3, %r3, THREADS;\n"
    "@%p3 bra behind;\n"
    "ld.shared.u32 %r17, [%r6];\n"
    "ld.shared.u32 %r18, [%r6+4];\n"
    "ld.shared.u32 %r19, [%r6+8];\n"
    "ld.shared.u32 %r20, [%r6+12];\n"
    "braid_call_0 %r3, %r7, %r8, %r5, OPERANDS;\n"
    "behind:\n"
    "add.u32 %r13, %r13, 1;\n"
    "bra next;\n"
    "done:\n"
    "ret;\n}\n";
// clang-format on

static char *replace(char *text, const char *word, const char *with)
{
    size_t length = strlen(word);
    for (char *at = strstr(text, word); at; at = strstr(text, word)) {
        char *made = malloc(strlen(text) + strlen(with) + 1);
        assert_non_null(made);
        memcpy(made, text, (size_t)(at - text));
        strcpy(made + (at - text), with);
        strcat(made, at + length);
        free(text);
        text = made;
    }
    return text;
}

static char *replace_number(char *text, const char *word, uint32_t number)
{
    char with[16];
    snprintf(with, sizeof(with), "%u", number);
    return replace(text, word, with);
}

static char *fill_in(const struct walk *walk)
{
    static const char *const operands[] = { "%r6", "%r17", "%r17, %r18", "%r17, %r18, %r19, %r20" };
    const struct ptx_site *place = &walk->place;
    uint32_t all = place->num_groups * walk->shared_bytes;
    const struct {
        const char *word;
        uint32_t number;
    } numbers[] = {
        { "GROUP", place->group_threads },
        { "SHARED", walk->shared_bytes },
        { "ARGUMENTS", all },
        { "PLACES", all + place->num_groups * WALKER_ARGS },
        { "APART", 1 + place->num_groups },
        { "BLOCKS", walk->grid[0] * walk->grid[1] * walk->grid[2] },
        { "THREADS", walk->block[0] * walk->block[1] * walk->block[2] },
        { "GRID_X", walk->grid[0] },
        { "GRID_Y", walk->grid[1] },
        { "GRID_Z", walk->grid[2] },
        { "DIM_X", walk->block[0] },
        { "DIM_Y", walk->block[1] },
        { "DIM_Z", walk->block[2] },
    };
    uint32_t small = place->small;
    char *text = strdup(walker);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        text = replace_number(text, numbers[i].word, numbers[i].number);
    return replace(text, "OPERANDS",
                   operands[small == 0   ? 0
                            : small <= 4 ? 1
                            : small == 8 ? 2
                                         : 3]);
}

uint32_t walker_shared_bytes(const struct walk *walk)
{
    return walk->place.num_groups * (walk->shared_bytes + WALKER_ARGS + 36);
}

static char *paste(const char *text, const struct ptx_symbols *symbols, const char *entry,
                   const struct ptx_callable *needs, const struct walk *walk)
{
    char *block = NULL, *needed = NULL, *skeleton = fill_in(walk);
    size_t bytes = 0;
    FILE *file = open_memstream(&block, &bytes);
    assert_non_null(file);
    assert_true(braid_ptx_write_callable(symbols, entry, needs, &walk->place, file));
    assert_int_equal(fclose(file), 0);
    file = open_memstream(&needed, &bytes);
    assert_non_null(file);
    braid_ptx_write_needed(symbols, walk->place.prefix, file);
    assert_int_equal(fclose(file), 0);
    char note[] = "one";
    const struct ptx_pasted pasted = { block, note };
    const struct ptx_paste all = { .blocks = &pasted,
                                   .num_blocks = 1,
                                   .small = walk->place.small,
                                   .modules = &text,
                                   .needed = (const char *const *)&needed,
                                   .num_modules = 1 };
    char *made = braid_ptx_paste(skeleton, &all);
    assert_non_null(made);
    free(skeleton);
    free(needed);
    free(block);
    return made;
}

char *walker_make(const char *text, const char *entry, struct walk *walk,
                  struct ptx_callable *out_callable, struct ptx_reason *out_reason)
{
    struct ptx ptx;
    struct ptx_symbols symbols;
    char *made = NULL;
    if (!braid_ptx_read(text, &ptx, out_reason))
        return NULL;
    if (braid_ptx_find_symbols(&ptx, &symbols, out_reason)) {
        if (braid_ptx_read_callable(&symbols, entry, out_callable, out_reason)) {
            walk->place.prefix = "braid_m0_";
            walk->place.numbers = out_callable->numbers;
            walk->shared_bytes =
                (out_callable->shared_bytes + walk->shared_bytes + 127) / 128 * 128;
            made = paste(text, &symbols, entry, out_callable, walk);
        }
        braid_ptx_symbols_finish(&symbols);
    }
    braid_ptx_finish(&ptx);
    return made;
}
