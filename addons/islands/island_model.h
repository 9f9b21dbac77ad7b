// SPDX-License-Identifier: Apache-2.0
// Costs of calls and waits in each shape of an island, and its room for the blocks of a call.
#ifndef BRAID_ISLANDS_ISLAND_MODEL_H
#define BRAID_ISLANDS_ISLAND_MODEL_H

#include "tasks/player.h"

// See player.get_cost_model and player.get_room. A chain is one lane, whose block runs several
// blocks of a call side by side.
void braid_island_get_chain_model(struct backend *backend, braid_cost_model *out_model);
bool braid_island_get_chain_room(struct backend *backend, const struct island_fit *fits,
                                 uint32_t num, braid_cost_model *model, struct plan_room *out_room);
// Narrow: lanes share one block.
void braid_island_get_narrow_model(struct backend *backend, braid_cost_model *out_model);
bool braid_island_get_narrow_room(struct backend *backend, const struct island_fit *fits,
                                  uint32_t num, braid_cost_model *model,
                                  struct plan_room *out_room);
// Lanes are spread over blocks.
void braid_island_get_wide_model(struct backend *backend, braid_cost_model *out_model);
bool braid_island_get_wide_room(struct backend *backend, const struct island_fit *fits,
                                uint32_t num, braid_cost_model *model, struct plan_room *out_room);

#endif
