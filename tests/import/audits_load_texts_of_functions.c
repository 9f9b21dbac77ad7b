// SPDX-License-Identifier: Apache-2.0
// An audit of an imported graph sees inside the program's own functions if their texts may be
// loaded. It plays the texts, and the frame does what the program's functions do.
#include <string.h>

#include "import/captures.h"
#include "standin_control.h"

enum { STEPS = 3 };

// set(at): adds to the word at `at`, and writes the word whose index stands at `at` + 8.
static const char set_text[] =
    HEAD ".visible .entry set(.param .u64 at)\n"
         "{\n.reg .u64 %d<3>; .reg .u32 %r<2>;\n"
         "ld.param.u64 %d0, [at]; ld.global.u32 %r1, [%d0+8];\n"
         "mul.wide.u32 %d1, %r1, 4; add.u64 %d2, %d0, %d1;\n"
         "ld.global.u32 %r0, [%d0]; add.u32 %r0, %r0, 1; st.global.u32 [%d0], %r0;\n"
         "st.global.u32 [%d2], %r0;\nret;\n}\n";

struct findings {
    size_t num_unseen, num_outside;
    char outside[256];
};

static const char *fault; // that the driver has during audits; NULL: none

static void note(const braid_audit_finding *finding, void *user)
{
    struct findings *findings = user;
    findings->num_unseen += finding->kind == BRAID_AUDIT_UNSEEN;
    if (finding->kind != BRAID_AUDIT_WRITES)
        return;
    findings->num_outside++;
    snprintf(findings->outside, sizeof(findings->outside), "%s", finding->text);
}

static CUdeviceptr low(void)
{
    return here.memory[0] < here.memory[1] ? here.memory[0] : here.memory[1];
}

static CUdeviceptr high(void)
{
    return here.memory[0] < here.memory[1] ? here.memory[1] : here.memory[0];
}

static struct findings audit(CUmodule *module, const braid_import_options *options, uint32_t index)
{
    struct findings findings = { 0 };
    CUfunction function;
    const CUdeviceptr at[STEPS] = { low(), high(), low() };
    uint32_t word;
    must(cuModuleLoadData(module, set_text));
    must(cuModuleGetFunction(&function, *module, "set"));
    for (int i = 0; i < 2; i++)
        must(cuMemsetD8_v2(here.memory[i], 0, BYTES));
    must(cuMemcpyHtoD_v2(low() + 8, &index, sizeof(index)));
    begin_capture();
    for (int i = 0; i < STEPS; i++)
        must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, here.stream,
                            (void *[]){ (void *)&at[i] }, NULL));
    must(cuStreamEndCapture(here.stream, &here.graph));
    check_ok(braid_import_create(here.device, here.graph, options, &here.import));
    assert_true(standin_configure("BRAID_STANDIN_FAIL", fault));
    check_ok(braid_graph_audit(braid_import_get_graph(here.import), here.device,
                               &(braid_audit_options){ .report = note, .user = &findings },
                               &(size_t){ 0 }));
    assert_true(standin_configure("BRAID_STANDIN_FAIL", NULL));
    must(cuMemcpyDtoH_v2(&word, low(), sizeof(word)));
    assert_int_equal(word, 2);
    braid_import_destroy(here.import);
    must(cuGraphDestroy(here.graph));
    must(cuModuleUnload(*module));
    return findings;
}

#define RELOADED .reloaded = (const char *const[]){ set_text }, .num_reloaded = 1

static void texts_that_are_only_read_are_not_seen_into(void **state)
{
    (void)state;
    CUmodule module;
    const struct findings findings = audit(&module, &(braid_import_options){ TEXTS(set_text) }, 1);
    assert_int_equal(findings.num_unseen, STEPS);
    assert_int_equal(findings.num_outside, 0);
}

static void texts_that_may_be_loaded_are_seen_into(void **state)
{
    (void)state;
    CUmodule module;
    const struct findings findings = audit(&module, &(braid_import_options){ RELOADED }, 1);
    assert_int_equal(findings.num_unseen, 0);
    assert_int_equal(findings.num_outside, 0);
}

// A kernel that leaves the buffer that it has an address of is what an import cannot see.
static void a_write_beyond_the_buffer_is_told(void **state)
{
    (void)state;
    CUmodule module;
    const CUdeviceptr apart = high() - low();
    const struct findings findings =
        audit(&module, &(braid_import_options){ RELOADED }, (uint32_t)(apart / 4));
    assert_true(apart / 4 < UINT32_MAX);
    assert_int_equal(findings.num_unseen, 0);
    assert_int_equal(findings.num_outside, 2);
    assert_non_null(strstr(findings.outside, "writes"));
}

// The driver does not tell the attributes of functions, so a text cannot get them.
static void a_text_that_cannot_replace_the_function_is_not_played(void **state)
{
    (void)state;
    CUmodule module;
    fault = "cuFuncGetAttribute:1+=801";
    const struct findings findings = audit(&module, &(braid_import_options){ RELOADED }, 1);
    fault = NULL;
    assert_int_equal(findings.num_unseen, STEPS);
    assert_int_equal(findings.num_outside, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(texts_that_are_only_read_are_not_seen_into, open_captures,
                                        close_captures),
        cmocka_unit_test_setup_teardown(texts_that_may_be_loaded_are_seen_into, open_captures,
                                        close_captures),
        cmocka_unit_test_setup_teardown(a_write_beyond_the_buffer_is_told, open_captures,
                                        close_captures),
        cmocka_unit_test_setup_teardown(a_text_that_cannot_replace_the_function_is_not_played,
                                        open_captures, close_captures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
