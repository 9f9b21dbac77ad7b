// SPDX-License-Identifier: Apache-2.0
// Making what an exec needs to set its parameters.
#include "exec/exec_params.h"

#include <string.h>

#include "base/array.h"
#include "base/error.h"

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
    params->rows = braid_allocate_zeroed(params->num, sizeof(*params->rows));
    params->first_use = braid_allocate_zeroed((size_t)params->num + 1, sizeof(uint32_t));
    params->uses = braid_allocate_zeroed(graph->uses.num, sizeof(*params->uses));
    if (!params->bytes || !params->rows || !params->first_use || !params->uses)
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

static bool make_room(const struct tasks *tasks, uint32_t num_slots, struct exec_params *params)
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
    params->old = braid_allocate_zeroed(num_slots, most_old);
    params->old_stride = most_old;
    return params->scratch && params->old;
}

braid_status braid_exec_params_create(const braid_graph *graph, const struct tasks *tasks,
                                      uint32_t num_slots, struct exec_params *out_params)
{
    struct exec_params params = { 0 };
    if (!copy_parameters(graph, &params) || !make_room(tasks, num_slots, &params)) {
        braid_exec_params_finish(&params);
        return braid_error_no_memory("the parameters of an exec");
    }
    *out_params = params;
    return BRAID_OK;
}

void braid_exec_params_finish(struct exec_params *params)
{
    for (uint32_t i = 0; params->rows && i < params->num; i++)
        free(params->rows[i].bytes);
    free(params->rows);
    free(params->bytes);
    free(params->first_use);
    free(params->uses);
    free(params->scratch);
    free(params->old);
    *params = (struct exec_params){ 0 };
}
