// SPDX-License-Identifier: Apache-2.0
// If an allocation of a device's whole life fails, once or from then on for good, the call that
// needed it says so. It works if it is tried again with memory, and destroying takes none. Of each
// path to an allocation, the first fails. The plain build and those with sanitizers divide the
// paths. The argument names the backend.
#include <stdio.h>
#include <string.h>

#include "gpu/life.h"
#include "gpu/sweep.h"
#include "support/call_paths.h"
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

enum { FRAMES = 3, MOST = 1 << 13 };
static const char allocation[] = "allocation";

static void note_allocation(const void *caller)
{
    call_paths_note(allocation, caller);
}

static size_t choose_allocations(braid_exec_mode mode, long step, long *out_numbers)
{
    call_paths_begin(FRAMES);
    failing_memory_watch(note_allocation);
    assert_false(fail_nth(INT64_MAX, false, mode));
    failing_memory_watch(NULL);
    call_paths_end();
    return call_paths_choose(allocation, step, sweep_is_shortened() ? 1 : 0, out_numbers, MOST);
}

static void in_mode(braid_exec_mode mode)
{
    static long numbers[MOST];
    // Memory that stays away ends most calls at once, so fewer paths are enough there.
    for (int for_good = 0; for_good < 2; for_good++) {
        long step = (sweep_is_shortened() ? sweep_step() : 2) * (1 + for_good);
        size_t num_failed = 0, num = choose_allocations(mode, step, numbers);
        for (size_t i = 0; i < num; i++)
            num_failed += fail_nth((uint64_t)numbers[i], for_good, mode);
        print_message("summary: %s, mode %d: %zu allocations failed%s\n", backend, (int)mode,
                      num_failed, for_good ? " for good" : " once");
        assert_true(num_failed > 300 / (size_t)step);
    }
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
