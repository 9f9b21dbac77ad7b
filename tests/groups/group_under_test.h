// SPDX-License-Identifier: Apache-2.0
// The group of devices that the environment asks for: BRAID_TEST_BACKEND (cpu), BRAID_TEST_MODE
// (streams), BRAID_TEST_PLACES (2), BRAID_TEST_FRAMES (1) and BRAID_TEST_DEVICES: how many devices
// these places are of (as many as places; of the CPU one).
#ifndef BRAID_TESTS_GROUP_UNDER_TEST_H
#define BRAID_TESTS_GROUP_UNDER_TEST_H

#include <braid/braid.h>

enum { GROUP_MOST = 8 };

struct group_under_test {
    uint32_t num_devices, num_places;
    braid_device *devices[GROUP_MOST];
    braid_device *group;
    braid_exec_mode mode;
    uint32_t frames;
};

// Errors: those of braid_device_open; the message says which device is not there.
braid_status group_under_test_open(struct group_under_test *test);
void group_under_test_close(struct group_under_test *test);

// The device of a place.
braid_device *group_under_test_device(const struct group_under_test *test, uint32_t place);

#endif
