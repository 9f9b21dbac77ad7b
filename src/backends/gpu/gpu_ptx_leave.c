// SPDX-License-Identifier: Apache-2.0
// Whether threads of a kernel end while others of it still meet.
#include "backends/gpu/gpu_ptx_leave.h"

#include <stdlib.h>

#include "base/array.h"

// What of a body decides where its threads may meet, in the order of the text.
enum mark_kind { MARK_LABEL, MARK_BRANCH, MARK_BARRIER, MARK_EXIT, MARK_OTHER };

struct mark {
    enum mark_kind kind;
    struct ptx_word label; // that it is or goes to; length 0: one of several
};

struct marks {
    struct mark *items;
    size_t num;
};

static bool is_exit(const struct ptx_statement *statement)
{
    return statement->kind == PTX_INSTRUCTION && (statement->facts & PTX_EXIT);
}

static struct mark make_mark(const struct ptx_statement *statement, unsigned meets)
{
    const char *at = statement->word.at + statement->word.length;
    bool is_plain =
        braid_ptx_word_is(statement->word, "bra") || braid_ptx_word_is(statement->word, "bra.uni");
    if (statement->kind == PTX_LABEL)
        return (struct mark){ MARK_LABEL, statement->word };
    if (is_exit(statement))
        return (struct mark){ .kind = MARK_EXIT };
    if (statement->facts & PTX_BRANCH)
        return (struct mark){ MARK_BRANCH,
                              is_plain ? braid_ptx_next_word(&at) : (struct ptx_word){ 0 } };
    return (struct mark){ .kind = statement->facts & meets ? MARK_BARRIER : MARK_OTHER };
}

// The place of the label that a branch goes to; the end where it is not known.
static size_t find_label(const struct marks *marks, struct ptx_word label)
{
    size_t i = 0;
    while (i < marks->num && (marks->items[i].kind != MARK_LABEL || label.length == 0 ||
                              !ptx_same_word(marks->items[i].label, label)))
        i++;
    return i;
}

// Whether a branch goes to where nothing is but the end.
static bool goes_to_exit(const struct marks *marks, size_t branch)
{
    size_t at = find_label(marks, marks->items[branch].label);
    while (at < marks->num && marks->items[at].kind == MARK_LABEL)
        at++;
    return at == marks->num || marks->items[at].kind == MARK_EXIT;
}

// Whether threads that have ended may have others of their warp at a barrier after: one stands
// behind a way out, be it by a branch back.
static bool may_leave(const struct marks *marks)
{
    size_t num = marks->num, last = 0, first_exit = num;
    for (size_t i = 0; i < num; i++) {
        const struct mark *mark = &marks->items[i];
        bool is_way_out =
            mark->kind == MARK_EXIT || (mark->kind == MARK_BRANCH && goes_to_exit(marks, i));
        if (is_way_out && first_exit == num)
            first_exit = i;
        if (mark->kind == MARK_BARRIER)
            last = i + 1;
    }
    if (last > first_exit)
        return true;
    for (size_t i = first_exit; i < num && last; i++) {
        const struct mark *mark = &marks->items[i];
        bool is_known = mark->label.length > 0; // one to several places may go to any
        if (mark->kind == MARK_BRANCH &&
            (!is_known || (!goes_to_exit(marks, i) && find_label(marks, mark->label) < last)))
            return true;
    }
    return false;
}

enum ptx_leaving braid_ptx_find_leaving(const struct ptx_statement *statements, size_t num,
                                        unsigned facts)
{
    struct marks marks = { .items = braid_allocate_zeroed(num, sizeof(*marks.items)) };
    if (!marks.items)
        return PTX_LEAVING_NO_MEMORY;
    for (size_t i = 0; i < num; i++) {
        const struct ptx_statement *statement = &statements[i];
        if (statement->kind == PTX_LABEL || statement->kind == PTX_INSTRUCTION)
            marks.items[marks.num++] = make_mark(statement, facts);
    }
    bool leaves = may_leave(&marks);
    free(marks.items);
    return leaves ? PTX_LEAVES : PTX_STAYS;
}
