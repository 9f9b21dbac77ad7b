// SPDX-License-Identifier: Apache-2.0
// A finding on CUDA has the file and the line of its access, if the kernel's PTX has lines.
#include "gpu/audited_world.h"

#define FILES ".file 1 \"/src/scatter.cu\"\n.file 2 \"own.cuh\", 12, 34\n.file 9 \"\"\n"

struct told {
    char text[256], file[64];
    uint32_t line;
    size_t num;
};

static void keep(const braid_audit_finding *finding, void *user)
{
    struct told *told = user;
    if (finding->kind >= BRAID_AUDIT_NEVER_READS) {
        assert_null(finding->file);
        return;
    }
    told->num++;
    told->line = finding->line;
    snprintf(told->text, sizeof(told->text), "%s", finding->text);
    snprintf(told->file, sizeof(told->file), "%s", finding->file ? finding->file : "none");
}

// The node declares to read all but the first 16 bytes of the first buffer.
static void check(const char *text, const char *file, uint32_t line, const char *behind)
{
    struct world *world;
    struct told told = { .num = 0 };
    const braid_kernel kernel = { .name = "given", .cuda.data = text };
    const braid_audit_options options = { .report = keep, .user = &told };
    char expected[256];
    braid_resource part;
    size_t num;
    assert_int_equal(setup((void **)&world), 0);
    check_ok(braid_graph_add_range(world->graph, world->first, 16, 48, &part));
    ADD_GIVEN(world, &kernel, { part, BRAID_READ }, { world->second, BRAID_READ });
    check_ok(braid_graph_audit(world->graph, world->device, &options, &num));
    assert_int_equal(told.num, 1);
    assert_string_equal(told.file, file);
    assert_int_equal(told.line, line);
    snprintf(expected, sizeof(expected), ", which it does not declare%s", behind);
    assert_string_equal(strstr(told.text, ", which"), expected);
    assert_int_equal(teardown((void **)&world), 0);
}

static void the_line_of_an_access_is_told(void **state)
{
    (void)state;
    check(KERNEL(".loc 1 12 5\nld.global.u32 %r0, [%a];\n.loc 1 13 5\n") FILES, "/src/scatter.cu",
          12, " (scatter.cu:12)");
    check(KERNEL(".loc\t2 524287 0, function_name $L__info_string0, inlined_at 1 10 4\n"
                 "st.global.u32 [%a], %r0;\nld.global.u32 %r0, [%a+64];\n") FILES,
          "own.cuh", 524287, " (own.cuh:524287)");
}

// The first of several lines of one file is told.
static void the_first_line_is_told(void **state)
{
    (void)state;
    check(
        KERNEL(".loc 1 12 5\nld.global.u32 %r0, [%a];\n.loc 1 9 5\nld.global.u32 %r0, [%a+8];\n"
               ".loc 1 8 5\nld.global.u32 %r0, [%a+64];\n.loc 1 15 5\nld.global.u8 %r0, [%a+1];\n")
            FILES,
        "/src/scatter.cu", 9, " (scatter.cu:9)");
    check(KERNEL(".loc 1 12 5\nst.global.u32 [%a], %r0;\n.loc 1 9 5\nst.global.u32 [%a+16], %r0;\n"
                 ".loc 1 14 5\nst.global.u32 [%a+8], %r0;\n") FILES,
          "/src/scatter.cu", 9, " (scatter.cu:9)");
    check(KERNEL("ld.global.u32 %r0, [%a];\n.loc 1 9 5\nld.global.u32 %r0, [%a+8];\n") FILES,
          "/src/scatter.cu", 9, " (scatter.cu:9)");
}

static void accesses_may_have_no_line(void **state)
{
    (void)state;
    static const char *const texts[] = {
        KERNEL("ld.global.u32 %r0, [%a];\n.loc 1 9 5\n") FILES,
        KERNEL(".loc 7 9 5\nld.global.u32 %r0, [%a];\n") FILES,
        KERNEL(".loc 9 9 5\nld.global.u32 %r0, [%a];\n") FILES,
        KERNEL(".loc 1 9 5\n.loc 1 0 0\nld.global.u32 %r0, [%a];\n") FILES,
        KERNEL(".loc 1 524288 5\nld.global.u32 %r0, [%a];\n") FILES,
        KERNEL(".loc 127 9 5\nld.global.u32 %r0, [%a];\n") ".file 127 \"far.cu\"\n",
        KERNEL(".loc 1 9 5\nld.global.u32 %r0, [%a];\n"),
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        check(texts[i], "none", 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_of_an_access_is_told),
        cmocka_unit_test(the_first_line_is_told),
        cmocka_unit_test(accesses_may_have_no_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
