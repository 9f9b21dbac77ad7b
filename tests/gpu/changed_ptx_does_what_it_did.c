// SPDX-License-Identifier: Apache-2.0
// Kernels compiled by nvcc run on the stand-in's interpreter of PTX, as they are and changed by
// each pass: the results are those of plain C, and a pass adds what it is for.
//
// Argument: the folder with the texts.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit_kernel_table.h"
#include "audit/gpu_ptx_audit.h"
#include "backends/gpu/gpu_ptx_early.h"
#include "backends/gpu/gpu_ptx_grid.h"
#include "backends/gpu/gpu_ptx_notes.h"
#include "backends/gpu/gpu_ptx_passes.h"
#include "backends/gpu/gpu_ptx_prefetch.h"
#include "backends/gpu/gpu_ptx_stamps.h"
#include "base/host_memory.h"
#include "base/note.h"
#include "standin/ptx/ptx_run.h"
#include "support/check.h"

enum { MOST_PATH = 300, SEEDS = 4, NUM = 1000 };

static char *text; // nvcc_common_75.ptx

typedef char *pass(const char *text, struct ptx_reason *out_reason);

// What the passes add behind a kernel's own parameters; see their headers.
static struct gpu_stamp stamps[4 * GPU_STAMPS_APART];
static struct note noted;
static uint64_t num_ended; // blocks
static const uint32_t noted_node = 7;
static uint32_t *grid_words;
static unsigned char next_bytes[1 << 12];
static const struct gpu_prefetch next = { next_bytes, 64, 3 };
static unsigned fetched[sizeof(next_bytes) / 64]; // how often each part

// All memory. Nothing is allowed in its first half, where no kernel goes.
static struct {
    uint64_t num, rest, known[AUDIT_NUM_KNOWN];
    struct audit_segment segments[3];
} table = { .num = 2,
            .segments = { { .end = 4096 },
                          { .begin = 4096, .end = UINT64_MAX, .allowed = 7 },
                          { .begin = UINT64_MAX, .end = UINT64_MAX } } };

static char *audit(const char *changed, struct ptx_reason *out_reason)
{
    return braid_gpu_ptx_with_audit(changed, 128, out_reason);
}

static char *prefetch_timed(const char *changed, struct ptx_reason *out_reason)
{
    const struct gpu_code code = { .changes = KERNEL_WRITES_TIMES | KERNEL_PREFETCHES };
    unsigned changes = code.changes;
    return braid_gpu_ptx_change(changed, &code, &changes, out_reason);
}

static const struct variant {
    const char *name;
    pass *change;
} variants[] = { { "as it is", NULL },
                 { "early", braid_gpu_ptx_with_early_start },
                 { "timed", braid_gpu_ptx_with_stamps },
                 { "reading its grid", braid_gpu_ptx_with_read_grid },
                 { "timed and prefetching", prefetch_timed },
                 { "noting", braid_gpu_ptx_with_notes },
                 { "noting its begin", braid_gpu_ptx_with_begin_notes },
                 { "telling", audit } };

enum { NUM_VARIANTS = sizeof(variants) / sizeof(variants[0]) };
enum { TIMED = 2, READING, PREFETCHING, NOTING, NOTING_BEGIN, TELLING };

static int begin(void **state)
{
    const char *folder = *state;
    char path[MOST_PATH];
    snprintf(path, sizeof(path), "%s/nvcc_common_75.ptx", folder);
    FILE *file = fopen(path, "rb");
    size_t room = 1 << 16;
    text = calloc(room, 1);
    if (!file || !text || fread(text, 1, room - 1, file) == 0)
        return 1;
    // A kernel where a part of the threads meets does not run here. Notes leave its text alone.
    char *guard = strstr(text, "@p bar.sync");
    if (guard)
        memset(guard, ' ', 2);
    return fclose(file);
}

static int end(void **state)
{
    (void)state;
    free(text);
    return 0;
}

struct launch {
    const char *entry;
    unsigned grid[3], block[3], shared_bytes;
    struct {
        const void *data;
        size_t bytes;
    } args[8];
};

static size_t put(unsigned char *to, size_t at, const void *data, size_t bytes)
{
    at = (at + bytes - 1) / bytes * bytes;
    memcpy(to + at, data, bytes);
    return at + bytes;
}

static void note_fetched(uint64_t address, uint64_t bytes)
{
    assert_int_equal(bytes, next.share);
    assert_true(address >= (uintptr_t)next_bytes);
    assert_true(address < (uintptr_t)next_bytes + next.num_blocks * next.share);
    fetched[(address - (uintptr_t)next_bytes) / next.share]++;
}

// False: it failed, and why is in `error`.
static bool run_text(const char *changed, const struct launch *launch, int variant, uint64_t seed,
                     struct text *error)
{
    unsigned char arguments[256] = { 0 };
    size_t at = 0;
    struct code code;
    struct gpu_stamp *first = stamps;
    const uint32_t mask = 3;
    for (int i = 0; launch->args[i].data; i++)
        at = put(arguments, at, launch->args[i].data, launch->args[i].bytes);
    if (variant == TIMED || variant == PREFETCHING) {
        at = put(arguments, at, &first, sizeof(first));
        at = put(arguments, at, &mask, sizeof(mask));
    }
    if (variant == READING) {
        put(arguments, at, &grid_words, sizeof(grid_words));
    } else if (variant == PREFETCHING) {
        at = put(arguments, at, &next.from, sizeof(next.from));
        at = put(arguments, at, &next.share, sizeof(next.share));
        put(arguments, at, &next.num_blocks, sizeof(next.num_blocks));
    } else if (variant == NOTING || variant == NOTING_BEGIN) {
        const struct note *note = &noted;
        const uint64_t *count = &num_ended;
        at = put(arguments, at, &note, sizeof(note));
        at = put(arguments, at, &noted_node, sizeof(noted_node));
        put(arguments, at, &count, sizeof(count));
    } else if (variant == TELLING) {
        put(arguments, at, &(const void *){ &table }, sizeof(void *));
    }
    struct grid grid = { .arguments = arguments,
                         .fetch = variant == PREFETCHING ? note_fetched : NULL,
                         .shared_bytes = launch->shared_bytes,
                         .seed = seed };
    memcpy(grid.grid, launch->grid, sizeof(grid.grid));
    memcpy(grid.block, launch->block, sizeof(grid.block));
    if (variant == READING)
        grid.grid[0] += 2; // surplus blocks, which return
    if (!code_read(changed, launch->entry, &code, error))
        return false;
    bool ran = code_run(&code, &grid, error);
    code_finish(&code);
    return ran;
}

static void check_stamps(int variant)
{
    uint64_t begun = 0, ended = 0;
    for (size_t i = 0; i < sizeof(stamps) / sizeof(stamps[0]); i++) {
        begun = stamps[i].not_begun > begun ? stamps[i].not_begun : begun;
        ended = stamps[i].ended > ended ? stamps[i].ended : ended;
    }
    const bool is_timed = variant == TIMED || variant == PREFETCHING;
    assert_int_equal(begun != 0, is_timed);
    assert_int_equal(ended != 0, is_timed);
    if (is_timed)
        assert_true(~begun <= ended);
}

// One thread of each of the first blocks fetches a part.
static void check_fetched(const struct launch *launch, int variant)
{
    unsigned blocks = launch->grid[0] * launch->grid[1] * launch->grid[2];
    for (unsigned i = 0; i < sizeof(fetched) / sizeof(fetched[0]); i++) {
        bool is_due = variant == PREFETCHING && i < blocks && i < next.num_blocks;
        assert_int_equal(fetched[i], is_due);
        fetched[i] = 0;
    }
}

static void check_note(int variant)
{
    bool notes = variant == NOTING || variant == NOTING_BEGIN;
    assert_int_equal(noted.begun, notes ? noted_node + 1 : 0);
    assert_int_equal(noted.ended, variant == NOTING ? ~noted.begun : noted.begun);
    assert_int_equal(num_ended, 0);
    noted = (struct note){ 0 };
}

// Each kernel here accesses memory, and none beyond.
static void check_table(int variant)
{
    assert_int_equal(memchr(table.segments[1].seen, 1, PTX_NUM_ACTS) != NULL, variant == TELLING);
    memset(table.segments[1].seen, 0, PTX_NUM_ACTS);
    memset(table.known, 0, sizeof(table.known));
    for (int i = 0; i < 3 * PTX_NUM_ACTS; i++)
        assert_int_equal(table.segments[i / PTX_NUM_ACTS].tallies[i % PTX_NUM_ACTS].num, 0);
}

// Runs it changed in one way.
static void run(const struct launch *launch, int variant, uint64_t seed)
{
    uint32_t words[3] = { launch->grid[0], launch->grid[1], launch->grid[2] };
    struct ptx_reason reason;
    struct text error = { 0 };
    grid_words = words;
    memset(stamps, 0, sizeof(stamps));
    char *changed = variants[variant].change ? variants[variant].change(text, &reason) : NULL;
    assert_true(changed || !variants[variant].change);
    if (!run_text(changed ? changed : text, launch, variant, seed, &error))
        fail_msg("%s, %s: %s", launch->entry, variants[variant].name, error.bytes);
    check_stamps(variant);
    check_fetched(launch, variant);
    check_note(variant);
    check_table(variant);
    braid_free(changed);
}

#define EACH_WAY(variant, seed)                                                                    \
    for (int variant = 0; variant < NUM_VARIANTS; variant++)                                       \
        for (uint64_t seed = 1; seed <= SEEDS; seed++)

#define ARG(variable)                                                                              \
    {                                                                                              \
        &(variable), sizeof(variable)                                                              \
    }

static void elements_are_scaled(void **state)
{
    (void)state;
    static float x[NUM], y[NUM + 64], *px = x, *py = y;
    const float factor = 3;
    const unsigned num = NUM - 7;
    const struct launch launch = {
        "saxpy", { 8, 1, 1 }, { 128, 1, 1 }, 0, { ARG(py), ARG(px), ARG(factor), ARG(num) }
    };
    EACH_WAY(variant, seed)
    {
        for (int i = 0; i < NUM; i++) {
            x[i] = (float)i;
            y[i] = 1;
        }
        run(&launch, variant, seed);
        for (int i = 0; i < NUM; i++)
            assert_true(y[i] == (i < (int)num ? 1 + 3 * (float)i : 1));
    }
}

// Shuffles, a barrier, shared memory, an atomic sum, and a loop over the grid that was read.
static void all_are_summed(void **state)
{
    (void)state;
    static float in[NUM], out, *pin = in, *pout = &out;
    const int num = NUM;
    const struct launch launch = {
        "sum", { 3, 1, 1 }, { 64, 1, 1 }, 0, { ARG(pout), ARG(pin), ARG(num) }
    };
    for (int i = 0; i < NUM; i++)
        in[i] = (float)(i % 10);
    EACH_WAY(variant, seed)
    {
        out = 0;
        run(&launch, variant, seed);
        assert_true(out == 4500);
    }
}

static void matrices_are_multiplied(void **state)
{
    (void)state;
    enum { SIDE = 32 };
    static float a[SIDE][SIDE], b[SIDE][SIDE], c[SIDE][SIDE];
    float *pa = a[0], *pb = b[0], *pc = c[0];
    const int side = SIDE;
    const struct launch launch = {
        "product", { 2, 2, 1 }, { 16, 16, 1 }, 0, { ARG(pc), ARG(pa), ARG(pb), ARG(side) }
    };
    for (int i = 0; i < SIDE * SIDE; i++) {
        pa[i] = (float)(i % 7);
        pb[i] = (float)(i % 5);
    }
    EACH_WAY(variant, seed)
    {
        memset(c, 0, sizeof(c));
        run(&launch, variant, seed);
        for (int i = 0; i < SIDE; i++)
            for (int j = 0; j < SIDE; j++) {
                float sum = 0;
                for (int k = 0; k < SIDE; k++)
                    sum += a[i][k] * b[k][j];
                assert_true(c[i][j] == sum);
            }
    }
}

// Dynamic shared memory and atomics in it.
static void values_are_counted(void **state)
{
    (void)state;
    static unsigned bins[256], *pbins = bins;
    static unsigned char data[NUM], *pdata = data;
    const unsigned num = NUM;
    const struct launch launch = {
        "histogram", { 1, 1, 1 }, { 96, 1, 1 }, sizeof(bins), { ARG(pbins), ARG(pdata), ARG(num) }
    };
    for (int i = 0; i < NUM; i++)
        data[i] = (unsigned char)(i * i);
    EACH_WAY(variant, seed)
    {
        unsigned expected[256] = { 0 };
        for (int i = 0; i < NUM; i++)
            expected[data[i]]++;
        memset(bins, 0, sizeof(bins));
        run(&launch, variant, seed);
        assert_memory_equal(bins, expected, sizeof(bins));
    }
}

// A branch to one of several places, a return from inside, and a trap.
static void branches_are_taken(void **state)
{
    (void)state;
    int out[9], *pout = out, kind;
    const struct launch launch = {
        "choice", { 1, 1, 1 }, { 1, 1, 1 }, 0, { ARG(pout), ARG(kind) }
    };
    EACH_WAY(variant, seed)
    {
        for (kind = 0; kind <= 8; kind++) {
            int expected[9] = { 5, 0, 6, 0, 9, 8, 0, 0, -1 };
            memcpy(out, expected, sizeof(out));
            if (kind == 7)
                continue;
            run(&launch, variant, seed);
            expected[0] = kind == 0 ? 3 : 5;
            expected[1] = kind == 1 ? 35 : 0;
            expected[2] = kind == 2 ? 6 ^ 0x55 : 6;
            expected[3] = kind == 3 ? 2 : 0;
            expected[4] = kind == 4 ? 32 : 9;
            expected[5] = kind == 5 ? (int)0x90000000 : 8;
            expected[6] = kind == 6 ? 4 : 0;
            expected[8] = kind == 5 ? -1 : kind;
            assert_memory_equal(out, expected, sizeof(out));
        }
    }
    struct text error = { 0 };
    kind = 7;
    assert_false(run_text(text, &launch, 0, 1, &error));
    assert_non_null(strstr(error.bytes, "a trap"));
    text_finish(&error);
}

// A function of the module may not call itself here.
static void functions_are_called(void **state)
{
    (void)state;
    enum { NUM_THREADS = 40 };
    static double out[NUM_THREADS], *pout = out;
    static long long whole[NUM_THREADS], *pwhole = whole;
    int depth = 0;
    const struct launch launch = {
        "calls", { 1, 1, 1 }, { NUM_THREADS, 1, 1 }, 0, { ARG(pout), ARG(pwhole), ARG(depth) }
    };
    EACH_WAY(variant, seed)
    {
        for (int i = 0; i < NUM_THREADS; i++) {
            out[i] = i * i;
            whole[i] = i;
        }
        run(&launch, variant, seed);
        for (int i = 0; i < NUM_THREADS; i++) {
            assert_true(out[i] == i);
            assert_int_equal(whole[i], i % 17);
        }
    }
    struct text error = { 0 };
    depth = 1;
    assert_false(run_text(text, &launch, 0, 1, &error));
    assert_non_null(strstr(error.bytes, "a function that calls itself"));
    text_finish(&error);
}

// Every other thread ends at once. The rest look at the note later, each block after its own time.
static const char watching[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".entry watch(.param .u64 seen, .param .u64 note)\n{\n"
    ".reg .pred %p;\n.reg .b32 %r<5>;\n.reg .b64 %d<3>;\n"
    "mov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %ntid.x;\nmov.u32 %r2, %tid.x;\n"
    "mad.lo.u32 %r3, %r0, %r1, %r2;\nand.b32 %r4, %r3, 1;\nsetp.eq.u32 %p, %r4, 0;\n@%p ret;\n"
    "again:\nadd.u32 %r2, %r2, 1;\nmad.lo.u32 %r4, %r0, 40, 100;\nsetp.lt.u32 %p, %r2, %r4;\n"
    "@%p bra again;\n"
    "ld.param.u64 %d0, [note];\nld.volatile.global.u32 %r4, [%d0+4];\n"
    "ld.param.u64 %d1, [seen];\nmul.wide.u32 %d2, %r3, 4;\nadd.u64 %d1, %d1, %d2;\n"
    "st.global.u32 [%d1], %r4;\nret;\n}\n";

static void check_watched(const char *changed, unsigned num_blocks, unsigned num_threads,
                          uint64_t seed)
{
    static uint32_t seen[400];
    uint32_t *pseen = seen;
    const struct note *note = &noted;
    const struct launch launch = {
        "watch", { num_blocks, 1, 1 }, { num_threads, 1, 1 }, 0, { ARG(pseen), ARG(note) }
    };
    struct text error = { 0 };
    if (!run_text(changed, &launch, NOTING, seed, &error))
        fail_msg("%s", error.bytes);
    for (unsigned i = 1; i < num_blocks * num_threads; i += 2)
        assert_int_not_equal(seen[i], ~(noted_node + 1));
    check_note(NOTING);
}

static void the_end_is_noted_behind_the_last_thread(void **state)
{
    (void)state;
    struct ptx_reason reason;
    char *changed = braid_gpu_ptx_with_notes(watching, &reason);
    assert_non_null(changed);
    for (uint64_t seed = 1; seed <= 8 * SEEDS; seed++) {
        check_watched(changed, 1, 20, seed);
        check_watched(changed, 1, 80, seed);
        check_watched(changed, 4, 80, seed);
    }
    braid_free(changed);
}

// Threads that wait for what never comes, and what is not known, are errors with their line.
static void mistakes_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *body, *told;
    } cases[] = {
        { "setp.eq.u32 %p, %tid.x, 0;\n@%p bar.sync 1, 64;\nret;\n",
          "threads wait for each other" },
        { "tex.1d.v4.f32.s32 {%r, %r, %r, %r}, [t, {%r}];\nret;\n",
          "does not know 'tex.1d.v4.f32.s32'" },
        { "bra nowhere;\n", "'nowhere'" },
        { "bar.sync 1, %tid.x;\nret;\n", "a barrier that there is not" },
        { "mov.u32 %r, 1;\n", "the text ends in 'the entry'" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char made[500];
        struct text error = { 0 };
        bool is_cut = strcmp(cases[i].told, "the text ends in 'the entry'") == 0;
        const struct launch launch = { .entry = "a", .grid = { 1, 1, 1 }, .block = { 32, 1, 1 } };
        snprintf(
            made, sizeof(made),
            ".version 8.0\n.target sm_80\n.entry a()\n{\n.reg .pred %%p;\n.reg .b32 %%r;\n%s%s",
            cases[i].body, is_cut ? "" : "}\n");
        assert_false(run_text(made, &launch, 0, 1, &error));
        if (!strstr(error.bytes, cases[i].told) || strncmp(error.bytes, "line ", 5) != 0)
            fail_msg("%s", error.bytes);
        text_finish(&error);
    }
}

int main(int argc, char **argv)
{
    void *folder = argc > 1 ? argv[1] : ".";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate_setup_teardown(elements_are_scaled, begin, end, folder),
        cmocka_unit_test_prestate_setup_teardown(all_are_summed, begin, end, folder),
        cmocka_unit_test_prestate_setup_teardown(matrices_are_multiplied, begin, end, folder),
        cmocka_unit_test_prestate_setup_teardown(values_are_counted, begin, end, folder),
        cmocka_unit_test_prestate_setup_teardown(branches_are_taken, begin, end, folder),
        cmocka_unit_test_prestate_setup_teardown(functions_are_called, begin, end, folder),
        cmocka_unit_test(the_end_is_noted_behind_the_last_thread),
        cmocka_unit_test_prestate_setup_teardown(mistakes_are_told, begin, end, folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
