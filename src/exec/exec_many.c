// SPDX-License-Identifier: Apache-2.0
// Several frames by one call, each with its own value of the parameters that have rows.
#include "base/error.h"
#include "base/node_text.h"
#include "exec/exec.h"
#include "exec/exec_times.h"

struct many {
    braid_stream *stream;
    size_t num_frames;
    const braid_param_rows *rows;
    size_t num_rows;
};

static braid_status check_rows(const braid_exec *exec, const struct many *many)
{
    static const char function[] = "braid_exec_launch_many";
    const struct exec_params *params = &exec->params;
    if (many->num_rows && !many->rows)
        return braid_error_null(function, "rows");
    for (size_t i = 0; i < many->num_rows; i++) {
        const braid_param_rows *rows = &many->rows[i];
        braid_status status = braid_exec_check_param(function, exec, rows->parameter);
        if (status)
            return status;
        uint32_t index = rows->parameter.index;
        const char *name = braid_names_at(&params->names, params->name[index]);
        if (rows->num != many->num_frames)
            return braid_error_invalid("%s: parameter %s has rows for %zu frames, not %zu",
                                       function, braid_node_text(index, name).text, rows->num,
                                       many->num_frames);
        if (!rows->values && rows->num)
            return braid_error_null(function, "values");
    }
    return BRAID_OK;
}

static braid_status put_rows(braid_exec *exec, const struct many *many, size_t frame)
{
    for (size_t i = 0; i < many->num_rows; i++) {
        uint32_t index = many->rows[i].parameter.index;
        const unsigned char *values = many->rows[i].values;
        braid_status status =
            braid_exec_put_param(exec, index, values + frame * exec->params.bytes[index]);
        if (status)
            return status;
    }
    return BRAID_OK;
}

// As many frames as one launch of the player's may have, but no more than *num_frames.
static void limit(const braid_exec *exec, const struct many *many, uint32_t *num_frames)
{
    uint32_t most = 1;
    bool differ = exec->frames.version_period > 1 || braid_exec_parts_need_each_frame(exec->parts);
    if (exec->player->most_frames && exec->frames.num == 1 && !differ)
        most = exec->player->most_frames(exec->frames.slots[0].playing, many->num_rows > 0);
    *num_frames = *num_frames < most ? *num_frames : most;
}

// Some frames by one launch of the player's: *num_frames or fewer.
static braid_status launch_some(braid_exec *exec, const struct many *many, size_t first,
                                uint32_t *num_frames)
{
    limit(exec, many, num_frames);
    // Before its row is put in place: while this waits, others may set the parameter.
    braid_status status = braid_exec_make_room(exec);
    if (!status && *num_frames > 1)
        status = exec->player->update(exec->frames.slots[0].playing, NULL, 0, 0);
    for (uint32_t i = 0; i < *num_frames && many->num_rows && !status; i++) {
        status = put_rows(exec, many, first + i);
        if (!status && *num_frames > 1)
            status = braid_exec_update(exec, &exec->frames.slots[0], exec->frames.num_launched, i);
        if (i == 0)
            limit(exec, many, num_frames); // a node's change may leave room for fewer
        if (!status && *num_frames > 1)
            braid_exec_note_disabled(exec, exec->frames.num_launched + i, 1);
    }
    if (status)
        return braid_exec_explain_launch(exec, status);
    uint64_t number = exec->frames.num_launched;
    status = braid_exec_launch_frames(exec, many->stream, *num_frames);
    if (!many->num_rows)
        braid_exec_note_disabled(exec, number, *num_frames);
    return braid_exec_explain_launch(exec, status);
}

static braid_status launch_all(braid_exec *exec, const struct many *many)
{
    size_t num_frames = many->num_frames;
    for (size_t done = 0; done < num_frames;) {
        size_t left = num_frames - done;
        uint32_t num = left < UINT32_MAX ? (uint32_t)left : UINT32_MAX;
        braid_status status = launch_some(exec, many, done, &num);
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
static braid_status launch_many(braid_exec *exec, const struct many *many)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = launch_all(exec, many);
    braid_error_end_attempt(&attempt, status);
    return status;
}

static braid_status launch(braid_exec *exec, const struct many *many)
{
    braid_status status = braid_exec_check_launch("braid_exec_launch_many", exec, many->stream);
    if (!status)
        status = check_rows(exec, many);
    if (status || many->num_frames == 0)
        return status;
    braid_exec_begin_launch(exec);
    status = launch_many(exec, many);
    braid_exec_await_unrecorded(exec, many->stream);
    braid_exec_end_launch(exec);
    return status;
}

braid_status braid_exec_launch_many(braid_exec *exec, braid_stream *stream, size_t num_frames,
                                    const braid_param_rows *rows, size_t num_rows)
{
    const struct many many = { stream, num_frames, rows, num_rows };
    braid_status status = braid_exec_enter("braid_exec_launch_many", exec);
    if (status)
        return status;
    status = launch(exec, &many);
    device_leave(exec->device);
    return status;
}
