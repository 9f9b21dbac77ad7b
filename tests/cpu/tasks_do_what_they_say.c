// SPDX-License-Identifier: Apache-2.0
// Copies, fills, host calls and kernels' arguments; memory; and what is refused.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cpu/cpu_testing.h"
#include "support/check.h"
#include "support/failing_memory.h"

static struct backend *backend;

static int set_up(void **state)
{
    (void)state;
    backend = open_cpu(2);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close_cpu(backend);
    return 0;
}

static void copies_copy_every_byte_and_no_other(void **state)
{
    (void)state;
    static const size_t sizes[] = { 1, 7, 4096, 262143, 262144, 262145, 3000001 };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t bytes = sizes[i];
        unsigned char *from = malloc(bytes), *to = calloc(bytes + 2, 1);
        assert_true(from && to);
        for (size_t j = 0; j < bytes; j++)
            from[j] = (unsigned char)(j * 7 + j / 251);
        struct backend_task copy = {
            .kind = WORK_COPY,
            .copy = { .to = to + 1, .from = from, .bytes = bytes },
        };
        check_ok(backend->ops->submit(backend, NULL, &copy));
        synchronize(backend, NULL);
        assert_int_equal(memcmp(to + 1, from, bytes), 0);
        assert_true(to[0] == 0 && to[bytes + 1] == 0);
        free(from);
        free(to);
    }
}

static void fills_set_every_value_and_no_other_byte(void **state)
{
    (void)state;
    const uint32_t value = 0xa1b2c3d4;
    for (uint32_t value_bytes = 1; value_bytes <= 4; value_bytes *= 2) {
        const size_t num_values = 300001, bytes = num_values * value_bytes;
        unsigned char *to = calloc(bytes + 2, 1);
        assert_non_null(to);
        struct backend_task fill = {
            .kind = WORK_FILL,
            .fill = { .to = to + 1,
                      .value = value,
                      .value_bytes = value_bytes,
                      .num_values = num_values },
        };
        check_ok(backend->ops->submit(backend, NULL, &fill));
        synchronize(backend, NULL);
        for (size_t i = 0; i < bytes; i++)
            assert_int_equal(to[1 + i], (value >> (8 * (i % value_bytes))) & 255);
        assert_true(to[0] == 0 && to[bytes + 1] == 0);
        free(to);
    }
}

struct odd {
    char bytes[3];
};

struct seen {
    struct odd odd;
    double number;
    uint16_t small;
    max_align_t aligned;
    bool misaligned;
    unsigned char large[5000];
};

static bool is_aligned(const void *pointer, size_t alignment)
{
    return (uintptr_t)pointer % alignment == 0;
}

static void keep_arguments(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    struct seen *seen = *(struct seen **)args[0];
    memcpy(&seen->odd, args[1], sizeof(seen->odd));
    memcpy(&seen->number, args[2], sizeof(seen->number));
    memcpy(&seen->small, args[3], sizeof(seen->small));
    memcpy(seen->large, args[4], sizeof(seen->large));
    seen->misaligned =
        !is_aligned(args[0], _Alignof(void *)) || !is_aligned(args[2], _Alignof(double)) ||
        !is_aligned(args[3], _Alignof(uint16_t)) || !is_aligned(args[5], _Alignof(max_align_t));
}

static void arguments_are_captured_when_queued(void **state)
{
    (void)state;
    struct seen seen = { 0 };
    struct seen *seen_at = &seen;
    struct odd odd = { "ab" };
    double number = 0.5;
    uint16_t small = 77;
    max_align_t aligned = { 0 };
    unsigned char large[5000];
    memset(large, 9, sizeof(large));
    struct gate gate = { 0 };
    struct backend_kernel *kernel = load_kernel(backend, "keep", keep_arguments);
    struct backend_task task = {
        .kind = WORK_KERNEL,
        .name = "keep",
        .launch = { .kernel = kernel,
                    .grid = { 1, 1, 1 },
                    .block = { 1, 1, 1 },
                    .num_args = 6,
                    .args = (void *[]){ &seen_at, &odd, &number, &small, large, &aligned },
                    .arg_bytes =
                        (const uint32_t[]){ sizeof(seen_at), sizeof(odd), sizeof(number),
                                            sizeof(small), sizeof(large), sizeof(aligned) } },
    };
    queue_host(backend, NULL, gate_pass, &gate);
    check_ok(backend->ops->submit(backend, NULL, &task));
    odd.bytes[0] = 'x';
    number = 3;
    small = 1;
    memset(large, 1, sizeof(large));
    gate_open(&gate);
    synchronize(backend, NULL);
    assert_string_equal(seen.odd.bytes, "ab");
    assert_true(seen.number == 0.5);
    assert_int_equal(seen.small, 77);
    for (size_t i = 0; i < sizeof(large); i++)
        assert_int_equal(seen.large[i], 9);
    assert_false(seen.misaligned);
    backend->ops->kernel_unload(backend, kernel);
}

enum { SEVERAL_MIB = 5 << 20 };

struct ends {
    unsigned char first, last;
};

static void keep_ends(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    const unsigned char *large = args[1];
    **(struct ends **)args[0] = (struct ends){ large[0], large[SEVERAL_MIB - 1] };
}

// Programs take them, and so must streams: the same graph may run on either.
static void arguments_of_several_mib_can_be_queued(void **state)
{
    (void)state;
    struct ends ends = { 0 };
    struct ends *ends_at = &ends;
    unsigned char *large = calloc(SEVERAL_MIB, 1);
    assert_non_null(large);
    large[0] = 3;
    large[SEVERAL_MIB - 1] = 4;
    struct backend_kernel *kernel = load_kernel(backend, "keep", keep_ends);
    struct backend_task task = {
        .kind = WORK_KERNEL,
        .name = "keep",
        .launch = { .kernel = kernel,
                    .grid = { 1, 1, 1 },
                    .block = { 1, 1, 1 },
                    .num_args = 2,
                    .args = (void *[]){ &ends_at, large },
                    .arg_bytes = (const uint32_t[]){ sizeof(ends_at), SEVERAL_MIB } },
    };
    check_ok(backend->ops->submit(backend, NULL, &task));
    free(large);
    synchronize(backend, NULL);
    assert_true(ends.first == 3 && ends.last == 4);
    backend->ops->kernel_unload(backend, kernel);
}

static void a_kernel_without_cpu_code_is_refused_by_name(void **state)
{
    (void)state;
    braid_kernel kernel = { .name = "gpu_only" };
    struct backend_kernel *loaded = NULL;
    check_fails(
        backend->ops->kernel_load(backend, &kernel, KERNEL_AS_IT_IS, NULL, NULL, 0, &loaded),
        BRAID_UNSUPPORTED, "gpu_only");
    assert_null(loaded);
}

static void memory_is_aligned(void **state)
{
    (void)state;
    void *memory = NULL;
    check_ok(backend->ops->allocate(backend, BRAID_MEMORY_HOST, 3, &memory));
    assert_true(is_aligned(memory, 256));
    backend->ops->release(backend, BRAID_MEMORY_HOST, memory);
    check_fails(backend->ops->allocate(backend, BRAID_MEMORY_DEVICE, UINT64_MAX - 1, &memory),
                BRAID_NO_MEMORY, "");
}

static void an_empty_task_queues_nothing(void **state)
{
    (void)state;
    struct gate gate = { 0 };
    struct backend_stream *stream = new_stream(backend);
    check_ok(backend->ops->submit(backend, stream, &(struct backend_task){ .kind = WORK_EMPTY }));
    check_ok(backend->ops->stream_query(backend, stream));
    queue_host(backend, stream, gate_pass, &gate);
    assert_int_equal(backend->ops->stream_query(backend, stream), BRAID_NOT_READY);
    gate_open(&gate);
    backend->ops->stream_destroy(backend, stream);
}

static void there_is_one_device_and_it_says_what_it_is(void **state)
{
    (void)state;
    uint32_t num_devices = 0;
    char reason[8] = "x";
    braid_cpu_driver.query(&braid_cpu_driver, &num_devices, reason, sizeof(reason));
    assert_int_equal(num_devices, 1);
    assert_string_equal(reason, "");
    struct backend *none = NULL;
    check_fails(
        braid_cpu_driver.open(&braid_cpu_driver, &(braid_device_options){ .ordinal = 1 }, &none),
        BRAID_UNAVAILABLE, "1");
    check_fails(braid_cpu_driver.open(&braid_cpu_driver,
                                      &(braid_device_options){ .num_workers = 1u << 20 }, &none),
                BRAID_INVALID_ARGUMENT, "1048576");
    braid_device_info info;
    backend->ops->get_info(backend, &info);
    assert_int_equal(info.num_units, 2);
    assert_true(info.name[0] && info.memory_bytes > 0);
    assert_string_equal(info.backend, "cpu");
}

static void add_one(void *counter)
{
    atomic_fetch_add((atomic_uint *)counter, 1);
}

// The pools give what they have; then calls fail until something has run.
static void what_finds_no_memory_is_not_queued(void **state)
{
    (void)state;
    struct backend_event *event = new_event(backend);
    struct gate gate = { 0 };
    atomic_uint count = 0;
    unsigned num_queued = 0;
    queue_host(backend, NULL, gate_pass, &gate);
    struct backend_task task = {
        .kind = WORK_HOST,
        .name = "unlucky",
        .host = { .call = add_one, .user = &count },
    };
    failing_memory_arm(1);
    while (backend->ops->submit(backend, NULL, &task) == BRAID_OK)
        num_queued++;
    check_fails(backend->ops->submit(backend, NULL, &task), BRAID_NO_MEMORY, "unlucky");
    while (backend->ops->event_record(backend, event, NULL) == BRAID_OK)
        continue;
    check_fails(backend->ops->event_record(backend, event, NULL), BRAID_NO_MEMORY, "record");
    assert_true(failing_memory_disarm());
    gate_open(&gate);
    synchronize(backend, NULL);
    assert_int_equal(atomic_load(&count), num_queued);
    backend->ops->event_destroy(backend, event);
}

static void *open_a_little_later(void *user)
{
    nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    gate_open(user);
    return NULL;
}

// Callers free what the stream's work uses, so a wait must not give up.
static void waiting_for_a_stream_needs_no_memory(void **state)
{
    (void)state;
    struct gate gate = { 0 };
    atomic_uint count = 0;
    unsigned num_queued = 0;
    pthread_t opener;
    struct backend_task task = {
        .kind = WORK_HOST,
        .host = { .call = add_one, .user = &count },
    };
    queue_host(backend, NULL, gate_pass, &gate);
    failing_memory_arm(1);
    while (backend->ops->submit(backend, NULL, &task) == BRAID_OK)
        num_queued++;
    assert_int_equal(pthread_create(&opener, NULL, open_a_little_later, &gate), 0);
    braid_status status = backend->ops->stream_synchronize(backend, NULL);
    assert_true(failing_memory_disarm());
    unsigned num_run = atomic_load(&count);
    pthread_join(opener, NULL);
    check_ok(status);
    assert_int_equal(num_run, num_queued);
}

static void opening_survives_every_failed_allocation(void **state)
{
    (void)state;
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        struct backend *opened = NULL;
        failing_memory_arm(nth);
        braid_status status = braid_cpu_driver.open(&braid_cpu_driver, NULL, &opened);
        failed = failing_memory_disarm();
        if (opened)
            close_cpu(opened);
        assert_int_equal(status, failed ? BRAID_NO_MEMORY : BRAID_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(copies_copy_every_byte_and_no_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fills_set_every_value_and_no_other_byte, set_up, tear_down),
        cmocka_unit_test_setup_teardown(arguments_are_captured_when_queued, set_up, tear_down),
        cmocka_unit_test_setup_teardown(arguments_of_several_mib_can_be_queued, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_kernel_without_cpu_code_is_refused_by_name, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(memory_is_aligned, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_empty_task_queues_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(there_is_one_device_and_it_says_what_it_is, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_finds_no_memory_is_not_queued, set_up, tear_down),
        cmocka_unit_test_setup_teardown(waiting_for_a_stream_needs_no_memory, set_up, tear_down),
        cmocka_unit_test(opening_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("cpu: tasks do what they say", tests, NULL, NULL);
}
