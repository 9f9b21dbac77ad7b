// SPDX-License-Identifier: Apache-2.0
// Setters of arguments, and of any value. Each writes the master copy; the next launches take it
// there.
#include <string.h>

#include "base/error.h"
#include "base/node_text.h"
#include "exec/exec.h"
#include "graph/add.h"
#include "graph/code.h"
#include "graph/placed.h"
#include "plan/schedule.h"

// ---- checks ----

// Which values a node can have, as far as can be told without the driver, and writing those.

static braid_status refuse(const struct backend_task *task, const char *what)
{
    return braid_error_invalid("node %s: %s", braid_node_text(task->node, task->name).text, what);
}

static braid_status check_room(const struct backend_task *task, uint64_t bytes, uint64_t room)
{
    if (!room || bytes <= room)
        return BRAID_OK;
    return braid_error_invalid("node %s: %llu bytes end beyond the %llu of a resource",
                               braid_node_text(task->node, task->name).text,
                               (unsigned long long)bytes, (unsigned long long)room);
}

// The backend knows how large the grid of a cooperative launch may be.
static braid_status check_grid(const braid_exec *exec, struct backend_task *task)
{
    const struct backend_launch *launch = &task->launch;
    if (braid_grid_fits(launch->grid, launch->block))
        return braid_frame_prepare(&exec->frames.slots[0].frame, task);
    return braid_error_invalid("node %s: a grid of %ux%ux%u blocks",
                               braid_node_text(task->node, task->name).text, launch->grid.x,
                               launch->grid.y, launch->grid.z);
}

// On several places, no copy brings the earlier data behind a node that does nothing. In a graph
// with outputs, no node makes it.
static braid_status check_rest(const braid_exec *exec, const struct backend_task *task)
{
    const braid_graph *graph = exec->placed ? exec->placed->graph : &exec->culled.own;
    if (!task->disabled || !graph->nodes.num || !graph_nodes(graph)[task->node].must_run)
        return BRAID_OK;
    return braid_error(
        BRAID_UNSUPPORTED,
        "node %s writes (BRAID_WRITE) where the plan does not make the earlier data: disable it by "
        "a parameter (BRAID_TARGET_ENABLED), or give it BRAID_READ_WRITE",
        braid_node_text(task->node, task->name).text);
}

static braid_status check_end(const braid_exec *exec, const struct backend_task *task,
                              const char *end, const void *address, uint64_t bytes)
{
    uint32_t buffer = 0;
    uint64_t beyond = 0;
    if (!braid_extents_overrun(&exec->extents, address, bytes, &buffer, &beyond))
        return BRAID_OK;
    return braid_extents_refuse(braid_node_text(task->node, task->name).text, end, bytes, beyond,
                                braid_plan_resource_name(exec->schedule->graph, buffer));
}

// A node's values after all edits but those of arguments.
struct staged {
    struct backend_task task;
    struct task_control control;
};

static union work *work_of(const braid_exec *exec, uint32_t node)
{
    unsigned char *works = exec->tasks.slot_bytes[TASK_SLOT_WORKS];
    return (union work *)(void *)(works + exec->tasks.offsets[node]);
}

// Whether an end of a copy or fill is an address that each frame finds for itself.
static bool is_address(const braid_exec *exec, const struct value_edit *edits, uint32_t num,
                       size_t in_work)
{
    uint32_t node = edits[0].node;
    uint64_t offset = exec->tasks.offsets[node] + in_work;
    for (uint32_t i = 0; i < num; i++) {
        if (edits[i].slot == TASK_SLOT_WORKS && edits[i].offset == offset)
            return false;
    }
    return braid_tasks_is_address(&exec->tasks, node, TASK_SLOT_WORKS, offset);
}

// Parameters that move the ends of one copy are set one after another. Between them the ends may
// overlap, as where they change places. Each frame checks those that it gets (frame.c).
static bool awaits_others(const struct value_edit *edits, uint32_t num,
                          const struct backend_task *task)
{
    const uint32_t ends =
        1u << BRAID_TARGET_TO | 1u << BRAID_TARGET_FROM | 1u << BRAID_TARGET_BYTES;
    uint32_t num_set = 0;
    for (uint32_t i = 0; i < num; i++)
        num_set += edits[i].slot == TASK_SLOT_WORKS;
    return (uint32_t)__builtin_popcount(task->varies & ends) > num_set;
}

// An end that each frame finds for itself is where the first slot's last frame had it.
static braid_status check_flaw(const braid_exec *exec, const struct backend_task *task,
                               bool to_moves, bool from_moves)
{
    const union work *had = &exec->frames.slots[0].frame.tasks[task->node].work;
    union work work = task->work;
    if (task->kind == WORK_COPY) {
        work.copy.to = to_moves ? work.copy.to : had->copy.to;
        work.copy.from = from_moves ? work.copy.from : had->copy.from;
    } else if (!to_moves) {
        work.fill.to = had->fill.to;
    }
    const char *flaw = braid_work_flaw(task->kind, &work);
    return flaw ? refuse(task, flaw) : BRAID_OK;
}

static braid_status check_copy(const braid_exec *exec, const struct value_edit *edits, uint32_t num,
                               struct backend_task *task)
{
    const union work *old = work_of(exec, task->node);
    struct work_copy *copy = &task->copy;
    bool to_moves = !is_address(exec, edits, num, offsetof(struct work_copy, to));
    bool from_moves = !is_address(exec, edits, num, offsetof(struct work_copy, from));
    if ((to_moves && !copy->to) || (from_moves && !copy->from))
        return refuse(task, copy->to ? "a copy from NULL" : "a copy to NULL");
    if (copy->bytes == 0)
        return refuse(task, "a copy of 0 bytes: to do nothing, disable the node");
    copy->to_room = copy->to == old->copy.to ? copy->to_room : 0;
    copy->from_room = copy->from == old->copy.from ? copy->from_room : 0;
    const uint64_t to_bytes = work_span(&copy->rows, false, copy->bytes);
    const uint64_t from_bytes = work_span(&copy->rows, true, copy->bytes);
    braid_status status = check_room(task, to_bytes, copy->to_room);
    if (!status)
        status = check_room(task, from_bytes, copy->from_room);
    if (!status && to_moves)
        status = check_end(exec, task, "to", copy->to, to_bytes);
    if (!status && from_moves)
        status = check_end(exec, task, "from", copy->from, from_bytes);
    if (!status && !awaits_others(edits, num, task))
        status = check_flaw(exec, task, to_moves, from_moves);
    return status;
}

static braid_status check_fill(const braid_exec *exec, const struct value_edit *edits, uint32_t num,
                               struct backend_task *task)
{
    const union work *old = work_of(exec, task->node);
    struct work_fill *fill = &task->fill;
    bool moves = !is_address(exec, edits, num, offsetof(struct work_fill, to));
    if (moves && !fill->to)
        return refuse(task, "a fill of NULL");
    if (fill->num_values == 0 || fill->num_values > UINT64_MAX / 4)
        return refuse(task, "a fill of no values, or of too many: to do nothing, disable the node");
    fill->to_room = fill->to == old->fill.to ? fill->to_room : 0;
    uint64_t bytes = work_span(&fill->rows, false, fill->num_values * fill->value_bytes);
    braid_status status = check_room(task, bytes, fill->to_room);
    if (!status && moves)
        status = check_end(exec, task, "to", fill->to, bytes);
    return status ? status : check_flaw(exec, task, moves, false);
}

static bool has_work(const struct backend_task *task)
{
    return task->kind != WORK_KERNEL && task->kind != WORK_EMPTY;
}

static void put_control(const struct value_edit *edit, struct task_control *control)
{
    uint64_t first = edit->node * sizeof(*control);
    memcpy((char *)control + (edit->offset - first), edit->from, edit->bytes);
    if (edit->bytes == sizeof(control->grid)) // no other control has as many
        control->grid = work_grid(control->grid);
}

static void stage(const braid_exec *exec, const struct value_edit *edits, uint32_t num,
                  struct staged *staged)
{
    uint32_t node = edits[0].node;
    staged->task = exec->tasks.items[node];
    staged->control = *tasks_control(&exec->tasks, node);
    if (has_work(&staged->task))
        staged->task.work = *work_of(exec, node);
    for (uint32_t i = 0; i < num; i++) {
        char *to = (char *)&staged->task.work;
        if (edits[i].slot == TASK_SLOT_CONTROLS)
            put_control(&edits[i], &staged->control);
        else if (edits[i].slot == TASK_SLOT_WORKS)
            memcpy(to + (edits[i].offset - exec->tasks.offsets[node]), edits[i].from,
                   edits[i].bytes);
    }
    bool is_empty = task_is_empty(staged->task.kind, &staged->control);
    staged->task.disabled = !staged->control.enabled || is_empty;
    if (staged->task.kind == WORK_KERNEL && !is_empty)
        staged->task.launch.grid = staged->control.grid;
}

// The rooms of a copy's or fill's ends are staged, too.
static braid_status check(const braid_exec *exec, const struct value_edit *edits, uint32_t num,
                          struct staged *staged)
{
    braid_status status = BRAID_OK;
    stage(exec, edits, num, staged);
    if (staged->task.kind == WORK_KERNEL)
        status = check_grid(exec, &staged->task);
    else if (staged->task.kind == WORK_COPY)
        status = check_copy(exec, edits, num, &staged->task);
    else if (staged->task.kind == WORK_FILL)
        status = check_fill(exec, edits, num, &staged->task);
    if (!status)
        status = check_rest(exec, &staged->task);
    if (!status && exec->player->check_task)
        status = exec->player->check_task(exec->frames.slots[0].playing, &staged->task);
    return status;
}

// Writes one that needs no check.
static void exec_write_value(braid_exec *exec, const struct value_edit *edit)
{
    struct tasks *tasks = &exec->tasks;
    if (edit->slot == TASK_SLOT_CONTROLS)
        put_control(edit, tasks_control(tasks, edit->node));
    else
        memcpy(tasks->slot_bytes[edit->slot] + edit->offset, edit->from, edit->bytes);
    for (uint32_t i = tasks->first_address[edit->node]; i < tasks->first_address[edit->node + 1];
         i++) {
        struct task_address *address = &tasks->addresses[i];
        bool overlaps = address->slot == edit->slot &&
                        address->offset < edit->offset + edit->bytes &&
                        edit->offset < address->offset + sizeof(void *);
        address->is_set = address->is_set || overlaps;
    }
    exec->values.num_controls += edit->slot == TASK_SLOT_CONTROLS;
    braid_exec_values_mark(&exec->values, tasks, edit->node);
}

static uint32_t count_of_node(const struct value_edit *edits, uint32_t num)
{
    uint32_t of_node = 1;
    while (of_node < num && edits[of_node].node == edits[0].node)
        of_node++;
    return of_node;
}

static bool are_arguments(const struct value_edit *edits, uint32_t num)
{
    for (uint32_t i = 0; i < num; i++) {
        if (edits[i].slot != TASK_SLOT_ARGUMENTS)
            return false;
    }
    return true;
}

// Checks the edits of one node, and writes them unless this is only to check. The check changes the
// rooms of a copy or fill. It does not write a loop back, whose number reports read without the
// lock.
static braid_status put_node(braid_exec *exec, const struct value_edit *edits, uint32_t num,
                             bool writes)
{
    struct staged staged;
    bool is_staged = !are_arguments(edits, num);
    braid_status status = is_staged ? check(exec, edits, num, &staged) : BRAID_OK;
    if (status || !writes)
        return status;
    for (uint32_t i = 0; i < num; i++)
        exec_write_value(exec, &edits[i]);
    if (is_staged && (staged.task.kind == WORK_COPY || staged.task.kind == WORK_FILL))
        *work_of(exec, edits[0].node) = staged.task.work;
    return BRAID_OK;
}

braid_status braid_exec_put_values(braid_exec *exec, const struct value_edit *edits, uint32_t num)
{
    braid_status status = BRAID_OK;
    bool is_one_node = !num || count_of_node(edits, num) == num;
    for (int writes = is_one_node; writes < 2; writes++) {
        for (uint32_t first = 0, of_node; first < num && !status; first += of_node) {
            of_node = count_of_node(edits + first, num - first);
            status = put_node(exec, edits + first, of_node, writes);
        }
    }
    return status;
}

// ---- parameters ----

braid_status braid_exec_put_param(braid_exec *exec, uint32_t parameter, const void *value)
{
    const struct exec_params *params = &exec->params;
    uint32_t first = params->first_use[parameter];
    uint32_t num = params->first_use[parameter + 1] - first;
    for (uint32_t i = 0; i < num; i++)
        params->uses[first + i].from = (const unsigned char *)value + params->offsets[first + i];
    return braid_exec_put_values(exec, params->uses + first, num);
}

braid_status braid_exec_check_param(const char *function, const braid_exec *exec,
                                    braid_parameter parameter)
{
    braid_status status = braid_exec_check(function, exec);
    if (status)
        return status;
    if (parameter.graph != exec->schedule->graph_id || parameter.index >= exec->params.num)
        return braid_error_invalid(
            "%s: parameter %u of graph %u is not a parameter of the exec's graph", function,
            parameter.index, parameter.graph);
    return BRAID_OK;
}

braid_status braid_exec_set_parameter(braid_exec *exec, braid_parameter parameter,
                                      const void *value)
{
    if (!exec || !value)
        return braid_error_null("braid_exec_set_parameter", exec ? "value" : "exec");
    braid_status status = braid_exec_check_param("braid_exec_set_parameter", exec, parameter);
    if (status)
        return status;
    pthread_mutex_lock(&exec->turn.lock);
    status = braid_exec_put_param(exec, parameter.index, value);
    pthread_mutex_unlock(&exec->turn.lock);
    return status;
}

// ---- setters ----

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

// Most arguments are values, for which few comparisons say that all is right.
static braid_status check_arg(const struct setter *setter, size_t index, const braid_arg *arg)
{
    const uint32_t expected = setter->task->launch.arg_bytes[index];
    if (arg->kind == BRAID_ARG_VALUE && !arg->access && arg->data && arg->bytes == expected)
        return BRAID_OK;
    const struct argument_fault fault = braid_graph_find_fault(arg);
    if (fault.text[0])
        return braid_error_invalid("%s: node %s: argument %zu %s", setter->function,
                                   name_node(setter).text, index, fault.text);
    if (arg->kind == BRAID_ARG_RESOURCE || arg->kind == BRAID_ARG_TRAP)
        return braid_error_invalid("%s: node %s: argument %zu cannot be set to "
                                   "braid_resource_address or BRAID_TRAP: give it a pointer",
                                   setter->function, name_node(setter).text, index);
    size_t bytes = arg->kind == BRAID_ARG_VALUE ? arg->bytes : sizeof(void *);
    if (bytes != expected)
        return braid_error_invalid("%s: node %s: argument %zu has %u bytes, not %zu",
                                   setter->function, name_node(setter).text, index, expected,
                                   bytes);
    return BRAID_OK;
}

// With the lock held. Accesses that come from the code of a node hold for the addresses that it was
// added with.
static braid_status check_words(const struct setter *setter, const braid_arg *args, size_t first,
                                size_t num)
{
    const struct tasks *tasks = &setter->exec->tasks;
    const char *why = setter->exec->edges_only
                          ? "its import found orders by that: import again"
                          : "declares accesses by it: declare them without the code";
    size_t num_words;
    const struct code_word *words =
        braid_graph_words_of(&setter->exec->words, setter->node, &num_words);
    for (size_t i = 0; i < num_words; i++) {
        const size_t index = words[i].argument;
        if (index < first || index - first >= num)
            continue;
        const uint64_t at = braid_tasks_arg_offset(tasks, setter->node, words[i].argument);
        const char *had = (const char *)tasks->slot_bytes[TASK_SLOT_ARGUMENTS] + at;
        const char *given = args[index - first].data;
        if (braid_tasks_is_address(tasks, setter->node, TASK_SLOT_ARGUMENTS,
                                   at + words[i].offset) ||
            memcmp(had + words[i].offset, given + words[i].offset, words[i].bytes) != 0)
            return braid_error_invalid("%s: node %s: its code uses argument %zu as an address, and "
                                       "%s",
                                       setter->function, name_node(setter).text, index, why);
    }
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
    braid_status status = exec->words.num ? check_words(setter, args, first, num) : BRAID_OK;
    for (size_t i = 0; i < num && !status; i++) {
        const struct value_edit edit = { .from = args[i].data,
                                         .offset = offset,
                                         .slot = TASK_SLOT_ARGUMENTS,
                                         .node = setter->node,
                                         .bytes = launch->arg_bytes[first + i] };
        exec_write_value(exec, &edit);
        offset += graph_arg_stride(edit.bytes);
    }
    pthread_mutex_unlock(&exec->turn.lock);
    return status;
}

static braid_status set_arg(const struct setter *setter, size_t index, const braid_arg *arg)
{
    if (index >= count_args(setter))
        return braid_error_invalid("%s: node %s has %u arguments, there is no number %zu",
                                   setter->function, name_node(setter).text, count_args(setter),
                                   index);
    braid_status status = check_arg(setter, index, arg);
    return status ? status : set_args(setter, arg, index, 1);
}

braid_status braid_exec_set_arg(braid_exec *exec, braid_node node, size_t index, braid_arg arg)
{
    struct setter setter = { 0 };
    braid_status status = begin_kernel("braid_exec_set_arg", exec, node, &setter);
    return status || setter.is_left_out ? status : set_arg(&setter, index, &arg);
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
        status = check_arg(&setter, i, &args[i]);
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

// The orders of an import hold for the memory that its nodes had.
static braid_status check_memory(const struct setter *setter, uint32_t target, const void *value)
{
    const braid_fill_values *fill = value;
    const bool is_value = target == BRAID_TARGET_FILL && !fill->to && !fill->num_values;
    const bool is_memory = target == BRAID_TARGET_TO || target == BRAID_TARGET_FROM ||
                           target == BRAID_TARGET_BYTES || target == BRAID_TARGET_NUM_VALUES ||
                           target == BRAID_TARGET_COPY || target == BRAID_TARGET_FILL;
    if (!setter->exec->edges_only || !is_memory || is_value)
        return BRAID_OK;
    return braid_error_invalid("%s: node %s: the import found orders by its memory: import again",
                               setter->function, name_node(setter).text);
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
    if (!status && !value)
        status =
            braid_error_invalid("braid_exec_set: node %s: value is NULL", name_node(&setter).text);
    if (!status)
        status = check_memory(&setter, target, value);
    if (status)
        return status;
    if (target != BRAID_TARGET_ARGUMENT)
        return set_target(&setter, target, value);
    uint32_t num = count_args(&setter);
    size_t bytes = index < num ? setter.task->launch.arg_bytes[index] : 0;
    return set_arg(&setter, index, &(braid_arg){ value, bytes });
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
