// SPDX-License-Identifier: Apache-2.0
// Dividing an exec's plan into islands.
#include "exec/islands.h"

#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "plan/plan_divide.h"

// Of copies and fills the player is told what they have as the graph was made; addresses that each
// frame has of its own are NULL there.
static braid_status find_fits(const braid_exec *exec, const struct player *player,
                              struct island_fit *fits)
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
    braid_status status = player->find_fits(exec->device->backend, tasks, from->num, fits);
    free(tasks);
    return status;
}

// The player knows what of the tasks can be inside, and what islands cost.
static braid_status divide(braid_exec *exec, const braid_exec_options *options,
                           const struct player *player)
{
    struct backend *backend = exec->device->backend;
    braid_cost_model model;
    player->get_cost_model(backend, &model);
    if (!model.island_call_ns)
        return BRAID_OK;
    struct island_fit *fits = braid_allocate_zeroed(exec->tasks.num, sizeof(*fits));
    if (!fits)
        return braid_error_no_memory("the islands of an exec");
    braid_status status = find_fits(exec, player, fits);
    if (!status)
        status = braid_plan_divide(exec->schedule, &model, fits,
                                   options->islands == BRAID_ISLANDS_ALWAYS);
    free(fits);
    return status;
}

static bool may_divide(const braid_exec_options *options, const struct player *player)
{
    return player->find_fits && options->islands != BRAID_ISLANDS_NEVER;
}

braid_status braid_exec_divide(braid_exec *exec, const braid_exec_options *options,
                               const struct player *player)
{
    bool wanted = may_divide(options, player);
    if (options->schedule && (wanted || exec->schedule->division.island_of)) {
        braid_schedule *own = NULL;
        braid_status status = braid_schedule_undivided(exec->schedule, &own);
        if (status)
            return status;
        braid_schedule_destroy(exec->schedule);
        exec->schedule = own;
    }
    return wanted ? divide(exec, options, player) : BRAID_OK;
}

// The expected time of a frame with a player's own plan; UINT64_MAX with an error, and for a plan
// that the player does not cost: of more lanes than its own.
static uint64_t predict(const braid_exec *exec, const braid_graph *graph,
                        const braid_exec_options *options, const struct player *player)
{
    braid_schedule_options plan = options->plan;
    braid_schedule *schedule = NULL;
    uint64_t ns = UINT64_MAX;
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    player->get_cost_model(exec->device->backend, &plan.costs);
    if (braid_schedule_create(graph, &plan, &schedule) == BRAID_OK &&
        (plan.costs.max_concurrent != 1 || schedule->info.num_lanes == 1))
        ns = (schedule->division.island_of ? schedule->division.expected_ns
                                           : schedule->info.makespan_ns) +
             (player->is_island ? plan.costs.island_start_ns : 0);
    braid_schedule_destroy(schedule);
    braid_error_end_attempt(&attempt, BRAID_OK); // who plans it in earnest says what is wrong
    return ns;
}

const struct player *braid_exec_find_island(const braid_exec *exec, const braid_graph *graph,
                                            const braid_exec_options *options, uint64_t *out_ns)
{
    const struct player *best = NULL;
    const struct player *const *player = exec->device->backend->ops->players;
    *out_ns = UINT64_MAX;
    for (; *player; player++) {
        if (!(*player)->is_island)
            continue;
        uint64_t ns = options->schedule ? 0 : predict(exec, graph, options, *player);
        if (!best || ns < *out_ns) {
            best = *player;
            *out_ns = ns;
        }
    }
    return best;
}

// Lanes of an island run one block each, and static shared memory is one for a whole block of it.
static bool are_narrow(const struct braid_exec *exec, const braid_graph *graph,
                       const struct island_fit *fits)
{
    for (uint32_t i = 0; i < exec->tasks.num; i++) {
        const struct island_fit *fit = &fits[i];
        if (!fit->is_empty && (fit->why_not || fit->blocks != 1 || fit->runs_alone ||
                               graph_nodes(graph)[i].cost_ns == 0))
            return false;
    }
    return exec->tasks.num > 0;
}

static const struct player *find_divider(const braid_exec *exec, const braid_exec_options *options)
{
    const struct player *const *player = exec->device->backend->ops->players;
    while (*player && !may_divide(options, *player))
        player++;
    return *player;
}

braid_status braid_exec_prefers_island(const braid_exec *exec, const braid_graph *graph,
                                       const braid_exec_options *options,
                                       const struct player **out_player)
{
    enum { LEAST_GAIN = 3 }; // of 100
    const struct player *divider = find_divider(exec, options);
    *out_player = NULL;
    if (!divider || options->islands != BRAID_ISLANDS_AUTO || options->schedule ||
        options->mode == BRAID_MODE_STREAMS)
        return BRAID_OK;
    struct island_fit *fits = braid_allocate_zeroed(exec->tasks.num, sizeof(*fits));
    if (!fits)
        return braid_error_no_memory("the islands of an exec");
    braid_status status = find_fits(exec, divider, fits);
    bool narrow = !status && are_narrow(exec, graph, fits);
    free(fits);
    if (!narrow)
        return status;
    uint64_t island_ns, ns = predict(exec, graph, options, divider);
    const struct player *island = braid_exec_find_island(exec, graph, options, &island_ns);
    if (island && island_ns < ns && ns - island_ns >= ns / 100 * LEAST_GAIN)
        *out_player = island;
    return BRAID_OK;
}
