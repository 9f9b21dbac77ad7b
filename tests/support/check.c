// SPDX-License-Identifier: Apache-2.0
// Assertions on statuses and messages, for every test.
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// What one test compiled is nothing to the next, and nothing to whoever runs them.
__attribute__((constructor)) static void keep_no_code(void)
{
    setenv("BRAID_CACHE", "off", 0);
}

_Noreturn void skip_program(const char *reason)
{
    printf("%s\n", reason);
    fflush(stdout);
    _exit(77);
}

// A program that calls what this Braid was built without is skipped at once, objects and all.
static void skip_if_left_out(braid_status status)
{
    if (status == BRAID_UNSUPPORTED &&
        strstr(braid_error_get_message(), ": this Braid was built without the add-on '"))
        skip_program(braid_error_get_message());
}

void check_ok_at(braid_status status, const char *call, const char *file, int line)
{
    if (status == BRAID_OK)
        return;
    skip_if_left_out(status);
    print_error("%s returned %s: %s\n", call, braid_status_get_name(status),
                braid_error_get_message());
    _fail(file, line);
}

void check_fails_at(braid_status status, braid_status expected, const char *text, const char *call,
                    const char *file, int line)
{
    if (status != expected) {
        skip_if_left_out(status);
        print_error("%s returned %s, not %s\n", call, braid_status_get_name(status),
                    braid_status_get_name(expected));
        _fail(file, line);
    }
    if (!strstr(braid_error_get_message(), text)) {
        print_error("%s: the message does not name '%s': %s\n", call, text,
                    braid_error_get_message());
        _fail(file, line);
    }
}

void skip_because(const char *reason)
{
    print_message("skipped: %s\n", reason);
    skip();
}
