// SPDX-License-Identifier: Apache-2.0
// Ranks whose memory is a device's: operations are right on streams and captured, in their order
// and with what is queued as one; what would hang or is not there is an error on all of them.
// BRAID_TEST_BACKEND and BRAID_TEST_MODE say where; ranks take the devices in turn.
#include "devices_testing.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/beside_captures.h"
#include "support/wide_plan.h"

static braid_ranks *ranks;
static const char *backend;

static const braid_resource none;

static void test_all_operations_are_right(void **state)
{
    struct job *job = *state;
    braid_resource own, sum, most, all, parts, part, root;
    struct memory a = add_memory(job, "own", COUNT, rank * 100000, &own);
    struct memory b = add_memory(job, "sum", COUNT, -1, &sum);
    struct memory c = add_memory(job, "most", COUNT, -1, &most);
    struct memory d = add_memory(job, "all", (uint64_t)COUNT * num, -1, &all);
    struct memory e = add_memory(job, "parts", (uint64_t)COUNT * num, rank * 7, &parts);
    struct memory f = add_memory(job, "part", COUNT, -1, &part);
    struct memory g = add_memory(job, "root", COUNT, rank ? -5 : 42, &root);
    add(job, "sum", BRAID_RANK_ALL_REDUCE,
        (braid_communication){ .from = a.device, .to = b.device, .count = COUNT }, own, sum);
    add(job, "most", BRAID_RANK_ALL_REDUCE,
        (braid_communication){ .from = a.device,
                               .to = c.device,
                               .count = COUNT,
                               .reduction = BRAID_REDUCTION_MAX,
                               .communicator = job->other },
        own, most);
    add(job, "all", BRAID_RANK_ALL_GATHER,
        (braid_communication){ .from = a.device, .to = d.device, .count = COUNT }, own, all);
    add(job, "part", BRAID_RANK_REDUCE_SCATTER,
        (braid_communication){ .from = e.device, .to = f.device, .count = COUNT }, parts, part);
    add(job, "root", BRAID_RANK_BROADCAST, (braid_communication){ .to = g.device, .count = COUNT },
        none, root);
    add_return(job, b, COUNT, sum);
    add_return(job, c, COUNT, most);
    add_return(job, d, (uint64_t)COUNT * num, all);
    add_return(job, f, COUNT, part);
    add_return(job, g, COUNT, root);
    create(job);
    for (int frame = 0; frame < NUM_FRAMES; frame++) {
        int64_t ranks_before = (int64_t)num * (num - 1) / 2;
        run(job);
        for (int64_t i = 0; i < COUNT; i += 37) {
            assert_int_equal(b.host[i], ranks_before * 100000 + (int64_t)num * i);
            assert_int_equal(c.host[i], (int64_t)(num - 1) * 100000 + i);
            assert_int_equal(d.host[(num - 1) * COUNT + i], (int64_t)(num - 1) * 100000 + i);
            assert_int_equal(f.host[i],
                             ranks_before * 7 + (int64_t)num * ((int64_t)rank * COUNT + i));
            assert_int_equal(g.host[i], 42 + i);
        }
        memset(f.host, 0, COUNT * sizeof(int64_t));
        memset(b.host, 0, COUNT * sizeof(int64_t));
    }
}

// Another thread of the program captures a stream, in the mode that forbids most to all threads.
static void test_operations_run_beside_a_capture(void **state)
{
    struct job *job = *state;
    braid_resource own, sum;
    struct memory a = add_memory(job, "own", COUNT, rank, &own);
    struct memory b = add_memory(job, "sum", COUNT, -1, &sum);
    struct capture capture = { .mode = GLOBAL, .words = (uint32_t *)(void *)b.device };
    add(job, "sum", BRAID_RANK_ALL_REDUCE,
        (braid_communication){ .from = a.device, .to = b.device, .count = COUNT }, own, sum);
    add_return(job, b, COUNT, sum);
    create(job);
    void *graph;
    check_fails(braid_exec_make_cuda_graph(job->exec, &graph), BRAID_UNSUPPORTED,
                strcmp(backend, "hip") == 0 ? "has no graphs" : "is an operation between ranks");
    find_driver(strcmp(backend, "hip") == 0);
    assert_int_equal(driver.make_current(), 0);
    assert_int_equal(driver.stream_create(&capture.stream, NON_BLOCKING), 0);
    begin_capture(&capture, true);
    assert_int_equal(capture.begun, 0);
    for (int frame = 0; frame < NUM_FRAMES; frame++)
        run(job);
    end_capture(&capture, true);
    assert_int_equal(capture.ended, 0);
    assert_true(capture.has_graph);
    assert_int_equal(driver.stream_destroy(capture.stream), 0);
    for (int64_t i = 0; i < COUNT; i += 37)
        assert_int_equal(b.host[i], (int64_t)num * (num - 1) / 2 + (int64_t)num * i);
}

// Every rank sends before it receives, and from both sides: as single operations of a device these
// would wait for each other.
static void test_ranks_that_send_to_each_other_do_not_hang(void **state)
{
    struct job *job = *state;
    braid_resource own, left, right;
    uint32_t before = (rank + num - 1) % num, behind = (rank + 1) % num;
    struct memory a = add_memory(job, "own", COUNT, rank * 1000, &own);
    struct memory b = add_memory(job, "left", COUNT, -1, &left);
    struct memory c = add_memory(job, "right", COUNT, -1, &right);
    if (num == 1)
        skip_because("there is one rank");
    add(job, "to the right", BRAID_RANK_SEND,
        (braid_communication){ .from = a.device, .count = COUNT, .peer = behind }, own, none);
    add(job, "to the left", BRAID_RANK_SEND,
        (braid_communication){ .from = a.device, .count = COUNT - 1, .peer = before }, own, none);
    add(job, "from the left", BRAID_RANK_RECEIVE,
        (braid_communication){ .to = b.device, .count = COUNT, .peer = before }, none, left);
    add(job, "from the right", BRAID_RANK_RECEIVE,
        (braid_communication){ .to = c.device, .count = COUNT - 1, .peer = behind }, none, right);
    add_return(job, b, COUNT, left);
    add_return(job, c, COUNT, right);
    create(job);
    for (int frame = 0; frame < NUM_FRAMES; frame++) {
        run(job);
        for (int64_t i = 0; i < COUNT - 1; i += 37) {
            assert_int_equal(b.host[i], before * 1000 + i);
            assert_int_equal(c.host[i], behind * 1000 + i);
        }
        memset(b.host, 0, COUNT * sizeof(int64_t));
        memset(c.host, 0, COUNT * sizeof(int64_t));
    }
}

// A value goes round, each rank adding to it, before the ring is closed by a second exchange.
static void test_a_value_goes_from_rank_to_rank(void **state)
{
    struct job *job = *state;
    braid_resource cells, added;
    struct memory a = add_memory(job, "cells", COUNT, 1, &cells);
    struct memory b = add_memory(job, "added", COUNT, 0, &added);
    if (rank > 0)
        add(job, "from before", BRAID_RANK_RECEIVE,
            (braid_communication){ .to = a.device, .count = COUNT, .peer = rank - 1 }, none, cells);
    add_sum(job, "of all", b.device, added, job->other);
    if (rank + 1 < num)
        add(job, "to behind", BRAID_RANK_SEND,
            (braid_communication){ .from = a.device, .count = COUNT, .peer = rank + 1 }, cells,
            none);
    add_return(job, a, COUNT, cells);
    if (rank == 0)
        for (int64_t i = 0; i < COUNT; i++)
            a.host[i] = 3 * i;
    create(job);
    run(job);
    for (int64_t i = 0; i < COUNT; i += 37)
        assert_int_equal(a.host[i], 3 * i);
}

// MPI may do this: a device, which begins the second behind the end of the first, hangs.
static void test_orders_that_a_device_cannot_follow_are_refused(void **state)
{
    struct job *job = *state;
    braid_resource own, sum;
    if (num == 1)
        skip_because("there is one rank");
    struct memory a = add_memory(job, "own", COUNT, 0, &own);
    struct memory b = add_memory(job, "sum", COUNT, 0, &sum);
    if (rank == 0)
        add(job, "out", BRAID_RANK_SEND,
            (braid_communication){ .from = a.device, .count = COUNT, .peer = 1 }, own, none);
    add_sum(job, "sum", b.device, sum, job->world);
    if (rank == 1)
        add(job, "in", BRAID_RANK_RECEIVE,
            (braid_communication){ .to = a.device, .count = COUNT, .peer = 0 }, none, own);
    check_fails(
        braid_exec_create(device, job->graph, &(braid_exec_options){ .mode = mode }, &job->exec),
        BRAID_CYCLE, "'sum'");
}

static void test_tags_in_another_order_are_refused(void **state)
{
    struct job *job = *state;
    braid_resource own;
    if (num == 1)
        skip_because("there is one rank");
    struct memory a = add_memory(job, "own", COUNT, 0, &own);
    for (uint32_t i = 0; i < 2 && rank < 2; i++)
        add(job, "part", rank ? BRAID_RANK_RECEIVE : BRAID_RANK_SEND,
            (braid_communication){ .from = rank ? NULL : a.device,
                                   .to = rank ? a.device : NULL,
                                   .count = 1,
                                   .peer = 1 - rank,
                                   .tag = rank ? 1 - i : i },
            rank ? none : own, rank ? own : none);
    check_fails(braid_exec_create(device, job->graph, NULL, &job->exec), BRAID_INVALID_ARGUMENT,
                "tags");
}

static void test_a_schedule_of_the_program_is_refused(void **state)
{
    struct job *job = *state;
    braid_schedule *schedule;
    check_ok(braid_schedule_create(job->graph, &(braid_schedule_options){ .costs = &free_costs },
                                   &schedule));
    check_fails(braid_exec_create(device, job->graph, &(braid_exec_options){ .schedule = schedule },
                                  &job->exec),
                BRAID_UNSUPPORTED, "schedule");
    braid_schedule_destroy(schedule);
}

// On one lane each rank would begin with what the other one ends with.
static void test_lanes_that_would_wait_for_each_other_are_planned_again(void **state)
{
    struct job *job = *state;
    braid_resource buffers[2];
    const braid_exec_options options = { .mode = mode, .max_lanes = 1, .fixed_lanes = true };
    if (!getenv("BRAID_TEST_STANDIN_NCCL"))
        skip_because("communicators that are at work at once ask more of a device than Braid does");
    struct memory a = add_memory(job, "a", COUNT, 1, &buffers[0]);
    struct memory b = add_memory(job, "b", COUNT, 1, &buffers[1]);
    for (uint32_t i = 0; i < 2; i++) {
        bool first = i == rank % 2;
        add_sum(job, first ? "first" : "second", first ? a.device : b.device,
                buffers[first ? 0 : 1], first ? job->world : job->other);
    }
    add_return(job, a, COUNT, buffers[0]);
    add_return(job, b, COUNT, buffers[1]);
    check_ok(braid_exec_create(device, job->graph, &options, &job->exec));
    run(job);
    assert_int_equal(a.host[0], num);
    assert_int_equal(b.host[1], 2 * num);
}

static void test_a_communicator_stays_on_its_device(void **state)
{
    struct job *job = *state;
    braid_device *second;
    if (!getenv("BRAID_TEST_STANDIN_NCCL"))
        skip_because("it needs two devices a rank");
    check_ok(
        braid_device_open(&(braid_device_options){ .backend = backend, .ordinal = 1 }, &second));
    check_fails(braid_exec_create(second, job->graph, NULL, &job->exec), BRAID_UNSUPPORTED,
                "is connected on");
    check_ok(braid_device_close(second));
}

static void test_a_rank_on_the_host_is_refused(void **state)
{
    struct job *job = *state;
    braid_device *cpu;
    if (num == 1)
        skip_because("there is one rank");
    check_ok(
        braid_device_open(&(braid_device_options){ .backend = "cpu", .num_workers = 1 }, &cpu));
    check_fails(braid_exec_create(rank == 1 ? cpu : device, job->graph, NULL, &job->exec),
                BRAID_UNSUPPORTED, "the host");
    check_ok(braid_device_close(cpu));
}

// Which names the file of the device's engine.
static const char *library_variable(void)
{
    return strcmp(backend, "hip") == 0 ? "BRAID_RCCL" : "BRAID_NCCL";
}

// Before anything else: the engine is opened once.
static void test_a_library_that_is_not_there_is_named_on_all_ranks(void **state)
{
    struct job *job = *state;
    if (rank == num - 1)
        setenv(library_variable(), "/nowhere/libnccl.so.2", 1);
    check_fails(braid_exec_create(device, job->graph, NULL, &job->exec), BRAID_UNAVAILABLE,
                "/nowhere/libnccl.so.2");
    unsetenv(library_variable());
}

static void test_another_version_is_refused(void **state)
{
    struct job *job = *state;
    setenv(library_variable(), "libc.so.6", 1);
    check_fails(braid_exec_create(device, job->graph, NULL, &job->exec), BRAID_UNAVAILABLE,
                "ncclGetVersion");
    unsetenv(library_variable());
    if (!getenv("BRAID_TEST_STANDIN_NCCL"))
        return;
    setenv("BRAID_STANDIN_NCCL_VERSION", "21200", 1);
    check_fails(braid_exec_create(device, job->graph, NULL, &job->exec), BRAID_UNAVAILABLE,
                "21200");
    unsetenv("BRAID_STANDIN_NCCL_VERSION");
}

// All ranks have the same fault, so that all of them come as far.
static void test_calls_that_fail_are_told(void **state)
{
    static const struct {
        const char *rule, *text;
    } faults[] = {
        { "ncclGroupStart:1=3", "internal error" },
        { "ncclSend:1=1", "unhandled cuda error" },
        { "ncclRecv:1=5", "invalid usage" },
        { "ncclGroupEnd:1=2", "unhandled system error" },
        { "ncclAllReduce:1=3", "'sum'" },
        { "ncclBroadcast:1=3", "'root'" },
        { "ncclAllGather:1=3", "'all'" },
        { "ncclReduceScatter:1=3", "'part'" },
    };
    struct job *job = *state;
    braid_resource own, left, all;
    if (!getenv("BRAID_TEST_STANDIN_NCCL"))
        skip_because("only the stand-in fails on demand");
    if (num == 1)
        skip_because("there is one rank");
    uint32_t before = (rank + num - 1) % num, behind = (rank + 1) % num;
    struct memory a = add_memory(job, "own", COUNT, rank, &own);
    struct memory b = add_memory(job, "left", COUNT, -1, &left);
    struct memory c = add_memory(job, "all", (uint64_t)COUNT * num, -1, &all);
    add(job, "out", BRAID_RANK_SEND,
        (braid_communication){ .from = a.device, .count = COUNT, .peer = behind }, own, none);
    add(job, "in", BRAID_RANK_RECEIVE,
        (braid_communication){ .to = b.device, .count = COUNT, .peer = before }, none, left);
    add_sum(job, "sum", b.device, left, job->world);
    add(job, "root", BRAID_RANK_BROADCAST, (braid_communication){ .to = b.device, .count = COUNT },
        none, left);
    add(job, "all", BRAID_RANK_ALL_GATHER,
        (braid_communication){ .from = b.device, .to = c.device, .count = COUNT }, left, all);
    add(job, "part", BRAID_RANK_REDUCE_SCATTER,
        (braid_communication){ .from = c.device, .to = b.device, .count = COUNT }, all, left);
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
        braid_exec *exec = NULL;
        setenv("BRAID_STANDIN_NCCL_FAIL", faults[i].rule, 1);
        braid_status status =
            braid_exec_create(device, job->graph, &(braid_exec_options){ .mode = mode }, &exec);
        if (!status)
            status = braid_exec_launch(exec, NULL);
        check_fails(status, BRAID_DEVICE_ERROR, faults[i].text);
        unsetenv("BRAID_STANDIN_NCCL_FAIL");
        braid_exec_destroy(exec);
    }
    create(job);
    run(job);
}

static void open_all(void)
{
    const char *given = getenv("BRAID_TEST_MODE");
    backend = getenv("BRAID_TEST_BACKEND");
    backend = backend ? backend : "cuda";
    const char *devices = getenv("BRAID_TEST_DEVICES");
    mode = given && strcmp(given, "graph") == 0 ? BRAID_MODE_GRAPH : BRAID_MODE_STREAMS;
    check_ok(braid_ranks_open(NULL, &ranks));
    braid_ranks_info info;
    braid_ranks_get_info(ranks, &info);
    rank = info.rank;
    num = info.num_ranks;
    const braid_device_options options = { .backend = backend,
                                           .ordinal =
                                               rank % (devices ? (uint32_t)atoi(devices) : 1) };
    check_ok(braid_device_open(&options, &device));
    check_ok(braid_communicator_create(ranks, "world", 0, &world));
    check_ok(braid_communicator_create(ranks, "other", 0, &other));
    check_ok(braid_communicator_create(ranks, "hosts", 0, &hosts));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin_job, end_job)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_a_library_that_is_not_there_is_named_on_all_ranks),
        CASE(test_another_version_is_refused),
        CASE(test_all_operations_are_right),
        CASE(test_operations_run_beside_a_capture),
        CASE(test_ranks_that_send_to_each_other_do_not_hang),
        CASE(test_a_value_goes_from_rank_to_rank),
        CASE(test_orders_that_a_device_cannot_follow_are_refused),
        CASE(test_tags_in_another_order_are_refused),
        CASE(test_a_schedule_of_the_program_is_refused),
        CASE(test_a_rank_on_the_host_is_refused),
        CASE(test_lanes_that_would_wait_for_each_other_are_planned_again),
        CASE(test_a_communicator_stays_on_its_device),
        CASE(test_a_communicator_is_in_one_graph_in_flight),
        CASE(test_an_exec_that_goes_ends_no_frame_of_another),
        CASE(test_calls_that_fail_are_told),
    };
    open_all();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    check_fails(braid_device_close(device), BRAID_IN_USE, "communicator");
    check_ok(braid_ranks_close(ranks));
    check_ok(braid_device_close(device));
    return failed;
}
