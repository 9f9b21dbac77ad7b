// SPDX-License-Identifier: Apache-2.0
// Which players each backend has, best first.
#include "backends/players.h"

const struct player *const braid_cpu_players[] = {
    &braid_walker_player,
    &braid_cpu_streams_player,
    NULL,
};

const struct player *const braid_cuda_players[] = {
    &braid_graph_player,
    &braid_cuda_streams_player,
    &braid_driven_streams_player,
    NULL,
};

// HIP's text leaves a record of a pending event undefined. AMD's runtimes keep the earlier record
// alive for the waits that hold it (Event::enqueueRecordCommand); renewing makes it rare besides.
const struct player *const braid_hip_players[] = {
    &braid_renewing_streams_player,
    &braid_renewing_driven_streams_player,
    NULL,
};

// ---- traps in loops ----

static void note_node(const struct tasks *tasks, uint32_t node, const struct frame *frame,
                      uint64_t number)
{
    for (uint32_t i = tasks->first_address[node]; i < tasks->first_address[node + 1]; i++) {
        uint32_t index = tasks->addresses[i].trap; // from 1
        struct frame_trap *trap = index ? &frame->traps[index - 1] : NULL;
        if (trap && frame_trap_is_set(trap) && !atomic_load(&trap->iteration))
            atomic_store(&trap->iteration, number);
    }
}

void braid_players_note_traps(const struct program *body, const struct frame *frame,
                              uint64_t number)
{
    const struct tasks *tasks = body->tasks;
    if (!tasks->num_traps)
        return;
    for (size_t i = 0; i < body->num_ops; i++)
        if (program_has_node(&body->ops[i]))
            note_node(tasks, body->ops[i].node, frame, number);
    for (uint32_t i = 0; i < body->num_bodies; i++)
        braid_players_note_traps(&body->bodies[i], frame, number);
}
