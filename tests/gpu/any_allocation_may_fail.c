// SPDX-License-Identifier: Apache-2.0
// Whichever allocation of a device's whole life fails, once or from then on for good: the call that
// needed it says so, works when it is tried again with memory, and destroying takes none. The
// argument names the backend.
#include <stdio.h>
#include <string.h>

#include "gpu/life.h"
#include "gpu/sweep.h"
#include "support/check.h"
#include "support/failing_memory.h"

static const char *backend;

static void heal(void)
{
    failing_memory_disarm();
}

// False when no allocation failed any more.
static bool fail_nth(uint64_t nth, bool for_good, braid_exec_mode mode)
{
    struct life life = { .backend = backend, .mode = mode, .heal = heal };
    if (for_good)
        failing_memory_arm(nth);
    else
        failing_memory_arm_once(nth);
    life_live(&life);
    bool failed = failing_memory_has_failed();
    failing_memory_disarm();
    if (!failed)
        assert_int_equal(life.num_failed, 0);
    for (const char *line = life.returned; *line; line = strchr(line, '\n') + 1) {
        size_t length = strcspn(line, "\n");
        char message[1024];
        snprintf(message, sizeof(message), "%.*s", (int)length, line);
        if (!strstr(message, "memory") && !strstr(message, "cannot allocate"))
            fail_msg("allocation %llu: '%s'", (unsigned long long)nth, message);
    }
    return failed;
}

static void in_mode(braid_exec_mode mode)
{
    uint64_t num[2] = { 0 };
    // Memory that stays away ends most calls at once, so each seventh allocation is enough there.
    for (uint64_t for_good = 0; for_good < 2; for_good++) {
        uint64_t step = (uint64_t)sweep_step() * (1 + 6 * for_good);
        for (uint64_t nth = 1; fail_nth(nth, for_good, mode); nth += step)
            num[for_good]++;
    }
    print_message("summary: %s, mode %d: %llu allocations failed once, %llu for good\n", backend,
                  (int)mode, (unsigned long long)num[0], (unsigned long long)num[1]);
    assert_true(num[0] > 100 && num[1] > 15);
}

static void on_streams(void **state)
{
    (void)state;
    in_mode(BRAID_MODE_STREAMS);
}

static void as_a_graph(void **state)
{
    (void)state;
    in_mode(BRAID_MODE_GRAPH);
}

int main(int num_arguments, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_streams),
        cmocka_unit_test(as_a_graph),
    };
    if (num_arguments < 2) {
        fprintf(stderr, "usage: %s cpu|cuda\n", arguments[0]);
        return 1;
    }
    backend = arguments[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
