// SPDX-License-Identifier: Apache-2.0
// Reads a graph of the driver with all graphs inside it, in an order that its dependencies allow.
#include "record/snapshot.h"

#include <string.h>

// Types of nodes, and numbers of questions to the driver.
enum {
    NODE_KERNEL = 0,
    NODE_COPY = 1,
    NODE_FILL = 2,
    NODE_HOST = 3,
    NODE_CHILD = 4,
    NODE_EMPTY = 5,
    NODE_WAIT = 6,
    NODE_RECORD = 7,
    NODE_ALLOCATION = 10,
    NODE_FREE = 11,
    NODE_CONDITIONAL = 13,
    COOPERATIVE = 2,
    CLUSTER = 4,
    PROGRAMMATIC_EDGE = 1,
};

// A graph whose rows are not in the exec yet: those of graphs inside it are.
struct pending {
    struct known_node *nodes;
    uint32_t num;
};

struct edges {
    word *from, *to;
    uint8_t *data; // 8 bytes of each edge
    size_t num;
};

static bool read_inside(struct known_exec *exec, word graph, struct pending *out_pending);

static uint32_t emit(struct known_exec *exec, struct pending *pending)
{
    const braid_record_graph graph = { (uint32_t)exec->nodes.num, pending->num };
    struct known_node *rows = braid_array_append(&exec->nodes, pending->num, sizeof(*rows));
    if (pending->num > 0 && rows)
        memcpy(rows, pending->nodes, pending->num * sizeof(*rows));
    exec->failed |= pending->num > 0 && !rows;
    exec->failed |= !braid_array_put(&exec->graphs, &graph, sizeof(graph));
    for (uint32_t i = 0; i < pending->num && !exec->failed; i++) {
        const void *key = (const void *)(uintptr_t)pending->nodes[i].handle;
        exec->failed |= !braid_pointer_map_reserve(&exec->node_of);
        if (!exec->failed && braid_pointer_map_get(&exec->node_of, key) == POINTER_MAP_NONE)
            braid_pointer_map_put(&exec->node_of, key, graph.first_node + i);
    }
    braid_free(pending->nodes);
    return (uint32_t)exec->graphs.num - 1;
}

// ---- works ----

void recorder_kernel_work(const struct kernel_parameters *parameters, bool has_kernel,
                          braid_record_work *work, struct store *store)
{
    const word function =
        parameters->function || !has_kernel ? parameters->function : parameters->kernel;
    work->kernel = recorder_number_kernel(function);
    memcpy(work->grid, parameters->sizes, sizeof(work->grid));
    memcpy(work->block, parameters->sizes + 3, sizeof(work->block));
    work->shared_bytes = parameters->sizes[6];
    if (work->kernel != BRAID_RECORD_NONE)
        recorder_take_parameters(work->kernel, parameters->arguments, parameters->extra, work,
                                 store);
}

void recorder_fill_work(const struct fill_parameters *parameters, braid_record_work *work)
{
    work->to = (braid_record_end){ .address = parameters->to,
                                   .place = BRAID_RECORD_ON_DEVICE,
                                   .pitch = parameters->pitch };
    work->value = parameters->value;
    work->value_bytes = parameters->value_bytes;
    work->width = parameters->width * parameters->value_bytes;
    work->height = parameters->height;
    work->depth = 1;
}

void recorder_box_work(const struct box *box, braid_record_work *work)
{
    work->from = recorder_end_of_box(&box->from);
    work->to = recorder_end_of_box(&box->to);
    work->width = box->width;
    work->height = box->height;
    work->depth = box->depth;
}

static bool read_kernel(struct known_exec *exec, word node, braid_record_work *work)
{
    struct kernel_parameters parameters = { .function = 0 };
    uint64_t value[8] = { 0 };
    bool has_kernel = true;
    if (ASK("cuGraphKernelNodeGetParams_v2", node, POINTER(&parameters), 0, 0) != SUCCEEDED) {
        has_kernel = false;
        if (ASK("cuGraphKernelNodeGetParams", node, POINTER(&parameters), 0, 0) != SUCCEEDED)
            return false;
    }
    recorder_kernel_work(&parameters, has_kernel, work, &exec->store);
    if (ASK("cuGraphKernelNodeGetAttribute", node, COOPERATIVE, POINTER(value), 0) == SUCCEEDED)
        work->is_cooperative = (uint32_t)value[0] != 0;
    memset(value, 0, sizeof(value));
    if (ASK("cuGraphKernelNodeGetAttribute", node, CLUSTER, POINTER(value), 0) == SUCCEEDED)
        memcpy(work->cluster, value, sizeof(work->cluster));
    return true;
}

static bool read_child(struct known_exec *exec, word node, braid_record_work *work)
{
    word graph = 0;
    struct pending pending;
    if (ASK("cuGraphChildGraphNodeGetGraph", node, POINTER(&graph), 0, 0) != SUCCEEDED ||
        !read_inside(exec, graph, &pending))
        return false;
    work->graph = emit(exec, &pending);
    work->num_bodies = 1;
    return true;
}

// As the program said when it added the node, or as a driver since CUDA 13.2 says.
static bool find_condition(word node, struct known_condition *out_condition)
{
    struct {
        int type, reserved[3];
        uint64_t handle;
        int kind;
        uint32_t num;
        word *bodies;
        uint64_t rest[28];
    } told = { .type = 0 };
    recorder_lock();
    const uint32_t number =
        braid_pointer_map_get(&recorder.condition_of, (const void *)(uintptr_t)node);
    if (number != POINTER_MAP_NONE)
        *out_condition = *(struct known_condition *)recorder_row(&recorder.conditions, number,
                                                                 sizeof(*out_condition));
    recorder_unlock();
    if (number != POINTER_MAP_NONE)
        return true;
    if (ASK("cuGraphNodeGetParams", node, POINTER(&told), 0, 0) != SUCCEEDED)
        return false;
    *out_condition =
        (struct known_condition){ .kind = (braid_record_condition)(BRAID_RECORD_IF + told.kind),
                                  .handle = told.handle,
                                  .num_bodies = told.num,
                                  .bodies = told.bodies };
    return true;
}

static bool read_condition(struct known_exec *exec, word node, braid_record_work *work)
{
    struct known_condition condition;
    if (!find_condition(node, &condition))
        return false;
    struct pending *bodies = braid_allocate_zeroed(condition.num_bodies + 1, sizeof(*bodies));
    bool is_read = bodies != NULL;
    for (uint32_t i = 0; is_read && i < condition.num_bodies; i++)
        is_read = read_inside(exec, condition.bodies[i], &bodies[i]);
    work->graph =
        is_read && condition.num_bodies > 0 ? (uint32_t)exec->graphs.num : BRAID_RECORD_NONE;
    for (uint32_t i = 0; bodies && i < condition.num_bodies; i++) {
        if (is_read)
            emit(exec, &bodies[i]);
        else
            braid_free(bodies[i].nodes);
    }
    work->condition = condition.kind;
    work->condition_handle = condition.handle;
    work->has_first_value = condition.has_first_value;
    work->first_value = condition.first_value;
    work->num_bodies = is_read ? condition.num_bodies : 0;
    braid_free(bodies);
    return is_read;
}

static bool read_copy(word node, braid_record_work *work)
{
    struct box box = { .width = 0 };
    if (ASK("cuGraphMemcpyNodeGetParams", node, POINTER(&box), 0, 0) != SUCCEEDED)
        return false;
    recorder_box_work(&box, work);
    return true;
}

static bool read_fill(word node, braid_record_work *work)
{
    struct fill_parameters parameters = { .to = 0 };
    if (ASK("cuGraphMemsetNodeGetParams", node, POINTER(&parameters), 0, 0) != SUCCEEDED)
        return false;
    recorder_fill_work(&parameters, work);
    return true;
}

static bool read_allocation(word node, struct known_node *row)
{
    uint64_t parameters[16] = { 0 }; // CUDA_MEM_ALLOC_NODE_PARAMS
    if (ASK("cuGraphMemAllocNodeGetParams", node, POINTER(parameters), 0, 0) != SUCCEEDED)
        return false;
    row->bytes = parameters[13];
    row->address = parameters[14];
    return true;
}

static bool ask_handle(const char *name, word node, uint64_t *out_handle)
{
    return ASK(name, node, POINTER(out_handle), 0, 0) == SUCCEEDED;
}

static void set_unknown(braid_record_work *work, const char *name)
{
    recorder_clear_work(work, BRAID_RECORD_UNKNOWN);
    work->name = name;
}

static void read_node(struct known_exec *exec, word node, struct known_node *row)
{
    static const braid_record_work_kind kinds[] = {
        [NODE_KERNEL] = BRAID_RECORD_KERNEL,
        [NODE_COPY] = BRAID_RECORD_COPY,
        [NODE_FILL] = BRAID_RECORD_FILL,
        [NODE_HOST] = BRAID_RECORD_HOST_CALL,
        [NODE_CHILD] = BRAID_RECORD_GRAPH,
        [NODE_EMPTY] = BRAID_RECORD_EMPTY,
        [NODE_WAIT] = BRAID_RECORD_EVENT_WAIT,
        [NODE_RECORD] = BRAID_RECORD_EVENT_RECORD,
        [8] = BRAID_RECORD_UNKNOWN,
        [9] = BRAID_RECORD_UNKNOWN,
        [NODE_ALLOCATION] = BRAID_RECORD_ALLOCATE,
        [NODE_FREE] = BRAID_RECORD_FREE,
        [12] = BRAID_RECORD_UNKNOWN,
        [NODE_CONDITIONAL] = BRAID_RECORD_CONDITIONAL,
    };
    int type = -1;
    bool is_read = ASK("cuGraphNodeGetType", node, POINTER(&type), 0, 0) == SUCCEEDED &&
                   type >= 0 && type <= NODE_CONDITIONAL;
    braid_record_work *work = &row->node.work;
    row->handle = node;
    recorder_clear_work(work, is_read ? kinds[type] : BRAID_RECORD_UNKNOWN);
    if (type == NODE_KERNEL)
        is_read = read_kernel(exec, node, work) && work->kernel != BRAID_RECORD_NONE;
    else if (type == NODE_COPY)
        is_read = read_copy(node, work);
    else if (type == NODE_FILL)
        is_read = read_fill(node, work);
    else if (type == NODE_CHILD)
        is_read = read_child(exec, node, work);
    else if (type == NODE_WAIT)
        is_read = ask_handle("cuGraphEventWaitNodeGetEvent", node, &row->address);
    else if (type == NODE_RECORD)
        is_read = ask_handle("cuGraphEventRecordNodeGetEvent", node, &row->address);
    else if (type == NODE_ALLOCATION)
        is_read = read_allocation(node, row);
    else if (type == NODE_FREE)
        is_read = ask_handle("cuGraphMemFreeNodeGetParams", node, &row->address);
    else if (type == NODE_CONDITIONAL)
        is_read = read_condition(exec, node, work);
    if (work->kind == BRAID_RECORD_UNKNOWN)
        set_unknown(work, type == 12               ? "a batch of memory operations"
                          : type == 8 || type == 9 ? "an external semaphore"
                                                   : "a node of a newer CUDA");
    else if (!is_read)
        set_unknown(work, "a node that the driver does not tell");
}

// ---- the graph ----

static void free_edges(struct edges *edges)
{
    braid_free(edges->from);
    braid_free(edges->to);
    braid_free(edges->data);
}

static word ask_edges(word graph, struct edges *edges, bool has_data)
{
    if (has_data)
        return recorder_ask("cuGraphGetEdges_v2", graph, POINTER(edges->from), POINTER(edges->to),
                            POINTER(edges->data), POINTER(&edges->num));
    return ASK("cuGraphGetEdges", graph, POINTER(edges->from), POINTER(edges->to),
               POINTER(&edges->num));
}

static bool read_edges(word graph, struct edges *edges)
{
    *edges = (struct edges){ .num = 0 };
    const bool has_data = ask_edges(graph, edges, true) == SUCCEEDED;
    if (!has_data && ask_edges(graph, edges, false) != SUCCEEDED)
        return false;
    edges->from = braid_allocate_zeroed(edges->num, sizeof(*edges->from));
    edges->to = braid_allocate_zeroed(edges->num, sizeof(*edges->to));
    edges->data = braid_allocate_zeroed(edges->num, 8);
    if (edges->from && edges->to && edges->data &&
        (edges->num == 0 || ask_edges(graph, edges, has_data) == SUCCEEDED))
        return true;
    free_edges(edges);
    return false;
}

// Nodes by the number of the driver's list.
struct order {
    struct pointer_map number_of;
    uint32_t *place;  // each node's, in an order that the edges allow
    uint32_t *sorted; // the nodes in that order
    uint32_t *waits;  // edges to each node that are left
    uint32_t *first;  // each node's edges in `edges`
    uint32_t *edges;  // the edges, by the node that they begin at
};

static uint32_t number_of(const struct order *order, word node)
{
    return braid_pointer_map_get(&order->number_of, (const void *)(uintptr_t)node);
}

static bool make_order(struct order *order, const word *nodes, size_t num,
                       const struct edges *edges)
{
    uint32_t *numbers = braid_allocate_zeroed(4 * num + 2 + edges->num, sizeof(*numbers));
    if (!numbers)
        return false;
    *order = (struct order){ .place = numbers,
                             .sorted = numbers + num,
                             .waits = numbers + 2 * num,
                             .first = numbers + 3 * num,
                             .edges = numbers + 4 * num + 2 };
    for (uint32_t i = 0; i < num; i++) {
        if (!braid_pointer_map_reserve(&order->number_of))
            return false;
        braid_pointer_map_put(&order->number_of, (const void *)(uintptr_t)nodes[i], i);
    }
    for (size_t e = 0; e < edges->num; e++) {
        const uint32_t from = number_of(order, edges->from[e]), to = number_of(order, edges->to[e]);
        if (from == POINTER_MAP_NONE || to == POINTER_MAP_NONE)
            return false;
        order->waits[to]++;
        order->first[from + 2]++;
    }
    for (size_t i = 2; i < num + 2; i++)
        order->first[i] += order->first[i - 1];
    for (uint32_t e = 0; e < edges->num; e++)
        order->edges[order->first[number_of(order, edges->from[e]) + 1]++] = e;
    return true;
}

// Kahn's (1962): nodes without edges first, by the driver's list.
static bool sort_nodes(struct order *order, size_t num, const struct edges *edges)
{
    uint32_t done = 0;
    for (uint32_t i = 0; i < num; i++)
        if (order->waits[i] == 0)
            order->sorted[done++] = i;
    for (uint32_t next = 0; next < done; next++) {
        const uint32_t node = order->sorted[next];
        order->place[node] = next;
        for (uint32_t k = order->first[node]; k < order->first[node + 1]; k++) {
            const uint32_t to = number_of(order, edges->to[order->edges[k]]);
            if (--order->waits[to] == 0)
                order->sorted[done++] = to;
        }
    }
    return done == num;
}

// The nodes before each node, in two rounds: how many, and which.
static bool link_nodes(struct known_exec *exec, const struct order *order,
                       const struct edges *edges, struct pending *pending)
{
    uint32_t *befores = braid_array_append(&exec->befores, edges->num, sizeof(*befores));
    if (edges->num > 0 && !befores)
        return false;
    uint32_t next = (uint32_t)(exec->befores.num - edges->num);
    for (size_t e = 0; e < edges->num; e++)
        pending->nodes[order->place[number_of(order, edges->to[e])]].node.num_befores++;
    for (uint32_t i = 0; i < pending->num; i++) {
        braid_record_node *node = &pending->nodes[i].node;
        node->first_before = next;
        next += node->num_befores;
        node->num_befores = 0;
    }
    uint32_t *all = exec->befores.items;
    for (size_t e = 0; e < edges->num; e++) {
        braid_record_node *node =
            &pending->nodes[order->place[number_of(order, edges->to[e])]].node;
        all[node->first_before + node->num_befores++] =
            order->place[number_of(order, edges->from[e])];
        if (edges->data[8 * e + 2] == PROGRAMMATIC_EDGE)
            node->work.starts_early = true;
    }
    return true;
}

static bool read_nodes(struct known_exec *exec, const word *nodes, size_t num,
                       const struct edges *edges, struct pending *out_pending)
{
    struct order order = { .place = NULL };
    out_pending->nodes = braid_allocate_zeroed(num, sizeof(*out_pending->nodes));
    out_pending->num = (uint32_t)num;
    bool is_read = out_pending->nodes && make_order(&order, nodes, num, edges) &&
                   sort_nodes(&order, num, edges);
    for (uint32_t i = 0; is_read && i < num; i++)
        read_node(exec, nodes[order.sorted[i]], &out_pending->nodes[i]);
    is_read = is_read && link_nodes(exec, &order, edges, out_pending);
    braid_pointer_map_finish(&order.number_of);
    braid_free(order.place);
    if (!is_read) {
        braid_free(out_pending->nodes);
        out_pending->nodes = NULL;
    }
    return is_read;
}

static bool read_inside(struct known_exec *exec, word graph, struct pending *out_pending)
{
    size_t num = 0;
    struct edges edges;
    if (ASK("cuGraphGetNodes", graph, 0, POINTER(&num), 0) != SUCCEEDED)
        return false;
    word *nodes = braid_allocate_zeroed(num, sizeof(*nodes));
    bool is_read = nodes && (num == 0 || ASK("cuGraphGetNodes", graph, POINTER(nodes),
                                             POINTER(&num), 0) == SUCCEEDED);
    if (is_read && read_edges(graph, &edges)) {
        is_read = read_nodes(exec, nodes, num, &edges, out_pending);
        free_edges(&edges);
    } else {
        is_read = false;
    }
    braid_free(nodes);
    return is_read;
}

void recorder_free_exec(struct known_exec *exec)
{
    if (!exec)
        return;
    braid_array_finish(&exec->nodes);
    braid_array_finish(&exec->graphs);
    braid_array_finish(&exec->befores);
    braid_pointer_map_finish(&exec->node_of);
    braid_store_finish(&exec->store);
    braid_free(exec);
}

struct known_exec *recorder_read_graph(word graph)
{
    struct known_exec *exec = braid_allocate_zeroed(1, sizeof(*exec));
    struct pending pending;
    if (!exec)
        return NULL;
    exec->published = BRAID_RECORD_NONE;
    if (read_inside(exec, graph, &pending))
        emit(exec, &pending);
    else
        exec->failed = true;
    if (!exec->failed && !exec->store.failed)
        return exec;
    recorder_free_exec(exec);
    return NULL;
}
