// SPDX-License-Identifier: Apache-2.0
// Law 6: argument bytes are captured at launch; changing them never touches a frame in flight.
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "contract/groups.h"
#include "contract/nodes.h"

// Two free nodes of one kernel: data[0] = data[0] * 7 + x and data[1] = data[1] * 5 + y.
struct updater {
    uint32_t *data;
    braid_node nodes[2];
    braid_exec *exec;
};

static struct updater make_updater(struct contract *contract)
{
    struct updater updater = { .data = contract_numbers(contract, 2) };
    braid_graph *graph = contract_graph(contract);
    for (int i = 0; i < 2; i++)
        updater.nodes[i] = add_axpy(graph, (braid_node_options){ .name = i ? "second" : "first" },
                                    updater.data + i, updater.data + i, i ? 5 : 7, 1, 1);
    updater.exec = contract_exec(contract, graph);
    return updater;
}

static void set_addend(struct updater *updater, int node, uint32_t addend)
{
    check_ok(braid_exec_set_arg(updater->exec, updater->nodes[node], 3, BRAID_ARG(addend)));
}

static void check_data(struct contract *contract, struct updater *updater, uint32_t first,
                       uint32_t second)
{
    uint32_t seen[2];
    contract_read(contract, seen, updater->data, sizeof(seen));
    assert_int_equal(seen[0], first);
    assert_int_equal(seen[1], second);
}

// All frames are queued behind a gate with arguments of their own; then they run.
static void frames_in_flight_keep_their_arguments(void **state)
{
    struct contract *contract = *state;
    struct updater updater = make_updater(contract);
    braid_stream *stream = contract_stream(contract);
    struct gate gate = contract_close(contract, stream);
    uint32_t first = 0, second = 0;
    for (uint32_t frame = 0; frame < 10; frame++) {
        set_addend(&updater, 0, 100 + frame);
        if (frame % 3 == 1) // others keep the argument of an earlier frame
            set_addend(&updater, 1, 200 + frame);
        check_ok(braid_exec_launch(updater.exec, stream));
        first = first * 7 + 100 + frame;
        second = second * 5 + (frame < 1 ? 1 : 200 + frame - (frame + 2) % 3);
    }
    set_addend(&updater, 0, 12345); // after the last launch: of no consequence
    check_still_closed(gate);
    gate_open(gate);
    check_ok(braid_exec_wait(updater.exec));
    check_data(contract, &updater, first, second);
}

static void arguments_can_change_in_every_frame(void **state)
{
    struct contract *contract = *state;
    struct updater updater = make_updater(contract);
    uint32_t first = 0, second = 0;
    for (uint32_t frame = 0; frame < 200; frame++) {
        set_addend(&updater, 0, frame * frame);
        set_addend(&updater, 1, frame + 9);
        check_ok(braid_exec_launch(updater.exec, NULL));
        first = first * 7 + frame * frame;
        second = second * 5 + frame + 9;
    }
    check_ok(braid_exec_wait(updater.exec));
    check_data(contract, &updater, first, second);
}

static void an_argument_set_twice_has_its_last_value(void **state)
{
    struct contract *contract = *state;
    struct updater updater = make_updater(contract);
    set_addend(&updater, 0, 50);
    set_addend(&updater, 0, 60);
    check_ok(braid_exec_launch(updater.exec, NULL));
    check_ok(braid_exec_launch(updater.exec, NULL)); // and keeps it
    check_ok(braid_exec_wait(updater.exec));
    check_data(contract, &updater, 60 * 7 + 60, 6);
}

// Each call replaces one argument and leaves what earlier calls gave the others.
static void arguments_set_one_by_one_add_up(void **state)
{
    struct contract *contract = *state;
    struct updater updater = make_updater(contract);
    uint32_t factor = 3;
    for (int frame = 0; frame < 2; frame++) {
        set_addend(&updater, 0, 50);
        check_ok(braid_exec_set_arg(updater.exec, updater.nodes[0], 2, BRAID_ARG(factor)));
        check_ok(braid_exec_launch(updater.exec, NULL));
        factor++;
        check_ok(braid_exec_set_arg(updater.exec, updater.nodes[0], 2, BRAID_ARG(factor)));
        check_ok(braid_exec_launch(updater.exec, NULL));
    }
    check_ok(braid_exec_wait(updater.exec));
    uint32_t expected = 50;                        // times 3
    expected = expected * 4 + 50;                  // then 4
    expected = expected * 4 + 50;                  // then 4 again
    expected = expected * 5 + 50;                  // then 5
    check_data(contract, &updater, expected, 156); // 1, 6, 31, 156
}

// Pointers too: the first node leaves its data alone and writes elsewhere.
static void all_arguments_of_a_node_can_be_replaced(void **state)
{
    struct contract *contract = *state;
    struct updater updater = make_updater(contract);
    uint32_t *elsewhere = contract_numbers(contract, 1);
    uint32_t *to = elsewhere, *from = updater.data;
    uint32_t factor = 2, addend = 3, num = 1;
    const braid_arg args[] = { BRAID_ARG(to), BRAID_ARG(from), BRAID_ARG(factor), BRAID_ARG(addend),
                               BRAID_ARG(num) };
    check_ok(braid_exec_launch(updater.exec, NULL)); // data = { 1, 1 }
    check_ok(braid_exec_set_args(updater.exec, updater.nodes[0], args, 5));
    to = from = NULL; // the bytes were copied
    factor = addend = num = 0;
    check_ok(braid_exec_launch(updater.exec, NULL));
    check_ok(braid_exec_wait(updater.exec));
    assert_int_equal(contract_number(contract, elsewhere), 1 * 2 + 3);
    check_data(contract, &updater, 1, 6);
}

struct turns {
    sem_t begins, may_go;
};

static void take_turn(void *user)
{
    struct turns *turns = user;
    sem_post(&turns->begins);
    sem_wait(&turns->may_go);
}

static void count_call(void *user)
{
    atomic_fetch_add((atomic_uint *)user, 1);
}

static void wait_for_turn(struct turns *turns)
{
    while (sem_wait(&turns->begins))
        continue;
}

// Some frame is in flight at each launch. The first frames end, and their calls are freed, while
// the fourth has yet to make the call that it was launched with.
static void calls_stay_until_their_own_frames_end(void **state)
{
    enum { FRAMES = 6, ENDED = 3 };
    static struct turns turns;
    static atomic_uint nums[FRAMES];
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    assert_int_equal(sem_init(&turns.begins, 0, 0) | sem_init(&turns.may_go, 0, 0), 0);
    braid_node turn = add_blocking(graph, (braid_node_options){ 0 }, take_turn, &turns);
    braid_node call = add_host(graph, (braid_node_options){ AFTER(turn) }, count_call, &nums[0]);
    braid_exec *exec =
        contract_exec_with(contract, graph, (braid_exec_options){ .frames_in_flight = 1 });
    braid_stream *stream = contract_stream(contract);
    for (uint32_t i = 0; i < FRAMES; i++) {
        nums[i] = 0;
        if (i)
            check_ok(braid_exec_set(exec, call, BRAID_TARGET_USER, 0, &(void *){ &nums[i] }));
        for (uint32_t k = 0; i == FRAMES - 1 && k < ENDED; k++) {
            wait_for_turn(&turns);
            sem_post(&turns.may_go);
        }
        if (i == FRAMES - 1)
            wait_for_turn(&turns);
        check_ok(braid_exec_launch(exec, stream));
    }
    for (uint32_t i = ENDED; i < FRAMES; i++)
        sem_post(&turns.may_go);
    check_ok(braid_exec_wait(exec));
    for (uint32_t i = 0; i < FRAMES; i++)
        assert_int_equal(nums[i], 1);
    sem_destroy(&turns.begins);
    sem_destroy(&turns.may_go);
}

static void the_graphs_own_arguments_were_copied(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 1);
    uint32_t *values = malloc(3 * sizeof(*values));
    assert_non_null(values);
    values[0] = 4;
    values[1] = 6;
    values[2] = 1;
    braid_arg *args = malloc(5 * sizeof(*args));
    assert_non_null(args);
    args[0] = args[1] = BRAID_ARG(data);
    for (int i = 0; i < 3; i++)
        args[2 + i] = BRAID_ARG(values[i]);
    braid_graph *graph = contract_graph(contract);
    braid_kernel_node launch = { .kernel = &test_axpy, .args = args, .num_args = 5 };
    check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    memset(values, 0xff, 3 * sizeof(*values));
    free(values);
    free(args);
    braid_exec *exec = contract_exec(contract, graph);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, data), 6 * 4 + 6);
}

static void wrong_arguments_are_refused_and_change_nothing(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract), *other = contract_graph(contract);
    uint32_t *data = contract_numbers(contract, 1);
    braid_node node =
        add_axpy(graph, (braid_node_options){ .name = "victim" }, data, data, 1, 1, 1);
    braid_node join = add_empty(graph, (braid_node_options){ .name = "join" });
    braid_node foreign = add_axpy(other, (braid_node_options){ 0 }, data, data, 1, 1, 1);
    braid_exec *exec = contract_exec(contract, graph);
    uint32_t value = 99;
    uint64_t wide = 99;
    braid_arg good = BRAID_ARG(value);
    check_fails(braid_exec_set_arg(exec, node, 3, BRAID_ARG(wide)), BRAID_INVALID_ARGUMENT,
                "victim");
    check_fails(braid_exec_set_arg(exec, node, 3, (braid_arg){ NULL, 4 }), BRAID_INVALID_ARGUMENT,
                "victim");
    check_fails(braid_exec_set_arg(exec, node, 5, good), BRAID_INVALID_ARGUMENT, "victim");
    check_fails(braid_exec_set_arg(exec, join, 0, good), BRAID_INVALID_ARGUMENT, "join");
    check_fails(braid_exec_set_arg(exec, foreign, 3, good), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_exec_set_arg(exec, (braid_node){ 0 }, 3, good), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_exec_set_arg(exec, (braid_node){ 1000, node.graph }, 3, good),
                BRAID_INVALID_ARGUMENT, "");
    const braid_arg args[] = { BRAID_ARG(data), BRAID_ARG(data), BRAID_ARG(value), BRAID_ARG(value),
                               BRAID_ARG(wide) };
    check_fails(braid_exec_set_args(exec, node, args, 5), BRAID_INVALID_ARGUMENT, "victim");
    check_fails(braid_exec_set_args(exec, node, args, 4), BRAID_INVALID_ARGUMENT, "victim");
    check_fails(braid_exec_set_args(exec, node, NULL, 5), BRAID_INVALID_ARGUMENT, "victim");
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, data), 1); // as the graph said
}

int run_arguments(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(frames_in_flight_keep_their_arguments),
        contract_test(arguments_can_change_in_every_frame),
        contract_test(an_argument_set_twice_has_its_last_value),
        contract_test(arguments_set_one_by_one_add_up),
        contract_test(all_arguments_of_a_node_can_be_replaced),
        contract_test(calls_stay_until_their_own_frames_end),
        contract_test(the_graphs_own_arguments_were_copied),
        contract_test(wrong_arguments_are_refused_and_change_nothing),
    };
    return contract_run("arguments are captured at launch", tests);
}
