// SPDX-License-Identifier: Apache-2.0
// Any bytes as the plan of one rank beside the whole plan of another: compared, and never trusted.
// The first byte of an input tells the damaged rank and how. Either the rest is its plan, or each
// three bytes are a place in its plan and a value for that.
#include <string.h>

#include "fuzz/fuzz.h"
#include "ranks/two_plans.h"

enum { MOST_CHANGES = 16 };

static void change(struct fuzz_input *input, unsigned char *plan, uint64_t *num_bytes)
{
    for (int i = 0; i < MOST_CHANGES && input->at < input->end; i++) {
        uint32_t place = fuzz_byte(input);
        place |= fuzz_byte(input) << 8;
        uint32_t value = fuzz_byte(input);
        if (place % (*num_bytes + 1) == *num_bytes)
            *num_bytes -= value % *num_bytes; // a plan that was cut off
        else
            plan[place % *num_bytes] = (unsigned char)value;
    }
}

// In memory of its own that is as long as the plan, so that a sanitizer sees reads behind it.
static unsigned char *copy_plan(const void *from, uint64_t num_bytes)
{
    unsigned char *copy = malloc(num_bytes ? num_bytes : 1);
    fuzz_expect(copy);
    memcpy(copy, from, num_bytes);
    return copy;
}

static void judge(const void *const *plans, const uint64_t *num_bytes, rank_judge_function *call)
{
    struct rank_verdict verdict;
    call(plans, num_bytes, 2, &verdict);
    fuzz_expect(verdict.status <= BRAID_TIMEOUT);
    fuzz_expect(memchr(verdict.message, '\0', sizeof(verdict.message)) != NULL);
    fuzz_expect(!verdict.status == !*verdict.message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = { data, data + size };
    uint32_t how = fuzz_byte(&input), damaged = how & 1;
    void *plans[2];
    uint64_t num_bytes[2];
    for (uint32_t rank = 0; rank < 2; rank++) {
        unsigned char *plan = plan_make(rank, &num_bytes[rank]);
        fuzz_expect(plan);
        if (rank == damaged && how & 2) {
            num_bytes[rank] = (uint64_t)(input.end - input.at);
            plans[rank] = copy_plan(input.at, num_bytes[rank]);
        } else {
            if (rank == damaged)
                change(&input, plan, &num_bytes[rank]);
            plans[rank] = copy_plan(plan, num_bytes[rank]);
        }
        free(plan);
    }
    judge((const void *const *)plans, num_bytes, braid_rank_judge);
    judge((const void *const *)plans, num_bytes, braid_rank_judge_links);
    free(plans[0]);
    free(plans[1]);
    return 0;
}
