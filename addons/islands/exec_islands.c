// SPDX-License-Identifier: Apache-2.0
// The exec's plan divided into islands, or as one.
#include "exec/exec_islands.h"

#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "graph/regions.h"
#include "islands/gpu_island_fit.h"
#include "islands/island_model.h"
#include "islands/plan_divide.h"
#include "plan/cost_model.h"
#include "plan/plan_islands.h"

static const char what_islands[] = "the islands of an exec";

// Finds which nodes can be inside. The player gets the works of copies and fills as the graph was
// made. Addresses that each frame has of its own are NULL there.
static braid_status find_fits(const braid_exec *exec, struct island_fit **out_fits)
{
    const struct tasks *from = &exec->tasks;
    struct backend_task *tasks = braid_allocate_zeroed(from->num, sizeof(*tasks));
    struct island_fit *fits = braid_allocate_zeroed(from->num, sizeof(*fits));
    braid_status status = tasks && fits ? BRAID_OK : braid_error_no_memory(what_islands);
    for (uint32_t i = 0; i < from->num && !status; i++) {
        tasks[i] = from->items[i];
        if (tasks[i].kind == WORK_COPY || tasks[i].kind == WORK_FILL)
            memcpy(&tasks[i].work, from->slot_bytes[TASK_SLOT_WORKS] + from->offsets[i],
                   sizeof(tasks[i].work));
    }
    if (!status)
        status = braid_gpu_island_fits(gpu_from(exec->device->backend), tasks, from->num, fits);
    free(tasks);
    if (status)
        free(fits);
    else
        *out_fits = fits;
    return status;
}

// The player knows which tasks can be inside, and the costs of islands.
static braid_status divide(braid_exec *exec, const braid_exec_options *options)
{
    struct island_fit *fits = NULL;
    braid_cost_model model;
    exec->player->get_cost_model(exec->device->backend, &model);
    if (exec->shape || !exec->player->makes_islands || options->islands == BRAID_ISLANDS_NEVER ||
        !model.island_call_ns)
        return BRAID_OK;
    braid_status status = find_fits(exec, &fits);
    if (!status)
        status = braid_plan_divide(exec->schedule, &model, fits,
                                   options->islands == BRAID_ISLANDS_ALWAYS);
    free(fits);
    return status;
}

// As one island of a shape. The costs of the options' plan are those of that.
static braid_status plan_whole(const braid_exec *exec, const braid_graph *graph,
                               const braid_schedule_options *plan, const struct island_shape *shape,
                               struct plan_inside *inside, braid_schedule **out_schedule)
{
    braid_cost_model model;
    shape->get_cost_model(exec->device->backend, &model);
    shape->get_room(exec->device->backend, inside->fits, exec->tasks.num, &model, &inside->room);
    braid_schedule_options options = *plan;
    options.places = NULL;
    if (plan_costs_are_zero(&options.costs))
        options.costs = model;
    options.costs.island_call_ns = 0; // nothing of it is divided further
    return braid_schedule_create_inside(graph, &options, inside, out_schedule);
}

// The expected time of a frame as an island of a shape; NULL: with the plan of the exec's player.
// UINT64_MAX if the graph is refused, or if the plan has more lanes than the shape's costs
// allow for. Errors: BRAID_NO_MEMORY; without memory another way would seem shorter.
static braid_status predict(const braid_exec *exec, const braid_graph *graph,
                            const braid_exec_options *options, const struct island_shape *shape,
                            const struct island_fit *fits, uint64_t *out_ns)
{
    struct backend *backend = exec->device->backend;
    braid_schedule_options plan = options->plan;
    braid_schedule *schedule = NULL;
    struct plan_inside inside = { .fits = fits };
    struct error_attempt attempt;
    *out_ns = UINT64_MAX;
    if (shape)
        shape->get_cost_model(backend, &plan.costs);
    else
        exec->player->get_cost_model(backend, &plan.costs);
    const uint64_t start_ns = shape ? plan.costs.island_start_ns : 0;
    if (shape && !shape->get_room(backend, fits, exec->tasks.num, &plan.costs, &inside.room))
        return BRAID_OK;
    braid_error_begin_attempt(&attempt);
    braid_status status = shape ? plan_whole(exec, graph, &plan, shape, &inside, &schedule)
                                : braid_schedule_create(graph, &plan, &schedule);
    if (!status && (!shape || schedule->info.num_lanes <= plan.costs.max_concurrent))
        *out_ns = schedule->info.expected_ns + start_ns;
    braid_schedule_destroy(schedule);
    // The plan that is made in earnest says why a graph is refused.
    status = status == BRAID_NO_MEMORY ? status : BRAID_OK;
    braid_error_end_attempt(&attempt, status);
    return status;
}

// The shape whose plan is shortest; where none has costed it, the last one, which takes any.
static braid_status find_best(const braid_exec *exec, const braid_graph *graph,
                              const braid_exec_options *options, const struct island_fit *fits,
                              const struct island_shape **out_best, uint64_t *out_ns)
{
    const struct island_shape *best = &braid_island_shapes[ISLAND_NUM_SHAPES - 1];
    *out_ns = UINT64_MAX;
    for (int i = 0; i < ISLAND_NUM_SHAPES; i++) {
        uint64_t ns;
        braid_status status = predict(exec, graph, options, &braid_island_shapes[i], fits, &ns);
        if (status)
            return status;
        if (ns < *out_ns) {
            best = &braid_island_shapes[i];
            *out_ns = ns;
        }
    }
    *out_best = best;
    return BRAID_OK;
}

// All of it can be inside, and how long it takes there can be told.
static bool are_known(const struct braid_exec *exec, const braid_graph *graph,
                      const braid_exec_options *options, const struct island_fit *fits)
{
    enum { MOST_NODES = 16384, MOST_ARG_BYTES = 32768 }; // more have no room: not worth planning
    uint64_t arg_bytes = 0;
    if (exec->tasks.num == 0 || exec->tasks.num > MOST_NODES || options->plan.ignore_costs)
        return false;
    for (uint32_t i = 0; i < exec->tasks.num; i++) {
        if (!fits[i].is_empty && (fits[i].why_not || graph_nodes(graph)[i].cost_ns == 0))
            return false;
        arg_bytes += fits[i].is_empty ? 0 : fits[i].arg_bytes;
    }
    return arg_bytes <= MOST_ARG_BYTES;
}

// By how much the frame must be shorter, of 100. Launching a graph of many nodes takes the host two
// to four times as long as launching an island, so there less will do.
static uint64_t find_least_gain(const braid_exec *exec)
{
    enum { MANY_NODES = 256 };
    return exec->tasks.num >= MANY_NODES ? 1 : 3;
}

// One island, if it is expected to be clearly shorter than the other ways.
static braid_status find_shorter(const braid_exec *exec, const braid_graph *graph,
                                 const braid_exec_options *options, const struct island_fit *fits,
                                 const struct island_shape **out_shape)
{
    const struct island_shape *shape = NULL;
    uint64_t island_ns = UINT64_MAX, ns = UINT64_MAX;
    if (!are_known(exec, graph, options, fits))
        return BRAID_OK;
    braid_status status = predict(exec, graph, options, NULL, fits, &ns);
    if (!status)
        status = find_best(exec, graph, options, fits, &shape, &island_ns);
    if (!status && island_ns < ns && ns - island_ns >= ns / 100 * find_least_gain(exec))
        *out_shape = shape;
    return status;
}

// Plans the exec as one island of its shape, if the program gave no schedule.
static braid_status plan_as_one(braid_exec *exec, const braid_graph *graph,
                                const braid_exec_options *options, const struct island_fit *fits)
{
    struct plan_inside inside = { .fits = fits };
    struct backend *backend = exec->device->backend;
    braid_cost_model model;
    exec->shape->get_cost_model(backend, &model);
    exec->has_lone_calls =
        exec->shape->get_room(backend, fits, exec->tasks.num, &model, &inside.room) &&
        plan_room_is_lone(&inside.room);
    return options->schedule
               ? BRAID_OK
               : plan_whole(exec, graph, &options->plan, exec->shape, &inside, &exec->schedule);
}

static braid_status choose(braid_exec *exec, const braid_graph *graph,
                           const braid_exec_options *options)
{
    bool must = options->islands == BRAID_ISLANDS_WHOLE;
    struct island_fit *fits = NULL;
    uint64_t ns;
    if (!must && (options->islands != BRAID_ISLANDS_AUTO || options->schedule || exec->placed ||
                  options->mode == BRAID_MODE_STREAMS))
        return BRAID_OK;
    braid_status status = must ? braid_graph_refuse_regions(graph, "an island") : BRAID_OK;
    if (!status)
        status = find_fits(exec, &fits);
    if (!status && must)
        status = find_best(exec, graph, options, fits, &exec->shape, &ns);
    else if (!status)
        status = find_shorter(exec, graph, options, fits, &exec->shape);
    if (!status && exec->shape)
        status = plan_as_one(exec, graph, options, fits);
    free(fits);
    return status;
}

static const struct exec_islands islands = { .choose = choose, .divide = divide };
const struct exec_islands *const braid_exec_islands = &islands;
