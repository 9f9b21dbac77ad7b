// SPDX-License-Identifier: Apache-2.0
// The changes of a kernel's text, in the order in which they are made.
#include "backends/gpu/gpu_ptx_passes.h"

#include <string.h>

#include "backends/gpu/gpu_edit.h"
#include "backends/gpu/gpu_ptx_early.h"
#include "backends/gpu/gpu_ptx_grid.h"
#include "backends/gpu/gpu_ptx_notes.h"
#include "backends/gpu/gpu_ptx_prefetch.h"
#include "backends/gpu/gpu_ptx_stamps.h"
#include "base/host_memory.h"
#include "ptx/ptx_leave.h"
#include "ptx/ptx_read.h"

struct ptx_ends {
    // PTX of a kernel whose parameters stand behind the other's own. A comment is in the place of
    // the other. A kernel may wait behind another comment: "Braid has decided".
    const char *text;
    const char *leave;   // the instruction that goes behind that place; NULL: nothing does
    const char *version; // the PTX that the code needs; NULL: any
    bool needs_sm_70;    // a device of then or later
    bool meets;          // all threads of a block meet at the end
};

// ---- code at the begin and at the end of every kernel ----

// All ways out of a kernel then lead to the code at the end. Threads of a warp may wait for each
// other there. If others of the warp wait for a barrier that counts those as gone, that would never
// end. So such kernels stay as they are.

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

// Puts the parameters of such a text into an entry, and the code before the place into its body.
static void put_before(struct gpu_edits *edits, const struct ptx_function *entry, const char *text)
{
    const char *head = strstr(text, ".entry");
    const struct ptx_word before = between(head, "\n{", kernel_place);
    braid_gpu_edit_parameters(edits, entry, between(head, "(", ")"));
    if (entry->body)
        braid_gpu_edit_part(edits, entry->body, entry->body, before.at, before.length);
}

static void edit_entry(struct putter *putter, const struct ptx_function *function,
                       const struct ptx_statement *statements)
{
    const char *behind = strstr(putter->ends->text, kernel_place) + sizeof(kernel_place) - 1;
    put_before(&putter->edits, function, putter->ends->text);
    if (!function->body || !putter->ends->leave)
        return;
    edit_exits(putter, function, statements);
    braid_gpu_edit_part(&putter->edits, function->body_end, function->body_end, behind,
                        (size_t)(strrchr(behind, '}') - behind));
    if (!putter->reason && find_leaving(putter, function, statements) == PTX_LEAVING_NO_MEMORY)
        putter->edits.failed = true;
}

static const char *why_no_ends(const struct ptx *ptx, const struct ptx_function *function,
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

// Before all other edits: a text of an older version has this one then, such as "7.8".
static void raise_version(struct gpu_edits *edits, const struct ptx *ptx, const char *least)
{
    const struct ptx_word version = ptx->version, other = { least, strlen(least) };
    if (version.length && braid_ptx_version(ptx) < braid_ptx_version_number(other))
        braid_gpu_edit(edits, version.at, version.at + version.length, least);
}

static void edit_ends(struct putter *putter, const struct ptx *ptx)
{
    if (putter->ends->needs_sm_70 && braid_ptx_target(ptx) < 70)
        putter->reason = "it is for a device before sm_70";
    if (putter->ends->version)
        raise_version(&putter->edits, ptx, putter->ends->version);
    for (size_t i = 0; i < ptx->functions.num && !putter->reason; i++) {
        const struct ptx_function *function = &ptx_functions(ptx)[i];
        putter->reason = why_no_ends(ptx, function, putter->ends->leave);
        if (!putter->reason && function->is_entry)
            edit_entry(putter, function, ptx_statements(ptx, function));
    }
}

// The place where an entry with a body may wait. If the code that decides begins the body, the
// place is behind that. Comments of a program may look like Braid's, be it in another function or
// inside a statement.
static const char *behind_decision(const struct ptx *ptx, const struct ptx_function *function)
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

// The same text with the code in every entry, for the caller to free. NULL: it stays as it is.
// *out_reason says why, or is empty if memory ran out.
static char *put_ends(const char *text, const struct ptx_ends *ends, struct ptx_reason *out_reason)
{
    struct ptx ptx;
    struct putter putter = { .ends = ends };
    if (!braid_ptx_read(text, &ptx, out_reason))
        return NULL;
    edit_ends(&putter, &ptx);
    char *made = putter.reason ? NULL : braid_gpu_apply_edits(&putter.edits, text);
    braid_ptx_refuse(out_reason, "%s", putter.reason ? putter.reason : "");
    braid_gpu_edits_finish(&putter.edits);
    braid_ptx_finish(&ptx);
    return made;
}

// ---- early starts ----

enum { OLDEST_TARGET = 70, EARLY_TARGET = 90 };

static const char begin_with_wait[] = "\n\tgriddepcontrol.wait;\n";

static const char *why_not_early(const struct ptx *ptx)
{
    if (ptx->facts & PTX_GRID_CONTROL)
        return "it uses griddepcontrol itself";
    if (ptx->facts & PTX_CLUSTER)
        return "it uses clusters";
    if (ptx->target.length && !braid_ptx_word_begins(ptx->target, "sm_"))
        return "its target is not of the form sm_N";
    if (ptx->target.length && braid_ptx_target(ptx) < OLDEST_TARGET)
        return "it is for a device before sm_70";
    return NULL;
}

static void edit_to_wait(const struct ptx *ptx, struct gpu_edits *edits)
{
    const struct ptx_word target = ptx->target;
    raise_version(edits, ptx, "7.8"); // griddepcontrol came with it
    if (target.length && braid_ptx_target(ptx) < EARLY_TARGET)
        braid_gpu_edit(edits, target.at, target.at + target.length, "sm_90");
    for (size_t i = 0; i < ptx->functions.num; i++) {
        const struct ptx_function *function = &ptx_functions(ptx)[i];
        const char *at =
            function->is_entry && function->body ? behind_decision(ptx, function) : NULL;
        if (at)
            braid_gpu_edit(edits, at, at, begin_with_wait);
    }
}

char *braid_gpu_ptx_with_early_start(const char *text, struct ptx_reason *out_reason)
{
    struct ptx ptx;
    if (!braid_ptx_read(text, &ptx, out_reason))
        return NULL;
    struct gpu_edits edits = { 0 };
    const char *reason = why_not_early(&ptx);
    if (!reason)
        edit_to_wait(&ptx, &edits);
    char *made = reason ? NULL : braid_gpu_apply_edits(&edits, text);
    braid_ptx_refuse(out_reason, "%s", reason ? reason : "");
    braid_gpu_edits_finish(&edits);
    braid_ptx_finish(&ptx);
    return made;
}

// ---- grids from memory ----

extern const char braid_gpu_ptx_grid_ptx[];

// The word of the statement in place of which the grid that was read stands.
static const char *find_grid(struct ptx_word word)
{
    static const struct {
        const char *word, *with;
    } grid[] = { { "%nctaid.x", "%braid_grid_x" },
                 { "%nctaid.y", "%braid_grid_y" },
                 { "%nctaid.z", "%braid_grid_z" } };
    for (int i = 0; i < 3; i++) {
        if (braid_ptx_word_is(word, grid[i].word))
            return grid[i].with;
    }
    return NULL;
}

// Returns why it cannot be done, or NULL.
static const char *edit_statement(const struct ptx_function *function,
                                  const struct ptx_statement *statement, struct gpu_edits *edits)
{
    const char *at = statement->begin;
    while (at < statement->end) {
        struct ptx_word word = braid_ptx_next_word(&at);
        if (at > statement->end || !braid_ptx_word_begins(word, "%nctaid"))
            continue;
        const char *with = find_grid(word);
        if (!function->is_entry)
            return "a function of it reads the grid";
        if (!with)
            return "it reads its grid in an unknown way";
        braid_gpu_edit(edits, word.at, word.at + word.length, with);
    }
    return NULL;
}

static const char *edit_function(const struct ptx *ptx, const struct ptx_function *function,
                                 struct gpu_edits *edits)
{
    const char *reason = NULL;
    if (function->is_entry)
        put_before(edits, function, braid_gpu_ptx_grid_ptx);
    for (size_t i = 0; i < function->num && !reason; i++)
        reason = edit_statement(function, &ptx_statements(ptx, function)[i], edits);
    return reason;
}

char *braid_gpu_ptx_with_read_grid(const char *text, struct ptx_reason *out_reason)
{
    struct ptx ptx;
    if (!braid_ptx_read(text, &ptx, out_reason))
        return NULL;
    struct gpu_edits edits = { 0 };
    const char *reason = ptx.facts & PTX_CLUSTER ? "it uses clusters" : NULL;
    for (size_t i = 0; i < ptx.functions.num && !reason; i++)
        reason = edit_function(&ptx, &ptx_functions(&ptx)[i], &edits);
    char *made = reason ? NULL : braid_gpu_apply_edits(&edits, text);
    braid_ptx_refuse(out_reason, "%s", reason ? reason : "");
    braid_gpu_edits_finish(&edits);
    braid_ptx_finish(&ptx);
    return made;
}

// ---- notes, stamps and prefetches ----

extern const char braid_gpu_ptx_notes_ptx[], braid_gpu_ptx_stamps_ptx[],
    braid_gpu_ptx_prefetch_ptx[];

char *braid_gpu_ptx_with_notes(const char *text, struct ptx_reason *out_reason)
{
    static const struct ptx_ends ends = {
        .text = braid_gpu_ptx_notes_ptx,
        .leave = "bra braid_end",
        .version = "6.0",
        .needs_sm_70 = true,
        .meets = true,
    };
    return put_ends(text, &ends, out_reason);
}

char *braid_gpu_ptx_with_begin_notes(const char *text, struct ptx_reason *out_reason)
{
    static const struct ptx_ends ends = { .text = braid_gpu_ptx_notes_ptx };
    return put_ends(text, &ends, out_reason);
}

char *braid_gpu_ptx_with_stamps(const char *text, struct ptx_reason *out_reason)
{
    static const struct ptx_ends ends = {
        .text = braid_gpu_ptx_stamps_ptx,
        .leave = "bra braid_end",
        .version = "6.2", // activemask came with it
    };
    return put_ends(text, &ends, out_reason);
}

char *braid_gpu_ptx_with_prefetch(const char *text, struct ptx_reason *out_reason)
{
    static const struct ptx_ends ends = {
        .text = braid_gpu_ptx_prefetch_ptx,
        .leave = "bra braid_fetch", // behind the code of gpu_ptx_stamps.h, where that is
        .version = "8.0",           // cp.async.bulk came with it
    };
    return put_ends(text, &ends, out_reason);
}

// ---- their order ----

// A text that waits is not changed to wait again, so the wait of a kernel that prefetches comes
// first. A kernel that also writes its times writes the end before it prefetches.
static const struct pass {
    enum kernel_change change;
    const char *what; // such a kernel does
    uint32_t num_parameters;
    char *(*change_text)(const char *text, struct ptx_reason *out_reason);
} passes[] = {
    // Its parameter is the launch's own.
    { KERNEL_READS_GRID, "read its grid from memory", 0, braid_gpu_ptx_with_read_grid },
    { KERNEL_CHANGED, NULL, 0, NULL }, // see backend_change
    { KERNEL_NOTES, "note its begin and end", GPU_NOTE_PARAMETERS, braid_gpu_ptx_with_notes },
    { KERNEL_NOTES_BEGIN, "note its begin", GPU_NOTE_PARAMETERS, braid_gpu_ptx_with_begin_notes },
    { KERNEL_WRITES_TIMES, "write its times", GPU_STAMP_PARAMETERS, braid_gpu_ptx_with_stamps },
    { KERNEL_WAITS_FIRST, NULL, 0, braid_gpu_ptx_with_early_start },
    { KERNEL_PREFETCHES, "fetch inputs of the next kernel", GPU_PREFETCH_PARAMETERS,
      braid_gpu_ptx_with_prefetch },
};
enum { NUM_PASSES = sizeof(passes) / sizeof(passes[0]) };

const char *braid_gpu_ptx_describe(const struct gpu_code *code)
{
    const char *what = "";
    for (int i = 0; i < NUM_PASSES; i++) {
        if (code->changes & passes[i].change && passes[i].change != KERNEL_WAITS_FIRST)
            what = passes[i].change == KERNEL_CHANGED ? code->change->what : passes[i].what;
    }
    return what;
}

uint32_t braid_gpu_ptx_parameters(const struct gpu_code *code)
{
    uint32_t num = code->change ? code->change->num_parameters : 0;
    for (int i = 0; i < NUM_PASSES; i++)
        num += code->changes & passes[i].change ? passes[i].num_parameters : 0;
    return num;
}

char *braid_gpu_ptx_change(const char *text, const struct gpu_code *code, unsigned *changes,
                           struct ptx_reason *out_reason)
{
    char *made = NULL;
    if (*changes & KERNEL_PREFETCHES)
        *changes |= KERNEL_WAITS_FIRST;
    for (const struct pass *pass = passes; pass < passes + NUM_PASSES; pass++) {
        const char *from = made ? made : text;
        if (!(*changes & pass->change))
            continue;
        char *next = pass->change == KERNEL_CHANGED
                         ? code->change->change_text(code->change, from, out_reason)
                         : pass->change_text(from, out_reason);
        if (!next && *out_reason->text && pass->change == KERNEL_WAITS_FIRST &&
            !(*changes & KERNEL_PREFETCHES)) {
            *changes &= ~(unsigned)KERNEL_WAITS_FIRST;
            continue;
        }
        braid_free(made);
        made = next;
        if (!made)
            return NULL;
    }
    return made;
}
