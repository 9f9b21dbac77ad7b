// SPDX-License-Identifier: Apache-2.0
// What would hang between ranks is refused on all of them, and mistakes of one where it makes them.
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ranks_testing.h"
#include "support/failing_memory.h"
#include "support/sanitizers.h"

static void expect_refusal(struct job *job, braid_status status, const char *const *texts)
{
    braid_exec *exec = NULL;
    for (; *texts; texts++) {
        check_fails(braid_exec_create(job->device, job->graph, NULL, &exec), status, *texts);
        assert_null(exec);
    }
}

// The collectives of rank 3 are in another order.
void test_another_order_is_refused_with_both(void **state)
{
    struct job *job = *state;
    double a[1] = { 0 }, b[1] = { 0 };
    braid_resource as = add_buffer(job, "a", a, 1), bs = add_buffer(job, "b", b, 1);
    for (int i = 0; i < 2; i++) {
        bool is_a = i == (rank == 3);
        double *memory = is_a ? a : b;
        add(job, is_a ? "residual" : "step", is_a ? BRAID_RANK_ALL_REDUCE : BRAID_RANK_BROADCAST,
            (braid_communication){ .from = is_a ? memory : NULL, .to = memory, .count = 1 },
            (braid_access[]){ { is_a ? as : bs, BRAID_READ_WRITE } }, 1);
    }
    expect_refusal(
        job, BRAID_INVALID_ARGUMENT,
        (const char *[]){ "communicator 'world': ranks 0 and 3 do not make the same",
                          "rank 0: all-reduce 'residual' of 1 element, broadcast",
                          "rank 3: broadcast 'step' of 1 element from rank 0, all-reduce", NULL });
}

// Makes an exec of one operation, with accesses that all kinds of operation can have.
static braid_status make_one(const struct job *job, braid_communication given, braid_exec **out)
{
    braid_graph *graph;
    braid_resource buffer, communicator;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_resource(graph, "buffer", &buffer));
    check_ok(braid_graph_add_communicator(graph, world, &communicator));
    const braid_access accesses[] = { { buffer, BRAID_READ_WRITE } };
    given.communicator = communicator;
    given.node.name = "x";
    given.node.accesses = accesses;
    given.node.num_accesses = 1;
    check_ok(braid_graph_add_communication(graph, &given, NULL));
    braid_status status = braid_exec_create(job->device, graph, NULL, out);
    braid_graph_destroy(graph);
    return status;
}

static bool is_refused(braid_status status, braid_status expected)
{
    return status == expected && strstr(braid_error_get_message(), "before a fork");
}

void test_a_child_is_refused_its_parents_ranks(void **state)
{
    (void)state;
    double x[1] = { 0 };
    struct job in_child = { 0 };
    braid_ranks *again;
    braid_exec *exec = NULL;
#if defined(UNDER_TSAN)
    skip_because("the child of a program with threads cannot start any under the sanitizer");
#endif
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        bool right =
            is_refused(braid_ranks_open(NULL, &again), BRAID_WRONG_STATE) &&
            !braid_device_open(&(braid_device_options){ .backend = "cpu" }, &in_child.device) &&
            is_refused(make_one(&in_child,
                                (braid_communication){
                                    .operation = BRAID_RANK_BROADCAST, .to = x, .count = 1 },
                                &exec),
                       BRAID_WRONG_STATE) &&
            !braid_ranks_close(ranks);
        _exit(right ? 0 : 1);
    }
    int result = 0;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
}

// One rank, the first of the communicator or the last, makes the operation otherwise than all
// others do. Where all make it so, it is right.
static void refuse_other(const struct job *job, braid_communication given,
                         braid_communication otherwise)
{
    braid_exec *exec = NULL;
    for (uint32_t odd = 0; odd < NUM_RANKS; odd += NUM_RANKS - 1) {
        check_fails(make_one(job, rank == odd ? otherwise : given, &exec), BRAID_INVALID_ARGUMENT,
                    odd ? "communicator 'world': ranks 0 and 3 do not make the same operations"
                        : "communicator 'world': ranks 0 and 1 do not make the same operations");
        assert_null(exec);
    }
    check_ok(make_one(job, otherwise, &exec));
    braid_exec_destroy(exec);
}

void test_ranks_that_reduce_otherwise_are_refused(void **state)
{
    static const braid_reduction reductions[] = { BRAID_REDUCTION_MIN, BRAID_REDUCTION_MAX,
                                                  BRAID_REDUCTION_PRODUCT };
    double a[NUM_RANKS] = { 0 }, b[1] = { 0 };
    const braid_communication sums[] = {
        { .operation = BRAID_RANK_ALL_REDUCE,
          .from = a,
          .to = a,
          .count = 1,
          .element = BRAID_ELEMENT_DOUBLE },
        { .operation = BRAID_RANK_REDUCE_SCATTER,
          .from = a,
          .to = b,
          .count = 1,
          .element = BRAID_ELEMENT_DOUBLE },
    };
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 3; k++) {
            braid_communication otherwise = sums[i];
            otherwise.reduction = reductions[k];
            refuse_other(*state, sums[i], otherwise);
        }
    }
}

void test_collectives_of_other_elements_are_refused(void **state)
{
    double a[NUM_RANKS] = { 0 }, b[NUM_RANKS] = { 0 };
    const braid_communication sum = { .operation = BRAID_RANK_ALL_REDUCE,
                                      .from = a,
                                      .to = b,
                                      .count = 1,
                                      .element = BRAID_ELEMENT_DOUBLE };
    braid_communication otherwise = sum;
    otherwise.element = BRAID_ELEMENT_INT64;
    refuse_other(*state, sum, otherwise);
    otherwise = sum;
    otherwise.count = 2;
    refuse_other(*state, sum, otherwise);
    otherwise = sum;
    otherwise.operation = BRAID_RANK_ALL_GATHER;
    refuse_other(*state, sum, otherwise);
    const braid_communication value = {
        .operation = BRAID_RANK_BROADCAST, .to = a, .count = 1, .element = BRAID_ELEMENT_DOUBLE
    };
    otherwise = value;
    otherwise.peer = 2;
    refuse_other(*state, value, otherwise);
}

// Ranks 0 and 1 and ranks 2 and 3; those of one pair do not agree.
void test_a_receive_of_other_elements_than_are_sent_is_refused(void **state)
{
    double a[2] = { 0 };
    braid_exec *exec = NULL;
    bool sends = rank % 2 == 0;
    braid_communication given = { .operation = sends ? BRAID_RANK_SEND : BRAID_RANK_RECEIVE,
                                  .from = sends ? a : NULL,
                                  .to = sends ? NULL : a,
                                  .count = 1,
                                  .element = BRAID_ELEMENT_DOUBLE,
                                  .peer = rank ^ 1 };
    check_ok(make_one(*state, given, &exec));
    braid_exec_destroy(exec);
    exec = NULL;
    for (int i = 0; i < 2; i++) {
        braid_communication own = given;
        if (rank == 3 && i == 0)
            own.count = 2;
        else if (rank == 3)
            own.element = BRAID_ELEMENT_INT64;
        check_fails(make_one(*state, own, &exec), BRAID_INVALID_ARGUMENT,
                    "communicator 'world': ranks 2 and 3 differ in what they send and receive");
        assert_null(exec);
    }
}

void test_a_send_without_its_receive_is_refused(void **state)
{
    struct job *job = *state;
    double a[1] = { 0 };
    braid_resource as = add_buffer(job, "a", a, 1);
    if (rank == 1)
        add(job, "lost", BRAID_RANK_SEND, (braid_communication){ .from = a, .count = 1, .peer = 2 },
            (braid_access[]){ { as, BRAID_READ } }, 1);
    expect_refusal(job, BRAID_INVALID_ARGUMENT,
                   (const char *[]){ "send 'lost' of 1 element to rank 2 (tag 0) has no receive on "
                                     "rank 2",
                                     NULL });
}

// The graph of one rank, the first of the communicator or the last, has another communicator only.
void test_a_collective_that_a_rank_knows_nothing_of_is_refused(void **state)
{
    struct job *job = *state;
    double a[1] = { 0 };
    for (uint32_t absent = 0; absent < NUM_RANKS; absent += NUM_RANKS - 1) {
        struct job here = { .device = job->device };
        check_ok(braid_graph_create(&here.graph));
        braid_resource as = add_buffer(&here, "a", a, 1);
        check_ok(
            braid_graph_add_communicator(here.graph, rank == absent ? other : world, &here.world));
        if (rank != absent)
            add(&here, "residual", BRAID_RANK_ALL_REDUCE,
                (braid_communication){ .from = a, .to = a, .count = 1 },
                (braid_access[]){ { as, BRAID_READ_WRITE } }, 1);
        expect_refusal(&here, BRAID_INVALID_ARGUMENT,
                       (const char *[]){ "communicator 'world': ranks", NULL });
        braid_graph_destroy(here.graph);
    }
}

// Each is sent only when the other has been received.
void test_a_circle_of_waits_is_refused_and_shown(void **state)
{
    struct job *job = *state;
    double a[1] = { 0 };
    braid_resource as = add_buffer(job, "a", a, 1);
    if (rank < 2) {
        add(job, rank ? "left" : "right", BRAID_RANK_RECEIVE,
            (braid_communication){ .to = a, .count = 1, .peer = 1 - rank },
            (braid_access[]){ { as, BRAID_WRITE } }, 1);
        add(job, rank ? "right" : "left", BRAID_RANK_SEND,
            (braid_communication){ .from = a, .count = 1, .peer = 1 - rank },
            (braid_access[]){ { as, BRAID_READ } }, 1);
    }
    expect_refusal(job, BRAID_CYCLE,
                   (const char *[]){ "ranks wait for each other: rank",
                                     "rank 1's send 'right' of 1 element to rank 0",
                                     "rank 0's receive 'right' of 1 element from rank 1", NULL });
}

// Two communicators, in another order on half of the ranks, and the second behind the first.
void test_communicators_that_cross_are_refused(void **state)
{
    struct job *job = *state;
    double a[1] = { 0 };
    braid_resource as = add_buffer(job, "a", a, 1), others;
    check_ok(braid_graph_add_communicator(job->graph, other, &others));
    for (uint32_t i = 0; i < 2; i++)
        add(job, i == rank % 2 ? "on world" : "on other", BRAID_RANK_ALL_REDUCE,
            (braid_communication){ .communicator = i == rank % 2 ? job->world : others,
                                   .from = a,
                                   .to = a,
                                   .count = 1 },
            (braid_access[]){ { as, BRAID_READ_WRITE } }, 1);
    expect_refusal(job, BRAID_CYCLE, (const char *[]){ "'on world'", "'on other'", NULL });
}

void test_all_hear_of_a_rank_that_makes_no_exec(void **state)
{
    struct job *job = *state;
    braid_node ends[2];
    for (int i = 0; i < 2; i++)
        check_ok(braid_graph_add_empty(job->graph, &(braid_empty){ .node.name = i ? "b" : "a" },
                                       &ends[i]));
    if (rank == 2) {
        check_ok(braid_graph_add_edge(job->graph, ends[0], ends[1]));
        check_ok(braid_graph_add_edge(job->graph, ends[1], ends[0]));
    }
    expect_refusal(job, BRAID_CYCLE,
                   (const char *[]){ rank == 2 ? "cycle" : "rank 2 made no exec", NULL });
}

void test_all_hear_of_options_that_a_rank_refuses(void **state)
{
    struct job *job = *state;
    braid_exec *exec = NULL;
    const braid_exec_options right = { 0 }, wrong = { .mode = (braid_exec_mode)99 };
    for (uint32_t odd = 0; odd < NUM_RANKS; odd += NUM_RANKS - 1)
        check_fails(
            braid_exec_create(job->device, job->graph, rank == odd ? &wrong : &right, &exec),
            BRAID_INVALID_ARGUMENT,
            rank == odd ? "braid_exec_create: unknown mode 99"
            : odd       ? "rank 3 made no exec: braid_exec_create: unknown mode 99"
                        : "rank 0 made no exec: braid_exec_create: unknown mode 99");
    assert_null(exec);
    check_ok(braid_exec_create(job->device, job->graph, &right, &job->exec));
}

// Mistakes are found when the node is added, on the rank that made them.
void test_a_wrong_operation_is_refused_at_once(void **state)
{
    struct job *job = *state;
    double a[1] = { 0 };
    braid_resource as = add_buffer(job, "a", a, 1);
    braid_communication given = { .node.name = "x",
                                  .operation = BRAID_RANK_SEND,
                                  .communicator = job->world,
                                  .from = a,
                                  .count = 1,
                                  .element = BRAID_ELEMENT_DOUBLE,
                                  .peer = (rank + 1) % NUM_RANKS };
    braid_communication wrong = given;
    braid_node main_node;
    size_t num = braid_graph_get_num_nodes(job->graph);
    wrong.peer = rank;
    check_fails(braid_graph_add_communication(job->graph, &wrong, NULL), BRAID_INVALID_ARGUMENT,
                "node 'x': the rank itself");
    wrong.peer = NUM_RANKS;
    check_fails(braid_graph_add_communication(job->graph, &wrong, NULL), BRAID_INVALID_ARGUMENT,
                "4 as .peer, which is no rank");
    wrong = given;
    wrong.count = 0;
    check_fails(braid_graph_add_communication(job->graph, &wrong, NULL), BRAID_INVALID_ARGUMENT,
                "0 elements");
    wrong = given;
    wrong.to = a;
    check_fails(braid_graph_add_communication(job->graph, &wrong, NULL), BRAID_INVALID_ARGUMENT,
                ".to of an operation that has none");
    wrong = given;
    wrong.from = NULL;
    check_fails(braid_graph_add_communication(job->graph, &wrong, NULL), BRAID_INVALID_ARGUMENT,
                ".from is NULL");
    wrong.from_resource = as;
    wrong.count = 2;
    check_fails(braid_graph_add_communication(job->graph, &wrong, NULL), BRAID_INVALID_ARGUMENT,
                "'x'");
    wrong = given;
    wrong.communicator = as;
    check_fails(braid_graph_add_communication(job->graph, &wrong, NULL), BRAID_INVALID_ARGUMENT,
                ".communicator is not");
    wrong = given;
    wrong.operation = (braid_rank_operation)9;
    check_fails(braid_graph_add_communication(job->graph, &wrong, NULL), BRAID_INVALID_ARGUMENT,
                "unknown operation 9");
    wrong = given;
    wrong.element = (braid_element)7;
    check_fails(braid_graph_add_communication(job->graph, &wrong, NULL), BRAID_INVALID_ARGUMENT,
                "7 as kind of element");
    wrong = given;
    wrong.reduction = (braid_reduction)4;
    check_fails(braid_graph_add_communication(job->graph, &wrong, NULL), BRAID_INVALID_ARGUMENT,
                "4 as reduction");
    wrong = given;
    wrong.tag = 32768;
    check_fails(braid_graph_add_communication(job->graph, &wrong, NULL), BRAID_INVALID_ARGUMENT,
                "32768 as .tag");
    wrong = given;
    wrong.from_resource = as;
    check_fails(braid_graph_add_communication(job->graph, &wrong, NULL), BRAID_INVALID_ARGUMENT,
                ".from and .from_resource are both given");
    wrong = given;
    wrong.operation = BRAID_RANK_ALL_REDUCE;
    wrong.peer = 1;
    check_fails(braid_graph_add_communication(job->graph, &wrong, NULL), BRAID_INVALID_ARGUMENT,
                "as .peer of an operation that has none");
    check_ok(braid_graph_add_empty(job->graph, &(braid_empty){ .node.name = "main" }, &main_node));
    wrong = given;
    wrong.node.epilogue_of = main_node;
    check_fails(braid_graph_add_communication(job->graph, &wrong, NULL), BRAID_INVALID_ARGUMENT,
                "neither prelude nor epilogue");
    wrong = given;
    wrong.node.prelude_of = main_node;
    check_fails(braid_graph_add_communication(job->graph, &wrong, NULL), BRAID_INVALID_ARGUMENT,
                "neither prelude nor epilogue");
    wrong = given;
    wrong.to_resource = as;
    check_fails(braid_graph_add_communication(job->graph, &wrong, NULL), BRAID_INVALID_ARGUMENT,
                ".to of an operation that has none");
    const braid_resource others[] = { { job->world.index, job->world.graph + 1 },
                                      { job->world.index + 1000, job->world.graph } };
    for (int i = 0; i < 2; i++) {
        wrong = given;
        wrong.communicator = others[i];
        check_fails(braid_graph_add_communication(job->graph, &wrong, NULL), BRAID_INVALID_ARGUMENT,
                    ".communicator is not a communicator of this graph");
    }
    assert_int_equal(braid_graph_get_num_nodes(job->graph), num + 1);
}

void test_an_operation_is_added_whole_or_not_at_all(void **state)
{
    struct job *job = *state;
    double a[1] = { 0 };
    braid_resource as = add_buffer(job, "a", a, 1), again;
    const braid_communication given = { .node.name = "a name that is not short",
                                        .node.accesses =
                                            (braid_access[]){ { as, BRAID_READ_WRITE } },
                                        .node.num_accesses = 1,
                                        .operation = BRAID_RANK_ALL_REDUCE,
                                        .communicator = job->world,
                                        .from = a,
                                        .to_resource = as,
                                        .count = 1,
                                        .element = BRAID_ELEMENT_DOUBLE };
    braid_status status = BRAID_NO_MEMORY;
    uint64_t nth = 1;
    for (; status == BRAID_NO_MEMORY; nth++) {
        size_t num = braid_graph_get_num_nodes(job->graph);
        failing_memory_arm(nth);
        status = braid_graph_add_communication(job->graph, &given, NULL);
        failing_memory_disarm();
        assert_int_equal(braid_graph_get_num_nodes(job->graph), num + (status ? 0 : 2));
    }
    check_ok(status);
    assert_true(nth > 3);
    check_ok(braid_graph_add_communicator(job->graph, world, &again));
    assert_int_equal(again.index, job->world.index);
    check_fails(braid_graph_add_communicator(job->graph, NULL, &again), BRAID_INVALID_ARGUMENT,
                "communicator is NULL");
    check_fails(braid_graph_add_communicator(job->graph, world, NULL), BRAID_INVALID_ARGUMENT,
                "out_resource is NULL");
}
