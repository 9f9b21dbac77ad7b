// SPDX-License-Identifier: Apache-2.0
// Four ranks, started by mpirun: what they send, receive and reduce arrives, and what would hang is
// refused on all of them. Every rank makes every test; rank 0 reports.
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "ranks_testing.h"

enum { NUM = 50000 }; // elements: too many for an MPI to send them before they are asked for

static void run(struct job *job, uint32_t num_frames)
{
    check_ok(braid_exec_create(job->device, job->graph, NULL, &job->exec));
    for (uint32_t i = 0; i < num_frames; i++)
        check_ok(braid_exec_launch(job->exec, NULL));
    check_ok(braid_exec_wait(job->exec));
}

// Sends come first everywhere: they can end only because receives are posted all the same.
static void test_a_ring_passes_on_what_it_is_given(void **state)
{
    struct job *job = *state;
    double *out = malloc(NUM * sizeof(*out)), *in = calloc(NUM, sizeof(*in));
    for (int i = 0; i < NUM; i++)
        out[i] = rank * 1000000.0 + i;
    braid_resource from = add_buffer(job, "out", out, NUM), to = add_buffer(job, "in", in, NUM);
    add(job, "to the next", BRAID_RANK_SEND,
        (braid_communication){ .from = out, .count = NUM, .peer = (rank + 1) % NUM_RANKS },
        (braid_access[]){ { from, BRAID_READ } }, 1);
    add(job, "from the last", BRAID_RANK_RECEIVE,
        (braid_communication){
            .to_resource = to, .count = NUM, .peer = (rank + NUM_RANKS - 1) % NUM_RANKS },
        (braid_access[]){ { to, BRAID_WRITE } }, 1);
    run(job, 3);
    uint32_t before = (rank + NUM_RANKS - 1) % NUM_RANKS;
    for (int i = 0; i < NUM; i++)
        assert_true(in[i] == before * 1000000.0 + i);
    free(out);
    free(in);
}

static void test_collectives_are_what_they_are_called(void **state)
{
    struct job *job = *state;
    double own[NUM_RANKS], sum[1], all[NUM_RANKS], part[1], told[1] = { rank == 2 ? 7.0 : 0.0 };
    double most[1] = { rank };
    for (uint32_t i = 0; i < NUM_RANKS; i++)
        own[i] = rank + 10.0 * i;
    braid_resource owns = add_buffer(job, "own", own, NUM_RANKS);
    braid_resource sums = add_buffer(job, "sum", sum, 1), alls = add_buffer(job, "all", all, 4);
    braid_resource parts = add_buffer(job, "part", part, 1),
                   tolds = add_buffer(job, "told", told, 1);
    braid_resource mosts = add_buffer(job, "most", most, 1);
    const braid_access reads_sum[] = { { owns, BRAID_READ }, { sums, BRAID_WRITE } };
    const braid_access reads_all[] = { { owns, BRAID_READ }, { alls, BRAID_WRITE } };
    const braid_access reads_part[] = { { owns, BRAID_READ }, { parts, BRAID_WRITE } };
    add(job, "sum", BRAID_RANK_ALL_REDUCE,
        (braid_communication){ .from = own, .to = sum, .count = 1 }, reads_sum, 2);
    add(job, "all", BRAID_RANK_ALL_GATHER,
        (braid_communication){ .from = own, .to = all, .count = 1 }, reads_all, 2);
    add(job, "part", BRAID_RANK_REDUCE_SCATTER,
        (braid_communication){ .from = own, .to = part, .count = 1 }, reads_part, 2);
    add(job, "told", BRAID_RANK_BROADCAST,
        (braid_communication){ .to = told, .count = 1, .peer = 2 },
        (braid_access[]){ { tolds, BRAID_READ_WRITE } }, 1);
    add(job, "most", BRAID_RANK_ALL_REDUCE,
        (braid_communication){
            .from = most, .to = most, .count = 1, .reduction = BRAID_REDUCTION_MAX },
        (braid_access[]){ { mosts, BRAID_READ_WRITE } }, 1);
    run(job, 2);
    assert_true(sum[0] == 6.0 && told[0] == 7.0 && most[0] == 3.0);
    assert_true(part[0] == 6.0 + 40.0 * rank);
    for (uint32_t i = 0; i < NUM_RANKS; i++)
        assert_true(all[i] == i);
}

static void count_up(void *user)
{
    *(double *)user += 1;
}

// Rank 1 answers only when it has heard of what rank 0 computes meanwhile.
static void add_dialogue(struct job *job, double *answer, double *computed)
{
    braid_resource answers = add_buffer(job, "answer", answer, 1);
    braid_resource computeds = add_buffer(job, "computed", computed, 1);
    const braid_access heard = { answers, BRAID_WRITE }, told = { answers, BRAID_READ };
    const braid_access asked = { computeds, BRAID_READ };
    if (rank == 0) {
        add(job, "answer", BRAID_RANK_RECEIVE,
            (braid_communication){ .to = answer, .count = 1, .peer = 1, .tag = 1 }, &heard, 1);
        check_ok(braid_graph_add_host_call(
            job->graph,
            &(braid_host_call){ .call = count_up,
                                .user = computed,
                                .node.name = "compute",
                                BRAID_ACCESSES({ computeds, BRAID_READ_WRITE }) },
            NULL));
        add(job, "question", BRAID_RANK_SEND,
            (braid_communication){ .from = computed, .count = 1, .peer = 1, .tag = 2 }, &asked, 1);
    } else if (rank == 1) {
        add(job, "question", BRAID_RANK_RECEIVE,
            (braid_communication){ .to = answer, .count = 1, .peer = 0, .tag = 2 }, &heard, 1);
        add(job, "answer", BRAID_RANK_SEND,
            (braid_communication){ .from = answer, .count = 1, .peer = 0, .tag = 1 }, &told, 1);
    }
}

// A receive that kept what stands behind it from running would never end.
static void test_what_is_awaited_keeps_nothing_else_from_running(void **state)
{
    struct job *job = *state;
    double answer[1] = { 0 }, computed[1] = { 0 };
    add_dialogue(job, answer, computed);
    run(job, 3);
    if (rank < 2)
        assert_true(answer[0] == 3.0);
}

// On one lane the receive stands before what it waits for.
static void test_lanes_that_would_wait_for_each_other_are_planned_again(void **state)
{
    struct job *job = *state;
    double answer[1] = { 0 }, computed[1] = { 0 };
    const braid_schedule_options one_lane = { .device = job->device,
                                              .max_lanes = 1,
                                              .fixed_lanes = true };
    braid_exec_options given = { 0 };
    braid_schedule *schedule;
    add_dialogue(job, answer, computed);
    check_ok(braid_schedule_create(job->graph, &one_lane, &schedule));
    given.schedule = schedule;
    check_fails(braid_exec_create(job->device, job->graph, &given, &job->exec), BRAID_CYCLE,
                "by the lanes of their schedules ranks wait for each other");
    braid_schedule_destroy(schedule);
    check_ok(braid_exec_create(job->device, job->graph,
                               &(braid_exec_options){ .max_lanes = 1, .fixed_lanes = true },
                               &job->exec));
    check_ok(braid_exec_launch(job->exec, NULL));
    check_ok(braid_exec_wait(job->exec));
    if (rank < 2)
        assert_true(answer[0] == 1.0);
}

// Edges lead to what posts an operation, and from what ends it.
static void test_edges_of_an_operation_hold_for_all_of_it(void **state)
{
    struct job *job = *state;
    double a[1] = { rank };
    braid_node calls[2], sum;
    const braid_host_call call = { .call = count_up, .user = a };
    check_ok(braid_graph_add_host_call(job->graph, &call, &calls[0]));
    check_ok(braid_graph_add_host_call(job->graph, &call, &calls[1]));
    sum = add(job, "sum", BRAID_RANK_ALL_REDUCE,
              (braid_communication){ .from = a, .to = a, .count = 1 }, NULL, 0);
    assert_string_equal(braid_graph_get_node_name(job->graph, sum), "sum");
    assert_string_equal(
        braid_graph_get_node_name(job->graph, braid_graph_get_node(job->graph, sum.index - 1)),
        "post sum");
    check_ok(braid_graph_add_edge(job->graph, calls[0], sum));
    check_ok(braid_graph_add_edge(job->graph, sum, calls[1]));
    run(job, 1);
    assert_true(a[0] == 6.0 + NUM_RANKS + 1);
    check_fails(braid_exec_set(job->exec, sum, BRAID_TARGET_ENABLED, 0, &(bool){ false }),
                BRAID_INVALID_ARGUMENT, "is a communication");
}

static void add_count(struct job *job, const char *name, double *number, braid_resource *out)
{
    *out = add_buffer(job, name, number, 1);
    const braid_access access = { *out, BRAID_READ_WRITE };
    check_ok(braid_graph_add_host_call(
        job->graph,
        &(braid_host_call){ .call = count_up,
                            .user = number,
                            .node = { .name = name, .accesses = &access, .num_accesses = 1 } },
        NULL));
}

// Other ranks wait for operations, so these stay, and so do the nodes whose results they send.
static void test_no_rank_leaves_out_what_others_wait_for(void **state)
{
    struct job *job = *state;
    double sent[1] = { 0 }, got[1] = { 0 }, lost[1] = { 0 }, shown[1] = { 0 };
    braid_resource sents, losts, showns, gots = add_buffer(job, "got", got, 1);
    add_count(job, "lost", lost, &losts);
    add_count(job, "sent", sent, &sents);
    add(job, "to the next", BRAID_RANK_SEND,
        (braid_communication){ .from = sent, .count = 1, .peer = (rank + 1) % NUM_RANKS },
        (braid_access[]){ { sents, BRAID_READ } }, 1);
    add(job, "from the last", BRAID_RANK_RECEIVE,
        (braid_communication){ .to = got, .count = 1, .peer = (rank + NUM_RANKS - 1) % NUM_RANKS },
        (braid_access[]){ { gots, BRAID_WRITE } }, 1);
    add_count(job, "shown", shown, &showns);
    check_ok(braid_graph_set_output(job->graph, showns));
    run(job, 3);
    assert_true(sent[0] == 3.0 && got[0] == 3.0 && shown[0] == 3.0 && lost[0] == 0.0);
}

static void test_frames_in_flight_keep_their_own_transients(void **state)
{
    struct job *job = *state;
    enum { FRAMES = 20 };
    double counter[1] = { rank }, sums[1] = { 0 };
    braid_resource counters = add_buffer(job, "counter", counter, 1), passed;
    braid_resource total = add_buffer(job, "total", sums, 1);
    check_ok(braid_graph_add_transient(job->graph, "passed", sizeof(double), 0, &passed));
    check_ok(braid_graph_add_host_call(
        job->graph,
        &(braid_host_call){
            .call = count_up, .user = counter, BRAID_ACCESSES({ counters, BRAID_READ_WRITE }) },
        NULL));
    add(job, "sum", BRAID_RANK_ALL_REDUCE,
        (braid_communication){ .from = counter, .to_resource = passed, .count = 1 },
        (braid_access[]){ { counters, BRAID_READ }, { passed, BRAID_WRITE } }, 2);
    add(job, "total", BRAID_RANK_ALL_REDUCE,
        (braid_communication){ .from_resource = passed, .to = sums, .count = 1 },
        (braid_access[]){ { passed, BRAID_READ }, { total, BRAID_WRITE } }, 2);
    const braid_exec_options options = { .frames_in_flight = 3 };
    check_ok(braid_exec_create(job->device, job->graph, &options, &job->exec));
    for (int i = 0; i < FRAMES; i++)
        check_ok(braid_exec_launch(job->exec, NULL));
    check_ok(braid_exec_wait(job->exec));
    assert_true(sums[0] == 4 * (4 * FRAMES + 6.0));
}

// The accesses that Braid gives an operation tell nothing about the program's memory.
static void test_an_operation_without_accesses_keeps_frames_whole(void **state)
{
    struct job *job = *state;
    double a[1] = { 1 };
    braid_exec_info info;
    add(job, "sum", BRAID_RANK_ALL_REDUCE, (braid_communication){ .from = a, .to = a, .count = 1 },
        NULL, 0);
    const braid_exec_options options = { .frames_in_flight = 2 };
    check_ok(braid_exec_create(job->device, job->graph, &options, &job->exec));
    braid_exec_get_info(job->exec, &info);
    assert_true(info.whole_frames);
    assert_non_null(strstr(info.frames_reason, "'post sum' declares no access"));
    check_ok(braid_exec_launch(job->exec, NULL));
    check_ok(braid_exec_wait(job->exec));
    assert_true(a[0] == NUM_RANKS);
}

static void wait_for_it(void *user)
{
    while (!__atomic_load_n((int *)user, __ATOMIC_ACQUIRE))
        continue;
}

static void test_a_communicator_is_in_one_exec_at_a_time(void **state)
{
    struct job *job = *state;
    braid_exec *second;
    double a[1] = { 1 };
    int may_go = 0;
    braid_resource as = add_buffer(job, "a", a, 1);
    check_ok(braid_graph_add_host_call(job->graph,
                                       &(braid_host_call){ .call = wait_for_it,
                                                           .user = &may_go,
                                                           BRAID_ACCESSES({ as, BRAID_WRITE }) },
                                       NULL));
    add(job, "sum", BRAID_RANK_ALL_REDUCE, (braid_communication){ .from = a, .to = a, .count = 1 },
        (braid_access[]){ { as, BRAID_READ_WRITE } }, 1);
    check_ok(braid_exec_create(job->device, job->graph, NULL, &job->exec));
    check_ok(braid_exec_create(job->device, job->graph, NULL, &second));
    check_ok(braid_exec_launch(job->exec, NULL));
    check_fails(braid_exec_launch(second, NULL), BRAID_BUSY,
                "'world' is in flight in another exec");
    __atomic_store_n(&may_go, 1, __ATOMIC_RELEASE);
    check_ok(braid_exec_wait(job->exec));
    check_ok(braid_exec_launch(second, NULL));
    check_ok(braid_exec_wait(second));
    assert_true(a[0] == NUM_RANKS * NUM_RANKS);
    braid_exec_destroy(second);
}

static void test_a_communicator_of_some_ranks_has_ranks_of_its_own(void **state)
{
    struct job *job = *state;
    braid_communicator *half;
    braid_resource halves;
    double a[1] = { rank };
    check_ok(braid_communicator_create(ranks, "half", rank / 2, &half));
    braid_ranks_info info;
    braid_communicator_get_info(half, &info);
    assert_int_equal(info.num_ranks, 2);
    assert_int_equal(info.rank, rank % 2);
    check_ok(braid_graph_add_communicator(job->graph, half, &halves));
    braid_resource as = add_buffer(job, "a", a, 1);
    add(job, "sum of two", BRAID_RANK_ALL_REDUCE,
        (braid_communication){ .communicator = halves, .from = a, .to = a, .count = 1 },
        (braid_access[]){ { as, BRAID_READ_WRITE } }, 1);
    run(job, 1);
    assert_true(a[0] == (rank < 2 ? 1.0 : 5.0));
}

// How often the threads of this process but the caller's went to sleep.
static long num_sleeps(void)
{
    struct rusage all, own;
    getrusage(RUSAGE_SELF, &all);
    getrusage(RUSAGE_THREAD, &own);
    return all.ru_nvcsw - own.ru_nvcsw;
}

// Where nothing is under way the communication thread sleeps: what spins would take seconds of the
// processor and never sleep.
static void test_a_thread_without_work_sleeps(void **state)
{
    (void)state;
    long before = num_sleeps();
    clock_t begin = clock();
    while (num_sleeps() < before + 5 && clock() - begin < 10 * CLOCKS_PER_SEC)
        sched_yield();
    assert_true(num_sleeps() >= before + 5);
}

static void test_ranks_are_not_left_while_they_are_used(void **state)
{
    (void)state;
    check_fails(braid_ranks_close(ranks), BRAID_IN_USE, "communicator 'world'");
    check_ok(braid_ranks_check(ranks));
}

#define test_job(function) cmocka_unit_test_setup_teardown(function, begin_job, end_job)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_job(test_a_ring_passes_on_what_it_is_given),
        test_job(test_collectives_are_what_they_are_called),
        test_job(test_what_is_awaited_keeps_nothing_else_from_running),
        test_job(test_lanes_that_would_wait_for_each_other_are_planned_again),
        test_job(test_edges_of_an_operation_hold_for_all_of_it),
        test_job(test_no_rank_leaves_out_what_others_wait_for),
        test_job(test_frames_in_flight_keep_their_own_transients),
        test_job(test_an_operation_without_accesses_keeps_frames_whole),
        test_job(test_another_order_is_refused_with_both),
        test_job(test_a_child_is_refused_its_parents_ranks),
        test_job(test_ranks_that_reduce_otherwise_are_refused),
        test_job(test_collectives_of_other_elements_are_refused),
        test_job(test_a_receive_of_other_elements_than_are_sent_is_refused),
        test_job(test_a_send_without_its_receive_is_refused),
        test_job(test_a_collective_that_a_rank_knows_nothing_of_is_refused),
        test_job(test_a_circle_of_waits_is_refused_and_shown),
        test_job(test_communicators_that_cross_are_refused),
        test_job(test_all_hear_of_a_rank_that_makes_no_exec),
        test_job(test_all_hear_of_options_that_a_rank_refuses),
        test_job(test_a_communicator_is_in_one_exec_at_a_time),
        test_job(test_a_launch_that_failed_halfway_keeps_no_communicator),
        test_job(test_an_operation_of_a_launch_that_failed_is_awaited),
        test_job(test_a_row_is_for_the_launch_that_waits_for_a_failed_one),
        test_job(test_a_communicator_of_some_ranks_has_ranks_of_its_own),
        test_job(test_a_wrong_operation_is_refused_at_once),
        test_job(test_an_operation_is_added_whole_or_not_at_all),
        cmocka_unit_test(test_a_thread_without_work_sleeps),
        test_job(test_ranks_are_not_left_while_they_are_used),
    };
    return run_on_ranks(tests);
}
