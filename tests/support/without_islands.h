// SPDX-License-Identifier: Apache-2.0
// Cases about islands, in a Braid without them.
#ifndef BRAID_TESTS_WITHOUT_ISLANDS_H
#define BRAID_TESTS_WITHOUT_ISLANDS_H

#include "plan/plan_islands.h"
#include "support/check.h"

static inline void skip_without_islands(void)
{
    if (!braid_plan_islands)
        skip_because("this Braid was built without the add-on 'islands'");
}

#endif
