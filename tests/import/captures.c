// SPDX-License-Identifier: Apache-2.0
// Streams of a few kernels, captured on the stand-in for CUDA and imported.
#include "import/captures.h"

#define COPY                                                                                       \
    ".visible .entry copy(.param .u64 from, .param .u64 to) {\n"                                   \
    ".reg .u64 %d<3>; .reg .u32 %r<3>;\n"                                                          \
    "ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to];\n"                                          \
    "ld.global.u32 %r0, [%d0]; add.u32 %r0, %r0, 1; st.global.u32 [%d1], %r0;\nret;\n}\n"
const char copy_text[] = HEAD COPY;
const char text[] =
    HEAD ".global .u32 number;\n" COPY
         // Sums the words from one address to another.
         ".visible .entry sum(.param .u64 from, .param .u64 end, .param .u64 to) {\n"
         ".reg .u64 %d<4>; .reg .u32 %r<3>; .reg .pred %p;\n"
         "ld.param.u64 %d0, [from]; ld.param.u64 %d1, [end]; ld.param.u64 %d2, [to];\n"
         "mov.u32 %r0, 0;\nnext:\nsetp.ge.u64 %p, %d0, %d1;\n@%p bra done;\n"
         "ld.global.u32 %r1, [%d0]; add.u32 %r0, %r0, %r1; add.u64 %d0, %d0, 4;\nbra next;\n"
         "done:\nst.global.u32 [%d2], %r0;\nret;\n}\n"
         // Each block writes a word of its own.
         ".visible .entry spread(.param .u64 to) {\n.reg .u64 %d<3>; .reg .u32 %r;\n"
         "ld.param.u64 %d0, [to]; mov.u32 %r, %ctaid.x; mul.wide.u32 %d1, %r, 4;\n"
         "add.u64 %d2, %d0, %d1; st.global.u32 [%d2], 77;\nret;\n}\n"
         ".visible .entry count() {\n.reg .u32 %r;\nld.global.u32 %r, [number];\n"
         "add.u32 %r, %r, 1;\nst.global.u32 [number], %r;\nret;\n}\n"
         ".visible .entry follow(.param .u64 at, .param .u64 to) {\n"
         ".reg .u64 %d<3>; .reg .u32 %r;\nld.param.u64 %d0, [at]; ld.param.u64 %d2, [to];\n"
         "ld.global.u64 %d1, [%d0];\nld.global.u32 %r, [%d1]; st.global.u32 [%d2], %r;\nret;\n}\n";
CUstream side;

int open_captures(void **state)
{
    (void)state;
    open_here(text, BYTES);
    must(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
    return 0;
}

int close_captures(void **state)
{
    (void)state;
    must(cuStreamDestroy_v2(side));
    close_here();
    return 0;
}

void begin_capture(void)
{
    must(cuStreamBeginCapture_v2(here.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
}

void wait_for(CUstream on, CUstream before)
{
    must(cuEventRecord(here.event, before));
    must(cuStreamWaitEvent(on, here.event, 0));
}

static braid_status try_import(const braid_import_options *options)
{
    must(cuStreamEndCapture(here.stream, &here.graph));
    const braid_status status = braid_import_create(here.device, here.graph, options, &here.import);
    must(cuGraphDestroy(here.graph));
    return status;
}

void import_with(const braid_import_options *options)
{
    check_ok(try_import(options));
    braid_import_get_info(here.import, &here.info);
}

const char *report(braid_import_report form)
{
    static char written[8192];
    FILE *file = fmemopen(written, sizeof(written), "w");
    assert_non_null(file);
    check_ok(braid_import_write(here.import, form, file));
    assert_int_equal(fclose(file), 0);
    return written;
}

void expect_report(const char *line)
{
    if (!strstr(report(BRAID_IMPORT_TEXT), line))
        fail_msg("'%s' is not in: %s", line, report(BRAID_IMPORT_TEXT));
}

void expect_refusal(const braid_import_options *options, braid_status status, const char *message)
{
    assert_int_equal(try_import(options), status);
    if (!strstr(braid_error_get_message(), message))
        fail_msg("'%s' is not in: %s", message, braid_error_get_message());
}

void play(void)
{
    braid_exec *exec;
    check_ok(braid_exec_create(here.device, braid_import_get_graph(here.import), NULL, &exec));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    braid_exec_destroy(exec);
}
