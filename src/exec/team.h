// SPDX-License-Identifier: Apache-2.0
// A few threads that do one thing together and sleep in between.
#ifndef BRAID_EXEC_TEAM_H
#define BRAID_EXEC_TEAM_H

#include <stdint.h>

#include <braid/status.h>

struct team;

// What a member does; member 0 is the thread that calls braid_team_run.
typedef braid_status team_function(void *user, uint32_t member);

// Makes a team of num_members > 1, the caller counted in. Errors: BRAID_NO_MEMORY,
// BRAID_UNAVAILABLE (a thread could not be started).
braid_status braid_team_create(uint32_t num_members, struct team **out_team);
void braid_team_destroy(struct team *team);

// Runs function(user, member) on every member at once and returns when all have returned: BRAID_OK,
// or the first member's failure, its message made the caller's.
braid_status braid_team_run(struct team *team, team_function *function, void *user);

#endif
