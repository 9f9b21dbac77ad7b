// SPDX-License-Identifier: Apache-2.0
// Where a few buffers cannot be packed as close to the bound as is wished for, that is found soon:
// execs pack when they are made, and again when their scratch grows.
//
// Counted, not timed: the compiler puts a call into every block of what packs
// (-fsanitize-coverage=trace-pc).
#include "planner/plan_testing.h"

static uint64_t num_blocks;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    num_blocks++;
}

// Alignments leave gaps here, so that more than the bound is taken, whatever the order.
static void what_cannot_be_better_is_found_soon(void **state)
{
    (void)state;
    static const uint64_t bytes[] = { 1024, 2048, 5888 }, alignments[] = { 1024, 2048, 256 };
    braid_graph *graph = new_graph();
    braid_resource buffers[3];
    braid_access all[3];
    for (int i = 0; i < 3; i++) {
        check_ok(braid_graph_add_transient(graph, "output", bytes[i], alignments[i], &buffers[i]));
        all[i] = (braid_access){ buffers[i], BRAID_READ_WRITE };
        const braid_empty node = { .node = { .accesses = &(braid_access){ buffers[i], BRAID_WRITE },
                                             .num_accesses = 1,
                                             .cost_ns = 1 } };
        check_ok(braid_graph_add_empty(graph, &node, NULL));
    }
    const braid_empty last = { .node = { .accesses = all, .num_accesses = 3, .cost_ns = 1 } };
    check_ok(braid_graph_add_empty(graph, &last, NULL));
    braid_schedule *schedule = plan_on(graph, 1);
    num_blocks = 0;
    struct memory_plan plan = memory_of(schedule, graph);
    uint64_t num = num_blocks;
    struct memory_info info = plan.info;
    print_message("summary: %llu blocks for 3 buffers in %llu bytes, at least %llu\n",
                  (unsigned long long)num, (unsigned long long)info.arena_bytes,
                  (unsigned long long)info.bound_bytes);
    assert_true(info.arena_bytes > info.bound_bytes + info.bound_bytes / 50);
    assert_in_range(num, 1000, 10000000);
    braid_memory_plan_finish(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = { owning_test(what_cannot_be_better_is_found_soon) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
