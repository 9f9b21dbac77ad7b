// SPDX-License-Identifier: Apache-2.0
// Whether the plans of all ranks can run together: rank 0 decides for all.
#include <stdio.h>
#include <stdlib.h>

#include "rank/rank_plan.h"

// False: there is a verdict.
static bool read_plans(const void *const *bytes, const uint64_t *num_bytes, uint32_t num,
                       struct rank_plan *plans, struct rank_verdict *verdict)
{
    for (uint32_t i = 0; i < num; i++) {
        if (!braid_rank_plan_read(bytes[i], num_bytes[i], &plans[i])) {
            verdict->status = BRAID_UNSUPPORTED;
            snprintf(verdict->message, sizeof(verdict->message),
                     "rank %u has another version of Braid than rank 0", i);
            return false;
        }
    }
    for (uint32_t i = 0; i < num; i++) {
        if (plans[i].status) {
            verdict->status = plans[i].status;
            snprintf(verdict->message, sizeof(verdict->message), "rank %u made no exec: %.800s", i,
                     plans[i].text);
            return false;
        }
    }
    return true;
}

// Ranks that play in other ways would wait for each other in another order.
static bool check_engines(const struct rank_plan *plans, uint32_t num, struct rank_verdict *verdict)
{
    static const char *const words[] = { "no", "the host", "a device (nccl)", "a device (rccl)" };
    for (uint32_t i = 1; i < num; i++) {
        if (plans[i].engine == plans[0].engine && plans[i].introduces == plans[0].introduces)
            continue;
        verdict->status = BRAID_UNSUPPORTED;
        snprintf(verdict->message, sizeof(verdict->message),
                 "rank 0 makes its operations on %s, and rank %u on %s: all ranks need one way",
                 words[plans[0].engine], i, words[plans[i].engine]);
        return false;
    }
    return true;
}

// Of one communicator of a rank: whether all its ranks connect it now, or none.
static bool check_link(const struct rank_plan *plans, uint32_t rank,
                       const struct rank_plan_communicator *communicator,
                       struct rank_verdict *verdict)
{
    for (uint32_t i = 0; i < communicator->num_members; i++) {
        uint32_t member = plans[rank].members[communicator->first_member + i];
        const struct rank_plan_communicator *there =
            braid_rank_plan_find_communicator(&plans[member], communicator->number);
        if (there && there->is_linked == communicator->is_linked)
            continue;
        verdict->status = BRAID_INVALID_ARGUMENT;
        snprintf(verdict->message, sizeof(verdict->message),
                 "communicator '%s' is %s of rank %u, but not %s of rank %u",
                 plans[rank].text + communicator->name,
                 there ? "connected on the device" : "in the graph", rank,
                 there ? "on that" : "in that", member);
        return false;
    }
    return true;
}

static bool may_plan_again(const struct rank_plan *plans, uint32_t num)
{
    bool may = true;
    for (uint32_t i = 0; i < num; i++)
        may = may && plans[i].may_plan_again;
    return may;
}

// False: no memory.
static bool judge_cycles(const struct rank_plan *plans, uint32_t num,
                         const struct rank_match *match, struct rank_verdict *verdict)
{
    char text[800];
    bool found = false;
    if (!braid_rank_find_cycle(plans, num, match, false, text, sizeof(text), &found))
        return false;
    if (found) {
        verdict->status = BRAID_CYCLE;
        snprintf(verdict->message, sizeof(verdict->message), "ranks wait for each other: %s", text);
        return true;
    }
    if (!braid_rank_find_cycle(plans, num, match, true, text, sizeof(text), &found))
        return false;
    if (found && may_plan_again(plans, num)) {
        verdict->plan_again = true;
    } else if (found) {
        verdict->status = BRAID_CYCLE;
        snprintf(verdict->message, sizeof(verdict->message),
                 "by the lanes of their schedules ranks wait for each other: %s", text);
    }
    return true;
}

void braid_rank_judge(const void *const *bytes, const uint64_t *num_bytes, uint32_t num,
                      struct rank_verdict *out_verdict)
{
    struct rank_match match;
    struct rank_plan *plans = braid_allocate_zeroed(num, sizeof(*plans));
    bool judged = plans != NULL;
    *out_verdict = (struct rank_verdict){ .status = BRAID_OK };
    if (plans && read_plans(bytes, num_bytes, num, plans, out_verdict) &&
        check_engines(plans, num, out_verdict) &&
        braid_rank_match(plans, num, &match, out_verdict)) {
        judged = judge_cycles(plans, num, &match, out_verdict);
        braid_rank_match_finish(&match);
    }
    if (!judged) {
        out_verdict->status = BRAID_NO_MEMORY;
        snprintf(out_verdict->message, sizeof(out_verdict->message),
                 "out of host memory on rank 0 for comparing what ranks plan");
    }
    free(plans);
}

void braid_rank_judge_links(const void *const *bytes, const uint64_t *num_bytes, uint32_t num,
                            struct rank_verdict *out_verdict)
{
    struct rank_plan *plans = braid_allocate_zeroed(num, sizeof(*plans));
    *out_verdict = (struct rank_verdict){ .status = plans ? BRAID_OK : BRAID_NO_MEMORY };
    bool goes_on = plans && read_plans(bytes, num_bytes, num, plans, out_verdict) &&
                   check_engines(plans, num, out_verdict);
    for (uint32_t rank = 0; rank < num && goes_on; rank++) {
        for (uint32_t i = 0; i < plans[rank].num_communicators && goes_on; i++)
            goes_on = check_link(plans, rank, &plans[rank].communicators[i], out_verdict);
    }
    free(plans);
}
