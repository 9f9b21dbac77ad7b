// SPDX-License-Identifier: Apache-2.0
// Choosing how an exec is played: the best player that takes its program.
#include <stdio.h>
#include <string.h>

#include "base/append.h"
#include "base/error.h"
#include "base/node_text.h"
#include "base/sized.h"
#include "exec/exec_islands.h"
#include "exec/exec_plan.h"

const struct player *const *braid_exec_find_player(const struct player *const *players,
                                                   braid_exec_mode mode)
{
    while (*players && mode != BRAID_MODE_AUTO && (*players)->mode != mode)
        players++;
    return players;
}

// If a part did not meet the player's frame, no other player can mend that. Without memory for an
// island there may be some for other ways.
static bool is_refused(const braid_exec *exec, braid_status status)
{
    return (status == BRAID_UNSUPPORTED || (status == BRAID_NO_MEMORY && exec->shape)) &&
           !braid_exec_parts_have_failed(exec->parts);
}

// A refusal is an error only where there is no other way. The log tells of missing memory.
static void end_try(braid_exec *exec, const struct error_attempt *attempt, braid_status status)
{
    if (is_refused(exec, status))
        snprintf(exec->texts.reason, sizeof(exec->texts.reason), "%s", braid_error_get_message());
    if (is_refused(exec, status) && status == BRAID_NO_MEMORY)
        braid_error_end_noted(attempt, braid_error(status, "the graph is not made one island: %s",
                                                   braid_error_get_message()));
    else
        braid_error_end_attempt(attempt, is_refused(exec, status) ? BRAID_OK : status);
}

static braid_status try_player(braid_exec *exec, const braid_graph *graph,
                               const braid_exec_options *options, const struct player *player,
                               bool is_last)
{
    struct error_attempt attempt;
    if (is_last)
        return braid_exec_make_program(exec, graph, options, player);
    braid_error_begin_attempt(&attempt);
    braid_status status = braid_exec_make_program(exec, graph, options, player);
    end_try(exec, &attempt, status);
    return status;
}

// The first node whose priority has no effect.
static void tell_priority(braid_exec *exec)
{
    for (uint32_t i = 0; i < exec->tasks.num; i++) {
        const struct backend_task *task = &exec->tasks.items[i];
        if (task->kind != WORK_KERNEL || task->launch.priority == exec->priority ||
            exec->device->backend->ops->kernels_have_priorities)
            continue;
        braid_append(exec->texts.reason, sizeof(exec->texts.reason),
                     "; %s gives kernels the priority of their lane, not that of node %s",
                     exec->device->label, braid_node_text(i, task->name).text);
        return;
    }
}

// Says which mode it is and why: asked for, the first choice, or all that is left after a refusal.
static void tell_reason(braid_exec *exec, const braid_exec_options *options, bool was_refused)
{
    const char *device = exec->device->backend->ops->name;
    const char *mode = exec->info.mode == BRAID_MODE_GRAPH ? "graph" : "streams";
    char refusal[sizeof(exec->texts.reason)];
    memcpy(refusal, exec->texts.reason, sizeof(refusal));
    char *reason = exec->texts.reason;
    size_t size = sizeof(exec->texts.reason);
    if (was_refused)
        snprintf(reason, size, "%s: %.*s", mode, (int)size - 16, refusal);
    else if (options->mode != BRAID_MODE_AUTO)
        snprintf(reason, size, "%s: the program asked for it", mode);
    else if (exec->info.mode == BRAID_MODE_GRAPH)
        snprintf(reason, size, "graph: everything in the graph can be replayed by %s", device);
    else
        snprintf(reason, size, "streams: the default on %s", device);
    if (exec->player->is_driven)
        braid_append(reason, size, "; the host drives loops and branches");
    if (exec->placed)
        braid_append(reason, size, "; %u places, without islands", exec->places.num);
    if (options->no_rewriting)
        braid_append(reason, size, "; every kernel runs as the program gave it: no_rewriting");
    if (options->schedule && !braid_exec_plans_for(exec, options->schedule))
        braid_append(reason, size,
                     "; the schedule was planned for other costs than those of %s in this mode",
                     exec->device->label);
    tell_priority(exec);
}

// The device's player that makes islands, or NULL.
static const struct player *find_maker(const braid_exec *exec)
{
    const struct player *const *player = exec->device->backend->ops->players;
    while (*player && !(*player)->makes_islands)
        player++;
    return *player;
}

// An exec that cannot have the islands that a program asks for is refused.
static braid_status check_islands(const braid_exec *exec, const braid_exec_options *options)
{
    bool is_whole = options->islands == BRAID_ISLANDS_WHOLE;
    if (!is_whole && options->islands != BRAID_ISLANDS_ALWAYS)
        return BRAID_OK;
    if (!find_maker(exec))
        return braid_error(BRAID_UNSUPPORTED,
                           "%s has no islands, and the option islands asks for %s",
                           exec->device->label, is_whole ? "one" : "them");
    if (!braid_exec_islands)
        return braid_error_left_out("braid_exec_create", "islands");
    if (options->mode == BRAID_MODE_STREAMS)
        return braid_error(BRAID_UNSUPPORTED, "%s has no islands in streams mode",
                           exec->device->label);
    return BRAID_OK;
}

// Sets the exec's shape if the graph is to be one island.
static braid_status choose_island(braid_exec *exec, const braid_graph *graph,
                                  const braid_exec_options *options, bool must)
{
    struct error_attempt attempt;
    if (must)
        return braid_exec_islands->choose(exec, graph, options);
    braid_error_begin_attempt(&attempt);
    braid_status status = braid_exec_islands->choose(exec, graph, options);
    end_try(exec, &attempt, status);
    if (!is_refused(exec, status))
        return status;
    exec->shape = NULL;
    return BRAID_OK;
}

// Tries the whole graph as one island before all other ways, if that is asked for or expected to be
// shorter. *out_made false: it is not one.
static braid_status try_island(braid_exec *exec, const braid_graph *graph,
                               const braid_exec_options *options, bool *out_made)
{
    bool must = options->islands == BRAID_ISLANDS_WHOLE;
    braid_status status = BRAID_OK;
    *out_made = false;
    exec->player = find_maker(exec);
    if (braid_exec_islands && exec->player)
        status = choose_island(exec, graph, options, must);
    if (status || !exec->shape)
        return status;
    status = try_player(exec, graph, options, exec->player, must);
    *out_made = !status;
    if (*out_made)
        snprintf(exec->texts.reason, sizeof(exec->texts.reason), "graph: one island, %s",
                 must ? "as asked for" : "which is expected to be shorter");
    if (!must && is_refused(exec, status))
        status = BRAID_OK;
    if (!*out_made)
        exec->shape = NULL;
    return status;
}

// The best player that can play it, of those that the mode allows.
static braid_status choose_player(braid_exec *exec, const braid_graph *graph,
                                  const braid_exec_options *options)
{
    bool must_have = options->islands == BRAID_ISLANDS_ALWAYS; // then no other is as good
    braid_exec_mode mode =
        must_have && options->mode == BRAID_MODE_AUTO ? BRAID_MODE_GRAPH : options->mode;
    const struct player *const *player =
        braid_exec_find_player(exec->device->backend->ops->players, mode);
    if (!*player) {
        bool is_graph = mode == BRAID_MODE_GRAPH;
        const char *why = is_graph ? exec->device->backend->ops->why_no_graphs : NULL;
        return braid_error(BRAID_UNSUPPORTED, "%s has no %s replay%s%s", exec->device->label,
                           is_graph ? "graph" : "streams", why ? ": " : "", why ? why : "");
    }
    bool made;
    braid_status tried = try_island(exec, graph, options, &made);
    if (tried || made)
        return tried;
    for (bool was_refused = false;; was_refused = true) {
        const struct player *const *next = braid_exec_find_player(player + 1, mode);
        braid_status status = try_player(exec, graph, options, *player, !*next);
        if (!status)
            tell_reason(exec, options, was_refused);
        if (!is_refused(exec, status) || !*next)
            return status;
        player = next;
    }
}

braid_status braid_exec_choose_player(braid_exec *exec, const braid_graph *graph,
                                      const braid_exec_options *options)
{
    braid_status status = check_islands(exec, options);
    return status ? status : choose_player(exec, graph, options);
}

void braid_exec_get_cost_model(const braid_exec *exec, braid_cost_model *out_model)
{
    struct backend *backend = exec->device->backend;
    if (exec->shape)
        exec->shape->get_cost_model(backend, out_model);
    else
        exec->player->get_cost_model(backend, out_model);
}

static void find_costs(braid_device *device)
{
    struct backend *backend = device->backend;
    for (int mode = BRAID_MODE_AUTO; mode <= BRAID_MODE_GRAPH; mode++) {
        const struct player *const *player =
            braid_exec_find_player(backend->ops->players, (braid_exec_mode)mode);
        if (*player)
            (*player)->get_cost_model(backend, &device->costs[mode].given);
        else
            backend->ops->get_cost_model(backend, &device->costs[mode].given);
        device->cost_list[mode] = &device->costs[mode].given;
    }
    device->has_costs = true;
}

// Here, since a player knows its costs.
void braid_device_get_info_sized(const braid_device *device, braid_device_info *out_info,
                                 size_t size)
{
    DEVICE_MEMORY(device);
    braid_device_info info = braid_device_describe(device);
    if (device_is_open(device) && !device->group) {
        braid_device *kept = (braid_device *)(uintptr_t)device;
        pthread_mutex_lock(&kept->lock);
        if (!kept->has_costs)
            find_costs(kept);
        pthread_mutex_unlock(&kept->lock);
        info.costs = kept->cost_list;
    }
    braid_sized_give(&info, sizeof(info), out_info, size);
}
