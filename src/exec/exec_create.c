// SPDX-License-Identifier: Apache-2.0
// Making an exec: load, plan, make the plan's program, verify, hand it to a player; and taking it
// apart.
#include <stddef.h>
#include <stdio.h>

#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/inside.h"
#include "base/node_text.h"
#include "base/sized.h"
#include "device/places.h"
#include "exec/exec.h"
#include "exec/exec_islands.h"
#include "exec/exec_memory.h"
#include "exec/exec_parts.h"
#include "exec/exec_plan.h"
#include "exec/exec_times.h"
#include "graph/graph_ranks.h"
#include "graph/regions.h"
#include "plan/places/place.h"
#include "plan/plan_early.h"
#include "plan/schedule.h"
#include "verify/verify.h"

// ---- early launches ----

static uint32_t share_of(const struct backend_launch *launch, uint64_t blocks_at_once)
{
    uint64_t blocks = (uint64_t)launch->grid.x * launch->grid.y;
    if (__builtin_mul_overflow(blocks, launch->grid.z, &blocks) || blocks >= blocks_at_once)
        return PLAN_EARLY_ROOM;
    return (uint32_t)((double)blocks / (double)blocks_at_once * PLAN_EARLY_ROOM) + 1;
}

// A kernel whose text is changed already has no other change.
static bool may_fetch(const struct backend_launch *launch)
{
    return launch->kernel->waits_first && !launch->kernel->notes_begin && !launch->grid_from &&
           !launch->cluster.x && !launch->cooperative;
}

// A kernel with a cluster stays as its author made it. A kernel that
// reads its grid from memory does so before its author's wait: only Braid's wait makes that safe.
static braid_status describe(const braid_exec *exec, const struct backend_task *task,
                             bool is_programmatic, struct plan_early_node *node)
{
    struct backend *backend = places_backend(&exec->places, exec->device->backend, task->place);
    uint64_t blocks_at_once = 0;
    braid_status status = BRAID_OK;
    if (backend->ops->count_blocks)
        status = backend->ops->count_blocks(backend, &task->launch, &blocks_at_once);
    *node = (struct plan_early_node){
        .can = !task->launch.cooperative &&
               ((is_programmatic && !task->launch.grid_from) ||
                (task->launch.cluster.x == 0 && task->launch.kernel->waits_first)),
        .tells = is_programmatic,
        .fetches = may_fetch(&task->launch),
        .share = share_of(&task->launch, blocks_at_once),
    };
    return status;
}

static braid_status describe_all(const braid_exec *exec, const braid_graph *graph,
                                 struct plan_early_node *nodes)
{
    const struct graph_kernel *kernels = graph->kernels.items;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < exec->tasks.num && !status; i++) {
        const struct backend_task *task = &exec->tasks.items[i];
        if (task->kind == WORK_KERNEL)
            status = describe(
                exec, task, kernels[graph_nodes(graph)[i].payload].kernel->programmatic, &nodes[i]);
    }
    return status;
}

// Sets the start of all kernel tasks for the exec's schedule and player, and counts early ones in
// its info. Chooses the fetches of kernels: the option for early starts does not change them.
// Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
static braid_status exec_choose_early(braid_exec *exec, const braid_graph *graph,
                                      const braid_exec_options *options)
{
    static const enum backend_start starts[] = {
        [PLAN_NOT_EARLY] = BACKEND_STARTS_IN_ORDER,
        [PLAN_EARLY_AT_END] = BACKEND_STARTS_AS_BLOCKS_END,
        [PLAN_EARLY_AT_BEGIN] = BACKEND_STARTS_AS_BLOCKS_BEGIN,
    };
    const bool adjacent = exec->player->starts_early_if_adjacent;
    // On several devices addresses are elsewhere.
    const bool fetches = !options->no_prefetch && !adjacent && !exec->placed;
    uint32_t num_early = 0;
    braid_cost_model costs;
    braid_exec_get_cost_model(exec, &costs);
    exec->info.num_early_starts = 0;
    for (uint32_t i = 0; i < exec->tasks.num; i++) { // another player may have been tried
        if (exec->tasks.items[i].kind == WORK_KERNEL)
            exec->tasks.items[i].launch.start = BACKEND_STARTS_IN_ORDER;
    }
    exec->tasks.prefetches = NULL;
    exec->schedule->no_rewriting = options->no_rewriting;
    // With times, events stand between the kernels of a stream.
    if (!costs.early_ns || (options->no_early_start && !fetches) ||
        (options->frames_kept && adjacent))
        return BRAID_OK;
    struct plan_early_node *nodes = braid_allocate_zeroed(exec->tasks.num, sizeof(*nodes));
    if (!nodes)
        return braid_error_no_memory("the early starts of an exec");
    braid_status status = describe_all(exec, graph, nodes);
    if (!status)
        status = braid_plan_choose_early(exec->schedule, graph, adjacent, nodes, &num_early);
    if (!status && !options->no_early_start)
        exec->info.num_early_starts = num_early;
    for (uint32_t i = 0; i < exec->tasks.num && exec->info.num_early_starts; i++) {
        if (exec->tasks.items[i].kind == WORK_KERNEL)
            exec->tasks.items[i].launch.start = starts[nodes[i].early];
    }
    if (!status && fetches)
        status = braid_plan_choose_prefetch(exec->schedule, graph, nodes);
    exec->tasks.prefetches = exec->schedule->prefetches;
    braid_free(nodes);
    return status;
}

// ---- several devices ----

// The planner makes one graph of the program's nodes and the copies between places. Each of its
// lanes has a place (graph/placed.h). All later steps are as with one device, except that tasks,
// lanes and arenas belong to the device of their place. The streams of launches and slots belong to
// place 0, and so do the events of frames' ends.
//
// An event says that its stream has come to it, not that earlier work of other devices was right. A
// device that breaks tells so only when it is asked itself. So each has an event that is never
// recorded: its probe, which waits ask when a frame has ended.

static braid_status check_schedule_places(const braid_exec *exec, const braid_schedule *schedule)
{
    uint32_t num = schedule->placed ? schedule->placed->model.num_places : 1;
    if (num <= exec->places.num)
        return BRAID_OK;
    return braid_error_invalid("braid_exec_create: the schedule is for %u places, there %s %u", num,
                               exec->places.num == 1 ? "is" : "are", exec->places.num);
}

// Refuses a schedule that is older than a parameter.
static braid_status check_rests(const braid_graph *graph, const struct placed *placed)
{
    for (uint32_t i = 0; placed && i < placed->model.num_nodes; i++) {
        if (graph_nodes(graph)[i].may_rest && graph_nodes(placed->graph)[i].must_run)
            return braid_error_invalid(
                "braid_exec_create: the schedule was made before a parameter could disable node %s",
                braid_node_text(i, braid_graph_name(graph, i)).text);
    }
    return BRAID_OK;
}

static braid_status check_model(const braid_exec *exec, const braid_place_model *model)
{
    uint32_t num = model ? model->num_places : 0;
    if (num <= exec->places.num)
        return BRAID_OK;
    return braid_error_invalid("braid_exec_create: options.places has %u places, there %s %u", num,
                               exec->places.num == 1 ? "is" : "are", exec->places.num);
}

static braid_status refuse(const char *what)
{
    return braid_error(BRAID_UNSUPPORTED, "an exec on several devices has no %s", what);
}

static braid_status check_placed(const braid_exec_options *options)
{
    if (options->frames_kept)
        return refuse("times of frames (profile): devices have clocks of their own");
    if (options->islands == BRAID_ISLANDS_WHOLE || options->islands == BRAID_ISLANDS_ALWAYS)
        return refuse("islands");
    return BRAID_OK;
}

// With the cost model of the player that is tried first.
static braid_status place(braid_exec *exec, const braid_graph *graph,
                          const braid_exec_options *options)
{
    struct plan_options plan = braid_exec_plan_options(options);
    struct backend *backend = exec->device->backend;
    const struct player *const *player =
        braid_exec_find_player(backend->ops->players, options->mode);
    if (!options->costs && *player)
        (*player)->get_cost_model(backend, &plan.costs);
    return braid_graph_place(graph, &plan, &exec->placed);
}

// Makes the exec's graph on its places; exec->placed stays NULL if that is the program's graph.
// Errors: BRAID_UNSUPPORTED (a feature that several places do not have), BRAID_INVALID_ARGUMENT (a
// schedule for more places than there are), those of braid_graph_place.
static braid_status exec_place(braid_exec *exec, const braid_graph *graph,
                               const braid_exec_options *options)
{
    const braid_place_model *model = options->places;
    braid_status status = BRAID_OK;
    if (options->schedule) {
        status = check_schedule_places(exec, options->schedule);
        exec->placed = status ? NULL : braid_placed_share(options->schedule->placed);
        status = status ? status : check_rests(graph, exec->placed);
    } else {
        status = check_model(exec, model);
        if (!status && model && model->num_places > 1)
            status = place(exec, graph, options);
    }
    return status || !exec->placed ? status : check_placed(options);
}

// Events of all places but 0, leased, never recorded.
struct exec_probes {
    struct exec_part part;
    braid_event *events[MOST_PLACES];
};

static braid_status wait(struct exec_part *part, braid_exec *exec)
{
    const struct exec_probes *probes = (const struct exec_probes *)part;
    braid_status status = BRAID_OK;
    for (uint32_t i = 1; i < exec->places.num && !status; i++) {
        struct backend *backend = exec->places.devices[i]->backend;
        status = backend->ops->event_query(backend, probes->events[i]->backend);
    }
    return status;
}

static void finish(struct exec_part *part, braid_exec *exec)
{
    struct exec_probes *probes = (struct exec_probes *)part;
    for (uint32_t i = 1; i < exec->places.num; i++) {
        if (probes->events[i])
            braid_device_return_event(exec->places.devices[i], probes->events[i]);
    }
    braid_free(probes);
}

static const struct exec_part_ops ops = { .wait = wait, .finish = finish };

// Adds the part by which waits ask whether the other devices still work. Errors: as lease_event.
static braid_status exec_add_probes(braid_exec *exec)
{
    if (!exec->placed)
        return BRAID_OK;
    struct exec_probes *probes = braid_allocate_zeroed(1, sizeof(*probes));
    if (!probes)
        return braid_error_no_memory("an exec");
    probes->part.ops = &ops;
    braid_exec_add_part(&exec->parts, &probes->part);
    braid_status status = BRAID_OK;
    for (uint32_t i = 1; i < exec->places.num && !status; i++)
        status = braid_device_lease_event(exec->places.devices[i], &probes->events[i]);
    return status;
}

// ---- making and freeing ----

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
    EXEC_MEMORY(exec);
    if (options->schedule) // the exec adds to one of its own
        return braid_schedule_undivided(options->schedule, &exec->schedule);
    if (exec->schedule) // as one island
        return BRAID_OK;
    struct plan_options plan = braid_exec_plan_options(options);
    if (!options->costs)
        player->get_cost_model(exec->device->backend, &plan.costs);
    plan.places = NULL;            // which `placed` has
    plan.costs.island_call_ns = 0; // it is divided when it is known what can be inside
    return exec->placed ? braid_schedule_create_placed(exec->placed, &plan, &exec->schedule)
                        : braid_schedule_plan(graph, &plan, &exec->schedule);
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
        .exec = exec,
        .slot = index,
        .num_slots = exec->frames.num,
        .first = index ? exec->frames.slots[0].playing : NULL,
        .priority = exec->priority,
        .num_profiled = exec_times_of_slot(options->frames_kept, exec->frames.num),
        .must_have_islands = options->islands == BRAID_ISLANDS_ALWAYS,
        .no_early_start = options->no_early_start,
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
        status = exec_choose_early(exec, graph, options);
    }
    if (!status)
        status = braid_program_create(exec->schedule, &exec->tasks,
                                      exec->shape ? exec->shape->is_island : 0, &exec->program);
    if (!status)
        status = braid_exec_plan_memory(exec, graph);
    if (!status)
        status = braid_exec_order_frames(exec, graph);
    if (!status) // it times the operations of then
        status = braid_exec_add_times(exec, options->frames_kept);
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
    if (options->no_rewriting && islands >= BRAID_ISLANDS_WHOLE)
        return braid_error_invalid(
            "braid_exec_create: no_rewriting forbids islands, and BRAID_ISLANDS_%s asks for them",
            islands == BRAID_ISLANDS_WHOLE ? "WHOLE" : "ALWAYS");
    int when_full = (int)options->when_full;
    if (options->frames_in_flight > EXEC_MOST_FRAMES)
        return braid_error_invalid("braid_exec_create: %u frames in flight, and %d are the most",
                                   options->frames_in_flight, (int)EXEC_MOST_FRAMES);
    if (when_full < BRAID_FULL_QUEUES || when_full > BRAID_FULL_REFUSES)
        return braid_error_invalid("braid_exec_create: unknown when_full %d", when_full);
    if (options->on_deadline && !options->deadline_ns)
        return braid_error_invalid("braid_exec_create: on_deadline is given, and deadline_ns is 0");
    return options->schedule ? check_schedule(options->schedule, graph) : BRAID_OK;
}

// exec_create.c: without waiting, half-made or not.
static void exec_free(braid_exec *exec)
{
    braid_exec_stop_deadline(exec);
    braid_exec_free_exported(exec); // before the parts, whose memory it has
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
    braid_free(exec);
}

static braid_status copy_words(braid_exec *exec, const braid_graph *graph)
{
    const size_t num = graph->words.num, bytes = sizeof(struct code_word);
    void *words = num ? braid_store_take(&exec->store, num, bytes) : NULL;
    if (num && !words)
        return braid_error_no_memory("an exec");
    if (num)
        memcpy(words, graph->words.items, num * bytes);
    exec->words = (struct array){ .items = words, .num = num };
    exec->edges_only = graph->imported_places;
    return BRAID_OK;
}

// Makes everything that does not depend on the player.
static braid_status make_parts(braid_exec *exec, const braid_graph *graph,
                               const braid_exec_options *options)
{
    exec->frames.num = options->frames_in_flight ? options->frames_in_flight : 1;
    exec->frames.when_full = options->when_full;
    exec->priority = options->priority;
    exec->frames.slots =
        braid_store_take(&exec->store, exec->frames.num, sizeof(*exec->frames.slots));
    if (!exec->frames.slots)
        return braid_error_no_memory("the frames of an exec");
    braid_status status = braid_tasks_create(
        exec->device->backend, exec->placed ? &exec->places : NULL, graph, options->black_box,
        !options->no_early_start || !options->no_prefetch, exec->priority, &exec->tasks);
    if (!status)
        status = braid_exec_add_black_box(exec, graph, options);
    if (!status)
        status = braid_exec_add_traps(exec);
    if (status)
        return status;
    if (graph->ranks) {
        PLAIN_MEMORY; // as in make_with_ranks
        graph->ranks->ops->make_operations(exec, graph);
    }
    status = braid_extents_create(graph, &exec->extents);
    if (!status)
        status = copy_words(exec, graph);
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
        status = exec_add_probes(exec);
    if (!status && options->pool)
        status = options->pool->join(options->pool, exec);
    return status ? status : braid_exec_add_deadline(exec, options);
}

// The graph that is planned is the one that was placed, where there are several places.
braid_status braid_exec_make(braid_exec *exec, const braid_graph *graph,
                             const braid_exec_options *options)
{
    EXEC_MEMORY(exec);
    braid_status status = exec_place(exec, graph, options);
    if (status)
        return status;
    if (exec->placed && graph->ranks)
        return braid_error(BRAID_UNSUPPORTED,
                           "braid_exec_create: a graph with communicators has one device");
    braid_exec_options own = *options;
    const braid_graph *given = graph;
    if (exec->placed) {
        graph = exec->placed->graph;
        own.islands = BRAID_ISLANDS_NEVER; // they were not asked for
    }
    if (own.no_rewriting) {
        own.islands = BRAID_ISLANDS_NEVER;
        own.no_early_start = own.no_prefetch = true;
    }
    status = make_parts(exec, graph, &own);
    if (!status)
        status = braid_exec_check_code(exec, given);
    if (status)
        return status;
    status = braid_exec_choose_player(exec, graph, &own);
    return status ? status : braid_exec_idle_keep(exec);
}

// An engine whose ranks have failed may write to memory of theirs when the device is closed.
static braid_status make_with_ranks(braid_exec *exec, const braid_graph *graph,
                                    const braid_exec_options *options, braid_status status)
{
    PLAIN_MEMORY;
    return graph->ranks->ops->make_exec(exec, graph, options, status);
}

// The exec holds its devices open until it is destroyed. All ranks of a graph with communicators
// hear of a failure, and of an error `status` from before.
static braid_status create_on(const struct places *places, const braid_graph *graph,
                              const braid_exec_options *options, braid_status status,
                              braid_exec **out_exec)
{
    braid_exec *exec = braid_allocate_pages(sizeof(*exec));
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
        status = make_with_ranks(exec, graph, options, status);
    else if (!status)
        status = braid_exec_make(exec, graph, options);
    if (!status && options->capture)
        status = braid_graph_clone(graph, &exec->captured);
    if (status) {
        exec_free(exec);
        return status;
    }
    braid_exec_empty_grids(exec, exec->placed ? exec->placed->graph : graph);
    exec->info.argument_bytes = exec->tasks.num_slot_bytes[TASK_SLOT_ARGUMENTS];
    braid_places_hold(places, offsetof(braid_device, num_execs), 1);
    *out_exec = exec;
    return BRAID_OK;
}

static braid_status exec_create(braid_device *device, const braid_graph *graph,
                                braid_exec_options *options, braid_exec **out_exec)
{
    DEVICE_MEMORY(device);
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
    if (!options->places && device->group)
        options->places = &device->group->model.given;
    device_enter(places.devices[0]);
    status = create_on(&places, graph, options, status, out_exec);
    device_leave(places.devices[0]);
    return status;
}

braid_status braid_exec_create_sized(braid_device *device, const braid_graph *graph,
                                     const braid_exec_options *options, braid_exec **out_exec,
                                     size_t size, size_t costs_size, size_t places_size)
{
    braid_exec_options own;
    struct plan_models models;
    braid_status status =
        braid_sized_take("braid_exec_create: options", options, size, &own, sizeof(own));
    if (!status)
        status = braid_exec_take_models("braid_exec_create", &own.costs, costs_size, &own.places,
                                        places_size, &models);
    return status ? status : exec_create(device, graph, &own, out_exec);
}

// ---- destroying an exec, once its frames have ended or their device has failed ----

// Waits for work that still goes on: lanes on other devices, calls on threads of the driver.
static void await_rest(braid_exec *exec)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    (void)braid_exec_synchronize(exec);
    braid_error_end_attempt(&attempt, BRAID_OK);
}

// Waits twice if that fails: nobody can be told, and the memory of the frames is freed next. A
// frame that failed was reported to the thread that waited for it.
static void await_to_free(braid_exec *exec)
{
    struct error_attempt attempt;
    bool has_failed = braid_exec_has_failed(exec);
    exec_ask *await = exec->device->backend->ops->event_synchronize;
    braid_error_begin_attempt(&attempt);
    braid_status status = braid_exec_ask_frames(exec, await);
    if (status)
        status = braid_exec_ask_frames(exec, await);
    if (status)
        status = braid_exec_fail(exec, "the end of the frames of an exec");
    if (status || has_failed)
        await_rest(exec);
    braid_error_end_noted(&attempt, has_failed ? BRAID_OK : status);
}

// Until all is done another thread may ask whether the devices can be closed.
void braid_exec_destroy(braid_exec *exec)
{
    EXEC_MEMORY(exec);
    if (!exec || !device_is_here(exec->device) || braid_inside_check("braid_exec_destroy", exec))
        return;
    const struct places places = exec->places;
    device_enter(places.devices[0]);
    await_to_free(exec);
    exec_free(exec);
    device_leave(places.devices[0]);
    braid_places_hold(&places, offsetof(braid_device, num_execs), -1);
}
