// SPDX-License-Identifier: Apache-2.0
// The numbers a test sets through the environment or standin_configure().
#include "settings.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../standin_control.h"
#include "cuda_abi_constants.h"
#include "faults.h"
#include "report.h"

static const struct {
    const char *name;
    uint64_t initial, least, most;
} numbers[NUM_SETTINGS] = {
    [SETTING_DEVICES] = { "BRAID_STANDIN_DEVICES", 1, 0, MAX_DEVICES },
    [SETTING_MEMORY] = { "BRAID_STANDIN_MEMORY", UINT64_C(1) << 30, 0, UINT64_MAX },
    [SETTING_SEED] = { "BRAID_STANDIN_SEED", 1, 0, UINT64_MAX },
    [SETTING_SLOW_US] = { "BRAID_STANDIN_SLOW_US", 0, 0, 1000000 },
    [SETTING_GRAPH_THREADS] = { "BRAID_STANDIN_GRAPH_THREADS", 1, 1, MAX_GRAPH_THREADS },
    [SETTING_MULTIPROCESSORS] = { "BRAID_STANDIN_MULTIPROCESSORS", STANDIN_MULTIPROCESSORS, 1,
                                  1024 },
    [SETTING_CLOCK_NS] = { "BRAID_STANDIN_CLOCK_NS", 0, 0, 1000000000 },
    [SETTING_PEERS] = { "BRAID_STANDIN_PEERS", 1, 0, 1 },
    [SETTING_PTX] = { "BRAID_STANDIN_PTX", 0, 0, 3 },
    [SETTING_VERSION] = { "BRAID_STANDIN_VERSION", 13000, 11040, 13050 },
    [SETTING_PIECES] = { "BRAID_STANDIN_PIECES", 0, 0, UINT64_MAX },
    [SETTING_ONE_QUEUE] = { "BRAID_STANDIN_ONE_QUEUE", 0, 0, 1 },
    [SETTING_REUSE] = { "BRAID_STANDIN_REUSE", 0, 0, 1 },
    [SETTING_AREA] = { "BRAID_STANDIN_AREA", 0, 0, UINT64_C(1) << 40 },
    [SETTING_HOST_OFFSET] = { "BRAID_STANDIN_HOST_OFFSET", 0, 0, 1 << 20 },
};

static _Atomic uint64_t values[NUM_SETTINGS];

uint64_t setting(enum setting which)
{
    return atomic_load_explicit(&values[which], memory_order_relaxed);
}

static bool set_number(enum setting which, const char *text)
{
    uint64_t value = numbers[which].initial;
    if (text != NULL && *text != '\0') {
        char *end = NULL;
        value = strtoull(text, &end, 0);
        if (*end != '\0' || value < numbers[which].least || value > numbers[which].most)
            return false;
    }
    atomic_store_explicit(&values[which], value, memory_order_relaxed);
    return true;
}

static bool apply(const char *name, const char *value)
{
    if (strcmp(name, "BRAID_STANDIN_FAIL") == 0)
        return faults_set_calls(value);
    if (strcmp(name, "BRAID_STANDIN_ASYNC") == 0)
        return faults_set_work(value);
    for (int i = 0; i < NUM_SETTINGS; i++)
        if (strcmp(name, numbers[i].name) == 0)
            return set_number((enum setting)i, value);
    return false;
}

static void load(void)
{
    for (int i = 0; i < NUM_SETTINGS; i++)
        if (!set_number((enum setting)i, getenv(numbers[i].name))) {
            complain("%s is not a number in its range", numbers[i].name);
            set_number((enum setting)i, NULL);
        }
    if (!faults_set_calls(getenv("BRAID_STANDIN_FAIL")))
        complain("BRAID_STANDIN_FAIL is not of the form function:nth=code[,...]");
    if (!faults_set_work(getenv("BRAID_STANDIN_ASYNC")))
        complain("BRAID_STANDIN_ASYNC is not of the form nth=code");
}

void settings_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
}

bool standin_configure(const char *name, const char *value)
{
    settings_load();
    return apply(name, value);
}

// The finaliser of SplitMix64, by its published constants.
uint64_t random_next(uint64_t *state)
{
    uint64_t mixed = (*state += UINT64_C(0x9E3779B97F4A7C15));
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    return mixed ^ (mixed >> 31);
}

uint64_t random_start(uint64_t stream)
{
    uint64_t state = setting(SETTING_SEED);
    return random_next(&state) ^ (stream * UINT64_C(0xD1342543DE82EF95));
}
