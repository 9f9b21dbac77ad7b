// SPDX-License-Identifier: Apache-2.0
// Execs of graphs with communicators: all ranks make them together, and agree before they run.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "exec/exec.h"
#include "plan/schedule.h"
#include "ranks/rank_graph.h"
#include "ranks/rank_plan.h"

struct rank_exec_communicator {
    braid_communicator *communicator;
    uint32_t num; // operations in a frame
};

struct rank_exec {
    struct exec_part part; // the first of its exec
    braid_ranks *ranks;
    struct rank_exec_communicator *communicators; // the graph's
    uint32_t num_communicators;
    struct rank_operation *operations; // posts', in the graph's order
    uint32_t num_operations;
    bool is_linked;          // a device makes the operations
    bool has_met;            // all ranks have said whether operations can be connected
    braid_status parted;     // why not
    struct rank_watch watch; // watches frames on a device
    bool is_watched;
};

static inline struct rank_exec *rank_exec_of(const braid_exec *exec)
{
    return (struct rank_exec *)exec->parts;
}

// ---- execs of graphs with communicators: the agreement of all ranks before anything runs ----

// The parts of a plan that other ranks need to know.
struct telling {
    const braid_exec *exec;
    const braid_graph *graph;
    struct rank_plan_parts parts;
    bool is_linked; // a device makes the operations
};

static bool tell_edge(struct telling *telling, uint32_t from, uint32_t to, bool is_lane)
{
    return braid_array_put(&telling->parts.edges, &(struct rank_plan_edge){ from, to, is_lane },
                           sizeof(struct rank_plan_edge));
}

// Nodes are vertices. Tells the nodes before each node: on its lane, and by the graph.
static bool tell_edges(struct telling *telling)
{
    const struct braid_schedule *schedule = telling->exec->schedule;
    const struct plan_graph *plan = schedule->graph;
    uint32_t before = GRAPH_NONE;
    bool told = true;
    telling->parts.head.num_vertices = plan->num_nodes;
    for (uint32_t i = 0; i < schedule->lane_first[schedule->info.num_lanes] && told; i++) {
        uint32_t node = schedule->lane_nodes[i];
        if (before != GRAPH_NONE && schedule->lane_of[before] == schedule->lane_of[node])
            told = tell_edge(telling, before, node, true);
        for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1] && told; e++)
            told = tell_edge(telling, plan->pred_nodes[e], node, false);
        before = node;
    }
    return told;
}

static bool tell_operation(struct telling *telling, uint32_t node)
{
    const struct rank_description *what = rank_graph_description(telling->graph, node);
    uint32_t name =
        braid_rank_plan_add_text(&telling->parts, braid_graph_name(telling->graph, node + 1));
    struct rank_plan_operation *told =
        braid_array_append(&telling->parts.operations, 1, sizeof(*told));
    if (!told || name == UINT32_MAX)
        return false;
    bool has_peer = what->operation <= BRAID_RANK_BROADCAST;
    *told = (struct rank_plan_operation){
        .count = what->count,
        .key = what->key,
        .number = what->communicator->number,
        .operation = what->operation,
        .element = what->element,
        .reduction = what->reduction,
        .peer = has_peer ? what->communicator->members[what->peer] : 0,
        .tag = telling->is_linked ? 0 : what->tag, // a device takes what comes first
        .own_tag = what->tag,
        .post = braid_graph_queued_with(telling->graph, node),
        .await = node + 1,
        .name = name,
    };
    return true;
}

// A device queues an operation on a communicator behind the end of its earlier work there.
static bool tell_queue(struct telling *telling, const braid_communicator *communicator)
{
    const braid_graph *graph = telling->graph;
    uint32_t before = 0, own = 0; // first nodes of two groups
    bool told = true, has_before = false, begins = true;
    for (uint32_t i = 0; i < graph_num_nodes(graph) && told; i++) {
        if (graph_nodes(graph)[i].kind != WORK_POST ||
            rank_graph_description(graph, i)->communicator != communicator)
            continue;
        own = begins ? i : own;
        begins = braid_graph_queued_with(graph, i) == i;
        for (uint32_t k = before; begins && has_before && k < own && told; k++) {
            if (graph_nodes(graph)[k].kind == WORK_POST &&
                rank_graph_description(graph, k)->communicator == communicator)
                told = tell_edge(telling, k + 1, i, false);
        }
        before = begins ? own : before;
        has_before |= begins;
    }
    return told;
}

static bool tell_plan(struct telling *telling)
{
    const struct graph_resource *resources = telling->graph->resources.items;
    uint32_t num = graph_num_nodes(telling->graph);
    bool told = tell_edges(telling);
    for (size_t i = 0; i < telling->graph->resources.num && told; i++) {
        if (resources[i].communicator)
            told = braid_rank_plan_add_communicator(&telling->parts, resources[i].communicator) &&
                   (!telling->is_linked || tell_queue(telling, resources[i].communicator));
    }
    for (uint32_t i = 0; i < num && told; i++) {
        if (graph_nodes(telling->graph)[i].kind == WORK_POST)
            told = tell_operation(telling, i);
    }
    return told;
}

static void tell_failure(struct telling *telling, braid_status status)
{
    braid_rank_plan_finish(&telling->parts);
    telling->parts = (struct rank_plan_parts){ .head.status = status,
                                               .head.engine = telling->parts.head.engine };
    (void)braid_rank_plan_add_text(&telling->parts, braid_error_get_message());
}

// A rank that failed keeps its own message; the others have the verdict's.
static braid_status heed(const struct rank_verdict *verdict, braid_status own)
{
    if (own || !verdict->status)
        return own;
    return braid_error((braid_status)verdict->status, "braid_exec_create: %s", verdict->message);
}

// All ranks call it when they create an exec, also if that has failed here with `status`. Returns
// `status` if that is an error, otherwise the verdict on all. `out_plan_again`: no rank has failed,
// but all must plan without order by lanes, and ask again.
static braid_status rank_exec_agree(braid_exec *exec, const braid_graph *graph, bool may_plan_again,
                                    braid_status status, bool *out_plan_again)
{
    braid_ranks *ranks = rank_exec_of(exec)->ranks;
    struct telling telling = { .exec = exec,
                               .graph = graph,
                               .is_linked = rank_exec_of(exec)->is_linked };
    struct rank_verdict verdict;
    uint64_t num_bytes;
    *out_plan_again = false;
    telling.parts.head.may_plan_again = may_plan_again;
    telling.parts.head.engine = exec->device->backend->ops->rank_engine;
    if (!status && !tell_plan(&telling))
        status = braid_error_no_memory("what a rank tells of its plan");
    if (status)
        tell_failure(&telling, status);
    void *bytes = braid_rank_plan_write(&telling.parts, &num_bytes);
    braid_status agreed =
        bytes ? braid_rank_exchange(ranks, bytes, num_bytes, braid_rank_judge, &verdict)
              : braid_error_no_memory("what a rank tells of its plan");
    if (agreed != BRAID_DEVICE_ERROR) // or else MPI may still read them
        braid_free(bytes);
    if (!agreed) {
        *out_plan_again = verdict.plan_again;
        agreed = heed(&verdict, status);
    }
    braid_rank_plan_finish(&telling.parts);
    return status ? status : agreed;
}

// The options of all ranks for the second plan.
static braid_exec_options rank_exec_apart(const braid_exec_options *options)
{
    braid_exec_options apart = *options;
    apart.fixed_lanes = true;
    apart.max_lanes = BRAID_ALL_LANES;
    return apart;
}

// ---- launches of execs with communicators: the checks before one, and the counts after it ----

// With the lock of the ranks held. NULL: none.
static const braid_communicator *find_in_flight_elsewhere(const struct rank_exec *own)
{
    for (uint32_t i = 0; i < own->num_communicators; i++) {
        const braid_communicator *communicator = own->communicators[i].communicator;
        if (communicator->exec != own && communicator->num_due != communicator->num_ended)
            return communicator;
    }
    return NULL;
}

// Adds to the due operations of communicators, or takes back. With the lock of the ranks held.
static void count_due(struct rank_exec *own, uint64_t num_frames)
{
    for (uint32_t i = 0; i < own->num_communicators; i++) {
        braid_communicator *communicator = own->communicators[i].communicator;
        communicator->num_due += num_frames * own->communicators[i].num;
        communicator->num_frames += num_frames;
        communicator->exec = own;
    }
}

// With the lock of the ranks held.
static bool is_under_way(const struct rank_exec *own)
{
    bool is = false;
    for (uint32_t i = 0; i < own->num_operations; i++)
        is |= own->operations[i].state == RANK_POSTED;
    return is;
}

// Once all that the exec has queued has ended. Of a launch that failed halfway some operations were
// posted, nobody knows which, and perhaps nothing waits for one: it is awaited.
// Such an operation ends soon, or when the ranks fail. In a child of fork none is, and the lock may
// be held for good.
static void rank_exec_settle(struct exec_part *part, braid_exec *exec)
{
    const struct timespec nap = { .tv_nsec = 100000 };
    const struct rank_exec *own = (const struct rank_exec *)part;
    (void)exec;
    if (!ranks_are_here(own->ranks))
        return;
    rank_lock(own->ranks);
    while (is_under_way(own)) {
        rank_unlock(own->ranks);
        nanosleep(&nap, NULL);
        rank_lock(own->ranks);
    }
    for (uint32_t i = 0; i < own->num_communicators; i++) {
        braid_communicator *communicator = own->communicators[i].communicator;
        if (communicator->exec != own)
            continue;
        communicator->num_due = communicator->num_ended;
        communicator->exec = NULL;
    }
    rank_unlock(own->ranks);
}

static braid_status rank_exec_before_launch(struct exec_part *part, braid_exec *exec,
                                            const struct exec_launch *launch)
{
    struct rank_exec *own = (struct rank_exec *)part;
    braid_status status = braid_ranks_check(own->ranks);
    if (status)
        return status;
    rank_lock(own->ranks);
    braid_rank_watch_refresh(own->ranks);
    const braid_communicator *busy = find_in_flight_elsewhere(own);
    if (!busy)
        count_due(own, launch->num_frames);
    if (!busy && own->is_watched)
        braid_rank_watch_begin(&own->watch);
    rank_unlock(own->ranks);
    if (!busy)
        return BRAID_OK;
    return braid_error(
        BRAID_BUSY,
        "launch on %s: communicator '%s' is in flight in another exec; wait for that one first",
        exec->device->label, busy->name);
}

// If nothing of the launch counts, nothing is due.
static braid_status rank_exec_after_launch(struct exec_part *part, braid_exec *exec,
                                           const struct exec_launch *launch)
{
    struct rank_exec *own = (struct rank_exec *)part;
    (void)exec;
    if (launch->num_launched)
        return BRAID_OK;
    rank_lock(own->ranks);
    count_due(own, 0 - (uint64_t)launch->num_frames);
    rank_unlock(own->ranks);
    part->is_unsettled = true;
    return BRAID_OK;
}

static void rank_exec_end_launch(struct exec_part *part)
{
    struct rank_exec *own = (struct rank_exec *)part;
    if (own->is_watched)
        braid_rank_watch_end(own->ranks, &own->watch);
}

static braid_status rank_exec_wait(struct exec_part *part, braid_exec *exec)
{
    (void)exec;
    return braid_ranks_check(((struct rank_exec *)part)->ranks);
}

// ---- devices ----

// Execs on devices with communicators. Their ranks are connected first, and agree on their plans
// before operations are captured, since capturing may already wait for the other ranks.

static int compare_numbers(const void *a, const void *b)
{
    const braid_communicator *x = *(braid_communicator *const *)a;
    const braid_communicator *y = *(braid_communicator *const *)b;
    return (x->number > y->number) - (x->number < y->number);
}

// In the order in which all ranks have made them.
static bool sort_communicators(const struct rank_exec *own, struct array *list)
{
    braid_communicator **items = braid_array_append(list, own->num_communicators, sizeof(*items));
    for (uint32_t i = 0; items && i < own->num_communicators; i++)
        items[i] = own->communicators[i].communicator;
    if (items)
        qsort(items, list->num, sizeof(*items), compare_numbers);
    return items;
}

static braid_status check_device(const braid_exec *exec, const struct array *list)
{
    braid_communicator *const *communicators = list->items;
    for (size_t i = 0; i < list->num; i++) {
        const struct rank_link *link = communicators[i]->link;
        if (link && link->device != exec->device)
            return braid_error(BRAID_UNSUPPORTED,
                               "braid_exec_create: communicator '%s' is connected on %s, not on %s",
                               communicators[i]->name, link->device->label, exec->device->label);
    }
    return BRAID_OK;
}

// Exchanges facts that all ranks need before any of them waits inside of the engine.
static braid_status introduce(const braid_exec *exec, const struct array *list, braid_status status)
{
    braid_communicator *const *communicators = list->items;
    struct rank_plan_parts parts = { .head = { .engine = exec->device->backend->ops->rank_engine,
                                               .introduces = true,
                                               .status = status } };
    bool told =
        !status || braid_rank_plan_add_text(&parts, braid_error_get_message()) != UINT32_MAX;
    for (size_t i = 0; i < list->num && !status && told; i++)
        told = braid_rank_plan_add_communicator(&parts, communicators[i]);
    uint64_t num_bytes;
    struct rank_verdict verdict;
    void *bytes = told ? braid_rank_plan_write(&parts, &num_bytes) : NULL;
    braid_status agreed = bytes ? braid_rank_exchange(rank_exec_of(exec)->ranks, bytes, num_bytes,
                                                      braid_rank_judge_links, &verdict)
                                : braid_error_no_memory("what a rank tells of its plan");
    if (agreed != BRAID_DEVICE_ERROR) // or else MPI may still read them
        braid_free(bytes);
    if (!agreed && verdict.status && !status)
        agreed =
            braid_error((braid_status)verdict.status, "braid_exec_create: %s", verdict.message);
    braid_rank_plan_finish(&parts);
    return agreed;
}

static braid_status connect_all(const braid_exec *exec, const struct nccl_api *api,
                                const struct array *list)
{
    braid_communicator *const *communicators = list->items;
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < list->num && !status; i++) {
        if (!communicators[i]->link)
            status = braid_rank_link_connect(communicators[i], api, exec->device);
    }
    return status;
}

// If a device makes the operations of an exec, connects its communicators there, unless this rank
// or another has failed.
static braid_status rank_exec_connect(braid_exec *exec, const braid_exec_options *options,
                                      braid_status status)
{
    const struct nccl_api *api = NULL;
    struct array list = { 0 };
    if (!sort_communicators(rank_exec_of(exec), &list)) {
        braid_array_finish(&list);
        return braid_error_no_memory("the communicators of an exec");
    }
    if (!status)
        status = braid_nccl_open(exec->device->backend->ops->rank_engine, &api);
    if (!status)
        status = check_device(exec, &list);
    if (!status && options->schedule)
        status = braid_error(BRAID_UNSUPPORTED,
                             "braid_exec_create: %s: a schedule of the program's own does not know "
                             "which operations between ranks are queued together",
                             exec->device->label);
    braid_status agreed = introduce(exec, &list, status);
    status = status ? status : agreed;
    if (!status)
        status = connect_all(exec, api, &list);
    braid_array_finish(&list);
    return status;
}

// Before any rank waits for another inside of the engine, and when an exec is made: all hear of a
// rank that has failed.
static braid_status rank_exec_hear(braid_exec *exec, braid_status status)
{
    const struct array none = { 0 };
    struct rank_exec *own = rank_exec_of(exec);
    own->has_met = true;
    braid_status agreed = introduce(exec, &none, status);
    own->parted = status ? status : agreed;
    return own->parted;
}

static uint32_t collect_operations(const struct frame *frame,
                                   const braid_communicator *communicator,
                                   struct rank_operation *operations)
{
    uint32_t num = 0;
    for (uint32_t i = 0; i < frame->num_tasks; i++) {
        const struct backend_task *task = &frame->tasks[i];
        const struct rank_operation *operation =
            task->kind == WORK_POST ? (const struct rank_operation *)task->post.operation : NULL;
        if (!operation || operation->what.communicator != communicator)
            continue;
        operations[num] = (struct rank_operation){ .what = operation->what,
                                                   .from = task->post.from,
                                                   .to = task->post.to };
        memcpy(operations[num].name, operation->name, sizeof(operations[num].name));
        num++;
    }
    return num;
}

// Goes by communicators in the order that all ranks have, and by operations as they are queued. So
// no two ranks wait for each other.
static braid_status connect_operations(const struct rank_exec *own, const struct frame *frame)
{
    struct array list = { 0 };
    struct rank_operation *operations =
        braid_allocate_zeroed(own->num_operations, sizeof(*operations));
    braid_status status = BRAID_OK;
    if (!operations || !sort_communicators(own, &list))
        status = braid_error_no_memory("the communicators of an exec");
    for (size_t i = 0; i < list.num && !status; i++) {
        braid_communicator *communicator = ((braid_communicator *const *)list.items)[i];
        uint32_t num_own = collect_operations(frame, communicator, operations);
        if (num_own)
            status = braid_rank_operations_connect(communicator, operations, num_own);
    }
    braid_free(operations);
    braid_array_finish(&list);
    return status;
}

// exec_part_ops: shows the engine all operations, with the addresses of the first frame. Does
// nothing the second time.
static braid_status rank_exec_meet(struct exec_part *part, braid_exec *exec,
                                   const struct frame *frame)
{
    const struct rank_exec *own = (const struct rank_exec *)part;
    if (!own->is_linked || own->has_met)
        return own->parted;
    braid_status status = rank_exec_hear(exec, BRAID_OK);
    return status ? status : connect_operations(own, frame);
}

static bool has_ended(void *of)
{
    braid_exec *exec = of;
    struct backend *backend = exec->device->backend;
    bool ended = true;
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    for (uint32_t i = 0; i < exec->frames.num && ended; i++)
        ended = backend->ops->event_query(backend, exec->frames.slots[i].done->backend) !=
                BRAID_NOT_READY;
    braid_error_end_attempt(&attempt, BRAID_OK);
    return ended;
}

// Has its frames watched.
static void rank_exec_watch(braid_exec *exec)
{
    struct rank_exec *own = rank_exec_of(exec);
    if (!own->num_operations)
        return;
    own->watch = (struct rank_watch){ .has_ended = has_ended,
                                      .of = exec,
                                      .label = exec->device->label,
                                      .exec = own,
                                      .operations = own->operations,
                                      .num_operations = own->num_operations };
    own->is_watched = true;
    braid_rank_watch_add(own->ranks, &own->watch);
}

// ---- making ----

static void finish(struct exec_part *part, braid_exec *exec)
{
    struct rank_exec *own = (struct rank_exec *)part;
    rank_exec_settle(part, exec);
    if (own->is_watched)
        braid_rank_watch_remove(own->ranks, &own->watch);
    for (uint32_t i = 0; i < own->num_communicators; i++)
        braid_communicator_release(own->communicators[i].communicator);
    braid_free(own->communicators);
    braid_free(own->operations);
    braid_free(own);
}

static const struct exec_part_ops ops = {
    .meet = rank_exec_meet,
    .before_launch = rank_exec_before_launch,
    .after_launch = rank_exec_after_launch,
    .end_launch = rank_exec_end_launch,
    .wait = rank_exec_wait,
    .settle = rank_exec_settle,
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
    struct rank_exec *own = braid_allocate_zeroed(1, sizeof(*own));
    if (!own)
        return braid_error_no_memory("the communicators of an exec");
    own->part.ops = &ops;
    own->is_linked = kind > RANK_ENGINE_HOST && exec->places.num == 1;
    own->communicators = braid_allocate_zeroed(graph->resources.num, sizeof(*own->communicators));
    own->operations = braid_allocate_zeroed(descriptions->num, sizeof(*own->operations));
    if (!own->communicators || !own->operations) {
        braid_free(own->communicators);
        braid_free(own->operations);
        braid_free(own);
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
    status = rank_exec_agree(exec, graph, !options->schedule, status, &again);
    if (!again)
        return status;
    const braid_exec_options apart = rank_exec_apart(options);
    braid_schedule_destroy(exec->schedule);
    exec->schedule = NULL;
    status = plan(exec, graph, &apart);
    return rank_exec_agree(exec, graph, false, status, &again);
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
            status = rank_exec_hear(exec, status);
    }
    braid_schedule_destroy((braid_schedule *)(uintptr_t)planned.schedule);
    return status;
}

static braid_status make_linked(braid_exec *exec, const braid_graph *graph,
                                const braid_exec_options *options, braid_status status)
{
    bool again;
    braid_graph *joined = NULL;
    status = rank_exec_connect(exec, options, status);
    if (status)
        return status;
    status = braid_graph_join(graph, &joined);
    status = status ? rank_exec_agree(exec, graph, false, status, &again)
                    : make_planned(exec, joined, options, BRAID_OK);
    braid_graph_destroy(joined);
    if (!status)
        rank_exec_watch(exec);
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
