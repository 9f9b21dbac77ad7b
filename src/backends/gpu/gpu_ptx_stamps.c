// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that its kernels write down when they began and ended.
#include "backends/gpu/gpu_ptx_stamps.h"

#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_edit.h"
#include "backends/gpu/gpu_ptx_leave.h"

#define PARAMETERS ".param .u64 braid_stamps, .param .u32 braid_mask"

// activemask came with PTX 6.2.
#define VERSION "6.2"
enum { OLDEST_VERSION = 602 };

#define REGISTERS "\t.reg .pred %braid_p;\n\t.reg .b32 %braid_i<2>;\n\t.reg .b64 %braid_t<2>;\n"

#define ADDRESS                                                                                    \
    "\tmov.u32 %braid_i0, %smid;\n"                                                                \
    "\tld.param.u32 %braid_i1, [braid_mask];\n"                                                    \
    "\tand.b32 %braid_i0, %braid_i0, %braid_i1;\n"                                                 \
    "\tld.param.u64 %braid_t1, [braid_stamps];\n"                                                  \
    "\tmad.wide.u32 %braid_t1, %braid_i0, 128, %braid_t1;\n"

// Whether this thread writes, and where to: an early start may do this before its wait.
static const char decide[] = "\n\t{\n" REGISTERS "\tmov.u32 %braid_i0, %tid.x;\n"
                             "\tmov.u32 %braid_i1, %tid.y;\n"
                             "\tor.b32 %braid_i0, %braid_i0, %braid_i1;\n"
                             "\tmov.u32 %braid_i1, %tid.z;\n"
                             "\tor.b32 %braid_i0, %braid_i0, %braid_i1;\n"
                             "\tmov.u32 %braid_i1, %ctaid.x;\n"
                             "\tshr.u32 %braid_i1, %braid_i1, 3;\n" // the first eight
                             "\tor.b32 %braid_i0, %braid_i0, %braid_i1;\n"
                             "\tmov.u32 %braid_i1, %ctaid.y;\n"
                             "\tor.b32 %braid_i0, %braid_i0, %braid_i1;\n"
                             "\tmov.u32 %braid_i1, %ctaid.z;\n"
                             "\tor.b32 %braid_i0, %braid_i0, %braid_i1;\n"
                             "\tsetp.ne.u32 %braid_p, %braid_i0, 0;\n" ADDRESS;

static const char begin[] = "\t@%braid_p bra braid_began;\n"
                            "\tmov.u64 %braid_t0, %globaltimer;\n"
                            "\tnot.b64 %braid_t0, %braid_t0;\n"
                            "\tred.global.max.u64 [%braid_t1], %braid_t0;\n"
                            "braid_began:\n\t}\n";

static const char end[] = "\nbraid_end:\n\t{\n" REGISTERS "\tactivemask.b32 %braid_i0;\n"
                          "\tbrev.b32 %braid_i0, %braid_i0;\n"
                          "\tclz.b32 %braid_i0, %braid_i0;\n"
                          "\tmov.u32 %braid_i1, %laneid;\n"
                          "\tsetp.ne.u32 %braid_p, %braid_i0, %braid_i1;\n"
                          "\t@%braid_p bra braid_ended;\n"
                          "\tmov.u64 %braid_t0, %globaltimer;\n" ADDRESS
                          "\tred.global.max.u64 [%braid_t1+8], %braid_t0;\n"
                          "braid_ended:\n\t}\n\tret;\n";

struct stamper {
    struct gpu_edits edits;
    const char *reason;
};

static bool is_exit(const struct ptx_statement *statement)
{
    return statement->kind == PTX_INSTRUCTION && (statement->facts & PTX_EXIT);
}

static void edit_exits(struct stamper *stamper, const struct ptx_function *function,
                       const struct ptx_statement *statements)
{
    for (size_t i = 0; i < function->num; i++) {
        const struct ptx_statement *statement = &statements[i];
        if (!is_exit(statement))
            continue;
        braid_gpu_edit(&stamper->edits, statement->word.at,
                       statement->word.at + statement->word.length, "bra braid_end");
        if (statement->depth > 1)
            stamper->reason = "it ends inside a block of its own";
    }
}

static void edit_entry(struct stamper *stamper, const struct ptx_function *function,
                       const struct ptx_statement *statements)
{
    braid_ptx_add_parameters(&stamper->edits, function, PARAMETERS);
    if (!function->body)
        return;
    braid_gpu_edit(&stamper->edits, function->body, function->body, decide);
    braid_gpu_edit(&stamper->edits, function->body, function->body, begin);
    edit_exits(stamper, function, statements);
    braid_gpu_edit(&stamper->edits, function->body_end, function->body_end, end);
    enum ptx_leaving leaving =
        stamper->reason ? PTX_STAYS : braid_ptx_find_leaving(statements, function->num, PTX_SYNC);
    if (leaving == PTX_LEAVES)
        stamper->reason = "threads of it end while others meet at a barrier";
    stamper->edits.failed |= leaving == PTX_LEAVING_NO_MEMORY;
}

static const char *find_reason(const struct ptx *ptx, const struct ptx_function *function)
{
    if (braid_ptx_word_begins(function->name, "cudaLaunchDevice") ||
        braid_ptx_word_begins(function->name, "cudaCDP"))
        return "it launches kernels itself";
    for (size_t i = 0; i < function->num && !function->is_entry; i++) {
        if (braid_ptx_word_is(ptx_statements(ptx, function)[i].word, "exit"))
            return "a function of it ends threads";
    }
    return NULL;
}

static void edit(struct stamper *stamper, const struct ptx *ptx)
{
    struct ptx_word version = ptx->version;
    if (version.length && braid_ptx_version(ptx) < OLDEST_VERSION)
        braid_gpu_edit(&stamper->edits, version.at, version.at + version.length, VERSION);
    for (size_t i = 0; i < ptx->functions.num && !stamper->reason; i++) {
        const struct ptx_function *function = &ptx_functions(ptx)[i];
        stamper->reason = find_reason(ptx, function);
        if (!stamper->reason && function->is_entry)
            edit_entry(stamper, function, ptx_statements(ptx, function));
    }
}

const char *braid_gpu_ptx_behind_decision(const char *body)
{
    size_t length = sizeof(decide) - 1;
    return strncmp(body, decide, length) == 0 ? body + length : body;
}

char *braid_gpu_ptx_with_stamps(const char *text, struct ptx_reason *out_reason)
{
    struct ptx ptx;
    struct stamper stamper = { 0 };
    if (!braid_ptx_read(text, &ptx, out_reason))
        return NULL;
    edit(&stamper, &ptx);
    char *made = stamper.reason ? NULL : braid_gpu_apply_edits(&stamper.edits, text);
    braid_ptx_refuse(out_reason, "%s", stamper.reason ? stamper.reason : "");
    braid_gpu_edits_finish(&stamper.edits);
    braid_ptx_finish(&ptx);
    return made;
}
