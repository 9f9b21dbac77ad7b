// SPDX-License-Identifier: Apache-2.0
// What a life does with nodes that change: one of each kind, which a parameter changes or disables.
#include "gpu/life_changes.h"

#include <string.h>

#include "gpu/frame.h"
#include "support/check.h"

struct values {
    uint32_t value, addend;
    const void *from;
    void *user;
    uint32_t enabled;
};

static void count_call(void *user)
{
    ++*(uint32_t *)user;
}

static braid_status fill_word(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    const struct life_changes *changes = user;
    return braid_stream_fill(stream, &changes->words[3], 1, 4, 1);
}

// What the last word gets is queued by the program itself, where the mode has a stream for that.
static braid_status add_last(struct life_changes *changes, braid_graph *graph)
{
    const braid_queue_call queued = { .call = fill_word, .user = changes };
    const braid_fill fill = {
        .to = changes->words + 3, .value = 1, .value_bytes = 4, .num_values = 1
    };
    if (changes->has_no_queue_calls)
        return braid_graph_add_fill(graph, &fill, NULL);
    return braid_graph_add_queue_call(graph, &queued, &changes->queued);
}

// A chain: a fill of word 0, a kernel that makes word 1 of it, one that may start early behind that
// and makes word 4, a copy of word 0 or 1 into word 2, and calls.
static braid_status fill_graph(struct life_changes *changes, braid_graph *graph, braid_node *nodes)
{
    uint32_t *words = changes->words, *to = words + 1, addend = 0;
    braid_status status = braid_graph_add_fill(
        graph, &(braid_fill){ .to = words, .value = 5, .value_bytes = 4, .num_values = 1 },
        &nodes[0]);
    const braid_kernel_node launch = {
        .node = { .after = &nodes[0], .num_after = 1 },
        .kernel = &sum_kernel,
        BRAID_ARGS(BRAID_ARG(to), BRAID_ARG(words), BRAID_ARG(words), BRAID_ARG(addend)),
    };
    if (!status)
        status = braid_graph_add_kernel(graph, &launch, &nodes[1]);
    uint32_t *twice = words + 4;
    const braid_kernel_node early = {
        .node = { .after = &nodes[1], .num_after = 1 },
        .kernel = &sum_kernel,
        BRAID_ARGS(BRAID_ARG(twice), BRAID_ARG(to), BRAID_ARG(to), BRAID_ARG(addend)),
    };
    braid_node behind = { 0 };
    if (!status)
        status = braid_graph_add_kernel(graph, &early, &behind);
    const braid_copy copy = {
        .node = { .after = &behind, .num_after = 1 }, .to = words + 2, .from = words, .bytes = 4
    };
    if (!status)
        status = braid_graph_add_copy(graph, &copy, &nodes[2]);
    const braid_host_call call = { .call = count_call, .user = &changes->num_calls };
    if (!status)
        status = braid_graph_add_host_call(graph, &call, &nodes[3]);
    const braid_host_call blocks = { .call = count_call,
                                     .user = &changes->num_blocking_calls[0],
                                     .blocking = true };
    if (!status)
        status = braid_graph_add_host_call(graph, &blocks, &changes->blocking);
    return status ? status : add_last(changes, graph);
}

static braid_status add_uses(struct life_changes *changes, braid_graph *graph,
                             const braid_node *nodes)
{
    const braid_parameter_use uses[] = {
        { .node = nodes[0],
          .offset = offsetof(struct values, value),
          .target = BRAID_TARGET_VALUE },
        { .node = nodes[1], .argument = 3, .offset = offsetof(struct values, addend), .bytes = 4 },
        { .node = nodes[2], .offset = offsetof(struct values, from), .target = BRAID_TARGET_FROM },
        { .node = nodes[3], .offset = offsetof(struct values, user), .target = BRAID_TARGET_USER },
    };
    braid_status status =
        braid_graph_add_parameter(graph, "all", sizeof(struct values), &changes->parameter);
    for (int i = 0; i < 4 && !status; i++)
        status = braid_graph_use_parameter(graph, changes->parameter, &uses[i]);
    for (int i = 1; i < 4 && !status; i++) // drivers' graphs do not disable fills
        status = braid_graph_use_parameter(
            graph, changes->parameter,
            &(braid_parameter_use){ .node = nodes[i],
                                    .offset = offsetof(struct values, enabled),
                                    .bytes = 4,
                                    .target = BRAID_TARGET_ENABLED });
    return status;
}

braid_status life_create_changes(struct life_changes *changes, braid_exec_mode mode)
{
    braid_graph *graph = NULL;
    braid_node nodes[4];
    braid_status status = braid_graph_create(&graph);
    if (!status)
        status = fill_graph(changes, graph, nodes);
    if (!status)
        status = add_uses(changes, graph, nodes);
    const braid_exec_options options = { .mode = mode, .frames_in_flight = 2 };
    if (!status)
        status = braid_exec_create(changes->device, graph, &options, &changes->exec);
    braid_graph_destroy(graph);
    return status;
}

// A frame in words that were 0, and what it made.
static braid_status run(struct life_changes *changes, braid_stream *stream, uint32_t *out_words,
                        uint32_t *out_calls)
{
    uint32_t calls = changes->num_calls, words[5] = { 0 };
    braid_status status = braid_stream_fill(stream, changes->words, 0, 4, 5);
    if (!status)
        status = braid_exec_launch(changes->exec, stream);
    if (!status)
        status = braid_stream_copy(stream, words, changes->words, sizeof(words));
    if (!status)
        status = braid_stream_wait(stream);
    if (status) {
        braid_status waited = braid_exec_wait(changes->exec);
        return waited ? waited : status;
    }
    memcpy(out_words, words, sizeof(words));
    *out_calls = changes->num_calls - calls;
    return BRAID_OK;
}

static void check_words(const struct values *values, const uint32_t *from, const uint32_t *seen,
                        uint32_t calls)
{
    uint32_t sum = 2 * values->value + values->addend;
    uint32_t copied = values->from == from ? values->value : sum;
    assert_int_equal(seen[0], values->value);
    assert_int_equal(seen[1], values->enabled ? sum : 0);
    assert_int_equal(seen[2], values->enabled ? copied : 0);
    assert_int_equal(calls, values->enabled ? 1 : 0);
    assert_int_equal(seen[3], 1);
    assert_int_equal(seen[4], 2 * seen[1]);
}

static braid_status change_and_run(struct life_changes *changes, braid_stream *stream,
                                   struct values next)
{
    uint32_t seen[5], calls;
    check_ok(braid_exec_set_parameter(changes->exec, changes->parameter, &next));
    braid_status status = run(changes, stream, seen, &calls);
    if (!status)
        check_words(&next, changes->words, seen, calls);
    return status;
}

// Calls get other data, which the next launch takes.
static braid_status change_calls(struct life_changes *changes, braid_stream *stream)
{
    uint32_t seen[5], calls;
    check_ok(braid_exec_set(changes->exec, changes->blocking, BRAID_TARGET_USER, 0,
                            &(void *){ &changes->num_blocking_calls[1] }));
    if (!changes->has_no_queue_calls)
        check_ok(braid_exec_set(changes->exec, changes->queued, BRAID_TARGET_USER, 0,
                                &(void *){ changes }));
    return run(changes, stream, seen, &calls);
}

braid_status life_run_changes(struct life_changes *changes, braid_stream *stream)
{
    uint32_t *words = changes->words;
    const struct values first = { 5, 0, words, &changes->num_calls, 1 };
    struct values next = { 10, 1, words + 1, &changes->num_calls, 1 };
    check_ok(braid_exec_set_parameter(changes->exec, changes->parameter, &first));
    braid_status status = change_and_run(changes, stream, next);
    next.enabled = 0;
    if (!status)
        status = change_and_run(changes, stream, next);
    return status ? status : change_calls(changes, stream);
}
