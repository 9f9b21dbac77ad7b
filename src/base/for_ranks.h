// SPDX-License-Identifier: Apache-2.0
// A function of libbraid that libbraid_ranks uses besides the public ones.
//
// It is private. No other library may use it, and it may change with each version. The version of
// its symbol is the version of Braid (src/braid.map), so the loader refuses another pair.
#ifndef BRAID_BASE_FOR_RANKS_H
#define BRAID_BASE_FOR_RANKS_H

#include <braid/status.h>

#define FOR_RANKS BRAID_API

#endif
