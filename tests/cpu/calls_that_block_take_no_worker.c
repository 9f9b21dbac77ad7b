// SPDX-License-Identifier: Apache-2.0
// Host calls that block have threads of their own: kernels run meanwhile, and so do any number of
// other such calls, whatever the number of workers. Frames that repeat themselves start no thread.
#include <dirent.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include <braid/braid.h>

#include "support/check.h"

enum { PATIENCE_SECONDS = 60, NUM_CALLS = 6, NUM_FRAMES = 40 };

static const braid_exec_mode modes[] = { BRAID_MODE_STREAMS, BRAID_MODE_NATIVE };

struct fixture {
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    sem_t posted;
    atomic_int num_present, num_after;
};

static void open_fixture(struct fixture *all)
{
    *all = (struct fixture){ 0 };
    alarm(PATIENCE_SECONDS); // what goes wrong here hangs
    sem_init(&all->posted, 0, 0);
    const braid_device_options options = { .backend = "cpu", .num_workers = 1 };
    check_ok(braid_device_open(&options, &all->device));
    check_ok(braid_graph_create(&all->graph));
}

static void make_exec(struct fixture *all, braid_exec_mode mode, uint32_t frames)
{
    const braid_exec_options options = { .mode = mode, .frames = frames };
    check_ok(braid_exec_create(all->device, all->graph, &options, &all->exec));
}

static void close_fixture(struct fixture *all)
{
    braid_exec_destroy(all->exec);
    braid_graph_destroy(all->graph);
    check_ok(braid_device_close(all->device));
    sem_destroy(&all->posted);
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
            &(braid_launch){
                .node.cost_ns = 100000, .kernel = &post_kernel, .args = &arg, .num_args = 1 },
            NULL));
        make_exec(&all, modes[i], 1);
        for (int frame = 0; frame < NUM_FRAMES; frame++)
            check_ok(braid_exec_launch(all.exec, NULL));
        check_ok(braid_exec_wait(all.exec));
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
        assert_int_equal(count_threads(), num_before - 1); // nor after the device: all are joined
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_runs_beside_a_call_that_waits_for_it),
        cmocka_unit_test(calls_meet_in_every_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
