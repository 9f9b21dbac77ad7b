// SPDX-License-Identifier: Apache-2.0
// Writes a program's operations as steps, which the proof then walks.
//
// A position becomes an event object of its own, recorded once. Tasks without work are put back
// where the program says that they have ended. One with no operation before it on its lane has
// ended when the frame begins, whoever asks: such tasks come first, and are given to the proof as
// known to all lanes.
#include "verify/verify_program.h"

#include "base/array.h"
#include "base/error.h"
#include "verify/unroll.h"
#include "verify/verify.h"

struct expansion {
    const struct program *program;
    braid_step *steps;
    size_t num_steps;
    uint32_t *empties;        // indices, lane by lane, each lane's in order
    uint32_t *next_empty;     // a lane
    uint32_t *end_of_empties; // a lane
    bool *ended_at_start;     // a node
    uint32_t frame;           // the how manieth is written
    uint32_t num_frames;
};

// Frames have nodes, lanes and events of their own; frame positions are events behind those.

static bool is_at_start(const struct program *program, const struct program_empty *empty)
{
    return empty->op <= program->lanes[empty->lane].first_op;
}

static void add_step(struct expansion *expansion, braid_step_kind kind, uint32_t lane,
                     uint32_t node, uint32_t event)
{
    const struct program *program = expansion->program;
    expansion->steps[expansion->num_steps++] =
        (braid_step){ kind, lane + expansion->frame * program->num_lanes,
                      node + expansion->frame * program->tasks->num, event };
}

static void sort_empties(struct expansion *expansion)
{
    const struct program *program = expansion->program;
    for (uint32_t i = 0; i < program->num_lanes; i++)
        expansion->end_of_empties[i] = 0;
    for (uint32_t i = 0; i < program->num_empties; i++)
        expansion->end_of_empties[program->empties[i].lane]++;
    uint32_t first = 0;
    for (uint32_t i = 0; i < program->num_lanes; i++) {
        uint32_t num = expansion->end_of_empties[i];
        expansion->next_empty[i] = expansion->end_of_empties[i] = first;
        first += num;
    }
    for (uint32_t i = 0; i < program->num_empties; i++)
        expansion->empties[expansion->end_of_empties[program->empties[i].lane]++] = i;
}

// Those of a lane that stand before an operation, or at its end.
static void add_empties(struct expansion *expansion, uint32_t lane, size_t op)
{
    const struct program *program = expansion->program;
    for (; expansion->next_empty[lane] < expansion->end_of_empties[lane];
         expansion->next_empty[lane]++) {
        const struct program_empty *empty =
            &program->empties[expansion->empties[expansion->next_empty[lane]]];
        if (empty->op > op)
            return;
        if (!is_at_start(program, empty))
            add_step(expansion, BRAID_STEP_RUN, lane, empty->task, 0);
    }
}

// What would be awaited of a frame before the first is not there. Only frames that others follow
// publish.
static void add_frame_op(struct expansion *expansion, const struct program_op *op, uint32_t lane)
{
    const struct program *program = expansion->program;
    uint32_t task = program->frame_positions[op->index].task;
    uint32_t first_event = expansion->num_frames * program->num_positions + op->index;
    uint32_t frame = expansion->frame;
    if (op->kind == PROGRAM_PUBLISH_FRAME && frame + 1 < expansion->num_frames)
        add_step(expansion, BRAID_STEP_RECORD, lane, task,
                 first_event + frame * program->num_frame_positions);
    if (op->kind != PROGRAM_AWAIT_FRAME || op->frames_before > frame)
        return;
    uint32_t from = frame - op->frames_before;
    expansion->steps[expansion->num_steps++] =
        (braid_step){ BRAID_STEP_WAIT, lane + frame * program->num_lanes,
                      task + from * program->tasks->num,
                      first_event + from * program->num_frame_positions };
}

static void add_op(struct expansion *expansion, const struct program_op *op, uint32_t lane)
{
    const struct program *program = expansion->program;
    switch ((enum program_op_kind)op->kind) {
    case PROGRAM_RUN:
        add_step(expansion, BRAID_STEP_RUN, lane, op->index, 0);
        return;
    case PROGRAM_PUBLISH_FRAME:
    case PROGRAM_AWAIT_FRAME:
        add_frame_op(expansion, op, lane);
        return;
    case PROGRAM_PUBLISH:
    case PROGRAM_WAIT:
        break;
    }
    add_step(expansion, op->kind == PROGRAM_WAIT ? BRAID_STEP_WAIT : BRAID_STEP_RECORD, lane,
             program->positions[op->index].task,
             op->index + expansion->frame * program->num_positions);
}

static void expand(struct expansion *expansion, struct program_walk *walk)
{
    const struct program *program = expansion->program;
    const struct program_op *op;
    sort_empties(expansion);
    for (uint32_t i = 0; i < program->num_empties; i++) {
        const struct program_empty *empty = &program->empties[i];
        uint32_t node = empty->task + expansion->frame * program->tasks->num;
        expansion->ended_at_start[node] = is_at_start(program, empty);
        if (expansion->ended_at_start[node])
            add_step(expansion, BRAID_STEP_RUN, empty->lane, empty->task, 0);
    }
    while ((op = program_walk_next(program, walk))) {
        add_empties(expansion, walk->lane, (size_t)(op - program->ops));
        add_op(expansion, op, walk->lane);
    }
    for (uint32_t i = 0; i < program->num_lanes; i++)
        add_empties(expansion, i, SIZE_MAX);
}

static bool allocate(struct expansion *expansion, uint32_t num_frames)
{
    const struct program *program = expansion->program;
    uint32_t num_lanes = program->num_lanes;
    expansion->steps = braid_allocate_zeroed((program->num_ops + program->num_empties) * num_frames,
                                             sizeof(*expansion->steps));
    expansion->empties = braid_allocate_zeroed(program->num_empties, sizeof(uint32_t));
    expansion->next_empty = braid_allocate_zeroed(num_lanes, sizeof(uint32_t));
    expansion->end_of_empties = braid_allocate_zeroed(num_lanes, sizeof(uint32_t));
    expansion->ended_at_start =
        braid_allocate_zeroed((size_t)program->tasks->num * num_frames, sizeof(bool));
    return expansion->steps && expansion->empties && expansion->next_empty &&
           expansion->end_of_empties && expansion->ended_at_start;
}

static braid_status prove(const struct expansion *expansion, const braid_graph *graph,
                          const struct memory_plan *memory, uint32_t num_frames)
{
    const struct program *program = expansion->program;
    const braid_schedule schedule = {
        .steps = expansion->steps,
        .num_steps = expansion->num_steps,
        .info = { .num_nodes = program->tasks->num * num_frames,
                  .num_lanes = program->num_lanes * num_frames,
                  .num_events =
                      (program->num_positions + program->num_frame_positions) * num_frames },
    };
    return braid_verify_steps(&schedule, graph, memory, expansion->ended_at_start,
                              VERIFY_MOST_WORDS);
}

// An island must stand in its lane as one task would.
static braid_status check_islands(const struct program *program)
{
    size_t end_of_last = 0;
    for (uint32_t i = 0; i < program->num_islands; i++) {
        const struct program_island *island = &program->islands[i];
        if (island->lane >= program->num_lanes)
            return braid_error(BRAID_INTERNAL, "island %u of the program is on no lane", i);
        const struct program_lane *lane = &program->lanes[island->lane];
        size_t end = island->first_op + island->num_ops;
        if (island->num_ops == 0 || island->first_op < end_of_last ||
            island->first_op < lane->first_op || end > lane->first_op + lane->num_ops)
            return braid_error(BRAID_INTERNAL, "island %u of the program is no stretch of lane %u",
                               i, island->lane);
        for (size_t op = island->first_op; op < end; op++) {
            if (program->ops[op].kind != PROGRAM_RUN)
                return braid_error(BRAID_INTERNAL,
                                   "island %u of the program has a wait or a record inside", i);
        }
        end_of_last = end;
    }
    return BRAID_OK;
}

static bool expand_frames(struct expansion *expansion, uint32_t num_frames)
{
    bool done = true;
    for (uint32_t i = 0; i < num_frames && done; i++) {
        struct program_walk walk;
        expansion->frame = i;
        done = braid_program_walk_begin(expansion->program, &walk);
        if (done)
            expand(expansion, &walk);
        braid_program_walk_end(&walk);
    }
    return done;
}

static braid_status verify_unrolled(const struct program *program, const braid_graph *graph,
                                    const struct memory_plan *memory, uint32_t num_frames)
{
    struct expansion expansion = { .program = program, .num_frames = num_frames };
    braid_status status = BRAID_OK;
    if (!allocate(&expansion, num_frames) || !expand_frames(&expansion, num_frames))
        status = braid_error_no_memory("the proof of a program");
    if (!status)
        status = prove(&expansion, graph, memory, num_frames);
    free(expansion.steps);
    free(expansion.empties);
    free(expansion.next_empty);
    free(expansion.end_of_empties);
    free(expansion.ended_at_start);
    return status;
}

braid_status braid_program_verify(const struct program *program, const braid_graph *graph,
                                  const struct memory_plan *memory)
{
    braid_status status = verify_unrolled(program, graph, memory, 1);
    return status ? status : check_islands(program);
}

braid_status braid_program_verify_frames(const struct program *program, const braid_graph *graph,
                                         uint32_t num_frames)
{
    braid_graph *unrolled = NULL;
    braid_status status = braid_unroll_frames(graph, num_frames, &unrolled);
    if (!status)
        status = verify_unrolled(program, unrolled, NULL, num_frames);
    braid_graph_destroy(unrolled);
    return status ? status : check_islands(program);
}
