// SPDX-License-Identifier: Apache-2.0
// Each byte of a capture is changed, and the file is cut at each byte: the reader refuses it. With
// a sum that fits again it reads another capture or refuses that, and never breaks.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "capture_file.h"
#include "support/check.h"
#include "tool/capture_frames.h"

braid_cpu_function count; // capture_kernels.c
void note(void *user);

static bool has_bodies; // the file with loops and branches
static unsigned char *whole;
static size_t num_bytes;

static enum exit_status read_copy(const unsigned char *bytes, size_t num)
{
    struct capture_file file;
    unsigned char *copy = malloc(num ? num : 1); // its own, so that ASan sees its end
    assert_non_null(copy);
    memcpy(copy, bytes, num);
    enum exit_status status = capture_file_read_bytes("test", copy, num, &file);
    capture_file_finish(&file);
    return status;
}

static void put_number(unsigned char *to, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        to[i] = (unsigned char)(number >> 8 * i);
}

static int set_up(void **state)
{
    (void)state;
    char path[] = "/tmp/braid_capture_XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    if (has_bodies)
        num_bytes = (size_t)capture_bodies("cpu", BRAID_MODE_AUTO, false, path);
    else
        num_bytes = (size_t)capture_frame("cpu", false, path);
    whole = malloc(num_bytes);
    assert_non_null(whole);
    FILE *file = fdopen(descriptor, "rb");
    assert_non_null(freopen(path, "rb", file));
    assert_int_equal(fread(whole, 1, num_bytes, file), num_bytes);
    fclose(file);
    unlink(path);
    message_be_quiet();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(whole);
    return 0;
}

static void any_changed_byte_is_noticed(void **state)
{
    (void)state;
    assert_int_equal(read_copy(whole, num_bytes), EXIT_DONE);
    for (size_t i = 0; i < num_bytes; i++) {
        whole[i] ^= 1;
        assert_int_equal(read_copy(whole, num_bytes), EXIT_BAD_FILE);
        whole[i] ^= 1;
    }
}

static void any_cut_is_noticed(void **state)
{
    (void)state;
    for (size_t i = 0; i < num_bytes; i++)
        assert_int_equal(read_copy(whole, i), EXIT_BAD_FILE);
}

static void a_file_with_another_sum_is_read_or_refused(void **state)
{
    static const unsigned char changes[] = { 1, 0x80, 0xff };
    (void)state;
    size_t num_refused = 0;
    for (size_t i = 20; i < num_bytes - 8; i++) {
        for (size_t k = 0; k < sizeof(changes); k++) {
            whole[i] ^= changes[k];
            put_number(whole + num_bytes - 8, hash_bytes(whole, num_bytes - 8));
            num_refused += read_copy(whole, num_bytes) != EXIT_DONE;
            whole[i] ^= changes[k];
        }
    }
    assert_true(num_refused > 0);
    put_number(whole + num_bytes - 8, hash_bytes(whole, num_bytes - 8));
}

// A file without contents, whose last node ends in the address of a buffer.
static unsigned char *capture_address(bool is_grid, size_t *out_num)
{
    char path[] = "/tmp/braid_capture_XXXXXX";
    const braid_kernel kernel = { .name = "count", .cpu = count };
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    braid_resource local;
    uint64_t num;
    FILE *file = fdopen(mkstemp(path), "rb");
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_transient(graph, "local", 16, 0, &local));
    const braid_fill fill = { BRAID_ACCESSES({ local, BRAID_WRITE }), .to_resource = local,
                              .num_values = 16 };
    check_ok(braid_graph_add_fill(graph, &fill, NULL));
    braid_kernel_node launch = { BRAID_ACCESSES({ local, BRAID_READ_WRITE }), .kernel = &kernel,
                                 .grid_from_resource = local };
    braid_host_call call = { BRAID_ACCESSES({ local, BRAID_READ_WRITE }), .call = note,
                             .user_resource = local };
    check_ok(is_grid ? braid_graph_add_kernel(graph, &launch, NULL)
                     : braid_graph_add_host_call(graph, &call, NULL));
    check_ok(braid_exec_create(device, graph, &(braid_exec_options){ .capture = true }, &exec));
    check_ok(braid_exec_save_capture(exec, path, &num));
    unsigned char *bytes = malloc(num);
    assert_non_null(bytes);
    assert_non_null(freopen(path, "rb", file));
    assert_int_equal(fread(bytes, 1, num, file), num);
    fclose(file);
    unlink(path);
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    check_ok(braid_device_close(device));
    *out_num = num;
    return bytes;
}

// A trap has no memory to read a grid from, or to give to a call.
static void a_trap_is_no_address_in_a_buffer(void **state)
{
    enum { LESS = 4 + 8 }; // a word without its resource and offset
    (void)state;
    for (int i = 0; i < 2; i++) {
        size_t num;
        uint64_t section;
        unsigned char *bytes = capture_address(i == 0, &num);
        assert_int_equal(read_copy(bytes, num), EXIT_DONE);
        unsigned char *nodes = memmem(bytes, num, "NODE", 4);
        assert_non_null(nodes);
        memcpy(&section, nodes + 4, sizeof(section));
        unsigned char *word = nodes + LESS + section - LESS - 1;
        assert_int_equal(*word, 1);
        *word = 2;
        memmove(word + 1, word + 1 + LESS, (size_t)(bytes + num - word) - 1 - LESS);
        num -= LESS;
        put_number(nodes + 4, section - LESS);
        put_number(bytes + 12, num);
        put_number(bytes + num - 8, hash_bytes(bytes, num - 8));
        assert_int_equal(read_copy(bytes, num), EXIT_BAD_FILE);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_changed_byte_is_noticed),
        cmocka_unit_test(any_cut_is_noticed),
        cmocka_unit_test(a_file_with_another_sum_is_read_or_refused),
        cmocka_unit_test(a_trap_is_no_address_in_a_buffer),
    };
    int num_failed = cmocka_run_group_tests(tests, set_up, tear_down);
    has_bodies = true;
    return num_failed + cmocka_run_group_tests_name("with bodies", tests, set_up, tear_down);
}
