// SPDX-License-Identifier: Apache-2.0
// Changing PTX so that its kernels write down when they began and ended.
#include "backends/gpu/gpu_ptx_stamps.h"

#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_edit.h"
#include "backends/gpu/gpu_ptx_words.h"

#define PARAMETERS ".param .u64 braid_stamps, .param .u32 braid_mask"

// activemask came with PTX 6.2.
#define OLDEST_VERSION "6.2"

#define REGISTERS "\t.reg .pred %braid_p;\n\t.reg .b32 %braid_i<2>;\n\t.reg .b64 %braid_t<2>;\n"

#define ADDRESS                                                                                    \
    "\tmov.u32 %braid_i0, %smid;\n"                                                                \
    "\tld.param.u32 %braid_i1, [braid_mask];\n"                                                    \
    "\tand.b32 %braid_i0, %braid_i0, %braid_i1;\n"                                                 \
    "\tld.param.u64 %braid_t1, [braid_stamps];\n"                                                  \
    "\tmad.wide.u32 %braid_t1, %braid_i0, 128, %braid_t1;\n"

// Whether this thread writes, and where to: what an early start may do before its wait.
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

// What of a body decides where its threads may meet, in the order of the text.
enum mark_kind { MARK_LABEL, MARK_BRANCH, MARK_BARRIER, MARK_EXIT, MARK_OTHER };

struct mark {
    enum mark_kind kind;
    struct ptx_word label; // that it is or goes to; length 0: one of several
};

struct stamper {
    struct gpu_edits edits;
    struct mark *marks; // of the entry at hand
    size_t num_marks, room;
    const char *reason;
    bool refused, failed;
};

static void refuse(struct stamper *stamper, const char *reason)
{
    stamper->refused = true;
    stamper->reason = reason;
}

static void add_mark(struct stamper *stamper, enum mark_kind kind, struct ptx_word label)
{
    if (stamper->num_marks == stamper->room) {
        size_t room = stamper->room ? 2 * stamper->room : 64;
        struct mark *marks = realloc(stamper->marks, room * sizeof(*marks));
        stamper->failed |= !marks;
        if (!marks)
            return;
        stamper->marks = marks;
        stamper->room = room;
    }
    stamper->marks[stamper->num_marks++] = (struct mark){ kind, label };
}

// Also what only threads of one warp meet at, and calls, since functions may have any of them.
static bool is_barrier(struct ptx_word word)
{
    if (braid_ptx_word_begins(word, "bar.") || braid_ptx_word_begins(word, "barrier") ||
        braid_ptx_word_begins(word, "call") || braid_ptx_word_begins(word, "mbarrier"))
        return true;
    for (size_t i = 0; i + 5 <= word.length; i++)
        if (memcmp(word.at + i, ".sync", 5) == 0)
            return true;
    return false;
}

static bool is_exit(struct ptx_word word)
{
    return braid_ptx_word_is(word, "ret") || braid_ptx_word_is(word, "ret.uni") ||
           braid_ptx_word_is(word, "exit");
}

static bool same_word(struct ptx_word a, struct ptx_word b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

static struct ptx_word peek(const char *text)
{
    return braid_ptx_next_word(&text);
}

// One word of a body; `first`: it begins a statement.
static void read_word(struct stamper *stamper, struct ptx_word word, const char **text, bool first,
                      int depth)
{
    static const struct ptx_word several = { 0 };
    if (is_exit(word)) {
        add_mark(stamper, MARK_EXIT, several);
        braid_gpu_edit(&stamper->edits, word.at, word.at + word.length, "bra braid_end");
        if (depth > 1)
            refuse(stamper, "it ends inside a block of its own");
    } else if (braid_ptx_word_is(word, "bra") || braid_ptx_word_is(word, "bra.uni")) {
        add_mark(stamper, MARK_BRANCH, braid_ptx_next_word(text));
    } else if (braid_ptx_word_begins(word, "brx")) {
        add_mark(stamper, MARK_BRANCH, several);
    } else if (is_barrier(word)) {
        add_mark(stamper, MARK_BARRIER, several);
    } else if (first && braid_ptx_word_is(peek(*text), ":")) {
        add_mark(stamper, MARK_LABEL, word);
        braid_ptx_next_word(text);
    } else if (first && !braid_ptx_word_begins(word, ".")) {
        add_mark(stamper, MARK_OTHER, several);
    }
}

// The place of the label that a branch goes to; the end where it is not known.
static size_t find_label(const struct stamper *stamper, struct ptx_word label)
{
    size_t i = 0;
    while (i < stamper->num_marks && (stamper->marks[i].kind != MARK_LABEL || label.length == 0 ||
                                      !same_word(stamper->marks[i].label, label)))
        i++;
    return i;
}

// Whether a branch goes to where nothing is but the end.
static bool goes_to_exit(const struct stamper *stamper, size_t branch)
{
    size_t at = find_label(stamper, stamper->marks[branch].label);
    while (at < stamper->num_marks && stamper->marks[at].kind == MARK_LABEL)
        at++;
    return at == stamper->num_marks || stamper->marks[at].kind == MARK_EXIT;
}

// Whether threads that have ended may have others of their warp at a barrier after: one stands
// behind a way out, be it by a branch back.
static bool may_leave_barriers(const struct stamper *stamper)
{
    size_t num = stamper->num_marks, last = 0, first_exit = num;
    for (size_t i = 0; i < num; i++) {
        const struct mark *mark = &stamper->marks[i];
        bool is_way_out =
            mark->kind == MARK_EXIT || (mark->kind == MARK_BRANCH && goes_to_exit(stamper, i));
        if (is_way_out && first_exit == num)
            first_exit = i;
        if (mark->kind == MARK_BARRIER)
            last = i + 1;
    }
    if (last > first_exit)
        return true;
    for (size_t i = first_exit; i < num && last; i++) {
        const struct mark *mark = &stamper->marks[i];
        bool is_known = mark->label.length > 0; // one to several places may go to any
        if (mark->kind == MARK_BRANCH &&
            (!is_known || (!goes_to_exit(stamper, i) && find_label(stamper, mark->label) < last)))
            return true;
    }
    return false;
}

// From behind the brace that opens it to behind the one that closes it.
static void read_body(struct stamper *stamper, const char **text)
{
    stamper->num_marks = 0;
    braid_gpu_edit(&stamper->edits, *text, *text, decide);
    braid_gpu_edit(&stamper->edits, *text, *text, begin);
    bool first = true;
    for (int depth = 1; !stamper->refused;) {
        struct ptx_word word = braid_ptx_next_word(text);
        if (word.length == 0)
            return;
        bool opens = braid_ptx_word_is(word, "{"), closes = braid_ptx_word_is(word, "}");
        depth += opens - closes;
        if (depth == 0) {
            braid_gpu_edit(&stamper->edits, word.at, word.at, end);
            break;
        }
        if (!opens && !closes)
            read_word(stamper, word, text, first, depth);
        bool labelled = (*text)[-1] == ':';
        first = opens || closes || labelled || braid_ptx_word_is(word, ";");
    }
    if (!stamper->refused && may_leave_barriers(stamper))
        refuse(stamper, "threads of it end while others meet at a barrier");
}

// Parameters behind those of an entry, from behind its name.
static void add_parameters(struct stamper *stamper, const char **text)
{
    const char *ahead = *text;
    if (!braid_ptx_word_is(braid_ptx_next_word(&ahead), "(")) {
        braid_gpu_edit(&stamper->edits, *text, *text, "(" PARAMETERS ")\n");
        return;
    }
    bool empty = true;
    struct ptx_word word = braid_ptx_next_word(&ahead);
    for (; word.length && !braid_ptx_word_is(word, ")"); word = braid_ptx_next_word(&ahead))
        empty = false;
    braid_gpu_edit(&stamper->edits, word.at, word.at, empty ? PARAMETERS : ", " PARAMETERS);
    *text = ahead;
}

static void read_entry(struct stamper *stamper, const char **text)
{
    braid_ptx_next_word(text); // its name
    add_parameters(stamper, text);
    struct ptx_word word = braid_ptx_next_word(text);
    while (word.length && !braid_ptx_word_is(word, "{") && !braid_ptx_word_is(word, ";"))
        word = braid_ptx_next_word(text);
    if (braid_ptx_word_is(word, "{"))
        read_body(stamper, text);
}

static void read_version(struct stamper *stamper, const char **text)
{
    struct ptx_word version = braid_ptx_next_word(text);
    char *rest = NULL;
    long major = strtol(version.at, &rest, 10);
    long minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;
    if (major < 6 || (major == 6 && minor < 2))
        braid_gpu_edit(&stamper->edits, version.at, version.at + version.length, OLDEST_VERSION);
}

static void look_at(struct stamper *stamper, struct ptx_word word, const char **text)
{
    if (braid_ptx_word_is(word, ".version"))
        read_version(stamper, text);
    else if (braid_ptx_word_is(word, ".entry"))
        read_entry(stamper, text);
    else if (braid_ptx_word_is(word, "exit"))
        refuse(stamper, "a function of it ends threads");
    else if (braid_ptx_word_begins(word, "cudaLaunchDevice") ||
             braid_ptx_word_begins(word, "cudaCDP"))
        refuse(stamper, "it launches kernels itself");
}

const char *braid_gpu_ptx_behind_decision(const char *body)
{
    size_t length = sizeof(decide) - 1;
    return strncmp(body, decide, length) == 0 ? body + length : body;
}

char *braid_gpu_ptx_with_stamps(const char *text, const char **out_reason)
{
    struct stamper stamper = { 0 };
    const char *at = text;
    struct ptx_word word = braid_ptx_next_word(&at);
    while (word.length > 0 && !stamper.refused) {
        look_at(&stamper, word, &at);
        word = braid_ptx_next_word(&at);
    }
    char *made =
        stamper.refused || stamper.failed ? NULL : braid_gpu_apply_edits(&stamper.edits, text);
    braid_gpu_edits_finish(&stamper.edits);
    free(stamper.marks);
    *out_reason = stamper.reason;
    return made;
}
