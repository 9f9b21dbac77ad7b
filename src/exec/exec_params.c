// SPDX-License-Identifier: Apache-2.0
// Parameters: one value for many arguments, all changed or none.
#include "exec/exec_params.h"

#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/inside.h"
#include "exec/exec.h"

static int compare_uses(const void *left, const void *right)
{
    const struct graph_parameter_use *a = left;
    const struct graph_parameter_use *b = right;
    if (a->parameter != b->parameter)
        return a->parameter < b->parameter ? -1 : 1;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->argument != b->argument)
        return a->argument < b->argument ? -1 : 1;
    if (a->argument_offset != b->argument_offset)
        return a->argument_offset < b->argument_offset ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static bool copy_parameters(const braid_graph *graph, struct exec_params *params)
{
    const struct graph_parameter *parameters = graph->parameters.items;
    params->num = (uint32_t)graph->parameters.num;
    params->bytes = braid_allocate_zeroed(params->num, sizeof(*params->bytes));
    params->first_use = braid_allocate_zeroed((size_t)params->num + 1, sizeof(uint32_t));
    params->uses = braid_allocate_zeroed(graph->uses.num, sizeof(*params->uses));
    if (!params->bytes || !params->first_use || !params->uses)
        return false;
    for (uint32_t i = 0; i < params->num; i++)
        params->bytes[i] = parameters[i].bytes;
    if (graph->uses.num == 0)
        return true;
    memcpy(params->uses, graph->uses.items, graph->uses.num * sizeof(*params->uses));
    qsort(params->uses, graph->uses.num, sizeof(*params->uses), compare_uses);
    for (size_t i = 0; i < graph->uses.num; i++)
        params->first_use[params->uses[i].parameter + 1]++;
    for (uint32_t i = 0; i < params->num; i++)
        params->first_use[i + 1] += params->first_use[i];
    return true;
}

static size_t argument_bytes(const struct tasks *tasks, uint32_t node)
{
    const struct backend_launch *launch = &tasks->items[node].launch;
    size_t bytes = 0;
    for (uint32_t i = 0; i < launch->num_args; i++)
        bytes += graph_arg_stride(launch->arg_bytes[i]);
    return bytes;
}

static bool make_room(const struct tasks *tasks, struct exec_params *params)
{
    size_t most_scratch = 0, most_old = 0;
    for (uint32_t p = 0; p < params->num; p++) {
        size_t old = 0;
        for (uint32_t i = params->first_use[p]; i < params->first_use[p + 1]; i++) {
            size_t scratch = argument_bytes(tasks, params->uses[i].node);
            most_scratch = scratch > most_scratch ? scratch : most_scratch;
            old += params->uses[i].bytes;
        }
        most_old = old > most_old ? old : most_old;
    }
    params->scratch = braid_allocate_zeroed(most_scratch, 1);
    params->old = braid_allocate_zeroed(most_old, 1);
    return params->scratch && params->old;
}

braid_status braid_exec_params_create(const braid_graph *graph, const struct tasks *tasks,
                                      struct exec_params *out_params)
{
    struct exec_params params = { 0 };
    if (!copy_parameters(graph, &params) || !make_room(tasks, &params)) {
        braid_exec_params_finish(&params);
        return braid_error_no_memory("the parameters of an exec");
    }
    *out_params = params;
    return BRAID_OK;
}

void braid_exec_params_finish(struct exec_params *params)
{
    free(params->bytes);
    free(params->first_use);
    free(params->uses);
    free(params->scratch);
    free(params->old);
    *params = (struct exec_params){ 0 };
}

// Where the bytes of a part come from: one value for all, or behind one another.
struct source {
    const unsigned char *value;
    bool in_turn;
};

static const unsigned char *take_bytes(struct source *source, const struct graph_parameter_use *use)
{
    if (!source->in_turn)
        return source->value + use->offset;
    const unsigned char *bytes = source->value;
    source->value += use->bytes;
    return bytes;
}

// Puts the parts into copies of the arguments that they belong to, and points scratch_args at
// those.
static void fill_scratch(braid_exec *exec, const struct graph_parameter_use *uses, uint32_t num,
                         struct source *source)
{
    const struct backend_launch *launch = &exec->slot.frame.tasks[uses[0].node].launch;
    unsigned char *free_bytes = exec->params.scratch;
    for (uint32_t i = 0; i < launch->num_args; i++)
        exec->scratch_args[i] = launch->args[i];
    for (uint32_t i = 0; i < num; i++) {
        uint32_t argument = uses[i].argument;
        if (i == 0 || argument != uses[i - 1].argument) {
            memcpy(free_bytes, launch->args[argument], launch->arg_bytes[argument]);
            exec->scratch_args[argument] = free_bytes;
            free_bytes += graph_arg_stride(launch->arg_bytes[argument]);
        }
        memcpy((unsigned char *)exec->scratch_args[argument] + uses[i].argument_offset,
               take_bytes(source, &uses[i]), uses[i].bytes);
    }
}

static uint32_t count_of_node(const struct graph_parameter_use *uses, uint32_t num)
{
    uint32_t of_node = 1;
    while (of_node < num && uses[of_node].node == uses[0].node)
        of_node++;
    return of_node;
}

// Changes node after node; returns how many uses are done, all where it did not fail.
static uint32_t change_uses(braid_exec *exec, const struct graph_parameter_use *uses, uint32_t num,
                            struct source source, braid_status *out_status)
{
    uint32_t done = 0;
    *out_status = BRAID_OK;
    while (done < num) {
        uint32_t of_node = count_of_node(uses + done, num - done);
        fill_scratch(exec, uses + done, of_node, &source);
        *out_status = braid_exec_take_args(exec, uses[done].node);
        if (*out_status)
            break;
        done += of_node;
    }
    return done;
}

static void keep_old(const braid_exec *exec, const struct graph_parameter_use *uses, uint32_t num)
{
    unsigned char *old = exec->params.old;
    for (uint32_t i = 0; i < num; i++) {
        const struct backend_launch *launch = &exec->slot.frame.tasks[uses[i].node].launch;
        memcpy(old, (unsigned char *)launch->args[uses[i].argument] + uses[i].argument_offset,
               uses[i].bytes);
        old += uses[i].bytes;
    }
}

static braid_status set_param(braid_exec *exec, uint32_t parameter, const void *value)
{
    const struct exec_params *params = &exec->params;
    const struct graph_parameter_use *uses = params->uses + params->first_use[parameter];
    uint32_t num = params->first_use[parameter + 1] - params->first_use[parameter];
    braid_status status = BRAID_OK, restored = BRAID_OK;
    keep_old(exec, uses, num);
    uint32_t done = change_uses(exec, uses, num, (struct source){ value, false }, &status);
    if (!status)
        return BRAID_OK;
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    (void)change_uses(exec, uses, done, (struct source){ params->old, true }, &restored);
    braid_error_end_noted(&attempt, restored);
    return status;
}

braid_status braid_exec_set_param(braid_exec *exec, braid_parameter parameter, const void *value)
{
    if (!exec || !value)
        return braid_error_null("braid_exec_set_param", exec ? "value" : "exec");
    braid_status inside = braid_inside_check("braid_exec_set_param", exec);
    if (inside)
        return inside;
    if (parameter.graph != exec->graph_id || parameter.index >= exec->params.num)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "braid_exec_set_param: parameter %u of graph %u is not a parameter of "
                           "the exec's graph",
                           parameter.index, parameter.graph);
    pthread_mutex_lock(&exec->lock);
    braid_status status = set_param(exec, parameter.index, value);
    pthread_mutex_unlock(&exec->lock);
    return status;
}
