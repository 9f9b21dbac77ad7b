// SPDX-License-Identifier: Apache-2.0
// How long it takes to read the accesses of all kernels of some PTX files.
//
// Without files it makes one: many kernels of a few hundred instructions each.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accesses/kernel_accesses.h"
#include "base/clock.h"

enum { NUM_ROUNDS = 9, NUM_KERNELS = 200, NUM_STEPS = 100 };

struct counts {
    size_t num_entries, num_proven, num_instructions;
    uint64_t read_ns, find_ns;
};

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t num = 0, room = 1 << 16;
    char *text = file ? malloc(room) : NULL;
    while (text) {
        num += fread(text + num, 1, room - num - 1, file);
        if (num < room - 1)
            break;
        char *larger = realloc(text, room *= 2);
        if (!larger)
            free(text);
        text = larger;
    }
    if (text)
        text[num] = '\0';
    if (file)
        fclose(file);
    return text;
}

// Kernels whose values go through arithmetic, a loop and memory of the block.
static char *make_text(void)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    if (!to)
        return NULL;
    fprintf(to, ".version 8.0\n.target sm_90\n.address_size 64\n.shared .b8 tile[1024];\n");
    for (int i = 0; i < NUM_KERNELS; i++) {
        fprintf(to,
                ".entry kernel_%d(.param .align 8 .b8 a[56], .param .u64 b)\n{\n"
                "ld.param.u64 %%rd0, [a];\nld.param.u64 %%rd1, [b];\nmov.u32 %%r0, %%tid.x;\n",
                i);
        for (int k = 0; k < NUM_STEPS; k++)
            fprintf(to,
                    "L%d:\nmul.wide.u32 %%rd%d, %%r0, 8;\nadd.s64 %%rd%d, %%rd%d, %%rd0;\n"
                    "ld.global.u64 %%rd%d, [%%rd%d];\nst.shared.u64 [tile], %%rd%d;\n"
                    "add.s64 %%rd%d, %%rd%d, %%rd1;\nst.global.u64 [%%rd%d], %%rd%d;\n"
                    "setp.gt.u32 %%p0, %%r0, 3;\n@%%p0 bra L%d;\n",
                    k, 4 * k + 2, 4 * k + 3, 4 * k + 2, 4 * k + 4, 4 * k + 3, 4 * k + 4, 4 * k + 5,
                    4 * k + 2, 4 * k + 5, 4 * k + 4, k);
        fprintf(to, "ret;\n}\n");
    }
    return fclose(to) == 0 ? text : NULL;
}

static bool find_all(struct kernel_code *code, struct counts *counts)
{
    for (uint32_t i = 0; i < code->num_functions; i++) {
        struct kernel_accesses accesses;
        const struct ptx_function *function = code->functions[i].ptx;
        if (!function->is_entry || !function->body)
            continue;
        if (!braid_kernel_accesses_find(code, i, &accesses))
            return false;
        counts->num_entries++;
        counts->num_proven += !accesses.why;
        braid_kernel_accesses_finish(&accesses);
    }
    return true;
}

static void count_instructions(const struct kernel_code *code, struct counts *counts)
{
    const struct ptx_statement *statements = code->ptx.statements.items;
    for (size_t i = 0; i < code->ptx.statements.num; i++)
        counts->num_instructions += statements[i].kind == PTX_INSTRUCTION;
}

static bool take_text(const char *text, struct counts *counts)
{
    struct kernel_code code;
    struct ptx_reason reason;
    const uint64_t begin = clock_now_ns();
    if (!braid_code_read(text, &code, &reason)) {
        fprintf(stderr, "%s\n", reason.text);
        return false;
    }
    const uint64_t read = clock_now_ns();
    bool is_done = find_all(&code, counts);
    counts->find_ns += clock_now_ns() - read;
    counts->read_ns += read - begin;
    count_instructions(&code, counts);
    braid_code_finish(&code);
    return is_done;
}

int main(int argc, char **argv)
{
    const int num = argc > 1 ? argc - 1 : 1;
    char **texts = calloc((size_t)num, sizeof(*texts));
    struct counts best = { .read_ns = UINT64_MAX / 2, .find_ns = UINT64_MAX / 2 };
    bool is_done = texts;
    for (int i = 0; i < num && is_done; i++)
        is_done = (texts[i] = argc > 1 ? read_file(argv[i + 1]) : make_text()) != NULL;
    for (int round = 0; round < NUM_ROUNDS && is_done; round++) {
        struct counts counts = { 0 };
        for (int i = 0; i < num && is_done; i++)
            is_done = take_text(texts[i], &counts);
        if (counts.read_ns + counts.find_ns < best.read_ns + best.find_ns)
            best = counts;
    }
    for (int i = 0; i < num && texts; i++)
        free(texts[i]);
    free(texts);
    if (!is_done) {
        fprintf(stderr, "a file could not be read\n");
        return 1;
    }
    printf("entries %zu, proven %zu, instructions %zu: reading %.1f ms, accesses %.1f ms\n",
           best.num_entries, best.num_proven, best.num_instructions, (double)best.read_ns / 1e6,
           (double)best.find_ns / 1e6);
    return 0;
}
