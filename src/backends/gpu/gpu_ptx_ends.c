// SPDX-License-Identifier: Apache-2.0
// Putting code at the begin and at the end of every kernel of a text.
#include "backends/gpu/gpu_ptx_ends.h"

#include <string.h>

#include "backends/gpu/gpu_edit.h"
#include "backends/gpu/gpu_ptx_leave.h"

static const char decides[] = "\n    // Braid decides";
static const char has_decided[] = "    // Braid has decided\n";
static const char kernel_place[] = "    // The kernel stands here.";

struct putter {
    const struct ptx_ends *ends;
    struct gpu_edits edits;
    const char *reason;
};

static struct ptx_word between(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from) + strlen(from);
    return (struct ptx_word){ at, (size_t)(strstr(at, to) - at) };
}

static bool is_exit(const struct ptx_statement *statement)
{
    return statement->kind == PTX_INSTRUCTION && (statement->facts & PTX_EXIT);
}

static void edit_exits(struct putter *putter, const struct ptx_function *function,
                       const struct ptx_statement *statements)
{
    for (size_t i = 0; i < function->num; i++) {
        const struct ptx_statement *statement = &statements[i];
        if (!is_exit(statement))
            continue;
        braid_gpu_edit(&putter->edits, statement->word.at,
                       statement->word.at + statement->word.length, putter->ends->leave);
        if (statement->depth > 1)
            putter->reason = "it ends inside a block of its own";
    }
}

// A part of a block that meets by itself would meet the others at a barrier of the end.
static enum ptx_leaving find_leaving(struct putter *putter, const struct ptx_function *function,
                                     const struct ptx_statement *statements)
{
    enum ptx_leaving leaving = braid_ptx_find_leaving(statements, function->num, PTX_SYNC);
    if (leaving == PTX_LEAVES)
        putter->reason = "threads of it end while others meet at a barrier";
    if (leaving != PTX_STAYS || !putter->ends->meets)
        return leaving;
    leaving = braid_ptx_find_apart(statements, function->num, PTX_BARRIER | PTX_CALL);
    if (leaving == PTX_LEAVES)
        putter->reason = "a part of its threads may meet at a barrier";
    return leaving;
}

void braid_gpu_ptx_put_before(struct gpu_edits *edits, const struct ptx_function *entry,
                              const char *text)
{
    const char *head = strstr(text, ".entry");
    const struct ptx_word before = between(head, "\n{", kernel_place);
    braid_ptx_add_parameters(edits, entry, between(head, "(", ")"));
    if (entry->body)
        braid_gpu_edit_part(edits, entry->body, entry->body, before.at, before.length);
}

static void edit_entry(struct putter *putter, const struct ptx_function *function,
                       const struct ptx_statement *statements)
{
    const char *behind = strstr(putter->ends->text, kernel_place) + sizeof(kernel_place) - 1;
    braid_gpu_ptx_put_before(&putter->edits, function, putter->ends->text);
    if (!function->body || !putter->ends->leave)
        return;
    edit_exits(putter, function, statements);
    braid_gpu_edit_part(&putter->edits, function->body_end, function->body_end, behind,
                        (size_t)(strrchr(behind, '}') - behind));
    if (!putter->reason && find_leaving(putter, function, statements) == PTX_LEAVING_NO_MEMORY)
        putter->edits.failed = true;
}

static const char *find_reason(const struct ptx *ptx, const struct ptx_function *function,
                               bool has_end)
{
    if (braid_ptx_word_begins(function->name, "cudaLaunchDevice") ||
        braid_ptx_word_begins(function->name, "cudaCDP"))
        return "it launches kernels itself";
    for (size_t i = 0; i < function->num && !function->is_entry && has_end; i++) {
        if (braid_ptx_word_is(ptx_statements(ptx, function)[i].word, "exit"))
            return "a function of it ends threads";
    }
    return NULL;
}

static void edit(struct putter *putter, const struct ptx *ptx)
{
    if (putter->ends->needs_sm_70 && braid_ptx_target(ptx) < 70)
        putter->reason = "it is for a device before sm_70";
    if (putter->ends->version)
        braid_ptx_raise_version(&putter->edits, ptx, putter->ends->version);
    for (size_t i = 0; i < ptx->functions.num && !putter->reason; i++) {
        const struct ptx_function *function = &ptx_functions(ptx)[i];
        putter->reason = find_reason(ptx, function, putter->ends->leave);
        if (!putter->reason && function->is_entry)
            edit_entry(putter, function, ptx_statements(ptx, function));
    }
}

// Comments of a program may look like Braid's, be it in another function or inside a statement.
const char *braid_gpu_ptx_behind_decision(const struct ptx *ptx,
                                          const struct ptx_function *function)
{
    const char *body = function->body;
    bool is_there = strncmp(body, decides, sizeof(decides) - 1) == 0;
    const char *end = is_there ? strstr(body, has_decided) : NULL;
    if (!end || end >= function->body_end)
        return body;
    for (size_t i = 0; i < function->num; i++) {
        const struct ptx_statement *statement = &ptx_statements(ptx, function)[i];
        if (statement->begin < end && statement->end > end)
            return body;
    }
    return end + sizeof(has_decided) - 1;
}

char *braid_gpu_ptx_with_ends(const char *text, const struct ptx_ends *ends,
                              struct ptx_reason *out_reason)
{
    struct ptx ptx;
    struct putter putter = { .ends = ends };
    if (!braid_ptx_read(text, &ptx, out_reason))
        return NULL;
    edit(&putter, &ptx);
    char *made = putter.reason ? NULL : braid_gpu_apply_edits(&putter.edits, text);
    braid_ptx_refuse(out_reason, "%s", putter.reason ? putter.reason : "");
    braid_gpu_edits_finish(&putter.edits);
    braid_ptx_finish(&ptx);
    return made;
}
