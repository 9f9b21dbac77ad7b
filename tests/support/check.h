// SPDX-License-Identifier: Apache-2.0
// Assertions on statuses and messages, for every test. Includes cmocka the way it wants to be.
#ifndef BRAID_TESTS_CHECK_H
#define BRAID_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <braid/status.h>

// Macros, for the caller's file and line. A call whose add-on is left out of this Braid is no
// failure: check_ok skips the test, check_fails says so.
#define check_ok(status) check_ok_at((status), #status, __FILE__, __LINE__)
// The call failed with `expected`, and its message contains `text` (a node's or resource's name).
#define check_fails(status, expected, text)                                                        \
    check_fails_at((status), (expected), (text), #status, __FILE__, __LINE__)

void check_ok_at(braid_status status, const char *call, const char *file, int line);
void check_fails_at(braid_status status, braid_status expected, const char *text, const char *call,
                    const char *file, int line);

// Ends the test as skipped, with its reason. Not for set-ups: cmocka takes that for an error.
void skip_because(const char *reason);
// The same at a call whose add-on is left out, before the test makes what a skip would leave
// behind.
void skip_if_left_out(braid_status status);
// Ends the whole program so.
_Noreturn void skip_program(const char *reason);

#endif
