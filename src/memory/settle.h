// SPDX-License-Identifier: Apache-2.0
// From where on in the issue order a block is over for everybody.
#ifndef BRAID_MEMORY_SETTLE_H
#define BRAID_MEMORY_SETTLE_H

#include "memory/lifetimes.h"

// Fills `settled` from the other times: per block the place from where on every node knows that all
// its users have ended. Takes time in proportion to steps times lanes.
// Errors: BRAID_NO_MEMORY.
braid_status braid_settle(const braid_schedule *schedule, struct lifetimes *lifetimes);

#endif
