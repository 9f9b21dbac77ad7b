// SPDX-License-Identifier: Apache-2.0
// Plays several frames of a plan through, each on lanes of its own, in the plan's times.
#include "exec/exec.h"

#include "base/error.h"
#include "base/store.h"
#include "graph/regions.h"
#include "plan/plan_costs.h"
#include "plan/schedule.h"

struct lane_clock {
    uint64_t planned_ns; // when the plan could start the next node; that it starts later is kept
    uint64_t ready_ns;   // when this frame can
};

struct frames_clock {
    const struct program *program;
    const struct braid_schedule *schedule;
    uint32_t num_slots;
    struct lane_clock *lanes;
    struct lane_clock *positions;
    uint64_t *frame_positions; // for as many frames as there are slots
    uint64_t *ends;            // for as many frames
};

static uint64_t later_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t *find_frame_position(const struct frames_clock *clock, uint32_t frame,
                                     uint32_t position)
{
    size_t slot = frame % clock->num_slots;
    return &clock->frame_positions[slot * clock->program->num_frame_positions + position];
}

static void run_node(const struct frames_clock *clock, struct lane_clock *lane, uint32_t node)
{
    uint64_t start = clock->schedule->start_ns[node], cost = clock->schedule->cost_ns[node];
    uint64_t held_ns = start > lane->planned_ns ? start - lane->planned_ns : 0;
    lane->planned_ns = start + cost;
    lane->ready_ns += held_ns + cost;
}

static void play_step(const struct frames_clock *clock, uint32_t frame, const braid_step *step)
{
    struct lane_clock *lane = &clock->lanes[step->lane];
    uint32_t before = program_frames_before(clock->program, step);
    if (program_has_node(step)) {
        run_node(clock, lane, step->node);
    } else if (step->kind == BRAID_STEP_RECORD) {
        clock->positions[step->position] = *lane;
    } else if (step->kind == BRAID_STEP_WAIT) {
        const struct lane_clock *other = &clock->positions[step->position];
        lane->planned_ns = later_of(lane->planned_ns, other->planned_ns);
        lane->ready_ns = later_of(lane->ready_ns, other->ready_ns);
    } else if (step->kind == PROGRAM_RECORD_FRAME) {
        *find_frame_position(clock, frame, step->position) = lane->ready_ns;
    } else if (step->kind == PROGRAM_AWAIT_FRAME && before <= frame) {
        uint32_t position = program_position_index(clock->program, step);
        lane->ready_ns =
            later_of(lane->ready_ns, *find_frame_position(clock, frame - before, position));
    }
}

// A frame begins when the one whose place it takes has ended. Returns when it ends.
static uint64_t play_frame(const struct frames_clock *clock, uint32_t frame)
{
    const struct program *program = clock->program;
    uint64_t *end = &clock->ends[frame % clock->num_slots], last = *end;
    for (uint32_t i = 0; i < program->num_lanes; i++)
        clock->lanes[i] = (struct lane_clock){ 0, *end };
    for (size_t i = 0; i < program->num_ops; i++)
        play_step(clock, frame, &program->ops[i]);
    for (uint32_t i = 0; i < program->num_lanes; i++)
        last = later_of(last, clock->lanes[i].ready_ns);
    *end = last;
    return last;
}

// Slots are taken in turn, so the times of frames repeat after as many.
static uint64_t play_frames(const struct frames_clock *clock)
{
    uint64_t first = 0, last = 0;
    uint32_t num = clock->num_slots;
    for (uint32_t i = 0; i < 3 * num; i++) {
        last = play_frame(clock, i);
        if (i == num - 1)
            first = last;
    }
    return (last - first) / (2 * num);
}

// All that the device must run of a frame, if it were full all the time. The driver of a GPU makes
// calls that compute one after another, on a thread of its own.
static uint64_t find_busy_ns(const struct braid_schedule *schedule, const braid_graph *graph)
{
    const braid_cost_model *model = &schedule->options.costs;
    uint64_t awake_ns = 0, area_ns = 0, calls_ns = 0;
    for (uint32_t i = 0; i < schedule->info.num_nodes; i++) {
        if (graph_node_blocks(graph, i) || braid_graph_region_of(graph, i) != GRAPH_NONE)
            continue; // the cost of a loop has that of its body
        awake_ns += schedule->cost_ns[i];
        if (!model->max_threads)
            continue;
        if (graph_nodes(graph)[i].kind == WORK_HOST)
            calls_ns += schedule->cost_ns[i];
        else
            area_ns += schedule->cost_ns[i] / PLAN_WHOLE_DEVICE *
                       braid_plan_share_of_node(graph, i, model->max_threads);
    }
    return later_of(later_of(area_ns, calls_ns),
                    model->max_concurrent ? awake_ns / model->max_concurrent : 0);
}

braid_status braid_exec_find_period(const braid_exec *exec, const braid_graph *graph,
                                    uint64_t *out_ns)
{
    const struct program *program = &exec->program;
    size_t num = exec->frames.num;
    struct store store = { 0 };
    struct frames_clock clock = {
        .program = program,
        .schedule = exec->schedule,
        .num_slots = exec->frames.num,
        .lanes = braid_store_take(&store, program->num_lanes, sizeof(*clock.lanes)),
        .positions = braid_store_take(&store, program->num_positions, sizeof(*clock.positions)),
        .frame_positions = braid_store_take(&store, num * program->num_frame_positions,
                                            sizeof(*clock.frame_positions)),
        .ends = braid_store_take(&store, num, sizeof(*clock.ends)),
    };
    if (!store.failed)
        *out_ns = later_of(play_frames(&clock), find_busy_ns(exec->schedule, graph));
    braid_store_finish(&store);
    return store.failed ? braid_error_no_memory("what frames in flight bring") : BRAID_OK;
}
