// SPDX-License-Identifier: Apache-2.0
// The interposer before the HIP library under test.
#include "gpu/hip/hip_testing.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

static long (*count)(const char *name);
static bool (*set_rules)(const char *rules);

// The call that is to fail.
static char failing[64];
static long failing_nth, calls_before; // failing_nth: 0 once it is over
static long last_nth;

// Calls that create something, those that destroy it, and creations that were made to fail.
struct balance {
    const char *creates[3], *destroy;
    long num_failed;
};

static struct balance balances[] = {
    { { "hipMalloc", "hipExtMallocWithFlags", "hipMallocManaged" }, "hipFree", 0 },
    { { "hipHostMalloc" }, "hipHostFree", 0 },
    { { "hipStreamCreateWithPriority" }, "hipStreamDestroy", 0 },
    { { "hipEventCreateWithFlags" }, "hipEventDestroy", 0 },
    { { "hipImportExternalSemaphore" }, "hipDestroyExternalSemaphore", 0 },
    { { "hipModuleLoadData" }, "hipModuleUnload", 0 },
    { { "hiprtcCreateProgram" }, "hiprtcDestroyProgram", 0 },
};

enum { NUM_BALANCES = sizeof(balances) / sizeof(balances[0]), MOST_CREATES = 3 };

// A library without the function is not the one that the test was built for.
static uintptr_t find(void *library, const char *name)
{
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        print_error("%s\n", dlerror());
        abort();
    }
    return (uintptr_t)found;
}

// The interposer first: the other library may have the same name inside, and would be taken for it.
bool hip_open(void)
{
    const char *real = getenv("BRAID_INTERPOSE_REAL");
    void *library = dlopen("libamdhip64.so.6", RTLD_NOW | RTLD_LOCAL);
    count = (long (*)(const char *))find(library, "braid_interpose_count");
    set_rules = (bool (*)(const char *))find(library, "braid_interpose_fail");
    if (real && dlopen(real, RTLD_NOW | RTLD_LOCAL))
        return true;
    printf("1..0 # skip %s\n", real ? dlerror() : "BRAID_INTERPOSE_REAL is not set");
    return false;
}

bool hip_is_counted(const char *function)
{
    return count(function) >= 0;
}

long hip_calls(const char *function)
{
    long calls = count(function);
    if (calls < 0)
        fail_msg("%s is not interposed", function);
    return calls;
}

bool hip_has_failed(void)
{
    return failing_nth > 0 && hip_calls(failing) - calls_before >= failing_nth;
}

static bool creates(const struct balance *balance, const char *function)
{
    size_t i = 0;
    while (i < MOST_CREATES && balance->creates[i] && strcmp(balance->creates[i], function) != 0)
        i++;
    return i < MOST_CREATES && balance->creates[i];
}

static void note_failed_creation(void)
{
    if (!hip_has_failed())
        return;
    for (size_t i = 0; i < NUM_BALANCES; i++)
        balances[i].num_failed += creates(&balances[i], failing);
}

void hip_fail(const char *function, long nth, int code)
{
    char rule[128];
    note_failed_creation();
    failing_nth = 0;
    last_nth = nth ? nth : last_nth;
    if (!function) {
        assert_true(set_rules(NULL));
        return;
    }
    snprintf(failing, sizeof(failing), "%s", function);
    snprintf(rule, sizeof(rule), "%s:%ld=%d", function, nth, code);
    calls_before = hip_calls(function);
    failing_nth = nth;
    assert_true(set_rules(rule));
}

// Only a stand-in driver in the process has the function.
static long bad_accesses(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!driver)
        return 0;
    long (*bad)(void) = (long (*)(void))find(driver, "standin_bad_accesses");
    dlclose(driver);
    return bad();
}

void hip_check_nothing_is_left(void)
{
    for (size_t i = 0; i < NUM_BALANCES; i++) {
        const struct balance *balance = &balances[i];
        long live = -balance->num_failed - hip_calls(balance->destroy);
        for (size_t j = 0; j < MOST_CREATES && balance->creates[j]; j++)
            live += hip_calls(balance->creates[j]);
        // One that failed and was made again is one call too many.
        if (live == -1 && strcmp(failing, balance->destroy) == 0) {
            balances[i].num_failed--;
            live = 0;
        }
        if (live != 0)
            fail_msg("%ld calls of %s without one of %s after failing call %ld of %s", live,
                     balance->creates[0], balance->destroy, last_nth, failing);
    }
    assert_int_equal(bad_accesses(), 0);
}
