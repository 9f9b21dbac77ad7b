// SPDX-License-Identifier: Apache-2.0
// Writes the next frame of an exec to a file.
#include "capture/capture.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/whole_file.h"
#include "exec/exec_idle.h"
#include "graph/graph_ranks.h"
#include "graph/links.h"
#include "plan/schedule.h"

static const char function[] = "braid_exec_capture";

// The order of adding, with bundles as they run.
static void order_as_added(struct capture *capture, const struct graph_units *units)
{
    for (uint32_t i = 0; i < graph_num_nodes(capture->graph); i++)
        capture->order[i] = units->members[i];
}

// A body comes behind its node.
static void order_program(struct capture *capture, const struct program *program)
{
    for (size_t i = 0; i < program->num_ops; i++) {
        const braid_step *op = &program->ops[i];
        if (program_has_node(op))
            capture->order[capture->num_ordered++] = op->node;
        if (op->kind != BRAID_STEP_LOOP)
            continue;
        const struct program *body = &program->bodies[op->position];
        order_program(capture, body);
        if (body->has_else)
            order_program(capture, body + 1);
    }
}

// The plan's order, for edges that lead to earlier nodes. Nodes that are left out come last.
static void order_as_planned(struct capture *capture)
{
    const braid_schedule *schedule = capture->exec->schedule;
    order_program(capture, &schedule->program);
    for (uint32_t i = 0; i < graph_num_nodes(capture->graph); i++) {
        if (schedule_left_out(schedule, i))
            capture->order[capture->num_ordered++] = i;
    }
}

static bool leads_back(const struct capture *capture, const struct graph_units *units)
{
    const struct graph_edge *edges = graph_edges(capture->graph);
    for (size_t i = 0; i < capture->graph->edges.num; i++) {
        if (units->index_of[edges[i].from] > units->index_of[edges[i].to])
            return true;
    }
    return false;
}

static braid_status find_order(struct capture *capture)
{
    struct graph_units units;
    uint32_t num = graph_num_nodes(capture->graph);
    braid_status status = braid_graph_find_units(capture->graph, &units);
    if (status)
        return status;
    capture->order = braid_allocate_zeroed(num, sizeof(*capture->order));
    if (!capture->order)
        status = braid_error_no_memory("a capture");
    else if (leads_back(capture, &units))
        order_as_planned(capture);
    else
        order_as_added(capture, &units);
    braid_graph_units_finish(&units);
    return status;
}

static void put_exec(struct capture *capture)
{
    const braid_exec *exec = capture->exec;
    braid_capture_begin_section(&capture->file, "EXEC");
    braid_capture_put_text(&capture->file, exec->device->backend->ops->name);
    braid_capture_put_number(&capture->file, exec->schedule->info.num_lanes, 4);
    braid_capture_put_number(&capture->file, exec->frames.num_launched, 8);
    braid_capture_end_section(&capture->file);
}

static void put_order(struct capture *capture)
{
    const struct graph_edge *edges = graph_edges(capture->graph);
    braid_capture_begin_section(&capture->file, "EDGE");
    braid_capture_put_number(&capture->file, capture->graph->edges.num, 4);
    for (size_t i = 0; i < capture->graph->edges.num; i++) {
        braid_capture_put_number(&capture->file, edges[i].from, 4);
        braid_capture_put_number(&capture->file, edges[i].to, 4);
    }
    for (uint32_t i = 0; i < graph_num_nodes(capture->graph); i++)
        braid_capture_put_number(&capture->file, capture->order[i], 4);
    braid_capture_end_section(&capture->file);
}

static braid_status put_all(struct capture *capture, FILE *stream)
{
    braid_capture_begin(&capture->file, stream);
    put_exec(capture);
    braid_capture_put_resources(capture);
    braid_capture_put_kernels(capture);
    braid_status status = braid_capture_put_nodes(capture);
    put_order(capture);
    if (!status)
        status = braid_capture_put_contents(capture);
    braid_capture_end(&capture->file);
    return status;
}

static braid_status write_file(struct capture *capture, const char *path)
{
    struct whole_file file;
    if (!braid_whole_file_open(path, &file))
        return braid_error(BRAID_IO_ERROR, "%s cannot be written: %s", path, strerror(errno));
    braid_status status = put_all(capture, file.stream);
    if (!braid_whole_file_close(&file, !status) && !status)
        status = braid_error(BRAID_IO_ERROR, "%s could not be written: %s", path,
                             errno ? strerror(errno) : "a write failed");
    return status;
}

static braid_status check(const braid_exec *exec, const char *path, const uint64_t *out_bytes)
{
    braid_status status = braid_exec_check(function, exec);
    if (status)
        return status;
    if (!path && !out_bytes)
        return braid_error_null(function, "path");
    if (!exec->captured)
        return braid_error_invalid("%s: the exec was made without braid_exec_options.capture",
                                   function);
    if (exec->placed || exec->captured->ranks)
        return braid_error(BRAID_UNSUPPORTED, "%s: a file cannot hold %s", function,
                           exec->placed ? "a graph on several devices"
                                        : "a graph with communicators");
    return BRAID_OK;
}

braid_status braid_exec_capture(braid_exec *exec, const char *path, uint64_t *out_bytes)
{
    braid_status status = check(exec, path, out_bytes);
    if (status)
        return status;
    struct capture capture = { .exec = exec, .graph = exec->captured };
    braid_exec_begin_launch(exec);
    status = braid_exec_await_frames(exec);
    braid_exec_idle_update(exec);
    if (!status)
        status = braid_capture_check_resources(&capture);
    if (!status)
        status = braid_capture_find_kernels(&capture);
    if (!status)
        status = find_order(&capture);
    if (!status)
        status = put_all(&capture, NULL);
    uint64_t bytes = capture.file.bytes;
    if (!status && path)
        status = write_file(&capture, path);
    braid_exec_end_launch(exec);
    if (!status && out_bytes)
        *out_bytes = bytes;
    braid_array_finish(&capture.kernels);
    free(capture.kernel_of);
    free(capture.order);
    return status;
}
