// SPDX-License-Identifier: Apache-2.0
// A text tells where the word of a condition is, if its kernel only hands the word over. Any other
// kernel is told by its reason.
#include "import/setters.h"

#include <stdio.h>
#include <string.h>

#include "support/check.h"

#define HEAD                                                                                       \
    ".version 8.3\n.target sm_90\n.address_size 64\n"                                              \
    ".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n"                       \
    ".extern .func other(.param .b64 h, .param .b32 v);\n"                                         \
    ".visible .entry kernel(.param .u64 handle, .param .align 8 .b8 word[24], .param .u64 more)\n" \
    "{\n.reg .pred %p<2>;\n.reg .b32 %r<4>;\n.reg .b64 %d<4>;\n"                                   \
    "ld.param.u64 %d0, [handle];\nld.param.u64 %d1, [word+8];\n"
#define CALL(handle, value)                                                                        \
    "{\n.param .b64 param0;\nst.param.b64 [param0], " handle ";\n"                                 \
    ".param .b32 param1;\nst.param.b32 [param1+0], " value ";\n"                                   \
    "call.uni\ncudaGraphSetConditional,\n(\nparam0,\nparam1\n);\n}\n"
#define TAIL "ret;\n}\n"

static bool read(const char *body, struct setter *setter, bool *calls, char *why)
{
    char text[4096];
    snprintf(text, sizeof(text), "%s%s%s", HEAD, body, TAIL);
    return braid_import_read_setter(text, "kernel", setter, calls, why, 200);
}

// ---- kernels that only hand a word over ----

static const struct {
    const char *body;
    uint32_t num_loads, loads[2], at;
} known[] = {
    { "ld.global.u32 %r0, [%d1];\n" CALL("%d0", "%r0"), 0, { 0 }, 0 },
    { "cvta.to.global.u64 %d2, %d1;\nld.volatile.global.s32 %r0, [%d2+12];\n" CALL("%d0", "%r0"),
      0,
      { 0 },
      12 },
    { "ld.u64 %d2, [%d1];\nadd.s64 %d2, %d2, 8;\nld.b32 %r0, [%d2+4];\n" CALL("%d0", "%r0"),
      1,
      { 0 },
      12 },
    { "mov.b64 %d2, word;\nld.param.u64 %d3, [%d2+8];\nld.u64 %d3, [%d3+16];\n"
      "ld.u64 %d3, [%d3+24];\nld.u32 %r0, [%d3];\n" CALL("%d0", "%r0"),
      2,
      { 16, 24 },
      0 },
    { "ld.u32 %r0, [%d1];\nsetp.ne.s32 %p0, %r0, 0;\nselp.u32 %r1, 1, 0, %p0;\n" //
      CALL("%d0", "%r1"),
      0,
      { 0 },
      0 },
    { "ld.u32 %r0, [%d1];\nsetp.eq.s32 %p0, %r0, 0;\nselp.b32 %r1, 0, 7, %p0;\n" //
      CALL("%d0", "%r1"),
      0,
      { 0 },
      0 },
};

static void a_word_is_found_behind_pointers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        struct setter setter;
        bool calls;
        char why[200];
        if (!read(known[i].body, &setter, &calls, why))
            fail_msg("%zu: %s", i, why);
        assert_true(calls);
        assert_int_equal(setter.handle, 0);
        assert_int_equal(setter.word, 1);
        assert_int_equal(setter.offset, 8);
        assert_int_equal(setter.num_loads, known[i].num_loads);
        assert_memory_equal(setter.loads, known[i].loads,
                            known[i].num_loads * sizeof(setter.loads[0]));
        assert_int_equal(setter.at, known[i].at);
    }
}

// ---- others ----

#define LOAD "ld.u32 %r0, [%d1];\n"
#define LONG "ld.u64 %d1, [%d1];\n"

static const struct {
    const char *body, *why;
} others[] = {
    { "", "it ends before it sets a condition" },
    { LOAD "@%p0 bra end;\n" CALL("%d0", "%r0") "end:\n", "some of its threads do something else" },
    { LOAD CALL("%d0", "%r0") CALL("%d0", "%r0"), "it sets two conditions" },
    { LOAD CALL("%d1", "%r0"), "the handle is none of its parameters" },
    { LOAD CALL("%d0", "1"), "the value is no word that a parameter leads to" },
    { LOAD "add.u32 %r0, %r0, 1;\n" CALL("%d0", "%r0"), "it does more than to hand a word" },
    { LOAD "st.u32 [%d1], %r0;\n" CALL("%d0", "%r0"), "it does more than to hand a word" },
    { LOAD "setp.ne.s32 %p0, %r0, 1;\nselp.u32 %r1, 1, 0, %p0;\n" CALL("%d0", "%r1"),
      "it tests something else than whether its word is 0" },
    { LOAD "setp.lt.s32 %p0, %r0, 0;\nselp.u32 %r1, 1, 0, %p0;\n" CALL("%d0", "%r1"),
      "it tests something else than whether its word is 0" },
    { LOAD "setp.eq.s32 %p0, %r0, 0;\nselp.u32 %r1, 1, 0, %p0;\n" CALL("%d0", "%r1"),
      "it does not choose between 0 and another number by its word" },
    { LOAD "setp.ne.s32 %p0, %r0, 0;\nselp.u32 %r1, 2, 1, %p0;\n" CALL("%d0", "%r1"),
      "it does not choose between 0 and another number by its word" },
    { "ld.shared.u32 %r0, [%d1];\n" CALL("%d0", "%r0"), "it has a load of another kind" },
    { "ld.u16 %r0, [%d1];\n" CALL("%d0", "%r0"), "it has a load of another kind" },
    { "ld.u32 %r0, [%d1+-4];\n" CALL("%d0", "%r0"), "it has a load of another kind" },
    { LONG LONG LONG LONG LONG LOAD CALL("%d0", "%r0"), "its word is behind too many pointers" },
    { "ld.u32 %r0, [%d3];\n" CALL("%d0", "%r0"), "an address that is none of its parameters" },
    { "mov.b64 %d2, word+8;\nld.param.u64 %d3, [%d2];\nld.u32 %r0, [%d3];\n" CALL("%d0", "%r0"),
      "it copies something of another kind" },
    { "add.s64 %d2, %d1, 8*2;\nld.u32 %r0, [%d2];\n" CALL("%d0", "%r0"),
      "it adds something of another kind" },
    { "add.s64 %d2, %d1, 0x30000000;\nadd.s64 %d2, %d2, 0x30000000;\nld.u64 %d2, "
      "[%d2+0x30000000];\n"
      "ld.u32 %r0, [%d2];\n" CALL("%d0", "%r0"),
      "it adds something of another kind" },
    { "add.s64 %d2, %d1, 0b100;\nld.u32 %r0, [%d2];\n" CALL("%d0", "%r0"),
      "it adds something of another kind" },
    { "ld.u32 %r0, [%d1+0b100];\n" CALL("%d0", "%r0"), "it has a load of another kind" },
    { LOAD "setp.ne.b32 %p0, %r0, 0f3F800000;\nselp.b32 %r1, 1, 0, %p0;\n" CALL("%d0", "%r1"),
      "it tests something else than whether its word is 0" },
    { LOAD "setp.ne.b32 %p0, %r0, 0;\nselp.b32 %r1, 1, 0f3F800000, %p0;\n" CALL("%d0", "%r1"),
      "it does not choose between 0 and another number by its word" },
    { LOAD "ret;\n" CALL("%d0", "%r0"), "it ends before it sets a condition" },
    { LOAD "{\n.reg .b32 %r<2>;\nld.u32 %r0, [%d1+4];\n}\n" CALL("%d0", "%r0"),
      "it has a name for two things" },
    { LOAD "{\n.param .b64 word;\nst.param.b64 [word], %d0;\n}\n" CALL("%d0", "%r0"),
      "it has a name for two things" },
    { LOAD "{\n.reg .b32 %r0;\nld.u32 %r0, [%d1+4];\n}\n" CALL("%d0", "%r0"),
      "it has a name for two things" },
    { LOAD "{\n.param .b64 h;\n.param .b32 v;\nst.param.b64 [h], %d0;\nst.param.b32 [v], %r0;\n"
           "call.uni other, (h, v);\n}\n",
      "it calls another function (line 19)" },
};

static void other_kernels_are_told_by_their_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct setter setter;
        bool calls;
        char why[200];
        if (read(others[i].body, &setter, &calls, why) || !strstr(why, others[i].why))
            fail_msg("%zu: '%s' does not name '%s'", i, why, others[i].why);
        assert_int_equal(calls, strstr(others[i].body, "SetConditional") != NULL);
    }
}

// The entry has a helper, which sets the condition of a handle that may stand in memory.
static void helpers_and_own_functions_are_no_setters(void **state)
{
    static const char own[] =
        ".version 8.3\n.target sm_90\n.address_size 64\n"
        ".func cudaGraphSetConditional(.param .b64 h, .param .b32 v)\n{\nret;\n}\n"
        ".func helper(.param .b64 h, .param .b32 v)\n{\n.param .b64 a;\n.param .b32 b;\n"
        "call.uni cudaGraphSetConditional, (a, b);\nret;\n}\n"
        ".visible .entry kernel(.param .u64 handle, .param .u64 word)\n{\n"
        ".reg .b32 %r;\n.reg .b64 %d<2>;\n.param .b64 h;\n.param .b32 v;\n"
        "ld.param.u64 %d0, [handle];\nld.param.u64 %d1, [word];\nld.u32 %r, [%d1];\n"
        "st.param.b64 [h], %d0;\nst.param.b32 [v], %r;\n";
    static const char *const names[] = { "cudaGraphSetConditional", "helper", NULL };
    (void)state;
    for (int i = 0; i < 3; i++) {
        char text[2048], why[200];
        struct setter setter;
        bool calls;
        snprintf(text, sizeof(text), names[i] ? "%scall.uni %s, (h, v);\n" TAIL : "%s" TAIL, own,
                 names[i]);
        assert_false(braid_import_read_setter(text, "kernel", &setter, &calls, why, sizeof(why)));
        assert_non_null(strstr(why, names[i] ? "it calls another function" : "it ends before"));
        assert_int_equal(calls, names[i] != NULL);
    }
}

static void other_texts_have_no_setter(void **state)
{
    struct setter setter;
    bool calls;
    char why[200];
    (void)state;
    assert_false(braid_import_read_setter(".version 8.3\n// kernel\n", "kernel", &setter, &calls,
                                          why, sizeof(why)));
    assert_false(braid_import_read_setter(HEAD TAIL, "kern", &setter, &calls, why, sizeof(why)));
    assert_false(braid_import_read_setter(HEAD "frobnicate;\n" TAIL, "kernel", &setter, &calls, why,
                                          sizeof(why)));
    assert_true(why[0] != '\0');
    assert_null(braid_import_known_setter("kernel"));
}

static void the_condition_of_quadrants_is_known(void **state)
{
    static const char name[] = "_qd_graph_do_while_cond";
    struct setter setter;
    bool calls;
    char why[200];
    (void)state;
    assert_true(braid_import_read_setter(braid_import_known_setter(name), name, &setter, &calls,
                                         why, sizeof(why)));
    assert_int_equal(setter.handle, 0);
    assert_int_equal(setter.word, 1);
    assert_int_equal(setter.num_loads, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_is_found_behind_pointers),
        cmocka_unit_test(other_kernels_are_told_by_their_reason),
        cmocka_unit_test(helpers_and_own_functions_are_no_setters),
        cmocka_unit_test(other_texts_have_no_setter),
        cmocka_unit_test(the_condition_of_quadrants_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
