// SPDX-License-Identifier: Apache-2.0
// Host calls that block have threads of their own: kernels run meanwhile, and so do any number of
// other such calls, whatever the number of workers. Frames that repeat themselves start no thread.
// The end of one begins the next that is due, even where no worker is free to do so.
#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include <braid/braid.h>
#include <braid/timings.h>

#include "support/check.h"
#include "support/failing_memory.h"
#include "support/wide_plan.h"

enum { PATIENCE_SECONDS = 60, NUM_CALLS = 6, NUM_FRAMES = 40, NUM_TIMED = 4, SLEEP_NS = 2000000 };

static const braid_exec_mode modes[] = { BRAID_MODE_STREAMS, BRAID_MODE_GRAPH };

struct fixture {
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    sem_t posted;
    atomic_int num_present, num_after;
    int num_before; // threads
};

static int count_threads(void)
{
    int num = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        num += entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return num;
}

// A thread is joined a moment before the system stops listing it.
static void await_threads(int num)
{
    while (count_threads() != num) // or the alarm
        usleep(100);
}

static void open_fixture(struct fixture *all)
{
    *all = (struct fixture){ 0 };
    alarm(PATIENCE_SECONDS); // what goes wrong here hangs
    sem_init(&all->posted, 0, 0);
    const braid_device_options options = { .backend = "cpu", .num_workers = 1 };
    check_ok(braid_device_open(&options, &all->device));
    all->num_before = count_threads() - 1; // the worker; a sanitizer's thread comes with the first
    check_ok(braid_graph_create(&all->graph));
}

static void make_exec(struct fixture *all, braid_exec_mode mode, uint32_t frames)
{
    const braid_exec_options options = { .mode = mode, .frames_in_flight = frames };
    check_ok(braid_exec_create(all->device, all->graph, &options, &all->exec));
}

static void close_fixture(struct fixture *all)
{
    braid_exec_destroy(all->exec);
    braid_graph_destroy(all->graph);
    check_ok(braid_device_close(all->device));
    sem_destroy(&all->posted);
    await_threads(all->num_before); // all are joined
    alarm(0);
}

static braid_node add_call(struct fixture *all, braid_host_function *call, const braid_node *after)
{
    braid_node node;
    check_ok(braid_graph_add_host_call(
        all->graph,
        &(braid_host_call){ .node = { .after = after, .num_after = !!after, .cost_ns = 100000 },
                            .call = call,
                            .user = all,
                            .blocking = true },
        &node));
    return node;
}

static void wait_for_post(void *user)
{
    struct fixture *all = user;
    while (sem_wait(&all->posted))
        continue;
}

static void post(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    sem_post(*(sem_t **)args[0]);
}

static const braid_kernel post_kernel = { .name = "post", .cpu = post };

// The kernel that a call waits for runs on the only worker there is.
static void a_kernel_runs_beside_a_call_that_waits_for_it(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct fixture all;
        open_fixture(&all);
        sem_t *posted = &all.posted;
        braid_arg arg = { &posted, sizeof(posted) };
        add_call(&all, wait_for_post, NULL);
        check_ok(braid_graph_add_kernel(
            all.graph,
            &(braid_kernel_node){
                .node.cost_ns = 100000, .kernel = &post_kernel, .args = &arg, .num_args = 1 },
            NULL));
        make_exec(&all, modes[i], 1);
        for (int frame = 0; frame < NUM_FRAMES; frame++)
            check_ok(braid_exec_launch(all.exec, NULL));
        check_ok(braid_exec_wait(all.exec));
        close_fixture(&all);
    }
}

static void read_picture(void *user)
{
    struct fixture *all = user;
    if (atomic_fetch_add(&all->num_present, 1) % 2)
        sem_post(&all->posted);
    else
        wait_for_post(all);
}

// Holds the only worker up until the next frame's picture has been read.
static void await_next(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    struct fixture *all = *(struct fixture **)args[0];
    if (atomic_fetch_add(&all->num_after, 1) % 2 == 0)
        wait_for_post(all);
}

static const braid_kernel await_kernel = { .name = "await", .cpu = await_next };

static void add_reader_and_kernel(struct fixture *all)
{
    braid_resource reader, picture;
    check_ok(braid_graph_add_resource(all->graph, "reader", &reader));
    check_ok(braid_graph_add_transient(all->graph, "picture", 64, 0, &picture));
    check_ok(braid_graph_add_host_call(
        all->graph,
        &(braid_host_call){ BRAID_ACCESSES({ reader, BRAID_READ_WRITE }, { picture, BRAID_WRITE }),
                            .call = read_picture, .user = all, .blocking = true },
        NULL));
    check_ok(braid_graph_add_kernel(all->graph,
                                    &(braid_kernel_node){ .kernel = &await_kernel,
                                                          BRAID_ARGS(BRAID_ARG(all)),
                                                          BRAID_ACCESSES({ picture, BRAID_READ }) },
                                    NULL));
}

static void the_end_of_a_call_begins_the_next_without_a_worker(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct fixture all;
        open_fixture(&all);
        add_reader_and_kernel(&all);
        make_exec(&all, modes[i], 2);
        braid_stream *stream;
        check_ok(braid_stream_create(all.device, NULL, &stream));
        for (int frame = 0; frame < NUM_FRAMES; frame += 2) {
            check_ok(braid_exec_launch(all.exec, stream));
            check_ok(braid_exec_launch(all.exec, stream));
            sem_post(&all.posted); // both are queued: the first is read
            while (braid_exec_wait_for(all.exec, BRAID_LAST_FRAME, 0) == BRAID_NOT_READY)
                usleep(100); // who waits lends a hand
        }
        braid_stream_destroy(stream);
        close_fixture(&all);
    }
}

// Each waits until all of the frame are there.
static void meet(void *user)
{
    struct fixture *all = user;
    int present = atomic_fetch_add(&all->num_present, 1) + 1;
    int wanted = (present + NUM_CALLS - 1) / NUM_CALLS * NUM_CALLS;
    while (atomic_load(&all->num_present) < wanted)
        usleep(100);
}

static void count_after(void *user)
{
    struct fixture *all = user;
    atomic_fetch_add(&all->num_after, 1);
}

static void calls_meet_in_every_frame(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct fixture all;
        open_fixture(&all);
        for (int k = 0; k < NUM_CALLS; k++) {
            braid_node node = add_call(&all, meet, NULL);
            add_call(&all, count_after, &node);
        }
        int num_before = count_threads();
        make_exec(&all, modes[i], 1);
        assert_int_equal(count_threads(), num_before); // none before the first call
        for (int frame = 0; frame < NUM_FRAMES; frame++) {
            check_ok(braid_exec_launch(all.exec, NULL));
            check_ok(braid_exec_wait(all.exec));
            assert_int_equal(atomic_load(&all.num_after), (frame + 1) * NUM_CALLS);
            assert_in_range(count_threads(), num_before + NUM_CALLS, num_before + 2 * NUM_CALLS);
        }
        close_fixture(&all);
    }
}

static void sleep_a_while(void *user)
{
    (void)user;
    usleep(SLEEP_NS / 1000);
}

// The times of a call are its own, whichever thread goes on behind it; so are those of what waits
// for it on another lane.
static void calls_keep_their_times(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct fixture all;
        open_fixture(&all);
        sem_t *posted = &all.posted;
        braid_arg arg = { &posted, sizeof(posted) };
        braid_kernel_node launch = { .kernel = &post_kernel, .args = &arg, .num_args = 1 };
        braid_node call = add_call(&all, sleep_a_while, NULL), behind[2];
        launch.node = (braid_node_options){ .after = &call, .num_after = 1, .cost_ns = 100000 };
        for (int k = 0; k < 2; k++)
            check_ok(braid_graph_add_kernel(all.graph, &launch, &behind[k]));
        const braid_exec_options options = { .mode = modes[i],
                                             .frames_kept = NUM_TIMED,
                                             .max_lanes = BRAID_ALL_LANES,
                                             .fixed_lanes = true };
        check_ok(braid_exec_create(all.device, all.graph, &options, &all.exec));
        braid_schedule_info info;
        braid_schedule_get_info(braid_exec_get_schedule(all.exec), &info);
        assert_true(info.num_lanes > 1);
        for (int frame = 0; frame < NUM_TIMED; frame++)
            check_ok(braid_exec_launch(all.exec, NULL));
        check_ok(braid_exec_wait(all.exec));
        braid_timings timings;
        check_ok(braid_exec_get_timings(all.exec, &timings));
        assert_int_equal(timings.frames_kept, NUM_TIMED);
        for (int frame = 0; frame < NUM_TIMED; frame++) {
            const braid_interval *at = timings.intervals + frame * 3;
            assert_true(at[0].end_ns - at[0].start_ns >= SLEEP_NS / 2);
            for (int k = 1; k < 3; k++) {
                assert_true(at[k].start_ns >= at[0].end_ns);
                assert_true(at[k].end_ns >= at[k].start_ns);
            }
        }
        close_fixture(&all);
    }
}

// Only once the launch has all that it needs.
static void take_memory(void *user)
{
    wait_for_post(user);
    failing_memory_arm(1);
}

static void give_memory(void *user)
{
    struct fixture *all = user;
    failing_memory_disarm();
    atomic_store(&all->num_present, 1);
}

// Where there is none for a thread, the worker makes the call itself.
static void calls_are_made_without_memory_for_a_thread(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct fixture all;
        open_fixture(&all);
        braid_node nodes[2];
        check_ok(braid_graph_add_host_call(
            all.graph, &(braid_host_call){ .call = take_memory, .user = &all }, &nodes[0]));
        nodes[1] = add_call(&all, count_after, &nodes[0]);
        check_ok(braid_graph_add_host_call(
            all.graph,
            &(braid_host_call){
                .node = { .after = &nodes[1], .num_after = 1 }, .call = give_memory, .user = &all },
            NULL));
        make_exec(&all, modes[i], 1);
        int num_before = count_threads();
        check_ok(braid_exec_launch(all.exec, NULL));
        sem_post(&all.posted);
        while (!atomic_load(&all.num_present))
            usleep(100);
        check_ok(braid_exec_wait(all.exec));
        assert_int_equal(atomic_load(&all.num_after), 1);
        assert_int_equal(count_threads(), num_before);
        close_fixture(&all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_runs_beside_a_call_that_waits_for_it),
        cmocka_unit_test(the_end_of_a_call_begins_the_next_without_a_worker),
        cmocka_unit_test(calls_meet_in_every_frame),
        cmocka_unit_test(calls_keep_their_times),
        cmocka_unit_test(calls_are_made_without_memory_for_a_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
