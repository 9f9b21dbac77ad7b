// SPDX-License-Identifier: Apache-2.0
// What the last frames of an exec did: times of nodes, lanes, waits and frames.
#include <braid/timings.h>

#include <stdlib.h>

#include "base/error.h"
#include "base/inside.h"
#include "exec/exec.h"
#include "exec/exec_times.h"

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
        return braid_error_null(function, exec ? "the output" : "exec");
    braid_status status = braid_exec_check(function, exec);
    if (status)
        return status;
    struct exec_times *times = braid_exec_get_times(exec);
    if (!times)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "%s: the exec keeps no times: braid_exec_options.profile is 0",
                           function);
    braid_exec_begin_launch(exec);
    status = braid_exec_read_times(exec, times);
    if (status)
        braid_exec_end_launch(exec);
    return status;
}

static int compare(const void *a, const void *b)
{
    uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return first < second ? -1 : first > second;
}

// Sorts the scratch numbers of the frames.
static braid_spread find_spread(const struct exec_times *times)
{
    uint32_t num = times->num_frames;
    if (!num)
        return (braid_spread){ 0 };
    qsort(times->scratch, num, sizeof(*times->scratch), compare);
    return (braid_spread){ times->scratch[0], times->scratch[num / 2], times->scratch[num - 1] };
}

static uint64_t length_of(struct profile_span span)
{
    return span.end > span.begin ? span.end - span.begin : 0;
}

static braid_spread find_op_spread(const struct exec_times *times, size_t op)
{
    for (uint32_t i = 0; i < times->num_frames; i++)
        times->scratch[i] = length_of(ops_of(times, i)[op]);
    return find_spread(times);
}

static bool is_wait(const braid_step *op)
{
    return op->kind == BRAID_STEP_WAIT || op->kind == PROGRAM_AWAIT_FRAME;
}

static uint64_t count_waits(const struct program *program)
{
    uint64_t num = 0;
    for (size_t i = 0; i < program->num_ops; i++)
        num += is_wait(&program->ops[i]);
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
    for (size_t i = 0; exec->player->is_island && i < program->num_ops; i++)
        sum += is_wait(&program->ops[i]) ? mean_of_op(braid_exec_get_times(exec), i) : 0;
    return sum;
}

braid_status braid_exec_get_timings(braid_exec *exec, braid_timings *out_timings)
{
    braid_status status = begin("braid_exec_get_timings", exec, out_timings);
    if (status)
        return status;
    const struct exec_times *times = braid_exec_get_times(exec);
    for (uint32_t i = 0; i < times->num_frames; i++)
        times->scratch[i] = length_of(frame_of(times, i));
    *out_timings = (braid_timings){
        .num_frames = times->num_frames,
        .num_lanes = exec->program.num_lanes,
        .num_waits = count_waits(&exec->program),
        .frame = find_spread(times),
        .island_wait_ns = sum_island_waits(exec),
    };
    braid_exec_end_launch(exec);
    return BRAID_OK;
}

braid_status braid_exec_get_frame_timing(braid_exec *exec, uint32_t index,
                                         braid_frame_timing *out_timing)
{
    static const char function[] = "braid_exec_get_frame_timing";
    braid_status status = begin(function, exec, out_timing);
    if (status)
        return status;
    const struct exec_times *times = braid_exec_get_times(exec);
    const struct clock_pair *host = &times->profile.clock.host;
    if (index >= times->num_frames) {
        status = braid_error(BRAID_INVALID_ARGUMENT, "%s: there is no frame %u of %u kept",
                             function, index, times->num_frames);
    } else {
        struct profile_span frame = frame_of(times, index);
        struct profile_span launch = times->launches[times->numbers[index] % times->room];
        *out_timing = (braid_frame_timing){
            .launch = { launch.begin, launch.end },
            .frame = { frame.begin, frame.end },
            .error_ns = clock_pair_error(host, frame.begin - host->host_ns + host->device_ns),
        };
    }
    braid_exec_end_launch(exec);
    return status;
}

static bool is_empty(const braid_exec *exec, uint32_t node)
{
    return exec->tasks.items[node].kind == WORK_EMPTY;
}

static braid_spread find_node_spread(const braid_exec *exec, uint32_t node)
{
    return is_empty(exec, node) ? (braid_spread){ 0 }
                                : find_op_spread(braid_exec_get_times(exec),
                                                 braid_exec_get_times(exec)->op_of_node[node]);
}

static braid_status check_node(const char *function, const braid_exec *exec, braid_node node)
{
    if (node.graph == exec->graph_id && node.index < exec->tasks.num)
        return BRAID_OK;
    return braid_error(BRAID_INVALID_ARGUMENT,
                       "%s: node %u of graph %u is not a node of the exec's graph", function,
                       node.index, node.graph);
}

// As begin, for what is asked of a node.
static braid_status begin_node(const char *function, braid_exec *exec, braid_node node,
                               const void *out)
{
    braid_status status = begin(function, exec, out);
    if (status)
        return status;
    status = check_node(function, exec, node);
    if (status)
        braid_exec_end_launch(exec);
    return status;
}

braid_status braid_exec_get_node_timing(braid_exec *exec, braid_node node, braid_spread *out_timing)
{
    braid_status status = begin_node("braid_exec_get_node_timing", exec, node, out_timing);
    if (status)
        return status;
    *out_timing = find_node_spread(exec, node.index);
    braid_exec_end_launch(exec);
    return BRAID_OK;
}

static braid_timed_by find_timed_by(const braid_exec *exec, uint32_t node)
{
    static const braid_timed_by timers[] = { [PROFILE_AROUND] = BRAID_TIMED_AROUND,
                                             [PROFILE_INSIDE] = BRAID_TIMED_INSIDE,
                                             [PROFILE_NOT] = BRAID_TIMED_NOT };
    const struct exec_times *times = braid_exec_get_times(exec);
    if (is_empty(exec, node) || !times->num_frames)
        return BRAID_TIMED_NOT;
    return timers[times->profile.timers[times->op_of_node[node]]];
}

braid_status braid_exec_get_timed_by(braid_exec *exec, braid_node node,
                                     braid_timed_by *out_timed_by)
{
    braid_status status = begin_node("braid_exec_get_timed_by", exec, node, out_timed_by);
    if (status)
        return status;
    *out_timed_by = find_timed_by(exec, node.index);
    braid_exec_end_launch(exec);
    return BRAID_OK;
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
        if (program_runs(program, op)) {
            timing.num_nodes++;
            timing.busy_ns += mean_ns;
        } else if (is_wait(op)) {
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

braid_status braid_exec_get_lane_timing(braid_exec *exec, uint32_t lane,
                                        braid_lane_timing *out_timing)
{
    static const char function[] = "braid_exec_get_lane_timing";
    braid_status status = begin(function, exec, out_timing);
    if (status)
        return status;
    if (lane >= exec->program.num_lanes)
        status = braid_error(BRAID_INVALID_ARGUMENT, "%s: there is no lane %u of %u", function,
                             lane, exec->program.num_lanes);
    else
        *out_timing = find_lane(exec, lane);
    braid_exec_end_launch(exec);
    return status;
}

// The wait of an index, lane by lane, in lane_ops; SIZE_MAX: there is none.
static size_t find_wait(const struct program *program, uint64_t index)
{
    for (size_t i = 0; i < program->num_ops; i++)
        if (is_wait(&program->ops[program->lane_ops[i]]) && index-- == 0)
            return i;
    return SIZE_MAX;
}

static braid_wait_timing describe_wait(const braid_exec *exec, size_t place)
{
    const struct program *program = &exec->program;
    const braid_step *op = &program->ops[program->lane_ops[place]];
    const struct program_lane *lane = &program->lanes[op->lane];
    size_t end = lane->first_op + lane->num_ops, behind = place;
    while (behind < end && !program_runs(program, &program->ops[program->lane_ops[behind]]))
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

braid_status braid_exec_get_wait_timing(braid_exec *exec, uint64_t index,
                                        braid_wait_timing *out_timing)
{
    static const char function[] = "braid_exec_get_wait_timing";
    braid_status status = begin(function, exec, out_timing);
    if (status)
        return status;
    size_t op = find_wait(&exec->program, index);
    if (op == SIZE_MAX)
        status = braid_error(BRAID_INVALID_ARGUMENT, "%s: there is no wait %llu", function,
                             (unsigned long long)index);
    else
        *out_timing = describe_wait(exec, op);
    braid_exec_end_launch(exec);
    return status;
}

static braid_interval interval_of(const braid_exec *exec, size_t frame, uint32_t node)
{
    const struct exec_times *times = braid_exec_get_times(exec);
    const struct profile_span *ops = ops_of(times, frame);
    size_t op = times->op_of_node[node];
    if (!is_empty(exec, node))
        return (braid_interval){ ops[op].begin, ops[op].end };
    uint64_t end = op == SIZE_MAX ? frame_of(times, frame).begin : ops[op].end;
    return (braid_interval){ end, end };
}

braid_status braid_exec_get_intervals(braid_exec *exec, size_t num_frames,
                                      braid_interval *out_intervals, size_t *out_num_frames)
{
    braid_status status = begin("braid_exec_get_intervals", exec,
                                num_frames && !out_intervals ? NULL : out_num_frames);
    if (status)
        return status;
    size_t num = braid_exec_get_times(exec)->num_frames, num_nodes = exec->tasks.num;
    size_t first = num > num_frames ? num - num_frames : 0;
    for (size_t frame = first; frame < num; frame++)
        for (uint32_t i = 0; i < num_nodes; i++)
            out_intervals[(frame - first) * num_nodes + i] = interval_of(exec, frame, i);
    *out_num_frames = num - first;
    braid_exec_end_launch(exec);
    return BRAID_OK;
}
