// SPDX-License-Identifier: Apache-2.0
// The players of a whole graph as one island.
#ifndef BRAID_ISLANDS_ISLAND_PLAYERS_H
#define BRAID_ISLANDS_ISLAND_PLAYERS_H

#include "tasks/player.h"

// One kernel of one lane, of several in one block, and of many blocks; ended by NULL.
extern const struct player *const braid_island_players[];

#endif
