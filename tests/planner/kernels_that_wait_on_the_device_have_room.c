// SPDX-License-Identifier: Apache-2.0
// A kernel is launched as its predecessor begins only if all kernels that then wait have room.
#include <string.h>

#include "plan/plan_early.h"
#include "planner/plan_testing.h"

enum { LENGTH = 100, MOST_WAITING = 32 };

static const struct plan_early_node small = { .can = true, .share = 1 };

static void run_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
}

static const braid_kernel kernel = { .name = "kernel", .cpu = run_nothing };

// Chains of kernels, each on a lane of its own. Node i stands behind node i - width.
static braid_schedule *plan_chains(uint32_t width, uint32_t length, braid_graph **out_graph)
{
    braid_node nodes[LENGTH];
    *out_graph = new_graph();
    for (uint32_t i = 0; i < width * length; i++) {
        const braid_kernel_node launch = { .node = { .after = i < width ? NULL : &nodes[i - width],
                                                     .num_after = i >= width,
                                                     .cost_ns = 1000 },
                                           .kernel = &kernel };
        check_ok(braid_graph_add_kernel(*out_graph, &launch, &nodes[i]));
    }
    return plan_on(*out_graph, width);
}

static void check_chain(const struct plan_early_node *nodes, uint32_t num,
                        const enum plan_early *expected)
{
    struct plan_early_node chosen[LENGTH];
    braid_graph *graph;
    braid_schedule *schedule = plan_chains(1, num, &graph);
    uint32_t num_early = 0, num_expected = 0;
    memcpy(chosen, nodes, num * sizeof(*nodes));
    check_ok(braid_plan_choose_early(schedule, graph, false, chosen, &num_early));
    for (uint32_t i = 0; i < num; i++) {
        assert_int_equal(chosen[i].early, expected[i]);
        num_expected += expected[i] != PLAN_NOT_EARLY;
    }
    assert_int_equal(num_early, num_expected);
    destroy_now(schedule);
    destroy_now(graph);
}

static struct plan_early_node with_share(uint32_t share)
{
    return (struct plan_early_node){ .can = true, .share = share };
}

static void kernels_wait_together_while_they_fit(void **state)
{
    (void)state;
    const struct plan_early_node third = with_share(PLAN_EARLY_ROOM / 3);
    check_chain((struct plan_early_node[]){ third, third, third, third, third, third, third }, 7,
                (enum plan_early[]){ PLAN_NOT_EARLY, PLAN_EARLY_AT_BEGIN, PLAN_EARLY_AT_BEGIN,
                                     PLAN_EARLY_AT_END, PLAN_EARLY_AT_BEGIN, PLAN_EARLY_AT_BEGIN,
                                     PLAN_EARLY_AT_END });
}

static void a_kernel_that_fills_the_device_is_launched_as_blocks_end(void **state)
{
    (void)state;
    const struct plan_early_node whole = with_share(PLAN_EARLY_ROOM);
    check_chain((struct plan_early_node[]){ small, whole, small, whole }, 4,
                (enum plan_early[]){ PLAN_NOT_EARLY, PLAN_EARLY_AT_END, PLAN_EARLY_AT_END,
                                     PLAN_EARLY_AT_END });
}

static void only_so_many_kernels_wait(void **state)
{
    (void)state;
    struct plan_early_node nodes[LENGTH];
    enum plan_early expected[LENGTH];
    for (uint32_t i = 0; i < LENGTH; i++) {
        nodes[i] = small;
        expected[i] = i % (MOST_WAITING + 1) ? PLAN_EARLY_AT_BEGIN : PLAN_EARLY_AT_END;
    }
    expected[0] = PLAN_NOT_EARLY;
    check_chain(nodes, LENGTH, expected);
}

static void lanes_share_the_room(void **state)
{
    (void)state;
    const uint32_t shares[] = { PLAN_EARLY_ROOM / 5, PLAN_EARLY_ROOM / 4 };
    for (int i = 0; i < 2; i++) {
        struct plan_early_node nodes[8];
        braid_graph *graph;
        braid_schedule *schedule = plan_chains(2, 4, &graph);
        uint32_t num_early = 0;
        for (int k = 0; k < 8; k++)
            nodes[k] = with_share(shares[i] + (uint32_t)i);
        check_ok(braid_plan_choose_early(schedule, graph, false, nodes, &num_early));
        assert_int_equal(info_of(schedule).num_lanes, 2);
        assert_int_equal(nodes[1].early, PLAN_NOT_EARLY);
        assert_int_equal(nodes[2].early, i ? PLAN_EARLY_AT_END : PLAN_EARLY_AT_BEGIN);
        assert_int_equal(nodes[4].early, PLAN_EARLY_AT_END);
        assert_int_equal(num_early, 6);
        destroy_now(schedule);
        destroy_now(graph);
    }
}

static void a_kernel_that_cannot_wait_starts_in_order(void **state)
{
    (void)state;
    const struct plan_early_node other = { .share = 1 };
    check_chain((struct plan_early_node[]){ small, other, small }, 3,
                (enum plan_early[]){ PLAN_NOT_EARLY, PLAN_NOT_EARLY, PLAN_EARLY_AT_BEGIN });
}

static void a_kernel_that_tells_decides_when_the_next_one_starts(void **state)
{
    (void)state;
    const struct plan_early_node tells = { .can = true, .tells = true, .share = 1 };
    check_chain((struct plan_early_node[]){ small, tells, small }, 3,
                (enum plan_early[]){ PLAN_NOT_EARLY, PLAN_EARLY_AT_BEGIN, PLAN_EARLY_AT_END });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(kernels_wait_together_while_they_fit),
        owning_test(a_kernel_that_fills_the_device_is_launched_as_blocks_end),
        owning_test(only_so_many_kernels_wait),
        owning_test(lanes_share_the_room),
        owning_test(a_kernel_that_cannot_wait_starts_in_order),
        owning_test(a_kernel_that_tells_decides_when_the_next_one_starts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
