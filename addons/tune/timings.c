// SPDX-License-Identifier: Apache-2.0
// The times of an exec's last frames: of nodes, lanes, waits and frames.
#include <braid/timings.h>

#include "base/error.h"
#include "base/inside.h"
#include "base/sized.h"
#include "base/spread.h"
#include "exec/exec_memory.h"
#include "exec/exec_times.h"

// ---- reading ----

// Reads the times of an exec's last frames from its player, in launch order and by the host's
// clock.

// Where in the profile the frames are that a slot has handed out: its last ones, the oldest first.
struct slot_frames {
    uint32_t first, end;
};

// The slot of the oldest frame comes first: a player may count from the first times that it reads.
static braid_status read_slots(braid_exec *exec, struct profile *profile, uint64_t oldest,
                               struct slot_frames *slots)
{
    braid_status status = BRAID_OK;
    profile->num_frames = 0;
    profile->clock = (struct profile_clock){ 0 };
    for (uint32_t i = 0; i < exec->frames.num && !status; i++) {
        uint32_t slot = (uint32_t)((oldest + i) % exec->frames.num);
        slots[slot].first = profile->num_frames;
        status = exec->player->read_times(exec->frames.slots[slot].playing, profile);
        slots[slot].end = profile->num_frames;
    }
    return status;
}

// A slot's frames are as many apart as there are slots.
static void put_in_order(const braid_exec *exec, struct exec_times *times, uint64_t oldest,
                         const struct slot_frames *slots)
{
    for (uint64_t frame = oldest; frame < exec->frames.num_launched; frame++) {
        const struct slot_frames *slot = &slots[frame % exec->frames.num];
        uint64_t num_later = (exec->frames.num_launched - 1 - frame) / exec->frames.num;
        if (num_later < slot->end - slot->first) {
            times->numbers[times->num_frames] = frame;
            times->order[times->num_frames++] = slot->end - 1 - (uint32_t)num_later;
        }
    }
}

// Unknown times stay zero.
static void move(struct profile_span *span, const struct clock_pair *host)
{
    if (!span->begin && !span->end)
        return;
    span->begin += host->host_ns - host->device_ns; // whichever is the larger one
    span->end += host->host_ns - host->device_ns;
}

// From the clock of the player's times to the host's.
static braid_status align(braid_exec *exec, struct profile *profile)
{
    if (!profile->num_frames)
        return BRAID_OK;
    braid_status status = exec->player->read_clock(exec->frames.slots[0].playing, profile);
    if (status)
        return status;
    for (size_t i = 0; i < profile->num_frames * profile->num_ops; i++)
        move(&profile->ops[i], &profile->clock.host);
    for (uint32_t i = 0; i < profile->num_frames; i++)
        move(&profile->frames[i], &profile->clock.host);
    return BRAID_OK;
}

// Between begin_launch and end_launch, if a frame was launched since they were read. Waits for the
// frames. Errors: those of event_synchronize, read_times and read_clock.
static braid_status exec_read_times(braid_exec *exec, struct exec_times *times)
{
    struct slot_frames slots[EXEC_MOST_FRAMES];
    uint64_t oldest =
        exec->frames.num_launched > times->room ? exec->frames.num_launched - times->room : 0;
    if (times->num_read == times->num_launches)
        return BRAID_OK;
    braid_status status = braid_exec_await_frames(exec);
    if (status)
        return status;
    times->num_frames = 0;
    status = read_slots(exec, &times->profile, oldest, slots);
    if (!status)
        status = align(exec, &times->profile);
    if (status)
        return status;
    put_in_order(exec, times, oldest, slots);
    times->num_read = times->num_launches;
    return BRAID_OK;
}

// ---- timings ----

static struct profile_span *ops_of(const struct exec_times *times, size_t frame)
{
    return &times->profile.ops[times->order[frame] * times->profile.num_ops];
}

static struct profile_span frame_of(const struct exec_times *times, size_t frame)
{
    return times->profile.frames[times->order[frame]];
}

// Keeps launches away where it succeeds, and the times are those of the last frames then.
static braid_status begin(const char *function, braid_exec *exec, const void *out)
{
    if (!exec || !out)
        return braid_error_null(function, exec ? "out_timings" : "exec");
    braid_status status = braid_exec_check(function, exec);
    if (!status && exec->memory.pool) // a launch may wait for the turn of this thread
        status = exec->memory.pool->check_launch(exec->memory.pool, function);
    if (status)
        return status;
    struct exec_times *times = braid_exec_get_times(exec);
    if (!times)
        return braid_error(BRAID_UNSUPPORTED,
                           "%s: the exec keeps no times: braid_exec_options.frames_kept is 0",
                           function);
    braid_exec_begin_launch(exec);
    status = exec_read_times(exec, times);
    if (status)
        braid_exec_end_launch(exec);
    return status;
}

// Sorts the scratch numbers of the frames.
static braid_spread spread_of(const struct exec_times *times)
{
    return times->num_frames ? find_spread(times->scratch, times->num_frames) : (braid_spread){ 0 };
}

static uint64_t length_of(struct profile_span span)
{
    return span.end > span.begin ? span.end - span.begin : 0;
}

static braid_spread find_op_spread(const struct exec_times *times, size_t op)
{
    for (uint32_t i = 0; i < times->num_frames; i++)
        times->scratch[i] = length_of(ops_of(times, i)[op]);
    return spread_of(times);
}

static uint64_t count_waits(const struct program *program)
{
    uint64_t num = 0;
    for (size_t i = 0; i < program->num_ops; i++)
        num += program_waits(&program->ops[i]);
    return num;
}

static uint64_t mean_of_op(const struct exec_times *times, size_t op)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < times->num_frames; i++)
        sum += length_of(ops_of(times, i)[op]);
    return times->num_frames ? sum / times->num_frames : 0;
}

static uint64_t sum_island_waits(const braid_exec *exec)
{
    const struct program *program = &exec->program;
    uint64_t sum = 0;
    for (size_t i = 0; exec->shape && i < program->num_ops; i++)
        sum += program_waits(&program->ops[i]) ? mean_of_op(braid_exec_get_times(exec), i) : 0;
    return sum;
}

static braid_frame_timing find_frame(const struct exec_times *times, uint32_t index)
{
    const struct clock_pair *host = &times->profile.clock.host;
    struct profile_span frame = frame_of(times, index);
    struct profile_span launch = times->launches[times->numbers[index] % times->room];
    return (braid_frame_timing){
        .launch = { launch.begin, launch.end },
        .frame = { frame.begin, frame.end },
        .error_ns = clock_pair_error(host, frame.begin - host->host_ns + host->device_ns),
    };
}

static bool is_empty(const braid_exec *exec, uint32_t node)
{
    return exec->tasks.items[node].kind == WORK_EMPTY;
}

static const braid_timed_by timers[] = { [PROFILE_AROUND] = BRAID_TIMED_AROUND,
                                         [PROFILE_INSIDE] = BRAID_TIMED_INSIDE,
                                         [PROFILE_NOT] = BRAID_TIMED_NOT };

// Adds up the times of a node in a loop or branch.
static braid_node_timing add_tallies(const braid_exec *exec, uint32_t node)
{
    const struct exec_times *times = braid_exec_get_times(exec);
    struct profile_tally all = { 0 };
    uint32_t num = 0;
    for (uint32_t i = 0; i < times->num_frames; i++) {
        const struct profile_tally *tally =
            &times->profile.tallies[(size_t)times->order[i] * times->profile.num_nodes + node];
        if (!tally->num || braid_exec_was_disabled(exec, i, node))
            continue;
        all.sum_ns += tally->sum_ns;
        all.num += tally->num;
        times->scratch[num++] = tally->sum_ns / tally->num;
    }
    if (!num)
        return (braid_node_timing){ .timed_by = BRAID_TIMED_NOT };
    sort_numbers(times->scratch, num);
    return (braid_node_timing){
        .time = { times->scratch[0], times->scratch[num / 2], times->scratch[num - 1] },
        .mean_ns = all.sum_ns / all.num,
        .num_runs = all.num,
        .timed_by = timers[times->profile.tally_timers[node]],
    };
}

// Adds up the times of a node in none, and its operation.
static braid_node_timing add_spans(const braid_exec *exec, uint32_t node, size_t op)
{
    const struct exec_times *times = braid_exec_get_times(exec);
    uint64_t sum_ns = 0;
    uint32_t num = 0;
    for (uint32_t i = 0; i < times->num_frames; i++) {
        if (braid_exec_was_disabled(exec, i, node))
            continue;
        times->scratch[num] = length_of(ops_of(times, i)[op]);
        sum_ns += times->scratch[num++];
    }
    if (!num)
        return (braid_node_timing){ .timed_by = BRAID_TIMED_NOT };
    return (braid_node_timing){
        .time = find_spread(times->scratch, num),
        .mean_ns = sum_ns / num,
        .num_runs = num,
        .timed_by = timers[times->profile.timers[op]],
    };
}

static braid_node_timing find_node(const braid_exec *exec, uint32_t node)
{
    const struct exec_times *times = braid_exec_get_times(exec);
    size_t op = times->op_of_node[node];
    if (is_empty(exec, node) || !times->num_frames)
        return (braid_node_timing){ .timed_by = BRAID_TIMED_NOT };
    if (op == EXEC_TIMES_TALLIED)
        return add_tallies(exec, node);
    return add_spans(exec, node, op);
}

static uint64_t mean_frame(const struct exec_times *times)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < times->num_frames; i++)
        sum += length_of(frame_of(times, i));
    return times->num_frames ? sum / times->num_frames : 0;
}

static braid_lane_timing find_lane(const braid_exec *exec, uint32_t lane)
{
    const struct program *program = &exec->program;
    braid_lane_timing timing = { .waited_for = BRAID_NO_NODE };
    for (size_t i = 0; i < program->lanes[lane].num_ops; i++) {
        const braid_step *op = program_lane_op(program, lane, i);
        uint64_t mean_ns = mean_of_op(braid_exec_get_times(exec), (size_t)(op - program->ops));
        if (program_takes_time(program, op)) {
            timing.num_nodes++;
            timing.busy_ns += mean_ns;
        } else if (program_waits(op)) {
            timing.waiting_ns += mean_ns;
            if (mean_ns > timing.waited_for_ns) {
                timing.waited_for = op->node;
                timing.waited_for_ns = mean_ns;
            }
        }
    }
    uint64_t frame_ns = mean_frame(braid_exec_get_times(exec)),
             used_ns = timing.busy_ns + timing.waiting_ns;
    timing.idle_ns = frame_ns > used_ns ? frame_ns - used_ns : 0;
    return timing;
}

// Describes the operation at an index in lane_ops, lane by lane.
static braid_wait_timing describe_wait(const braid_exec *exec, size_t index)
{
    const struct program *program = &exec->program;
    const braid_step *op = &program->ops[program->lane_ops[index]];
    const struct program_lane *lane = &program->lanes[op->lane];
    size_t end = lane->first_op + lane->num_ops, behind = index;
    while (behind < end && !program_takes_time(program, &program->ops[program->lane_ops[behind]]))
        behind++;
    return (braid_wait_timing){
        .lane = op->lane,
        .node = behind < end ? program->ops[program->lane_ops[behind]].node : BRAID_NO_NODE,
        .waited_for = op->node,
        .waited_for_lane = program_position_of(program, op)->lane,
        .wait = find_op_spread(braid_exec_get_times(exec), (size_t)(op - program->ops)),
        .frames_before = program_frames_before(program, op),
    };
}

static braid_interval interval_of(const braid_exec *exec, size_t frame, uint32_t node)
{
    const struct exec_times *times = braid_exec_get_times(exec);
    const struct profile_span *ops = ops_of(times, frame);
    size_t op = times->op_of_node[node];
    if (op == EXEC_TIMES_TALLIED)
        return (braid_interval){ 0 };
    if (!is_empty(exec, node))
        return (braid_interval){ ops[op].begin, ops[op].end };
    uint64_t end = op == SIZE_MAX ? frame_of(times, frame).begin : ops[op].end;
    return (braid_interval){ end, end };
}

// The arrays are made once, since only the number of frames differs from call to call.
static braid_status make_told(const braid_exec *exec, struct exec_told *told)
{
    size_t num_nodes = exec->tasks.num, room = braid_exec_get_times(exec)->room;
    if (told->frames)
        return BRAID_OK;
    struct exec_told made = { 0 };
    struct store *store = &made.store;
    made.frames = braid_store_take(store, room, sizeof(*made.frames));
    made.nodes = braid_store_take(store, num_nodes + 1, sizeof(*made.nodes));
    made.lanes = braid_store_take(store, exec->program.num_lanes + 1, sizeof(*made.lanes));
    made.waits = braid_store_take(store, count_waits(&exec->program) + 1, sizeof(*made.waits));
    made.intervals = braid_store_take(store, room * num_nodes + 1, sizeof(*made.intervals));
    if (store->failed) {
        braid_store_finish(store);
        return braid_error_no_memory("the times of frames");
    }
    *told = made;
    return BRAID_OK;
}

static void fill_told(const braid_exec *exec, struct exec_told *told)
{
    const struct program *program = &exec->program;
    const struct exec_times *times = braid_exec_get_times(exec);
    uint32_t num_frames = times->num_frames, num_nodes = exec->tasks.num;
    for (uint32_t i = 0; i < num_frames; i++)
        told->frames[i] = find_frame(times, i);
    for (uint32_t i = 0; i < num_nodes; i++)
        told->nodes[i] = find_node(exec, i);
    for (uint32_t i = 0; i < program->num_lanes; i++)
        told->lanes[i] = find_lane(exec, i);
    size_t num_waits = 0;
    for (size_t i = 0; i < program->num_ops; i++) {
        if (program_waits(&program->ops[program->lane_ops[i]]))
            told->waits[num_waits++] = describe_wait(exec, i);
    }
    for (uint32_t frame = 0; frame < num_frames; frame++) {
        for (uint32_t i = 0; i < num_nodes; i++)
            told->intervals[(size_t)frame * num_nodes + i] = interval_of(exec, frame, i);
    }
}

static braid_timings tell(const braid_exec *exec, const struct exec_told *told)
{
    const struct exec_times *times = braid_exec_get_times(exec);
    for (uint32_t i = 0; i < times->num_frames; i++)
        times->scratch[i] = length_of(frame_of(times, i));
    return (braid_timings){
        .frames_kept = times->num_frames,
        .num_nodes = exec->tasks.num,
        .num_lanes = exec->program.num_lanes,
        .num_waits = count_waits(&exec->program),
        .frame = spread_of(times),
        .island_wait_ns = sum_island_waits(exec),
        .frames = told->frames,
        .nodes = told->nodes,
        .lanes = told->lanes,
        .waits = told->waits,
        .intervals = told->intervals,
    };
}

braid_status braid_exec_get_timings_sized(braid_exec *exec, braid_timings *out_timings, size_t size)
{
    EXEC_MEMORY(exec);
    braid_status status = begin("braid_exec_get_timings", exec, out_timings);
    if (status)
        return status;
    struct exec_told *told = &braid_exec_get_times(exec)->told;
    status = make_told(exec, told);
    if (!status) {
        fill_told(exec, told);
        const braid_timings timings = tell(exec, told);
        braid_sized_give(&timings, sizeof(timings), out_timings, size);
    }
    braid_exec_end_launch(exec);
    return status;
}
