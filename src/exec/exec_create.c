// SPDX-License-Identifier: Apache-2.0
// Making an exec: load, plan, make the plan's program, verify, hand it to a player; and taking it
// apart.
#include <stdio.h>

#include "base/error.h"
#include "base/node_text.h"
#include "device/group.h"
#include "exec/black_box.h"
#include "exec/deadline.h"
#include "exec/exec.h"
#include "exec/exec_ended.h"
#include "exec/exec_idle.h"
#include "exec/exec_islands.h"
#include "exec/exec_memory.h"
#include "exec/exec_times.h"
#include "graph/graph_ranks.h"
#include "graph/regions.h"
#include "plan/cost_model.h"
#include "plan/schedule.h"
#include "verify/verify.h"

static braid_status check_schedule(const braid_schedule *schedule, const braid_graph *graph)
{
    if (schedule->graph_id != graph->id)
        return braid_error_invalid("braid_exec_create: the schedule is of another graph");
    if (schedule->graph_version != graph->version)
        return braid_error_invalid(
            "braid_exec_create: the graph changed after the schedule was made");
    return BRAID_OK;
}

// A writer that a parameter may disable hides no earlier ones, and the schedule may lack these.
static braid_status check_left_out(const braid_schedule *schedule, const struct culled *culled)
{
    for (uint32_t i = 0; schedule && i < culled->own.nodes.num; i++) {
        if (schedule_left_out(schedule, i) && !graph_nodes(&culled->own)[i].is_left_out)
            return braid_error_invalid("braid_exec_create: the schedule was made before a "
                                       "parameter could disable a node, and leaves out node %s",
                                       braid_node_text(i, braid_graph_name(&culled->own, i)).text);
    }
    return BRAID_OK;
}

braid_status braid_exec_find_schedule(braid_exec *exec, const braid_graph *graph,
                                      const braid_exec_options *options,
                                      const struct player *player)
{
    if (options->schedule) // the exec adds to one of its own
        return braid_schedule_undivided(options->schedule, &exec->schedule);
    if (exec->schedule) // as one island
        return BRAID_OK;
    braid_schedule_options plan = options->plan;
    if (plan_costs_are_zero(&plan.costs))
        player->get_cost_model(exec->device->backend, &plan.costs);
    plan.places = NULL;            // which `placed` has
    plan.costs.island_call_ns = 0; // it is divided when it is known what can be inside
    return exec->placed ? braid_schedule_create_placed(exec->placed, &plan, &exec->schedule)
                        : braid_schedule_create(graph, &plan, &exec->schedule);
}

static bool knows_ends(const braid_exec_options *options)
{
    return options->black_box || options->deadline_ns;
}

// Also of a half-made exec. The tasks stay.
static void finish_program(braid_exec *exec)
{
    for (uint32_t i = 0; exec->frames.slots && i < exec->frames.num; i++) {
        struct frame_slot *slot = &exec->frames.slots[i];
        if (slot->playing)
            exec->player->destroy(slot->playing);
        slot->playing = NULL;
        braid_frame_finish(&slot->frame);
    }
    braid_exec_drop_memory(exec);
    braid_exec_drop_times(exec);
    braid_program_finish(&exec->program);
    braid_schedule_destroy(exec->schedule);
    exec->schedule = NULL;
}

static braid_status make_playing(braid_exec *exec, uint32_t index,
                                 const braid_exec_options *options)
{
    struct frame_slot *slot = &exec->frames.slots[index];
    const struct stage stage = {
        .player = exec->player,
        .device = exec->device,
        .places = exec->placed ? &exec->places : NULL,
        .program = &exec->program,
        .frame = &slot->frame,
        .slot = index,
        .num_slots = exec->frames.num,
        .first = index ? exec->frames.slots[0].playing : NULL,
        .priority = exec->priority,
        .num_profiled = exec_times_of_slot(options->profile, exec->frames.num),
        .must_have_islands = options->islands == BRAID_ISLANDS_ALWAYS,
    };
    unsigned char *arenas[MOST_PLACES];
    struct box_words box_words[MOST_PLACES];
    braid_exec_find_arenas(exec, index, arenas);
    braid_exec_find_box_words(exec, index, box_words);
    braid_status status =
        braid_frame_create(&exec->tasks, arenas, index, braid_exec_notes(exec, index), box_words,
                           braid_exec_traps(exec, index), &slot->frame);
    if (!status && exec->player->check)
        status = exec->player->check(&stage);
    if (!status && !index)
        status = braid_exec_parts_meet(exec->parts, exec, &slot->frame);
    if (!status)
        status = exec->player->create(&stage, &slot->playing);
    slot->number = index;
    slot->seen = exec->values.now;
    return status;
}

static braid_status make_playings(braid_exec *exec, const braid_exec_options *options)
{
    braid_status status = BRAID_OK;
    uint32_t num = exec->frames.num;
    for (uint32_t i = 0; i < num && !status; i++)
        status = make_playing(exec, i, options);
    for (uint32_t i = 0; i < num && !status && num > 1 && exec->player->follow; i++)
        exec->player->follow(exec->frames.slots[i].playing,
                             exec->frames.slots[(i + num - 1) % num].playing);
    return status;
}

static braid_status verify_params(const braid_exec *exec, const braid_graph *graph)
{
    const struct frame *frames[EXEC_MOST_FRAMES];
    if (exec->params.num == 0)
        return BRAID_OK;
    for (uint32_t i = 0; i < exec->frames.num; i++)
        frames[i] = &exec->frames.slots[i].frame;
    return braid_exec_params_verify(&exec->params, graph, &exec->tasks, frames, exec->frames.num);
}

braid_status braid_exec_make_program(braid_exec *exec, const braid_graph *graph,
                                     const braid_exec_options *options, const struct player *player)
{
    exec->player = player;
    char who[60];
    snprintf(who, sizeof(who), "the %s player", player->name);
    braid_status status = player->plays_loops ? BRAID_OK : braid_graph_refuse_regions(graph, who);
    if (!status)
        status = braid_exec_find_schedule(exec, graph, options, player);
    if (!status && braid_exec_islands)
        status = braid_exec_islands->divide(exec, options);
    if (!status) {
        braid_tasks_name(&exec->tasks, exec->schedule);
        status = braid_exec_choose_early(exec, graph, options);
    }
    if (!status)
        status = braid_program_create(exec->schedule, &exec->tasks, exec->shape, &exec->program);
    if (!status)
        status = braid_exec_plan_memory(exec, graph);
    if (!status)
        status = braid_exec_order_frames(exec, graph);
    if (!status) // it times the operations of then
        status = braid_exec_add_times(exec, options->profile);
    if (!status)
        braid_exec_assign_notes(exec);
    if (!status)
        status = make_playings(exec, options);
    if (!status)
        status = verify_params(exec, graph);
    if (status) {
        finish_program(exec);
        return status;
    }
    exec->info.mode = player->mode;
    bool has_queues = exec->frames.slots[0].queue;
    exec->info.num_streams = 0;
    exec->info.num_events = exec->placed ? exec->places.num - 1 : 0; // probes
    exec->info.num_events += knows_ends(options) ? EXEC_MARKS : 0;
    for (uint32_t i = 0; i < exec->frames.num; i++) {
        exec->info.num_streams += exec->frames.slots[i].playing->num_streams + has_queues;
        exec->info.num_events +=
            exec->frames.slots[i].playing->num_events + 1 + has_queues; // `done`
    }
    exec->info.num_islands = exec->frames.slots[0].playing->num_islands;
    exec->info.num_island_nodes = exec->frames.slots[0].playing->num_island_nodes;
    exec->info.num_prefetches = exec->frames.slots[0].playing->num_prefetches;
    return BRAID_OK;
}

static braid_status check_options(const braid_graph *graph, const braid_exec_options *options)
{
    int mode = (int)options->mode;
    if (mode < BRAID_MODE_AUTO || mode > BRAID_MODE_GRAPH)
        return braid_error_invalid("braid_exec_create: unknown mode %d", mode);
    int islands = (int)options->islands;
    if (islands < BRAID_ISLANDS_AUTO || islands > BRAID_ISLANDS_ALWAYS)
        return braid_error_invalid("braid_exec_create: unknown islands %d", islands);
    int when_full = (int)options->when_full;
    if (options->frames > EXEC_MOST_FRAMES)
        return braid_error_invalid("braid_exec_create: %u frames in flight, and %d are the most",
                                   options->frames, (int)EXEC_MOST_FRAMES);
    if (when_full < BRAID_FULL_QUEUES || when_full > BRAID_FULL_REFUSES)
        return braid_error_invalid("braid_exec_create: unknown when_full %d", when_full);
    if (options->on_deadline && !options->deadline_ns)
        return braid_error_invalid("braid_exec_create: on_deadline is given, and deadline_ns is 0");
    return options->schedule ? check_schedule(options->schedule, graph) : BRAID_OK;
}

void braid_exec_free(braid_exec *exec)
{
    braid_exec_stop_deadline(exec);
    braid_exec_drop_parts(&exec->parts, exec);
    finish_program(exec);
    braid_tasks_finish(&exec->tasks);
    braid_exec_return_queues(exec);
    braid_exec_free_arena(exec->device, &exec->memory.versions);
    braid_exec_free_box_words(exec);
    braid_placed_release(exec->placed);
    braid_exec_params_finish(&exec->params);
    braid_extents_finish(&exec->extents);
    pthread_mutex_destroy(&exec->turn.lock);
    pthread_cond_destroy(&exec->turn.has_waited);
    pthread_mutex_destroy(&exec->memory.lock);
    braid_graph_destroy(exec->memory.scratch_graph);
    braid_graph_destroy(exec->captured);
    braid_culled_finish(&exec->culled);
    braid_store_finish(&exec->store);
    free(exec);
}

// Makes everything that does not depend on the player.
static braid_status make_parts(braid_exec *exec, const braid_graph *graph,
                               const braid_exec_options *options)
{
    exec->frames.num = options->frames ? options->frames : 1;
    exec->frames.when_full = options->when_full;
    exec->priority = options->priority;
    exec->frames.slots =
        braid_store_take(&exec->store, exec->frames.num, sizeof(*exec->frames.slots));
    if (!exec->frames.slots)
        return braid_error_no_memory("the frames of an exec");
    braid_status status =
        braid_tasks_create(exec->device->backend, exec->placed ? &exec->places : NULL, graph,
                           options->black_box, exec->priority, &exec->tasks);
    if (!status)
        status = braid_exec_add_black_box(exec, graph, options);
    if (!status)
        status = braid_exec_add_traps(exec);
    if (status)
        return status;
    if (graph->ranks)
        graph->ranks->ops->make_operations(exec, graph);
    status = braid_extents_create(graph, &exec->extents);
    if (!status)
        status = braid_exec_params_create(graph, &exec->tasks, &exec->params);
    if (!status)
        status = braid_exec_values_create(exec->tasks.num, &exec->store, &exec->values);
    if (!status)
        status = braid_exec_idle_create(exec);
    if (!status)
        status = braid_exec_keep_scratch(exec, graph);
    if (status)
        return status;
    status = braid_exec_allocate_versions(exec, graph);
    if (!status)
        status = braid_exec_lease_queues(exec);
    if (!status)
        status = braid_exec_add_end(exec, options);
    if (!status && knows_ends(options)) // behind the call: a frame ends with it
        status = braid_exec_add_ended(exec);
    if (!status)
        status = braid_exec_add_probes(exec);
    return status ? status : braid_exec_add_deadline(exec, options);
}

// The graph that is planned is the one that was placed, where there are several places.
braid_status braid_exec_make(braid_exec *exec, const braid_graph *graph,
                             const braid_exec_options *options)
{
    braid_status status = braid_exec_place(exec, graph, options);
    if (status)
        return status;
    if (exec->placed && graph->ranks)
        return braid_error(BRAID_UNSUPPORTED,
                           "braid_exec_create: a graph with communicators has one device");
    braid_exec_options own = *options;
    if (exec->placed) {
        graph = exec->placed->graph;
        own.islands = BRAID_ISLANDS_NEVER; // they were not asked for
    }
    status = make_parts(exec, graph, &own);
    if (status)
        return status;
    status = braid_exec_choose_player(exec, graph, &own);
    return status ? status : braid_exec_idle_keep(exec);
}

// The exec holds its devices open until it is destroyed. All ranks of a graph with communicators
// hear of a failure, and of an error `status` from before.
static braid_status create_on(const struct places *places, const braid_graph *graph,
                              const braid_exec_options *options, braid_status status,
                              braid_exec **out_exec)
{
    braid_exec *exec = calloc(1, sizeof(*exec));
    if (!exec)
        return braid_error_no_memory("an exec");
    exec->device = places->devices[0];
    exec->places = *places;
    pthread_mutex_init(&exec->turn.lock, NULL);
    pthread_cond_init(&exec->turn.has_waited, NULL);
    pthread_mutex_init(&exec->memory.lock, NULL);
    if (!status)
        status = check_options(graph, options);
    if (!status)
        status = braid_graph_check_regions(graph); // nodes that are left out, too
    if (!status)
        status = braid_graph_cull(graph, &exec->culled);
    if (!status)
        status = braid_verify_left_out(graph, exec->culled.graph);
    if (!status)
        status = check_left_out(options->schedule, &exec->culled);
    if (!status)
        graph = exec->culled.graph;
    if (graph->ranks)
        status = graph->ranks->ops->make_exec(exec, graph, options, status);
    else if (!status)
        status = braid_exec_make(exec, graph, options);
    if (!status && options->capture)
        status = braid_graph_clone(graph, &exec->captured);
    if (status) {
        braid_exec_free(exec);
        return status;
    }
    braid_exec_empty_grids(exec, exec->placed ? exec->placed->graph : graph);
    exec->info.argument_bytes = exec->tasks.num_slot_bytes[TASK_SLOT_ARGUMENTS];
    braid_places_hold(places, offsetof(braid_device, num_execs), 1);
    *out_exec = exec;
    return BRAID_OK;
}

braid_status braid_exec_create(braid_device *device, const braid_graph *graph,
                               const braid_exec_options *options, braid_exec **out_exec)
{
    if (!device || !graph || !out_exec)
        return braid_error_null("braid_exec_create", !device  ? "device"
                                                     : !graph ? "graph"
                                                              : "out_exec");
    braid_status status = braid_device_check_open("braid_exec_create", device);
    if (status)
        return status;
    const struct places places = braid_device_places(device);
    for (uint32_t i = 0; i < places.num && !status; i++)
        status = braid_device_check("braid_exec_create", places.devices[i]);
    braid_exec_options own = { 0 };
    if (options)
        own = *options;
    if (!own.plan.places && device->group)
        own.plan.places = &device->group->model;
    device_enter(places.devices[0]);
    status = create_on(&places, graph, &own, status, out_exec);
    device_leave(places.devices[0]);
    return status;
}
