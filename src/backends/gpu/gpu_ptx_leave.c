// SPDX-License-Identifier: Apache-2.0
// Whether threads of a kernel end while others of its block still meet.
#include "backends/gpu/gpu_ptx_leave.h"

#include <stdint.h>

#include "backends/gpu/gpu_ptx_part.h"

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
    if (!braid_ptx_find_parting(statements, num, &parting))
        return PTX_LEAVING_NO_MEMORY;
    bool found = may(statements, num, facts, &parting);
    braid_ptx_parting_finish(&parting);
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
