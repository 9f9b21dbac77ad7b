// SPDX-License-Identifier: Apache-2.0
// Each pass leaves PTX alone if its words stand in a wrong order, are cut off or are absurd, and
// says why.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/gpu_ptx_audit.h"
#include "backends/gpu/gpu_edit.h"
#include "backends/gpu/gpu_ptx_early.h"
#include "backends/gpu/gpu_ptx_grid.h"
#include "backends/gpu/gpu_ptx_notes.h"
#include "backends/gpu/gpu_ptx_prefetch.h"
#include "backends/gpu/gpu_ptx_stamps.h"
#include "base/host_memory.h"
#include "islands/gpu_ptx_callable.h"
#include "support/check.h"

#define HEAD ".version 7.0\n.target sm_80\n.address_size 64\n"
#define ENTRY ".visible .entry k(.param .u64 a)\n{\nret;\n}\n"
#define BEFORE HEAD ".entry k(.param .u64 a)\n{\n.reg .pred %p;\n.reg .b64 %r<3>;\n"
#define AFTER "\nret;\n}\n"
#define BODY(text) BEFORE text AFTER

typedef char *pass(const char *text, struct ptx_reason *out_reason);

static char *audit(const char *text, struct ptx_reason *out_reason)
{
    return braid_gpu_ptx_with_audit(text, 1024, out_reason);
}

static pass *const passes[] = {
    braid_gpu_ptx_with_early_start,
    braid_gpu_ptx_with_stamps,
    braid_gpu_ptx_with_read_grid,
    braid_gpu_ptx_with_prefetch,
    braid_gpu_ptx_with_notes,
    braid_gpu_ptx_with_begin_notes,
    audit,
};
enum { NUM_PASSES = sizeof(passes) / sizeof(passes[0]) };

static void bad_texts_are_left_alone(void **state)
{
    (void)state;
    static const char order[] = "its .version and .target do not stand first, once each",
                      open[] = "a statement of it has no semicolon";
    static const struct {
        const char *text, *reason;
    } cases[] = {
        { ".target sm_80\n.version 7.0\n.address_size 64\n" ENTRY, order },
        { ".target sm_80 .version(", order },
        { HEAD ".version 6.0\n" ENTRY, order },
        { HEAD ENTRY ".target sm_70\n", order },
        { ".version\n.target sm_80\n" ENTRY, "its .version has no number" },
        { ".version 7.0\n.target ,\n" ENTRY, "its .target has no name" },
        { ".version 7.0\n.target sm_80,\n.entry , k\n" ENTRY, "its .target is not complete" },
        { ".version 7.0\n.target sm_80\n.address_size .entry , k\n" ENTRY,
          "its .address_size has no number" },
        { HEAD ".entry (.param .u64 a)\n{\nret;\n}\n", "a function of it has no name" },
        { BODY("add.u64 %r0, %r1, %r2 }"), open },
        { BODY("") ".global .u32 counter", open },
        { BODY("@{ add.u64 %r0, %r1, %r2;}"), "a guard of it has no name" },
        { BODY("@!, add.u64 %r0, %r1, %r2;"), "a guard of it has no name" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (size_t k = 0; k < NUM_PASSES; k++) {
            struct ptx_reason reason;
            assert_null(passes[k](cases[i].text, &reason));
            assert_string_equal(reason.text, cases[i].reason);
        }
    }
}

static void addresses_of_no_form_are_refused(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "ld.global.u64 %r0, [ ], -5;",     "ld.global.u64 %r0, [{+4}];",    "ld.global.u64 %r0, ;",
        "ld.global.u64 %r0, [%r1 + ];",    "st.global.u64 [%r1+4 8], %r0;", "st.global.u64 , %r0;",
        "discard.global.L2 [%r1], {128};",
    };
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        char text[400];
        struct ptx_reason reason;
        snprintf(text, sizeof(text), "%s%s%s", BEFORE, bodies[i], AFTER);
        assert_null(audit(text, &reason));
        assert_non_null(strstr(reason.text, "which tells no address"));
    }
}

static size_t count(const char *text, const char *words)
{
    size_t num = 0;
    for (text = strstr(text, words); text; text = strstr(text + 1, words))
        num++;
    return num;
}

// A program's text may have the comments between which code of Braid's own decides.
static void each_entry_waits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t num_entries;
    } cases[] = {
        { HEAD ".entry a()\n{\n    // Braid decides\nret;\n}\n.entry b()\n{\nret;\n}\n"
               ".entry c()\n{\n    // Braid has decided\nret;\n}\n",
          3 },
        { HEAD ".entry a()\n{\n    // Braid decides\nadd.u32 %r,\n    // Braid has decided\n"
               "%r, 1;\nret;\n}\n",
          1 },
        { HEAD ".entry a()\n.pragma \"nounroll\";\n{\nret;\n}\n" ENTRY, 2 },
        { ".version 7.0\n.target sm_80, debug\n.address_size 64\n" ENTRY, 1 },
        { ENTRY, 1 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ptx_reason reason;
        char *changed = braid_gpu_ptx_with_early_start(cases[i].text, &reason);
        assert_non_null(changed);
        assert_int_equal(count(changed, "griddepcontrol.wait;"), cases[i].num_entries);
        assert_int_equal(count(changed, ".version"), count(cases[i].text, ".version"));
        assert_null(strstr(changed, "has decided\n\n\tgriddepcontrol"));
        braid_free(changed);
    }
}

static void numbers_may_be_huge(void **state)
{
    (void)state;
    static const char text[] = ".version 99999999999.99999999999\n.target sm_99999999999\n" ENTRY;
    struct ptx ptx;
    struct ptx_reason reason;
    assert_true(braid_ptx_read(text, &ptx, &reason));
    assert_true(braid_ptx_version(&ptx) > 800 && braid_ptx_target(&ptx) > 100);
    braid_ptx_finish(&ptx);
    char *changed = braid_gpu_ptx_with_early_start(text, &reason);
    assert_non_null(changed);
    assert_int_equal(count(changed, "99999999999"), 3);
    braid_free(changed);
}

// Whether the entry "k" of the text can be called from inside of another kernel.
static bool read_callable(const char *text, struct ptx_callable *out_callable,
                          struct ptx_reason *out_reason)
{
    struct ptx ptx;
    struct ptx_symbols symbols;
    bool found = false;
    assert_true(braid_ptx_read(text, &ptx, out_reason));
    if (braid_ptx_find_symbols(&ptx, &symbols, out_reason)) {
        found = braid_ptx_read_callable(&symbols, "k", out_callable, out_reason);
        braid_ptx_symbols_finish(&symbols);
    }
    braid_ptx_finish(&ptx);
    return found;
}

static void kernels_that_cannot_be_blocks_name_what_is_odd(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } cases[] = {
        { HEAD ".entry k(\n.param .texref t,\n.param .u64 a\n)\n{\nret;\n}\n",
          "it has a parameter that Braid does not understand: '.param .texref t'" },
        { HEAD ".entry k(.param .align 0 .b8 a[4])\n{\nret;\n}\n",
          "it has a parameter that Braid does not understand: '.param .align 0 .b8 a[4]'" },
        { HEAD ".entry k(.param .b8 a[4294967296][4294967296])\n{\nret;\n}\n",
          "'a' of it is aligned too far, or too large" },
        { HEAD ".entry k(.param .b8 a[2000000000], .param .b8 b[2000000000])\n{\nret;\n}\n",
          "memory of it is too large: 'b'" },
        { BODY(".shared .b8 x[2000000000];\n.shared .b8 y[2000000000];\n"
               "mov.u64 %r0, x;\nmov.u64 %r1, y;"),
          "memory of it is too large: 'y'" },
        { BODY(".shared .b8 [4];"),
          "it has shared memory that Braid does not understand: ' .b8 [4]'" },
        { BODY("bar.sync 99999999999;"),
          "the number of its barrier is not written in 'bar.sync 99999999999;'" },
        { BODY("bar.sync , 0;"), "the number of its barrier is not written in 'bar.sync , 0;'" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ptx_callable callable;
        struct ptx_reason reason;
        if (read_callable(cases[i].text, &callable, &reason))
            fail_msg("it can be called, though %s", cases[i].reason);
        assert_string_equal(reason.text, cases[i].reason);
    }
}

static void odd_loads_of_parameters_are_read(void **state)
{
    (void)state;
    static const char *const bodies[] = { "ld.param.u64 , [a], %r0;", "ld.param.u64 ,;",
                                          "ld.param.u64 %r0, [a+4294967296];" };
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        char text[400];
        struct ptx_callable callable;
        struct ptx_reason reason;
        snprintf(text, sizeof(text), "%s%s%s", BEFORE, bodies[i], AFTER);
        assert_true(read_callable(text, &callable, &reason));
        assert_int_equal(callable.num_args, 1);
        assert_int_equal(callable.arg_bytes[0], 8);
    }
}

// ---- huge texts: with quadratic time the test runs into its limit ----

struct huge {
    FILE *file;
    char *text;
    size_t bytes;
};

static void begin_huge(struct huge *huge, const char *head)
{
    huge->file = open_memstream(&huge->text, &huge->bytes);
    assert_non_null(huge->file);
    fputs(head, huge->file);
}

static void end_huge(struct huge *huge)
{
    fputs(AFTER, huge->file);
    assert_int_equal(fclose(huge->file), 0);
}

static void many_branches_are_read(void **state)
{
    (void)state;
    enum { NUM = 40000 };
    struct huge huge;
    begin_huge(&huge, BEFORE);
    for (int i = 0; i < NUM; i++)
        fprintf(huge.file, "@%%p bra L%d;\nld.global.u64 %%r0, [%%r1];\nL%d:\n", i, i);
    end_huge(&huge);
    struct ptx_reason reason;
    char *changed = audit(huge.text, &reason);
    assert_non_null(changed);
    braid_free(changed);
    free(huge.text);
}

static void values_may_go_up_a_long_text(void **state)
{
    (void)state;
    enum { NUM = 12000 };
    struct huge huge;
    struct ptx_reason reason;
    begin_huge(&huge, BEFORE);
    for (int i = 0; i < NUM; i++)
        fprintf(huge.file, "mov.u32 %%v%d, %%v%d;\n", i, i + 1);
    fprintf(huge.file,
            "mov.u32 %%v%d, %%tid.x;\nsetp.ne.u32 %%p, %%v0, 0;\n@%%p ret;\n"
            "bar.sync 0;",
            NUM);
    end_huge(&huge);
    assert_null(braid_gpu_ptx_with_stamps(huge.text, &reason));
    assert_string_equal(reason.text, "threads of it end while others meet at a barrier");
    free(huge.text);
}

static void many_variables_stay_outside_of_islands(void **state)
{
    (void)state;
    enum { NUM = 300 };
    struct huge huge;
    struct ptx_callable callable;
    struct ptx_reason reason;
    begin_huge(&huge, HEAD);
    for (int i = 0; i < NUM; i++)
        fprintf(huge.file, ".global .u32 g%d;\n", i);
    fputs(".entry k()\n{\n.reg .b32 %r<2>;\n", huge.file);
    for (int i = 0; i < NUM; i++)
        fprintf(huge.file, "ld.global.u32 %%r0, [g%d];\n", i);
    end_huge(&huge);
    assert_false(read_callable(huge.text, &callable, &reason));
    assert_string_equal(reason.text, "it uses more than 256 variables of its module");
    free(huge.text);
}

static void edits_out_of_order_fail(void **state)
{
    (void)state;
    static const char text[] = "one two three";
    struct gpu_edits edits = { 0 };
    braid_gpu_edit(&edits, text + 4, text + 7, "2");
    braid_gpu_edit(&edits, text + 6, text + 7, "?");
    assert_null(braid_gpu_apply_edits(&edits, text));
    braid_gpu_edits_finish(&edits);
    braid_gpu_edit(&edits, text, text + 3, "1");
    braid_gpu_edit(&edits, text + 4, text + 7, "2");
    char *made = braid_gpu_apply_edits(&edits, text);
    assert_string_equal(made, "1 2 three");
    braid_free(made);
    braid_gpu_edits_finish(&edits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_texts_are_left_alone),
        cmocka_unit_test(addresses_of_no_form_are_refused),
        cmocka_unit_test(each_entry_waits),
        cmocka_unit_test(numbers_may_be_huge),
        cmocka_unit_test(kernels_that_cannot_be_blocks_name_what_is_odd),
        cmocka_unit_test(odd_loads_of_parameters_are_read),
        cmocka_unit_test(many_branches_are_read),
        cmocka_unit_test(values_may_go_up_a_long_text),
        cmocka_unit_test(many_variables_stay_outside_of_islands),
        cmocka_unit_test(edits_out_of_order_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
