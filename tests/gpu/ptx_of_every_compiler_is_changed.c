// SPDX-License-Identifier: Apache-2.0
// PTX of nvcc, clang, Triton and Numba is read without a gap, and is changed to texts that the
// assembler takes, or left alone for a reason that is known here.
//
// Arguments: the folder with the texts, and the assembler (ptxas), if there is one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/gpu_ptx_audit.h"
#include "backends/gpu/gpu_ptx_early.h"
#include "backends/gpu/gpu_ptx_grid.h"
#include "backends/gpu/gpu_ptx_notes.h"
#include "backends/gpu/gpu_ptx_prefetch.h"
#include "backends/gpu/gpu_ptx_stamps.h"
#include "base/host_memory.h"
#include "gpu/ptx_assemble.h"
#include "support/check.h"

enum { EARLY, STAMPING, READING, PREFETCHING, NOTING, NOTING_BEGIN, AUDITING, NUM_PASSES };
enum { MOST_PATH = 300 };

typedef char *pass(const char *text, struct ptx_reason *out_reason);

static char *audit(const char *text, struct ptx_reason *out_reason)
{
    return braid_gpu_ptx_with_audit(text, 1024, out_reason);
}

static pass *const passes[NUM_PASSES] = { braid_gpu_ptx_with_early_start,
                                          braid_gpu_ptx_with_stamps,
                                          braid_gpu_ptx_with_read_grid,
                                          braid_gpu_ptx_with_prefetch,
                                          braid_gpu_ptx_with_notes,
                                          braid_gpu_ptx_with_begin_notes,
                                          audit };

#define OLD "it is for a device before sm_70"
#define DEPENDS "it uses griddepcontrol itself"
#define CLUSTERS "it uses clusters"
#define LEAVES "threads of it end while others meet at a barrier"
#define PART "a part of its threads may meet at a barrier"

// How many entries each has, and why a pass leaves it alone; NULL: the pass changes it.
static const struct {
    const char *name;
    unsigned entries;
    const char *reasons[NUM_PASSES];
} texts[] = {
    { "clang_O0_60", 2, { OLD, NULL, NULL, NULL, OLD } },
    { "clang_O2_80", 2, { NULL } },
    { "numba_reverse_80", 1, { NULL } },
    { "numba_scale_80", 1, { NULL } },
    { "nvcc_common_75", 9, { [NOTING] = PART } },       // at one whose register has no %
    { "nvcc_common_80_lines", 9, { [NOTING] = PART } }, // at one whose register has no %
    { "nvcc_tiles_80", 1, { NULL } },
    { "nvcc_modern_100", 4, { DEPENDS, NULL, CLUSTERS } },
    { "nvcc_modern_90", 4, { DEPENDS, NULL, CLUSTERS } },
    { "nvcc_modern_90_debug", 4, { DEPENDS, NULL, CLUSTERS } },
    { "triton_add_90", 1, { NULL } },
    { "triton_product_90", 1, { NULL } },
    { "triton_softmax_80", 1, { NULL } },
};

enum { NUM_TEXTS = sizeof(texts) / sizeof(texts[0]) };

static const char *folder, *assembler;

static char *read_text(const char *name)
{
    char path[MOST_PATH];
    snprintf(path, sizeof(path), "%s/%s.ptx", folder, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size_t bytes = (size_t)ftell(file);
    rewind(file);
    char *text = calloc(bytes + 1, 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, bytes, file), bytes);
    fclose(file);
    return text;
}

// Between two statements are spaces and comments only.
static void check_gap(const char *from, const char *to)
{
    const char *at = from;
    struct ptx_word word = braid_ptx_next_word(&at);
    if (from > to || (word.length && word.at < to))
        fail_msg("'%.*s' is in no statement", (int)(to > from ? to - from : 20), from);
}

// The function, written again from its statements, is what it was.
static void check_written(const struct ptx *ptx, const struct ptx_function *function)
{
    const struct ptx_statement *statements = ptx_statements(ptx, function);
    const char *at = function->body;
    for (size_t i = 0; i < function->num; i++) {
        check_gap(at, statements[i].begin);
        assert_true(statements[i].end > statements[i].begin);
        assert_true(statements[i].word.at >= statements[i].begin);
        at = statements[i].end;
        if (statements[i].kind == PTX_INSTRUCTION)
            assert_int_equal(at[-1], ';');
    }
    check_gap(at, function->body_end);
    assert_int_equal(*function->body_end, '}');
}

static void texts_are_read_without_a_gap(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_TEXTS; i++) {
        char *text = read_text(texts[i].name);
        struct ptx ptx;
        struct ptx_reason reason;
        if (!braid_ptx_read(text, &ptx, &reason))
            fail_msg("%s: %s", texts[i].name, reason.text);
        unsigned entries = 0;
        for (size_t j = 0; j < ptx.functions.num; j++) {
            const struct ptx_function *function = &ptx_functions(&ptx)[j];
            entries += function->is_entry;
            if (function->body)
                check_written(&ptx, function);
        }
        assert_int_equal(entries, texts[i].entries);
        assert_true(braid_ptx_version(&ptx) >= 400 && braid_ptx_target(&ptx) >= 60);
        braid_ptx_finish(&ptx);
        free(text);
    }
}

static const struct ptx_function *find(const struct ptx *ptx, const char *name)
{
    for (size_t i = 0; i < ptx->functions.num; i++) {
        if (braid_ptx_word_is(ptx_functions(ptx)[i].name, name) && ptx_functions(ptx)[i].body)
            return &ptx_functions(ptx)[i];
    }
    fail_msg("%s is not there", name);
    return NULL;
}

static void facts_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name;
        unsigned has, has_not;
    } cases[] = {
        { "nvcc_common_75", "saxpy", PTX_EXIT | PTX_BRANCH,
          PTX_BARRIER | PTX_WARP | PTX_ATOMIC | PTX_SHARED | PTX_VOLATILE | PTX_CALL },
        { "nvcc_common_75", "sum", PTX_BARRIER | PTX_WARP | PTX_ATOMIC | PTX_SHARED, PTX_TRAP },
        { "nvcc_common_75", "product", PTX_BARRIER | PTX_SHARED, PTX_WARP | PTX_ATOMIC },
        { "nvcc_common_75", "calls", PTX_CALL, PTX_BARRIER },
        { "nvcc_common_75", "choice", PTX_TRAP, PTX_BARRIER | PTX_CALL },
        { "nvcc_common_75", "settle", PTX_VOLATILE | PTX_WARP | PTX_ATOMIC, PTX_BARRIER },
        { "nvcc_common_75", "groups", PTX_BARRIER, PTX_SHARED },
        { "nvcc_modern_90", "tail", PTX_GRID_CONTROL, PTX_CLUSTER },
        { "nvcc_modern_90", "near", PTX_CLUSTER | PTX_SHARED, PTX_BARRIER },
        { "nvcc_modern_90", "copies", PTX_ASYNC | PTX_BARRIER | PTX_ATOMIC, PTX_CLUSTER },
        { "nvcc_modern_90", "multiply", PTX_WARP, PTX_BARRIER },
        { "clang_O2_80", "turn", PTX_BARRIER | PTX_TRAP | PTX_ATOMIC | PTX_CALL, PTX_WARP },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text = read_text(cases[i].text);
        struct ptx ptx;
        struct ptx_reason reason;
        assert_true(braid_ptx_read(text, &ptx, &reason));
        unsigned facts = find(&ptx, cases[i].name)->facts;
        if ((facts & cases[i].has) != cases[i].has || (facts & cases[i].has_not))
            fail_msg("%s of %s: facts %#x", cases[i].name, cases[i].text, facts);
        braid_ptx_finish(&ptx);
        free(text);
    }
}

static char *apply(const char *name, int which, const char *text)
{
    struct ptx_reason reason;
    char *changed = passes[which](text, &reason);
    const char *expected = NULL;
    for (size_t i = 0; i < NUM_TEXTS; i++) {
        if (strcmp(texts[i].name, name) == 0)
            expected = texts[i].reasons[which];
    }
    if (changed && expected)
        fail_msg("%s: pass %d changes it", name, which);
    if (!changed && (!expected || strcmp(reason.text, expected) != 0))
        fail_msg("%s: pass %d leaves it alone: %s", name, which, reason.text);
    return changed;
}

static void texts_are_changed_or_left_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_TEXTS; i++) {
        char *text = read_text(texts[i].name);
        for (int which = 0; which < NUM_PASSES; which++)
            braid_free(apply(texts[i].name, which, text));
        free(text);
    }
}

// The changes of a module in their order, as modules are loaded. The texts for devices before sm_90
// do not prefetch without an early start.
static void changed_texts_are_assembled(void **state)
{
    (void)state;
    enum { NONE = NUM_PASSES, MOST = 4 };
    static const int ways[][MOST] = {
        { EARLY, NONE },
        { STAMPING, EARLY, NONE },
        { READING, EARLY, NONE },
        { NOTING, EARLY, NONE },
        { NOTING_BEGIN, EARLY, NONE },
        { AUDITING, EARLY, NONE },
        { EARLY, PREFETCHING, NONE },
        { STAMPING, EARLY, PREFETCHING, NONE },
    };
    if (!assembler)
        skip_because("no ptxas was given");
    for (size_t i = 0; i < NUM_TEXTS; i++) {
        char *text = read_text(texts[i].name);
        for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
            char *changed = NULL, *more = apply(texts[i].name, ways[way][0], text);
            for (int k = 1; more; k++) {
                braid_free(changed);
                changed = more;
                more = ways[way][k] == NONE ? NULL : apply(texts[i].name, ways[way][k], changed);
            }
            if (changed)
                ptx_assemble(assembler, "-O0", texts[i].name, changed);
            braid_free(changed);
        }
        free(text);
    }
}

extern const char braid_gpu_graph_branch_ptx[], braid_gpu_graph_keep_ptx[],
    braid_gpu_graph_loop_begin_ptx[], braid_gpu_graph_loop_next_ptx[], braid_gpu_graph_stamp_ptx[],
    braid_gpu_graph_tally_ptx[], braid_gpu_ptx_grid_ptx[], braid_gpu_ptx_notes_ptx[],
    braid_gpu_ptx_prefetch_ptx[], braid_gpu_ptx_stamps_ptx[];

// Whatever the builds make of the files, a text of Braid's own is one that stands by itself.
static void texts_of_braid_are_assembled(void **state)
{
    (void)state;
    static const char *const own[] = {
        braid_gpu_graph_branch_ptx,    braid_gpu_graph_keep_ptx,  braid_gpu_graph_loop_begin_ptx,
        braid_gpu_graph_loop_next_ptx, braid_gpu_graph_stamp_ptx, braid_gpu_graph_tally_ptx,
        braid_gpu_ptx_grid_ptx,        braid_gpu_ptx_notes_ptx,   braid_gpu_ptx_prefetch_ptx,
        braid_gpu_ptx_stamps_ptx,
    };
    if (!assembler)
        skip_because("no ptxas was given");
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        ptx_assemble(assembler, "-c", strstr(own[i], ".entry"), own[i]);
}

// A part of a block meets by itself: its barrier has a count of threads, or a branch leads round
// it.
static void parts_of_a_block_meet_no_others_at_the_end(void **state)
{
    (void)state;
    static const char head[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                               ".entry part()\n{\n.reg .pred %p;\n.reg .b32 %r;\n"
                               "mov.u32 %r, %tid.x;\nsetp.ge.u32 %p, %r, 32;\n";
    static const struct {
        const char *body;
        bool is_changed;
    } cases[] = {
        { "@%p bra tail;\nbar.sync 0, 32;\ntail:\nadd.u32 %r, %r, 1;\nret;\n}\n", false },
        { "@%p bra tail;\nbar.sync 0;\ntail:\nadd.u32 %r, %r, 1;\nret;\n}\n", false },
        { "@%p bar.sync 0, 32;\nret;\n}\n", false },
        { "@%p bra tail;\nadd.u32 %r, %r, 1;\ntail:\nbar.sync 0;\nret;\n}\n", true },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char made[500];
        struct ptx_reason reason;
        snprintf(made, sizeof(made), "%s%s", head, cases[i].body);
        char *changed = braid_gpu_ptx_with_notes(made, &reason);
        if (!cases[i].is_changed)
            assert_string_equal(reason.text, PART);
        assert_int_equal(changed != NULL, cases[i].is_changed);
        braid_free(changed);
    }
}

static void an_unknown_instruction_is_named(void **state)
{
    (void)state;
    struct ptx_reason reason;
    for (int which = 0; which < NUM_PASSES; which++) {
        assert_null(
            passes[which](".version 8.0\n.target sm_90\n.entry a()\n{\n\tadd.u32 %r1, %r1, 1;"
                          "\n\t@!%p1 ponder.u32 %r1;\n\tret;\n}\n",
                          &reason));
        assert_string_equal(reason.text,
                            "it has the instruction 'ponder.u32', which Braid does not know");
    }
}

int main(int argc, char **argv)
{
    folder = argc > 1 ? argv[1] : ".";
    assembler = argc > 2 ? argv[2] : NULL;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_read_without_a_gap),
        cmocka_unit_test(facts_are_told),
        cmocka_unit_test(texts_are_changed_or_left_alone),
        cmocka_unit_test(changed_texts_are_assembled),
        cmocka_unit_test(texts_of_braid_are_assembled),
        cmocka_unit_test(parts_of_a_block_meet_no_others_at_the_end),
        cmocka_unit_test(an_unknown_instruction_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
