// SPDX-License-Identifier: Apache-2.0
// A launch that fails and waits for what it has queued lets other threads use the exec meanwhile:
// the frame may wait for one of them. A change waits for no frame at all, but asks whether they
// have ended.
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "gpu/gpu_testing.h"
#include "support/asker.h"
#include "support/check.h"

// A frame that waits for a thread which, once its launch has failed, asks the exec and changes it.
struct asked {
    struct frame frame;
    braid_node node;
    struct asker asker;
    sem_t may_end; // what the frame waits for
};

static void wait_for_end(void *user)
{
    struct asked *asked = user;
    while (sem_wait(&asked->may_end))
        continue;
}

static void ask_and_end(void *user)
{
    struct asked *asked = user;
    assert_true(braid_exec_get_num_launched(asked->frame.exec) <= 2);
    assert_int_equal(braid_exec_wait_for(asked->frame.exec, BRAID_LAST_FRAME, 0), BRAID_NOT_READY);
    check_ok(
        braid_exec_set(asked->frame.exec, asked->node, BRAID_TARGET_USER, 0, &(void *){ asked }));
    sem_post(&asked->may_end);
    sem_post(&asked->may_end);
}

static void open_device(struct asked *asked)
{
    *asked = (struct asked){ 0 };
    reset_standin();
    check_ok(frame_open(&asked->frame, "cuda"));
}

static void finish_all(struct asked *asked)
{
    braid_exec_destroy(asked->frame.exec);
    asked->frame.exec = NULL;
    frame_finish(&asked->frame);
    sem_destroy(&asked->may_end);
    check_nothing_is_left();
}

static void finish(struct asked *asked)
{
    asker_finish(&asked->asker);
    finish_all(asked);
}

static void create_asked(struct asked *asked, braid_exec_mode mode, uint32_t num_frames,
                         uint32_t num_lanes)
{
    const braid_host_call call = { .call = wait_for_end, .user = asked };
    const braid_fill beside = {
        .node.cost_ns = 1000000, .to = asked->frame.words, .value_bytes = 4, .num_values = 1
    };
    const braid_exec_options options = {
        .mode = mode,
        .max_lanes = num_lanes,
        .fixed_lanes = true,
        .frames_in_flight = num_frames,
        .on_frame_end = asker_count_end,
        .on_frame_end_user = &asked->asker,
    };
    asker_init(&asked->asker);
    sem_init(&asked->may_end, 0, 0);
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_host_call(graph, &call, &asked->node));
    for (uint32_t i = 1; i < num_lanes; i++)
        check_ok(braid_graph_add_fill(graph, &beside, NULL));
    check_ok(braid_exec_create(asked->frame.device, graph, &options, &asked->frame.exec));
    asked->asker.exec = asked->frame.exec;
}

// Whichever call of the second launch fails.
static bool check_asked(braid_exec_mode mode, uint32_t num_frames, int k)
{
    struct asked asked;
    open_device(&asked);
    create_asked(&asked, mode, num_frames, 2);
    check_ok(braid_exec_launch(asked.frame.exec, asked.frame.stream));
    asker_start(&asked.asker, ask_and_end, &asked);
    long waits = standin_calls("cuStreamSynchronize");
    fail_calls("*:%d=999", k);
    braid_status status = braid_exec_launch(asked.frame.exec, asked.frame.stream);
    fail_calls(NULL);
    bool has_waited = standin_calls("cuStreamSynchronize") > waits;
    asker_join(&asked.asker, status);
    finish(&asked);
    return has_waited;
}

static void a_frame_that_its_launch_waits_for_may_wait_for_who_uses_the_exec(void **state)
{
    enum { MOST_CALLS = 40 }; // in a launch
    (void)state;
    for (uint32_t num_frames = 1; num_frames <= 2; num_frames++) {
        int num_waits[2] = { 0 };
        for (int k = 1; k <= MOST_CALLS; k++) {
            num_waits[0] += check_asked(BRAID_MODE_STREAMS, num_frames, k);
            num_waits[1] += check_asked(BRAID_MODE_GRAPH, num_frames, k);
        }
        assert_true(num_waits[0] > 0 && num_waits[1] > 0);
    }
}

// If that wait fails too, the device has failed, and nobody is told of the frame.
static void check_failed(braid_exec_mode mode, uint32_t num_frames, uint32_t num_lanes,
                         const char *rules)
{
    struct asked asked;
    open_device(&asked);
    create_asked(&asked, mode, num_frames, num_lanes);
    for (int i = 0; i < 2; i++)
        sem_post(&asked.may_end);
    check_ok(braid_exec_launch(asked.frame.exec, asked.frame.stream));
    check_ok(braid_exec_wait(asked.frame.exec));
    fail_calls(rules);
    check_fails(braid_exec_launch(asked.frame.exec, asked.frame.stream), BRAID_DEVICE_ERROR,
                "the frame's callback could not be queued");
    fail_calls(NULL);
    check_fails(braid_exec_wait(asked.frame.exec), BRAID_DEVICE_ERROR, "neither recorded nor");
    check_fails(braid_exec_launch(asked.frame.exec, asked.frame.stream), BRAID_DEVICE_ERROR,
                "neither recorded nor");
    assert_int_equal(asked.asker.num_ended, 1);
    sem_destroy(&asked.asker.has_failed);
    finish_all(&asked);
}

static void a_frame_that_cannot_be_awaited_fails_its_device(void **state)
{
    (void)state;
    const braid_exec_mode graph = BRAID_MODE_GRAPH;
    check_failed(graph, 1, 2, "cuLaunchHostFunc:1=999,cuEventSynchronize:1=999");
    check_failed(graph, 1, 2, "cuLaunchHostFunc:1=999,cuStreamSynchronize:1=999");
    check_failed(graph, 2, 2, "cuLaunchHostFunc:1=999,cuStreamSynchronize:1=999");
    check_failed(graph, 2, 2, "cuLaunchHostFunc:1=999,cuStreamSynchronize:2=999"); // a queue's fail
    // The first host call is the graph's. The second wait is that for the other lane.
    check_failed(BRAID_MODE_STREAMS, 1, 2, "cuLaunchHostFunc:2=999,cuStreamSynchronize:2=999");
    // All lanes are waited for, and the first failure is told.
    check_failed(BRAID_MODE_STREAMS, 1, 3, "cuLaunchHostFunc:2=999,cuStreamSynchronize:2+=999");
}

enum { NUM_KEPT = 6 };

// Frames that each wait for a word from the test, and then copy one to memory of the program's own:
// each to another. What the copy takes there is kept until the frame has ended.
struct kept {
    struct frame frame;
    braid_node copy;
    sem_t may_end;
    uint32_t to[NUM_KEPT];
    long num_records; // one launch's
};

static void wait_for_word(void *user)
{
    struct kept *kept = user;
    while (sem_wait(&kept->may_end))
        continue;
}

static void launch_kept(struct kept *kept)
{
    check_ok(braid_exec_launch(kept->frame.exec, kept->frame.stream));
}

static void open_kept(struct kept *kept)
{
    braid_node call;
    *kept = (struct kept){ 0 };
    struct frame *frame = &kept->frame;
    reset_standin();
    check_ok(frame_open(frame, "cuda"));
    check_ok(braid_stream_fill(frame->stream, frame->words, 7, 4, 1));
    sem_init(&kept->may_end, 0, 0);
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_host_call(
        graph, &(braid_host_call){ .call = wait_for_word, .user = kept }, &call));
    check_ok(braid_graph_add_copy(
        graph,
        &(braid_copy){ BRAID_AFTER(call), .to = &kept->to[0], .from = frame->words, .bytes = 4 },
        &kept->copy));
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS };
    check_ok(braid_exec_create(frame->device, graph, &options, &frame->exec));
    long before = standin_calls("cuEventRecord");
    launch_kept(kept);
    kept->num_records = standin_calls("cuEventRecord") - before;
}

static braid_status set_kept(struct kept *kept, int to)
{
    return braid_exec_set(kept->frame.exec, kept->copy, BRAID_TARGET_COPY, 0,
                          &(braid_copy_values){ &kept->to[to], NULL, 0 });
}

static void finish_kept(struct kept *kept)
{
    check_ok(braid_exec_wait(kept->frame.exec));
    frame_finish(&kept->frame);
    sem_destroy(&kept->may_end);
    check_nothing_is_left();
}

// A call of one change fails, with that change or without; and then none is left in flight.
static bool check_kept(int changed, int nth)
{
    struct kept kept;
    bool failed = false;
    open_kept(&kept);
    for (int i = 1; i < NUM_KEPT; i++) {
        long before = standin_calls("*");
        fail_calls(i == changed ? "*:%d=999" : NULL, nth);
        braid_status status = set_kept(&kept, i);
        fail_calls(NULL);
        failed = failed || (i == changed && standin_calls("*") - before >= nth);
        if (status)
            check_ok(set_kept(&kept, i));
        launch_kept(&kept);
    }
    for (int i = 0; i < NUM_KEPT; i++)
        sem_post(&kept.may_end);
    check_ok(braid_exec_wait(kept.frame.exec));
    for (int i = 0; i < NUM_KEPT; i++)
        assert_int_equal(kept.to[i], 7);
    finish_kept(&kept);
    return failed;
}

static void whether_what_is_kept_is_still_used(void **state)
{
    (void)state;
    for (int changed = 1; changed < NUM_KEPT; changed++) {
        for (int nth = 1; check_kept(changed, nth); nth++)
            continue;
    }
}

static char logged[1024];

static void take_log(braid_status status, const char *message, void *user)
{
    (void)user, (void)status;
    strncat(logged, message, sizeof(logged) - strlen(logged) - 1);
}

// Whether the launch makes that record. It lacks nothing without, and waits for nothing.
static bool fails_to_record(struct kept *kept, const char *rule)
{
    long records = standin_calls("cuEventRecord"), waits = standin_calls("cuStreamSynchronize");
    logged[0] = '\0';
    braid_log_set(take_log, NULL);
    fail_calls(rule);
    launch_kept(kept);
    fail_calls(NULL);
    braid_log_set(NULL, NULL);
    bool failed = standin_calls("cuEventRecord") - records > kept->num_records;
    assert_int_equal(failed, strstr(logged, "cuEventRecord") != NULL);
    assert_int_equal(standin_calls("cuStreamSynchronize"), waits);
    return failed;
}

// No change fails for want of the event that would tell later that some have ended.
static void even_without_an_event_for_that(void **state)
{
    (void)state;
    int num_failed = 0;
    struct kept kept;
    open_kept(&kept);
    for (int i = 1; i < NUM_KEPT; i++) {
        logged[0] = '\0';
        braid_log_set(take_log, NULL);
        long before = standin_calls("cuEventCreate");
        fail_calls(i < NUM_KEPT - 1 ? "cuEventCreate:1=999" : NULL);
        check_ok(set_kept(&kept, i));
        launch_kept(&kept); // which takes the change, and makes the event
        fail_calls(NULL);
        braid_log_set(NULL, NULL);
        bool failed = i < NUM_KEPT - 1 && standin_calls("cuEventCreate") > before;
        assert_int_equal(failed, strstr(logged, "cuEventCreate") != NULL);
        num_failed += failed;
    }
    assert_true(num_failed > 1);
    for (int i = 0; i < NUM_KEPT; i++)
        sem_post(&kept.may_end);
    check_ok(braid_exec_wait(kept.frame.exec));
    for (int i = 0; i < NUM_KEPT; i++)
        assert_int_equal(kept.to[i], 7);
    finish_kept(&kept);
}

static void let_all_end(struct kept *kept)
{
    for (int i = 0; i < NUM_KEPT; i++)
        sem_post(&kept->may_end);
}

// If frames may end before the failing launch, the launch may need no record any more.
static bool check_failed_record(int failing, bool may_end_before)
{
    bool has_failed = false;
    struct kept kept;
    char rule[64];
    open_kept(&kept);
    snprintf(rule, sizeof(rule), "cuEventRecord:%ld=999", kept.num_records + 1);
    for (int i = 1; i < NUM_KEPT; i++) {
        check_ok(set_kept(&kept, i));
        if (i == failing && may_end_before)
            let_all_end(&kept);
        if (i == failing)
            has_failed = fails_to_record(&kept, rule);
        else
            launch_kept(&kept);
    }
    if (!may_end_before)
        let_all_end(&kept);
    check_ok(braid_exec_wait(kept.frame.exec));
    for (int i = 0; i < NUM_KEPT; i++)
        assert_int_equal(kept.to[i], 7);
    finish_kept(&kept);
    return has_failed;
}

// The record that would tell later that some have ended fails.
static void which_frames_have_ended(void **state)
{
    (void)state;
    int num_failed = 0;
    for (int failing = 1; failing < NUM_KEPT; failing++) {
        num_failed += check_failed_record(failing, false);
        check_failed_record(failing, true);
    }
    assert_true(num_failed > 0);
}

// One frame is in flight all the time, and what those before it had is freed all the same.
static void frames_always_in_flight_keep_little(void **state)
{
    (void)state;
    enum { NUM_FRAMES = 200, MOST_KEPT = 8 };
    struct kept kept;
    braid_event *ends[2];
    open_kept(&kept);
    long before = standin_live("memory");
    for (int i = 0; i < 2; i++)
        check_ok(braid_event_create(kept.frame.device, NULL, &ends[i]));
    check_ok(braid_event_record(ends[0], kept.frame.stream));
    for (int i = 1; i < NUM_FRAMES; i++) {
        check_ok(set_kept(&kept, i % NUM_KEPT));
        launch_kept(&kept);
        check_ok(braid_event_record(ends[i % 2], kept.frame.stream));
        kept.to[(i - 1) % NUM_KEPT] = 0;
        sem_post(&kept.may_end);
        check_ok(braid_event_wait(ends[(i - 1) % 2]));
        assert_int_equal(kept.to[(i - 1) % NUM_KEPT], 7);
        assert_int_equal(braid_exec_wait_for(kept.frame.exec, BRAID_LAST_FRAME, 0),
                         BRAID_NOT_READY);
        assert_true(standin_live("memory") - before <= MOST_KEPT);
    }
    sem_post(&kept.may_end);
    for (int i = 0; i < 2; i++)
        braid_event_destroy(ends[i]);
    finish_kept(&kept);
}

// What no launch has seen is freed at once.
static void changes_between_two_launches_keep_nothing(void **state)
{
    (void)state;
    enum { NUM_CHANGES = 200, MOST_KEPT = 2 };
    struct kept kept;
    open_kept(&kept);
    long before = standin_live("memory");
    for (int i = 1; i < NUM_CHANGES; i++)
        check_ok(set_kept(&kept, i % (NUM_KEPT - 1) + 1));
    assert_true(standin_live("memory") - before <= MOST_KEPT);
    launch_kept(&kept);
    for (int i = 0; i < 2; i++)
        sem_post(&kept.may_end);
    check_ok(braid_exec_wait(kept.frame.exec));
    assert_int_equal(kept.to[0], 7);
    assert_int_equal(kept.to[(NUM_CHANGES - 1) % (NUM_KEPT - 1) + 1], 7);
    finish_kept(&kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(a_frame_that_its_launch_waits_for_may_wait_for_who_uses_the_exec),
        standin_test(a_frame_that_cannot_be_awaited_fails_its_device),
        standin_test(whether_what_is_kept_is_still_used),
        standin_test(even_without_an_event_for_that),
        standin_test(which_frames_have_ended),
        standin_test(frames_always_in_flight_keep_little),
        standin_test(changes_between_two_launches_keep_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
