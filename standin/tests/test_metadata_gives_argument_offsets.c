// SPDX-License-Identifier: Apache-2.0
// The metadata reader finds explicit arguments, whatever surrounds them, and damage does not fool
// it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka.h needs the four above.
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "metadata.h"

// {"x": [nil, -1, 1.5, bin, ext], "amdhsa.kernels": [
//   {".args": [], ".symbol": "none.kd"},
//   {".args": [{".size": 8, ".offset": 0, ".value_kind": "global_buffer"},
//              {".offset": 300, ".value_kind": "by_value"},
//              {".offset": 304, ".value_kind": "hidden_none"}],
//    ".symbol": "two.kd"}]}
static const unsigned char metadata[] = {
    0x82, 0xa1, 'x', 0x95, 0xc0, 0xff, 0xca, 0x3f, 0xc0, 0, 0, 0xc4, 2, 9, 9, 0xd4, 1, 7, 0xae, 'a',
    'm', 'd', 'h', 's', 'a', '.', 'k', 'e', 'r', 'n', 'e', 'l', 's', 0xdc, 0, 2,
    // none.kd
    0x82, 0xa5, '.', 'a', 'r', 'g', 's', 0x90, 0xa7, '.', 's', 'y', 'm', 'b', 'o', 'l', 0xa7, 'n',
    'o', 'n', 'e', '.', 'k', 'd',
    // two.kd
    0xde, 0, 2, 0xa5, '.', 'a', 'r', 'g', 's', 0x93,
    // its first argument
    0x83, 0xa5, '.', 's', 'i', 'z', 'e', 8, 0xa7, '.', 'o', 'f', 'f', 's', 'e', 't', 0, 0xab, '.',
    'v', 'a', 'l', 'u', 'e', '_', 'k', 'i', 'n', 'd', 0xd9, 13, 'g', 'l', 'o', 'b', 'a', 'l', '_',
    'b', 'u', 'f', 'f', 'e', 'r',
    // its second
    0x82, 0xa7, '.', 'o', 'f', 'f', 's', 'e', 't', 0xcd, 1, 0x2c, 0xab, '.', 'v', 'a', 'l', 'u',
    'e', '_', 'k', 'i', 'n', 'd', 0xa8, 'b', 'y', '_', 'v', 'a', 'l', 'u', 'e',
    // the compiler's
    0x82, 0xa7, '.', 'o', 'f', 'f', 's', 'e', 't', 0xce, 0, 0, 1, 0x30, 0xab, '.', 'v', 'a', 'l',
    'u', 'e', '_', 'k', 'i', 'n', 'd', 0xab, 'h', 'i', 'd', 'd', 'e', 'n', '_', 'n', 'o', 'n', 'e',
    0xa7, '.', 's', 'y', 'm', 'b', 'o', 'l', 0xa6, 't', 'w', 'o', '.', 'k', 'd'
};

static void explicit_arguments_are_found(void **state)
{
    (void)state;
    uint32_t *offsets = NULL;
    uint32_t num_arguments = 99;
    assert_true(standin_metadata_find_arguments(metadata, sizeof(metadata), "two.kd", &offsets,
                                                &num_arguments));
    assert_int_equal(num_arguments, 2);
    assert_int_equal(offsets[0], 0);
    assert_int_equal(offsets[1], 300);
    free(offsets);
}

static void a_kernel_may_have_no_arguments(void **state)
{
    (void)state;
    uint32_t *offsets = NULL;
    uint32_t num_arguments = 99;
    assert_true(standin_metadata_find_arguments(metadata, sizeof(metadata), "none.kd", &offsets,
                                                &num_arguments));
    assert_int_equal(num_arguments, 0);
    assert_null(offsets);
}

static void another_kernel_is_not_found(void **state)
{
    (void)state;
    uint32_t *offsets = NULL;
    uint32_t num_arguments = 0;
    assert_false(standin_metadata_find_arguments(metadata, sizeof(metadata), "three.kd", &offsets,
                                                 &num_arguments));
}

static void metadata_cut_short_anywhere_is_refused(void **state)
{
    (void)state;
    for (size_t length = 0; length < sizeof(metadata); length++) {
        uint32_t *offsets = NULL;
        uint32_t num_arguments = 0;
        // In memory of its own, so that a sanitizer sees a read past the end.
        unsigned char *cut = malloc(length + 1);
        assert_non_null(cut);
        memcpy(cut, metadata, length);
        cut = realloc(cut, length ? length : 1);
        assert_non_null(cut);
        assert_false(
            standin_metadata_find_arguments(cut, length, "two.kd", &offsets, &num_arguments));
        free(cut);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(explicit_arguments_are_found),
        cmocka_unit_test(a_kernel_may_have_no_arguments),
        cmocka_unit_test(another_kernel_is_not_found),
        cmocka_unit_test(metadata_cut_short_anywhere_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
