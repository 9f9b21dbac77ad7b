// SPDX-License-Identifier: Apache-2.0
// Opening the group of devices that the environment asks for.
#include "groups/group_under_test.h"

#include <stdlib.h>
#include <string.h>

#include "support/check.h"

static uint32_t read_number(const char *name, uint32_t otherwise)
{
    const char *text = getenv(name);
    return text ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

static const char *read_text(const char *name, const char *otherwise)
{
    return getenv(name) ? getenv(name) : otherwise;
}

braid_device *group_under_test_device(const struct group_under_test *test, uint32_t place)
{
    return test->devices[place % test->num_devices];
}

braid_status group_under_test_open(struct group_under_test *test)
{
    const char *backend = read_text("BRAID_TEST_BACKEND", "cpu");
    bool is_cpu = strcmp(backend, "cpu") == 0;
    memset(test, 0, sizeof(*test));
    test->num_places = read_number("BRAID_TEST_PLACES", 2);
    test->num_devices = read_number("BRAID_TEST_DEVICES", is_cpu ? 1 : test->num_places);
    test->frames = read_number("BRAID_TEST_FRAMES", 1);
    test->mode = strcmp(read_text("BRAID_TEST_MODE", "streams"), "graph") == 0 ? BRAID_MODE_GRAPH
                                                                               : BRAID_MODE_STREAMS;
    assert_in_range(test->num_places, 1, GROUP_MOST);
    assert_in_range(test->num_devices, 1, test->num_places);
    braid_device *places[GROUP_MOST];
    for (uint32_t i = 0; i < test->num_devices; i++) {
        const braid_device_options options = { .backend = backend,
                                               .ordinal = i,
                                               .num_workers = is_cpu ? 3 : 0 };
        braid_status status = braid_device_open(&options, &test->devices[i]);
        if (status) {
            test->devices[i] = NULL;
            group_under_test_close(test);
            return status;
        }
    }
    for (uint32_t i = 0; i < test->num_places; i++)
        places[i] = group_under_test_device(test, i);
    check_ok(braid_device_open_group(places, test->num_places, &test->group));
    return BRAID_OK;
}

void group_under_test_close(struct group_under_test *test)
{
    braid_device_close(test->group);
    for (uint32_t i = 0; i < test->num_devices; i++)
        check_ok(braid_device_close(test->devices[i]));
    memset(test, 0, sizeof(*test));
}
