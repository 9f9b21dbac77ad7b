// SPDX-License-Identifier: Apache-2.0
// Parts of an exec: the list of them, and calling each in order.
#include "exec/exec_part.h"

#include "base/error.h"
#include "base/host_memory.h"

void braid_exec_add_part(struct exec_part **parts, struct exec_part *part)
{
    struct exec_part **link = parts;
    while (*link)
        link = &(*link)->next;
    *link = part;
}

struct exec_part *braid_exec_find_part(struct exec_part *part, const struct exec_part_ops *ops)
{
    while (part && part->ops != ops)
        part = part->next;
    return part;
}

void braid_exec_drop_part(struct exec_part **parts, braid_exec *exec,
                          const struct exec_part_ops *ops)
{
    struct exec_part **link = parts;
    while (*link && (*link)->ops != ops)
        link = &(*link)->next;
    struct exec_part *part = *link;
    if (!part)
        return;
    *link = part->next;
    part->ops->finish(part, exec);
}

void braid_exec_drop_parts(struct exec_part **parts, braid_exec *exec)
{
    while (*parts) {
        const struct exec_part *last = *parts;
        while (last->next)
            last = last->next;
        braid_exec_drop_part(parts, exec, last->ops);
    }
}

bool braid_exec_parts_need_each_frame(const struct exec_part *parts)
{
    bool needs = false;
    for (const struct exec_part *part = parts; part; part = part->next)
        needs |= part->ops->frame_by_frame;
    return needs;
}

bool braid_exec_parts_have_failed(const struct exec_part *part)
{
    while (part && !part->has_failed)
        part = part->next;
    return part;
}

braid_status braid_exec_parts_meet(struct exec_part *parts, braid_exec *exec,
                                   const struct frame *frame)
{
    PLAIN_MEMORY; // ranks meet: see make_with_ranks
    braid_status status = BRAID_OK;
    for (struct exec_part *part = parts; part && !status; part = part->next) {
        if (part->ops->meet)
            status = part->ops->meet(part, exec, frame);
        part->has_failed = status;
    }
    return status;
}

braid_status braid_exec_parts_before(struct exec_part *parts, braid_exec *exec,
                                     const struct exec_launch *launch)
{
    braid_status status = BRAID_OK;
    for (struct exec_part *part = parts; part; part = part->next) {
        if (!status && part->ops->before_launch)
            status = part->ops->before_launch(part, exec, launch);
        part->has_begun = !status;
    }
    return status;
}

// If two parts fail, the first is the cause.
braid_status braid_exec_parts_after(struct exec_part *parts, braid_exec *exec,
                                    const struct exec_launch *launch)
{
    struct error_attempt attempt;
    braid_status first = BRAID_OK;
    for (struct exec_part *part = parts; part; part = part->next) {
        if (!part->has_begun || !part->ops->after_launch)
            continue;
        braid_status status = part->ops->after_launch(part, exec, launch);
        if (!status || first)
            continue;
        first = status;
        braid_error_begin_attempt(&attempt);
    }
    if (first)
        braid_error_end_attempt(&attempt, BRAID_OK);
    return first;
}

void braid_exec_parts_end_launch(struct exec_part *parts)
{
    for (struct exec_part *part = parts; part; part = part->next) {
        if (part->ops->end_launch)
            part->ops->end_launch(part);
    }
}

braid_status braid_exec_parts_wait(struct exec_part *parts, braid_exec *exec)
{
    braid_status status = BRAID_OK;
    for (struct exec_part *part = parts; part && !status; part = part->next) {
        if (part->ops->wait)
            status = part->ops->wait(part, exec);
    }
    return status;
}

bool braid_exec_parts_are_unsettled(const struct exec_part *part)
{
    while (part && !part->is_unsettled)
        part = part->next;
    return part;
}

void braid_exec_parts_settle(struct exec_part *parts, braid_exec *exec)
{
    for (struct exec_part *part = parts; part; part = part->next) {
        if (part->is_unsettled)
            part->ops->settle(part, exec);
        part->is_unsettled = false;
    }
}
