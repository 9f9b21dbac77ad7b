// SPDX-License-Identifier: Apache-2.0
// However a grid is split, every block runs once; idle workers help with long ones.
#include <stdlib.h>
#include <time.h>

#include "cpu/cpu_testing.h"
#include "support/check.h"

struct cover {
    atomic_uint *times; // a block
    unsigned work;      // loops a block
    atomic_uint bad_ranges;
    uint64_t num_blocks;
};

static void cover_kernel(const braid_blocks *blocks, void *const *args)
{
    struct cover *cover = *(struct cover **)args[0];
    if (blocks->begin >= blocks->end || blocks->end > cover->num_blocks ||
        blocks->grid.x != cover->num_blocks)
        atomic_fetch_add(&cover->bad_ranges, 1);
    for (uint64_t i = blocks->begin; i < blocks->end; i++) {
        atomic_fetch_add(&cover->times[i], 1);
        for (volatile unsigned j = 0; j < cover->work; j++)
            continue;
    }
}

static void run_cover(struct backend *backend, struct backend_kernel *kernel, uint32_t num_blocks,
                      unsigned work)
{
    struct cover cover = { .times = calloc(num_blocks, sizeof(*cover.times)),
                           .work = work,
                           .num_blocks = num_blocks };
    assert_non_null(cover.times);
    for (unsigned round = 1; round <= 3; round++) {
        queue_kernel(backend, NULL, kernel, num_blocks, &cover);
        synchronize(backend, NULL);
        for (uint32_t i = 0; i < num_blocks; i++)
            assert_int_equal(atomic_load(&cover.times[i]), round);
    }
    assert_int_equal(atomic_load(&cover.bad_ranges), 0);
    free(cover.times);
}

static void every_block_runs_exactly_once(void **state)
{
    (void)state;
    static const uint32_t sizes[] = { 1, 2, 3, 7, 63, 64, 65, 1000, 4097, 20001 };
    for (uint32_t num_workers = 1; num_workers <= 4; num_workers++) {
        struct backend *backend = open_cpu(num_workers);
        struct backend_kernel *kernel = load_kernel(backend, "cover", cover_kernel);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            run_cover(backend, kernel, sizes[i], 0);
            run_cover(backend, kernel, sizes[i], 200);
        }
        backend->ops->kernel_unload(backend, kernel);
        close_cpu(backend);
    }
}

struct together {
    atomic_uint num_threads;
};

static _Thread_local struct together *counted_in;

// Blocks take a while until a second thread has come to help.
static void together_kernel(const braid_blocks *blocks, void *const *args)
{
    struct together *together = *(struct together **)args[0];
    if (counted_in != together) {
        counted_in = together;
        atomic_fetch_add(&together->num_threads, 1);
    }
    for (uint64_t i = blocks->begin; i < blocks->end; i++)
        if (atomic_load(&together->num_threads) < 2)
            nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
}

static void idle_workers_help_with_long_grids(void **state)
{
    (void)state;
    struct backend *backend = open_cpu(2);
    struct backend_kernel *kernel = load_kernel(backend, "together", together_kernel);
    struct together together[20] = { 0 };
    for (int i = 0; i < 20; i++) {
        queue_kernel(backend, NULL, kernel, 1000, &together[i]);
        synchronize(backend, NULL);
        assert_int_equal(atomic_load(&together[i].num_threads), 2);
    }
    backend->ops->kernel_unload(backend, kernel);
    close_cpu(backend);
}

struct crowd {
    atomic_uint num_inside, most_inside;
};

static void crowd_kernel(const braid_blocks *blocks, void *const *args)
{
    struct crowd *crowd = *(struct crowd **)args[0];
    for (uint64_t i = blocks->begin; i < blocks->end; i++) {
        unsigned num = atomic_fetch_add(&crowd->num_inside, 1) + 1;
        unsigned most = atomic_load(&crowd->most_inside);
        while (num > most && !atomic_compare_exchange_weak(&crowd->most_inside, &most, num))
            continue;
        nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
        atomic_fetch_sub(&crowd->num_inside, 1);
    }
}

// The first time nobody knows how long a block takes; later a worker may still be busy ending the
// frame before, but not always.
static void a_long_grid_with_a_block_for_each_worker_comes_to_run_at_once(void **state)
{
    (void)state;
    for (uint32_t num_workers = 2; num_workers <= 4; num_workers++) {
        struct backend *backend = open_cpu(num_workers);
        struct backend_kernel *kernel = load_kernel(backend, "crowd", crowd_kernel);
        bool met = false;
        for (int round = 0; round < 100 && !met; round++) {
            struct crowd crowd = { 0 };
            queue_kernel(backend, NULL, kernel, num_workers, &crowd);
            synchronize(backend, NULL);
            met = atomic_load(&crowd.most_inside) == num_workers;
        }
        assert_true(met);
        backend->ops->kernel_unload(backend, kernel);
        close_cpu(backend);
    }
}

static void work_after_a_split_grid_starts_after_all_of_it(void **state)
{
    (void)state;
    enum { BLOCKS = 64, STREAMS = 6, ROUNDS = 50 };
    struct backend *backend = open_cpu(4);
    struct backend_kernel *kernel = load_kernel(backend, "cover", cover_kernel);
    struct backend_stream *streams[STREAMS];
    struct cover covers[STREAMS];
    for (int s = 0; s < STREAMS; s++) {
        streams[s] = new_stream(backend);
        covers[s] = (struct cover){ .times = calloc(BLOCKS, sizeof(atomic_uint)),
                                    .work = 300,
                                    .num_blocks = BLOCKS };
        assert_non_null(covers[s].times);
    }
    unsigned *copies = calloc((size_t)ROUNDS * STREAMS * BLOCKS, sizeof(*copies));
    assert_non_null(copies);
    for (int round = 0; round < ROUNDS; round++) {
        for (int s = 0; s < STREAMS; s++) {
            queue_kernel(backend, streams[s], kernel, BLOCKS, &covers[s]);
            struct backend_task copy = {
                .kind = WORK_COPY,
                .copy = { .to = copies + (round * STREAMS + s) * BLOCKS,
                          .from = covers[s].times,
                          .bytes = BLOCKS * sizeof(*copies) },
            };
            check_ok(backend->ops->submit(backend, streams[s], &copy));
        }
    }
    for (int s = 0; s < STREAMS; s++)
        backend->ops->stream_destroy(backend, streams[s]);
    for (unsigned i = 0; i < ROUNDS * STREAMS * BLOCKS; i++)
        assert_int_equal(copies[i], i / (STREAMS * BLOCKS) + 1);
    for (int s = 0; s < STREAMS; s++)
        free(covers[s].times);
    free(copies);
    backend->ops->kernel_unload(backend, kernel);
    close_cpu(backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_runs_exactly_once),
        cmocka_unit_test(idle_workers_help_with_long_grids),
        cmocka_unit_test(a_long_grid_with_a_block_for_each_worker_comes_to_run_at_once),
        cmocka_unit_test(work_after_a_split_grid_starts_after_all_of_it),
    };
    return cmocka_run_group_tests_name("cpu: grids are split exactly", tests, NULL, NULL);
}
