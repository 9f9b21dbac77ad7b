// SPDX-License-Identifier: Apache-2.0
// A node that runs is told with the first sixteen words of its arguments, each of which is whole.
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include <braid/braid.h>

#include "support/check.h"
#include "support/owner.h"

enum { WORDS = 16 };

static atomic_bool is_entered, may_end;

static void stand(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
    atomic_store(&is_entered, true);
    while (!atomic_load(&may_end))
        sched_yield();
}

// Finds a node with these arguments that runs.
static braid_running_node find_running(const braid_arg *args, size_t num_args)
{
    const braid_kernel kernel = { .name = "stand", .cpu = stand };
    const braid_kernel_node node = { .kernel = &kernel, .args = args, .num_args = num_args };
    braid_running_node running;
    size_t num = 0;
    atomic_store(&is_entered, false);
    atomic_store(&may_end, false);
    braid_device *device = own_device("cpu");
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_kernel(graph, &node, NULL));
    braid_exec *exec = own_exec(device, graph, &(braid_exec_options){ .black_box = true });
    check_ok(braid_exec_launch(exec, NULL));
    while (!atomic_load(&is_entered))
        sched_yield();
    check_ok(braid_exec_get_running(exec, &running, 1, &num));
    atomic_store(&may_end, true);
    assert_int_equal(num, 1);
    check_ok(braid_exec_wait(exec));
    destroy_owned();
    return running;
}

static void check_words(size_t num_args)
{
    uint64_t numbers[WORDS + 1];
    braid_arg args[WORDS + 1];
    for (size_t i = 0; i < num_args; i++) {
        numbers[i] = 100 + i;
        args[i] = BRAID_ARG(numbers[i]);
    }
    braid_running_node running = find_running(args, num_args);
    assert_int_equal(running.num_words, num_args < WORDS ? num_args : WORDS);
    for (uint32_t i = 0; i < running.num_words; i++)
        assert_int_equal(running.arguments[i], 100 + i);
}

static void as_many_as_there_are(void **state)
{
    (void)state;
    check_words(WORDS - 1);
    check_words(WORDS);
    check_words(WORDS + 1);
}

static void what_has_no_room_is_left_out(void **state)
{
    (void)state;
    const uint64_t most[WORDS - 1] = { 7 }, two[2] = { 8, 9 };
    const uint32_t part = 5;
    const braid_arg large[] = { { most, sizeof(most) }, { two, sizeof(two) } };
    const braid_arg small[] = { { most, sizeof(most) }, BRAID_ARG(part) };
    assert_int_equal(find_running(large, 2).num_words, WORDS - 1);
    braid_running_node running = find_running(small, 2);
    assert_int_equal(running.num_words, WORDS);
    assert_int_equal(running.arguments[WORDS - 1], part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(as_many_as_there_are),
        owning_test(what_has_no_room_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
