// SPDX-License-Identifier: Apache-2.0
// Random kernels whose threads end while others go on to meet do in two lanes of another kernel
// what they do alone: exchanges, reductions and votes of the threads that are left.
//
// Arguments: the folder of texts, and the assembler (ptxas), if there is one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host_memory.h"
#include "gpu/ptx_assemble.h"
#include "gpu/ptx_walker.h"
#include "standin/ptx/ptx_run.h"
#include "support/check.h"
#include "support/random.h"

enum { LANES = 2, MOST_THREADS = 128, BLOCKS = 2, MOST_STEPS = 6, KERNELS = 150, ASSEMBLED = 12 };
enum { CELLS = BLOCKS * MOST_THREADS };

static const char *assembler;

// %r5 is a thread's value, %r6 the place of its slot, %p5 always true.
static const char head[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry k(.param .u64 out, .param .u32 salt)\n{\n"
    ".reg .pred %p<6>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<4>;\n"
    ".shared .align 4 .b8 slots[3072];\n"
    "ld.param.u64 %rd1, [out];\nld.param.u32 %r9, [salt];\n"
    "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %ctaid.x;\n"
    "mad.lo.u32 %r4, %r3, %r2, %r1;\nmul.wide.u32 %rd2, %r4, 4;\nadd.s64 %rd1, %rd1, %rd2;\n"
    "mad.lo.u32 %r5, %r4, 40503, %r9;\nmov.u32 %r6, slots;\nshl.b32 %r7, %r1, 2;\n"
    "add.u32 %r6, %r6, %r7;\nsetp.ge.u32 %p5, %r9, 0;\n"
    "add.u32 %r8, %r1, 1;\nrem.u32 %r8, %r8, %r2;\nshl.b32 %r8, %r8, 2;\nmov.u32 %r7, slots;\n"
    "add.u32 %r8, %r8, %r7;\n";

struct maker {
    FILE *file;
    struct random random;
    bool counts; // has reductions
};

static bool flip(struct maker *maker)
{
    return random_below(&maker->random, 2) != 0;
}

static const char *guard(struct maker *maker)
{
    return random_below(&maker->random, 4) ? "" : "@%p5 ";
}

static void put_barrier(struct maker *maker)
{
    static const char *const barriers[] = { "bar.sync 0", "barrier.sync 3", "bar.sync 1" };
    fprintf(maker->file, "%s%s;\n", guard(maker), barriers[random_below(&maker->random, 3)]);
}

// What a thread reads of one that has ended is 0.
static void put_exchange(struct maker *maker, uint32_t step)
{
    fprintf(maker->file, "st.shared.u32 [%%r6+%u], %%r5;\n", step * 4 * MOST_THREADS);
    put_barrier(maker);
    fprintf(maker->file, "ld.shared.u32 %%r10, [%%r8+%u];\nmad.lo.u32 %%r5, %%r5, 31, %%r10;\n",
            step * 4 * MOST_THREADS);
}

// Single threads, or whole warps.
static void put_end(struct maker *maker, uint32_t step)
{
    const uint32_t warp = random_below(&maker->random, 4);
    static const char *const ways[] = { "ret", "exit" };
    if (flip(maker))
        fprintf(maker->file,
                "mul.lo.u32 %%r10, %%r5, 40503;\nshr.u32 %%r10, %%r10, 9;\nand.b32 %%r10, %%r10, "
                "%u;\nsetp.eq.u32 %%p1, %%r10, 0;\n",
                flip(maker) ? 3 : 31);
    else
        fprintf(maker->file, "shr.u32 %%r10, %%r1, 5;\nsetp.eq.u32 %%p1, %%r10, %u;\n", warp);
    if (flip(maker))
        fputs("@%p1 bra last;\n", maker->file);
    else
        fprintf(maker->file, "@!%%p1 bra on%u;\nst.global.u32 [%%rd1], %%r5;\n%s;\non%u:\n", step,
                ways[flip(maker)], step);
}

static void put_reduction(struct maker *maker)
{
    static const char *const kinds[] = { "or", "and" };
    fprintf(maker->file, "and.b32 %%r10, %%r5, %u;\nsetp.%s.u32 %%p1, %%r10, 0;\n",
            flip(maker) ? 1 : 127, flip(maker) ? "eq" : "ne");
    maker->counts = true;
    if (flip(maker))
        fprintf(maker->file, "%sbarrier.red.popc.u32 %%r11, 0, %%p1;\n", guard(maker));
    else
        fprintf(maker->file, "%sbar.red.%s.pred %%p2, 2, !%%p1;\nselp.u32 %%r11, 7, 13, %%p2;\n",
                guard(maker), kinds[flip(maker)]);
    fputs("mad.lo.u32 %r5, %r5, 31, %r11;\n", maker->file);
}

// By the whole warp, or by those of it that a vote has named.
static void put_warp(struct maker *maker)
{
    const char *mask = flip(maker) ? "-1" : "%r12";
    fputs("and.b32 %r10, %r5, 1;\nsetp.eq.u32 %p1, %r10, 0;\n", maker->file);
    if (flip(maker))
        fputs("mov.b32 %r12, -1;\n", maker->file);
    else
        fputs("vote.sync.ballot.b32 %r12, %p5, 0xffffffff;\n", maker->file);
    fprintf(maker->file,
            "%svote.sync.ballot.b32 %%r11, %%p1, %s;\nmad.lo.u32 %%r5, %%r5, 31, %%r11;\n",
            guard(maker), mask);
    fprintf(maker->file,
            "vote.sync.ballot.b32 %%r13, %%p5, %s;\nbfind.u32 %%r13, %%r13;\n"
            "shfl.sync.idx.b32 %%r14|%%p3, %%r5, %%r13, 31, %s;\nadd.u32 %%r5, %%r5, %%r14;\n"
            "%sbar.warp.sync %s;\n",
            mask, mask, guard(maker), mask);
}

// Each thread ends behind a number of iterations of its own.
static void put_loop(struct maker *maker)
{
    const bool reduces = maker->counts && flip(maker);
    fputs("shr.u32 %r15, %r5, 7;\nand.b32 %r15, %r15, 3;\nmov.u32 %r16, 0;\nagain:\n"
          "setp.ge.u32 %p1, %r16, %r15;\n@%p1 bra last;\n",
          maker->file);
    if (reduces)
        put_reduction(maker);
    else
        put_barrier(maker);
    if (flip(maker))
        put_warp(maker);
    fputs("mad.lo.u32 %r5, %r5, 31, %r16;\nadd.u32 %r16, %r16, 1;\nbra again;\n", maker->file);
}

// A kernel of blocks of so many threads, for the caller to free.
static char *make_kernel(uint64_t seed, uint32_t threads)
{
    struct maker maker = { .random = { seed } };
    char *text = NULL;
    size_t bytes = 0;
    uint32_t num = 2 + random_below(&maker.random, MOST_STEPS - 1);
    bool has_blocks = random_below(&maker.random, 8) != 0;
    maker.file = open_memstream(&text, &bytes);
    assert_non_null(maker.file);
    fputs(head, maker.file);
    for (uint32_t i = 0; i < MOST_STEPS; i++)
        fprintf(maker.file, "st.shared.u32 [%%r6+%u], 0;\n", i * 4 * MOST_THREADS);
    fputs("bar.sync 0;\n", maker.file);
    for (uint32_t i = 0; i < num; i++) {
        uint32_t kind = random_below(&maker.random, 6);
        if (kind < 2)
            put_end(&maker, i);
        else if (kind == 2 || !has_blocks)
            put_warp(&maker);
        else if (kind == 3 && threads > 32)
            put_reduction(&maker);
        else
            put_exchange(&maker, i);
    }
    if (has_blocks && flip(&maker))
        put_loop(&maker);
    fputs("last:\nst.global.u32 [%rd1], %r5;\nret;\n}\n", maker.file);
    assert_int_equal(fclose(maker.file), 0);
    return text;
}

static void run_entry(const char *text, const char *entry, const struct grid *grid)
{
    struct text error = { 0 };
    struct code code;
    if (!code_read(text, entry, &code, &error) || !code_run(&code, grid, &error))
        fail_msg("seed %llu, %s: %s\n%s", (unsigned long long)grid->seed, entry, error.bytes, text);
    code_finish(&code);
}

struct arguments {
    uint32_t *out, salt;
};

static void run_alone(const char *text, uint32_t threads, uint32_t *out, uint32_t salt,
                      uint64_t seed)
{
    const struct arguments arguments = { out, salt };
    const struct grid grid = {
        .grid = { BLOCKS, 1, 1 }, .block = { threads, 1, 1 }, .arguments = &arguments, .seed = seed
    };
    run_entry(text, "k", &grid);
}

static char *make_walker(const char *text, uint32_t threads, uint32_t group, uint32_t small,
                         struct walk *walk, struct ptx_callable *out_needs)
{
    struct ptx_reason reason;
    *walk = (struct walk){ .place = { .group_threads = group,
                                      .num_groups = LANES,
                                      .flat = true,
                                      .whole = group == threads,
                                      .small = small },
                           .grid = { BLOCKS, 1, 1 },
                           .block = { threads, 1, 1 } };
    char *made = walker_make(text, "k", walk, out_needs, &reason);
    if (!made)
        fail_msg("%s\n%s", reason.text, text);
    return made;
}

static void run_inside(const char *made, const struct walk *walk, uint32_t out[LANES][CELLS],
                       uint64_t seed)
{
    static unsigned char packed[LANES][WALKER_ARGS];
    void *args = packed;
    for (uint32_t lane = 0; lane < LANES; lane++) {
        const struct arguments arguments = { out[lane], lane };
        memcpy(packed[lane], &arguments, sizeof(arguments));
    }
    const struct grid grid = { .grid = { 1, 1, 1 },
                               .block = { LANES * walk->place.group_threads, 1, 1 },
                               .shared_bytes = walker_shared_bytes(walk),
                               .arguments = &args,
                               .seed = seed };
    run_entry(made, "walker", &grid);
}

static void ended_threads_change_nothing(void **state)
{
    (void)state;
    static const uint32_t groups[] = { 32, 64, 128 };
    uint32_t num_by_block = 0, num_by_warp = 0, num_counting = 0;
    for (uint64_t seed = 1; seed <= KERNELS; seed++) {
        static uint32_t expected[LANES][CELLS], out[LANES][CELLS];
        const uint32_t threads = 32 * (uint32_t)(1 + seed % 4);
        char *text = make_kernel(seed, threads);
        for (uint32_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
            struct walk walk;
            struct ptx_callable needs;
            if (groups[i] < threads)
                continue;
            char *made = make_walker(text, threads, groups[i], i == 1 ? 16 : 0, &walk, &needs);
            memset(expected, 0, sizeof(expected));
            memset(out, 0, sizeof(out));
            for (uint32_t lane = 0; lane < LANES; lane++)
                run_alone(text, threads, expected[lane], lane, seed);
            run_inside(made, &walk, out, seed);
            if (memcmp(out, expected, sizeof(out)) != 0)
                fail_msg("seed %llu, groups of %u:\n%s", (unsigned long long)seed, groups[i], text);
            if (assembler && seed <= ASSEMBLED)
                ptx_assemble(assembler, "-O1", "k", made);
            if (needs.leaves & PTX_BARRIER)
                assert_int_equal(needs.numbers, 1);
            num_by_block += (needs.leaves & PTX_BARRIER) != 0;
            num_by_warp += (needs.leaves & PTX_WARP) != 0;
            num_counting += needs.leaves && needs.counts;
            braid_free(made);
        }
        free(text);
    }
    print_message("summary: %u meet by block, %u by warp, %u count\n", num_by_block, num_by_warp,
                  num_counting);
    assert_true(num_by_block > 100 && num_by_warp > 60 && num_counting > 30);
}

// Kernels whose threads all stay have the barriers that they had.
static void others_do_not_pay(void **state)
{
    (void)state;
    static const char text[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                               ".visible .entry k(.param .u64 out, .param .u32 salt)\n{\n"
                               ".reg .pred %p<2>;\n.reg .b32 %r<4>;\nmov.u32 %r1, %tid.x;\n"
                               "bar.sync 0;\nshfl.sync.idx.b32 %r2, %r1, 0, 31, -1;\n"
                               "setp.eq.u32 %p1, %r1, 0;\n@%p1 ret;\nadd.u32 %r1, %r1, 1;\nret;\n}";
    struct walk walk;
    struct ptx_callable needs;
    char *made = make_walker(text, 64, 64, 0, &walk, &needs);
    assert_int_equal(needs.leaves, 0);
    assert_null(strstr(made, "vote"));
    assert_null(strstr(made, ".red"));
    braid_free(made);
}

int main(int argc, char **argv)
{
    assembler = argc > 2 ? argv[2] : NULL;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ended_threads_change_nothing),
        cmocka_unit_test(others_do_not_pay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
