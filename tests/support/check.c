// SPDX-License-Identifier: Apache-2.0
// Assertions on statuses and messages, for every test.
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/left_out.h"

// What one test compiled is nothing to the next, and nothing to whoever runs them.
__attribute__((constructor)) static void keep_no_code(void)
{
    setenv("BRAID_CACHE", "off", 0);
    setenv("BRAID_NVJITLINK", "off", 0); // the stand-in driver runs no machine code
}

_Noreturn void skip_program(const char *reason)
{
    printf("%s\n", reason);
    fflush(stdout);
    _exit(77);
}

void skip_if_left_out(braid_status status)
{
    if (is_left_out(status))
        skip_because(braid_error_get_message());
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
    const char *message = braid_error_get_message();
    bool is_expected = status == expected && strstr(message, text);
    if (!is_expected && is_left_out(status)) {
        print_message("not tried: %s\n", message);
        return;
    }
    if (status != expected) {
        print_error("%s returned %s, not %s\n", call, braid_status_get_name(status),
                    braid_status_get_name(expected));
        _fail(file, line);
    }
    if (!strstr(message, text)) {
        print_error("%s: the message does not name '%s': %s\n", call, text, message);
        _fail(file, line);
    }
}

void skip_because(const char *reason)
{
    print_message("skipped: %s\n", reason);
    skip();
}
