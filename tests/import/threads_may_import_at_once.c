// SPDX-License-Identifier: Apache-2.0
// Threads import graphs of one device at once, and play them: each finds what one thread alone
// finds. The thread sanitizer sees what they share.
#include <pthread.h>
#include <string.h>

#include <braid/braid.h>

#include "import/captured_world.h"
#include "support/check.h"
#include "support/owner.h"

enum { NUM_THREADS = 2, NUM_ROUNDS = 20 };

static braid_device *device;
static braid_import_info usual;

struct thread {
    pthread_t handle;
    struct captured_world world;
    const char *failed; // NULL: nothing has
};

static braid_status import_from(const struct captured_world *world, braid_import **out_import)
{
    static const char *const texts[] = { captured_world_text };
    return braid_import_create(device, world->graph,
                               &(braid_import_options){ .texts = texts, .num_texts = 1 },
                               out_import);
}

// cmocka's assertions are for the thread of the test.
static const char *try_once(struct captured_world *world)
{
    braid_import *import;
    braid_import_info info;
    if (import_from(world, &import))
        return "nothing is imported";
    braid_import_get_info(import, &info);
    const bool plays = captured_world_plays_as(world, device, braid_import_get_graph(import));
    braid_import_destroy(import);
    return memcmp(&info, &usual, sizeof(info)) != 0 ? "other facts are found"
           : !plays                                 ? "other bytes are written"
                                                    : NULL;
}

static void *run(void *of)
{
    struct thread *thread = of;
    for (int i = 0; i < NUM_ROUNDS && !thread->failed; i++)
        thread->failed = try_once(&thread->world);
    return NULL;
}

static void threads_find_the_same(void **state)
{
    (void)state;
    static struct thread threads[NUM_THREADS];
    braid_import *import;
    device = own_device("cuda");
    for (int i = 0; i < NUM_THREADS; i++)
        captured_world_make(&threads[i].world);
    check_ok(import_from(&threads[0].world, &import));
    braid_import_get_info(import, &usual);
    braid_import_destroy(import);
    assert_true(usual.num_kept < usual.num_captured);
    for (int i = 0; i < NUM_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i].handle, NULL, run, &threads[i]), 0);
    for (int i = 0; i < NUM_THREADS; i++)
        pthread_join(threads[i].handle, NULL);
    for (int i = 0; i < NUM_THREADS; i++) {
        if (threads[i].failed)
            fail_msg("thread %d: %s", i, threads[i].failed);
        captured_world_finish(&threads[i].world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { owning_test(threads_find_the_same) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
