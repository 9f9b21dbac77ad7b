// SPDX-License-Identifier: Apache-2.0
// What the tests of the HIP column share: the interposer before the HIP library under test, which
// counts its calls and fails them.
#ifndef BRAID_TESTS_HIP_TESTING_H
#define BRAID_TESTS_HIP_TESTING_H

#include "gpu/frame.h"

// Finds the interposer and the library behind it. False, after a line of TAP that says why the
// tests are skipped, where that library is not there.
bool hip_open(void);

bool hip_is_counted(const char *function);
long hip_calls(const char *function);

// Fails the nth call of a function from now on; NULL: none.
void hip_fail(const char *function, long nth, int code);
bool hip_has_failed(void);

// Every object that was created since the start was destroyed again, but for those that a failed
// call promised. Only over a stand-in driver: no access was bad.
void hip_check_nothing_is_left(void);

#endif
