// SPDX-License-Identifier: Apache-2.0
// Whether the plans of all ranks can run together: rank 0 decides for all.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "ranks/rank_plan.h"

bool braid_rank_refuse(struct rank_verdict *verdict, uint32_t status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(verdict->message, sizeof(verdict->message), format, arguments);
    va_end(arguments);
    verdict->status = status;
    return false;
}

bool braid_rank_has_no_memory(struct rank_verdict *verdict)
{
    return braid_rank_refuse(verdict, BRAID_NO_MEMORY,
                             "out of host memory on rank 0 for comparing what ranks plan");
}

// False: there is a verdict.
static bool read_plans(const void *const *bytes, const uint64_t *num_bytes, uint32_t num,
                       struct rank_plan *plans, struct rank_verdict *verdict)
{
    for (uint32_t i = 0; i < num; i++) {
        if (!braid_rank_plan_read(bytes[i], num_bytes[i], &plans[i]))
            return braid_rank_refuse(verdict, BRAID_UNSUPPORTED,
                                     "rank %u has another version of Braid than rank 0", i);
    }
    for (uint32_t i = 0; i < num; i++) {
        if (plans[i].status)
            return braid_rank_refuse(verdict, plans[i].status, "rank %u made no exec: %.800s", i,
                                     plans[i].text);
    }
    return true;
}

// Ranks that play in other ways would wait for each other in another order.
static bool check_engines(const struct rank_plan *plans, uint32_t num, struct rank_verdict *verdict)
{
    static const char *const words[] = { "no", "the host", "a device (nccl)", "a device (rccl)" };
    for (uint32_t i = 1; i < num; i++) {
        if (plans[i].engine != plans[0].engine || plans[i].introduces != plans[0].introduces)
            return braid_rank_refuse(
                verdict, BRAID_UNSUPPORTED,
                "rank 0 makes its operations on %s, and rank %u on %s: all ranks need one way",
                words[plans[0].engine], i, words[plans[i].engine]);
    }
    return true;
}

// Checks a communicator of a rank: either all its ranks connect it now, or none.
static bool check_link(const struct rank_plan *plans, uint32_t rank,
                       const struct rank_plan_communicator *communicator,
                       struct rank_verdict *verdict)
{
    for (uint32_t i = 0; i < communicator->num_members; i++) {
        uint32_t member = plans[rank].members[communicator->first_member + i];
        const struct rank_plan_communicator *there =
            braid_rank_plan_find_communicator(&plans[member], communicator->number);
        if (!there || there->is_linked != communicator->is_linked)
            return braid_rank_refuse(verdict, BRAID_INVALID_ARGUMENT,
                                     "communicator '%s' is %s of rank %u, but not %s of rank %u",
                                     plans[rank].text + communicator->name,
                                     there ? "connected on the device" : "in the graph", rank,
                                     there ? "on that" : "in that", member);
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

static void judge_cycles(const struct rank_plan *plans, uint32_t num,
                         const struct rank_match *match, struct rank_verdict *verdict)
{
    char text[800];
    bool by_graphs = false, by_lanes = false;
    if (!braid_rank_find_cycle(plans, num, match, false, text, sizeof(text), &by_graphs) ||
        (!by_graphs &&
         !braid_rank_find_cycle(plans, num, match, true, text, sizeof(text), &by_lanes)))
        braid_rank_has_no_memory(verdict);
    else if (by_graphs)
        braid_rank_refuse(verdict, BRAID_CYCLE, "ranks wait for each other: %s", text);
    else if (by_lanes && may_plan_again(plans, num))
        verdict->plan_again = true;
    else if (by_lanes)
        braid_rank_refuse(verdict, BRAID_CYCLE,
                          "by the lanes of their schedules ranks wait for each other: %s", text);
}

// NULL: there is a verdict. To be freed.
static struct rank_plan *read_and_check(const void *const *bytes, const uint64_t *num_bytes,
                                        uint32_t num, struct rank_verdict *out_verdict)
{
    struct rank_plan *plans = braid_allocate_zeroed(num, sizeof(*plans));
    *out_verdict = (struct rank_verdict){ .status = BRAID_OK };
    if (!plans)
        braid_rank_has_no_memory(out_verdict);
    else if (read_plans(bytes, num_bytes, num, plans, out_verdict) &&
             check_engines(plans, num, out_verdict))
        return plans;
    free(plans);
    return NULL;
}

void braid_rank_judge(const void *const *bytes, const uint64_t *num_bytes, uint32_t num,
                      struct rank_verdict *out_verdict)
{
    struct rank_match match;
    struct rank_plan *plans = read_and_check(bytes, num_bytes, num, out_verdict);
    if (plans && braid_rank_match(plans, num, &match, out_verdict)) {
        judge_cycles(plans, num, &match, out_verdict);
        braid_rank_match_finish(&match);
    }
    free(plans);
}

void braid_rank_judge_links(const void *const *bytes, const uint64_t *num_bytes, uint32_t num,
                            struct rank_verdict *out_verdict)
{
    struct rank_plan *plans = read_and_check(bytes, num_bytes, num, out_verdict);
    bool goes_on = plans != NULL;
    for (uint32_t rank = 0; rank < num && goes_on; rank++) {
        for (uint32_t i = 0; i < plans[rank].num_communicators && goes_on; i++)
            goes_on = check_link(plans, rank, &plans[rank].communicators[i], out_verdict);
    }
    free(plans);
}
