// SPDX-License-Identifier: Apache-2.0
// The proof that a schedule's islands are stretches of lanes.
#ifndef BRAID_VERIFY_VERIFY_ISLANDS_H
#define BRAID_VERIFY_VERIFY_ISLANDS_H

#include "plan/schedule.h"

// In an island nothing is waited for and nothing is recorded but at its ends, so that it stands in
// the plan as one node would. Errors: BRAID_INTERNAL (names the nodes), BRAID_NO_MEMORY.
braid_status braid_verify_islands(const braid_schedule *schedule);

#endif
