// SPDX-License-Identifier: Apache-2.0
// A thread that passes jobs on behind a call that blocked gives a long queue back to the workers:
// what else it made ready, and the call that it is to make next, do not wait until it is through.
#include <sched.h>

#include "backends/cpu/cpu.h"
#include "cpu/cpu_testing.h"
#include "support/check.h"

enum { MANY = 64 }; // commands, more than a stream's turn has

// A launch whose beginning waits for what the other stream runs.
struct held_play {
    struct cpu_play play;
    struct gate gate;
};

static struct cpu_job *begin_when_open(struct cpu_backend *backend, struct cpu_play *play,
                                       struct cpu_patch *patch, struct cpu_job *then)
{
    (void)backend, (void)patch, (void)then;
    gate_pass(&((struct held_play *)(void *)play)->gate);
    return NULL;
}

static void queue_call_that_blocks(struct backend *backend, struct backend_stream *stream,
                                   braid_host_function *call, struct gate *gate)
{
    const struct backend_task task = {
        .kind = WORK_HOST,
        .name = "call",
        .host = { .call = call, .user = gate, .is_blocking = true },
    };
    check_ok(backend->ops->submit(backend, stream, &task));
}

static struct cpu_command *reserve(struct cpu_backend *backend, struct cpu_stream *stream,
                                   size_t bytes)
{
    cpu_issue_lock(backend);
    struct cpu_command *command = braid_cpu_command_reserve(backend, stream, bytes);
    assert_non_null(command);
    return command;
}

// With a reference to it that is the caller's.
static struct cpu_point *queue_record(struct cpu_backend *backend, struct cpu_stream *stream)
{
    struct cpu_command *command = reserve(backend, stream, CPU_COMMAND_BYTES(point));
    struct cpu_point *point = braid_cpu_point_create(backend, false);
    assert_non_null(point);
    braid_cpu_point_add_reference(point);
    braid_cpu_stream_append_record(backend, stream, command, point);
    cpu_issue_unlock(backend);
    return point;
}

static void queue_wait(struct cpu_backend *backend, struct cpu_stream *stream,
                       struct cpu_point *point)
{
    struct cpu_command *command = reserve(backend, stream, CPU_COMMAND_BYTES(point));
    command->kind = CPU_COMMAND_WAIT;
    command->point = point;
    braid_cpu_point_add_reference(point);
    braid_cpu_stream_append(backend, stream, command);
    cpu_issue_unlock(backend);
}

static void queue_launch(struct cpu_backend *backend, struct cpu_stream *stream,
                         struct cpu_play *play)
{
    struct cpu_command *command = reserve(backend, stream, CPU_COMMAND_BYTES(launch));
    struct cpu_point *end = braid_cpu_point_create(backend, false);
    assert_non_null(end);
    end->stream = &stream->job;
    command->kind = CPU_COMMAND_LAUNCH;
    command->launch = (struct cpu_launch){ .end = end, .play = play };
    braid_cpu_stream_append(backend, stream, command);
    cpu_issue_unlock(backend);
}

static void a_long_queue_is_given_back_to_the_workers(void **state)
{
    (void)state;
    struct backend *base = open_cpu(2);
    struct cpu_backend *backend = cpu_backend_of(base);
    struct backend_stream *a = new_stream(base), *b = new_stream(base);
    struct cpu_stream *of_a = braid_cpu_stream_of(backend, a);
    struct gate call = { 0 };
    struct held_play held = { .play.start = begin_when_open };
    queue_call_that_blocks(base, a, gate_pass, &call);
    struct cpu_point *behind_call = queue_record(backend, of_a);
    for (int i = 0; i < MANY; i++)
        braid_cpu_point_release(backend, queue_record(backend, of_a));
    queue_launch(backend, of_a, &held.play);
    queue_wait(backend, braid_cpu_stream_of(backend, b), behind_call);
    queue_call_that_blocks(base, b, gate_open, &held.gate);
    while (atomic_load(&behind_call->state) != CPU_POINT_WATCHED)
        sched_yield(); // from here on b is made ready by the thread that makes the call
    gate_open(&call);
    synchronize(base, a);
    base->ops->stream_destroy(base, a);
    base->ops->stream_destroy(base, b);
    braid_cpu_point_release(backend, behind_call);
    close_cpu(base);
    assert_false(atomic_load(&held.gate.gave_way));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_queue_is_given_back_to_the_workers),
    };
    return cmocka_run_group_tests_name("cpu: passing threads keep no job waiting", tests, NULL,
                                       NULL);
}
