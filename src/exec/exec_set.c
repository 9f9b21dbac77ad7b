// SPDX-License-Identifier: Apache-2.0
// Giving one node other values: arguments, a grid, ends and sizes, data of calls, or no work.
#include "base/error.h"
#include "base/inside.h"
#include "base/node_text.h"
#include "exec/exec.h"
#include "graph/argument_accesses.h"

// A call that changes a node, once its exec and node are known to be right.
struct setter {
    const char *function;
    braid_exec *exec;
    uint32_t node;
    const struct backend_task *task; // of the first frame, for what does not change
};

static braid_status begin(const char *function, braid_exec *exec, braid_node node,
                          struct setter *out_setter)
{
    if (!exec)
        return braid_error_null(function, "exec");
    braid_status status = braid_inside_check(function, exec);
    if (status)
        return status;
    if (node.graph != exec->graph_id || node.index >= exec->tasks.num)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "%s: node %u of graph %u is not a node of the exec's graph", function,
                           node.index, node.graph);
    *out_setter = (struct setter){ function, exec, node.index, &exec->tasks.items[node.index] };
    return BRAID_OK;
}

static struct node_text name_node(const struct setter *setter)
{
    return braid_node_text(setter->node, setter->task->name);
}

static braid_status refuse_kind(const struct setter *setter, const char *wanted)
{
    return braid_error(BRAID_INVALID_ARGUMENT, "%s: node %s is not a %s", setter->function,
                       name_node(setter).text, wanted);
}

// The same for a node of a kind.
static braid_status begin_kind(const char *function, braid_exec *exec, braid_node node,
                               enum work_kind kind, struct setter *out_setter)
{
    braid_status status = begin(function, exec, node, out_setter);
    if (status || out_setter->task->kind == kind)
        return status;
    return refuse_kind(out_setter, braid_work_words[kind].name);
}

// A target's new bytes.
struct new_value {
    uint32_t target;
    const void *from;
    uint32_t bytes; // 0: it stays
};

static braid_status set_targets(const struct setter *setter, const struct new_value *values,
                                uint32_t num_values)
{
    braid_exec *exec = setter->exec;
    pthread_mutex_lock(&exec->lock);
    struct exec_edit *edits = exec->room.edits;
    uint32_t num = 0;
    for (uint32_t i = 0; i < num_values; i++) {
        if (!values[i].bytes)
            continue;
        edits[num] = braid_exec_edit_of(&exec->tasks, setter->node, values[i].target);
        edits[num].from = values[i].from;
        edits[num++].bytes = values[i].bytes;
    }
    braid_status status = braid_exec_change(exec, edits, num);
    pthread_mutex_unlock(&exec->lock);
    return status;
}

braid_status braid_exec_set_grid(braid_exec *exec, braid_node node, braid_dim3 grid)
{
    struct setter setter = { 0 };
    braid_status status = begin_kind("braid_exec_set_grid", exec, node, WORK_KERNEL, &setter);
    if (status)
        return status;
    grid.y = grid.y ? grid.y : 1;
    grid.z = grid.z ? grid.z : 1;
    const struct new_value value = { BRAID_TARGET_GRID, &grid, sizeof(grid) };
    return set_targets(&setter, &value, 1);
}

braid_status braid_exec_set_copy(braid_exec *exec, braid_node node, void *to, const void *from,
                                 uint64_t bytes)
{
    struct setter setter = { 0 };
    braid_status status = begin_kind("braid_exec_set_copy", exec, node, WORK_COPY, &setter);
    if (status)
        return status;
    const struct new_value values[] = {
        { BRAID_TARGET_TO, &to, to ? sizeof(to) : 0 },
        { BRAID_TARGET_FROM, &from, from ? sizeof(from) : 0 },
        { BRAID_TARGET_BYTES, &bytes, bytes ? sizeof(bytes) : 0 },
    };
    return set_targets(&setter, values, 3);
}

braid_status braid_exec_set_fill(braid_exec *exec, braid_node node, void *to, uint32_t value,
                                 uint64_t num_values)
{
    struct setter setter = { 0 };
    braid_status status = begin_kind("braid_exec_set_fill", exec, node, WORK_FILL, &setter);
    if (status)
        return status;
    const struct new_value values[] = {
        { BRAID_TARGET_TO, &to, to ? sizeof(to) : 0 },
        { BRAID_TARGET_VALUE, &value, sizeof(value) },
        { BRAID_TARGET_NUM_VALUES, &num_values, num_values ? sizeof(num_values) : 0 },
    };
    return set_targets(&setter, values, 3);
}

braid_status braid_exec_set_user(braid_exec *exec, braid_node node, void *user)
{
    struct setter setter = { 0 };
    braid_status status = begin("braid_exec_set_user", exec, node, &setter);
    if (status)
        return status;
    if (setter.task->kind != WORK_HOST && setter.task->kind != WORK_NATIVE)
        return refuse_kind(&setter, "host call or native call");
    const struct new_value value = { BRAID_TARGET_USER, &user, sizeof(user) };
    return set_targets(&setter, &value, 1);
}

braid_status braid_exec_set_enabled(braid_exec *exec, braid_node node, bool enabled)
{
    struct setter setter = { 0 };
    braid_status status = begin("braid_exec_set_enabled", exec, node, &setter);
    if (status)
        return status;
    if (setter.task->kind == WORK_AWAIT || setter.task->kind == WORK_POST)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "braid_exec_set_enabled: node %s is a communication, whose other ranks "
                           "would wait for it",
                           name_node(&setter).text);
    const uint32_t word = enabled;
    const struct new_value value = { BRAID_TARGET_ENABLED, &word, sizeof(word) };
    return set_targets(&setter, &value, 1);
}

// Those that the program gave.
static uint32_t count_args(const struct setter *setter)
{
    return setter->task->launch.num_args - setter->task->launch.grid_from;
}

static braid_status check_arg(const struct setter *setter, size_t index, braid_arg arg)
{
    const struct backend_launch *launch = &setter->task->launch;
    if (!arg.data)
        return braid_error(BRAID_INVALID_ARGUMENT, "%s: node %s: argument %zu is NULL",
                           setter->function, name_node(setter).text, index);
    if (graph_argument_is_address(&arg))
        return braid_error(
            BRAID_INVALID_ARGUMENT,
            "%s: node %s: argument %zu cannot be set to braid_resource_address: give "
            "it a pointer",
            setter->function, name_node(setter).text, index);
    size_t bytes = arg.bytes == BRAID_UNCHECKED_POINTER ? sizeof(void *) : arg.bytes;
    if (bytes != launch->arg_bytes[index])
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "%s: node %s: argument %zu has %u bytes, not %zu", setter->function,
                           name_node(setter).text, index, launch->arg_bytes[index], arg.bytes);
    return BRAID_OK;
}

// Arguments from `first` on.
static braid_status set_args(const struct setter *setter, const braid_arg *args, size_t first,
                             size_t num)
{
    braid_exec *exec = setter->exec;
    const struct backend_launch *launch = &setter->task->launch;
    pthread_mutex_lock(&exec->lock);
    struct exec_edit *edits = exec->room.edits;
    uint64_t offset = braid_tasks_arg_offset(&exec->tasks, setter->node, (uint32_t)first);
    for (size_t i = 0; i < num; i++) {
        edits[i] = (struct exec_edit){ .from = args[i].data,
                                       .offset = offset,
                                       .slot = TASK_SLOT_ARGUMENTS,
                                       .node = setter->node,
                                       .bytes = launch->arg_bytes[first + i] };
        offset += graph_arg_stride(edits[i].bytes);
    }
    braid_status status = braid_exec_change(exec, edits, (uint32_t)num);
    pthread_mutex_unlock(&exec->lock);
    return status;
}

braid_status braid_exec_set_arg(braid_exec *exec, braid_node node, size_t index, braid_arg arg)
{
    struct setter setter = { 0 };
    braid_status status = begin_kind("braid_exec_set_arg", exec, node, WORK_KERNEL, &setter);
    if (status)
        return status;
    if (index >= count_args(&setter))
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "braid_exec_set_arg: node %s has %u arguments, there is no number %zu",
                           name_node(&setter).text, count_args(&setter), index);
    status = check_arg(&setter, index, arg);
    return status ? status : set_args(&setter, &arg, index, 1);
}

braid_status braid_exec_set_args(braid_exec *exec, braid_node node, const braid_arg *args,
                                 size_t num_args)
{
    struct setter setter = { 0 };
    braid_status status = begin_kind("braid_exec_set_args", exec, node, WORK_KERNEL, &setter);
    if (status)
        return status;
    if (num_args && !args)
        return braid_error(BRAID_INVALID_ARGUMENT, "braid_exec_set_args: node %s: args is NULL",
                           name_node(&setter).text);
    if (num_args != count_args(&setter))
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "braid_exec_set_args: node %s has %u arguments, %zu were given",
                           name_node(&setter).text, count_args(&setter), num_args);
    for (size_t i = 0; i < num_args && !status; i++)
        status = check_arg(&setter, i, args[i]);
    return status ? status : set_args(&setter, args, 0, num_args);
}
