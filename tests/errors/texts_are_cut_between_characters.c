// SPDX-License-Identifier: Apache-2.0
// A text that is too long is cut between characters, and line breaks are escaped in each language.
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "support/check.h"

static void a_long_text_ends_in_dots(void **state)
{
    (void)state;
    char out[10];
    braid_text_copy("123456789", out, sizeof(out));
    assert_string_equal(out, "123456789");
    braid_text_copy("1234567890", out, sizeof(out));
    assert_string_equal(out, "123456...");
    braid_text_copy("12345\xc3\xa9\xc3\xa9", out, sizeof(out)); // as long as there is room
    assert_string_equal(out, "12345\xc3\xa9\xc3\xa9");
    braid_text_copy("12345\xc3\xa9\xc3\xa9!", out, sizeof(out)); // the dots need more than one byte
    assert_string_equal(out, "12345...");
    braid_text_copy("1\xff", out, sizeof(out));
    assert_string_equal(out, "1\xef\xbf\xbd");
}

static void check_written(void (*write)(FILE *file, const char *text), const char *expected)
{
    char *made = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&made, &length);
    assert_non_null(file);
    write(file, "a\nb<\"\x01");
    assert_int_equal(fclose(file), 0);
    assert_string_equal(made, expected);
    free(made);
}

static void line_breaks_and_signs_are_escaped(void **state)
{
    (void)state;
    check_written(braid_text_write_xml, "a b&lt;&quot;\\x01");
    check_written(braid_text_write_json, "a\\u000ab\\u003c\\\"\\\\x01");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_text_ends_in_dots),
        cmocka_unit_test(line_breaks_and_signs_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
