// SPDX-License-Identifier: Apache-2.0
// Operations between ranks: a node that posts one, and a node that ends with it.
//
// The post has an exclusive access to the communicator, so all posts have the order of adding. Both
// nodes have the accesses of the program, so no other node comes between. Both have an exclusive
// access to a resource of the operation's own. So in the next frame it is posted after it has ended
// in this one.
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/sized.h"
#include "graph/add.h"
#include "graph/addresses.h"
#include "ranks/rank_graph.h"
#include "ranks/ranks.h"

// ---- operations ----

void braid_rank_describe(char *text, size_t size, uint32_t operation, const char *name,
                         uint64_t count, uint32_t peer)
{
    static const char *const words[] = {
        [BRAID_RANK_SEND] = "send",
        [BRAID_RANK_RECEIVE] = "receive",
        [BRAID_RANK_BROADCAST] = "broadcast",
        [BRAID_RANK_ALL_REDUCE] = "all-reduce",
        [BRAID_RANK_ALL_GATHER] = "all-gather",
        [BRAID_RANK_REDUCE_SCATTER] = "reduce-scatter",
    };
    char with[32] = "";
    if (operation <= BRAID_RANK_BROADCAST)
        snprintf(with, sizeof(with), " %s rank %u", operation == BRAID_RANK_SEND ? "to" : "from",
                 peer);
    snprintf(text, size, "%s '%s' of %llu element%s%s", words[operation], name,
             (unsigned long long)count, count == 1 ? "" : "s", with);
}

static uint32_t bytes_of_element(uint32_t element)
{
    static const uint32_t bytes[] = { 1, 4, 4, 8, 8, 4, 8 };
    return element < sizeof(bytes) / sizeof(*bytes) ? bytes[element] : 0;
}

// ---- the functions that libbraid calls for graphs with communicators, and their data ----

static void release_communicators(braid_graph *graph)
{
    for (size_t i = 0; i < graph->resources.num; i++) {
        if (graph_resource_at(graph, i)->communicator)
            braid_communicator_release(graph_resource_at(graph, i)->communicator);
    }
}

static void finish(braid_graph *graph)
{
    struct rank_graph *own = rank_graph_of(graph);
    release_communicators(graph);
    braid_array_finish(&own->communications);
    braid_array_finish(&own->owners);
    braid_array_finish(&own->copies);
    braid_pointer_map_finish(&own->owned);
    braid_free(own);
}

// A clone is a user like the graph itself. Nothing is added to it by the program, so it needs no
// owners.
static bool clone_for(const braid_graph *graph, braid_graph *made)
{
    const struct array *from = &rank_graph_of(graph)->communications;
    struct rank_graph *own = braid_allocate_zeroed(1, sizeof(*own));
    void *items = NULL;
    if (own && from->num)
        items =
            braid_array_append(&own->communications, from->num, sizeof(struct rank_description));
    if (!own || (from->num && !items)) {
        braid_free(own);
        return false;
    }
    if (items)
        memcpy(items, from->items, from->num * sizeof(struct rank_description));
    own->base = *graph->ranks;
    made->ranks = &own->base;
    for (size_t i = 0; i < made->resources.num; i++) {
        if (graph_resource_at(made, i)->communicator)
            braid_communicator_retain(graph_resource_at(made, i)->communicator);
    }
    return true;
}

static const struct graph_ranks_ops ops = {
    .begin_task = braid_graph_begin_task,
    .end_task = braid_graph_end_task,
    .clone = clone_for,
    .finish = finish,
    .make_exec = braid_rank_make_exec,
    .make_operations = braid_rank_make_operations,
};

// Gives the graph its table, if it has none. `rank`: the program's. Errors: BRAID_NO_MEMORY.
static braid_status rank_graph_begin(braid_graph *graph, uint32_t rank)
{
    if (graph->ranks)
        return BRAID_OK;
    struct rank_graph *own = braid_allocate_zeroed(1, sizeof(*own));
    if (!own)
        return braid_error_no_memory("the communicators of a graph");
    own->base = (struct graph_ranks){ .ops = &ops, .rank = rank };
    graph->ranks = &own->base;
    return BRAID_OK;
}

// ---- nodes ----

enum {
    MOST_TAG = 32767, // that every MPI has
    POST_NS = 1000,   // a lock and a word to another thread
};

braid_status braid_graph_add_communicator(braid_graph *graph, braid_communicator *communicator,
                                          braid_resource *out_resource)
{
    if (!graph || !communicator || !out_resource)
        return braid_error_null("braid_graph_add_communicator", !graph          ? "graph"
                                                                : !communicator ? "communicator"
                                                                                : "out_resource");
    for (size_t i = 0; i < graph->resources.num; i++) {
        if (graph_resource_at(graph, i)->communicator == communicator) {
            *out_resource = (braid_resource){ .index = (uint32_t)i, .graph = graph->id };
            return BRAID_OK;
        }
    }
    const struct graph_resource resource = { .buffer = GRAPH_NONE, .communicator = communicator };
    braid_status status = rank_graph_begin(graph, communicator->rank);
    if (!status)
        status = braid_graph_append_resource(graph, communicator->name, resource, out_resource);
    if (!status)
        braid_communicator_retain(communicator);
    return status;
}

// Which ends an operation has, and for how many ranks each has room.
struct ends {
    bool has_from, has_to, has_peer, has_tag;
    uint64_t from_ranks, to_ranks;
};

static struct ends find_ends(const braid_communication *given, uint32_t num)
{
    switch (given->operation) {
    case BRAID_RANK_SEND:
        return (struct ends){ true, false, true, true, 1, 0 };
    case BRAID_RANK_RECEIVE:
        return (struct ends){ false, true, true, true, 0, 1 };
    case BRAID_RANK_BROADCAST:
        return (struct ends){ false, true, true, false, 0, 1 };
    case BRAID_RANK_ALL_GATHER:
        return (struct ends){ true, true, false, false, 1, num };
    case BRAID_RANK_REDUCE_SCATTER:
        return (struct ends){ true, true, false, false, num, 1 };
    default:
        return (struct ends){ true, true, false, false, 1, 1 };
    }
}

static braid_communicator *find_communicator(const braid_graph *graph, braid_resource resource)
{
    if (resource.graph != graph->id || resource.index >= graph->resources.num)
        return NULL;
    return graph_resource_at(graph, resource.index)->communicator;
}

static braid_status check_numbers(const char *name, const braid_communication *given,
                                  const struct ends *ends, const braid_communicator *communicator)
{
    const char *wrong = NULL;
    uint64_t value = 0;
    if (given->count == 0 || given->count > INT32_MAX) {
        wrong = "elements";
        value = given->count;
    } else if ((uint32_t)given->element > BRAID_ELEMENT_DOUBLE) {
        wrong = "as kind of element";
        value = (uint64_t)given->element;
    } else if ((uint32_t)given->reduction > BRAID_REDUCTION_PRODUCT) {
        wrong = "as reduction";
        value = (uint64_t)given->reduction;
    } else if (given->peer >= (ends->has_peer ? communicator->num : 1)) {
        wrong = ends->has_peer ? "as .peer, which is no rank of the communicator"
                               : "as .peer of an operation that has none";
        value = given->peer;
    } else if (given->tag > (ends->has_tag ? MOST_TAG : 0)) {
        wrong = "as .tag";
        value = given->tag;
    }
    if (wrong)
        return braid_error_invalid("node '%s': %llu %s", name, (unsigned long long)value, wrong);
    if (ends->has_tag && given->peer == communicator->rank)
        return braid_error_invalid("node '%s': the rank itself as .peer", name);
    return BRAID_OK;
}

static braid_status check_given(const braid_graph *graph, const char *name,
                                const braid_communication *given, struct ends *out_ends)
{
    int operation = (int)given->operation;
    if (operation < BRAID_RANK_SEND || operation > BRAID_RANK_REDUCE_SCATTER)
        return braid_error_invalid("node '%s': unknown operation %d", name, operation);
    const braid_communicator *communicator = find_communicator(graph, given->communicator);
    if (!communicator)
        return braid_error_invalid("node '%s': .communicator is not a communicator of this graph",
                                   name);
    if (given->node.prelude_of.graph || given->node.epilogue_of.graph)
        return braid_error_invalid("node '%s': a communication is neither prelude nor epilogue",
                                   name);
    for (size_t i = 0; i < given->node.num_accesses; i++) {
        if (graph_resource_at(graph, given->node.accesses[i].resource.index)->num_slots)
            return braid_error_invalid("node '%s': .accesses[%zu] is to slots, which its two nodes "
                                       "would hold apart",
                                       name, i);
    }
    *out_ends = find_ends(given, communicator->num);
    return check_numbers(name, given, out_ends, communicator);
}

// One end: an address, or a resource whose address is found now or by each frame.
static braid_status find_end(const braid_graph *graph, const char *name, const char *end,
                             const braid_communication *given, const void *address,
                             braid_resource resource, uint64_t bytes, const void **out_address)
{
    if (!bytes && (address || resource.graph))
        return braid_error_invalid("node '%s': .%s of an operation that has none", name, end);
    if (bytes && !address && !resource.graph)
        return braid_error_invalid("node '%s': .%s is NULL", name, end);
    const struct address_request request = {
        .node = name, .what = end, .options = &given->node, .resource = resource, .bytes = bytes
    };
    return braid_graph_find_pointer(graph, &request, address, out_address);
}

// The parts of the two nodes; the accesses are the program's and, behind them, two more.
struct pair {
    char *post_name;
    braid_access *accesses;
    struct work_post post;
    uint64_t key;
};

static braid_status reserve(braid_graph *graph, const char *name, const braid_communication *given,
                            struct pair *pair)
{
    size_t num = given->node.num_accesses;
    pair->post_name = braid_allocate(strlen(name) + sizeof("post "));
    pair->accesses = braid_allocate_zeroed(num + 2, sizeof(*pair->accesses));
    if (pair->post_name)
        sprintf(pair->post_name, "post %s", name);
    if (!pair->post_name || !pair->accesses ||
        !braid_array_reserve(&graph->nodes, 2, sizeof(struct graph_node)) ||
        !braid_array_reserve(&graph->edges, given->node.num_after + 1, sizeof(struct graph_edge)) ||
        !braid_array_reserve(&graph->accesses, 2 * num + 3, sizeof(struct graph_access)) ||
        !braid_array_reserve(&graph->works, 2, sizeof(union work)) ||
        !braid_array_reserve(&rank_graph_of(graph)->communications, 1,
                             sizeof(struct rank_description)) ||
        !braid_names_reserve(&graph->names, pair->post_name) ||
        !braid_graph_reserve_addresses(graph, &given->node, 2))
        return braid_error(BRAID_NO_MEMORY, "out of host memory for node '%s'", name);
    if (num)
        memcpy(pair->accesses, given->node.accesses, num * sizeof(*pair->accesses));
    return BRAID_OK;
}

static uint32_t append_work(braid_graph *graph, union work work)
{
    *(union work *)braid_array_append(&graph->works, 1, sizeof(work)) = work;
    return (uint32_t)graph->works.num - 1;
}

// Behind everything that can fail.
static void append_post(braid_graph *graph, const braid_communication *given, struct pair *pair,
                        braid_node *out_post)
{
    struct array *communications = &rank_graph_of(graph)->communications;
    struct rank_description *description =
        braid_array_append(communications, 1, sizeof(*description));
    *description = (struct rank_description){
        .communicator = find_communicator(graph, given->communicator),
        .count = given->count,
        .key = pair->key,
        .peer = given->peer,
        .tag = given->tag,
        .operation = (uint8_t)given->operation,
        .element = (uint8_t)given->element,
        .reduction = (uint8_t)given->reduction,
    };
    pair->post.description = (uint32_t)communications->num - 1;
    if (given->from_resource.graph)
        braid_graph_append_address(graph, offsetof(struct work_post, from), given->from_resource);
    if (given->to_resource.graph)
        braid_graph_append_address(graph, offsetof(struct work_post, to), given->to_resource);
    braid_node_options options = given->node;
    options.name = pair->post_name;
    options.accesses = pair->accesses;
    options.num_accesses += 2;
    options.cost_ns = POST_NS;
    options.lane_hint = 0;
    uint32_t work = append_work(graph, (union work){ .post = pair->post });
    braid_graph_append_node(graph, WORK_POST, work, &options, out_post);
}

static void append_await(braid_graph *graph, const braid_communication *given,
                         const struct pair *pair, braid_node post, braid_node *out_node)
{
    braid_node_options options = given->node;
    options.name = NULL;
    options.after = &post;
    options.num_after = 1;
    options.accesses = pair->accesses;
    options.num_accesses++;
    uint32_t work = append_work(graph, (union work){ 0 });
    braid_graph_append_node(graph, WORK_AWAIT, work, &options, out_node);
}

// One text is the name of all three: the second node's and the resource's begin behind "post ".
static void name_pair(braid_graph *graph, braid_resource own)
{
    struct graph_node *await = (struct graph_node *)graph->nodes.items + graph->nodes.num - 1;
    uint32_t place = await[-1].name + (uint32_t)strlen("post ");
    await->name = place;
    ((struct graph_resource *)graph->resources.items)[own.index].name = place;
}

static braid_status append_pair(braid_graph *graph, const char *name,
                                const braid_communication *given, struct pair *pair,
                                braid_node *out_node)
{
    size_t num = given->node.num_accesses;
    braid_resource own;
    braid_node post;
    braid_status status = reserve(graph, name, given, pair);
    if (!status)
        status = braid_graph_append_resource(graph, NULL,
                                             (struct graph_resource){ .buffer = GRAPH_NONE }, &own);
    if (status)
        return status;
    pair->accesses[num] = (braid_access){ own, BRAID_EXCLUSIVE };
    pair->accesses[num + 1] = (braid_access){ given->communicator, BRAID_EXCLUSIVE };
    append_post(graph, given, pair, &post);
    append_await(graph, given, pair, post, out_node);
    name_pair(graph, own);
    return BRAID_OK;
}

static braid_status find_both_ends(const braid_graph *graph, const char *name,
                                   const braid_communication *given, const struct ends *ends,
                                   struct work_post *post)
{
    uint64_t bytes = given->count * bytes_of_element((uint32_t)given->element);
    const void *to;
    braid_status status = find_end(graph, name, "from", given, given->from, given->from_resource,
                                   ends->has_from ? bytes * ends->from_ranks : 0, &post->from);
    if (!status)
        status = find_end(graph, name, "to", given, given->to, given->to_resource,
                          ends->has_to ? bytes * ends->to_ranks : 0, &to);
    if (!status)
        post->to = (void *)(uintptr_t)to;
    return status;
}

braid_status braid_graph_append_communication(braid_graph *graph,
                                              const braid_communication *communication,
                                              uint64_t key, braid_node *out_node)
{
    const char *name = communication->node.name;
    name = name && *name ? name : "communication";
    struct ends ends = { 0 };
    struct pair pair = { .key = key };
    braid_status status = braid_graph_check_node(graph, name, &communication->node);
    if (!status && !key)
        status = braid_graph_check_own(graph, name, &communication->node);
    if (!status)
        status = check_given(graph, name, communication, &ends);
    if (!status)
        status = find_both_ends(graph, name, communication, &ends, &pair.post);
    if (!status)
        status = append_pair(graph, name, communication, &pair, out_node);
    braid_free(pair.post_name);
    braid_free(pair.accesses);
    return status;
}

static braid_status add_communication(braid_graph *graph, const braid_communication *communication,
                                      braid_node *out_node)
{
    return braid_graph_append_communication(graph, communication, 0, out_node);
}

braid_status braid_graph_add_communication_sized(braid_graph *graph,
                                                 const braid_communication *communication,
                                                 braid_node *out_node, size_t size,
                                                 size_t node_size)
{
    braid_communication own;
    braid_status status = braid_sized_take_node("braid_graph_add_communication", "communication",
                                                communication, size, node_size, &own, sizeof(own));
    return status ? status : add_communication(graph, &own, out_node);
}
