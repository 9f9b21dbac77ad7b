// SPDX-License-Identifier: Apache-2.0
// Each byte of a capture is changed, and the file is cut at each byte: the reader refuses it. With
// a sum that fits again it reads another capture or refuses that, and never breaks.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture_file.h"
#include "support/check.h"
#include "tool/capture_frames.h"

static unsigned char *whole;
static size_t num_bytes;

static enum exit_status read_copy(const unsigned char *bytes, size_t num)
{
    struct capture_file file;
    unsigned char *copy = malloc(num ? num : 1); // of its own, so that ASan sees its end
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
    num_bytes = (size_t)capture_frame("cpu", false, path);
    whole = malloc(num_bytes);
    assert_non_null(whole);
    FILE *file = fdopen(descriptor, "rb");
    (void)freopen(path, "rb", file);
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
            put_number(whole + num_bytes - 8, capture_sum(whole, num_bytes - 8));
            num_refused += read_copy(whole, num_bytes) != EXIT_DONE;
            whole[i] ^= changes[k];
        }
    }
    assert_true(num_refused > 0);
    put_number(whole + num_bytes - 8, capture_sum(whole, num_bytes - 8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_changed_byte_is_noticed),
        cmocka_unit_test(any_cut_is_noticed),
        cmocka_unit_test(a_file_with_another_sum_is_read_or_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
