// SPDX-License-Identifier: Apache-2.0
// What a life does with frames: two that overlap, which wait for each other, and one that is timed.
#include "gpu/life_overlap.h"

#include <braid/capture.h>
#include <braid/timings.h>

#include "gpu/frame.h"
#include "support/left_out.h"

// Reads what the frame before has left.
static braid_status add_versions(braid_graph *graph)
{
    braid_resource state, before;
    braid_status status = braid_graph_add_versioned_buffer(graph, "state", NULL, 2, 4, &state);
    if (!status)
        status = braid_graph_add_earlier_version(graph, state, 1, &before);
    if (status)
        return status;
    const braid_access accesses[] = { { before, BRAID_READ }, { state, BRAID_WRITE } };
    const braid_copy copy = {
        .node = { .cost_ns = 50000, .accesses = accesses, .num_accesses = 2 },
        .to_resource = state,
        .from_resource = before,
        .bytes = 4,
    };
    return braid_graph_add_copy(graph, &copy, NULL);
}

static void note_end(uint64_t frame, void *user)
{
    (void)frame;
    (void)user;
}

// Two nodes on two lanes, and one behind both. The first of a frame waits for the last of the one
// before, which reads what it writes.
static braid_status fill_graph(braid_graph *graph, uint32_t *words, bool has_versions)
{
    braid_resource left, right;
    braid_status status = braid_graph_add_buffer(graph, "left", words, 4, &left);
    if (!status)
        status = braid_graph_add_buffer(graph, "right", words + 1, 4, &right);
    for (uint32_t i = 0; i < 2 && !status; i++) {
        const braid_access access = { i ? right : left, BRAID_WRITE };
        const braid_fill fill = {
            .node = { .cost_ns = 50000, .accesses = &access, .num_accesses = 1 },
            .to = &words[i],
            .value = i,
            .value_bytes = 4,
            .num_values = 1,
        };
        status = braid_graph_add_fill(graph, &fill, NULL);
    }
    if (!status && has_versions)
        status = add_versions(graph);
    const braid_access accesses[] = { { left, BRAID_READ }, { right, BRAID_READ_WRITE } };
    const braid_copy copy = {
        .node = { .cost_ns = 50000, .accesses = accesses, .num_accesses = 2 },
        .to = &words[1],
        .from = &words[0],
        .bytes = 4,
    };
    return status ? status : braid_graph_add_copy(graph, &copy, NULL);
}

// Where times are kept, a kernel too, which may write its own.
static braid_status add_kernel(braid_graph *graph, uint32_t *words)
{
    uint32_t one = 1;
    const braid_kernel_node launch = {
        .kernel = &sum_kernel,
        BRAID_ARGS(BRAID_ARG(words), BRAID_ARG(words), BRAID_ARG(words), BRAID_ARG(one)),
    };
    return braid_graph_add_kernel(graph, &launch, NULL);
}

static braid_status create(braid_device *device, uint32_t *words, const braid_exec_options *options,
                           braid_exec **out_exec)
{
    braid_graph *graph = NULL;
    braid_status status = braid_graph_create(&graph);
    if (!status)
        status = fill_graph(graph, words, options->frames_in_flight > 1);
    if (!status && options->frames_kept)
        status = add_kernel(graph, words + 2);
    if (!status)
        status = braid_exec_create(device, graph, options, out_exec);
    braid_graph_destroy(graph);
    return status;
}

braid_status life_create_overlapping(braid_device *device, uint32_t *words, braid_exec_mode mode,
                                     braid_exec **out_exec)
{
    const braid_exec_options options = {
        .mode = mode,
        .max_lanes = 2,
        .fixed_lanes = true,
        .frames_in_flight = 2,
        .on_frame_end = note_end,
        .capture = true,
    };
    return create(device, words, &options, out_exec);
}

braid_status life_create_timed(braid_device *device, uint32_t *words, braid_exec_mode mode,
                               braid_exec **out_exec)
{
    const braid_exec_options options = {
        .mode = mode,
        .max_lanes = 2,
        .fixed_lanes = true,
        .frames_kept = 2,
        .on_frame_end = note_end, // where frames do not overlap another wait is before it
    };
    return create(device, words, &options, out_exec);
}

braid_status life_run_overlapping(braid_exec *exec, braid_stream *stream)
{
    braid_status status = BRAID_OK;
    for (int i = 0; i < 3 && !status; i++)
        status = braid_exec_launch(exec, i < 2 ? stream : NULL);
    if (!status)
        status = braid_exec_wait(exec);
    return status ? status : unless_left_out(braid_exec_save_capture(exec, "/dev/null", NULL));
}

braid_status life_run_timed(braid_exec *exec, braid_stream *stream)
{
    braid_timings timings;
    braid_status status = braid_exec_launch(exec, stream);
    return status ? status : unless_left_out(braid_exec_get_timings(exec, &timings));
}
