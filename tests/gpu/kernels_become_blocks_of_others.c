// SPDX-License-Identifier: Apache-2.0
// A kernel of any compiler does what it did alone if two lanes of another kernel call it at once.
// If it cannot be called, the reason names it.
//
// Arguments: the folder with the texts, and the assembler (ptxas), if there is one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host_memory.h"
#include "gpu/ptx_assemble.h"
#include "gpu/ptx_walker.h"
#include "standin/ptx/ptx_run.h"
#include "support/check.h"

enum { LANES = 2, SEEDS = 3, NUM = 1000, MOST_PATH = 300 };

static const char *folder, *assembler;

static char *read_text(const char *name)
{
    char path[MOST_PATH];
    snprintf(path, sizeof(path), "%s/%s.ptx", folder, name);
    FILE *file = fopen(path, "rb");
    size_t room = 1 << 17;
    char *text = calloc(room, 1);
    assert_true(file && text && fread(text, 1, room - 1, file) > 0);
    fclose(file);
    return text;
}

// ---- running ----

// A lane's arguments, as they lie in an island.
struct arguments {
    unsigned char bytes[WALKER_ARGS];
    uint32_t at;
};

static void put(struct arguments *to, const void *data, uint32_t bytes)
{
    uint32_t align = bytes <= 4 ? 4 : bytes <= 8 ? 8 : 16;
    to->at = (to->at + align - 1) / align * align;
    memcpy(to->bytes + to->at, data, bytes);
    to->at += bytes;
}

struct launch {
    const char *entry;
    uint32_t grid[3], block[3], shared_bytes;
    uint32_t group_threads; // 0: as many as the block has
    uint32_t small;
};

// Both lanes run the kernel of the text, with arguments of their own.
static void run_text(const char *text, const struct launch *launch, struct arguments *arguments,
                     uint64_t seed)
{
    uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2];
    uint32_t group = launch->group_threads ? launch->group_threads : threads;
    struct walk walk = { .place = { .group_threads = group,
                                    .num_groups = LANES,
                                    .flat = launch->block[1] * launch->block[2] == 1,
                                    .whole = group == threads,
                                    .small = launch->small },
                         .shared_bytes = launch->shared_bytes };
    struct ptx_callable callable;
    struct ptx_reason reason;
    struct text error = { 0 };
    struct code code;
    static unsigned char packed[LANES][WALKER_ARGS];
    void *args = packed;
    memcpy(walk.grid, launch->grid, sizeof(walk.grid));
    memcpy(walk.block, launch->block, sizeof(walk.block));
    for (int i = 0; i < LANES; i++)
        memcpy(packed[i], arguments[i].bytes, WALKER_ARGS);
    char *made = walker_make(text, launch->entry, &walk, &callable, &reason);
    if (!made)
        fail_msg("%s: %s", launch->entry, reason.text);
    struct grid grid = { .grid = { 1, 1, 1 },
                         .block = { LANES * group, 1, 1 },
                         .shared_bytes = walker_shared_bytes(&walk),
                         .arguments = &args,
                         .seed = seed };
    if (!code_read(made, "walker", &code, &error) || !code_run(&code, &grid, &error))
        fail_msg("%s: %s\n%s", launch->entry, error.bytes, made);
    code_finish(&code);
    braid_free(made);
}

static char *common;

static int begin(void **state)
{
    (void)state;
    common = read_text("nvcc_common_75");
    return 0;
}

static int end(void **state)
{
    (void)state;
    free(common);
    return 0;
}

#define PUT(arguments, variable) put(arguments, &(variable), sizeof(variable))

static void elements_are_scaled(void **state)
{
    (void)state;
    static float x[LANES][NUM], y[LANES][NUM + 64];
    const float factors[LANES] = { 3, 5 };
    const unsigned num = NUM - 7;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const struct launch launch = { "saxpy", { 8, 1, 1 }, { 128, 1, 1 }, .group_threads = 160 };
        struct arguments arguments[LANES] = { 0 };
        for (int lane = 0; lane < LANES; lane++) {
            float *px = x[lane], *py = y[lane];
            PUT(&arguments[lane], py);
            PUT(&arguments[lane], px);
            PUT(&arguments[lane], factors[lane]);
            PUT(&arguments[lane], num);
            for (int i = 0; i < NUM; i++) {
                px[i] = (float)i;
                py[i] = 1;
            }
        }
        run_text(common, &launch, arguments, seed);
        for (int lane = 0; lane < LANES; lane++)
            for (int i = 0; i < NUM; i++)
                assert_true(y[lane][i] == (i < (int)num ? 1 + factors[lane] * (float)i : 1));
    }
}

// Shuffles, a barrier and static shared memory of two lanes at once. Of a group that is larger than
// the kernel's blocks, and of one that is a warp, whose barriers are the warp's.
static void all_are_summed(void **state)
{
    (void)state;
    static float in[LANES][NUM], out[LANES];
    const int num = NUM;
    static const struct launch launches[] = {
        { "sum", { 3, 1, 1 }, { 64, 1, 1 } },
        { "sum", { 3, 1, 1 }, { 64, 1, 1 }, .group_threads = 128 },
        { "sum", { 2, 1, 1 }, { 32, 1, 1 } },
    };
    for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]) * SEEDS; i++) {
        struct arguments arguments[LANES] = { 0 };
        for (int lane = 0; lane < LANES; lane++) {
            float *pin = in[lane], *pout = &out[lane];
            PUT(&arguments[lane], pout);
            PUT(&arguments[lane], pin);
            PUT(&arguments[lane], num);
            for (int k = 0; k < NUM; k++)
                in[lane][k] = (float)(k % 10 + lane);
            out[lane] = 0;
        }
        run_text(common, &launches[i / SEEDS], arguments, i);
        assert_true(out[0] == 4500 && out[1] == 5500);
    }
}

// Blocks of two dimensions, several barriers, and two arrays in shared memory.
static void matrices_are_multiplied(void **state)
{
    (void)state;
    enum { SIDE = 32 };
    static float a[LANES][SIDE][SIDE], b[SIDE][SIDE], c[LANES][SIDE][SIDE];
    const int side = SIDE;
    const struct launch launch = { "product", { 2, 2, 1 }, { 16, 16, 1 } };
    struct arguments arguments[LANES] = { 0 };
    float *pb = b[0];
    for (int lane = 0; lane < LANES; lane++) {
        float *pc = c[lane][0], *pa = a[lane][0];
        PUT(&arguments[lane], pc);
        PUT(&arguments[lane], pa);
        PUT(&arguments[lane], pb);
        PUT(&arguments[lane], side);
        for (int i = 0; i < SIDE * SIDE; i++) {
            pa[i] = (float)(i % 7 + lane);
            pb[i] = (float)(i % 5);
        }
    }
    run_text(common, &launch, arguments, 1);
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < SIDE; i++)
            for (int j = 0; j < SIDE; j++) {
                float sum = 0;
                for (int k = 0; k < SIDE; k++)
                    sum += a[lane][i][k] * b[k][j];
                assert_true(c[lane][i][j] == sum);
            }
}

// Dynamic shared memory of each lane, and atomics in it.
static void values_are_counted(void **state)
{
    (void)state;
    static unsigned bins[LANES][256];
    static unsigned char data[LANES][NUM];
    const unsigned num = NUM;
    const struct launch launch = { "histogram", { 1, 1, 1 }, { 96, 1, 1 }, sizeof(bins[0]) };
    struct arguments arguments[LANES] = { 0 };
    unsigned expected[LANES][256] = { 0 };
    for (int lane = 0; lane < LANES; lane++) {
        unsigned *pbins = bins[lane];
        unsigned char *pdata = data[lane];
        PUT(&arguments[lane], pbins);
        PUT(&arguments[lane], pdata);
        PUT(&arguments[lane], num);
        for (int i = 0; i < NUM; i++) {
            data[lane][i] = (unsigned char)(i * (i + lane));
            expected[lane][data[lane][i]]++;
        }
    }
    run_text(common, &launch, arguments, 1);
    assert_memory_equal(bins, expected, sizeof(bins));
}

// Several ways out, from two lanes; the arguments of 12 bytes are in registers, and in memory.
static void branches_are_taken(void **state)
{
    (void)state;
    int out[LANES][9];
    for (uint32_t small = 0; small <= 16; small += 16)
        for (int kind = 0; kind < 7; kind++) {
            const struct launch launch = {
                "choice", { 1, 1, 1 }, { 1, 1, 1 }, .group_threads = 32, .small = small
            };
            struct arguments arguments[LANES] = { 0 };
            for (int lane = 0; lane < LANES; lane++) {
                int *pout = out[lane], which = lane ? 5 : kind;
                memcpy(pout, (int[]){ 5, 0, 6, 0, 9, 8, 0, 0, -1 }, sizeof(out[lane]));
                PUT(&arguments[lane], pout);
                PUT(&arguments[lane], which);
            }
            run_text(common, &launch, arguments, 1);
            assert_int_equal(out[0][8], kind == 5 ? -1 : kind);
            assert_int_equal(out[0][0], kind == 0 ? 3 : 5);
            assert_int_equal(out[0][4], kind == 4 ? 32 : 9);
            assert_int_equal(out[1][8], -1);
            assert_int_equal(out[1][5], (int)0x90000000);
        }
}

// Each lane has two barriers more for those that the kernel calls 1 and 3.
static void barriers_have_any_number(void **state)
{
    (void)state;
    int out[LANES][128];
    const struct launch launch = { "groups", { 1, 1, 3 }, { 128, 1, 1 } };
    struct arguments arguments[LANES] = { 0 };
    for (int lane = 0; lane < LANES; lane++) {
        int *pout = out[lane];
        PUT(&arguments[lane], pout);
    }
    run_text(common, &launch, arguments, 1);
    for (int i = 0; i < LANES * 128; i++)
        assert_int_equal(out[i / 128][i % 128], 1 * 3 + 2);
}

// ---- reading ----

// What each kernel needs, or why it cannot be inside.
static const struct {
    const char *text, *entry, *reason;
    uint32_t num_args, shared_bytes, numbers;
    bool barriers, warps, fences, is_open, is_plain;
} kernels[] = {
    { "nvcc_common_75", "saxpy", NULL, 4, 0, 0, .is_plain = true },
    { "nvcc_common_75", "sum", NULL, 3, 128, 1, true, true, .is_plain = true },
    { "nvcc_common_75", "product", NULL, 4, 2176, 1, true, .is_plain = true },
    { "nvcc_common_75", "histogram", NULL, 3, 0, 1, true, .is_open = true, .is_plain = true },
    { "nvcc_common_75", "calls", NULL, 3, 0, 0, .is_plain = true },
    { "nvcc_common_75", "choice", NULL, 2, 0, 0, .is_plain = true },
    { "nvcc_common_75", "settle", "it has variables of its own on the device: 'counter'" },
    { "nvcc_common_75", "groups", NULL, 1, 0, 10, true, .is_plain = true },
    { "nvcc_common_75", "nothing", NULL, 0, 0, 0, .is_plain = true },
    { "nvcc_common_75", "other", "its module does not have it" },
    { "nvcc_common_80_lines", "sum", NULL, 3, 128, 1, true, true, .is_plain = true },
    { "nvcc_common_80_lines", "calls", NULL, 3, 0, 0, .is_plain = true },
    { "nvcc_modern_90", "tail",
      "it has the instruction 'griddepcontrol.wait', which islands do not have" },
    { "nvcc_modern_90", "near",
      "it has the instruction 'barrier.cluster.arrive', which islands do not have" },
    { "nvcc_modern_90", "copies", NULL, 2, 512, 1, true, .is_plain = true },
    { "nvcc_modern_90", "multiply", NULL, 3, 0, 0, .warps = true, .is_plain = true },
    { "nvcc_modern_100", "multiply", NULL, 3, 0, 0, .warps = true, .is_plain = true },
    { "nvcc_modern_90_debug", "multiply", NULL, 3, 0, 0, .warps = true, .is_plain = true },
    { "clang_O0_60", "add", "it is for a device before sm_70" },
    { "clang_O2_80", "add", NULL, 3, 0, 0, .is_plain = true },
    { "clang_O2_80", "turn", NULL, 2, 512, 1, true, .is_plain = true },
    { "triton_add_90", "add", NULL, 6, 0, 0, .is_plain = true },
    { "triton_product_90", "product",
      "it has the instruction 'wgmma.fence.sync.aligned', which islands do not have" },
    { "triton_softmax_80", "softmax", NULL, 5, 0, 1, true, true, .is_open = true,
      .is_plain = true },
};

enum { NUM_KERNELS = sizeof(kernels) / sizeof(kernels[0]) };

static struct walk some_walk(void)
{
    return (struct walk){ .place = { .group_threads = 256, .num_groups = LANES },
                          .grid = { 2, 2, 1 },
                          .block = { 64, 2, 2 } };
}

static void needs_are_read(void **state)
{
    (void)state;
    for (int i = 0; i < NUM_KERNELS; i++) {
        char *text = read_text(kernels[i].text);
        struct walk walk = some_walk();
        struct ptx_callable found;
        struct ptx_reason reason;
        char *made = walker_make(text, kernels[i].entry, &walk, &found, &reason);
        if (!made != !!kernels[i].reason || (!made && strcmp(reason.text, kernels[i].reason) != 0))
            fail_msg("%s of %s: %s", kernels[i].entry, kernels[i].text, reason.text);
        bool same = !made ||
                    (found.num_args == kernels[i].num_args &&
                     found.shared_bytes == kernels[i].shared_bytes &&
                     found.numbers == kernels[i].numbers && found.barriers == kernels[i].barriers &&
                     found.warps == kernels[i].warps && found.fences == kernels[i].fences &&
                     found.is_open == kernels[i].is_open && found.is_plain == kernels[i].is_plain);
        if (!same)
            fail_msg("%s of %s: %u arguments, %u bytes shared, barriers %x%s%s%s%s%s",
                     kernels[i].entry, kernels[i].text, found.num_args, found.shared_bytes,
                     found.numbers, found.barriers ? " barriers" : "", found.warps ? " warps" : "",
                     found.fences ? " fences" : "", found.is_open ? " open" : "",
                     found.is_plain ? " plain" : "");
        braid_free(made);
        free(text);
    }
}

#define LEAVES "threads of it end while others meet at a barrier with a count"
// %p1 is true in one thread.
#define OWN "mov.u32 %r3, %tid.x;\nsetp.eq.u32 %p1, %r3, 0;\n"
#define KERNEL(body)                                                                               \
    ".version 8.0\n.target sm_80\n.address_size 64\n"                                              \
    ".global .align 4 .b8 table[8] = {1, 0, 0, 0, 2, 0, 0, 0};\n"                                  \
    ".global .u64 names[1] = {inside};\n.global .u32 inside;\n.global .u32 seen;\n"                \
    ".extern .func free(.param .b64 a);\n.extern .global .u32 far;\n.extern .func away;\n"         \
    ".shared .align 4 .u32 own;\n"                                                                 \
    ".func place(.param .b32 a)\n{\n.reg .b32 %r;\nmov.u32 %r, %tid.x;\nret;\n}\n"                 \
    ".func meets\n{\nbar.sync 0;\nret;\n}\n.func ends\n{\nexit;\n}\n"                              \
    ".func stops\n{\ntrap;\nexit;\n}\n.func holds\n{\nst.shared.u32 [own], 1;\nret;\n}\n"          \
    ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .pred %p<3>;"  \
    "\n" body "\nret;\n}\n"

static void reasons_name_what_cannot_be_inside(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } cases[] = {
        { KERNEL("mov.u64 %rd1, table;\nld.global.nc.u32 %r1, [%rd1];"), NULL },
        { KERNEL("mov.u64 %rd1, seen;\nadd.s64 %rd2, %rd1, 4;\nst.global.u32 [%rd2], 1;"),
          "it has variables of its own on the device: 'seen'" },
        { KERNEL("mov.u64 %rd1, seen;\natom.global.add.u32 %r1, [%rd1], 1;"),
          "it has variables of its own on the device: 'seen'" },
        { KERNEL("mov.u64 %rd1, seen;\nst.global.u64 [%rd3], %rd1;"),
          "it has variables of its own on the device: 'seen'" },
        { KERNEL("ld.global.u64 %rd1, [names];"),
          "it has variables of its own on the device: 'inside'" },
        { KERNEL("ld.global.u32 %r1, [far];"), "it uses 'far', which is not in its module" },
        { KERNEL("call away;"), "it calls 'away', which is not in its module" },
        { KERNEL("call free, (%rd1);"), NULL },
        { KERNEL("call place, (1);"), "a function of it reads '%tid.x'" },
        { KERNEL("call meets;"), "a function of it has the instruction 'bar.sync', which functions "
                                 "in islands do not have" },
        { KERNEL("call ends;"), "a function of it has the instruction 'exit', which functions in "
                                "islands do not have" },
        { KERNEL("call stops;"), NULL },
        { KERNEL("call holds;"), "a function of it uses the shared memory 'own'" },
        { KERNEL(OWN "@%p1 ret;\nbar.sync 0;"), NULL },
        { KERNEL(OWN "@%p1 bra out;\nbar.sync 0;\nout:"), NULL },
        { KERNEL(OWN "@%p1 bra slow;\nbar.sync 0;\nret;\nslow:\nmov.u32 %r1, 1;"), NULL },
        { KERNEL(OWN "@!%p1 bra on;\nmov.u32 %r1, 1;\nret;\non:\nbar.sync 0;"), NULL },
        { KERNEL("mov.u32 %r2, 0;\n" OWN "@%p1 bra set;\nmov.u32 %r2, 1;\nset:\n"
                 "setp.eq.u32 %p2, %r2, 0;\n@%p2 ret;\nbar.sync 0;"),
          NULL },
        { KERNEL("mov.u32 %r2, 0;\nagain:\nadd.u32 %r2, %r2, 1;\n" OWN "@%p1 bra again;\n"
                 "setp.eq.u32 %p2, %r2, 5;\n@%p2 ret;\nbar.sync 0;"),
          NULL },
        { KERNEL("atom.global.add.u32 %r1, [%rd1], 1;\nsetp.eq.u32 %p2, %r1, 5;\n@%p2 ret;\n"
                 "bar.sync 0;"),
          NULL },
        { KERNEL(OWN "@%p1 ret;\nbar.sync 0, 64;"), LEAVES },
        { KERNEL(OWN "@%p1 ret;\nbarrier.arrive 0, 64;"), LEAVES },
        { KERNEL(OWN "@%p1 ret;\nbarrier.red.or.pred %p2, 0, 64, %p1;"), LEAVES },
        { KERNEL(OWN "@%p1 bra out;\nbar.sync 1, 64;\nmov.u32 %r1, 1;\nout:\nmov.u32 %r2, 1;"),
          NULL },
        { KERNEL("bar.sync 0, 64;\n" OWN "@%p1 ret;\nmov.u32 %r1, 1;"), NULL },
        { KERNEL("mov.u32 %r1, %ctaid.x;\nsetp.eq.u32 %p1, %r1, 3;\n@%p1 ret;\nbar.sync 0;"),
          NULL },
        { KERNEL("ld.param.u64 %rd1, [p];\nld.global.u32 %r1, [%rd1];\nmov.u32 %r2, 0;\n"
                 "loop:\nbar.sync 0;\n" OWN "@%p1 bra all;\nst.global.u32 [%rd1+4], 1;\n"
                 "all:\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, %r1;\n@%p2 bra loop;"),
          NULL },
        { KERNEL("bar.sync 0;\n" OWN "@%p1 bra out;\nst.global.u32 [%rd1], 1;\nout:"), NULL },
        { KERNEL("barrier.red.or.pred %p1, 0, %p2;\n@%p1 ret;\nbar.sync 0;"), NULL },
        { KERNEL("@%p1 exit;\nmov.u32 %r1, 1;"), NULL },
        { KERNEL("bar.sync %r1;"), "the number of its barrier is not written in 'bar.sync %r1;'" },
        { KERNEL("barrier.red.popc.u32 %r1, 2, 64, %p1;"), NULL },
        { KERNEL("mov.u32 %r1, %gridid;"), "it reads '%gridid'" },
        { KERNEL("mov.u32 %r1, %envreg2;"), "it reads '%envreg2'" },
        { KERNEL("mov.u32 %r1, %dynamic_smem_size;"), "it reads '%dynamic_smem_size'" },
        { KERNEL("tex.1d.v4.f32.s32 {%r1, %r1, %r1, %r1}, [t, {%r1}];"),
          "it has the instruction 'tex.1d.v4.f32.s32', which islands do not have" },
        { KERNEL("cp.async.bulk.commit_group;"),
          "it has the instruction 'cp.async.bulk.commit_group', which islands do not have" },
        { KERNEL("ponder.u32 %r1;"),
          "it has the instruction 'ponder.u32', which Braid does not know" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct walk walk = some_walk();
        struct ptx_callable found;
        struct ptx_reason reason = { 0 };
        char *made = walker_make(cases[i].text, "k", &walk, &found, &reason);
        if (!made != !!cases[i].reason || (!made && strcmp(reason.text, cases[i].reason) != 0))
            fail_msg("case %zu: '%s'", i, made ? made : reason.text);
        if (made && strstr(made, ".nc"))
            fail_msg("%s", made);
        if (made && strstr(made, "call free"))
            assert_non_null(strstr(made, ".extern .func free(.param .b64 a);"));
        braid_free(made);
    }
}

// ---- assembling ----

// Also in a lane that is a warp, and with arguments in registers.
static void blocks_are_assembled(void **state)
{
    (void)state;
    if (!assembler)
        skip_because("no ptxas was given");
    for (int i = 0; i < NUM_KERNELS; i++) {
        char *text = read_text(kernels[i].text);
        for (uint32_t way = 0; way < 3 && !kernels[i].reason; way++) {
            struct walk walk = some_walk();
            struct ptx_callable found;
            struct ptx_reason reason;
            walk.place.group_threads = way == 1 ? 32 : 256;
            walk.place.flat = walk.place.whole = way == 1;
            walk.place.small = way == 2 && kernels[i].is_plain && kernels[i].num_args <= 2 ? 16 : 0;
            char *made = walker_make(text, kernels[i].entry, &walk, &found, &reason);
            assert_non_null(made);
            ptx_assemble(assembler, "-O1", kernels[i].entry, made);
            braid_free(made);
        }
        free(text);
    }
}

int main(int argc, char **argv)
{
    folder = argc > 1 ? argv[1] : ".";
    assembler = argc > 2 ? argv[2] : NULL;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_are_scaled),
        cmocka_unit_test(all_are_summed),
        cmocka_unit_test(matrices_are_multiplied),
        cmocka_unit_test(values_are_counted),
        cmocka_unit_test(branches_are_taken),
        cmocka_unit_test(barriers_have_any_number),
        cmocka_unit_test(needs_are_read),
        cmocka_unit_test(reasons_name_what_cannot_be_inside),
        cmocka_unit_test(blocks_are_assembled),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
