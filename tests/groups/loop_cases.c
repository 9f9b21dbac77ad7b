// SPDX-License-Identifier: Apache-2.0
// A loop or branch runs on one device. It finds there what others wrote, and they find what it
// wrote, or what was there before if it did nothing.
#include "groups/loop_cases.h"

#include <string.h>

#include "groups/field.h"
#include "groups/words.h"
#include "support/check.h"

static void check_word(const struct words *words, uint32_t word, uint32_t expected)
{
    uint32_t found = words_read(words, word);
    if (found != expected)
        fail_msg("word %u is %u, not %u", word, found, expected);
}

static void check_iterations(braid_exec *exec, braid_node loop, uint64_t expected)
{
    uint64_t num = UINT64_MAX;
    check_ok(braid_exec_get_iterations(exec, loop, &num));
    assert_int_equal(num, expected);
}

static uint32_t place_of(const braid_exec *exec, braid_node node)
{
    braid_placement placement;
    check_ok(braid_schedule_get_placement(braid_exec_get_schedule(exec), node, &placement));
    return placement.place - 1;
}

static braid_node begin_loop(const struct words *words, braid_loop loop)
{
    braid_node node;
    check_ok(braid_graph_begin_loop(words->graph, &loop, &node));
    return node;
}

enum { LEFT, SUM, OUT, OTHER_LEFT, OTHER_SUM };

// `left` counts down on a device, and `sum` gets the addend in each iteration.
static braid_node add_counting(struct words *words, uint32_t left, uint32_t sum, uint32_t addend,
                               uint32_t place)
{
    braid_node loop = begin_loop(
        words,
        (braid_loop){ .node.name = "count", .condition = words->resources[left], .most = 9 });
    words_add_axpy(words, left, left, 1, UINT32_MAX, place + 1);
    words_add_axpy(words, sum, sum, 1, addend, place + 1);
    check_ok(braid_graph_end(words->graph));
    return loop;
}

void a_loop_has_its_data_brought(void **state)
{
    struct field *field = *state;
    struct words words = words_begin(field, 3, 0);
    uint32_t last = words.last;
    words_add_fill(&words, LEFT, 3, 1);
    words_add_fill(&words, SUM, 10, 1);
    braid_node loop = add_counting(&words, LEFT, SUM, 2, last);
    words_add_axpy(&words, OUT, SUM, 1, 100, 1);
    braid_exec *exec = words_make_exec(&words);
    if (exec) {
        words_run(&words, exec);
        assert_int_equal(place_of(exec, loop), last);
        check_word(&words, OUT, 116);
        check_word(&words, LEFT, 0);
        check_iterations(exec, loop, 3);
    }
    words_end(&words, exec);
}

// The body overwrites all of `out`, so by its accesses alone nothing would flow in.
void what_a_body_may_write_stays_where_it_does_not_run(void **state)
{
    struct field *field = *state;
    for (uint32_t left = 0; left < 4; left++) {
        struct words words = words_begin(field, 4, 0);
        words_add_fill(&words, LEFT, left, 1);
        words_add_fill(&words, SUM, 7, 1);
        braid_node loop = begin_loop(
            &words,
            (braid_loop){ .condition = words.resources[LEFT], .most = 2, .tests_first = true });
        words_add_axpy(&words, LEFT, LEFT, 1, UINT32_MAX, words.last + 1);
        words_add_fill(&words, SUM, 8, words.last + 1);
        check_ok(braid_graph_end(words.graph));
        words_add_axpy(&words, OUT, SUM, 1, 0, 1);
        braid_exec *exec = words_make_exec(&words);
        if (exec) {
            words_run(&words, exec);
            check_word(&words, OUT, left ? 8 : 7);
            check_word(&words, SUM, left ? 8 : 7);
            check_word(&words, LEFT, left < 2 ? 0 : left - 2);
            check_iterations(exec, loop, left < 2 ? left : 2);
        }
        words_end(&words, exec);
    }
}

void a_branch_runs_one_arm_elsewhere(void **state)
{
    struct field *field = *state;
    for (uint32_t which = 0; which < 4; which++) {
        struct words words = words_begin(field, 4, 0);
        bool has_else = which > 1, runs = which % 2;
        braid_node branch;
        words_add_fill(&words, LEFT, runs, 1);
        words_add_fill(&words, SUM, 7, 1);
        check_ok(braid_graph_begin_if(words.graph,
                                      &(braid_if){ .condition = words.resources[LEFT] }, &branch));
        words_add_fill(&words, SUM, 8, words.last + 1);
        if (has_else)
            check_ok(braid_graph_else(words.graph));
        if (has_else)
            words_add_fill(&words, OTHER_LEFT, 9, words.last + 1);
        check_ok(braid_graph_end(words.graph));
        words_add_axpy(&words, OUT, SUM, 1, 0, 1);
        braid_exec *exec = words_make_exec(&words);
        if (exec) {
            words_run(&words, exec);
            check_word(&words, OUT, runs ? 8 : 7);
            check_word(&words, OTHER_LEFT, has_else && !runs ? 9 : WORDS_BEFORE);
            check_iterations(exec, branch, runs);
        }
        words_end(&words, exec);
    }
}

// One node names the device of all.
void loops_inside_are_on_the_same_device(void **state)
{
    struct field *field = *state;
    struct words words = words_begin(field, 3, 0);
    words_add_fill(&words, SUM, 0, 1);
    braid_node outer = begin_loop(&words, (braid_loop){ .times = 2 });
    words_add_fill(&words, LEFT, 3, 0);
    braid_node inner =
        begin_loop(&words, (braid_loop){ .condition = words.resources[LEFT], .most = 9 });
    braid_node less = words_add_axpy(&words, LEFT, LEFT, 1, UINT32_MAX, 0);
    words_add_axpy(&words, SUM, SUM, 1, 1, words.last + 1);
    check_ok(braid_graph_end(words.graph));
    check_ok(braid_graph_end(words.graph));
    words_add_axpy(&words, OUT, SUM, 1, 0, 1);
    braid_exec *exec = words_make_exec(&words);
    if (exec) {
        words_run(&words, exec);
        check_word(&words, OUT, 6);
        check_iterations(exec, outer, 2);
        check_iterations(exec, inner, 6);
        assert_int_equal(place_of(exec, outer), words.last);
        assert_int_equal(place_of(exec, less), words.last);
    }
    words_end(&words, exec);
}

void loops_run_on_two_devices(void **state)
{
    struct field *field = *state;
    struct words words = words_begin(field, 5, 0);
    const uint32_t lefts[] = { LEFT, OTHER_LEFT }, sums[] = { SUM, OTHER_SUM };
    braid_node loops[2];
    for (uint32_t i = 0; i < 2; i++) {
        words_add_fill(&words, lefts[i], 2 + i, 1);
        words_add_fill(&words, sums[i], 10 * i, words.last + 1);
    }
    for (uint32_t i = 0; i < 2; i++)
        loops[i] = add_counting(&words, lefts[i], sums[i], 1 + i, i ? words.last : 0);
    words_add_add(&words, OUT, SUM, OTHER_SUM, 1);
    braid_exec *exec = words_make_exec(&words);
    if (exec) {
        words_run(&words, exec);
        check_word(&words, OUT, 2 + 10 + 3 * 2);
        for (uint32_t i = 0; i < 2; i++) {
            check_iterations(exec, loops[i], 2 + i);
            assert_int_equal(place_of(exec, loops[i]), i ? words.last : 0);
        }
    }
    words_end(&words, exec);
}

void a_body_on_two_devices_is_refused(void **state)
{
    struct field *field = *state;
    struct words words = words_begin(field, 3, 0);
    braid_exec *exec;
    begin_loop(&words, (braid_loop){ .node.name = "count", .times = 2 });
    words_add_fill(&words, SUM, 1, 1);
    begin_loop(&words, (braid_loop){ .times = 2 });
    words_add_fill(&words, OUT, 1, 2);
    check_ok(braid_graph_end(words.graph));
    check_ok(braid_graph_end(words.graph));
    check_fails(braid_exec_create(field->test->group, words.graph, NULL, &exec),
                BRAID_INVALID_ARGUMENT,
                "loop 0 'count' runs on one place, but node 1 'fill' in it must be on place 1 "
                "and node 3 'fill' on place 2");
    words_end(&words, NULL);
}
