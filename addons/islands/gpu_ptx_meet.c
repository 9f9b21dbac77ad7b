// SPDX-License-Identifier: Apache-2.0
// Where threads of a call meet: barriers of its block and instructions of its warps.
#include "islands/gpu_ptx_meet.h"

#include <ctype.h>
#include <string.h>

#include "ptx/ptx_leave.h"

enum { NUM_BARRIERS = 16, WARP = 32 };

bool braid_ptx_has_part(struct ptx_word instruction, const char *part)
{
    size_t length = strlen(part);
    for (size_t i = 0; i + length <= instruction.length; i++) {
        if (memcmp(instruction.at + i, part, length) == 0)
            return true;
    }
    return false;
}

// The words between commas, without spaces around; returns how many. 0: there are none, or one is
// empty, or they are too many.
size_t braid_ptx_split_operands(const struct ptx_statement *statement,
                                struct ptx_word operands[PTX_MOST_OPERANDS])
{
    const char *at = statement->word.at + statement->word.length;
    size_t num = 0;
    int depth = 0;
    operands[0] = (struct ptx_word){ 0 };
    for (struct ptx_word word = braid_ptx_next_word(&at); word.at < statement->end;
         word = braid_ptx_next_word(&at)) {
        depth += braid_ptx_word_is(word, "{") - braid_ptx_word_is(word, "}");
        if (depth == 0 && braid_ptx_word_is(word, ";"))
            break;
        if (depth == 0 && braid_ptx_word_is(word, ",")) {
            if (!operands[num].length || ++num == PTX_MOST_OPERANDS)
                return 0;
            operands[num] = (struct ptx_word){ 0 };
            continue;
        }
        if (!operands[num].at)
            operands[num].at = word.at;
        operands[num].length = (size_t)(word.at + word.length - operands[num].at);
    }
    return operands[num].length ? num + 1 : 0;
}

void braid_ptx_put_guard(const struct ptx_meeting *meeting, const struct ptx_statement *statement)
{
    fwrite(statement->begin, 1, (size_t)(statement->word.at - statement->begin), meeting->file);
}

// Each number of all kernels' barriers is one for each lane.
void braid_ptx_put_meeting_places(const struct ptx_meeting *meeting, FILE *to)
{
    const struct ptx_site *site = meeting->site;
    uint32_t at = 0;
    for (unsigned i = 0; i < NUM_BARRIERS; i++) {
        if (meeting->made->numbers >> i & 1)
            fprintf(to, "\t.reg .b32 %%braid_b%u;\n\tadd.u32 %%braid_b%u, %%braid_barrier, %u;\n",
                    i, i, at);
        at += site->numbers >> i & 1 ? site->num_groups : 0;
    }
    if (meeting->made->leaves)
        fputs("\t.reg .pred %braid_yes, %braid_no, %braid_goes_on;\n"
              "\t.reg .b32 %braid_live, %braid_sum, %braid_all;\n"
              "\tmov.u32 %braid_all, 0;\n"
              "\tsetp.eq.u32 %braid_yes, %braid_all, 0;\n"
              "\tsetp.ne.u32 %braid_no, %braid_all, 0;\n",
              to);
}

// ---- barriers ----

static bool read_number(struct ptx_word operand, unsigned *out_number)
{
    for (size_t i = 0; i < operand.length; i++) {
        if (!isdigit((unsigned char)operand.at[i]))
            return false;
    }
    *out_number = braid_ptx_read_number(operand, 0, 10);
    return operand.length && *out_number < NUM_BARRIERS;
}

// The same without .aligned, which the walker cannot promise, and .cta.
static void put_barrier_opcode(const struct ptx_meeting *meeting, struct ptx_word word)
{
    size_t at = 0;
    while (at < word.length && word.at[at] != '.')
        at++;
    fputs("barrier", meeting->file);
    while (at < word.length) {
        size_t end = at + 1;
        while (end < word.length && word.at[end] != '.')
            end++;
        const struct ptx_word part = { word.at + at, end - at };
        if (!braid_ptx_word_is(part, ".aligned") && !braid_ptx_word_is(part, ".cta"))
            fwrite(part.at, 1, part.length, meeting->file);
        at = end;
    }
}

// Without a count, a barrier is for all threads of the call.
static void put_count(struct ptx_meeting *meeting, struct ptx_word count, FILE *to)
{
    if (count.length)
        fwrite(count.at, 1, count.length, to);
    else if (meeting->site->whole)
        fprintf(to, "%u", meeting->site->group_threads);
    else
        fputs("%braid_threads", to);
    meeting->asks_threads |= !count.length && !meeting->site->whole;
}

// ---- threads that end while others meet ----

// The device waits at a barrier for threads that go on, and not for those that have ended. An
// island's threads live on. So a thread that ends goes to a loop behind the call's statements. It
// meets there at each barrier of the block, whose reduction tells whether somebody goes on. All
// such barriers are for all threads of the call, so one number serves them.
//
// If the kernel has reductions of its own, each barrier counts. The kernel's reduction is followed
// by a barrier that counts who goes on, so all have ended where two sums are 0.
//
// A thread also lives on for its warp. If a mask names all threads of the warp, those that go on
// tell so by a vote. Another vote tells whether they are at a barrier of the block. The first
// vote's result is the mask of the instruction behind it.

static bool meets_by_warp(const struct ptx_meeting *meeting)
{
    return (meeting->made->leaves & PTX_WARP) ||
           (meeting->made->leaves && meeting->site->group_threads == WARP);
}

static bool meets_by_block(const struct ptx_meeting *meeting)
{
    return (meeting->made->leaves & PTX_BARRIER) && meeting->site->group_threads != WARP;
}

static void put_all_meet(struct ptx_meeting *meeting, const char *result, const char *predicate,
                         FILE *to)
{
    bool counts = meeting->made->counts;
    fprintf(to, "barrier.red.%s %%braid_%s, %%braid_b0, ", counts ? "popc.u32" : "or.pred",
            counts ? result : "goes_on");
    put_count(meeting, (struct ptx_word){ 0 }, to);
    fprintf(to, ", %s;\n\t", predicate);
}

// A thread that goes on tells those of its warp that have ended.
static void put_votes(struct ptx_meeting *meeting, const struct ptx_statement *statement,
                      bool is_barrier)
{
    braid_ptx_put_guard(meeting, statement);
    fputs("vote.sync.ballot.b32 %braid_live, %braid_yes, -1;\n\t", meeting->file);
    braid_ptx_put_guard(meeting, statement);
    fprintf(meeting->file, "vote.sync.any.pred %%braid_goes_on, %%braid_%s, -1;\n\t",
            is_barrier ? "yes" : "no");
    braid_ptx_put_guard(meeting, statement);
}

static void put_meeting(struct ptx_meeting *meeting, const struct ptx_statement *statement,
                        const char *result, const char *predicate)
{
    if (meets_by_warp(meeting))
        put_votes(meeting, statement, true);
    else
        braid_ptx_put_guard(meeting, statement);
    put_all_meet(meeting, result, predicate, meeting->file);
}

// A barrier of the block, where others may have ended.
static void put_barrier_of_some(struct ptx_meeting *meeting, const struct ptx_statement *statement,
                                const struct ptx_word *result, struct ptx_word predicate)
{
    char text[64];
    if (!meets_by_block(meeting)) {
        put_votes(meeting, statement, false);
        fputs("bar.warp.sync %braid_live;", meeting->file);
        return;
    }
    if (result) {
        snprintf(text, sizeof(text), "%.*s", (int)predicate.length, predicate.at);
        put_meeting(meeting, statement, "sum", text);
    }
    put_meeting(meeting, statement, "all", "%braid_yes");
    if (!result)
        return;
    braid_ptx_put_guard(meeting, statement);
    fprintf(meeting->file, "%s %.*s, %%braid_sum%s;",
            braid_ptx_has_part(statement->word, ".popc")  ? "mov.u32"
            : braid_ptx_has_part(statement->word, ".and") ? "setp.eq.u32"
                                                          : "setp.ne.u32",
            (int)result->length, result->at,
            braid_ptx_has_part(statement->word, ".popc")  ? ""
            : braid_ptx_has_part(statement->word, ".and") ? ", %braid_all"
                                                          : ", 0");
}

// An instruction of the warp, where some of it may have ended: its mask names those that go on.
struct ptx_word braid_ptx_put_live_mask(const struct ptx_meeting *meeting,
                                        const struct ptx_statement *statement)
{
    struct ptx_word operands[PTX_MOST_OPERANDS], guard = { 0 }, mask;
    size_t num = braid_ptx_split_operands(statement, operands);
    const char *at = statement->begin;
    if (!(meeting->made->leaves & PTX_WARP) || !(statement->facts & PTX_WARP) || !num ||
        !braid_ptx_has_part(statement->word, ".sync") ||
        braid_ptx_has_part(statement->word, ".aligned"))
        return guard;
    if (statement->begin != statement->word.at && braid_ptx_word_is(braid_ptx_next_word(&at), "@"))
        guard = (struct ptx_word){ at, (size_t)(statement->word.at - at) };
    mask = operands[num - 1];
    fprintf(meeting->file,
            "mov.b32 %%braid_live, %.*s;\n"
            "\tsetp.eq%s.s32 %%braid_goes_on, %%braid_live, -1%s%.*s;\n\t",
            (int)mask.length, mask.at, guard.length ? ".and" : "", guard.length ? ", " : "",
            (int)guard.length, guard.length ? guard.at : "");
    fputs("@%braid_goes_on vote.sync.ballot.b32 %braid_live, %braid_yes, -1;\n\t"
          "@%braid_goes_on vote.sync.any.pred %braid_goes_on, %braid_no, -1;\n\t",
          meeting->file);
    return mask;
}

// The loop of threads that have ended.
void braid_ptx_put_end(struct ptx_meeting *meeting, FILE *to)
{
    const bool by_block = meets_by_block(meeting);
    fputs("braid_end:\n", to);
    if (meets_by_warp(meeting)) {
        fputs("\tvote.sync.ballot.b32 %braid_live, %braid_no, -1;\n"
              "\tsetp.eq.u32 %braid_goes_on, %braid_live, 0;\n"
              "\t@%braid_goes_on bra braid_warp_ended;\n"
              "\tvote.sync.any.pred %braid_goes_on, %braid_no, -1;\n"
              "\t@!%braid_goes_on bra braid_end;\n\t",
              to);
        if (by_block)
            put_all_meet(meeting, "all", "%braid_no", to);
        fputs("bra braid_end;\nbraid_warp_ended:\n", to);
    }
    if (!by_block)
        return;
    fputs("braid_ended:\n\t", to);
    for (int i = 0; i <= meeting->made->counts; i++) {
        put_all_meet(meeting, "all", "%braid_no", to);
        if (meeting->made->counts)
            fputs("setp.ne.u32 %braid_goes_on, %braid_all, 0;\n\t", to);
        fputs("@%braid_goes_on bra braid_ended;\n\t", to);
    }
    fputc('\n', to);
}

bool braid_ptx_put_barrier(struct ptx_meeting *meeting, const struct ptx_statement *statement)
{
    struct ptx_word operands[PTX_MOST_OPERANDS], count = { 0 };
    const struct ptx_word word = statement->word;
    bool is_red = braid_ptx_has_part(word, ".red"), is_sync = braid_ptx_has_part(word, ".sync");
    const bool leaves = meeting->made->leaves & PTX_BARRIER;
    size_t num = braid_ptx_split_operands(statement, operands), first = is_red;
    unsigned number = 0;
    if (num <= first || !read_number(operands[first], &number))
        return false;
    if (num > first + 1 + is_red)
        count = operands[first + 1];
    meeting->made->is_partial |= count.length > 0;
    meeting->made->numbers |= leaves ? 1 : UINT32_C(1) << number;
    meeting->made->counts |= !is_sync;
    if (leaves) {
        put_barrier_of_some(meeting, statement, is_red ? operands : NULL, operands[num - 1]);
        return true;
    }
    braid_ptx_put_guard(meeting, statement);
    if (is_sync && meeting->site->group_threads == WARP) {
        fputs("bar.warp.sync 0xffffffff;", meeting->file);
        return true;
    }
    put_barrier_opcode(meeting, word);
    if (is_red)
        fprintf(meeting->file, " %.*s,", (int)operands[0].length, operands[0].at);
    fprintf(meeting->file, " %%braid_b%u, ", number);
    put_count(meeting, count, meeting->file);
    if (is_red)
        fprintf(meeting->file, ", %.*s", (int)operands[num - 1].length, operands[num - 1].at);
    fputc(';', meeting->file);
    return true;
}

// Behind a way out of single threads, or where others do not come by.
static enum ptx_leaving find_leaving(const struct ptx_statement *statements, size_t num,
                                     unsigned facts, bool *out_apart)
{
    enum ptx_leaving leaving = braid_ptx_find_leaving(statements, num, facts);
    *out_apart = leaving == PTX_STAYS;
    return *out_apart ? braid_ptx_find_apart(statements, num, facts) : leaving;
}

bool braid_ptx_note_leaving(const struct ptx_statement *statements, size_t num, unsigned facts,
                            struct ptx_callable *made, struct ptx_reason *out_reason)
{
    for (unsigned fact = PTX_BARRIER; fact <= PTX_WARP; fact *= 2) {
        bool apart = false, is_partial = fact == PTX_BARRIER && made->is_partial;
        enum ptx_leaving leaving = PTX_STAYS;
        if (facts & fact)
            leaving = find_leaving(statements, num, fact, &apart);
        if (leaving == PTX_LEAVES && is_partial && !apart)
            braid_ptx_refuse(out_reason,
                             "threads of it end while others meet at a barrier with a count");
        if (leaving == PTX_LEAVING_NO_MEMORY || *out_reason->text)
            return false;
        made->leaves |= leaving == PTX_LEAVES && !is_partial ? fact : 0;
    }
    made->numbers = made->leaves & PTX_BARRIER ? 1 : made->numbers;
    return true;
}
