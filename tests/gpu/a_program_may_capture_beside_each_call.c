// SPDX-License-Identifier: Apache-2.0
// While the program captures a stream of its own, in any mode and on any thread, each public call
// does what it does otherwise, and the capture ends whole. A queue call sees the program's mode.
//
// usage: a_program_may_capture_beside_each_call cuda|hip streams|graph
// It needs only the public interface and the driver, and so it shows what a real driver does too.
// Calls that conflict with a capture in every mode are refused, or spoil it as an H200 says.
#include <stdio.h>
#include <string.h>

#include "gpu/beside_captures.h"
#include "support/left_out.h"

static const char *const mode_words[] = { "global", "thread-local", "relaxed" };

static int num_failed;

static void check(bool is_right, const char *call, const char *where, int mode, const char *what)
{
    if (is_right)
        return;
    printf("WRONG %s, while %s captures in %s mode: %s\n", call, where, mode_words[mode], what);
    num_failed++;
}

static bool open_to_capture(struct world *world, struct capture *capture, unsigned flags)
{
    braid_status status = open_world(world);
    if (!status)
        status = queue_work(world);
    if (status) {
        printf("WRONG without a capture: %s\n", braid_error_get_message());
        num_failed++;
        return false;
    }
    capture->words = world->words;
    if (!driver.make_current() && !driver.stream_create(&capture->stream, flags) &&
        !driver.stream_create(&world->theirs, NON_BLOCKING))
        return true;
    puts("WRONG without a capture: the driver makes no stream");
    num_failed++;
    return false;
}

static void finish_world(struct world *world)
{
    if (!close_world(world))
        return;
    printf("WRONG behind a capture: %s\n", braid_error_get_message());
    num_failed++;
}

static void try_call(const char *backend, braid_exec_mode exec_mode, const struct call *call,
                     bool apart, int mode)
{
    const char *where = apart ? "another thread" : "this thread";
    struct world world = { .backend = backend, .mode = exec_mode, .mode_inside = -1 };
    struct capture capture = { .mode = mode };
    char what[300];
    if (open_to_capture(&world, &capture, NON_BLOCKING)) {
        world.mode_inside = -1;
        begin_capture(&capture, apart);
        check(capture.begun == 0, call->name, where, mode, "the capture did not begin");
        braid_status status = call->make(&world);
        bool is_right = !status || (status == BRAID_NOT_READY && call->answer == EARLY);
        if (call->answer == CUDA_ONLY && strcmp(backend, "hip") == 0)
            is_right = status == BRAID_UNSUPPORTED;
        if (is_left_out(status)) {
            printf("not tried: %s\n", braid_error_get_message());
            is_right = true;
        }
        snprintf(what, sizeof(what), "it fails with %s", status ? braid_error_get_message() : "");
        check(is_right, call->name, where, mode, what);
        int now = get_mode();
        end_capture(&capture, apart);
        snprintf(what, sizeof(what), "the capture ends with %d", capture.ended);
        check(capture.ended == 0 && capture.has_graph, call->name, where, mode, what);
        check(now == GLOBAL, call->name, where, mode, "the thread is in another mode afterwards");
        check(world.mode_inside <= GLOBAL, call->name, where, mode,
              "a queue call saw another mode than the thread's");
    }
    finish_world(&world);
    driver.stream_destroy(capture.stream);
    driver.stream_destroy(world.theirs);
}

static void try_calls(const char *backend, braid_exec_mode exec_mode, const struct call *tried,
                      size_t num)
{
    for (size_t i = 0; i < num; i++) {
        for (int mode = GLOBAL; mode < NUM_MODES; mode++) {
            try_call(backend, exec_mode, &tried[i], true, mode);
            try_call(backend, exec_mode, &tried[i], false, mode);
        }
    }
}

// A queue call sees the mode that the program set, at a launch or while the exec is made.
static void check_queue_calls(const char *backend, braid_exec_mode exec_mode, int mode)
{
    struct world world = { .backend = backend, .mode = exec_mode, .mode_inside = -1 };
    int set = mode;
    if (open_world(&world) || driver.exchange(&set)) {
        printf("WRONG without a capture: %s\n", braid_error_get_message());
        num_failed++;
    } else {
        world.mode_inside = -1;
        braid_status status = make_and_destroy(&world);
        if (!status)
            status = launch(&world);
        if (status || world.mode_inside != mode || get_mode() != mode) {
            printf("WRONG a queue call of a thread in %s mode saw %d: %s\n", mode_words[mode],
                   world.mode_inside, status ? braid_error_get_message() : "");
            num_failed++;
        }
        driver.exchange(&set);
    }
    finish_world(&world);
}

// Calls that conflict with a capture whatever the mode is: these have the captured stream, an event
// recorded in it, or the default stream beside a captured stream that waits for it.

static braid_status wrap_captured(struct world *world)
{
    return braid_stream_wrap(world->device, world->capture, &world->wrapped);
}

static braid_status query_captured(struct world *world)
{
    braid_status status = wrap_captured(world);
    return status ? status : braid_stream_query(world->wrapped);
}

static braid_status synchronize_captured(struct world *world)
{
    braid_status status = wrap_captured(world);
    return status ? status : braid_stream_wait(world->wrapped);
}

static braid_status query_captured_event(struct world *world)
{
    braid_status status = wrap_captured(world);
    if (!status)
        status = braid_event_record(world->end, world->wrapped);
    return status ? status : braid_event_query(world->end);
}

static braid_status synchronize_captured_event(struct world *world)
{
    braid_status status = wrap_captured(world);
    if (!status)
        status = braid_event_record(world->end, world->wrapped);
    return status ? status : braid_event_wait(world->end);
}

static braid_status wait_into_capture(struct world *world)
{
    braid_status status = wrap_captured(world);
    return status ? status : braid_stream_follow(world->wrapped, world->end);
}

static braid_status launch_captured(struct world *world)
{
    braid_status status = wrap_captured(world);
    return status ? status : braid_exec_launch(world->exec, world->wrapped);
}

static braid_status fill_default(struct world *world)
{
    return braid_stream_fill(braid_device_get_default_stream(world->device), world->words, 0, 4, 1);
}

static braid_status query_default(struct world *world)
{
    return braid_stream_query(braid_device_get_default_stream(world->device));
}

static const struct {
    const char *name;
    make_call *make;
    unsigned flags;   // the captured stream's
    bool stays_whole; // the capture: Braid refuses the call, or adds a plan that is a graph
} conflicts[] = {
    { "query of the captured stream", query_captured, NON_BLOCKING, false },
    { "wait for the captured stream", synchronize_captured, NON_BLOCKING, false },
    { "query of an event recorded in it", query_captured_event, NON_BLOCKING, false },
    { "wait for an event recorded in it", synchronize_captured_event, NON_BLOCKING, false },
    { "its wait for an event outside", wait_into_capture, NON_BLOCKING, false },
    { "launch on it", launch_captured, NON_BLOCKING, true },
    { "fill on the default stream", fill_default, BLOCKING, false },
    { "launch on the default stream", launch_default, BLOCKING, true },
    { "query of the default stream", query_default, BLOCKING, false },
    { "wait for the default stream", synchronize_default, BLOCKING, false },
};

enum { SPOILT = 901 }; // the end of a capture that is no more

static void check_conflict(const char *backend, braid_exec_mode exec_mode, size_t index)
{
    struct world world = { .backend = backend, .mode = exec_mode };
    struct capture capture = { .mode = RELAXED };
    if (open_to_capture(&world, &capture, conflicts[index].flags)) {
        world.capture = capture.stream;
        begin_capture(&capture, false);
        check(capture.begun == 0, conflicts[index].name, "this thread", RELAXED,
              "the capture did not begin");
        braid_status status = conflicts[index].make(&world);
        printf("conflict: %s: %s, and the capture ends with", conflicts[index].name,
               status ? braid_error_get_message() : "BRAID_OK");
        end_capture(&capture, false);
        printf(" %d\n", capture.ended);
        bool takes = conflicts[index].make == launch_captured && exec_mode == BRAID_MODE_GRAPH;
        bool is_right = conflicts[index].stays_whole
                            ? status == (takes ? BRAID_OK : BRAID_UNSUPPORTED) && capture.ended == 0
                            : status == BRAID_DEVICE_ERROR && capture.ended == SPOILT;
        check(is_right, conflicts[index].name, "this thread", RELAXED,
              conflicts[index].stays_whole ? "it is not as it should be, or the capture is spoilt"
                                           : "it is not an error, or the capture stays whole");
    }
    finish_world(&world);
    driver.stream_destroy(capture.stream);
    driver.stream_destroy(world.theirs);
}

int main(int argc, char **argv)
{
    const char *backend = argc > 1 ? argv[1] : "cuda";
    bool streams = argc > 2 && strcmp(argv[2], "streams") == 0;
    braid_exec_mode mode = streams ? BRAID_MODE_STREAMS : BRAID_MODE_GRAPH;
    braid_device *device = NULL;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (braid_device_open(&(braid_device_options){ .backend = backend }, &device)) {
        printf("no device: %s\n", braid_error_get_message());
        return 77;
    }
    find_driver(strcmp(backend, "hip") == 0);
    try_calls(backend, mode, calls, num_calls);
    try_calls(backend, mode, calls_of_execs, num_calls_of_execs);
    try_calls(backend, mode, calls_of_others, num_calls_of_others);
    for (int set = GLOBAL; set < NUM_MODES; set++)
        check_queue_calls(backend, mode, set);
    for (size_t i = 0; i < sizeof(conflicts) / sizeof(conflicts[0]); i++)
        check_conflict(backend, mode, i);
    if (braid_device_close(device))
        num_failed++;
    printf("%zu calls, each beside 6 captures: %d wrong\n",
           num_calls + num_calls_of_execs + num_calls_of_others, num_failed);
    return num_failed > 0;
}
