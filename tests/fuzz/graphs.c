// SPDX-License-Identifier: Apache-2.0
// Fuzz target: a byte string becomes operations on a graph, its plans are compared with the order
// that brute force finds, and it runs on the CPU with every node checking that order.
#include "fuzz/graphs.h"

enum { max_operations = 200, max_plans_between = 3 };

static void open_subject(struct subject *subject)
{
    fuzz_expect_status(braid_graph_create(&subject->graph), BRAID_OK);
    fuzz_expect_status(braid_graph_create(&subject->other), BRAID_OK);
    subject_open_parameters(subject);
    const braid_empty empty = { .node.name = "elsewhere" };
    fuzz_expect_status(braid_graph_add_empty(subject->other, &empty, &subject->foreign), BRAID_OK);
    fuzz_expect_status(
        braid_graph_add_resource(subject->other, "elsewhere", &subject->foreign_resource),
        BRAID_OK);
}

static void plan_and_run(struct subject *subject, struct random *input)
{
    braid_schedule *schedule = subject_plan(subject, input);
    if (!schedule)
        return;
    subject_run(subject, input, schedule);
    braid_schedule_destroy(schedule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct subject subject;
    subject = (struct subject){ 0 };
    struct random input = { .at = data, .end = data + size };
    open_subject(&subject);
    uint32_t num_plans = 0;
    for (int i = 0; i < max_operations && input.at < input.end; i++) {
        uint32_t first = *input.at;
        if (first == 0xff)
            break;
        if (first == 0xfe && num_plans++ < max_plans_between) {
            input.at++;
            braid_schedule_destroy(subject_plan(&subject, &input));
        } else {
            subject_change(&subject, &input);
        }
    }
    plan_and_run(&subject, &input);
    braid_graph_destroy(subject.graph);
    braid_graph_destroy(subject.other);
    return 0;
}
