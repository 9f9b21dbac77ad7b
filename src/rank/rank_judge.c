// SPDX-License-Identifier: Apache-2.0
// Whether what all ranks plan can run: rank 0 says so for all.
#include <stdio.h>

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
