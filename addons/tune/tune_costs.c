// SPDX-License-Identifier: Apache-2.0
// Frames that measure costs: of a plan, of one lane, and inside of an island.
#include "tune/tune_costs.h"

#include "base/clock.h"
#include "base/error.h"
#include "exec/exec.h"

enum {
    MEASURED_FRAMES = 9,       // behind the first
    LEAST_MEASURED_FRAMES = 2, // where these take longer than the budget
};

struct measuring {
    braid_device *device;
    braid_graph *graph;
    uint64_t budget_ns;
    uint64_t frame_ns; // the last exec's
    bool has_others;   // its nodes have others beside them, or are inside an island
    bool has_time;     // for all frames
};

// The costs, and how long a frame takes. The first frame tells for how many more there is time.
static braid_status run_measured(struct measuring *measuring, braid_exec *exec)
{
    braid_graph *graph = measuring->graph;
    const uint64_t begin_ns = clock_now_ns();
    braid_status status = braid_exec_measure(exec, graph, 1);
    const uint64_t first_ns = clock_now_ns();
    const uint64_t room = measuring->budget_ns / (first_ns - begin_ns + 1);
    const uint32_t num = room > MEASURED_FRAMES         ? MEASURED_FRAMES
                         : room < LEAST_MEASURED_FRAMES ? LEAST_MEASURED_FRAMES
                                                        : (uint32_t)room;
    if (!status)
        status = braid_exec_measure(exec, graph, num);
    measuring->frame_ns = (clock_now_ns() - first_ns) / num;
    measuring->has_others = exec->program.num_lanes > 1 || exec->shape;
    measuring->has_time = num == MEASURED_FRAMES;
    return status;
}

static braid_status measure_exec(struct measuring *measuring, const braid_exec_options *options)
{
    braid_exec *exec = NULL;
    braid_status status = braid_exec_create(measuring->device, measuring->graph, options, &exec);
    if (!status)
        status = run_measured(measuring, exec);
    braid_exec_destroy(exec);
    return status;
}

// Costs inside of an island that is all of the graph. It may take so much longer than other ways
// that nobody would choose it. Then it does not run.
static braid_status measure_inside(struct measuring *measuring)
{
    const braid_exec_options island = { .mode = BRAID_MODE_GRAPH,
                                        .islands = BRAID_ISLANDS_WHOLE,
                                        .profile = MEASURED_FRAMES };
    braid_exec *exec = NULL;
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = braid_exec_create(measuring->device, measuring->graph, &island, &exec);
    braid_error_end_attempt(&attempt, status == BRAID_UNSUPPORTED ? BRAID_OK : status);
    if (status)
        return status == BRAID_UNSUPPORTED ? BRAID_OK : status;
    if (exec->schedule->info.expected_ns / 2 < measuring->frame_ns)
        status = run_measured(measuring, exec);
    braid_exec_destroy(exec);
    return status;
}

braid_status braid_tune_measure(braid_device *device, braid_graph *graph, uint64_t budget_ns,
                                uint64_t *out_frame_ns)
{
    struct measuring measuring = { device, graph, .budget_ns = budget_ns };
    const braid_exec_options several = { .profile = MEASURED_FRAMES };
    const braid_exec_options alone = { .profile = MEASURED_FRAMES,
                                       .islands = BRAID_ISLANDS_NEVER,
                                       .plan = { .max_lanes = 1, .fixed_lanes = true } };
    braid_status status = measure_exec(&measuring, &several);
    if (!status && measuring.has_time && measuring.has_others) {
        status = measure_exec(&measuring, &alone);
        if (!status)
            status = measure_exec(&measuring, &several);
    }
    *out_frame_ns = measuring.frame_ns;
    if (!status && measuring.has_time)
        status = measure_inside(&measuring);
    return status;
}
