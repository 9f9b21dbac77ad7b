// SPDX-License-Identifier: Apache-2.0
// Executable graphs: made, changed, launched and destroyed.
#include <string.h>

#include "base/host_memory.h"
#include "record/snapshot.h"

// ---- execs ----

static struct known_exec **slot_of(word exec)
{
    const uint32_t number = braid_pointer_map_get(&recorder.exec_of, (const void *)(uintptr_t)exec);
    return number == POINTER_MAP_NONE
               ? NULL
               : recorder_row(&recorder.execs, number, sizeof(struct known_exec *));
}

// Takes the exec, which may be NULL: then nothing is known of it.
static void know(word handle, struct known_exec *exec)
{
    recorder_lock();
    struct known_exec **slot = slot_of(handle);
    if (slot && !exec) {
        recorder_free_exec(*slot);
        *slot = NULL;
        braid_pointer_map_take(&recorder.exec_of, (const void *)(uintptr_t)handle);
    } else if (slot) {
        recorder_free_exec(*slot);
        *slot = exec;
    } else if (exec) {
        uint32_t number = 0;
        struct known_exec **all = recorder.execs.items;
        while (number < recorder.execs.num && all[number])
            number++;
        if (!braid_pointer_map_reserve(&recorder.exec_of) ||
            (number == recorder.execs.num &&
             !braid_array_put(&recorder.execs, &exec, sizeof(exec)))) {
            recorder.failed = true;
            recorder_free_exec(exec);
        } else {
            all = recorder.execs.items;
            all[number] = exec;
            braid_pointer_map_put(&recorder.exec_of, (const void *)(uintptr_t)handle, number);
        }
    }
    recorder_unlock();
}

// (exec *, graph, ..)
static word instantiate(const struct driver_call *call, word *words)
{
    const word answer = call_driver(call, words);
    if (answer == SUCCEEDED && !is_done())
        know(*(const word *)(uintptr_t)words[0], recorder_read_graph(words[1]));
    return answer;
}

static word destroy(const struct driver_call *call, word *words)
{
    uint32_t number = POINTER_MAP_NONE;
    struct array lost = { .items = NULL };
    if (!is_done()) {
        recorder_lock();
        number = recorder_lose(&recorder.exec_of, words[0], &lost);
        recorder_unlock();
    }
    const word answer = recorder_settle(&lost, call_driver(call, words));
    if (answer == SUCCEEDED && number != POINTER_MAP_NONE) {
        recorder_lock();
        struct known_exec **slot = recorder_row(&recorder.execs, number, sizeof(*slot));
        recorder_free_exec(*slot);
        *slot = NULL;
        recorder_unlock();
    }
    return answer;
}

// ---- into the record ----

static void keep_node(const struct known_node *known, braid_record_node *node)
{
    braid_record_work *work = &node->work;
    if (work->parameters)
        work->parameters = recorder_keep(work->parameters, work->parameter_bytes);
    recorder_need_memory(work->parameter_bytes + sizeof(*node));
    if (work->kind == BRAID_RECORD_EVENT_RECORD || work->kind == BRAID_RECORD_EVENT_WAIT)
        work->event = recorder_number_event(known->address, BRAID_RECORD_NONE);
    if (work->kind != BRAID_RECORD_ALLOCATE && work->kind != BRAID_RECORD_FREE)
        return;
    const uint32_t memory = recorder_find_memory(known->address);
    const braid_record_allocation allocation = {
        .address = known->address,
        .device_address = known->address,
        .bytes = known->bytes,
        .kind = BRAID_RECORD_OF_GRAPH,
        .context = BRAID_RECORD_NONE,
        .module = BRAID_RECORD_NONE,
    };
    const braid_record_allocation *row =
        memory == BRAID_RECORD_NONE ? NULL
                                    : recorder_row(&recorder.allocations, memory, sizeof(*row));
    const bool is_same = row && (work->kind == BRAID_RECORD_FREE || row->bytes == known->bytes);
    work->memory = is_same ? memory : recorder_add_memory(&allocation);
}

uint32_t recorder_publish_exec(word handle, const char **out_strange)
{
    struct known_exec **slot = slot_of(handle);
    *out_strange = slot ? (*slot)->strange : "cuGraphLaunch";
    if (!slot || (*slot)->strange || (*slot)->published != BRAID_RECORD_NONE)
        return slot && !(*slot)->strange ? (*slot)->published : BRAID_RECORD_NONE;
    struct known_exec *exec = *slot;
    const uint32_t first_node = (uint32_t)recorder.nodes.num;
    const uint32_t first_graph = (uint32_t)recorder.graphs.num;
    const uint32_t first_before = (uint32_t)recorder.befores.num;
    braid_record_node *nodes = braid_array_append(&recorder.nodes, exec->nodes.num, sizeof(*nodes));
    braid_record_graph *graphs =
        braid_array_append(&recorder.graphs, exec->graphs.num, sizeof(*graphs));
    uint32_t *befores = braid_array_append(&recorder.befores, exec->befores.num, sizeof(*befores));
    if ((!nodes && exec->nodes.num > 0) || !graphs || (!befores && exec->befores.num > 0)) {
        recorder.failed = true;
        return BRAID_RECORD_NONE;
    }
    for (size_t i = 0; i < exec->graphs.num; i++) {
        graphs[i] = ((const braid_record_graph *)exec->graphs.items)[i];
        graphs[i].first_node += first_node;
    }
    if (exec->befores.num > 0)
        memcpy(befores, exec->befores.items, exec->befores.num * sizeof(*befores));
    for (size_t i = 0; i < exec->nodes.num; i++) {
        const struct known_node *known = &((const struct known_node *)exec->nodes.items)[i];
        nodes[i] = known->node;
        nodes[i].first_before += first_before;
        if (nodes[i].work.graph != BRAID_RECORD_NONE)
            nodes[i].work.graph += first_graph;
        keep_node(known, &nodes[i]);
    }
    return exec->published = first_graph + (uint32_t)exec->graphs.num - 1;
}

// cuGraphLaunch(exec, stream)
static word launch(const struct driver_call *call, word *words)
{
    if (!is_recording())
        return call_driver(call, words);
    const struct place place = recorder_place(call, words[1]);
    if (place.is_captured)
        return call_driver(call, words);
    const char *strange = NULL;
    braid_record_work work;
    recorder_clear_work(&work, BRAID_RECORD_GRAPH);
    recorder_lock();
    work.graph = recorder_publish_exec(words[0], &strange);
    recorder_unlock();
    work.num_bodies = 1;
    if (work.graph == BRAID_RECORD_NONE) {
        recorder_clear_work(&work, BRAID_RECORD_UNKNOWN);
        work.name = strange;
        recorder_note_stranger(strange, 0);
    }
    const struct begun begun = recorder_begin(&place, work.kind);
    const word answer = call_driver(call, words);
    recorder_end(&begun, &work, answer);
    return answer;
}

// ---- changes ----

static void become_strange(word handle, const char *name)
{
    recorder_lock();
    struct known_exec **slot = slot_of(handle);
    if (slot)
        (*slot)->strange = name;
    recorder_unlock();
}

static word change_strangely(const struct driver_call *call, word *words)
{
    const word answer = call_driver(call, words);
    if (answer == SUCCEEDED && !is_done())
        become_strange(words[0], call->name);
    return answer;
}

// Nothing that a record has.
static word change_nothing(const struct driver_call *call, word *words)
{
    return call_driver(call, words);
}

// The node of an exec that a call changes, under the lock. NULL: it is not known, or unchanged.
static struct known_node *begin_change(word handle, word node, struct known_exec **out_exec)
{
    struct known_exec **slot = slot_of(handle);
    if (!slot)
        return NULL;
    *out_exec = *slot;
    const uint32_t number = braid_pointer_map_get(&(*slot)->node_of, (const void *)(uintptr_t)node);
    if (number == POINTER_MAP_NONE)
        (*slot)->strange = "a change of an unknown node";
    (*slot)->published = BRAID_RECORD_NONE;
    return number == POINTER_MAP_NONE
               ? NULL
               : recorder_row(&(*slot)->nodes, number, sizeof(struct known_node));
}

enum { IS_KERNEL, IS_OLD_KERNEL, IS_COPY, IS_FILL };

static void change(word handle, word node, int kind, const void *parameters)
{
    struct known_exec *exec = NULL;
    braid_record_work work;
    struct store store = { .last = NULL };
    recorder_clear_work(&work, kind == IS_COPY   ? BRAID_RECORD_COPY
                               : kind == IS_FILL ? BRAID_RECORD_FILL
                                                 : BRAID_RECORD_KERNEL);
    if (kind == IS_COPY)
        recorder_box_work(parameters, &work);
    else if (kind == IS_FILL)
        recorder_fill_work(parameters, &work);
    else
        recorder_kernel_work(parameters, kind == IS_KERNEL, &work, &store);
    recorder_lock();
    struct known_node *row = begin_change(handle, node, &exec);
    if (row) {
        const braid_record_work old = row->node.work;
        work.is_cooperative = old.is_cooperative;
        memcpy(work.cluster, old.cluster, sizeof(work.cluster));
        work.starts_early = old.starts_early;
        // The new bytes replace the old ones in place if they fit, so that a long run stays small.
        if (work.parameters && old.parameters && old.parameter_bytes >= work.parameter_bytes) {
            memcpy((void *)(uintptr_t)old.parameters, work.parameters, work.parameter_bytes);
            work.parameters = old.parameters;
        } else if (work.parameters) {
            void *copy = braid_store_take(&exec->store, 1, work.parameter_bytes + 1);
            recorder.failed |= !copy;
            if (copy)
                memcpy(copy, work.parameters, work.parameter_bytes);
            work.parameters = copy;
        }
        row->node.work = work;
    }
    recorder_unlock();
    braid_store_finish(&store);
}

// (exec, node, parameters, ..)
static word set_node(const struct driver_call *call, word *words)
{
    const word answer = call_driver(call, words);
    if (answer == SUCCEEDED && !is_done())
        change(words[0], words[1], (int)call->detail, (const void *)(uintptr_t)words[2]);
    return answer;
}

// cuGraphExecNodeSetParams(exec, node, { type, .., union } *)
static word set_any_node(const struct driver_call *call, word *words)
{
    const word answer = call_driver(call, words);
    if (answer != SUCCEEDED || is_done())
        return answer;
    const char *parameters = (const char *)(uintptr_t)words[2];
    int type;
    memcpy(&type, parameters, sizeof(type));
    if (type == 0)
        change(words[0], words[1], IS_KERNEL, parameters + 16);
    else if (type == 1)
        change(words[0], words[1], IS_COPY, parameters + 32);
    else if (type == 2)
        change(words[0], words[1], IS_FILL, parameters + 16);
    else if (type != 3)
        become_strange(words[0], call->name);
    return answer;
}

// cuGraphNodeSetEnabled(exec, node, enabled)
static word enable_node(const struct driver_call *call, word *words)
{
    const word answer = call_driver(call, words);
    if (answer != SUCCEEDED || is_done())
        return answer;
    struct known_exec *exec = NULL;
    recorder_lock();
    struct known_node *row = begin_change(words[0], words[1], &exec);
    if (row)
        row->node.is_disabled = (uint32_t)words[2] == 0;
    recorder_unlock();
    return answer;
}

// The program still names nodes of the graph that the exec was made of. They keep their places if
// both graphs have the same kinds in the same order.
static bool take_handles(struct known_exec *from, struct known_exec *to)
{
    struct known_node *old = from->nodes.items, *new = to->nodes.items;
    if (from->nodes.num != to->nodes.num)
        return false;
    for (size_t i = 0; i < from->nodes.num; i++) {
        if (old[i].node.work.kind != new[i].node.work.kind)
            return false;
        new[i].handle = old[i].handle;
        new[i].node.is_disabled = old[i].node.is_disabled;
    }
    struct pointer_map map = to->node_of;
    to->node_of = from->node_of;
    from->node_of = map;
    return true;
}

// cuGraphExecUpdate(exec, graph, ..)
static word update(const struct driver_call *call, word *words)
{
    const word answer = call_driver(call, words);
    if (answer != SUCCEEDED || is_done())
        return answer;
    struct known_exec *exec = recorder_read_graph(words[1]);
    recorder_lock();
    struct known_exec **slot = slot_of(words[0]);
    if (slot && exec && take_handles(*slot, exec)) {
        struct known_exec *old = *slot;
        *slot = exec;
        exec = old;
    } else if (slot) {
        (*slot)->strange = call->name;
    }
    recorder_unlock();
    recorder_free_exec(exec);
    return answer;
}

// ---- conditional nodes ----

struct node_parameters { // CUgraphNodeParams of a conditional node
    int type, reserved[3];
    uint64_t handle;
    int kind;
    uint32_t num;
    word *bodies;
};

// A handle may be 0.
static const void *handle_key(uint64_t handle)
{
    return (const void *)(uintptr_t)(handle + 1); // NOLINT
}

// (handle *, graph, context, first value, flags)
static word create_handle(const struct driver_call *call, word *words)
{
    enum { IS_FIRST_VALUE = 1 };
    const word answer = call_driver(call, words);
    const uint32_t value = (uint32_t)words[3], flags = (uint32_t)words[4];
    if (answer != SUCCEEDED || is_done())
        return answer;
    const void *key = handle_key(*(const uint64_t *)(uintptr_t)words[0]);
    recorder_lock();
    braid_pointer_map_take(&recorder.first_of, key); // an older graph had it
    if (key && (flags & IS_FIRST_VALUE) && value != POINTER_MAP_NONE) {
        if (braid_pointer_map_reserve(&recorder.first_of))
            braid_pointer_map_put(&recorder.first_of, key, value);
        else
            recorder.failed = true;
    }
    recorder_unlock();
    return answer;
}

static void note_condition(word node, const struct node_parameters *parameters)
{
    struct known_condition condition = {
        .kind = (braid_record_condition)(BRAID_RECORD_IF + parameters->kind),
        .handle = parameters->handle,
        .num_bodies = parameters->num,
    };
    const void *key = (const void *)(uintptr_t)node;
    recorder_lock();
    condition.first_value =
        braid_pointer_map_take(&recorder.first_of, handle_key(parameters->handle));
    condition.has_first_value = condition.first_value != POINTER_MAP_NONE;
    if (!condition.has_first_value)
        condition.first_value = 0;
    condition.bodies = recorder_keep(parameters->bodies, parameters->num * sizeof(word));
    braid_pointer_map_take(&recorder.condition_of, key);
    if (!condition.bodies || !braid_pointer_map_reserve(&recorder.condition_of) ||
        !braid_array_put(&recorder.conditions, &condition, sizeof(condition)))
        recorder.failed = true;
    else
        braid_pointer_map_put(&recorder.condition_of, key, (uint32_t)recorder.conditions.num - 1);
    recorder_unlock();
}

enum { OF_GRAPH, OF_NODE };

static void forget_condition(word node, struct array *lost);

// The driver may give the handles of its nodes, and of bodies, to others.
static void forget_conditions(word graph, struct array *lost)
{
    size_t num = 0;
    recorder_lock();
    const bool has_any = recorder.condition_of.num_used > 0;
    recorder_unlock();
    if (!has_any || ASK("cuGraphGetNodes", graph, 0, POINTER(&num), 0) != SUCCEEDED)
        return;
    word *nodes = braid_allocate_zeroed(num, sizeof(*nodes));
    if (nodes && ASK("cuGraphGetNodes", graph, POINTER(nodes), POINTER(&num), 0) == SUCCEEDED)
        for (size_t i = 0; i < num; i++)
            forget_condition(nodes[i], lost);
    braid_free(nodes);
}

static void forget_condition(word node, struct array *lost)
{
    struct known_condition condition = { .num_bodies = 0 };
    recorder_lock();
    const uint32_t number = recorder_lose(&recorder.condition_of, node, lost);
    if (number != POINTER_MAP_NONE)
        condition = *(struct known_condition *)recorder_row(&recorder.conditions, number,
                                                            sizeof(condition));
    recorder_unlock();
    for (uint32_t i = 0; i < condition.num_bodies; i++)
        forget_conditions(condition.bodies[i], lost);
}

// (graph) or (node)
static word destroy_graph(const struct driver_call *call, word *words)
{
    struct array lost = { .items = NULL };
    if (!is_done())
        (call->detail == OF_NODE ? forget_condition : forget_conditions)(words[0], &lost);
    return recorder_settle(&lost, call_driver(call, words));
}

// (node *, graph, .., parameters): the detail is the word with the parameters.
static word add_node(const struct driver_call *call, word *words)
{
    enum { CONDITIONAL = 13, SWITCH = 2 };
    const word answer = call_driver(call, words);
    const struct node_parameters *parameters =
        (const struct node_parameters *)(uintptr_t)words[call->detail];
    if (answer == SUCCEEDED && !is_done() && parameters->type == CONDITIONAL &&
        parameters->kind >= 0 && parameters->kind <= SWITCH)
        note_condition(*(const word *)(uintptr_t)words[0], parameters);
    return answer;
}

const struct noted_call recorder_graph_calls[] = {
    { "cuGraphInstantiate", instantiate, 0, 10000 },
    { "cuGraphInstantiate_v2", instantiate, 0, 11000 },
    { "cuGraphInstantiateWithFlags", instantiate, 0, 11040 },
    { "cuGraphInstantiateWithParams", instantiate, 0, 12000 },
    { "cuGraphExecDestroy", destroy, 0, 10000 },
    { "cuGraphExecKernelNodeSetParams", set_node, IS_OLD_KERNEL, 10010 },
    { "cuGraphExecKernelNodeSetParams_v2", set_node, IS_KERNEL, 12000 },
    { "cuGraphExecMemcpyNodeSetParams", set_node, IS_COPY, 10020 },
    { "cuGraphExecMemsetNodeSetParams", set_node, IS_FILL, 10020 },
    { "cuGraphExecHostNodeSetParams", change_nothing, 0, 10020 },
    { "cuGraphExecNodeSetParams", set_any_node, 0, 12020 },
    { "cuGraphExecChildGraphNodeSetParams", change_strangely, 0, 11010 },
    { "cuGraphExecEventRecordNodeSetEvent", change_strangely, 0, 11010 },
    { "cuGraphExecEventWaitNodeSetEvent", change_strangely, 0, 11010 },
    { "cuGraphExecBatchMemOpNodeSetParams", change_strangely, 0, 11070 },
    { "cuGraphExecExternalSemaphoresSignalNodeSetParams", change_strangely, 0, 11020 },
    { "cuGraphExecExternalSemaphoresWaitNodeSetParams", change_strangely, 0, 11020 },
    { "cuGraphNodeSetEnabled", enable_node, 0, 11060 },
    { "cuGraphExecUpdate", update, 0, 10020 },
    { "cuGraphExecUpdate_v2", update, 0, 12000 },
    { "cuGraphDestroy", destroy_graph, OF_GRAPH, 10000 },
    { "cuGraphDestroyNode", destroy_graph, OF_NODE, 10000 },
    { "cuGraphConditionalHandleCreate", create_handle, 0, 12030 },
    { "cuGraphAddNode", add_node, 4, 12020 },
    { "cuGraphAddNode_v2", add_node, 5, 12030 },
    { NULL, NULL, 0, 0 },
};

const struct noted_call recorder_graph_launches[] = {
    { "cuGraphLaunch", launch, 0, 10000 },
    { NULL, NULL, 0, 0 },
};
