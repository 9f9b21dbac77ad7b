// SPDX-License-Identifier: Apache-2.0
// Transient buffers are packed so that two share memory only where the plan orders all users of one
// before the other's.
#include <string.h>

#include <braid/region.h>

#include "graph/graph.h"
#include "planner/plan_testing.h"
#include "support/failing_memory.h"
#include "support/wide_plan.h"

// a writes x; b makes y of x; c makes z of y; d reads z: two are alive at once.
static void a_chain_takes_two_buffers(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource x = transient(graph, "x", 1000), y = transient(graph, "y", 1000),
                   z = transient(graph, "z", 1000);
    new_user(graph, "a", x, BRAID_WRITE, NO_RESOURCE, 0);
    new_user(graph, "b", x, BRAID_READ, y, BRAID_WRITE);
    new_user(graph, "c", y, BRAID_READ, z, BRAID_WRITE);
    new_user(graph, "d", z, BRAID_READ, NO_RESOURCE, 0);
    braid_schedule *schedule = plan_on(graph, 2);
    struct memory_plan plan = memory_of(schedule, graph);
    struct memory_info info = plan.info;
    assert_int_equal(info.alignment, 256);
    assert_int_equal(info.unshared_bytes, 3 * 1024);
    assert_int_equal(info.bound_bytes, 2 * 1024);
    assert_int_equal(info.arena_bytes, 2 * 1024);
    assert_int_equal(plan.offsets[x.index], plan.offsets[z.index]);
    assert_int_not_equal(plan.offsets[x.index], plan.offsets[y.index]);
    braid_memory_plan_finish(&plan);
}

// Two chains that no wait orders may be alive at once, on two lanes; on one lane they are not.
static void only_lanes_and_waits_let_buffers_share(void **state)
{
    (void)state;
    for (uint32_t lanes = 1; lanes <= 2; lanes++) {
        braid_graph *graph = new_graph();
        for (int i = 0; i < 2; i++) {
            braid_resource x = transient(graph, "x", 256);
            new_user(graph, "write", x, BRAID_WRITE, NO_RESOURCE, 0);
            new_user(graph, "read", x, BRAID_READ, NO_RESOURCE, 0);
        }
        braid_schedule *schedule =
            plan_with(graph, &(braid_schedule_options){
                                 .costs = &free_costs, .max_lanes = lanes, .fixed_lanes = true });
        assert_int_equal(info_of(schedule).num_lanes, lanes);
        struct memory_plan plan = memory_of(schedule, graph);
        if (lanes == 2)
            assert_int_equal(plan.info.arena_bytes, 512);
        else
            assert_true(plan.info.arena_bytes == plan.info.bound_bytes);
        braid_memory_plan_finish(&plan);
        destroy_now(schedule);
        destroy_now(graph);
    }
}

static void ranges_lie_in_their_buffer_and_alignment_is_kept(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource small = transient(graph, "small", 1), large, upper, unused;
    check_ok(braid_graph_add_transient(graph, "large", 100, 4096, &large));
    check_ok(braid_graph_add_range(graph, large, 60, 40, &upper));
    unused = transient(graph, "unused", 1 << 20);
    new_user(graph, "a", small, BRAID_WRITE, large, BRAID_WRITE);
    new_user(graph, "b", small, BRAID_READ, upper, BRAID_READ);
    braid_schedule *schedule = plan_on(graph, 1);
    struct memory_plan plan = memory_of(schedule, graph);
    assert_int_equal(plan.offsets[large.index] % 4096, 0);
    assert_int_equal(plan.offsets[upper.index], plan.offsets[large.index] + 60);
    assert_int_equal(plan.info.alignment, 4096);
    assert_true(plan.offsets[unused.index] == MEMORY_NONE);
    braid_memory_plan_finish(&plan);
}

static void a_buffer_that_is_read_first_is_refused_by_name(void **state)
{
    (void)state;
    static const braid_access_mode modes[] = { BRAID_READ, BRAID_READ_WRITE, BRAID_ACCUMULATE };
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        braid_graph *graph = new_graph();
        braid_resource x = transient(graph, "velocity", 64);
        new_user(graph, "hasty", x, modes[i], NO_RESOURCE, 0);
        new_user(graph, "late", x, BRAID_WRITE, NO_RESOURCE, 0);
        braid_schedule *schedule = plan_on(graph, 1);
        struct memory_plan plan;
        check_fails(braid_memory_plan_create(schedule, graph, false, &plan), BRAID_INVALID_ARGUMENT,
                    "'velocity'");
        check_fails(braid_memory_plan_create(schedule, graph, false, &plan), BRAID_INVALID_ARGUMENT,
                    "'hasty'");
        destroy_now(schedule);
        destroy_now(graph);
    }
}

static void add_prelude(braid_graph *graph, braid_node main, braid_access access)
{
    const braid_node_options options = { .prelude_of = main,
                                         .accesses = &access,
                                         .num_accesses = 1 };
    check_ok(braid_graph_add_empty(graph, &(braid_empty){ .node = options }, NULL));
}

// In a loop as outside: the prelude runs before the main node, which was added earlier.
static void preludes_write_before_their_main_node_reads(void **state)
{
    (void)state;
    for (int is_inside = 0; is_inside < 2; is_inside++) {
        braid_graph *graph = new_graph();
        braid_resource x = transient(graph, "x", 64);
        if (is_inside)
            check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = 2 }, NULL));
        braid_node main = new_user(graph, "main", x, BRAID_READ, NO_RESOURCE, 0);
        add_prelude(graph, main, (braid_access){ x, BRAID_WRITE });
        if (is_inside)
            check_ok(braid_graph_end(graph));
        braid_schedule *schedule = plan_on(graph, 1);
        struct memory_plan plan = memory_of(schedule, graph);
        assert_int_equal(plan.info.arena_bytes, 256);
        braid_memory_plan_finish(&plan);
        destroy_now(schedule);
        destroy_now(graph);
    }
}

// A prelude that reads counts at its main node's place, before a writer that was added earlier.
static void a_prelude_that_reads_first_is_refused_in_a_loop(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource x = transient(graph, "x", 64);
    check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .node.name = "loop", .times = 2 }, NULL));
    braid_node main = new_node(graph, "main", 1, NO_NODE, NO_NODE);
    new_user(graph, "late", x, BRAID_WRITE, NO_RESOURCE, 0);
    add_prelude(graph, main, (braid_access){ x, BRAID_READ });
    check_ok(braid_graph_end(graph));
    braid_schedule *schedule = plan_on(graph, 1);
    struct memory_plan plan;
    check_fails(braid_memory_plan_create(schedule, graph, false, &plan), BRAID_INVALID_ARGUMENT,
                "'loop' reads it before any node writes it");
}

static void bad_buffers_are_refused(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource out = { 7, 7 };
    check_fails(braid_graph_add_transient(graph, "", 1, 0, &out), BRAID_INVALID_ARGUMENT, "name");
    check_fails(braid_graph_add_transient(graph, "x", 0, 0, &out), BRAID_INVALID_ARGUMENT, "'x'");
    check_fails(braid_graph_add_transient(graph, "x", 1, 3, &out), BRAID_INVALID_ARGUMENT,
                "power of two");
    check_fails(braid_graph_add_transient(graph, "x", 1, 131072, &out), BRAID_INVALID_ARGUMENT,
                "65536");
    check_fails(braid_graph_add_transient(graph, "x", UINT64_MAX, 0, &out), BRAID_INVALID_ARGUMENT,
                "2^48");
    assert_int_equal(out.index, 7);
}

// The proof does not trust the packing: memory that is shared without order, comes back, lies
// outside or is not aligned is found.
static void planted_faults_are_found(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource x = transient(graph, "x", 256), y = transient(graph, "y", 256);
    new_user(graph, "write x", x, BRAID_WRITE, NO_RESOURCE, 0);
    new_user(graph, "write y", y, BRAID_WRITE, NO_RESOURCE, 0);
    new_user(graph, "read x", x, BRAID_READ, NO_RESOURCE, 0);
    new_user(graph, "read y", y, BRAID_READ, NO_RESOURCE, 0);
    for (uint32_t lanes = 1; lanes <= 2; lanes++) {
        braid_schedule *schedule =
            plan_with(graph, &(braid_schedule_options){
                                 .costs = &free_costs, .max_lanes = lanes, .fixed_lanes = true });
        struct memory_plan plan = memory_of(schedule, graph);
        uint64_t kept = plan.offsets[y.index];
        if (lanes == 2) {
            plan.offsets[y.index] = plan.offsets[x.index];
            check_fails(verify_memory(&plan, schedule, graph), BRAID_INTERNAL, "'x'");
        }
        plan.offsets[y.index] = plan.info.arena_bytes;
        check_fails(verify_memory(&plan, schedule, graph), BRAID_INTERNAL, "beyond");
        plan.offsets[y.index] = 1;
        check_fails(verify_memory(&plan, schedule, graph), BRAID_INTERNAL,
                    plan.info.arena_bytes > 256 ? "aligned" : "beyond");
        plan.offsets[y.index] = kept;
        check_ok(verify_memory(&plan, schedule, graph));
        braid_memory_plan_finish(&plan);
        destroy_now(schedule);
    }
}

// x is used, then y in the same bytes, then x again, all on one lane: order alone is not enough.
static void memory_that_comes_back_is_found(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource x = transient(graph, "x", 256), y = transient(graph, "y", 256);
    braid_node first = new_user(graph, "first", x, BRAID_WRITE, NO_RESOURCE, 0);
    braid_node guest = new_user(graph, "guest", y, BRAID_WRITE, NO_RESOURCE, 0);
    braid_node again = new_user(graph, "again", x, BRAID_READ, NO_RESOURCE, 0);
    new_edge(graph, first, guest);
    new_edge(graph, guest, again);
    braid_schedule *schedule = plan_on(graph, 1);
    struct memory_plan plan = memory_of(schedule, graph);
    assert_int_equal(plan.info.arena_bytes, 512);
    plan.offsets[y.index] = plan.offsets[x.index] = 0;
    check_fails(verify_memory(&plan, schedule, graph), BRAID_INTERNAL, "before and after it");
    braid_memory_plan_finish(&plan);
}

// y and z come after x, in its bytes, and side by side: the latest that had the bytes counts.
static void the_latest_user_of_bytes_counts(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource x = transient(graph, "x", 256), y = transient(graph, "y", 256),
                   z = transient(graph, "z", 256);
    braid_node first = new_user(graph, "first", x, BRAID_WRITE, NO_RESOURCE, 0);
    braid_node left = new_user(graph, "left", y, BRAID_WRITE, NO_RESOURCE, 0);
    braid_node right = new_user(graph, "right", z, BRAID_WRITE, NO_RESOURCE, 0);
    new_edge(graph, first, left);
    new_edge(graph, first, right);
    braid_schedule *schedule = plan_on(graph, 2);
    struct memory_plan plan = memory_of(schedule, graph);
    plan.offsets[x.index] = plan.offsets[y.index] = 0;
    plan.offsets[z.index] = 256;
    assert_int_equal(verify_memory(&plan, schedule, graph), BRAID_OK);
    plan.offsets[z.index] = 0;
    check_fails(verify_memory(&plan, schedule, graph), BRAID_INTERNAL, "may still be in use");
    braid_memory_plan_finish(&plan);
}

enum { most_nodes = 14 };

// Every node writes a buffer of its own and reads those of its predecessors.
struct flow_graph {
    braid_graph *graph;
    uint32_t num_nodes;
    braid_resource outputs[most_nodes];
    uint64_t bytes[most_nodes]; // rounded up
};

static void make_flow_graph(struct random *random, struct flow_graph *out)
{
    *out = (struct flow_graph){ .graph = new_graph() };
    out->num_nodes = 2 + random_below(random, most_nodes - 1);
    for (uint32_t i = 0; i < out->num_nodes; i++) {
        uint64_t bytes = 256 * (1 + random_below(random, 40)) - random_below(random, 256);
        out->bytes[i] = (bytes + 255) / 256 * 256;
        out->outputs[i] = transient(out->graph, "output", bytes);
        braid_access accesses[4] = { { out->outputs[i], BRAID_WRITE } };
        size_t num = 1;
        for (uint32_t k = 0; k < 3 && i > 0; k++) {
            if (random_chance(random, 60))
                accesses[num++] =
                    (braid_access){ out->outputs[random_below(random, i)], BRAID_READ };
        }
        braid_empty node = { .node = { .accesses = accesses,
                                       .num_accesses = num,
                                       .cost_ns = 1 + random_below(random, 50) } };
        check_ok(braid_graph_add_empty(out->graph, &node, NULL));
    }
}

// What ends before what starts in a plan, by closure over its lanes and waits.
static void close_plan(const braid_schedule *schedule, bool before[most_nodes][most_nodes])
{
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    const braid_step *steps = info.steps;
    memset(before, 0, sizeof(bool) * most_nodes * most_nodes);
    for (size_t i = 0; i < info.num_steps; i++)
        for (size_t k = i + 1; k < info.num_steps; k++) {
            bool ends = steps[i].kind == BRAID_STEP_RUN || steps[i].kind == BRAID_STEP_WAIT;
            if (ends && steps[k].kind == BRAID_STEP_RUN && steps[i].lane == steps[k].lane &&
                steps[i].node != steps[k].node)
                before[steps[i].node][steps[k].node] = true;
        }
    for (int k = 0; k < most_nodes; k++)
        for (int i = 0; i < most_nodes; i++)
            for (int j = 0; j < most_nodes; j++)
                before[i][j] |= before[i][k] && before[k][j];
}

static bool uses(const struct flow_graph *flow, uint32_t node, uint32_t buffer)
{
    const struct graph_access *accesses = flow->graph->accesses.items;
    const struct graph_node *graph_node = &graph_nodes(flow->graph)[node];
    for (uint32_t i = 0; i < graph_node->num_accesses; i++) {
        if (accesses[graph_node->first_access + i].resource == flow->outputs[buffer].index)
            return true;
    }
    return false;
}

static bool comes_before(const struct flow_graph *flow, bool before[most_nodes][most_nodes],
                         uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < flow->num_nodes; i++)
        for (uint32_t j = 0; j < flow->num_nodes; j++)
            if (uses(flow, i, a) && uses(flow, j, b) && !before[i][j])
                return false;
    return true;
}

// By trying every set of buffers.
static uint64_t heaviest_set(const struct flow_graph *flow, bool before[most_nodes][most_nodes])
{
    uint32_t clash[most_nodes] = { 0 };
    for (uint32_t a = 0; a < flow->num_nodes; a++)
        for (uint32_t b = 0; b < flow->num_nodes; b++)
            if (a == b || (!comes_before(flow, before, a, b) && !comes_before(flow, before, b, a)))
                clash[a] |= 1u << b;
    uint64_t most = 0;
    for (uint32_t set = 1; set < 1u << flow->num_nodes; set++) {
        uint64_t bytes = 0;
        bool alive = true;
        for (uint32_t a = 0; alive && a < flow->num_nodes; a++) {
            if (!(set >> a & 1))
                continue;
            alive = (set & ~clash[a]) == 0;
            bytes += flow->bytes[a];
        }
        most = alive && bytes > most ? bytes : most;
    }
    return most;
}

static void the_arena_is_no_smaller_than_the_heaviest_set_alive_at_once(void **state)
{
    (void)state;
    struct random random = { 11 };
    for (int i = 0; i < 400; i++) {
        struct flow_graph flow;
        make_flow_graph(&random, &flow);
        bool before[most_nodes][most_nodes];
        braid_schedule *schedule = plan_on(flow.graph, 1 + random_below(&random, 4));
        struct memory_plan plan = memory_of(schedule, flow.graph);
        close_plan(schedule, before);
        uint64_t heaviest = heaviest_set(&flow, before);
        assert_true(plan.info.bound_bytes <= heaviest);
        assert_true(plan.info.arena_bytes >= heaviest);
        for (uint32_t a = 0; a < flow.num_nodes; a++)
            for (uint32_t b = 0; b < a; b++) {
                uint64_t x = plan.offsets[flow.outputs[a].index],
                         y = plan.offsets[flow.outputs[b].index];
                if (x < y + flow.bytes[b] && y < x + flow.bytes[a])
                    assert_true(comes_before(&flow, before, a, b) ||
                                comes_before(&flow, before, b, a));
            }
        braid_memory_plan_finish(&plan);
        destroy_now(schedule);
        destroy_now(flow.graph);
    }
}

static void running_out_of_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    struct random random = { 3 };
    struct flow_graph flow;
    make_flow_graph(&random, &flow);
    braid_schedule *schedule = plan_on(flow.graph, 2);
    struct memory_plan kept = memory_of(schedule, flow.graph);
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        struct memory_plan plan = { 0 };
        failing_memory_arm(nth);
        braid_status status = braid_memory_plan_create(schedule, flow.graph, false, &plan);
        failed = failing_memory_disarm();
        assert_int_equal(status, failed ? BRAID_NO_MEMORY : BRAID_OK);
        braid_memory_plan_finish(&plan);
    }
    failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        failing_memory_arm(nth);
        braid_status status = verify_memory(&kept, schedule, flow.graph);
        failed = failing_memory_disarm();
        assert_int_equal(status, failed ? BRAID_NO_MEMORY : BRAID_OK);
    }
    braid_memory_plan_finish(&kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(a_chain_takes_two_buffers),
        owning_test(only_lanes_and_waits_let_buffers_share),
        owning_test(ranges_lie_in_their_buffer_and_alignment_is_kept),
        owning_test(a_buffer_that_is_read_first_is_refused_by_name),
        owning_test(preludes_write_before_their_main_node_reads),
        owning_test(a_prelude_that_reads_first_is_refused_in_a_loop),
        owning_test(bad_buffers_are_refused),
        owning_test(planted_faults_are_found),
        owning_test(memory_that_comes_back_is_found),
        owning_test(the_latest_user_of_bytes_counts),
        owning_test(the_arena_is_no_smaller_than_the_heaviest_set_alive_at_once),
        owning_test(running_out_of_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
