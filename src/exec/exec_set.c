// SPDX-License-Identifier: Apache-2.0
// Setters of arguments, and of any value. Each writes the master copy; the next launches take it
// there.

#include "base/error.h"
#include "base/inside.h"
#include "base/node_text.h"
#include "exec/exec.h"
#include "graph/arguments.h"

// A call that changes a node, once its exec and node are known to be right.
struct setter {
    const char *function;
    braid_exec *exec;
    uint32_t node;
    bool is_left_out;                // then it has no values, and takes any
    const struct backend_task *task; // for what does not change
};

static braid_status begin(const char *function, braid_exec *exec, braid_node node,
                          struct setter *out_setter)
{
    braid_status status = braid_exec_check(function, exec);
    if (status)
        return status;
    if (node.graph != exec->schedule->graph_id || node.index >= exec->tasks.num)
        return braid_error_invalid("%s: node %u of graph %u is not a node of the exec's graph",
                                   function, node.index, node.graph);
    *out_setter =
        (struct setter){ function, exec, node.index, exec_left_out(exec, node.index) != NULL,
                         &exec->tasks.items[node.index] };
    return BRAID_OK;
}

static struct node_text name_node(const struct setter *setter)
{
    return braid_node_text(setter->node, setter->task->name);
}

// The same for a kernel.
static braid_status begin_kernel(const char *function, braid_exec *exec, braid_node node,
                                 struct setter *out_setter)
{
    braid_status status = begin(function, exec, node, out_setter);
    if (status || out_setter->is_left_out || out_setter->task->kind == WORK_KERNEL)
        return status;
    return braid_error_invalid("%s: node %s is not a kernel", function, name_node(out_setter).text);
}

// Counts the arguments that the program gave.
static uint32_t count_args(const struct setter *setter)
{
    return setter->task->launch.num_args - setter->task->launch.grid_from;
}

static braid_status check_arg(const struct setter *setter, size_t index, braid_arg arg)
{
    const struct backend_launch *launch = &setter->task->launch;
    if (!arg.data)
        return braid_error_invalid("%s: node %s: argument %zu is NULL", setter->function,
                                   name_node(setter).text, index);
    const struct graph_argument given = braid_graph_classify_argument(&arg);
    if (given.kind == GRAPH_ARGUMENT_ADDRESS || given.kind == GRAPH_ARGUMENT_TRAP)
        return braid_error_invalid("%s: node %s: argument %zu cannot be set to "
                                   "braid_resource_address or BRAID_TRAP: give it a pointer",
                                   setter->function, name_node(setter).text, index);
    if (given.bytes != launch->arg_bytes[index])
        return braid_error_invalid("%s: node %s: argument %zu has %u bytes, not %zu",
                                   setter->function, name_node(setter).text, index,
                                   launch->arg_bytes[index], arg.bytes);
    return BRAID_OK;
}

// Arguments from `first` on.
static braid_status set_args(const struct setter *setter, const braid_arg *args, size_t first,
                             size_t num)
{
    braid_exec *exec = setter->exec;
    const struct backend_launch *launch = &setter->task->launch;
    uint64_t offset = braid_tasks_arg_offset(&exec->tasks, setter->node, (uint32_t)first);
    pthread_mutex_lock(&exec->turn.lock);
    for (size_t i = 0; i < num; i++) {
        const struct value_edit edit = { .from = args[i].data,
                                         .offset = offset,
                                         .slot = TASK_SLOT_ARGUMENTS,
                                         .node = setter->node,
                                         .bytes = launch->arg_bytes[first + i] };
        braid_exec_write_value(exec, &edit);
        offset += graph_arg_stride(edit.bytes);
    }
    pthread_mutex_unlock(&exec->turn.lock);
    return BRAID_OK;
}

static braid_status set_arg(const struct setter *setter, size_t index, braid_arg arg)
{
    if (index >= count_args(setter))
        return braid_error_invalid("%s: node %s has %u arguments, there is no number %zu",
                                   setter->function, name_node(setter).text, count_args(setter),
                                   index);
    braid_status status = check_arg(setter, index, arg);
    return status ? status : set_args(setter, &arg, index, 1);
}

braid_status braid_exec_set_arg(braid_exec *exec, braid_node node, size_t index, braid_arg arg)
{
    struct setter setter = { 0 };
    braid_status status = begin_kernel("braid_exec_set_arg", exec, node, &setter);
    return status || setter.is_left_out ? status : set_arg(&setter, index, arg);
}

braid_status braid_exec_set_args(braid_exec *exec, braid_node node, const braid_arg *args,
                                 size_t num_args)
{
    struct setter setter = { 0 };
    braid_status status = begin_kernel("braid_exec_set_args", exec, node, &setter);
    if (status || setter.is_left_out)
        return status;
    if (num_args && !args)
        return braid_error_invalid("braid_exec_set_args: node %s: args is NULL",
                                   name_node(&setter).text);
    if (num_args != count_args(&setter))
        return braid_error_invalid("braid_exec_set_args: node %s has %u arguments, %zu were given",
                                   name_node(&setter).text, count_args(&setter), num_args);
    for (size_t i = 0; i < num_args && !status; i++)
        status = check_arg(&setter, i, args[i]);
    return status ? status : set_args(&setter, args, 0, num_args);
}

enum { MOST_VALUES = 3 };

// One value of the program as values of the master copy: one, or several.
struct pieces {
    struct value_edit edits[MOST_VALUES];
    uint32_t num;
    uint32_t word;
};

static void add_piece(const struct setter *setter, uint32_t target, const void *from,
                      uint32_t bytes, struct pieces *pieces)
{
    struct value_edit edit = braid_exec_edit_of(&setter->exec->tasks, setter->node, target);
    edit.from = from;
    edit.bytes = bytes;
    pieces->edits[pieces->num++] = edit;
}

static void add_copy(const struct setter *setter, const braid_copy_values *copy,
                     struct pieces *pieces)
{
    if (copy->to)
        add_piece(setter, BRAID_TARGET_TO, &copy->to, sizeof(copy->to), pieces);
    if (copy->from)
        add_piece(setter, BRAID_TARGET_FROM, &copy->from, sizeof(copy->from), pieces);
    if (copy->bytes)
        add_piece(setter, BRAID_TARGET_BYTES, &copy->bytes, sizeof(copy->bytes), pieces);
}

static void add_fill(const struct setter *setter, const braid_fill_values *fill,
                     struct pieces *pieces)
{
    if (fill->to)
        add_piece(setter, BRAID_TARGET_TO, &fill->to, sizeof(fill->to), pieces);
    if (fill->num_values)
        add_piece(setter, BRAID_TARGET_NUM_VALUES, &fill->num_values, sizeof(fill->num_values),
                  pieces);
    add_piece(setter, BRAID_TARGET_VALUE, &fill->value, sizeof(fill->value), pieces);
}

static void add_flag(const struct setter *setter, const unsigned char *flag, struct pieces *pieces)
{
    pieces->word = *flag != 0;
    add_piece(setter, BRAID_TARGET_ENABLED, &pieces->word, sizeof(pieces->word), pieces);
}

static uint32_t bytes_of(const struct setter *setter, uint32_t target)
{
    const struct tasks *tasks = &setter->exec->tasks;
    if (target != BRAID_TARGET_VALUE)
        return braid_graph_target_bytes(target);
    const unsigned char *works = tasks->slot_bytes[TASK_SLOT_WORKS];
    return ((const union work *)(const void *)(works + tasks->offsets[setter->node]))
        ->fill.value_bytes;
}

static braid_status set_target(const struct setter *setter, uint32_t target, const void *value)
{
    struct pieces pieces = { .num = 0 };
    if (target == BRAID_TARGET_COPY)
        add_copy(setter, value, &pieces);
    else if (target == BRAID_TARGET_FILL)
        add_fill(setter, value, &pieces);
    else if (target == BRAID_TARGET_ENABLED)
        add_flag(setter, value, &pieces);
    else
        add_piece(setter, target, value, bytes_of(setter, target), &pieces);
    pthread_mutex_lock(&setter->exec->turn.lock);
    braid_status status = braid_exec_put_values(setter->exec, pieces.edits, pieces.num);
    pthread_mutex_unlock(&setter->exec->turn.lock);
    return status;
}

static braid_status check_target(const struct setter *setter, braid_target target, size_t index)
{
    enum work_kind kind = setter->task->kind;
    if (target == BRAID_TARGET_ENABLED && (kind == WORK_AWAIT || kind == WORK_POST))
        return braid_error_invalid(
            "braid_exec_set: node %s is a communication, whose other ranks would wait for it",
            name_node(setter).text);
    if ((uint32_t)target > BRAID_TARGET_TIMES)
        return braid_error_invalid("braid_exec_set: node %s: unknown target %u",
                                   name_node(setter).text, (uint32_t)target);
    if (!braid_graph_target_fits(target, kind))
        return braid_error_invalid("braid_exec_set: node %s is a %s, which has no %s",
                                   name_node(setter).text, braid_work_words[kind].name,
                                   braid_graph_target_name(target));
    if (target != BRAID_TARGET_ARGUMENT && index)
        return braid_error_invalid("braid_exec_set: node %s: index %zu, where the target is %s",
                                   name_node(setter).text, index, braid_graph_target_name(target));
    return BRAID_OK;
}

braid_status braid_exec_set(braid_exec *exec, braid_node node, braid_target target, size_t index,
                            const void *value)
{
    struct setter setter = { 0 };
    braid_status status = begin("braid_exec_set", exec, node, &setter);
    if (!status && setter.is_left_out)
        return BRAID_OK;
    if (!status)
        status = check_target(&setter, target, index);
    if (status)
        return status;
    if (!value)
        return braid_error_invalid("braid_exec_set: node %s: value is NULL",
                                   name_node(&setter).text);
    if (target != BRAID_TARGET_ARGUMENT)
        return set_target(&setter, target, value);
    uint32_t num = count_args(&setter);
    size_t bytes = index < num ? setter.task->launch.arg_bytes[index] : 0;
    return set_arg(&setter, index, (braid_arg){ value, bytes });
}

void braid_exec_empty_grids(braid_exec *exec, const braid_graph *graph)
{
    const struct graph_kernel *kernels = graph->kernels.items;
    for (uint32_t i = 0; i < exec->tasks.num; i++) {
        const struct graph_node *node = &graph_nodes(graph)[i];
        if (node->kind != WORK_KERNEL || !kernels[node->payload].empty)
            continue;
        tasks_control(&exec->tasks, i)->grid = graph_kernel_grid(&kernels[node->payload]);
        braid_exec_values_mark(&exec->values, &exec->tasks, i);
    }
}
