// SPDX-License-Identifier: Apache-2.0
// The installed nvJitLink makes code of text that calls functions of the driver. The driver gets
// the text itself where nvJitLink refuses it. This needs no device.
#include <stdio.h>
#include <string.h>

#include "backends/gpu/gpu_assemble.h"
#include "backends/gpu/gpu_backend.h"
#include "backends/gpu/gpu_vendor.h"
#include "support/check.h"

#define PTX(version, target, more, body)                                                           \
    ".version " version "\n.target " target "\n.address_size 64\n" more                            \
    ".visible .entry k()\n{\n.reg .b64 %rd<4>;\n.reg .b32 %r<4>;\nmov.u64 %rd1, 0;\nmov.u32 %r1, " \
    "1;\n" body "ret;\n}\n"
#define ONE "{\n.param .b64 a;\nst.param.b64 [a], %rd1;\n"
#define TWO ONE ".param .b64 b;\nst.param.b64 [b], %rd1;\n"

// Each is compiled, or else goes to the driver as text.
static const struct {
    const char *what, *text;
    bool is_compiled;
} texts[] = {
    { "an old target", PTX("6.0", "sm_52", "", ""), true },
    { "all instructions of one architecture", PTX("8.0", "sm_90a", "", ""), true },
    { "printf",
      PTX("7.0", "sm_80", ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n",
          TWO ".param .b32 c;\ncall.uni (c), vprintf, (a, b);\n}\n"),
      true },
    { "malloc",
      PTX("7.0", "sm_80", ".extern .func (.param .b64 r) malloc(.param .b64 a);\n",
          ONE ".param .b64 c;\ncall.uni (c), malloc, (a);\n}\n"),
      true },
    { "a variable of its own",
      PTX("7.0", "sm_80", ".visible .global .b32 mine;\n", "st.global.u32 [mine], %r1;\n"), true },
    { "a function that is nowhere",
      PTX("7.0", "sm_80", ".extern .func nowhere(.param .b64 a);\n",
          ONE "call.uni nowhere, (a);\n}\n"),
      false },
    { "a variable that is nowhere",
      PTX("7.0", "sm_80", ".extern .global .b32 nowhere;\n", "st.global.u32 [nowhere], %r1;\n"),
      false },
    { "PTX of a later version", PTX("99.0", "sm_80", "", ""), false },
    { "a later target", PTX("8.0", "sm_999", "", ""), false },
    { "no instruction", PTX("7.0", "sm_80", "", "ponder.u32 %r1;\n"), false },
};

static char loaded[4]; // the beginning of what the driver got last
static char told[1000];

static gpu_result load(gpu_module *out_module, const void *image)
{
    (void)out_module;
    memcpy(loaded, image, sizeof(loaded));
    return GPU_SUCCESS;
}

static void take_log(braid_status status, const char *message, void *user)
{
    (void)status, (void)user;
    snprintf(told, sizeof(told), "%s", message);
}

static void each_text_is_compiled_or_told(void **state)
{
    (void)state;
    const struct gpu_api api = { .module_load = load };
    struct gpu_backend gpu = { .vendor = &braid_gpu_cuda, .api = &api, .architecture = "90" };
    braid_log_set(take_log, NULL);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        gpu_module module = NULL;
        *told = '\0';
        assert_int_equal(braid_gpu_load_text(&gpu, "k", texts[i].text, &module), GPU_SUCCESS);
        const bool is_code = memcmp(loaded, "\177ELF", 4) == 0;
        if (is_code != texts[i].is_compiled || !*told != texts[i].is_compiled)
            fail_msg("%s: %s, and the log has '%s'", texts[i].what, is_code ? "code" : "text",
                     told);
    }
    braid_log_set(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_text_is_compiled_or_told) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
