// SPDX-License-Identifier: Apache-2.0
// A device knows the kind of each allocation by its address. What it does not know it leaves alone,
// and the log tells. The argument names the backend: cpu, cuda or hip.
#include <stdio.h>
#include <string.h>

#include <braid/braid.h>

#include "support/check.h"

static const char *backend = "cpu";

static struct log {
    int num_lines;
    char last[1024];
} lines;

static void keep_line(braid_status status, const char *message, void *user)
{
    (void)status, (void)user;
    lines.num_lines++;
    snprintf(lines.last, sizeof(lines.last), "%s", message);
}

static braid_device *open_device(void)
{
    const braid_device_options options = { .backend = backend, .num_workers = 2, .cache = "off" };
    braid_device *device;
    check_ok(braid_device_open(&options, &device));
    return device;
}

static int start_log(void **state)
{
    (void)state;
    lines = (struct log){ 0 };
    braid_log_set(keep_line, NULL);
    return 0;
}

static int end_log(void **state)
{
    (void)state;
    braid_log_set(NULL, NULL);
    return 0;
}

static void allocations_of_both_kinds_are_freed_in_any_order(void **state)
{
    (void)state;
    enum { NUM = 500, STEP = 211 }; // the step is prime to the number
    braid_device *device = open_device();
    void *memories[NUM];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < NUM; i++)
            check_ok(braid_memory_allocate(device, i % 3 ? BRAID_MEMORY_DEVICE : BRAID_MEMORY_HOST,
                                           256, &memories[i]));
        for (int i = 0; i < NUM; i++)
            braid_memory_free(device, memories[i * STEP % NUM]);
    }
    assert_int_equal(lines.num_lines, 0);
    check_ok(braid_device_close(device));
    assert_int_equal(lines.num_lines, 0);
}

static void frees_of_unknown(braid_device *device, void *memory)
{
    char address[32];
    lines = (struct log){ 0 };
    snprintf(address, sizeof(address), "%p", memory);
    braid_memory_free(device, memory);
    assert_int_equal(lines.num_lines, 1);
    assert_non_null(strstr(lines.last, "braid_memory_free"));
    assert_non_null(strstr(lines.last, address));
}

static void what_the_device_does_not_know_stays(void **state)
{
    (void)state;
    braid_device *device = open_device(), *other = open_device(), *group;
    braid_stream *stream = braid_device_get_default_stream(device);
    uint32_t word = 7, *kept, *freed, *others;
    check_ok(braid_device_open_group(&device, 1, &group));
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_HOST, 256, (void **)&kept));
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, 256, (void **)&freed));
    check_ok(braid_memory_allocate(other, BRAID_MEMORY_HOST, 256, (void **)&others));
    braid_memory_free(device, freed);
    braid_memory_free(device, NULL);
    assert_int_equal(lines.num_lines, 0);
    frees_of_unknown(device, freed);
    frees_of_unknown(device, &word);
    frees_of_unknown(device, kept + 1);
    frees_of_unknown(device, others);
    frees_of_unknown(group, kept);
    lines = (struct log){ 0 };
    *kept = *others = word;
    check_ok(braid_stream_fill(stream, kept, 8, 4, 1));
    check_ok(braid_stream_wait(stream));
    assert_int_equal(*kept, 8);
    assert_int_equal(*others, 7);
    check_ok(braid_device_close(group));
    check_fails(braid_device_close(device), BRAID_IN_USE, "still has 1 allocation of it");
    braid_memory_free(device, kept);
    braid_memory_free(other, others);
    check_ok(braid_device_close(device));
    check_ok(braid_device_close(other));
    frees_of_unknown(device, &word);
}

// The failure of a free is no failure of the calls round it.
static void the_threads_message_stays(void **state)
{
    (void)state;
    braid_device *device = open_device();
    uint32_t word = 0;
    check_fails(braid_stream_wait(NULL), BRAID_INVALID_ARGUMENT, "stream is NULL");
    frees_of_unknown(device, &word);
    assert_non_null(strstr(braid_error_get_message(), "stream is NULL"));
    check_ok(braid_device_close(device));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(allocations_of_both_kinds_are_freed_in_any_order, start_log,
                                        end_log),
        cmocka_unit_test_setup_teardown(what_the_device_does_not_know_stays, start_log, end_log),
        cmocka_unit_test_setup_teardown(the_threads_message_stays, start_log, end_log),
    };
    backend = argc > 1 ? argv[1] : backend;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
