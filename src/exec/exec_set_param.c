// SPDX-License-Identifier: Apache-2.0
// Setting a parameter: one value for many arguments, all changed or none.
#include <string.h>

#include "base/error.h"
#include "base/inside.h"
#include "exec/exec.h"

// Where the bytes of a part come from: one value for all, or behind one another, for each slot its
// own: the address of a transient buffer is another in each.
struct source {
    const unsigned char *value;
    bool in_turn;
    size_t slot_stride;
};

static const unsigned char *take_bytes(struct source *source, const struct graph_parameter_use *use)
{
    if (!source->in_turn)
        return source->value + use->offset;
    const unsigned char *bytes = source->value;
    source->value += use->bytes;
    return bytes;
}

// The parts that go to one node, and where they come from.
struct node_parts {
    const struct graph_parameter_use *uses;
    uint32_t num;
    struct source source;
};

// Puts the parts into copies of the arguments that they belong to, and points scratch_args at
// those.
static void fill_scratch(braid_exec *exec, const struct frame_slot *slot, uint32_t node, void *user)
{
    const struct node_parts *parts = user;
    const struct graph_parameter_use *uses = parts->uses;
    struct source source = parts->source;
    source.value += source.slot_stride * (size_t)(slot - exec->slots);
    const struct backend_launch *launch = &slot->frame.tasks[node].launch;
    unsigned char *free_bytes = exec->params.scratch;
    for (uint32_t i = 0; i < launch->num_args; i++)
        exec->scratch_args[i] = launch->args[i];
    for (uint32_t i = 0; i < parts->num; i++) {
        uint32_t argument = uses[i].argument;
        if (i == 0 || argument != uses[i - 1].argument) {
            memcpy(free_bytes, launch->args[argument], launch->arg_bytes[argument]);
            exec->scratch_args[argument] = free_bytes;
            free_bytes += graph_arg_stride(launch->arg_bytes[argument]);
        }
        memcpy((unsigned char *)exec->scratch_args[argument] + uses[i].argument_offset,
               take_bytes(&source, &uses[i]), uses[i].bytes);
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
        struct node_parts parts = { uses + done, of_node, source };
        *out_status = braid_exec_change_args(exec, uses[done].node, fill_scratch, &parts);
        if (*out_status)
            break;
        for (uint32_t i = 0; i < of_node; i++)
            (void)take_bytes(&source, &uses[done + i]);
        done += of_node;
    }
    return done;
}

static void keep_old(const struct frame_slot *slot, const struct graph_parameter_use *uses,
                     uint32_t num, unsigned char *old)
{
    for (uint32_t i = 0; i < num; i++) {
        const struct backend_launch *launch = &slot->frame.tasks[uses[i].node].launch;
        memcpy(old, (unsigned char *)launch->args[uses[i].argument] + uses[i].argument_offset,
               uses[i].bytes);
        old += uses[i].bytes;
    }
}

braid_status braid_exec_put_param(braid_exec *exec, uint32_t parameter, const void *value)
{
    const struct exec_params *params = &exec->params;
    const struct graph_parameter_use *uses = params->uses + params->first_use[parameter];
    uint32_t num = params->first_use[parameter + 1] - params->first_use[parameter];
    braid_status status = BRAID_OK, restored = BRAID_OK;
    for (uint32_t i = 0; i < exec->num_slots; i++)
        keep_old(&exec->slots[i], uses, num, params->old + i * params->old_stride);
    uint32_t done = change_uses(exec, uses, num, (struct source){ .value = value }, &status);
    if (!status)
        return BRAID_OK;
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    const struct source old = { params->old, true, params->old_stride };
    (void)change_uses(exec, uses, done, old, &restored);
    braid_error_end_noted(&attempt, restored);
    return status;
}

braid_status braid_exec_check_param(const char *function, const braid_exec *exec,
                                    braid_parameter parameter)
{
    braid_status inside = braid_inside_check(function, exec);
    if (inside)
        return inside;
    if (parameter.graph != exec->graph_id || parameter.index >= exec->params.num)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "%s: parameter %u of graph %u is not a parameter of the exec's graph",
                           function, parameter.index, parameter.graph);
    return BRAID_OK;
}

braid_status braid_exec_set_param(braid_exec *exec, braid_parameter parameter, const void *value)
{
    if (!exec || !value)
        return braid_error_null("braid_exec_set_param", exec ? "value" : "exec");
    braid_status status = braid_exec_check_param("braid_exec_set_param", exec, parameter);
    if (status)
        return status;
    pthread_mutex_lock(&exec->lock);
    status = braid_exec_put_param(exec, parameter.index, value);
    pthread_mutex_unlock(&exec->lock);
    return status;
}
