// SPDX-License-Identifier: Apache-2.0
// Thousands of random plans: in every frame each task runs once, after all that it must follow.
#include <pthread.h>
#include <stdlib.h>

#include "cpu/cpu_testing.h"
#include "cpu/random_plan.h"
#include "support/check.h"

enum { NUM_PLANS = 2000, NUM_FRAMES = 5 };

struct plays {
    struct backend *backend;
    struct backend_kernel *kernel;
    uint64_t first_seed;
    unsigned num_plans;
    atomic_uint num_wrong;
};

static void play(struct plays *player, struct random_plan *plan, struct backend_stream *stream)
{
    struct hand_program *program = NULL;
    check_ok(hand_program_create(player->backend, &braid_walker_player, &plan->plan, &program));
    for (int frame = 0; frame < NUM_FRAMES; frame++)
        check_ok(hand_program_launch(program, stream));
    synchronize(player->backend, stream);
    hand_program_destroy(program);
    if (!random_plan_is_right(plan, NUM_FRAMES))
        atomic_fetch_add(&player->num_wrong, 1);
}

static void *play_all(void *user)
{
    struct plays *player = user;
    struct random_plan *plan = malloc(sizeof(*plan));
    assert_non_null(plan);
    struct backend_stream *stream = new_stream(player->backend);
    for (unsigned i = 0; i < player->num_plans; i++) {
        random_plan_create(plan, player->first_seed + i, player->kernel);
        play(player, plan, stream);
        random_plan_destroy(plan);
    }
    player->backend->ops->stream_destroy(player->backend, stream);
    free(plan);
    return NULL;
}

static void random_plans_run_in_order(void **state)
{
    (void)state;
    for (uint32_t num_workers = 1; num_workers <= 4; num_workers++) {
        struct plays player = { .backend = open_cpu(num_workers),
                                .first_seed = num_workers * 100000,
                                .num_plans = NUM_PLANS / 4 };
        player.kernel = load_kernel(player.backend, "check", random_plan_kernel);
        play_all(&player);
        assert_int_equal(atomic_load(&player.num_wrong), 0);
        player.backend->ops->kernel_unload(player.backend, player.kernel);
        close_cpu(player.backend);
    }
}

// A failed assertion off the main thread ends the program, which counts as a failure too.
static void programs_of_several_threads_run_in_order(void **state)
{
    (void)state;
    enum { NUM_THREADS = 4 };
    struct backend *backend = open_cpu(3);
    struct backend_kernel *kernel = load_kernel(backend, "check", random_plan_kernel);
    struct plays players[NUM_THREADS];
    pthread_t threads[NUM_THREADS];
    for (unsigned i = 0; i < NUM_THREADS; i++) {
        players[i] = (struct plays){ .backend = backend,
                                     .kernel = kernel,
                                     .first_seed = 7000000 + i * 100000,
                                     .num_plans = NUM_PLANS / 10 };
        assert_int_equal(pthread_create(&threads[i], NULL, play_all, &players[i]), 0);
    }
    for (unsigned i = 0; i < NUM_THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(atomic_load(&players[i].num_wrong), 0);
    }
    backend->ops->kernel_unload(backend, kernel);
    close_cpu(backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_plans_run_in_order),
        cmocka_unit_test(programs_of_several_threads_run_in_order),
    };
    return cmocka_run_group_tests_name("cpu: programs replay their plans", tests, NULL, NULL);
}
