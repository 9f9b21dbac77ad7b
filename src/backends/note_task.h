// SPDX-License-Identifier: Apache-2.0
// The fill that notes in a lane's row that a task has begun or ended (base/note.h).
#ifndef BRAID_BACKENDS_NOTE_TASK_H
#define BRAID_BACKENDS_NOTE_TASK_H

#include "base/note.h"
#include "device/backend.h"

// `task` has a note.
static inline struct backend_task note_task(const struct backend_task *task, bool ended)
{
    return (struct backend_task){
        .kind = WORK_FILL,
        .name = task->name,
        .lane = task->lane,
        .node = task->node,
        .place = task->place,
        .fill = { .to = ended ? &task->note->ended : &task->note->begun,
                  .value = ended ? ~(task->node + 1) : task->node + 1,
                  .value_bytes = sizeof(uint32_t),
                  .num_values = ended ? 1 : 2 },
    };
}

#endif
