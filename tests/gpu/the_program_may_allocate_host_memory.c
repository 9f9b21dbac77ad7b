// SPDX-License-Identifier: Apache-2.0
// A device and all that is made from it allocate host memory by the functions that the program
// gives, and by no other. When the device is closed all of it is back. The argument names the
// backend: cpu, cuda or hip.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/frame.h"
#include "support/check.h"
#include "support/failing_memory.h"
#include "support/sanitizers.h"

void *__real_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void *memory);

static const char *backend;
static braid_device *holder; // without an allocator

// ---- an allocator that counts, checks and may fail ----

struct counter {
    atomic_long num_live, num_allocated, num_resized;
    atomic_long left; // allocations until the one that fails; 0 and less: none fails
    atomic_bool has_failed;
};

// Before each block, as far as its alignment.
struct note {
    struct counter *owner;
    size_t bytes, alignment;
};

static struct note *note_of(void *memory)
{
    return (struct note *)memory - 1;
}

static size_t room_before(size_t alignment)
{
    return alignment > sizeof(struct note) ? alignment : 64;
}

static void *allocate(size_t bytes, size_t alignment, void *user)
{
    struct counter *counter = user;
    if (!bytes || alignment < _Alignof(max_align_t) || (alignment & (alignment - 1)))
        abort();
    if (atomic_fetch_sub(&counter->left, 1) == 1) {
        atomic_store(&counter->has_failed, true);
        return NULL;
    }
    size_t before = room_before(alignment);
    size_t all = (before + bytes + before - 1) / before * before;
    unsigned char *memory = __real_aligned_alloc(before, all);
    if (!memory)
        abort();
    memset(memory, 0xa5, all); // Braid may not count on zeros
    atomic_fetch_add(&counter->num_live, 1);
    atomic_fetch_add(&counter->num_allocated, 1);
    *note_of(memory + before) = (struct note){ counter, bytes, alignment };
    return memory + before;
}

// Aborts if the block is not one of this allocator, or has another size or alignment.
static void take_back(void *memory, size_t bytes, size_t alignment, void *user)
{
    struct counter *counter = user;
    const struct note note = *note_of(memory);
    if (note.owner != counter || note.bytes != bytes || note.alignment != alignment)
        abort();
    atomic_fetch_sub(&counter->num_live, 1);
    __real_free((unsigned char *)memory - room_before(alignment));
}

static void *resize(void *memory, size_t old_bytes, size_t bytes, size_t alignment, void *user)
{
    struct counter *counter = user;
    void *moved = allocate(bytes, alignment, user);
    if (!moved)
        return NULL;
    memcpy(moved, memory, old_bytes < bytes ? old_bytes : bytes);
    take_back(memory, old_bytes, alignment, user);
    atomic_fetch_add(&counter->num_resized, 1);
    return moved;
}

static braid_allocator allocator_of(struct counter *counter)
{
    return (braid_allocator){ allocate, resize, take_back, counter };
}

// ---- a life of a device ----

struct world {
    struct counter *counter;
    braid_device *device;
    braid_graph *graph;         // made before the device, without an allocator
    braid_graph *made_inside;   // by a call of the program that an exec makes
    uint32_t *words;            // memory of the holder, on which nodes work
    bool makes_graphs, is_long; // the latter: with tuning and an audit
    atomic_int num_calls;       // several threads make them
    braid_node sum;
};

static void call_host(void *user)
{
    struct world *world = user;
    atomic_fetch_add_explicit(&world->num_calls, 1, memory_order_relaxed);
}

static braid_status call_queue(braid_device *device, braid_stream *stream, void *user)
{
    struct world *world = user;
    (void)device, (void)stream;
    if (world->makes_graphs && !world->made_inside) {
        check_ok(braid_graph_create(&world->made_inside));
        check_ok(braid_graph_add_empty(world->made_inside,
                                       &(braid_empty){ .node.name = "made inside" }, NULL));
    }
    return BRAID_OK;
}

static void make_graph(struct world *world)
{
    braid_resource a, b, between;
    braid_graph *graph;
    const uint32_t one = 1;
    check_ok(braid_memory_allocate(holder, BRAID_MEMORY_DEVICE, 512, (void **)&world->words));
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_buffer(graph, "a", world->words, 4, &a));
    check_ok(braid_graph_add_buffer(graph, "b", world->words + 64, 4, &b));
    check_ok(braid_graph_add_transient(graph, "between", sizeof(uint32_t), 0, &between));
    check_ok(braid_graph_add_fill(graph,
                                  &(braid_fill){ .to = world->words,
                                                 .value = 3,
                                                 .num_values = 1,
                                                 .value_bytes = 4,
                                                 BRAID_ACCESSES({ a, BRAID_WRITE }) },
                                  NULL));
    check_ok(
        braid_graph_add_kernel(graph,
                               &(braid_kernel_node){ .kernel = &sum_kernel,
                                                     BRAID_ARGS(BRAID_OUT(between), BRAID_IN(a),
                                                                BRAID_IN(a), BRAID_ARG(one)) },
                               &world->sum));
    check_ok(
        braid_graph_add_kernel(graph,
                               &(braid_kernel_node){ .kernel = &sum_kernel,
                                                     BRAID_ARGS(BRAID_OUT(b), BRAID_IN(between),
                                                                BRAID_IN(a), BRAID_ARG(one)) },
                               NULL));
    for (int i = 0; i < 2; i++)
        check_ok(braid_graph_add_host_call(graph,
                                           &(braid_host_call){ .call = call_host,
                                                               .user = world,
                                                               .blocking = i && !world->is_long },
                                           NULL));
    check_ok(braid_graph_add_queue_call(
        graph, &(braid_queue_call){ .call = call_queue, .user = world }, NULL));
    world->graph = graph;
}

// Whether the call worked. Otherwise memory has run out, which the status says, or the backend or
// this Braid has no such thing.
static bool worked(const struct world *world, braid_status status)
{
    if (!status || status == BRAID_UNSUPPORTED || status == BRAID_NOT_READY)
        return !status;
    if (status != BRAID_NO_MEMORY || !atomic_load(&world->counter->has_failed))
        fail_msg("%s: %s", braid_status_get_name(status), braid_error_get_message());
    return false;
}

static void ignore_frame(uint64_t frame, void *user)
{
    (void)frame, (void)user;
}

static void ignore_late(uint64_t frame, const braid_running_node *nodes, size_t num_nodes,
                        void *user)
{
    (void)frame, (void)nodes, (void)num_nodes, (void)user;
}

static void use_streams(struct world *world)
{
    uint32_t *memory = NULL, read[8];
    uint64_t ns;
    braid_stream *stream = NULL;
    braid_event *events[2] = { NULL };
    const braid_event_options timed = { .timing = true };
    if (worked(world, braid_memory_allocate(world->device, BRAID_MEMORY_DEVICE, sizeof(read),
                                            (void **)&memory)) &&
        worked(world, braid_stream_create(world->device, NULL, &stream)) &&
        worked(world, braid_event_create(world->device, &timed, &events[0])) &&
        worked(world, braid_event_create(world->device, &timed, &events[1])) &&
        worked(world, braid_event_record(events[0], stream)) &&
        worked(world, braid_stream_fill(stream, memory, 7, 4, 8)) &&
        worked(world, braid_stream_copy(stream, read, memory, sizeof(read))) &&
        worked(world, braid_stream_host_call(stream, call_host, world)) &&
        worked(world, braid_event_record(events[1], stream)) &&
        worked(world, braid_stream_follow(NULL, events[1])) &&
        worked(world, braid_stream_wait(stream)) &&
        worked(world, braid_event_get_elapsed(events[0], events[1], &ns)))
        assert_int_equal(read[5], 7);
    if (stream)
        worked(world, braid_stream_wait(stream));
    braid_event_destroy(events[1]);
    braid_event_destroy(events[0]);
    braid_stream_destroy(stream);
    braid_memory_free(world->device, memory);
}

static void launch(struct world *world, braid_exec *exec)
{
    braid_timings timings;
    braid_running_node nodes[4];
    size_t num;
    const uint32_t two = 2;
    for (int i = 0; i < 3; i++)
        worked(world, braid_exec_launch(exec, NULL));
    worked(world, braid_exec_launch_many(exec, NULL, 2, NULL, 0));
    worked(world, braid_exec_get_running(exec, nodes, 4, &num));
    worked(world, braid_exec_wait(exec));
    worked(world, braid_exec_set_arg(exec, world->sum, 3, BRAID_ARG(two)));
    if (worked(world, braid_exec_launch(exec, NULL)))
        worked(world, braid_exec_wait_for(exec, BRAID_LAST_FRAME, UINT64_MAX));
    worked(world, braid_exec_get_timings(exec, &timings));
    worked(world, braid_exec_cancel(exec));
    worked(world, braid_exec_wait(exec));
}

static void play(struct world *world)
{
    const braid_exec_options ways[] = {
        { .mode = BRAID_MODE_STREAMS, .frames_kept = 2, .frames_in_flight = 2 },
        { .mode = BRAID_MODE_GRAPH, .frames_kept = 2, .on_frame_end = ignore_frame },
        { .black_box = true, .deadline_ns = UINT64_C(100000000000), .on_deadline = ignore_late },
        { .islands = BRAID_ISLANDS_NEVER, .capture = true },
    };
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        braid_exec *exec = NULL;
        if (worked(world, braid_exec_create(world->device, world->graph, &ways[i], &exec)))
            launch(world, exec);
        braid_exec_destroy(exec);
    }
}

static void report_finding(const braid_audit_finding *finding, void *user)
{
    (void)finding;
    (void)call_queue(NULL, NULL, user);
}

static void tune_and_audit(struct world *world)
{
    braid_exec_options way;
    size_t num;
    braid_exec *exec = NULL;
    const braid_tune_options tuning = { .budget_ns = 1000000, .max_lanes = 2 };
    const braid_audit_options audit = { .report = report_finding, .user = world, .orders = true };
    if (worked(world, braid_exec_create(world->device, world->graph,
                                        &(braid_exec_options){ .frames_kept = 3 }, &exec)))
        worked(world, braid_exec_measure(exec, world->graph, 3));
    braid_exec_destroy(exec);
    worked(world, braid_graph_tune(world->graph, world->device, &tuning, &way));
    worked(world, braid_graph_audit(world->graph, world->device, &audit, &num));
}

static void live(struct world *world)
{
    const braid_allocator allocator = allocator_of(world->counter);
    const braid_device_options options = {
        .backend = backend, .num_workers = 2, .cache = "off", .allocator = &allocator
    };
    if (!worked(world, braid_device_open(&options, &world->device))) {
        assert_int_equal(atomic_load(&world->counter->num_live), 0);
        return;
    }
    use_streams(world);
    play(world);
    if (world->is_long)
        tune_and_audit(world);
    assert_true(atomic_load(&world->counter->num_live) > 0);
    check_ok(braid_device_close(world->device));
    assert_int_equal(atomic_load(&world->counter->num_live), 0);
}

static void finish(struct world *world)
{
    braid_graph_destroy(world->made_inside);
    braid_graph_destroy(world->graph);
    braid_memory_free(holder, world->words);
}

// ---- the tests ----

static atomic_long num_others; // allocations by malloc

static void count_other(const void *caller)
{
    (void)caller;
    atomic_fetch_add(&num_others, 1);
}

// By malloc there are the shell by which calls on a closed device are refused, and the record of
// the allocator.
static void count_others(bool is_long)
{
    struct counter counter = { 0 };
    struct world world = { .counter = &counter, .is_long = is_long };
    make_graph(&world);
    live(&world); // so that what stays with the process is there
    world.num_calls = 0;
    atomic_store(&num_others, 0);
    failing_memory_watch(count_other);
    live(&world);
    failing_memory_watch(NULL);
    assert_true(world.num_calls > 0);
    assert_true(atomic_load(&counter.num_resized) > 0);
    print_message("# %ld blocks, %ld by malloc\n", atomic_load(&counter.num_allocated),
                  atomic_load(&num_others));
    assert_int_equal(atomic_load(&num_others), 2);
    finish(&world);
}

static void all_memory_comes_from_it_and_goes_back(void **state)
{
    (void)state;
    count_others(false);
}

static void so_does_that_of_tuning_and_audits(void **state)
{
    (void)state;
    count_others(true);
}

static void a_call_of_the_program_allocates_by_malloc(void **state)
{
    (void)state;
    struct counter counter = { 0 };
    struct world world = { .counter = &counter, .is_long = true, .makes_graphs = true };
    make_graph(&world);
    live(&world);
    assert_non_null(world.made_inside);
    finish(&world);
}

// Fewer of them where each takes long.
static void fail_each(bool is_long, long step)
{
    long num = 0, least = 100;
    bool has_failed = true;
#if defined(UNDER_ASAN) || defined(UNDER_TSAN)
    step = step / 8 + 1;
    least = 20;
#endif
    for (long nth = 1; has_failed; nth += 1 + nth / step) {
        struct counter counter = { .left = nth };
        struct world world = { .counter = &counter, .is_long = is_long };
        make_graph(&world);
        live(&world);
        finish(&world);
        has_failed = atomic_load(&counter.has_failed);
        num += has_failed;
    }
    print_message("# %ld failed\n", num);
    assert_true(num > least);
}

static void any_call_of_it_may_fail(void **state)
{
    (void)state;
    fail_each(false, 400);
}

static void any_call_of_it_may_fail_in_tuning_and_audits(void **state)
{
    (void)state;
    fail_each(true, 30);
}

static void *live_often(void *user)
{
    for (int i = 0; i < 5; i++)
        live(user);
    return NULL;
}

// Each allocator aborts when it is given a block of the other.
static void two_devices_have_allocators_of_their_own(void **state)
{
    (void)state;
    pthread_t threads[2];
    struct counter counters[2] = { 0 };
    struct world worlds[2];
    for (int i = 0; i < 2; i++) {
        worlds[i] = (struct world){ .counter = &counters[i] };
        make_graph(&worlds[i]);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, live_often, &worlds[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++) {
        assert_true(atomic_load(&counters[i].num_allocated) > 0);
        finish(&worlds[i]);
    }
}

static braid_device *open_with(const braid_allocator *allocator)
{
    braid_device *device;
    const braid_device_options options = {
        .backend = backend, .num_workers = 2, .cache = "off", .allocator = allocator
    };
    check_ok(braid_device_open(&options, &device));
    return device;
}

static void a_group_has_one_allocator(void **state)
{
    (void)state;
    struct counter counters[2] = { 0 };
    const braid_allocator one = allocator_of(&counters[0]), same = one,
                          other = allocator_of(&counters[1]);
    braid_device *devices[3] = { open_with(&one), open_with(&same), open_with(&other) }, *group;
    braid_device *const unlike[2] = { devices[0], devices[2] };
    braid_device *const alike[2] = { devices[0], devices[strcmp(backend, "cpu") == 0 ? 0 : 1] };
    check_fails(braid_device_open_group(unlike, 2, &group), BRAID_INVALID_ARGUMENT, "member 1");
    check_fails(braid_device_open_group(unlike, 2, &group), BRAID_INVALID_ARGUMENT,
                "has another allocator than member 0");
    check_ok(braid_device_open_group(alike, 2, &group));
    struct world world = { .counter = &counters[0], .device = group };
    make_graph(&world);
    play(&world);
    finish(&world);
    check_ok(braid_device_close(group));
    check_ok(braid_device_close(devices[2]));
    assert_int_equal(atomic_load(&counters[1].num_live), 0);
    check_ok(braid_device_close(devices[0]));
    check_ok(braid_device_close(devices[1]));
    assert_int_equal(atomic_load(&counters[0].num_live), 0);
}

static void an_allocator_has_all_three_functions(void **state)
{
    (void)state;
    braid_device *device = NULL;
    const braid_allocator lacking[] = { { NULL, resize, take_back, NULL },
                                        { allocate, NULL, take_back, NULL },
                                        { allocate, resize, NULL, NULL } };
    static const char *const names[] = { "allocate", "reallocate", "free" };
    for (int i = 0; i < 3; i++) {
        char text[80];
        snprintf(text, sizeof(text), "the allocator has no function to %s", names[i]);
        const braid_device_options options = { .backend = backend, .allocator = &lacking[i] };
        check_fails(braid_device_open(&options, &device), BRAID_INVALID_ARGUMENT, text);
        assert_null(device);
    }
}

static int open_holder(void **state)
{
    (void)state;
    const braid_device_options options = { .backend = backend, .num_workers = 2, .cache = "off" };
    return braid_device_open(&options, &holder) != BRAID_OK;
}

static int close_holder(void **state)
{
    (void)state;
    return braid_device_close(holder) != BRAID_OK;
}

int main(int num_arguments, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_memory_comes_from_it_and_goes_back),
        cmocka_unit_test(so_does_that_of_tuning_and_audits),
        cmocka_unit_test(a_call_of_the_program_allocates_by_malloc),
        cmocka_unit_test(any_call_of_it_may_fail),
        cmocka_unit_test(any_call_of_it_may_fail_in_tuning_and_audits),
        cmocka_unit_test(two_devices_have_allocators_of_their_own),
        cmocka_unit_test(a_group_has_one_allocator),
        cmocka_unit_test(an_allocator_has_all_three_functions),
    };
    if (num_arguments < 2) {
        fprintf(stderr, "usage: %s cpu|cuda|hip\n", arguments[0]);
        return 1;
    }
    backend = arguments[1];
    return cmocka_run_group_tests(tests, open_holder, close_holder);
}
