// SPDX-License-Identifier: Apache-2.0
// An exec whose frames could not be told to have ended when it was destroyed is kept, but the
// program is done with it: each of its devices can be closed, in any order.
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "gpu/gpu_testing.h"
#include "gpu/replica.h"
#include "support/check.h"

static char logged[4096];

static void take_log(void *user, braid_status status, const char *message)
{
    (void)user, (void)status;
    strncat(logged, message, sizeof(logged) - strlen(logged) - 1);
}

static void open_both(struct frame *frame, struct replica *replica, uint32_t num_frames)
{
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS, .frames = num_frames };
    braid_graph *graph = NULL;
    *replica = (struct replica){ 0 };
    reset_standin();
    replica_need_second();
    check_ok(frame_open(frame, "cuda"));
    replica_open(replica, frame->device);
    check_ok(braid_graph_create(&graph));
    replica_add_reader(replica, graph, frame->words);
    check_ok(braid_exec_create(replica->group, graph, &options, &frame->exec));
    braid_graph_destroy(graph);
}

static void destroy_so_that_it_is_kept(struct frame *frame)
{
    logged[0] = '\0';
    braid_log_set(take_log, NULL);
    assert_true(standin_configure("BRAID_STANDIN_FAIL", "cuEventSynchronize:1+=999"));
    braid_exec_destroy(frame->exec);
    assert_true(standin_configure("BRAID_STANDIN_FAIL", NULL));
    braid_log_set(NULL, NULL);
    frame->exec = NULL;
    assert_non_null(strstr(logged, "is kept: its frames cannot be told to have ended"));
}

static void finish_both(struct frame *frame, struct replica *replica)
{
    replica_free(replica);
    frame_finish(frame);
    replica_finish(replica);
    check_nothing_is_left();
}

static void check(uint32_t num_frames)
{
    struct frame frame;
    struct replica replica;
    open_both(&frame, &replica, num_frames);
    check_ok(braid_exec_launch(frame.exec, frame.stream));
    destroy_so_that_it_is_kept(&frame);
    finish_both(&frame, &replica);
}

static void that_uses_a_second_device(void **state)
{
    (void)state;
    check(1);
    check(2);
}

// Its events, those for times among them, are none of the program's.
static void that_keeps_times(void **state)
{
    (void)state;
    for (uint32_t num_frames = 0; num_frames <= 3; num_frames += 3) {
        const braid_exec_options options = { .mode = BRAID_MODE_STREAMS, .profile = num_frames };
        struct frame frame;
        braid_graph *graph = NULL;
        reset_standin();
        check_ok(frame_open(&frame, "cuda"));
        check_ok(braid_graph_create(&graph));
        const braid_fill fill = { .to = frame.words, .value_bytes = 4, .num_values = 1 };
        check_ok(braid_graph_add_fill(graph, &fill, NULL));
        check_ok(braid_exec_create(frame.device, graph, &options, &frame.exec));
        braid_graph_destroy(graph);
        check_ok(braid_exec_launch(frame.exec, frame.stream));
        destroy_so_that_it_is_kept(&frame);
        braid_event *own = NULL;
        check_ok(braid_event_create(frame.device, NULL, &own));
        check_fails(braid_device_close(frame.device), BRAID_BUSY, " 1 event,");
        braid_event_destroy(own);
        frame_finish(&frame);
        check_nothing_is_left();
    }
}

static void wait_for_gate(void *user)
{
    while (sem_wait(user))
        continue;
}

// The second is done with, but is there until the first is closed, or makes another exec.
static void close_second(struct frame *frame, struct replica *replica)
{
    open_both(frame, replica, 1);
    check_ok(braid_exec_launch(frame->exec, frame->stream));
    destroy_so_that_it_is_kept(frame);
    replica_free(replica);
    check_ok(braid_device_close(replica->second));
    check_fails(braid_device_close(replica->second), BRAID_INVALID_ARGUMENT, "was closed");
    replica->second = NULL;
}

static void whose_second_device_is_closed_first(void **state)
{
    (void)state;
    struct frame frame;
    struct replica replica;
    close_second(&frame, &replica);
    finish_both(&frame, &replica);
}

static void whose_second_device_is_gone_with_it(void **state)
{
    (void)state;
    struct frame frame;
    struct replica replica;
    close_second(&frame, &replica);
    check_ok(braid_stream_synchronize(frame.device, frame.stream));
    assert_int_equal(standin_live("context"), 2);
    check_ok(frame_create_exec(&frame, BRAID_MODE_STREAMS));
    assert_int_equal(standin_live("context"), 1);
    finish_both(&frame, &replica);
}

// A call of the program's that ends once a close waits for it, or has returned without.
struct late_call {
    long num_waits; // of the driver's, before the close
    atomic_bool is_closed, was_closed;
    sem_t has_ended;
};

static void end_late(void *user)
{
    struct late_call *call = user;
    while (standin_calls("cuStreamSynchronize") == call->num_waits &&
           !atomic_load(&call->is_closed))
        sched_yield();
    atomic_store(&call->was_closed, atomic_load(&call->is_closed));
    sem_post(&call->has_ended);
}

static void whose_second_device_still_works(void **state)
{
    (void)state;
    struct frame frame;
    struct replica replica;
    struct late_call call = { 0 };
    sem_init(&call.has_ended, 0, 0);
    open_both(&frame, &replica, 1);
    check_ok(braid_exec_launch(frame.exec, frame.stream));
    destroy_so_that_it_is_kept(&frame);
    replica_free(&replica);
    call.num_waits = standin_calls("cuStreamSynchronize");
    check_ok(braid_stream_host_call(replica.second, NULL, end_late, &call));
    check_ok(braid_device_close(replica.second));
    atomic_store(&call.is_closed, true);
    wait_for_gate(&call.has_ended);
    assert_false(atomic_load(&call.was_closed));
    replica.second = NULL;
    finish_both(&frame, &replica);
    sem_destroy(&call.has_ended);
}

// The second stays with all that it holds, and does not end in whatever frees the exec.
static void whose_second_device_does_not_answer(void **state)
{
    (void)state;
    struct frame frame;
    struct replica replica;
    struct late_call call = { .is_closed = true };
    sem_init(&call.has_ended, 0, 0);
    open_both(&frame, &replica, 1);
    check_ok(braid_exec_launch(frame.exec, frame.stream));
    destroy_so_that_it_is_kept(&frame);
    replica_free(&replica);
    check_ok(braid_stream_host_call(replica.second, NULL, end_late, &call));
    assert_true(standin_configure("BRAID_STANDIN_FAIL", "cuStreamSynchronize:1+=999"));
    check_fails(braid_device_close(replica.second), BRAID_DEVICE_ERROR, "is not closed but kept");
    assert_true(standin_configure("BRAID_STANDIN_FAIL", NULL));
    wait_for_gate(&call.has_ended);
    replica.second = NULL;
    frame_finish(&frame);
    assert_int_equal(standin_live("context"), 1);
    assert_true(standin_configure("BRAID_STANDIN_DEVICES", NULL));
    sem_destroy(&call.has_ended);
}

// An exec that is kept on the replica's device and uses the frame's.
static void keep_one_the_other_way(struct frame *frame, struct replica *replica)
{
    braid_device *const both[] = { replica->second, frame->device };
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS };
    braid_device *group = NULL;
    braid_graph *graph = NULL;
    check_ok(braid_device_open_group(both, 2, &group));
    check_ok(braid_graph_create(&graph));
    const braid_fill fill = { .to = replica->there, .value_bytes = 4, .num_values = 1 };
    check_ok(braid_graph_add_fill(graph, &fill, NULL));
    check_ok(braid_exec_create(group, graph, &options, &frame->exec));
    braid_graph_destroy(graph);
    check_ok(braid_exec_launch(frame->exec, NULL));
    destroy_so_that_it_is_kept(frame);
    braid_device_close(group);
}

// The first exec must not be told to be idle when the second one is made.
static void check_both_ways(bool second_first)
{
    struct frame frame;
    struct replica replica;
    sem_t gate;
    sem_init(&gate, 0, 0);
    open_both(&frame, &replica, 1);
    check_ok(braid_stream_host_call(frame.device, frame.stream, wait_for_gate, &gate));
    check_ok(braid_exec_launch(frame.exec, frame.stream));
    destroy_so_that_it_is_kept(&frame);
    keep_one_the_other_way(&frame, &replica);
    sem_post(&gate);
    replica_free(&replica);
    if (second_first) {
        check_ok(braid_device_close(replica.second));
        replica.second = NULL;
    }
    finish_both(&frame, &replica);
    sem_destroy(&gate);
}

static void while_another_is_kept_the_other_way(void **state)
{
    (void)state;
    check_both_ways(false);
    check_both_ways(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(that_uses_a_second_device),
        cmocka_unit_test(that_keeps_times),
        cmocka_unit_test(whose_second_device_is_closed_first),
        cmocka_unit_test(whose_second_device_is_gone_with_it),
        cmocka_unit_test(whose_second_device_still_works),
        cmocka_unit_test(while_another_is_kept_the_other_way),
        cmocka_unit_test(whose_second_device_does_not_answer), // and stays
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
