// SPDX-License-Identifier: Apache-2.0
// What is sent for tasks on owned buffers, and what is refused. Tasks are empty nodes here.
#include <stdio.h>
#include <string.h>

#include "graph/graph.h"
#include "ranks_testing.h"
#include "support/failing_memory.h"

enum { BYTES = 64 };

static braid_resource own(struct job *job, uint32_t owner, const char *name, uint64_t bytes)
{
    braid_resource buffer;
    static char memories[16][BYTES]; // no test has as many
    static uint32_t last;
    void *memory = owner == rank && bytes ? memories[last++ % 16] : NULL;
    check_ok(
        braid_graph_add_owned_buffer(job->graph, job->world, owner, name, memory, bytes, &buffer));
    return buffer;
}

static braid_status try_task(struct job *job, const char *name, const braid_access *accesses,
                             size_t num, braid_node *out_node)
{
    const braid_empty empty = { .node = {
                                    .name = name, .accesses = accesses, .num_accesses = num } };
    return braid_graph_add_empty(job->graph, &empty, out_node);
}

// A task of one rank that reads something.
static braid_node task(struct job *job, braid_resource writes, braid_resource reads)
{
    const braid_access accesses[] = { { reads, BRAID_READ }, { writes, BRAID_READ_WRITE } };
    braid_node node;
    check_ok(try_task(job, "task", accesses, 2, &node));
    return node;
}

static void write_to(struct job *job, braid_resource what)
{
    check_ok(try_task(job, "write", &(braid_access){ what, BRAID_READ_WRITE }, 1, NULL));
}

static size_t count_transfers(const struct job *job)
{
    size_t num = 0;
    for (size_t i = 0; i < braid_graph_get_num_nodes(job->graph); i++)
        num += !strncmp(braid_graph_get_node_name(job->graph, braid_graph_get_node(job->graph, i)),
                        "post ", 5);
    return num;
}

void test_a_copy_is_sent_once_until_it_is_written(void **state)
{
    struct job *job = *state;
    braid_resource a = own(job, 0, "a", BYTES), b = own(job, 1, "b", BYTES);
    for (int i = 0; i < 3; i++)
        task(job, b, a);
    assert_int_equal(count_transfers(job), rank < 2);
    write_to(job, a);
    for (int i = 0; i < 3; i++)
        task(job, b, a);
    assert_int_equal(count_transfers(job), rank < 2 ? 2 : 0);
    check_ok(braid_exec_create(job->device, job->graph, NULL, &job->exec));
}

// A half that is written is sent again to who reads it, and the other is not.
void test_a_neighbour_is_sent_the_rows_it_reads(void **state)
{
    struct job *job = *state;
    braid_resource a = own(job, 0, "a", BYTES), b = own(job, 1, "b", BYTES), halves[2];
    for (uint64_t i = 0; i < 2; i++)
        check_ok(braid_graph_add_range(job->graph, a, i * BYTES / 2, BYTES / 2, &halves[i]));
    task(job, b, halves[0]);
    task(job, b, halves[1]);
    assert_int_equal(count_transfers(job), rank < 2 ? 2 : 0);
    write_to(job, halves[1]);
    task(job, b, halves[0]);
    assert_int_equal(count_transfers(job), rank < 2 ? 2 : 0);
    task(job, b, halves[1]);
    assert_int_equal(count_transfers(job), rank < 2 ? 3 : 0);
    task(job, b, a); // as a whole it was never sent
    task(job, b, halves[0]);
    assert_int_equal(count_transfers(job), rank < 2 ? 4 : 0);
    if (rank < 2)
        assert_string_equal(
            braid_graph_get_node_name(job->graph, braid_graph_get_node(job->graph, 1)),
            rank ? "a[0, 32) from 0" : "a[0, 32) to 1");
    check_ok(braid_exec_create(job->device, job->graph, NULL, &job->exec));
}

void test_a_rank_has_nothing_of_what_it_has_no_part_in(void **state)
{
    struct job *job = *state;
    braid_resource a = own(job, 0, "a", BYTES), b = own(job, 1, "b", BYTES);
    const braid_access accesses[] = { { a, BRAID_READ }, { b, BRAID_WRITE } };
    const braid_access writes[] = { { a, BRAID_WRITE } };
    assert_int_equal(braid_graph_takes_part(job->graph, accesses, 2), rank < 2);
    assert_int_equal(braid_graph_takes_part(job->graph, writes, 1), rank == 0);
    braid_node first = task(job, b, a), second = task(job, b, a);
    assert_int_equal(first.index == BRAID_ELSEWHERE, rank != 1);
    assert_int_equal(braid_graph_takes_part(job->graph, writes, 1), rank < 2); // has a copy
    assert_int_equal(braid_graph_get_num_nodes(job->graph), rank == 0 ? 2 : rank == 1 ? 4 : 0);
    // What is said of a node that is elsewhere is for who has it.
    check_ok(braid_graph_set_cost(job->graph, first, 1000));
    check_ok(braid_graph_add_edge(job->graph, first, second));
    assert_int_equal(job->graph->edges.num, rank == 0 ? 1 : rank == 1 ? 2 : 0);
    // The rank's own are as ever.
    assert_true(braid_graph_takes_part(job->graph, NULL, 0));
    check_ok(try_task(job, "own", NULL, 0, &second));
    assert_int_not_equal(second.index, BRAID_ELSEWHERE);
    if (rank != 1)
        check_fails(braid_graph_add_edge(job->graph, first, second), BRAID_INVALID_ARGUMENT,
                    "is not a node of this graph");
    check_ok(braid_exec_create(job->device, job->graph, NULL, &job->exec));
}

// A rank that leaves out what writes to its copy would go on with the old one.
void test_a_task_left_out_is_told_before_anything_runs(void **state)
{
    struct job *job = *state;
    braid_resource a = own(job, 0, "a", BYTES), b = own(job, 1, "b", BYTES);
    task(job, b, a);
    if (rank != 1)
        write_to(job, a);
    task(job, b, a);
    check_fails(braid_exec_create(job->device, job->graph, NULL, &job->exec),
                BRAID_INVALID_ARGUMENT, "send 'a to 1' of 64 elements to rank 1");
}

// Two buffers of one size and, by their names, one tag, of which two ranks add the tasks in another
// order: they are not taken for each other.
void test_what_is_received_is_what_was_sent(void **state)
{
    struct job *job = *state;
    braid_resource b = own(job, 1, "b", BYTES), both[2];
    both[0] = own(job, 0, "x188", BYTES);
    both[1] = own(job, 0, "x294", BYTES);
    for (uint32_t i = 0; i < 2; i++)
        task(job, b, both[i == (rank == 1)]);
    check_fails(braid_exec_create(job->device, job->graph, NULL, &job->exec),
                BRAID_INVALID_ARGUMENT,
                "ranks 0 and 1 did not add the same tasks in the same order");
}

void test_bundles_run_where_their_main_node_runs(void **state)
{
    struct job *job = *state;
    braid_resource a = own(job, 0, "a", BYTES), b = own(job, 1, "b", BYTES);
    braid_node main = task(job, b, b), before;
    size_t num = braid_graph_get_num_nodes(job->graph);
    const braid_empty prelude = { .node = { .name = "before", .prelude_of = main } };
    check_ok(braid_graph_add_empty(job->graph, &prelude, &before));
    assert_int_equal(before.index == BRAID_ELSEWHERE, rank != 1);
    assert_int_equal(braid_graph_get_num_nodes(job->graph), num + (rank == 1));
    if (rank == 1) {
        const braid_access reads = { a, BRAID_READ }, writes = { b, BRAID_WRITE };
        braid_empty wrong = prelude;
        wrong.node.accesses = &reads;
        wrong.node.num_accesses = 1;
        check_fails(braid_graph_add_empty(job->graph, &wrong, NULL), BRAID_INVALID_ARGUMENT,
                    "node 'before' reads 'a', which rank 0 owns");
        wrong.node.accesses = &writes;
        check_fails(braid_graph_add_empty(job->graph, &wrong, NULL), BRAID_INVALID_ARGUMENT,
                    "node 'before' writes 'b', which rank 1 owns");
    }
    check_ok(braid_exec_create(job->device, job->graph, NULL, &job->exec));
}

static void refuse_task(struct job *job, const braid_access *accesses, size_t num, const char *text)
{
    size_t num_nodes = braid_graph_get_num_nodes(job->graph);
    assert_true(braid_graph_takes_part(job->graph, accesses, num) || num > 1);
    check_fails(try_task(job, "x", accesses, num, NULL), BRAID_INVALID_ARGUMENT, text);
    assert_int_equal(braid_graph_get_num_nodes(job->graph), num_nodes);
}

void test_a_task_that_breaks_the_rule_is_refused(void **state)
{
    struct job *job = *state;
    braid_resource a = own(job, 0, "a", BYTES), b = own(job, 1, "b", BYTES), others, c;
    braid_resource turn = own(job, 0, "turn", 0);
    check_ok(braid_graph_add_communicator(job->graph, other, &others));
    check_ok(braid_graph_add_owned_buffer(job->graph, others, 1, "c", NULL, BYTES, &c));
    refuse_task(job, (braid_access[]){ { a, BRAID_WRITE }, { b, BRAID_ACCUMULATE } }, 2,
                "node 'x' writes 'a' of rank 0 and 'b' of rank 1");
    refuse_task(job, (braid_access[]){ { a, BRAID_WRITE }, { c, BRAID_READ } }, 2,
                "'a' and 'c' are owned in two communicators");
    refuse_task(job, (braid_access[]){ { b, BRAID_WRITE }, { turn, BRAID_READ } }, 2,
                "reads 'turn' of rank 0, which has no bytes");
    const braid_access reads = { a, BRAID_READ };
    if (rank == 0)
        check_ok(try_task(job, "x", &reads, 1, NULL));
    else
        refuse_task(job, &reads, 1, "node 'x' reads 'a', which rank 0 owns");
    // What says where a task runs.
    braid_node node;
    check_ok(try_task(job, "here", (braid_access[]){ { turn, BRAID_EXCLUSIVE }, { a, BRAID_READ } },
                      2, &node));
    assert_int_equal(node.index == BRAID_ELSEWHERE, rank != 0);
    // Operations that a program adds are its own.
    const braid_communication receive = { .node = { .name = "y",
                                                    .accesses =
                                                        (braid_access[]){ { a, BRAID_WRITE } },
                                                    .num_accesses = 1 },
                                          .operation = BRAID_RANK_BROADCAST,
                                          .communicator = job->world,
                                          .to = &node,
                                          .count = 1 };
    check_fails(braid_graph_add_communication(job->graph, &receive, NULL), BRAID_INVALID_ARGUMENT,
                "node 'y' writes 'a', which rank 0 owns");
    braid_resource slots;
    check_ok(braid_graph_add_slots(job->graph, "slots", 2, &slots));
    braid_communication holds = receive;
    holds.node.accesses = &(braid_access){ slots, BRAID_EXCLUSIVE };
    check_fails(braid_graph_add_communication(job->graph, &holds, NULL), BRAID_INVALID_ARGUMENT,
                "node 'y': .accesses[0] is to slots");
    braid_empty after = { .node = { .name = "z", .after = &node, .num_after = 1 } };
    if (rank != 0)
        check_fails(braid_graph_add_empty(job->graph, &after, NULL), BRAID_INVALID_ARGUMENT,
                    "node 'z': .after[0] runs on another rank");
}

void test_an_owned_buffer_is_declared_right_or_not_at_all(void **state)
{
    struct job *job = *state;
    braid_resource a, plain;
    check_ok(braid_graph_add_resource(job->graph, "plain", &plain));
    check_fails(braid_graph_add_owned_buffer(job->graph, plain, 0, "a", NULL, BYTES, &a),
                BRAID_INVALID_ARGUMENT, "owned buffer 'a': its communicator is not one");
    check_fails(
        braid_graph_add_owned_buffer(job->graph, job->world, NUM_RANKS, "a", NULL, BYTES, &a),
        BRAID_INVALID_ARGUMENT, "owned buffer 'a': rank 4 of the 4 of communicator 'world'");
    braid_status status = BRAID_NO_MEMORY;
    for (uint64_t nth = 1; status == BRAID_NO_MEMORY; nth++) {
        failing_memory_arm(nth);
        status = braid_graph_add_owned_buffer(job->graph, job->world, 0, "a", NULL, BYTES, &a);
        failing_memory_disarm();
    }
    check_ok(status);
    check_fails(braid_graph_add_owned_buffer(job->graph, job->world, 1, "a", NULL, BYTES, &a),
                BRAID_INVALID_ARGUMENT, "owned buffer 'a': there is one of this name");
}

void test_a_task_is_added_with_its_transfers_or_not_at_all(void **state)
{
    struct job *job = *state;
    enum { NUM = 5 };
    braid_access accesses[NUM];
    char name[16];
    for (uint32_t i = 0; i < NUM; i++) {
        snprintf(name, sizeof(name), "buffer %u", i);
        accesses[i] = (braid_access){ own(job, i % 2, name, BYTES), i ? BRAID_READ : BRAID_WRITE };
    }
    braid_status status = BRAID_NO_MEMORY;
    uint64_t nth = 1;
    for (; status == BRAID_NO_MEMORY; nth++) {
        failing_memory_arm(nth);
        status = try_task(job, "task", accesses, NUM, NULL);
        failing_memory_disarm();
        if (status)
            assert_int_equal(braid_graph_get_num_nodes(job->graph), 0);
    }
    check_ok(status);
    assert_true(nth > 3 || rank > 1);
    assert_int_equal(count_transfers(job), rank < 2 ? 2 : 0);
    // A node that is refused by itself takes its transfers along.
    const braid_access reads[] = { { accesses[0].resource, BRAID_READ },
                                   { accesses[1].resource, BRAID_WRITE } };
    const braid_host_call wrong = { .node = { .accesses = reads, .num_accesses = 2 } };
    size_t num = braid_graph_get_num_nodes(job->graph);
    if (rank == 1)
        check_fails(braid_graph_add_host_call(job->graph, &wrong, NULL), BRAID_INVALID_ARGUMENT,
                    ".call is NULL");
    assert_int_equal(braid_graph_get_num_nodes(job->graph), num);
    check_ok(braid_exec_create(job->device, job->graph, NULL, &job->exec));
}
