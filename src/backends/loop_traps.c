// SPDX-License-Identifier: Apache-2.0
// Looks at the traps of a loop's nodes behind an iteration.
#include "backends/loop_traps.h"

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

void braid_loop_traps_note(const struct program *body, const struct frame *frame, uint64_t number)
{
    const struct tasks *tasks = body->tasks;
    if (!tasks->num_traps)
        return;
    for (size_t i = 0; i < body->num_ops; i++)
        if (program_has_node(&body->ops[i]))
            note_node(tasks, body->ops[i].node, frame, number);
    for (uint32_t i = 0; i < body->num_bodies; i++)
        braid_loop_traps_note(&body->bodies[i], frame, number);
}
