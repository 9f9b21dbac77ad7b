// SPDX-License-Identifier: Apache-2.0
// Programs written by hand, lane by lane, and played without a graph or an exec.
#ifndef BRAID_TESTS_HAND_PROGRAM_H
#define BRAID_TESTS_HAND_PROGRAM_H

#include "backends/players.h"

// `index` is a task (run) or a record (record, wait): record r is the end of the task that its lane
// ran last.
struct hand_step {
    braid_step_kind kind;
    uint32_t index;
};

struct hand_lane {
    const struct hand_step *steps;
    size_t num_steps;
};

struct hand_plan {
    const struct hand_lane *lanes;
    uint32_t num_lanes;
    uint32_t num_records;
    const struct backend_task *tasks; // their arguments' sizes outlive the program
    uint32_t num_tasks;
};

struct hand_program {
    braid_device device;
    struct tasks tasks;
    struct frame frame;
    struct program program;
    const struct player *player;
    struct playing *playing;
};

// Only the program, for `playing` as for `player` NULL. Errors are those of the library.
braid_status hand_program_create(struct backend *backend, const struct player *player,
                                 const struct hand_plan *plan, struct hand_program **out_program);
void hand_program_destroy(struct hand_program *program); // NULL does nothing

braid_status hand_program_launch(struct hand_program *program, struct backend_stream *stream);
braid_status hand_program_set_args(struct hand_program *program, uint32_t task, void *const *args);

#endif
