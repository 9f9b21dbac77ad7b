// SPDX-License-Identifier: Apache-2.0
// Several frames by one call, each with its own row of the parameters that have rows.
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/node_text.h"
#include "exec/exec.h"

static bool has_rows(const struct exec_params *params)
{
    for (uint32_t i = 0; i < params->num; i++) {
        if (params->rows[i].num)
            return true;
    }
    return false;
}

static struct node_text name_parameter(const struct exec_params *params, uint32_t index)
{
    return braid_node_text(index, braid_names_at(&params->names, params->name[index]));
}

static braid_status check_rows(const struct exec_params *params, size_t num_frames)
{
    for (uint32_t i = 0; i < params->num; i++) {
        if (params->rows[i].num && params->rows[i].num != num_frames)
            return braid_error(BRAID_INVALID_ARGUMENT,
                               "braid_exec_launch_many: parameter %s has rows for %zu frames, not "
                               "%zu",
                               name_parameter(params, i).text, params->rows[i].num, num_frames);
    }
    return BRAID_OK;
}

static braid_status put_rows(braid_exec *exec, size_t frame)
{
    const struct exec_params *params = &exec->params;
    for (uint32_t i = 0; i < params->num; i++) {
        const struct exec_param_rows *rows = &params->rows[i];
        if (!rows->num)
            continue;
        braid_status status = braid_exec_put_param(exec, i, rows->bytes + frame * params->bytes[i]);
        if (status)
            return status;
    }
    return BRAID_OK;
}

// Some frames by one launch of the player's.
static braid_status launch_some(braid_exec *exec, braid_stream *stream, size_t first,
                                uint32_t num_frames, bool in_rows)
{
    // Before its row is put in place: while this waits, others may set the parameter.
    braid_status status = braid_exec_make_room(exec);
    if (!status && num_frames > 1)
        status = exec->player->update(exec->frames.slots[0].playing, NULL, 0, 0);
    for (uint32_t i = 0; i < num_frames && in_rows && !status; i++) {
        status = put_rows(exec, first + i);
        if (!status && num_frames > 1)
            status = braid_exec_update(exec, &exec->frames.slots[0], exec->frames.num_launched, i);
    }
    if (status)
        return braid_exec_explain_launch(exec, status);
    status = braid_exec_launch_frames(exec, stream, num_frames);
    return braid_exec_explain_launch(exec, status);
}

static braid_status launch_all(braid_exec *exec, braid_stream *stream, size_t num_frames)
{
    bool in_rows = has_rows(&exec->params);
    uint32_t most = 1;
    bool differ = exec->frames.version_period > 1 || braid_exec_parts_need_each_frame(exec->parts);
    if (exec->player->most_frames && exec->frames.num == 1 && !differ)
        most = exec->player->most_frames(exec->frames.slots[0].playing, in_rows);
    for (size_t done = 0; done < num_frames;) {
        size_t left = num_frames - done;
        uint32_t num = left < most ? (uint32_t)left : most;
        braid_status status = launch_some(exec, stream, done, num, in_rows);
        if (status && num == 1)
            return braid_error(status, "frame %zu of %zu: %s", done, num_frames,
                               braid_error_message());
        if (status)
            return braid_error(status, "frames %zu to %zu of %zu: %s", done, done + num - 1,
                               num_frames, braid_error_message());
        done += num;
    }
    return BRAID_OK;
}

// The message of a frame is told once, with its number.
static braid_status launch_many(braid_exec *exec, braid_stream *stream, size_t num_frames)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = launch_all(exec, stream, num_frames);
    braid_error_end_attempt(&attempt, status);
    return status;
}

static void use_rows_up(struct exec_params *params)
{
    for (uint32_t i = 0; i < params->num; i++)
        params->rows[i].num = 0;
}

braid_status braid_exec_launch_many(braid_exec *exec, braid_stream *stream, size_t num_frames)
{
    braid_status status = braid_exec_check_launch("braid_exec_launch_many", exec, stream);
    if (status == BRAID_INVALID_ARGUMENT || num_frames == 0)
        return status;
    braid_exec_begin_launch(exec);
    braid_status rows = check_rows(&exec->params, num_frames);
    if (!rows) { // also if the stream takes no launch now
        status = status ? status : launch_many(exec, stream, num_frames);
        use_rows_up(&exec->params);
        braid_exec_await_unrecorded(exec, stream);
    }
    braid_exec_end_launch(exec);
    return rows ? rows : status;
}

static braid_status set_rows(struct exec_params *params, uint32_t parameter, const void *bytes,
                             size_t num)
{
    struct exec_param_rows *rows = &params->rows[parameter];
    size_t size = params->bytes[parameter];
    if (num > SIZE_MAX / size)
        return braid_error_no_memory("the rows of a parameter");
    if (num * size > rows->room) {
        unsigned char *grown = realloc(rows->bytes, num * size);
        if (!grown)
            return braid_error_no_memory("the rows of a parameter");
        rows->bytes = grown;
        rows->room = num * size;
    }
    if (num)
        memcpy(rows->bytes, bytes, num * size);
    rows->num = num;
    return BRAID_OK;
}

braid_status braid_exec_set_param_rows(braid_exec *exec, braid_parameter parameter,
                                       const void *rows, size_t num_rows)
{
    if (!exec || (!rows && num_rows))
        return braid_error_null("braid_exec_set_param_rows", exec ? "rows" : "exec");
    braid_status status = braid_exec_check_param("braid_exec_set_param_rows", exec, parameter);
    if (status)
        return status;
    braid_exec_begin_launch(exec);
    status = set_rows(&exec->params, parameter.index, rows, num_rows);
    braid_exec_end_launch(exec);
    return status;
}
