// SPDX-License-Identifier: Apache-2.0
// What the tests of the CUDA column over the stand-in driver share.
#ifndef BRAID_TESTS_GPU_TESTING_H
#define BRAID_TESTS_GPU_TESTING_H

#include "gpu/frame.h"
#include "standin/standin_control.h"
#include "support/owner.h"

// Which calls fail from now on, as BRAID_STANDIN_FAIL has it, and printf writes it; NULL: none.
void fail_calls(const char *rules, ...);

// Undoes every BRAID_STANDIN_* setting.
void reset_standin(void);

// Asserts that the driver holds nothing and saw no bad access.
void check_nothing_is_left(void);

// A test over the stand-in, of which each setting is undone before. Afterwards what the test owns
// goes, and the driver holds nothing.
#define standin_test(name) cmocka_unit_test_setup_teardown(name, standin_set_up, standin_tear_down)
int standin_set_up(void **state);
int standin_tear_down(void **state);
void finish_standin(void); // at once

// How many objects of all kinds the driver holds.
long count_objects(void);

#endif
