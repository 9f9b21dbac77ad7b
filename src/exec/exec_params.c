// SPDX-License-Identifier: Apache-2.0
// The list of changed nodes, the latest first, and the tables with which an exec sets its
// parameters.
#include "exec/exec_params.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "verify/verify_program.h"

braid_status braid_exec_values_create(uint32_t num_tasks, struct store *store,
                                      struct exec_values *out_values)
{
    struct exec_values values = {
        .changed_at = braid_store_take(store, num_tasks, sizeof(uint64_t)),
        .newer = braid_store_take(store, (size_t)num_tasks + 1, sizeof(uint32_t)),
        .older = braid_store_take(store, (size_t)num_tasks + 1, sizeof(uint32_t)),
        .changed = braid_store_take(store, num_tasks, sizeof(*values.changed)),
    };
    if (store->failed)
        return braid_error_no_memory("the values of an exec");
    values.newer[num_tasks] = values.older[num_tasks] = num_tasks; // an empty ring
    *out_values = values;
    return BRAID_OK;
}

static void mark(struct exec_values *values, uint32_t num_tasks, uint32_t node)
{
    uint32_t end = num_tasks;
    if (values->changed_at[node]) {
        values->older[values->newer[node]] = values->older[node];
        values->newer[values->older[node]] = values->newer[node];
    }
    values->older[node] = values->older[end];
    values->newer[node] = end;
    values->newer[values->older[node]] = node;
    values->older[end] = node;
    values->changed_at[node] = ++values->now;
}

void braid_exec_values_mark(struct exec_values *values, const struct tasks *tasks, uint32_t node)
{
    uint32_t before = tasks->prefetches ? tasks->prefetches[node].before : PLAN_NONE;
    mark(values, tasks->num, node);
    if (before != PLAN_NONE)
        mark(values, tasks->num, before);
}

// A use with its position in the order of declaring.
struct sorted_use {
    struct graph_parameter_use use;
    size_t position;
};

static int compare_uses(const void *left, const void *right)
{
    const struct sorted_use *a = left;
    const struct sorted_use *b = right;
    if (a->use.parameter != b->use.parameter)
        return a->use.parameter < b->use.parameter ? -1 : 1;
    if (a->use.node != b->use.node)
        return a->use.node < b->use.node ? -1 : 1;
    return (a->position > b->position) - (a->position < b->position);
}

// Copies and fills, and calls of both kinds, have these at one offset.
_Static_assert(offsetof(struct work_copy, to) == offsetof(struct work_fill, to), "one row");
_Static_assert(offsetof(struct work_host, user) == offsetof(struct work_queue, user), "one row");

// Where in a node's work or controls a target is.
static const struct target_value {
    enum task_slot slot;
    size_t offset;
} target_values[] = {
    [BRAID_TARGET_GRID] = { TASK_SLOT_CONTROLS, offsetof(struct task_control, grid) },
    [BRAID_TARGET_GRID_X] = { TASK_SLOT_CONTROLS, offsetof(struct task_control, grid.x) },
    [BRAID_TARGET_GRID_Y] = { TASK_SLOT_CONTROLS, offsetof(struct task_control, grid.y) },
    [BRAID_TARGET_GRID_Z] = { TASK_SLOT_CONTROLS, offsetof(struct task_control, grid.z) },
    [BRAID_TARGET_TO] = { TASK_SLOT_WORKS, offsetof(struct work_copy, to) },
    [BRAID_TARGET_FROM] = { TASK_SLOT_WORKS, offsetof(struct work_copy, from) },
    [BRAID_TARGET_BYTES] = { TASK_SLOT_WORKS, offsetof(struct work_copy, bytes) },
    [BRAID_TARGET_VALUE] = { TASK_SLOT_WORKS, offsetof(struct work_fill, value) },
    [BRAID_TARGET_NUM_VALUES] = { TASK_SLOT_WORKS, offsetof(struct work_fill, num_values) },
    [BRAID_TARGET_USER] = { TASK_SLOT_WORKS, offsetof(struct work_host, user) },
    [BRAID_TARGET_ENABLED] = { TASK_SLOT_CONTROLS, offsetof(struct task_control, enabled) },
    [BRAID_TARGET_TIMES] = { TASK_SLOT_WORKS, offsetof(struct work_loop, most) },
};

struct value_edit braid_exec_edit_of(const struct tasks *tasks, uint32_t node, uint32_t target)
{
    const struct target_value *value = &target_values[target];
    uint64_t first = value->slot == TASK_SLOT_CONTROLS ? node * sizeof(struct task_control)
                                                       : tasks->offsets[node];
    struct value_edit edit = { .node = node, .slot = value->slot };
    edit.offset = first + value->offset;
    return edit;
}

static struct value_edit edit_of_use(const struct tasks *tasks,
                                     const struct graph_parameter_use *use)
{
    struct value_edit edit;
    if (use->target == BRAID_TARGET_ARGUMENT)
        edit = (struct value_edit){
            .node = use->node,
            .slot = TASK_SLOT_ARGUMENTS,
            .offset =
                braid_tasks_arg_offset(tasks, use->node, use->argument) + use->argument_offset,
        };
    else
        edit = braid_exec_edit_of(tasks, use->node, use->target);
    edit.bytes = use->bytes;
    return edit;
}

static struct sorted_use *sort_uses(const braid_graph *graph)
{
    const struct graph_parameter_use *uses = graph->uses.items;
    struct sorted_use *sorted = braid_allocate_zeroed(graph->uses.num, sizeof(*sorted));
    for (size_t i = 0; sorted && i < graph->uses.num; i++)
        sorted[i] = (struct sorted_use){ uses[i], i };
    if (sorted && graph->uses.num)
        qsort(sorted, graph->uses.num, sizeof(*sorted), compare_uses);
    return sorted;
}

static bool copy_uses(const braid_graph *graph, const struct tasks *tasks,
                      struct exec_params *params)
{
    struct sorted_use *sorted = sort_uses(graph);
    for (size_t i = 0; sorted && i < graph->uses.num; i++) {
        params->uses[i] = edit_of_use(tasks, &sorted[i].use);
        params->offsets[i] = sorted[i].use.offset;
        params->first_use[sorted[i].use.parameter + 1]++;
    }
    for (uint32_t i = 0; i < params->num; i++)
        params->first_use[i + 1] += params->first_use[i];
    braid_free(sorted);
    return sorted != NULL;
}

static bool copy_parameters(const braid_graph *graph, const struct tasks *tasks,
                            struct exec_params *params)
{
    const struct graph_parameter *parameters = graph->parameters.items;
    params->num = (uint32_t)graph->parameters.num;
    params->name = braid_store_take(&params->store, params->num, sizeof(*params->name));
    params->bytes = braid_store_take(&params->store, params->num, sizeof(*params->bytes));
    params->first_use = braid_store_take(&params->store, (size_t)params->num + 1, sizeof(uint32_t));
    params->uses = braid_store_take(&params->store, graph->uses.num, sizeof(*params->uses));
    params->offsets = braid_store_take(&params->store, graph->uses.num, sizeof(*params->offsets));
    if (params->store.failed)
        return false;
    for (uint32_t i = 0; i < params->num; i++) {
        const char *name = braid_names_at(&graph->names, parameters[i].name);
        if (!braid_names_reserve(&params->names, name))
            return false;
        params->name[i] = braid_names_store(&params->names, name);
        params->bytes[i] = parameters[i].bytes;
    }
    return copy_uses(graph, tasks, params);
}

braid_status braid_exec_params_create(const braid_graph *graph, const struct tasks *tasks,
                                      struct exec_params *out_params)
{
    struct exec_params params = { 0 };
    if (!copy_parameters(graph, tasks, &params)) {
        braid_exec_params_finish(&params);
        return braid_error_no_memory("the parameters of an exec");
    }
    *out_params = params;
    return BRAID_OK;
}

braid_status braid_exec_params_verify(const struct exec_params *params, const braid_graph *graph,
                                      const struct tasks *tasks, const struct frame *const *frames,
                                      uint32_t num_frames)
{
    uint32_t num = params->first_use[params->num];
    struct verify_binding *bindings = braid_allocate_zeroed(num, sizeof(*bindings));
    if (!bindings)
        return braid_error_no_memory("the proof of parameters");
    for (uint32_t p = 0; p < params->num; p++) {
        for (uint32_t i = params->first_use[p]; i < params->first_use[p + 1]; i++) {
            const struct value_edit *use = &params->uses[i];
            bindings[i] = (struct verify_binding){
                .parameter = p,
                .from = params->offsets[i],
                .node = use->node,
                .slot = use->slot,
                .bytes = use->bytes,
                .offset = use->offset,
            };
        }
    }
    braid_status status = braid_verify_params(graph, tasks, frames, num_frames, bindings, num);
    braid_free(bindings);
    return status;
}

void braid_exec_params_finish(struct exec_params *params)
{
    braid_names_finish(&params->names);
    braid_store_finish(&params->store);
    *params = (struct exec_params){ 0 };
}
