// SPDX-License-Identifier: Apache-2.0
// Whether threads of a kernel end while others of its block still meet.
#include "ptx/ptx_leave.h"

#include <stdint.h>

#include "base/store.h"
#include "ptx/ptx_labels.h"
#include "ptx/ptx_read.h"

struct ptx_parting {
    bool *differs;      // by statement: its guard, or where it branches to, differs
    size_t *behind;     // by statement: the first such branch that some threads come to it by;
                        // SIZE_MAX: none
    size_t *targets;    // by statement: the label that a branch goes to; the number of statements
                        // where it is not known, or is no branch
    struct store store; // holds the arrays
};

// ---- where the threads of a block part ----

// They part at branches whose conditions may differ from thread to thread.
//
// A register differs if it comes from the thread's index, from other threads, or from a register
// that differs. Memory at one address is the same for all threads that read it between two
// barriers. If a register has several assignments and one stands behind such a branch, it differs,
// too.

enum { MOST_ROUNDS = 256 };

struct known {
    uint32_t num_assigned;
    bool differs;
};

struct flow {
    const struct ptx_statement *statements;
    size_t num;
    struct ptx_labels names; // the registers, by name: where each is in `registers`
    struct known *registers;
    size_t num_registers;
    struct ptx_parting parting;
    bool changed;
};

static struct known *find_register(struct flow *flow, struct ptx_word name)
{
    struct ptx_label *place = braid_ptx_find_label(&flow->names, name);
    if (!place->name.length)
        *place = (struct ptx_label){ name, flow->num_registers++ };
    return &flow->registers[place->index];
}

// The first of labels with one name counts.
static bool find_targets(struct flow *flow)
{
    const struct ptx_statement *statements = flow->statements;
    struct ptx_labels labels;
    if (!braid_ptx_labels_create(flow->num, &labels))
        return false;
    for (size_t i = 0; i < flow->num; i++) {
        struct ptx_label *label = statements[i].kind == PTX_LABEL
                                      ? braid_ptx_find_label(&labels, statements[i].word)
                                      : NULL;
        if (label && !label->name.length)
            *label = (struct ptx_label){ statements[i].word, i };
    }
    for (size_t i = 0; i < flow->num; i++) {
        const struct ptx_word name = braid_ptx_target_of(&statements[i]);
        const struct ptx_label *label = name.length ? braid_ptx_find_label(&labels, name) : NULL;
        flow->parting.targets[i] = label && label->name.length ? label->index : flow->num;
    }
    braid_ptx_labels_finish(&labels);
    return true;
}

// ---- instructions ----

static bool begins_with_any(struct ptx_word word, const char *const *names)
{
    for (; *names; names++) {
        if (braid_ptx_word_begins(word, *names))
            return true;
    }
    return false;
}

static bool has_result(const struct ptx_statement *statement)
{
    static const char *const names[] = { "st.",          "red.",       "bra",  "brx",  "ret",
                                         "exit",         "cp.",        "call", "mem",  "fen",
                                         "bar.sync",     "bar.arrive", "pref", "trap", "bar.warp",
                                         "barrier.sync", NULL };
    return !begins_with_any(statement->word, names);
}

// Its result differs between threads even if its inputs do not.
static bool is_own(const struct ptx_statement *statement)
{
    static const char *const names[] = { "atom",  "shfl",  "vote",     "match", "activemask",
                                         "redux", "elect", "ld.local", "mma",   "wmma",
                                         "ldmat", "wgmma", "tex",      "suld",  NULL };
    return begins_with_any(statement->word, names) || (statement->facts & PTX_VOLATILE);
}

// Values of single threads, and the results of functions.
static bool is_source(struct ptx_word word)
{
    static const char *const names[] = { "%tid",  "%laneid", "%lanemask",    "%warpid", "%clock",
                                         "%smid", "retval",  "%globaltimer", "%pm",     NULL };
    return begins_with_any(word, names);
}

// Values that are the same for all threads of a block.
static bool is_common(struct ptx_word word)
{
    static const char *const names[] = { "%ntid",     "%ctaid",       "%nctaid", "%gridid",
                                         "%nwarpid",  "%nsmid",       "%envreg", "%cluster",
                                         "%ncluster", "%total_smem",  "%aggr_",  "%is_exp",
                                         "%dynamic_", "%reserved_sm", NULL };
    return begins_with_any(word, names);
}

// If nothing is assigned to a register, nothing is known of it. Other names may be no registers.
static bool word_differs(struct flow *flow, struct ptx_word word)
{
    if (is_source(word) || !braid_ptx_is_name(word) || is_common(word))
        return is_source(word);
    const struct known *known = find_register(flow, word);
    return known->differs || (known->num_assigned == 0 && word.at[0] == '%');
}

// Whether a word between two places does.
static bool any_differs(struct flow *flow, const char *at, const char *end)
{
    for (struct ptx_word word = braid_ptx_next_word(&at); word.length && word.at < end;
         word = braid_ptx_next_word(&at)) {
        if (word_differs(flow, word))
            return true;
    }
    return false;
}

// Behind the first operand, or at the opcode's end where it has no result.
static const char *end_of_results(const struct ptx_statement *statement)
{
    const char *at = statement->word.at + statement->word.length;
    int depth = 0;
    if (!has_result(statement))
        return at;
    while (at < statement->end) {
        struct ptx_word word = braid_ptx_next_word(&at);
        depth += braid_ptx_word_is(word, "{") - braid_ptx_word_is(word, "}");
        if (depth == 0 && braid_ptx_word_is(word, ","))
            break;
    }
    return at;
}

// ---- the flow ----

// Statements that a branch brings some threads to, and others not, or at another time.
static void note_region(struct flow *flow, size_t branch, size_t from, size_t to)
{
    for (size_t i = from; i <= to && i < flow->num; i++) {
        if (flow->parting.behind[i] <= branch)
            continue;
        flow->parting.behind[i] = branch;
        flow->changed = true;
    }
}

static bool is_plain_jump(const struct ptx_statement *statement)
{
    return statement->kind == PTX_INSTRUCTION && statement->begin == statement->word.at &&
           (statement->facts & (PTX_BRANCH | PTX_EXIT));
}

// A label that nothing falls into begins a part of its own: up to where the part before it goes, or
// to its own end.
static size_t end_of_part(const struct flow *flow, size_t label)
{
    const struct ptx_statement *statements = flow->statements;
    size_t before = label, end = label;
    while (before > 0 && statements[before - 1].kind != PTX_INSTRUCTION)
        before--;
    if (before == 0 || !is_plain_jump(&statements[before - 1]))
        return label;
    size_t target = flow->parting.targets[before - 1];
    if (target < flow->num && target > label)
        return target;
    while (end < flow->num && !is_plain_jump(&statements[end]))
        end++;
    return end;
}

static void part_at(struct flow *flow, size_t branch)
{
    size_t target = flow->parting.targets[branch];
    flow->changed |= !flow->parting.differs[branch];
    flow->parting.differs[branch] = true;
    if (!(flow->statements[branch].facts & PTX_BRANCH))
        return;
    if (target == flow->num) // one of several places
        note_region(flow, branch, 0, flow->num);
    else if (target < branch)
        note_region(flow, branch, target, branch);
    else
        note_region(flow, branch, branch + 1, end_of_part(flow, target));
}

static void assign(struct flow *flow, size_t index, const char *end, bool differs)
{
    const struct ptx_statement *statement = &flow->statements[index];
    const char *at = statement->word.at + statement->word.length;
    for (struct ptx_word word = braid_ptx_next_word(&at); word.length && word.at < end;
         word = braid_ptx_next_word(&at)) {
        struct known *known = braid_ptx_is_name(word) ? find_register(flow, word) : NULL;
        if (!known || known->differs)
            continue;
        bool is_late = known->num_assigned > 1 && flow->parting.behind[index] != SIZE_MAX;
        known->differs = differs || is_late;
        flow->changed |= known->differs;
    }
}

static void follow(struct flow *flow, size_t index)
{
    const struct ptx_statement *statement = &flow->statements[index];
    if (statement->kind != PTX_INSTRUCTION)
        return;
    const char *behind = end_of_results(statement);
    bool guard = any_differs(flow, statement->begin, statement->word.at);
    bool differs = guard || is_own(statement) || any_differs(flow, behind, statement->end);
    // All threads get one result of a barrier that counts.
    if (statement->facts & PTX_BARRIER)
        differs = guard;
    if (guard || (differs && (statement->facts & PTX_BRANCH)))
        part_at(flow, index);
    if (has_result(statement))
        assign(flow, index, behind, differs);
}

static void count_assignments(struct flow *flow)
{
    for (size_t i = 0; i < flow->num; i++) {
        const struct ptx_statement *statement = &flow->statements[i];
        if (statement->kind != PTX_INSTRUCTION || !has_result(statement))
            continue;
        const char *at = statement->word.at + statement->word.length;
        const char *end = end_of_results(statement);
        for (struct ptx_word word = braid_ptx_next_word(&at); word.length && word.at < end;
             word = braid_ptx_next_word(&at)) {
            if (braid_ptx_is_name(word))
                find_register(flow, word)->num_assigned++;
        }
    }
}

// A round follows values down the text only, so code of compilers takes few rounds. Other code may
// take as many as it has statements: there all values count as those of single threads.
static void differ_all(struct flow *flow)
{
    for (size_t i = 0; i < flow->num_registers; i++)
        flow->registers[i].differs = true;
}

// The words that could be registers.
static size_t count_words(const struct ptx_statement *statements, size_t num)
{
    size_t words = 0;
    for (size_t i = 0; i < num; i++) {
        for (const char *at = statements[i].begin; at < statements[i].end;)
            words += braid_ptx_is_name(braid_ptx_next_word(&at));
    }
    return words;
}

// False: memory ran out.
static bool find_parting(const struct ptx_statement *statements, size_t num,
                         struct ptx_parting *out_parting)
{
    struct flow flow = { .statements = statements, .num = num };
    struct ptx_parting *parting = &flow.parting;
    const size_t num_words = count_words(statements, num);
    flow.registers = braid_store_take(&parting->store, num_words, sizeof(*flow.registers));
    parting->differs = braid_store_take(&parting->store, num, sizeof(*parting->differs));
    parting->behind = braid_store_take(&parting->store, num, sizeof(*parting->behind));
    parting->targets = braid_store_take(&parting->store, num, sizeof(*parting->targets));
    bool has_room = !parting->store.failed && braid_ptx_labels_create(num_words, &flow.names) &&
                    find_targets(&flow);
    for (size_t i = 0; i < num && has_room; i++)
        parting->behind[i] = SIZE_MAX;
    if (has_room)
        count_assignments(&flow);
    int round = 0;
    for (flow.changed = has_room; flow.changed; round++) {
        flow.changed = false;
        if (round == MOST_ROUNDS)
            differ_all(&flow);
        for (size_t i = 0; i < num; i++)
            follow(&flow, i);
    }
    braid_ptx_labels_finish(&flow.names);
    if (has_room)
        *out_parting = *parting;
    else
        braid_store_finish(&parting->store);
    return has_room;
}

// ---- who leaves ----

// Whether nothing is behind a label but the end.
static bool is_end(const struct ptx_statement *statements, size_t num, size_t label)
{
    while (label < num && statements[label].kind != PTX_INSTRUCTION)
        label++;
    return label == num || (statements[label].facts & PTX_EXIT);
}

static bool goes_out(const struct ptx_statement *statements, size_t num,
                     const struct ptx_parting *parting, size_t index)
{
    const struct ptx_statement *statement = &statements[index];
    if (statement->kind != PTX_INSTRUCTION)
        return false;
    if (statement->facts & PTX_EXIT)
        return true;
    size_t target = parting->targets[index];
    return target < num && is_end(statements, num, target);
}

// Where threads part of which some end: at that branch, or at one before it.
static size_t find_first_way_out(const struct ptx_statement *statements, size_t num,
                                 const struct ptx_parting *parting)
{
    size_t first = num;
    for (size_t i = 0; i < num; i++) {
        size_t from = parting->differs[i] ? i : parting->behind[i];
        if (from < first && goes_out(statements, num, parting, i))
            first = from;
    }
    return first;
}

// One stands behind a way out, be it by a branch back.
static bool may_leave(const struct ptx_statement *statements, size_t num, unsigned facts,
                      const struct ptx_parting *parting)
{
    size_t first = find_first_way_out(statements, num, parting), last = 0;
    for (size_t i = 0; i < num; i++) {
        if (statements[i].kind == PTX_INSTRUCTION && (statements[i].facts & facts))
            last = i + 1;
    }
    if (last > first)
        return true;
    for (size_t i = first; i < num && last; i++) {
        if (statements[i].kind != PTX_INSTRUCTION || !(statements[i].facts & PTX_BRANCH))
            continue;
        size_t target = parting->targets[i];
        if (target == num || target < last) // one to several places may go to any
            return true;
    }
    return false;
}

static bool may_meet_apart(const struct ptx_statement *statements, size_t num, unsigned facts,
                           const struct ptx_parting *parting)
{
    for (size_t i = 0; i < num; i++) {
        if (statements[i].kind == PTX_INSTRUCTION && (statements[i].facts & facts) &&
            (parting->differs[i] || parting->behind[i] != SIZE_MAX))
            return true;
    }
    return false;
}

static enum ptx_leaving find(const struct ptx_statement *statements, size_t num, unsigned facts,
                             bool (*may)(const struct ptx_statement *statements, size_t num,
                                         unsigned facts, const struct ptx_parting *parting))
{
    struct ptx_parting parting;
    if (!find_parting(statements, num, &parting))
        return PTX_LEAVING_NO_MEMORY;
    bool found = may(statements, num, facts, &parting);
    braid_store_finish(&parting.store);
    return found ? PTX_LEAVES : PTX_STAYS;
}

enum ptx_leaving braid_ptx_find_leaving(const struct ptx_statement *statements, size_t num,
                                        unsigned facts)
{
    return find(statements, num, facts, may_leave);
}

enum ptx_leaving braid_ptx_find_apart(const struct ptx_statement *statements, size_t num,
                                      unsigned facts)
{
    return find(statements, num, facts, may_meet_apart);
}
