// SPDX-License-Identifier: Apache-2.0
// Making an exec: load, plan, make the program, verify, hand it to a player; and taking it apart.
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/inside.h"
#include "base/sized.h"
#include "exec/early.h"
#include "exec/exec.h"
#include "exec/exec_memory.h"
#include "exec/islands.h"
#include "plan/cost_model.h"
#include "plan/schedule.h"

static braid_status check_schedule(const braid_schedule *schedule, const braid_graph *graph)
{
    if (schedule->placed)
        return braid_error(BRAID_UNSUPPORTED, "braid_exec_create: the schedule is for %u devices",
                           schedule->info.num_places);
    if (schedule->graph_id != graph->id)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "braid_exec_create: the schedule is of another graph");
    if (schedule->graph_version != graph->version)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "braid_exec_create: the graph changed after the schedule was made");
    return BRAID_OK;
}

// The schedule for one player: the program's own, or one planned with what ordering costs there.
static braid_status find_schedule(braid_exec *exec, const braid_graph *graph,
                                  const braid_exec_options *options, const struct player *player)
{
    if (options->schedule) {
        exec->schedule = braid_schedule_retain(options->schedule);
        return BRAID_OK;
    }
    braid_schedule_options plan = options->plan;
    if (plan_costs_are_zero(&plan.costs))
        player->get_cost_model(exec->device->backend, &plan.costs);
    plan.places = NULL;            // there is one device
    plan.costs.island_call_ns = 0; // it is divided when it is known what can be inside
    return braid_schedule_create(graph, &plan, &exec->schedule);
}

// Also of a half-made exec. The tasks stay.
static void finish_program(braid_exec *exec)
{
    for (uint32_t i = 0; exec->slots && i < exec->num_slots; i++) {
        struct frame_slot *slot = &exec->slots[i];
        if (slot->playing)
            exec->player->destroy(slot->playing);
        slot->playing = NULL;
        braid_frame_finish(&slot->frame);
        braid_exec_free_memory(exec, &slot->arena);
    }
    exec->info.memory_bytes = exec->version_bytes;
    braid_exec_times_finish(&exec->times);
    braid_program_finish(&exec->program);
    braid_schedule_destroy(exec->schedule);
    exec->schedule = NULL;
}

static braid_status make_playing(braid_exec *exec, uint32_t index,
                                 const braid_exec_options *options)
{
    struct frame_slot *slot = &exec->slots[index];
    const struct stage stage = {
        .player = exec->player,
        .device = exec->device,
        .program = &exec->program,
        .frame = &slot->frame,
        .slot = index,
        .num_slots = exec->num_slots,
        .num_profiled = exec_times_of_slot(options->profile, exec->num_slots),
        .must_have_islands = options->islands == BRAID_ISLANDS_ALWAYS,
    };
    braid_status status = braid_exec_allocate_arena(exec, slot);
    if (!status)
        status = braid_frame_create(&exec->tasks, slot->arena.begin, index, &slot->frame);
    if (!status && exec->player->check)
        status = exec->player->check(&stage);
    if (!status)
        status = exec->player->create(&stage, &slot->playing);
    slot->number = index;
    return status;
}

static braid_status make_playings(braid_exec *exec, const braid_exec_options *options)
{
    braid_status status = BRAID_OK;
    uint32_t num = exec->num_slots;
    for (uint32_t i = 0; i < num && !status; i++)
        status = make_playing(exec, i, options);
    for (uint32_t i = 0; i < num && !status && num > 1 && exec->player->follow; i++)
        exec->player->follow(exec->slots[i].playing, exec->slots[(i + num - 1) % num].playing);
    return status;
}

static braid_status make_program(braid_exec *exec, const braid_graph *graph,
                                 const braid_exec_options *options, const struct player *player)
{
    exec->player = player;
    braid_status status = find_schedule(exec, graph, options, player);
    if (!status)
        status = braid_exec_divide(exec, options, player);
    if (!status) {
        braid_tasks_name(&exec->tasks, exec->schedule);
        status = braid_exec_choose_early(exec, graph, options);
    }
    if (!status)
        status = braid_program_create(exec->schedule, &exec->tasks, &exec->program);
    if (!status)
        status = braid_exec_plan_memory(exec, graph);
    if (!status)
        status = braid_exec_order_frames(exec, graph);
    if (!status) // of the operations of then
        status = braid_exec_make_times(exec, options->profile);
    if (!status)
        status = make_playings(exec, options);
    if (status) {
        finish_program(exec);
        return status;
    }
    exec->info.mode = player->mode;
    bool has_queues = exec->num_slots > 1;
    exec->info.num_streams = exec->info.num_events = 0;
    for (uint32_t i = 0; i < exec->num_slots; i++) {
        exec->info.num_streams += exec->slots[i].playing->num_streams + has_queues;
        exec->info.num_events += exec->slots[i].playing->num_events + 1 + has_queues; // `done`
    }
    exec->info.num_islands = exec->slots[0].playing->num_islands;
    exec->info.num_island_nodes = exec->slots[0].playing->num_island_nodes;
    return BRAID_OK;
}

// The first of these players that a mode allows, or the end of the list.
static const struct player *const *find_player(const struct player *const *players,
                                               braid_exec_mode mode)
{
    while (*players &&
           ((*players)->is_island || (mode != BRAID_MODE_AUTO && (*players)->mode != mode)))
        players++;
    return players;
}

// A player's refusal is an error only where there is no other.
static braid_status try_player(braid_exec *exec, const braid_graph *graph,
                               const braid_exec_options *options, const struct player *player,
                               bool is_last)
{
    struct error_attempt attempt;
    if (is_last)
        return make_program(exec, graph, options, player);
    braid_error_begin_attempt(&attempt);
    braid_status status = make_program(exec, graph, options, player);
    if (status == BRAID_UNSUPPORTED)
        snprintf(exec->info.reason, sizeof(exec->info.reason), "%s", braid_error_message());
    braid_error_end_attempt(&attempt, status == BRAID_UNSUPPORTED ? BRAID_OK : status);
    return status;
}

// Says which mode it is and why: asked for, the first choice, or all that is left after a refusal.
static void tell_reason(braid_exec *exec, const braid_exec_options *options, bool was_refused)
{
    const char *device = exec->device->backend->ops->name;
    const char *mode = exec->info.mode == BRAID_MODE_NATIVE ? "native" : "streams";
    char refusal[sizeof(exec->info.reason)];
    memcpy(refusal, exec->info.reason, sizeof(refusal));
    char *reason = exec->info.reason;
    size_t size = sizeof(exec->info.reason);
    if (was_refused)
        snprintf(reason, size, "%s: %.*s", mode, (int)size - 16, refusal);
    else if (options->mode != BRAID_MODE_AUTO)
        snprintf(reason, size, "%s: the program asked for it", mode);
    else if (exec->info.mode == BRAID_MODE_NATIVE)
        snprintf(reason, size, "native: everything in the graph can be replayed by %s", device);
    else
        snprintf(reason, size, "streams: the default on %s", device);
}

// The whole graph as one island.
static braid_status make_whole(braid_exec *exec, const braid_graph *graph,
                               const braid_exec_options *options, const struct player *player,
                               const char *why)
{
    braid_status status = make_program(exec, graph, options, player);
    if (status)
        return status;
    exec->info.num_early_starts = 0;
    snprintf(exec->info.reason, sizeof(exec->info.reason), "native: one island, %s", why);
    return BRAID_OK;
}

static braid_status choose_island(braid_exec *exec, const braid_graph *graph,
                                  const braid_exec_options *options)
{
    uint64_t ns;
    const struct player *best = braid_exec_find_island(exec, graph, options, &ns);
    if (!best || options->mode == BRAID_MODE_STREAMS)
        return braid_error(BRAID_UNSUPPORTED, "%s has no islands%s", exec->device->label,
                           best ? " in streams mode" : "");
    return make_whole(exec, graph, options, best, "as asked for");
}

// Tried before all other players where it is expected to be shorter; they take what it refuses.
static braid_status try_island(braid_exec *exec, const braid_graph *graph,
                               const braid_exec_options *options, bool *out_made)
{
    const struct player *island = NULL;
    braid_status status = braid_exec_prefers_island(exec, graph, options, &island);
    *out_made = false;
    if (status || !island)
        return status;
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    status = make_whole(exec, graph, options, island, "which is expected to be shorter");
    *out_made = !status;
    status = status == BRAID_UNSUPPORTED ? BRAID_OK : status;
    braid_error_end_attempt(&attempt, status);
    return status;
}

// The best player that can play it, of those that the mode allows.
static braid_status choose_player(braid_exec *exec, const braid_graph *graph,
                                  const braid_exec_options *options)
{
    bool must_have = options->islands == BRAID_ISLANDS_ALWAYS; // then no other is as good
    braid_exec_mode mode =
        must_have && options->mode == BRAID_MODE_AUTO ? BRAID_MODE_NATIVE : options->mode;
    const struct player *const *player = find_player(exec->device->backend->ops->players, mode);
    if (!*player)
        return braid_error(BRAID_UNSUPPORTED, "%s has no %s replay", exec->device->label,
                           mode == BRAID_MODE_NATIVE ? "native" : "streams");
    bool made;
    braid_status tried = try_island(exec, graph, options, &made);
    if (tried || made)
        return tried;
    for (bool was_refused = false;; was_refused = true) {
        const struct player *const *next = find_player(player + 1, mode);
        braid_status status = try_player(exec, graph, options, *player, !*next);
        if (!status)
            tell_reason(exec, options, was_refused);
        if (status != BRAID_UNSUPPORTED || !*next)
            return status;
        player = next;
    }
}

static braid_status check_arguments(const braid_device *device, const braid_graph *graph,
                                    const braid_exec_options *options, braid_exec **out_exec)
{
    if (!device || !graph || !out_exec)
        return braid_error(BRAID_INVALID_ARGUMENT, "braid_exec_create: %s is NULL",
                           !device  ? "device"
                           : !graph ? "graph"
                                    : "out_exec");
    int mode = (int)options->mode;
    if (mode < BRAID_MODE_AUTO || mode > BRAID_MODE_NATIVE)
        return braid_error(BRAID_INVALID_ARGUMENT, "braid_exec_create: unknown mode %d", mode);
    int islands = (int)options->islands;
    if (islands < BRAID_ISLANDS_AUTO || islands > BRAID_ISLANDS_ALWAYS)
        return braid_error(BRAID_INVALID_ARGUMENT, "braid_exec_create: unknown islands %d",
                           islands);
    int when_full = (int)options->when_full;
    if (options->frames > EXEC_MOST_FRAMES || when_full < BRAID_FULL_QUEUES ||
        when_full > BRAID_FULL_REFUSES)
        return braid_error(BRAID_INVALID_ARGUMENT, "braid_exec_create: %u frames, when full %d",
                           options->frames, when_full);
    return options->schedule ? check_schedule(options->schedule, graph) : BRAID_OK;
}

// Frees an exec without waiting, half-made or not.
static void free_exec(braid_exec *exec)
{
    finish_program(exec);
    braid_tasks_finish(&exec->tasks);
    braid_exec_return_queues(exec);
    braid_exec_free_versions(exec);
    free(exec->slots);
    braid_exec_params_finish(&exec->params);
    braid_exec_finish_changes(exec);
    pthread_mutex_destroy(&exec->lock);
    pthread_mutex_destroy(&exec->turn);
    pthread_mutex_destroy(&exec->info_lock);
    braid_graph_destroy(exec->scratch_graph);
    free(exec);
}

// What does not depend on the player.
static braid_status make_parts(braid_exec *exec, const braid_graph *graph,
                               const braid_exec_options *options)
{
    exec->num_slots = options->frames ? options->frames : 1;
    exec->when_full = options->when_full;
    exec->on_end = options->on_frame_end;
    exec->on_end_user = options->on_frame_end_user;
    exec->slots = braid_allocate_zeroed(exec->num_slots, sizeof(*exec->slots));
    if (!exec->slots)
        return braid_error_no_memory("the frames of an exec");
    braid_status status = braid_tasks_create(exec->device->backend, graph, &exec->tasks);
    if (status)
        return status;
    status = braid_exec_params_create(graph, &exec->tasks, &exec->params);
    if (!status)
        status = braid_exec_prepare_changes(exec);
    if (!status)
        status = braid_exec_keep_scratch(exec, graph);
    if (status)
        return status;
    status = braid_exec_allocate_versions(exec, graph);
    return status ? status : braid_exec_lease_queues(exec);
}

braid_status braid_exec_create(braid_device *device, const braid_graph *graph,
                               const braid_exec_options *options, braid_exec **out_exec)
{
    static const braid_exec_options defaults;
    options = options ? options : &defaults;
    braid_status status = check_arguments(device, graph, options, out_exec);
    if (status)
        return status;
    braid_exec *exec = calloc(1, sizeof(*exec));
    if (!exec)
        return braid_error_no_memory("an exec");
    braid_device_free_kept(device);
    exec->device = device;
    exec->graph_id = graph->id;
    pthread_mutex_init(&exec->lock, NULL);
    pthread_mutex_init(&exec->turn, NULL);
    pthread_mutex_init(&exec->info_lock, NULL);
    status = make_parts(exec, graph, options);
    if (!status)
        status = options->islands == BRAID_ISLANDS_WHOLE ? choose_island(exec, graph, options)
                                                         : choose_player(exec, graph, options);
    if (status) {
        free_exec(exec);
        return status;
    }
    exec->info.argument_bytes = exec->tasks.num_slot_bytes[TASK_SLOT_ARGUMENTS];
    braid_device_hold(device, &device->num_execs, 1);
    *out_exec = exec;
    return BRAID_OK;
}

static braid_exec *exec_from(struct kept *kept)
{
    return (braid_exec *)((char *)kept - offsetof(braid_exec, kept));
}

static bool kept_is_idle(struct kept *kept, bool drained)
{
    return braid_exec_is_idle(exec_from(kept), false, drained);
}

static void free_kept(struct kept *kept)
{
    free_exec(exec_from(kept));
}

// A frame that failed was reported to whoever waited for it; here only its end counts.
void braid_exec_destroy(braid_exec *exec)
{
    if (!exec || braid_inside_check("braid_exec_destroy", exec))
        return;
    braid_device *device = exec->device;
    braid_device_hold(device, &device->num_execs, -1);
    braid_device_free_kept(device);
    if (braid_exec_is_idle(exec, true, false)) {
        free_exec(exec);
        return;
    }
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_error_end_noted(&attempt,
                          braid_error(BRAID_DEVICE_ERROR,
                                      "an exec on %s is kept: its frames cannot be told to have "
                                      "ended",
                                      device->label));
    exec->kept = (struct kept){ .is_idle = kept_is_idle, .free = free_kept };
    braid_device_keep(device, &exec->kept);
}

void braid_device_get_cost_model_sized(const braid_device *device, braid_exec_mode mode,
                                       braid_cost_model *out_model, size_t bytes)
{
    braid_cost_model model = { 0 };
    if (device) {
        const struct player *const *player = find_player(device->backend->ops->players, mode);
        if (*player)
            (*player)->get_cost_model(device->backend, &model);
        else
            device->backend->ops->get_cost_model(device->backend, &model);
    }
    write_sized(out_model, bytes, &model, sizeof(model));
}
