// SPDX-License-Identifier: Apache-2.0
// As many streams run at once as there are workers, whatever else goes on; each one in order.
#include <time.h>

#include "backends/cpu/cpu.h"
#include "cpu/cpu_testing.h"
#include "support/check.h"
#include "support/hand_program.h"

enum { MANY = 4 };

// Work that ends only when `wanted` of its kind run at once.
struct meeting {
    atomic_uint arrived;
    unsigned wanted;
    atomic_bool failed;
};

static void meet(void *user)
{
    struct meeting *meeting = user;
    atomic_fetch_add(&meeting->arrived, 1);
    if (!reaches(&meeting->arrived, meeting->wanted))
        atomic_store(&meeting->failed, true);
}

static void as_many_heads_as_workers_run_at_once(void **state)
{
    (void)state;
    struct backend *backend = open_cpu(MANY);
    struct backend_stream *streams[MANY];
    struct meeting meeting = { .wanted = MANY };
    for (int i = 0; i < MANY; i++) {
        streams[i] = new_stream(backend);
        queue_host(backend, streams[i], meet, &meeting);
    }
    for (int i = 0; i < MANY; i++)
        backend->ops->stream_destroy(backend, streams[i]);
    assert_false(atomic_load(&meeting.failed));
    close_cpu(backend);
}

// A spare one for each that may be held up with another's grid, as device.h says.
static void a_device_has_twice_as_many_threads_less_one(void **state)
{
    (void)state;
    for (uint32_t num_workers = 1; num_workers <= MANY; num_workers++) {
        struct backend *backend = open_cpu(num_workers);
        assert_int_equal(cpu_backend_of(backend)->num_threads, 2 * num_workers - 1);
        close_cpu(backend);
    }
}

static void more_than_1024_workers_are_refused(void **state)
{
    (void)state;
    static const uint32_t too_many[] = { 1025, UINT32_MAX };
    for (int i = 0; i < 2; i++) {
        const braid_device_options options = { .backend = "cpu", .num_workers = too_many[i] };
        braid_device *device = NULL;
        check_fails(braid_device_open(&options, &device), BRAID_INVALID_ARGUMENT,
                    "more than the 1024 allowed");
        assert_null(device);
    }
}

static void waiting_streams_hold_no_worker(void **state)
{
    (void)state;
    struct backend *backend = open_cpu(1);
    struct backend_stream *waiting[MANY], *last = new_stream(backend);
    struct backend_event *event = new_event(backend);
    struct gate gate = { 0 };
    queue_host(backend, last, gate_pass, &gate);
    check_ok(backend->ops->event_record(backend, event, last));
    for (int i = 0; i < MANY; i++) {
        waiting[i] = new_stream(backend);
        check_ok(backend->ops->stream_wait(backend, waiting[i], event));
        queue_host(backend, waiting[i], gate_pass, &gate);
    }
    gate_open(&gate);
    for (int i = 0; i < MANY; i++)
        backend->ops->stream_destroy(backend, waiting[i]);
    backend->ops->stream_destroy(backend, last);
    backend->ops->event_destroy(backend, event);
    assert_false(atomic_load(&gate.gave_way));
    close_cpu(backend);
}

struct crowd {
    struct gate gate;
    atomic_uint num_inside; // threads in the grid that wait at the gate
};

// The first blocks only tell how long blocks are; all others wait for the other stream.
static void wide_kernel(const braid_blocks *blocks, void *const *args)
{
    struct crowd *crowd = *(struct crowd **)args[0];
    if (blocks->begin == 0) {
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        return;
    }
    atomic_fetch_add(&crowd->num_inside, 1);
    gate_pass(&crowd->gate);
}

// Gives both workers time to get stuck in the grid. One of them may have looked busy when the grid
// was split; then one is stuck, and the rest of the test shows less but still holds.
static void wait_until_crowded(struct crowd *crowd)
{
    for (int i = 0; i < 100 && atomic_load(&crowd->num_inside) < 2; i++)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void a_grid_spread_over_all_workers_does_not_stop_another_stream(void **state)
{
    (void)state;
    struct backend *backend = open_cpu(2);
    struct backend_stream *a = new_stream(backend), *b = new_stream(backend);
    struct backend_kernel *wide = load_kernel(backend, "wide", wide_kernel);
    for (int i = 0; i < 20; i++) {
        struct crowd crowd = { 0 };
        queue_kernel(backend, a, wide, 64, &crowd);
        wait_until_crowded(&crowd);
        queue_host(backend, b, gate_open, &crowd.gate);
        synchronize(backend, b);
        synchronize(backend, a);
        assert_false(atomic_load(&crowd.gate.gave_way));
    }
    backend->ops->kernel_unload(backend, wide);
    backend->ops->stream_destroy(backend, a);
    backend->ops->stream_destroy(backend, b);
    close_cpu(backend);
}

struct repeating {
    struct backend *backend;
    struct backend_stream *stream;
    atomic_bool stop;
};

// Keeps its stream's queue from ever becoming empty.
static void repeat(void *user)
{
    struct repeating *repeating = user;
    if (!atomic_load(&repeating->stop))
        queue_host(repeating->backend, repeating->stream, repeat, repeating);
}

static void an_endless_queue_does_not_stop_the_others(void **state)
{
    (void)state;
    struct backend *backend = open_cpu(1);
    struct repeating repeating = { .backend = backend, .stream = new_stream(backend) };
    struct gate gate = { 0 };
    queue_host(backend, repeating.stream, repeat, &repeating);
    struct backend_stream *other = new_stream(backend);
    queue_host(backend, other, gate_open, &gate);
    gate_pass(&gate);
    atomic_store(&repeating.stop, true);
    assert_false(atomic_load(&gate.gave_way));
    backend->ops->stream_destroy(backend, other);
    backend->ops->stream_destroy(backend, repeating.stream);
    close_cpu(backend);
}

struct relaunching {
    struct hand_program *program;
    struct backend_stream *stream;
    atomic_bool stop;
    atomic_uint num_failed;
};

static void relaunch(void *user)
{
    struct relaunching *relaunching = user;
    if (!atomic_load(&relaunching->stop) &&
        hand_program_launch(relaunching->program, relaunching->stream) != BRAID_OK)
        atomic_fetch_add(&relaunching->num_failed, 1);
}

static struct hand_program *create_relaunching(struct backend *backend, struct relaunching *user)
{
    const struct backend_task task = { .kind = WORK_HOST,
                                       .name = "relaunch",
                                       .host = { .call = relaunch, .user = user } };
    const struct hand_step step = { .kind = BRAID_STEP_RUN };
    const struct hand_lane lane = { .steps = &step, .num_steps = 1 };
    const struct hand_plan plan = {
        .lanes = &lane, .num_lanes = 1, .tasks = &task, .num_tasks = 1
    };
    struct hand_program *program = NULL;
    check_ok(hand_program_create(backend, &braid_walker_player, &plan, &program));
    return program;
}

// Each frame launches the next, so its stream is never through with its queue either.
static void an_endless_queue_of_launches_does_not_stop_the_others(void **state)
{
    (void)state;
    struct backend *backend = open_cpu(1);
    struct relaunching relaunching = { .stream = new_stream(backend) };
    struct gate gate = { 0 };
    relaunching.program = create_relaunching(backend, &relaunching);
    check_ok(hand_program_launch(relaunching.program, relaunching.stream));
    struct backend_stream *other = new_stream(backend);
    queue_host(backend, other, gate_open, &gate);
    gate_pass(&gate);
    atomic_store(&relaunching.stop, true);
    backend->ops->stream_destroy(backend, other);
    backend->ops->stream_destroy(backend, relaunching.stream);
    assert_int_equal(atomic_load(&relaunching.num_failed), 0);
    hand_program_destroy(relaunching.program);
    close_cpu(backend);
    assert_false(atomic_load(&gate.gave_way));
}

static unsigned order[2], num_done;

static void note_urgent(void *user)
{
    (void)user;
    order[num_done++] = 1;
}

static void note_patient(void *user)
{
    (void)user;
    order[num_done++] = 2;
}

static void of_two_ready_streams_the_urgent_one_goes_first(void **state)
{
    (void)state;
    struct backend *backend = open_cpu(1);
    struct backend_stream *urgent = NULL, *patient = NULL;
    check_ok(backend->ops->stream_create(backend, -1, &urgent));
    check_ok(backend->ops->stream_create(backend, 1, &patient));
    struct gate gate = { 0 };
    num_done = 0;
    queue_host(backend, NULL, gate_pass, &gate); // holds the only worker while both queue up
    queue_host(backend, patient, note_patient, NULL);
    queue_host(backend, urgent, note_urgent, NULL);
    gate_open(&gate);
    backend->ops->stream_destroy(backend, patient);
    backend->ops->stream_destroy(backend, urgent);
    assert_int_equal(num_done, 2);
    assert_int_equal(order[0], 1);
    close_cpu(backend);
}

static void closing_waits_for_the_default_stream(void **state)
{
    (void)state;
    struct backend *backend = open_cpu(0);
    struct gate gate = { 0 }, done = { 0 };
    queue_host(backend, NULL, gate_pass, &gate);
    queue_host(backend, NULL, gate_open, &done);
    struct backend_stream *other = new_stream(backend);
    queue_host(backend, other, gate_open, &gate);
    backend->ops->stream_destroy(backend, other);
    close_cpu(backend);
    assert_true(atomic_load(&done.open));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_heads_as_workers_run_at_once),
        cmocka_unit_test(a_device_has_twice_as_many_threads_less_one),
        cmocka_unit_test(more_than_1024_workers_are_refused),
        cmocka_unit_test(waiting_streams_hold_no_worker),
        cmocka_unit_test(a_grid_spread_over_all_workers_does_not_stop_another_stream),
        cmocka_unit_test(an_endless_queue_does_not_stop_the_others),
        cmocka_unit_test(an_endless_queue_of_launches_does_not_stop_the_others),
        cmocka_unit_test(of_two_ready_streams_the_urgent_one_goes_first),
        cmocka_unit_test(closing_waits_for_the_default_stream),
    };
    return cmocka_run_group_tests_name("cpu: streams run at once", tests, NULL, NULL);
}
