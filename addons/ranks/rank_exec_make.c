// SPDX-License-Identifier: Apache-2.0
// Making an exec of a graph with communicators, as all ranks do together, and its part of them.
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "plan/schedule.h"
#include "ranks/join.h"
#include "ranks/rank_exec.h"
#include "ranks/rank_graph.h"
#include "ranks/ranks.h"

static void finish(struct exec_part *part, braid_exec *exec)
{
    struct rank_exec *own = (struct rank_exec *)part;
    braid_rank_exec_settle(part, exec);
    if (own->is_watched)
        braid_rank_watch_remove(own->ranks, &own->watch);
    for (uint32_t i = 0; i < own->num_communicators; i++)
        braid_communicator_release(own->communicators[i].communicator);
    free(own->communicators);
    free(own->operations);
    free(own);
}

static const struct exec_part_ops ops = {
    .meet = braid_rank_exec_meet,
    .before_launch = braid_rank_exec_before_launch,
    .after_launch = braid_rank_exec_after_launch,
    .wait = braid_rank_exec_wait,
    .settle = braid_rank_exec_settle,
    .finish = finish,
};

static void list_communicators(const braid_graph *graph, struct rank_exec *own)
{
    for (size_t i = 0; i < graph->resources.num; i++) {
        braid_communicator *communicator = graph_resource_at(graph, i)->communicator;
        if (!communicator)
            continue;
        braid_communicator_retain(communicator);
        own->communicators[own->num_communicators++].communicator = communicator;
    }
    own->ranks = own->communicators[0].communicator->ranks;
}

static braid_status add_part(braid_exec *exec, const braid_graph *graph)
{
    enum rank_engine_kind kind = exec->device->backend->ops->rank_engine;
    const struct array *descriptions = &rank_graph_of(graph)->communications;
    struct rank_exec *own = calloc(1, sizeof(*own));
    if (!own)
        return braid_error_no_memory("the communicators of an exec");
    own->part.ops = &ops;
    own->is_linked = kind > RANK_ENGINE_HOST && exec->places.num == 1;
    own->communicators = braid_allocate_zeroed(graph->resources.num, sizeof(*own->communicators));
    own->operations = braid_allocate_zeroed(descriptions->num, sizeof(*own->operations));
    if (!own->communicators || !own->operations) {
        free(own->communicators);
        free(own->operations);
        free(own);
        return braid_error_no_memory("the communicators of an exec");
    }
    list_communicators(graph, own);
    braid_exec_add_part(&exec->parts, &own->part);
    return BRAID_OK;
}

static void count_operation(struct rank_exec *own, const braid_communicator *communicator)
{
    for (uint32_t i = 0; i < own->num_communicators; i++)
        own->communicators[i].num += own->communicators[i].communicator == communicator;
}

// A post's operation, which the node right behind it awaits.
static void make_operation(const braid_graph *graph, uint32_t node, union work *works,
                           struct rank_exec *own)
{
    union work *post = &works[graph_nodes(graph)[node].payload];
    union work *await = &works[graph_nodes(graph)[node + 1].payload];
    const struct rank_description *what = rank_graph_description(graph, node);
    struct rank_operation *operation = &own->operations[own->num_operations++];
    braid_rank_operation_init(operation, what, braid_graph_name(graph, node + 1));
    post->post.operation = await->await.operation = &operation->base;
    count_operation(own, what->communicator);
}

void braid_rank_make_operations(braid_exec *exec, const braid_graph *graph)
{
    union work *works = (union work *)(void *)exec->tasks.slot_bytes[TASK_SLOT_WORKS];
    for (uint32_t i = 0; i < graph_num_nodes(graph); i++) {
        if (graph_nodes(graph)[i].kind == WORK_POST)
            make_operation(graph, i, works, rank_exec_of(exec));
    }
}

static braid_status plan(braid_exec *exec, const braid_graph *graph,
                         const braid_exec_options *options)
{
    const struct player *const *player =
        braid_exec_find_player(exec->device->backend->ops->players, options->mode);
    if (!*player)
        return braid_error(BRAID_UNSUPPORTED, "%s cannot be played in mode %d", exec->device->label,
                           (int)options->mode);
    return braid_exec_find_schedule(exec, graph, options, *player);
}

// One plan for any player.
static braid_status plan_agreed(braid_exec *exec, const braid_graph *graph,
                                const braid_exec_options *options, braid_status status)
{
    bool again;
    if (!status)
        status = plan(exec, graph, options);
    status = braid_rank_exec_agree(exec, graph, !options->schedule, status, &again);
    if (!again)
        return status;
    const braid_exec_options apart = braid_rank_exec_apart(options);
    braid_schedule_destroy(exec->schedule);
    exec->schedule = NULL;
    status = plan(exec, graph, &apart);
    return braid_rank_exec_agree(exec, graph, false, status, &again);
}

static braid_status make_planned(braid_exec *exec, const braid_graph *graph,
                                 const braid_exec_options *options, braid_status status)
{
    const struct rank_exec *own = rank_exec_of(exec);
    braid_exec_options planned = *options;
    status = plan_agreed(exec, graph, options, status);
    planned.schedule = exec->schedule;
    exec->schedule = NULL;
    if (own->is_linked)
        planned.islands = BRAID_ISLANDS_NEVER; // none has an operation inside
    if (!status) {
        status = braid_exec_make(exec, graph, &planned);
        if (!own->parted)
            status = braid_rank_exec_hear(exec, status);
    }
    braid_schedule_destroy((braid_schedule *)(uintptr_t)planned.schedule);
    return status;
}

static braid_status make_linked(braid_exec *exec, const braid_graph *graph,
                                const braid_exec_options *options, braid_status status)
{
    bool again;
    braid_graph *joined = NULL;
    status = braid_rank_exec_connect(exec, options, status);
    if (status)
        return status;
    status = braid_graph_join(graph, &joined);
    status = status ? braid_rank_exec_agree(exec, graph, false, status, &again)
                    : make_planned(exec, joined, options, BRAID_OK);
    braid_graph_destroy(joined);
    if (!status)
        braid_rank_exec_watch(exec);
    return status;
}

braid_status braid_rank_make_exec(braid_exec *exec, const braid_graph *graph,
                                  const braid_exec_options *options, braid_status status)
{
    braid_status added = add_part(exec, graph);
    if (added)
        return status ? status : added;
    return rank_exec_of(exec)->is_linked ? make_linked(exec, graph, options, status)
                                         : make_planned(exec, graph, options, status);
}
