// SPDX-License-Identifier: Apache-2.0
// How much of a sweep is made: all, unless the environment asks for less.
#ifndef BRAID_TESTS_GPU_SWEEP_H
#define BRAID_TESTS_GPU_SWEEP_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// BRAID_SWEEP_ONLY=TEXT: functions whose names contain it, in any case, fail, and no others. For
// mutants: who knows which call is wrong need not wait for all others to fail.
static inline bool sweep_is_whole(void)
{
    return !getenv("BRAID_SWEEP_ONLY");
}

static inline bool sweep_tries(const char *function)
{
    return sweep_is_whole() || strcasestr(function, getenv("BRAID_SWEEP_ONLY")) != NULL;
}

// BRAID_SWEEP_STEP=N: of each Nth path, the first call or allocation fails. For sanitizers, under
// which a life takes many times as long.
static inline long sweep_step(void)
{
    const char *text = getenv("BRAID_SWEEP_STEP");
    long step = text ? strtol(text, NULL, 10) : 1;
    return step > 0 ? step : 1;
}

static inline bool sweep_is_shortened(void)
{
    return getenv("BRAID_SWEEP_STEP") != NULL;
}

#endif
