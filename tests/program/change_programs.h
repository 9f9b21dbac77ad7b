// SPDX-License-Identifier: Apache-2.0
// Wrong programs, which the proof must refuse: each operation of a right one changed.
#ifndef BRAID_TESTS_CHANGE_PROGRAMS_H
#define BRAID_TESTS_CHANGE_PROGRAMS_H

#include <stdlib.h>
#include <string.h>

#include "base/host_memory.h"
#include "plan/schedule.h"
#include "support/check.h"

// The proof with an operation taken out of a program of the tree, or put before the one before it.
static inline braid_status verify_changed(const braid_schedule *schedule, const braid_graph *graph,
                                          struct program *changed, size_t op, bool takes_out)
{
    braid_step *ops = changed->ops, *copy = malloc((changed->num_ops + 1) * sizeof(*copy));
    uint32_t *lane_ops = changed->lane_ops;
    assert_non_null(copy);
    memcpy(copy, ops, changed->num_ops * sizeof(*copy));
    changed->ops = copy;
    changed->lane_ops = NULL;
    if (takes_out) {
        memmove(&copy[op], &copy[op + 1], (changed->num_ops - op - 1) * sizeof(*copy));
    } else {
        copy[op - 1] = ops[op];
        copy[op] = ops[op - 1];
    }
    changed->num_ops -= takes_out;
    assert_true(braid_program_list_lanes(changed));
    braid_status status = braid_schedule_verify(schedule, graph);
    free(changed->ops);
    braid_free(changed->lane_ops);
    changed->num_ops += takes_out;
    changed->ops = ops;
    changed->lane_ops = lane_ops;
    assert_true(braid_program_list_lanes(changed));
    return status;
}

// How many wrong programs there were.
static inline unsigned change_each_op(const braid_schedule *schedule, const braid_graph *graph,
                                      struct program *program)
{
    unsigned num = 0;
    for (size_t op = 0; op < program->num_ops; op++) {
        bool records = program->ops[op].kind == BRAID_STEP_RECORD;
        braid_status status = verify_changed(schedule, graph, program, op, true);
        bool waits = program->ops[op].kind == BRAID_STEP_WAIT;
        check_fails(status, BRAID_INTERNAL, waits ? "start before" : "");
        if (records)
            check_fails(verify_changed(schedule, graph, program, op, false), BRAID_INTERNAL,
                        "which has not run there");
        num += 1 + records;
    }
    for (uint32_t i = 0; i < program->num_bodies; i++)
        num += change_each_op(schedule, graph, &program->bodies[i]);
    return num;
}

#endif
