// SPDX-License-Identifier: Apache-2.0
// Setting a parameter: one value for all its users.
#include "base/error.h"
#include "exec/exec.h"

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

braid_status braid_exec_set_param(braid_exec *exec, braid_parameter parameter, const void *value)
{
    if (!exec || !value)
        return braid_error_null("braid_exec_set_param", exec ? "value" : "exec");
    braid_status status = braid_exec_check_param("braid_exec_set_param", exec, parameter);
    if (status)
        return status;
    pthread_mutex_lock(&exec->turn.lock);
    status = braid_exec_put_param(exec, parameter.index, value);
    pthread_mutex_unlock(&exec->turn.lock);
    return status;
}
