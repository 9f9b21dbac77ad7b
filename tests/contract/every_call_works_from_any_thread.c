// SPDX-License-Identifier: Apache-2.0
// Every entry point works from any thread, several execs run at once, and errors are a thread's
// own.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "contract/groups.h"
#include "contract/nodes.h"
#include "support/clock.h"

enum { linger_ns = 20000000 };

// Threads report by a line and a status; assertions belong to the main thread.
struct report {
    braid_status status;
    int line;
};

// Macro for the line. Ends the function with the first failure.
#define TRY(call)                                                                                  \
    do {                                                                                           \
        braid_status status_ = (call);                                                             \
        if (status_)                                                                               \
            return (struct report){ status_, __LINE__ };                                           \
    } while (0)

#define EXPECT(fact)                                                                               \
    do {                                                                                           \
        if (!(fact))                                                                               \
            return (struct report){ BRAID_INTERNAL, __LINE__ };                                    \
    } while (0)

struct job {
    pthread_t thread;
    struct report (*run)(struct job *job);
    struct report report;
    struct contract *contract;
    braid_exec *exec;
    braid_stream *stream;
    braid_node node;
    uint32_t *data;
    uint32_t index;
};

static void *start(void *user)
{
    struct job *job = user;
    job->report = job->run(job);
    return NULL;
}

static void run_jobs(struct job *jobs, uint32_t num)
{
    for (uint32_t i = 0; i < num; i++)
        assert_int_equal(pthread_create(&jobs[i].thread, NULL, start, &jobs[i]), 0);
    for (uint32_t i = 0; i < num; i++)
        pthread_join(jobs[i].thread, NULL);
    for (uint32_t i = 0; i < num; i++) {
        if (jobs[i].report.status)
            print_error("job %u: %s at line %d\n", i, braid_status_get_name(jobs[i].report.status),
                        jobs[i].report.line);
        assert_int_equal(jobs[i].report.status, BRAID_OK);
    }
}

static struct report use_graph(struct job *job, braid_device *device, braid_stream *stream,
                               uint32_t *data)
{
    uint32_t one = 1;
    braid_graph *graph;
    TRY(braid_graph_create(&graph));
    braid_kernel_node launch = { .kernel = &test_axpy,
                                 BRAID_ARGS(BRAID_ARG(data), BRAID_ARG(data), BRAID_ARG(one),
                                            BRAID_ARG(one), BRAID_ARG(one)) };
    braid_node node;
    TRY(braid_graph_add_kernel(graph, &launch, &node));
    braid_exec_options options = { .mode = job->contract->mode };
    braid_exec *exec;
    TRY(braid_exec_create(device, graph, &options, &exec));
    braid_graph_destroy(graph);
    for (uint32_t frame = 0; frame < 10; frame++) {
        TRY(braid_exec_set_arg(exec, node, 3, BRAID_ARG(frame)));
        TRY(braid_exec_launch(exec, stream));
    }
    TRY(braid_exec_wait(exec));
    TRY(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 0));
    braid_exec_destroy(exec);
    return (struct report){ BRAID_OK, 0 };
}

static struct report use_stream(braid_device *device, braid_stream *stream, uint32_t *data,
                                uint32_t *host)
{
    braid_event *event;
    TRY(braid_event_create(device, NULL, &event));
    TRY(braid_stream_copy(stream, host, data, 4));
    TRY(braid_event_record(event, stream));
    TRY(braid_stream_follow(NULL, event));
    TRY(braid_event_wait(event));
    TRY(braid_event_query(event));
    TRY(braid_stream_wait(braid_device_get_default_stream(device)));
    TRY(braid_stream_query(stream));
    braid_event_destroy(event);
    EXPECT(*host == 45);
    return (struct report){ BRAID_OK, 0 };
}

static struct report use_everything(struct job *job)
{
    EXPECT(strcmp(braid_error_get_message(), "") == 0); // nothing has failed on this thread
    braid_device *device;
    braid_stream *stream;
    void *data, *host;
    TRY(contract_open_device(&device));
    TRY(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, 4, &data));
    TRY(braid_memory_allocate(device, BRAID_MEMORY_HOST, 4, &host));
    TRY(braid_stream_create(device, NULL, &stream));
    TRY(braid_stream_fill(stream, data, 0, 4, 1));
    struct report report = use_graph(job, device, stream, data);
    if (!report.status)
        report = use_stream(device, stream, data, host);
    braid_stream_destroy(stream);
    braid_memory_free(device, host);
    braid_memory_free(device, data);
    braid_device_close(device);
    return report;
}

static void the_whole_interface_works_on_a_fresh_thread(void **state)
{
    struct job job = { .run = use_everything, .contract = *state };
    run_jobs(&job, 1);
}

static void the_whole_interface_works_on_several_threads_at_once(void **state)
{
    struct job jobs[3];
    for (uint32_t i = 0; i < 3; i++)
        jobs[i] = (struct job){ .run = use_everything, .contract = *state };
    run_jobs(jobs, 3);
}

// Objects of the main thread, used by another.
static struct report use_objects_of_another_thread(struct job *job)
{
    uint32_t addend = 9;
    TRY(braid_exec_set_arg(job->exec, job->node, 3, BRAID_ARG(addend)));
    TRY(braid_exec_launch(job->exec, job->stream));
    TRY(braid_exec_wait(job->exec));
    TRY(braid_stream_wait(job->stream));
    return (struct report){ BRAID_OK, 0 };
}

static void a_thread_can_use_what_another_made(void **state)
{
    struct contract *contract = *state;
    struct job job = { .run = use_objects_of_another_thread,
                       .contract = contract,
                       .data = contract_numbers(contract, 1),
                       .stream = contract_stream(contract) };
    braid_graph *graph = contract_graph(contract);
    job.node = add_axpy(graph, (braid_node_options){ 0 }, job.data, job.data, 1, 1, 1);
    job.exec = contract_exec(contract, graph);
    run_jobs(&job, 1);
    assert_int_equal(contract_number(contract, job.data), 9);
}

enum { num_threads = 4, num_frames = 40 };

static struct report launch_frames(struct job *job)
{
    for (uint32_t frame = 0; frame < num_frames; frame++) {
        TRY(braid_exec_launch(job->exec, job->stream));
        if (frame % 8 == job->index)
            TRY(braid_exec_wait(job->exec));
    }
    TRY(braid_exec_wait(job->exec));
    return (struct report){ BRAID_OK, 0 };
}

// x = x * 3 + i, twice a frame, with a branch beside it.
static braid_graph *update_graph(struct contract *contract, uint32_t *data, uint32_t addend)
{
    braid_graph *graph = contract_graph(contract);
    braid_resource x = add_resource(graph, "x");
    for (int i = 0; i < 2; i++)
        add_axpy(graph, (braid_node_options){ USES({ x, BRAID_READ_WRITE }) }, data, data, 3,
                 addend, 1);
    add_axpy(graph, (braid_node_options){ 0 }, data + 1, data + 1, 1, 1, 1);
    return graph;
}

static void several_execs_run_from_several_threads_at_once(void **state)
{
    struct contract *contract = *state;
    struct job jobs[num_threads];
    for (uint32_t i = 0; i < num_threads; i++) {
        uint32_t *data = contract_numbers(contract, 2);
        jobs[i] = (struct job){ .run = launch_frames,
                                .contract = contract,
                                .data = data,
                                .index = i,
                                .exec = contract_exec(contract, update_graph(contract, data, i)),
                                .stream = i ? contract_stream(contract) : NULL };
    }
    run_jobs(jobs, num_threads);
    for (uint32_t i = 0; i < num_threads; i++) {
        uint32_t expected = 0, seen[2];
        for (uint32_t step = 0; step < 2 * num_frames; step++)
            expected = expected * 3 + i;
        contract_read(contract, seen, jobs[i].data, sizeof(seen));
        assert_int_equal(seen[0], expected);
        assert_int_equal(seen[1], num_frames);
    }
}

// Frames of one exec never overlap, whoever launches them: no update is lost.
static void one_exec_can_be_launched_from_several_threads(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 2);
    braid_exec *exec = contract_exec(contract, update_graph(contract, data, 1));
    struct job jobs[num_threads];
    for (uint32_t i = 0; i < num_threads; i++)
        jobs[i] = (struct job){ .run = launch_frames,
                                .contract = contract,
                                .exec = exec,
                                .index = i,
                                .stream = contract_stream(contract) };
    run_jobs(jobs, num_threads);
    uint32_t expected = 0, seen[2];
    for (uint32_t step = 0; step < 2 * num_frames * num_threads; step++)
        expected = expected * 3 + 1;
    contract_read(contract, seen, data, sizeof(seen));
    assert_int_equal(seen[0], expected);
    assert_int_equal(seen[1], num_frames * num_threads);
}

static struct report make_and_destroy_execs(struct job *job)
{
    for (uint32_t i = 0; i < 15; i++) {
        struct report report =
            use_graph(job, job->contract->device, i % 2 ? NULL : job->stream, job->data);
        if (report.status)
            return report;
    }
    return (struct report){ BRAID_OK, 0 };
}

// Pools are shared: leases of threads that create, launch and destroy at once must not mix.
static void execs_can_come_and_go_on_several_threads(void **state)
{
    struct contract *contract = *state;
    struct job jobs[num_threads];
    for (uint32_t i = 0; i < num_threads; i++)
        jobs[i] = (struct job){ .run = make_and_destroy_execs,
                                .contract = contract,
                                .data = contract_numbers(contract, 1),
                                .stream = contract_stream(contract) };
    braid_device_info before, after;
    braid_device_get_info(contract->device, &before);
    run_jobs(jobs, num_threads);
    braid_device_get_info(contract->device, &after);
    assert_int_equal(before.streams_leased, after.streams_leased);
    assert_int_equal(before.events_leased, after.events_leased);
    for (uint32_t i = 0; i < num_threads; i++)
        assert_int_equal(contract_number(contract, jobs[i].data), 15 * 45);
}

static struct report fail_differently(struct job *job)
{
    EXPECT(strcmp(braid_error_get_message(), "") == 0);
    braid_graph *graph;
    TRY(braid_graph_create(&graph));
    char name[32];
    snprintf(name, sizeof(name), "node of thread %u", job->index);
    for (int i = 0; i < 200; i++) {
        braid_copy copy = { .node.name = name };
        EXPECT(braid_graph_add_copy(graph, &copy, NULL) == BRAID_INVALID_ARGUMENT);
        EXPECT(strstr(braid_error_get_message(), name));
    }
    braid_graph_destroy(graph);
    return (struct report){ BRAID_OK, 0 };
}

static void each_thread_has_an_error_message_of_its_own(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    check_fails(braid_graph_add_copy(graph, &(braid_copy){ .node.name = "mine" }, NULL),
                BRAID_INVALID_ARGUMENT, "mine");
    struct job jobs[num_threads];
    for (uint32_t i = 0; i < num_threads; i++)
        jobs[i] = (struct job){ .run = fail_differently, .contract = contract, .index = i };
    run_jobs(jobs, num_threads);
    assert_non_null(strstr(braid_error_get_message(), "mine"));
}

// A log callback that lingers until somebody has replaced it, or for a while.
struct lingering {
    atomic_bool entered, replaced, left;
};

static void linger(braid_status status, const char *message, void *user)
{
    (void)status;
    (void)message;
    struct lingering *lingering = user;
    atomic_store(&lingering->entered, true);
    uint64_t start = clock_now_ns();
    while (!atomic_load(&lingering->replaced) && clock_now_ns() - start < linger_ns)
        sched_yield();
    atomic_store(&lingering->left, true);
}

static struct report fail_once(struct job *job)
{
    (void)job;
    EXPECT(braid_graph_create(NULL) == BRAID_INVALID_ARGUMENT);
    return (struct report){ BRAID_OK, 0 };
}

static void a_log_callback_that_was_replaced_does_not_run_any_more(void **state)
{
    (void)state;
    struct lingering lingering = { 0 };
    struct job job = { .run = fail_once };
    braid_log_set(linger, &lingering);
    assert_int_equal(pthread_create(&job.thread, NULL, start, &job), 0);
    while (!atomic_load(&lingering.entered))
        sched_yield();
    braid_log_set(NULL, NULL);
    bool left = atomic_load(&lingering.left);
    atomic_store(&lingering.replaced, true);
    pthread_join(job.thread, NULL);
    assert_true(left);
}

static void stop_logging(braid_status status, const char *message, void *user)
{
    (void)status;
    (void)message;
    ++*(int *)user;
    braid_log_set(NULL, NULL);
}

static void a_log_callback_can_replace_itself(void **state)
{
    (void)state;
    int num_logged = 0;
    braid_log_set(stop_logging, &num_logged);
    for (int i = 0; i < 2; i++)
        assert_int_equal(braid_graph_create(NULL), BRAID_INVALID_ARGUMENT);
    braid_log_set(NULL, NULL);
    assert_int_equal(num_logged, 1);
}

static struct report pass_a_token(struct job *job)
{
    braid_device *device = job->contract->device;
    braid_event *event;
    TRY(braid_event_create(device, NULL, &event));
    for (uint32_t i = 0; i < 50; i++) {
        TRY(braid_stream_fill(job->stream, job->data, i, 4, 1));
        TRY(braid_event_record(event, job->stream));
        TRY(braid_stream_follow(NULL, event));
        TRY(braid_stream_copy(braid_device_get_default_stream(device), job->data + 1, job->data,
                              4));
        TRY(braid_event_record(event, NULL));
        TRY(braid_stream_follow(job->stream, event));
    }
    TRY(braid_event_wait(event));
    braid_event_destroy(event);
    return (struct report){ BRAID_OK, 0 };
}

static void streams_and_events_work_from_several_threads_at_once(void **state)
{
    struct contract *contract = *state;
    struct job jobs[num_threads];
    for (uint32_t i = 0; i < num_threads; i++)
        jobs[i] = (struct job){ .run = pass_a_token,
                                .contract = contract,
                                .data = contract_numbers(contract, 2),
                                .stream = contract_stream(contract) };
    run_jobs(jobs, num_threads);
    check_ok(braid_stream_wait(braid_device_get_default_stream(contract->device)));
    for (uint32_t i = 0; i < num_threads; i++)
        assert_int_equal(contract_number(contract, jobs[i].data + 1), 49);
}

#undef TRY
#undef EXPECT

int run_threads(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(the_whole_interface_works_on_a_fresh_thread),
        contract_test(the_whole_interface_works_on_several_threads_at_once),
        contract_test(a_thread_can_use_what_another_made),
        contract_test(several_execs_run_from_several_threads_at_once),
        contract_test(one_exec_can_be_launched_from_several_threads),
        contract_test(execs_can_come_and_go_on_several_threads),
        contract_test(each_thread_has_an_error_message_of_its_own),
        contract_test(a_log_callback_that_was_replaced_does_not_run_any_more),
        contract_test(a_log_callback_can_replace_itself),
        contract_test(streams_and_events_work_from_several_threads_at_once),
    };
    return contract_run("every call works from any thread", tests);
}
