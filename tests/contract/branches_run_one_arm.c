// SPDX-License-Identifier: Apache-2.0
// A branch runs its first arm if its condition is not 0 and else its second, in every frame anew.
#include <string.h>

#include "contract/counting.h"
#include "contract/groups.h"

enum { CONDITION, FIRST, SECOND, NUM_WORDS };

// `condition` begins as the program says; the first arm adds 1 to `first`, and the second to
// `second`.
struct choice {
    braid_graph *graph;
    uint32_t *words;
    braid_resource resources[NUM_WORDS];
};

static struct choice begin_choice(struct contract *contract, uint32_t condition)
{
    static const char *const names[] = { "condition", "first", "second" };
    struct choice choice = { .graph = contract_graph(contract),
                             .words = contract_numbers(contract, NUM_WORDS) };
    for (int i = 0; i < NUM_WORDS; i++) {
        choice.resources[i] = add_word(choice.graph, names[i], choice.words + i);
        add_start(choice.graph, "start", choice.resources[i], choice.words + i,
                  i == CONDITION ? condition : 0);
    }
    return choice;
}

static void add_to(const struct choice *choice, int word, uint32_t addend)
{
    add_step(choice->graph, "more", choice->resources[word], choice->words + word, addend);
}

static void check_words(struct contract *contract, const struct choice *choice, uint32_t first,
                        uint32_t second)
{
    assert_int_equal(contract_number(contract, choice->words + FIRST), first);
    assert_int_equal(contract_number(contract, choice->words + SECOND), second);
}

static void choose(struct contract *contract, uint32_t condition, bool has_else)
{
    struct choice choice = begin_choice(contract, condition);
    braid_node node = begin_branch(choice.graph, choice.resources[CONDITION]);
    add_to(&choice, FIRST, 1);
    add_to(&choice, FIRST, 2);
    if (has_else) {
        check_ok(braid_graph_else(choice.graph));
        add_to(&choice, SECOND, 1);
        add_to(&choice, SECOND, 4);
    }
    check_ok(braid_graph_end(choice.graph));
    add_to(&choice, FIRST, 100); // behind it
    braid_exec *exec = make_exec(contract, choice.graph);
    run_frames(exec);
    check_words(contract, &choice, 100 + (condition ? 3 : 0), !condition && has_else ? 5 : 0);
    check_iterations(exec, node, condition != 0);
}

static void the_condition_chooses_the_arm(void **state)
{
    for (int has_else = 0; has_else < 2; has_else++) {
        choose(*state, 0, has_else);
        choose(*state, 1, has_else);
        choose(*state, 0x80000000u, has_else);
    }
}

// It is read once, before the arm begins.
static void an_arm_may_overwrite_the_condition(void **state)
{
    struct contract *contract = *state;
    for (uint32_t condition = 0; condition < 2; condition++) {
        struct choice choice = begin_choice(contract, condition);
        begin_branch(choice.graph, choice.resources[CONDITION]);
        add_start(choice.graph, "clear", choice.resources[CONDITION], choice.words, 0);
        add_to(&choice, FIRST, 1);
        check_ok(braid_graph_else(choice.graph));
        add_start(choice.graph, "set", choice.resources[CONDITION], choice.words, 1);
        add_to(&choice, SECOND, 1);
        check_ok(braid_graph_end(choice.graph));
        braid_exec *exec = make_exec(contract, choice.graph);
        run_frames(exec);
        check_words(contract, &choice, condition, !condition);
        assert_int_equal(contract_number(contract, choice.words), !condition);
    }
}

// The condition turns with each iteration; the second arm has a branch of its own.
static void a_branch_in_a_loop_chooses_in_each_iteration(void **state)
{
    struct contract *contract = *state;
    struct choice choice = begin_choice(contract, 1);
    braid_graph *graph = choice.graph;
    begin_loop(graph, (braid_loop){ .times = 7 });
    braid_node outer = begin_branch(graph, choice.resources[CONDITION]);
    add_to(&choice, FIRST, 1);
    check_ok(braid_graph_else(graph));
    add_to(&choice, SECOND, 1);
    braid_node inner = begin_branch(graph, choice.resources[SECOND]);
    add_to(&choice, SECOND, 10);
    check_ok(braid_graph_end(graph));
    check_ok(braid_graph_end(graph));
    add_axpy(graph,
             (braid_node_options){ .name = "turn",
                                   USES({ choice.resources[CONDITION], BRAID_READ_WRITE }) },
             choice.words, choice.words, UINT32_MAX, 1, 1); // 1 - condition
    check_ok(braid_graph_end(graph));
    braid_exec *exec = make_exec(contract, graph);
    run_frames(exec);
    check_words(contract, &choice, 4, 3 * 11);
    check_iterations(exec, outer, 4);
    check_iterations(exec, inner, 3);
}

// A loop in the arm that does not run counts no iteration, though the frame before ran some.
static void loops_in_arms_count_in_their_frame(void **state)
{
    struct contract *contract = *state;
    struct choice choice = begin_choice(contract, 0);
    braid_graph *graph = choice.graph;
    uint32_t *turns = contract_numbers(contract, 1);
    braid_resource turn = add_word(graph, "turn", turns), which = choice.resources[CONDITION];
    add_axpy(graph, (braid_node_options){ USES({ turn, BRAID_READ_WRITE }) }, turns, turns,
             UINT32_MAX, 1, 1); // 1, 0, 1, ...
    add_copy(graph, (braid_node_options){ USES({ which, BRAID_WRITE }, { turn, BRAID_READ }) },
             choice.words, turns, sizeof(*turns));
    braid_node loops[2];
    braid_node branch = begin_branch(graph, which);
    for (int i = 0; i < 2; i++) {
        if (i)
            check_ok(braid_graph_else(graph));
        loops[i] = begin_loop(graph, (braid_loop){ .times = i ? 5 : 3 });
        add_to(&choice, i ? SECOND : FIRST, 1);
        check_ok(braid_graph_end(graph));
    }
    check_ok(braid_graph_end(graph));
    braid_exec *exec = make_exec(contract, graph);
    for (int frame = 0; frame < 4; frame++) {
        bool is_first = frame % 2 == 0;
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        check_words(contract, &choice, is_first ? 3 : 0, is_first ? 0 : 5);
        check_iterations(exec, branch, is_first);
        check_iterations(exec, loops[0], is_first ? 3 : 0);
        check_iterations(exec, loops[1], is_first ? 0 : 5);
    }
}

// The result of either arm is in one transient buffer, and each arm has one of its own.
static void transient_buffers_live_inside_and_across(void **state)
{
    struct contract *contract = *state;
    for (uint32_t condition = 0; condition < 2; condition++) {
        braid_graph *graph = contract_graph(contract);
        uint32_t *result = contract_numbers(contract, 1);
        braid_resource words[4], out = add_word(graph, "result", result);
        static const char *const names[] = { "which", "value", "of the first", "of the second" };
        for (int i = 0; i < 4; i++)
            check_ok(braid_graph_add_transient(graph, names[i], 4, 0, &words[i]));
        check_ok(braid_graph_add_fill(
            graph,
            &(braid_fill){ .node = { .name = "choose", USES({ words[0], BRAID_WRITE }) },
                           .value = condition,
                           .value_bytes = 4,
                           .num_values = 1,
                           .to_resource = words[0] },
            NULL));
        begin_branch(graph, words[0]);
        add_axpy_of(graph, words[2], words[0], 1, 4, 1); // 5
        add_axpy_of(graph, words[1], words[2], 2, 0, 1);
        check_ok(braid_graph_else(graph));
        add_axpy_of(graph, words[3], words[0], 1, 7, 1); // 7
        add_axpy_of(graph, words[1], words[3], 1, 0, 1);
        check_ok(braid_graph_end(graph));
        add_axpy_of(graph, out, words[1], 1, 100, 1);
        braid_exec *exec = make_exec(contract, graph);
        run_frames(exec);
        assert_int_equal(contract_number(contract, result), condition ? 110 : 107);
    }
}

// Frame f adds f + 1 in its arm, and every second frame leaves out a node there.
static void frames_in_flight_choose_by_themselves(void **state)
{
    struct contract *contract = *state;
    struct choice choice = begin_choice(contract, 0);
    braid_graph *graph = choice.graph;
    uint32_t *totals = contract_numbers(contract, 3);
    braid_resource total[3];
    braid_node nodes[3], choosing;
    braid_parameter enabled;
    check_ok(braid_graph_add_parameter(graph, "enabled", sizeof(uint32_t), &enabled));
    choosing = add_axpy(
        graph, (braid_node_options){ USES({ choice.resources[CONDITION], BRAID_READ_WRITE }) },
        choice.words, choice.words, 0, 0, 1);
    begin_branch(graph, choice.resources[CONDITION]);
    for (int i = 0; i < 3; i++) {
        if (i == 1)
            check_ok(braid_graph_else(graph));
        total[i] = add_word(graph, "total", totals + i);
        nodes[i] = add_axpy(graph, (braid_node_options){ USES({ total[i], BRAID_READ_WRITE }) },
                            totals + i, totals + i, 1, 1, 1);
    }
    check_ok(braid_graph_use_parameter(
        graph, enabled,
        &(braid_parameter_use){ .node = nodes[2], .target = BRAID_TARGET_ENABLED }));
    check_ok(braid_graph_end(graph));
    braid_exec *exec = make_exec(contract, graph);
    for (uint32_t frame = 0; frame < 8; frame++) {
        uint32_t arm = frame % 2, addend = frame + 1;
        check_ok(braid_exec_set_arg(exec, choosing, 3, BRAID_ARG(arm)));
        for (int i = 0; i < 2; i++)
            check_ok(braid_exec_set_arg(exec, nodes[i], 3, BRAID_ARG(addend)));
        check_ok(braid_exec_set_parameter(exec, enabled, &(uint32_t){ frame % 4 == 0 }));
        check_ok(braid_exec_launch(exec, NULL));
    }
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, totals), 2 + 4 + 6 + 8);
    assert_int_equal(contract_number(contract, totals + 1), 1 + 3 + 5 + 7);
    assert_int_equal(contract_number(contract, totals + 2), 2); // in frames 0 and 4
}

// Nothing but edges to nodes of an arm orders the nodes outside, whether the arm runs or not.
static void edges_across_the_border_order_the_whole_branch(void **state)
{
    struct contract *contract = *state;
    for (uint32_t condition = 0; condition < 2; condition++) {
        struct choice choice = begin_choice(contract, condition);
        braid_graph *graph = choice.graph;
        uint32_t *counter = contract_numbers(contract, 1), *stamps = contract_numbers(contract, 6);
        const uint64_t delay_ns = 200000;
        braid_node before =
            add_stamp(graph, (braid_node_options){ 0 }, counter, stamps, 0, delay_ns);
        begin_branch(graph, choice.resources[CONDITION]);
        braid_node inside =
            add_stamp(graph, (braid_node_options){ AFTER(before) }, counter, stamps, 1, 0);
        check_ok(braid_graph_else(graph));
        add_to(&choice, SECOND, 1);
        check_ok(braid_graph_end(graph));
        add_stamp(graph, (braid_node_options){ AFTER(inside) }, counter, stamps, 2, 0);
        braid_exec *exec = make_exec(contract, graph);
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        uint32_t seen[6];
        contract_read(contract, seen, stamps, sizeof(seen));
        assert_int_equal(contract_number(contract, counter), 2 * (2 + condition));
        assert_true(seen[1] < seen[4]);
        assert_true(!condition || (seen[1] < seen[2] && seen[3] < seen[4]));
    }
}

static void an_arm_without_work_ends_at_once(void **state)
{
    struct contract *contract = *state;
    for (uint32_t condition = 0; condition < 2; condition++) {
        struct choice choice = begin_choice(contract, condition);
        braid_node node = begin_branch(choice.graph, choice.resources[CONDITION]);
        add_empty(choice.graph, (braid_node_options){ .name = "nothing" });
        check_ok(braid_graph_else(choice.graph));
        add_empty(choice.graph, (braid_node_options){ .name = "nothing else" });
        check_ok(braid_graph_end(choice.graph));
        add_to(&choice, FIRST, 1);
        braid_exec *exec = make_exec(contract, choice.graph);
        run_frames(exec);
        check_words(contract, &choice, 1, 0);
        check_iterations(exec, node, condition);
    }
}

static void launches_and_destroy_wait_for_no_arm_but_the_last(void **state)
{
    struct contract *contract = *state;
    struct choice choice = begin_choice(contract, 0);
    struct gate gate = contract_gate(contract);
    begin_branch(choice.graph, choice.resources[CONDITION]);
    add_to(&choice, FIRST, 1);
    check_ok(braid_graph_else(choice.graph));
    add_gate(choice.graph, (braid_node_options){ 0 }, gate);
    add_to(&choice, SECOND, 1);
    check_ok(braid_graph_end(choice.graph));
    braid_exec *exec = make_exec(contract, choice.graph);
    check_ok(braid_exec_launch(exec, NULL));
    gate_wait_until_entered(gate);
    check_ok(braid_exec_launch(exec, NULL));
    assert_int_equal(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 0), BRAID_NOT_READY);
    check_still_closed(gate);
    gate_open(gate);
    contract_destroy_exec(contract, exec);
    check_words(contract, &choice, 0, 1);
}

int run_branches(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(the_condition_chooses_the_arm),
        contract_test(an_arm_may_overwrite_the_condition),
        contract_test(a_branch_in_a_loop_chooses_in_each_iteration),
        contract_test(loops_in_arms_count_in_their_frame),
        contract_test(transient_buffers_live_inside_and_across),
        contract_test(frames_in_flight_choose_by_themselves),
        contract_test(edges_across_the_border_order_the_whole_branch),
        contract_test(an_arm_without_work_ends_at_once),
        contract_test(launches_and_destroy_wait_for_no_arm_but_the_last),
    };
    return contract_run("branches_run_one_arm", tests);
}
