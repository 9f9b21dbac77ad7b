// SPDX-License-Identifier: Apache-2.0
// If a graph declares outputs, its plans leave out the nodes whose results reach none.
#include <string.h>

#include <braid/region.h>
#include <braid/tune.h>

#include "planner/plan_testing.h"
#include "support/owner.h"
#include "support/wide_plan.h"

static void do_nothing(void *user)
{
    (void)user;
}

static braid_node add_call(braid_graph *graph, const braid_node_options *options)
{
    braid_node node;
    const braid_host_call call = { .node = *options, .call = do_nothing };
    check_ok(braid_graph_add_host_call(graph, &call, &node));
    return node;
}

// A call with up to two accesses; mode 0 is none.
static braid_node call(braid_graph *graph, const char *name, braid_resource resource,
                       braid_access_mode mode, braid_resource other, braid_access_mode other_mode)
{
    const braid_access accesses[] = { { resource, mode }, { other, other_mode } };
    return add_call(graph, &(braid_node_options){ .name = name,
                                                  .accesses = accesses,
                                                  .num_accesses = !mode        ? 0u
                                                                  : other_mode ? 2
                                                                               : 1,
                                                  .cost_ns = 100 });
}

static braid_resource buffer(braid_graph *graph, const char *name)
{
    braid_resource resource;
    check_ok(braid_graph_add_buffer(graph, name, NULL, 8, &resource));
    return resource;
}

static bool runs(const braid_graph *graph, braid_node node)
{
    braid_schedule *schedule = plan_with(graph, NULL);
    braid_schedule_info info = info_of(schedule);
    bool has_step = false;
    for (size_t i = 0; i < info.num_steps; i++)
        has_step |= info.steps[i].kind != BRAID_STEP_RECORD &&
                    info.steps[i].kind != BRAID_STEP_WAIT && info.steps[i].node == node.index;
    assert_int_equal(has_step, placement_of(schedule, node).lane != BRAID_NO_LANE);
    destroy_now(schedule);
    return has_step;
}

// A frame that computes an image, and statistics of it.
static void only_what_outputs_need_is_planned(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource raw = buffer(graph, "raw"), image = buffer(graph, "image");
    braid_resource counts = buffer(graph, "counts"), mean = buffer(graph, "mean");
    call(graph, "load", raw, BRAID_WRITE, NO_RESOURCE, 0);
    braid_node blur = call(graph, "blur", raw, BRAID_READ, image, BRAID_WRITE);
    braid_node count = call(graph, "count", raw, BRAID_READ, counts, BRAID_WRITE);
    braid_node average = call(graph, "average", counts, BRAID_READ, mean, BRAID_WRITE);
    assert_true(runs(graph, average)); // without outputs all nodes run
    assert_int_equal(
        plan_info(graph, (braid_schedule_options){ .costs = &free_costs }).num_left_out, 0);

    check_ok(braid_graph_set_output(graph, image));
    braid_schedule *schedule = plan_with(graph, NULL);
    braid_schedule_info info = info_of(schedule);
    assert_int_equal(info.num_nodes, 4);
    assert_int_equal(info.num_left_out, 2);
    assert_int_equal(info.num_steps, 2);
    assert_int_equal(info.work_ns, 200);
    assert_int_equal(info.num_critical, 2);
    assert_int_equal(info.critical_path[1], blur.index);
    assert_int_equal(placement_of(schedule, count).lane, BRAID_NO_LANE);
    assert_int_equal(placement_of(schedule, count).end_ns, 0);
    assert_int_equal(placement_of(schedule, count).place, 0);
    assert_int_equal(placement_of(schedule, blur).place, 1);
    check_explains(schedule, count, count, "left out: no output of the graph needs its results");
    check_explains(schedule, blur, average,
                   "average is left out: no output of the graph needs its results");
    destroy_now(schedule);

    check_ok(braid_graph_set_output(graph, mean));
    check_ok(braid_graph_set_output(graph, mean)); // once more is as once
    assert_true(runs(graph, count) && runs(graph, average) && runs(graph, blur));
    destroy_now(graph);
}

// Nobody knows what a node is for that declares no result. Edges may stand for data.
static void effects_and_edges_keep_nodes(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource image = buffer(graph, "image"), text = buffer(graph, "text");
    braid_resource lock = new_resource(graph, "lock"), other = buffer(graph, "other");
    braid_node write = call(graph, "write", text, BRAID_WRITE, NO_RESOURCE, 0);
    braid_node print = call(graph, "print", text, BRAID_READ, lock, BRAID_EXCLUSIVE);
    braid_node before = call(graph, "before", other, BRAID_WRITE, lock, BRAID_EXCLUSIVE);
    braid_node draw = call(graph, "draw", image, BRAID_WRITE, lock, BRAID_EXCLUSIVE);
    braid_node join = new_node(graph, "join", 0, draw, before);
    check_ok(braid_graph_set_output(graph, image));
    assert_true(runs(graph, print) && runs(graph, write) && runs(graph, draw));
    assert_false(runs(graph, before) || runs(graph, join)); // an empty node has no effect
    new_edge(graph, before, draw);
    assert_true(runs(graph, before));
    destroy_now(graph);
}

// An exclusive access may change what it locks.
static void exclusive_changes_reach_an_output(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource list = new_resource(graph, "list"), a = buffer(graph, "a");
    braid_node first = call(graph, "first", a, BRAID_WRITE, list, BRAID_EXCLUSIVE);
    braid_node second = call(graph, "second", a, BRAID_WRITE, list, BRAID_EXCLUSIVE);
    check_ok(braid_graph_set_output(graph, a));
    assert_true(!runs(graph, first) && runs(graph, second));
    check_ok(braid_graph_set_output(graph, list));
    assert_true(runs(graph, first) && runs(graph, second));
    destroy_now(graph);
}

// Lists of the plan name nodes by their index in the graph, and resources of it.
static void serialisations_are_told_of_nodes_that_stay(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource a = buffer(graph, "a"), b = buffer(graph, "b"), c = buffer(graph, "c");
    braid_resource lock = new_resource(graph, "lock");
    call(graph, "lost", c, BRAID_WRITE, NO_RESOURCE, 0);
    braid_node first = call(graph, "first", a, BRAID_WRITE, lock, BRAID_EXCLUSIVE);
    braid_node second = call(graph, "second", b, BRAID_WRITE, lock, BRAID_EXCLUSIVE);
    check_ok(braid_graph_set_output(graph, b));
    check_ok(braid_graph_set_output(graph, a));
    braid_schedule *schedule = plan_with(graph, NULL);
    assert_int_equal(info_of(schedule).num_left_out, 1);
    assert_int_equal(num_serialised(schedule, first, second, BRAID_SERIALISED_BY_RESOURCE, "lock"),
                     1);
    check_explains(schedule, first, second, "serialised by lock (held by first, held by second)");
    destroy_now(schedule);
    destroy_now(graph);
}

static void bundles_stay_or_go_as_a_whole(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource image = buffer(graph, "image"), log = buffer(graph, "log");
    braid_resource other = buffer(graph, "other");
    braid_node draw = call(graph, "draw", image, BRAID_WRITE, NO_RESOURCE, 0);
    braid_node lost = call(graph, "lost", other, BRAID_WRITE, NO_RESOURCE, 0);
    braid_node epilogue = new_epilogue(graph, draw, "note", log, BRAID_WRITE);
    braid_node prelude = new_prelude(graph, lost, "prepare", other, BRAID_WRITE);
    check_ok(braid_graph_set_output(graph, image));
    assert_true(runs(graph, draw) && runs(graph, epilogue));
    assert_false(runs(graph, lost) || runs(graph, prelude));
    check_ok(braid_graph_set_output(graph, other));
    assert_true(runs(graph, prelude));
    destroy_now(graph);
}

// Frames follow each other: what the next one reads before it writes is needed.
static void later_frames_need_nodes(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource image = buffer(graph, "image"), world = buffer(graph, "world");
    braid_resource past, now, before;
    check_ok(braid_graph_add_versioned_buffer(graph, "past", NULL, 2, 8, &now));
    check_ok(braid_graph_add_earlier_version(graph, now, 1, &past));
    braid_node show = call(graph, "show", world, BRAID_READ, past, BRAID_READ);
    braid_node draw = call(graph, "draw", image, BRAID_WRITE, NO_RESOURCE, 0);
    braid_node step = call(graph, "step", world, BRAID_WRITE, NO_RESOURCE, 0);
    braid_node keep = call(graph, "keep", now, BRAID_WRITE, NO_RESOURCE, 0);
    check_ok(braid_graph_add_versioned_buffer(graph, "unread", NULL, 2, 8, &before));
    braid_node lost = call(graph, "lost", before, BRAID_WRITE, NO_RESOURCE, 0);
    check_ok(braid_graph_set_output(graph, image));
    assert_true(runs(graph, show) && runs(graph, draw) && runs(graph, step) && runs(graph, keep));
    assert_false(runs(graph, lost));
    check_ok(braid_graph_set_output(graph, before));
    assert_true(runs(graph, lost));
    destroy_now(graph);
}

// A loop or a branch is one node from outside.
static void regions_stay_or_go_as_a_whole(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource image = buffer(graph, "image"), sum = buffer(graph, "sum");
    braid_resource other = buffer(graph, "other"), side = buffer(graph, "side"), word;
    static uint32_t condition;
    check_ok(braid_graph_add_buffer(graph, "word", &condition, sizeof(condition), &word));
    braid_node kept, lost, kept_step, side_step, lost_step;
    const braid_loop twice = { .node.name = "kept", .times = 2 };
    braid_node before = call(graph, "before", sum, BRAID_WRITE, NO_RESOURCE, 0);
    call(graph, "choose", word, BRAID_WRITE, NO_RESOURCE, 0);
    check_ok(braid_graph_begin_loop(graph, &twice, &kept));
    kept_step = call(graph, "step", sum, BRAID_READ, image, BRAID_READ_WRITE);
    side_step = call(graph, "side", side, BRAID_WRITE, NO_RESOURCE, 0);
    check_ok(braid_graph_end(graph));
    check_ok(
        braid_graph_begin_if(graph, &(braid_if){ .node.name = "lost", .condition = word }, &lost));
    lost_step = call(graph, "arm", other, BRAID_WRITE, NO_RESOURCE, 0);
    check_ok(braid_graph_end(graph));
    check_ok(braid_graph_set_output(graph, image));
    braid_schedule *schedule = plan_with(graph, NULL);
    assert_int_equal(info_of(schedule).num_left_out, 3);
    assert_int_not_equal(placement_of(schedule, kept_step).lane, BRAID_NO_LANE);
    assert_int_not_equal(placement_of(schedule, side_step).lane, BRAID_NO_LANE);
    assert_int_equal(placement_of(schedule, lost_step).lane, BRAID_NO_LANE);
    destroy_now(schedule);
    assert_true(runs(graph, before) && runs(graph, kept) && !runs(graph, lost));
    check_ok(braid_graph_set_output(graph, other));
    assert_true(runs(graph, lost));
    destroy_now(graph);
}

// All of a graph may be left out.
static void a_plan_may_be_empty(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource a = buffer(graph, "a"), b = buffer(graph, "b");
    braid_node only = call(graph, "only", a, BRAID_WRITE, NO_RESOURCE, 0);
    check_ok(braid_graph_set_output(graph, b));
    assert_false(runs(graph, only));
    braid_schedule *schedule = plan_with(graph, NULL);
    assert_int_equal(info_of(schedule).limit, BRAID_LIMITED_BY_NOTHING);
    assert_int_equal(info_of(schedule).num_lanes, 0);
    destroy_now(schedule);
    destroy_now(graph);
}

// A file of costs serves a graph with any outputs.
static void outputs_leave_the_digest_as_it_is(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource a = buffer(graph, "a"), b = buffer(graph, "b");
    call(graph, "node", a, BRAID_WRITE, b, BRAID_WRITE);
    uint64_t without = braid_graph_get_digest(graph);
    check_ok(braid_graph_set_output(graph, b));
    check_ok(braid_graph_set_output(graph, a));
    assert_int_equal(braid_graph_get_digest(graph), without);
    destroy_now(graph);
}

// Outputs are drawn in the order of resources, each once.
static void the_order_of_outputs_does_not_matter(void **state)
{
    (void)state;
    char text[2][2048] = { "", "" };
    for (int i = 0; i < 2; i++) {
        braid_graph *graph = new_graph();
        braid_resource a = buffer(graph, "a"), b = buffer(graph, "b");
        call(graph, "node", a, BRAID_WRITE, b, BRAID_WRITE);
        check_ok(braid_graph_set_output(graph, i ? a : b));
        check_ok(braid_graph_set_output(graph, i ? b : a));
        check_ok(braid_graph_set_output(graph, i ? a : b));
        FILE *file = fmemopen(text[i], sizeof(text[i]), "w");
        assert_non_null(file);
        check_ok(braid_graph_write_dot(graph, file));
        fclose(file);
        destroy_now(graph);
    }
    assert_string_equal(text[0], text[1]);
    assert_non_null(strstr(text[0], "outputs=\"0 1\""));
}

// The frame after next reads what this one writes, though a node changes another version meanwhile.
static void no_version_hides_another(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource image = buffer(graph, "image"), now, past, older;
    check_ok(braid_graph_add_versioned_buffer(graph, "v", NULL, 3, 8, &now));
    check_ok(braid_graph_add_earlier_version(graph, now, 1, &past));
    check_ok(braid_graph_add_earlier_version(graph, now, 2, &older));
    braid_node draw = call(graph, "draw", older, BRAID_READ, image, BRAID_WRITE);
    braid_node write = call(graph, "write", now, BRAID_WRITE, NO_RESOURCE, 0);
    braid_node mend = call(graph, "mend", past, BRAID_WRITE, NO_RESOURCE, 0);
    check_ok(braid_graph_set_output(graph, image));
    assert_true(runs(graph, draw) && runs(graph, write) && runs(graph, mend));
    destroy_now(graph);
}

// An arm that does not run leaves all as it was.
static void no_arm_hides_an_earlier_result(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource image = buffer(graph, "image"), word;
    static uint32_t condition;
    check_ok(braid_graph_add_buffer(graph, "word", &condition, sizeof(condition), &word));
    braid_node draw = call(graph, "draw", image, BRAID_WRITE, NO_RESOURCE, 0);
    check_ok(braid_graph_begin_if(graph, &(braid_if){ .condition = word }, NULL));
    call(graph, "arm", image, BRAID_WRITE, NO_RESOURCE, 0);
    check_ok(braid_graph_end(graph));
    check_ok(braid_graph_set_output(graph, image));
    assert_true(runs(graph, draw));
    destroy_now(graph);
}

static void an_output_may_be_a_part_of_a_buffer(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource whole = buffer(graph, "whole"), left, right;
    check_ok(braid_graph_add_range(graph, whole, 0, 4, &left));
    check_ok(braid_graph_add_range(graph, whole, 4, 4, &right));
    braid_node clear = call(graph, "clear", whole, BRAID_WRITE, NO_RESOURCE, 0);
    braid_node write_left = call(graph, "left", left, BRAID_WRITE, NO_RESOURCE, 0);
    braid_node add_right = call(graph, "right", right, BRAID_ACCUMULATE, NO_RESOURCE, 0);
    check_ok(braid_graph_set_output(graph, left));
    assert_true(!runs(graph, clear) && runs(graph, write_left) && !runs(graph, add_right));
    check_ok(braid_graph_set_output(graph, right));
    assert_true(runs(graph, clear) && runs(graph, add_right));
    destroy_now(graph);
}

// While a parameter disables a writer, the output has what was there before.
static void what_may_not_be_written_does_not_hide_what_was(void **state)
{
    (void)state;
    braid_graph *graph = new_graph();
    braid_resource image = buffer(graph, "image");
    braid_node first = call(graph, "first", image, BRAID_WRITE, NO_RESOURCE, 0);
    braid_node second = call(graph, "second", image, BRAID_WRITE, NO_RESOURCE, 0);
    check_ok(braid_graph_set_output(graph, image));
    assert_true(!runs(graph, first) && runs(graph, second));
    braid_parameter draws;
    check_ok(braid_graph_add_parameter(graph, "draws", 4, &draws));
    check_ok(braid_graph_use_parameter(
        graph, draws, &(braid_parameter_use){ .node = second, .target = BRAID_TARGET_ENABLED }));
    assert_true(runs(graph, first) && runs(graph, second));
    destroy_now(graph);
}

// As many small ones as are packed by time, and large ones of nodes that are left out.
static void what_is_left_out_takes_no_memory(void **state)
{
    (void)state;
    enum { NUM = 4200, NUM_LEFT_OUT = 10, BYTES = 4096, LARGE = 1 << 20 };
    braid_graph *graph = new_graph();
    braid_exec_info info;
    braid_resource image = buffer(graph, "image"), before = NO_RESOURCE;
    for (int i = 0; i < NUM; i++) {
        braid_resource next = transient(graph, "small", BYTES);
        call(graph, "step", next, BRAID_WRITE, before, i ? BRAID_READ : 0);
        before = next;
    }
    for (int i = 0; i < NUM_LEFT_OUT; i++)
        call(graph, "left out", transient(graph, "large", LARGE), BRAID_WRITE, NO_RESOURCE, 0);
    call(graph, "draw", image, BRAID_WRITE, before, BRAID_READ);
    check_ok(braid_graph_set_output(graph, image));
    braid_device *device = own_device("cpu");
    braid_exec *exec = own_exec(device, graph, NULL);
    braid_exec_get_info(exec, &info);
    assert_true(info.transient_bytes >= 2 * BYTES && info.transient_bytes < LARGE);
    assert_int_equal(info.unshared_transient_bytes, (uint64_t)NUM * BYTES);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    destroy_now(graph);
}

static void wrong_outputs_are_refused(void **state)
{
    (void)state;
    braid_graph *graph = new_graph(), *other = new_graph();
    braid_resource scratch, temporary = transient(graph, "temporary", 64);
    check_ok(braid_graph_add_scratch(graph, "scratch", 64, 0, &scratch));
    check_fails(braid_graph_set_output(graph, temporary), BRAID_INVALID_ARGUMENT,
                "'temporary' is a transient buffer, which nobody can read after a frame");
    check_fails(braid_graph_set_output(graph, scratch), BRAID_INVALID_ARGUMENT,
                "'scratch' is scratch, which nobody can read after a frame");
    check_fails(braid_graph_set_output(graph, buffer(other, "far")), BRAID_INVALID_ARGUMENT,
                "is not a resource of this graph");
    check_fails(braid_graph_set_output(NULL, scratch), BRAID_INVALID_ARGUMENT, "graph");
    destroy_now(other);
    destroy_now(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(only_what_outputs_need_is_planned),
        owning_test(effects_and_edges_keep_nodes),
        owning_test(exclusive_changes_reach_an_output),
        owning_test(serialisations_are_told_of_nodes_that_stay),
        owning_test(bundles_stay_or_go_as_a_whole),
        owning_test(later_frames_need_nodes),
        owning_test(no_version_hides_another),
        owning_test(no_arm_hides_an_earlier_result),
        owning_test(regions_stay_or_go_as_a_whole),
        owning_test(a_plan_may_be_empty),
        owning_test(outputs_leave_the_digest_as_it_is),
        owning_test(the_order_of_outputs_does_not_matter),
        owning_test(an_output_may_be_a_part_of_a_buffer),
        owning_test(what_may_not_be_written_does_not_hide_what_was),
        owning_test(what_is_left_out_takes_no_memory),
        owning_test(wrong_outputs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
