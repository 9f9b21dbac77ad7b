// SPDX-License-Identifier: Apache-2.0
// Text whose kernels are to read their grid from memory: each entry takes one parameter more and
// sees that grid wherever it asks for its own; text in which that would not do stays as it is.
#include <stdio.h>
#include <string.h>

#include "backends/gpu/gpu_ptx_grid.h"
#include "base/host_memory.h"
#include "gpu/cut_off.h"
#include "ptx/ptx_words.h"
#include "support/check.h"

#define HEAD ".version 7.4\n.target sm_80\n"
#define MORE ".param .u64 braid_grid_from)"
#define READ                                                                                       \
    "ld.param.u64 %braid_from, [braid_grid_from];", "ld.global.u32 %braid_grid_x, [%braid_from];", \
        "ld.global.u32 %braid_grid_y, [%braid_from+4];",                                           \
        "ld.global.u32 %braid_grid_z, [%braid_from+8];", "ret;"

static char *change(const char *text)
{
    struct ptx_reason reason;
    char *changed = braid_gpu_ptx_with_read_grid(text, &reason);
    if (!changed)
        fail_msg("'%s' is left alone, since %s", text,
                 *reason.text ? reason.text : "memory ran out");
    return changed;
}

// The parts follow each other in the changed text.
static void check_text(const char *text, const char *const *parts)
{
    char *changed = change(text);
    const char *at = changed;
    for (; *parts; parts++) {
        at = strstr(at, *parts);
        if (!at)
            fail_msg("'%s' is not where it should be in:\n%s", *parts, changed);
        at += strlen(*parts);
    }
    braid_free(changed);
}

static void check_refused(const char *text, const char *expected)
{
    struct ptx_reason reason;
    assert_null(braid_gpu_ptx_with_read_grid(text, &reason));
    assert_string_equal(reason.text, expected);
}

static void every_entry_takes_one_parameter_more(void **state)
{
    (void)state;
    check_text(HEAD ".entry a(.param .u64 x)\n.maxntid 32, 1, 1\n{ st.u32 [%r1], 0; ret; }\n"
                    ".entry b() { ret; }\n.entry c { ret; }\n.entry d(.param .u64 x);\n",
               (const char *const[]){ "a(.param .u64 x, " MORE "\n.maxntid 32, 1, 1\n{", READ,
                                      "st.u32 [%r1], 0; ret; }", "b(" MORE " {", READ, "ret; }",
                                      "c(" MORE, READ, "ret; }", "d(.param .u64 x, " MORE ";",
                                      NULL });
}

static void entries_see_the_grid_that_was_read(void **state)
{
    (void)state;
    char *changed = change(HEAD ".entry a(.param .u64 x) {\n\tmov.u32 %r1, %nctaid.x;\n"
                                "\t{ mov.u32 %r2, %nctaid.y; }\n\tmov.u32 %r3, %nctaid.z;\n"
                                "\tmov.u32 %r4, %ctaid.x;\n\tret;\n}\n");
    const char *body = strstr(changed, "mov.u32 %r1, %braid_grid_x;");
    assert_non_null(body);
    assert_non_null(strstr(body, "{ mov.u32 %r2, %braid_grid_y; }"));
    assert_non_null(strstr(body, "mov.u32 %r3, %braid_grid_z;"));
    assert_non_null(strstr(body, "mov.u32 %r4, %ctaid.x;"));
    assert_null(strstr(body, "%nctaid"));
    braid_free(changed);
}

// What only looks like it is left alone, and so is what it says.
static void comments_and_strings_are_no_words(void **state)
{
    (void)state;
    static const char text[] = HEAD "// .entry x() { %nctaid.w }\n/* %cluster_ctaid.x\n */\n"
                                    ".file 1 \"%nctaid.x {\"\n.entry a(/* ) */ .param .u64 x)\n"
                                    "{ // }\n\tmov.u32 %r1, 5; /* %nctaid.x */ ret;\n} /* open";
    check_text(text,
               (const char *const[]){ "// .entry x() { %nctaid.w }\n/* %cluster_ctaid.x\n */",
                                      "\"%nctaid.x {\"", "a(/* ) */ .param .u64 x, " MORE, READ,
                                      "mov.u32 %r1, 5; /* %nctaid.x */ ret;\n} /* open", NULL });
    const char *unclosed = "\"open", *at = unclosed;
    assert_int_equal(braid_ptx_next_word(&at).length, strlen(unclosed));
    assert_int_equal(braid_ptx_next_word(&at).length, 0);
}

static void text_in_which_it_would_not_do_stays(void **state)
{
    (void)state;
    static const char clusters[] = "it uses clusters";
    check_refused(HEAD ".func f() { mov.u32 %r1, %nctaid.x; ret; }\n.entry a() { ret; }",
                  "a function of it reads the grid");
    check_refused(HEAD ".entry a() { mov.v4.u32 {%r1, %r2, %r3, %r4}, %nctaid; ret; }",
                  "it reads its grid in an unknown way");
    check_refused(HEAD ".entry a() .reqnctapercluster 2 { ret; }", clusters);
    check_refused(HEAD ".entry a() .explicitcluster { ret; }", clusters);
    check_refused(HEAD ".entry a() .maxclusterrank 4 { ret; }", clusters);
    check_refused(HEAD ".entry a() { barrier.cluster.arrive; ret; }", clusters);
    check_refused(HEAD ".entry a() { mov.u32 %r1, %cluster_ctarank; ret; }", clusters);
    check_refused(HEAD ".func f() { mov.u32 %r1, %nclusterid.x; ret; }", clusters);
}

// As a file that was cut off: the driver says what is wrong with it, and nothing is read beyond.
static void text_that_ends_early_stays_as_wrong_as_it_is(void **state)
{
    (void)state;
    static const char whole[] = HEAD ".entry a(.param .u64 x)\n.maxntid 32, 1, 1\n"
                                     "{ mov.u32 %r1, %nctaid.x; /* and */ { ret; } }\n";
    check_cut_off(whole, braid_gpu_ptx_with_read_grid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_entry_takes_one_parameter_more),
        cmocka_unit_test(entries_see_the_grid_that_was_read),
        cmocka_unit_test(comments_and_strings_are_no_words),
        cmocka_unit_test(text_in_which_it_would_not_do_stays),
        cmocka_unit_test(text_that_ends_early_stays_as_wrong_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
