// SPDX-License-Identifier: Apache-2.0
// Dividing an exec's plan into islands.
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

// The player gets the works of copies and fills as the graph was made. Addresses that each frame
// has of its own are NULL there.
static braid_status find_fits(const braid_exec *exec, struct island_fit *fits)
{
    const struct tasks *from = &exec->tasks;
    struct backend_task *tasks = braid_allocate_zeroed(from->num, sizeof(*tasks));
    if (!tasks)
        return braid_error_no_memory("the islands of an exec");
    for (uint32_t i = 0; i < from->num; i++) {
        tasks[i] = from->items[i];
        if (tasks[i].kind == WORK_COPY || tasks[i].kind == WORK_FILL)
            memcpy(&tasks[i].work, from->slot_bytes[TASK_SLOT_WORKS] + from->offsets[i],
                   sizeof(tasks[i].work));
    }
    braid_status status =
        braid_gpu_island_fits(gpu_from(exec->device->backend), tasks, from->num, fits);
    free(tasks);
    return status;
}

// The player knows which tasks can be inside, and the costs of islands.
static braid_status divide(braid_exec *exec, const braid_exec_options *options)
{
    braid_cost_model model;
    exec->player->get_cost_model(exec->device->backend, &model);
    if (!model.island_call_ns)
        return BRAID_OK;
    struct island_fit *fits = braid_allocate_zeroed(exec->tasks.num, sizeof(*fits));
    if (!fits)
        return braid_error_no_memory("the islands of an exec");
    braid_status status = find_fits(exec, fits);
    if (!status)
        status = braid_plan_divide(exec->schedule, &model, fits,
                                   options->islands == BRAID_ISLANDS_ALWAYS);
    free(fits);
    return status;
}

static bool may_divide(const braid_exec_options *options, const struct player *player)
{
    return player->makes_islands && options->islands != BRAID_ISLANDS_NEVER;
}

static braid_status divide_for(braid_exec *exec, const braid_exec_options *options)
{
    return !exec->shape && may_divide(options, exec->player) ? divide(exec, options) : BRAID_OK;
}

static const struct player *find_divider(const braid_exec *exec, const braid_exec_options *options)
{
    const struct player *const *player = exec->device->backend->ops->players;
    while (*player && !may_divide(options, *player))
        player++;
    return *player;
}

// Finds which nodes can be inside. One island needs all of the graph, so a reason against one node
// is one against all.
static braid_status find_all_fits(const braid_exec *exec, struct island_fit **out_fits)
{
    struct island_fit *fits = braid_allocate_zeroed(exec->tasks.num, sizeof(*fits));
    if (!fits)
        return braid_error_no_memory("the islands of an exec");
    braid_status status = find_fits(exec, fits);
    if (status)
        free(fits);
    else
        *out_fits = fits;
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

static braid_status plan_island(braid_exec *exec, const braid_graph *graph,
                                const braid_exec_options *options)
{
    struct island_fit *fits = NULL;
    braid_status status = find_all_fits(exec, &fits);
    if (status)
        return status;
    struct plan_inside inside = { .fits = fits };
    status = plan_whole(exec, graph, &options->plan, exec->shape, &inside, &exec->schedule);
    free(fits);
    return status;
}

// The expected time of a frame as an island of a shape; NULL: with the plan of a player that makes
// islands. UINT64_MAX if the graph is refused, or if the plan has more lanes than the shape's costs
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
        find_divider(exec, options)->get_cost_model(backend, &plan.costs);
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

static braid_status choose(const braid_exec *exec, const braid_graph *graph,
                           const braid_exec_options *options, const struct island_shape **out_shape)
{
    bool must = options->islands == BRAID_ISLANDS_WHOLE;
    struct island_fit *fits = NULL;
    uint64_t ns;
    *out_shape = NULL;
    if (!must && (options->islands != BRAID_ISLANDS_AUTO || options->schedule ||
                  options->mode == BRAID_MODE_STREAMS || !find_divider(exec, options)))
        return BRAID_OK;
    braid_status status = find_all_fits(exec, &fits);
    if (status)
        return status;
    status = must ? find_best(exec, graph, options, fits, out_shape, &ns)
                  : find_shorter(exec, graph, options, fits, out_shape);
    free(fits);
    return status;
}

static braid_status has_lone_calls(const braid_exec *exec, bool *out_has)
{
    struct island_fit *fits = NULL;
    struct plan_room room = { 0 };
    braid_cost_model model;
    braid_status status = find_all_fits(exec, &fits);
    if (status)
        return status;
    exec->shape->get_cost_model(exec->device->backend, &model);
    *out_has = exec->shape->get_room(exec->device->backend, fits, exec->tasks.num, &model, &room) &&
               plan_room_is_lone(&room);
    free(fits);
    return BRAID_OK;
}

static const struct exec_islands islands = {
    .choose = choose,
    .plan = plan_island,
    .divide = divide_for,
    .has_lone_calls = has_lone_calls,
};
const struct exec_islands *const braid_exec_islands = &islands;
