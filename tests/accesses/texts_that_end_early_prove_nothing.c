// SPDX-License-Identifier: Apache-2.0
// A text of a kernel that was cut off anywhere has no kernel, or is refused with a place in it.
#include <string.h>

#include "accesses/code.h"
#include "support/check.h"

static void texts_that_end_early_prove_nothing(void **state)
{
    (void)state;
    static const char whole[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n.global .align 8 .b8 counter[8] = {1, 2};\n"
        ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
        ".visible .entry k(.param .u64 .ptr .global .align 4 a, .param .align 8 .b8 s[32])\n{\n"
        ".reg .pred %p<4>;\n.reg .b64 %d<9>;\n.local .align 8 .b8 depot[16];\n"
        "ld.param.u64 %d0, [a];\n@%p1 st.global.u32 [%d0], 1;\nret;\n}";
    char text[sizeof(whole)];
    for (size_t length = 0; length < sizeof(whole) - 1; length++) {
        struct kernel_code code;
        struct ptx_reason reason;
        memcpy(text, whole, length);
        text[length] = '\0';
        if (braid_code_read(text, &code, &reason)) {
            assert_true(braid_code_find_entry(&code, "k") == CODE_NONE);
            braid_code_finish(&code);
        } else {
            assert_true(reason.text[0]);
            assert_true(reason.at >= text && reason.at <= text + length);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_that_end_early_prove_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
