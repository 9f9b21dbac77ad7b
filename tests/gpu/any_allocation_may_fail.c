// SPDX-License-Identifier: Apache-2.0
// If an allocation of a device's whole life fails, once or from then on for good, the call that
// needed it says so. It works if it is tried again with memory, and destroying takes none. Of each
// path to an allocation, the first fails. The plain build and those with sanitizers divide the
// paths. The argument names the backend.
#include <stdatomic.h>
#include <stdio.h>

#include "gpu/sweep.h"
#include "support/call_paths.h"
#include "support/check.h"
#include "support/failing_memory.h"

static const char *backend, allocation[] = "allocation";
static atomic_long num_allocations;

static void note_allocation(const void *caller)
{
    atomic_fetch_add(&num_allocations, 1);
    call_paths_note(allocation, caller);
}

static void note(bool on)
{
    (void)on;
    failing_memory_watch(note_allocation); // counts from now on
}

static void let_fail(const char *function, long nth, int for_good)
{
    if (!function)
        failing_memory_disarm();
    else if (for_good)
        failing_memory_arm((uint64_t)nth);
    else
        failing_memory_arm_once((uint64_t)nth);
}

static long count(const char *function)
{
    (void)function;
    return atomic_load(&num_allocations);
}

static void heal(void)
{
    failing_memory_disarm();
}

static const struct interposer allocations = { .note = note, .let_fail = let_fail, .calls = count };

static const struct sweep_words words[] = {
    { allocation, "memory" },
    { allocation, "cannot allocate" },
    { allocation, .reason = "some do without" },
    { 0 },
};

static void in_mode(braid_exec_mode mode)
{
    char name[64];
    // Memory that stays away ends most calls at once, so fewer paths are enough there.
    for (int for_good = 0; for_good < 2; for_good++) {
        const struct sweep sweep = {
            .interposer = &allocations,
            .live = life_live,
            .life = { .backend = backend, .mode = mode, .heal = heal },
            .words = words,
            .code = for_good,
            .frames = 4, // one is in base/host_memory.h
            .step = (sweep_is_shortened() ? sweep_step() : 2) * (1 + for_good),
            .phase = sweep_is_shortened() ? 1 : 0,
            .least = 300,
        };
        snprintf(name, sizeof(name), "%s, mode %d, allocations %s", backend, (int)mode,
                 for_good ? "for good" : "once");
        sweep_run(&sweep, name);
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
