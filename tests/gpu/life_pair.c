// SPDX-License-Identifier: Apache-2.0
// A life on two devices at once.
#include "gpu/life_pair.h"

#include <stdio.h>
#include <string.h>

#include "support/check.h"

struct pair {
    struct life *life;
    braid_device *devices[2];
    braid_device *group;
    uint32_t *words[2];
    braid_exec *exec;
    braid_stream *stream;
    braid_node first;
    uint32_t c, out[3];
    int num_host_calls;
};

static void do_or_redo(struct pair *pair, braid_status (*step)(struct pair *pair))
{
    if (!life_note(pair->life, step(pair)))
        check_ok(step(pair));
}

static braid_status open_first(struct pair *pair)
{
    const braid_device_options options = { .backend = "cuda" };
    return braid_device_open(&options, &pair->devices[0]);
}

static braid_status open_second(struct pair *pair)
{
    const braid_device_options options = { .backend = "cuda", .ordinal = 1 };
    return braid_device_open(&options, &pair->devices[1]);
}

static braid_status make_group(struct pair *pair)
{
    return braid_device_open_group(pair->devices, 2, &pair->group);
}

static braid_status allocate(struct pair *pair, int device)
{
    void *memory;
    braid_status status =
        braid_memory_allocate(pair->devices[device], BRAID_MEMORY_DEVICE, 16, &memory);
    if (!status)
        pair->words[device] = memory;
    return status;
}

static braid_status allocate_first(struct pair *pair)
{
    return allocate(pair, 0);
}

static braid_status allocate_second(struct pair *pair)
{
    return allocate(pair, 1);
}

static void count_host_call(void *user)
{
    ++*(int *)user;
}

static braid_status fill_as_a_graph(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    return braid_stream_fill(stream, user, 8, 4, 1);
}

// *to = *from + *from + c, on a place.
static void add_sum(braid_graph *graph, braid_resource to, braid_resource from, uint32_t c,
                    uint32_t place, braid_node *out_node)
{
    const braid_access accesses[] = { { to, BRAID_WRITE }, { from, BRAID_READ } };
    const braid_arg args[] = { braid_resource_address(&to), braid_resource_address(&from),
                               braid_resource_address(&from), BRAID_ARG(c) };
    const braid_kernel_node launch = {
        .node = { .accesses = accesses, .num_accesses = 2, .cost_ns = 5000, .place = place },
        .kernel = &sum_kernel,
        .args = args,
        .num_args = 4,
    };
    check_ok(braid_graph_add_kernel(graph, &launch, out_node));
}

// Word 0 of the first device is 3; word 0 of the second 3 + 3 + c; word 1 of the first twice that,
// and 1; word 1 of the second 8. Word 2 of the second is twice that of the first, and 1: of those
// the first is the program's.
static void fill_graph(struct pair *pair, braid_graph *graph)
{
    braid_resource buffers[6];
    for (uint32_t i = 0; i < 6; i++) {
        char name[8];
        snprintf(name, sizeof(name), "w%u", i);
        check_ok(braid_graph_add_buffer(graph, name, pair->words[i % 2] + i / 2, 4, &buffers[i]));
        check_ok(braid_graph_set_home(graph, buffers[i], i % 2 + 1));
    }
    const braid_fill fill = { BRAID_ACCESSES({ buffers[0], BRAID_WRITE }),
                              .node.place = 1,
                              .to_resource = buffers[0],
                              .value = 3,
                              .value_bytes = 4,
                              .num_values = 1 };
    check_ok(braid_graph_add_fill(graph, &fill, NULL));
    add_sum(graph, buffers[1], buffers[0], 0, 2, &pair->first);
    add_sum(graph, buffers[2], buffers[1], 1, 1, NULL);
    add_sum(graph, buffers[5], buffers[4], 1, 2, NULL);
    const braid_queue_call queued = { BRAID_ACCESSES({ buffers[3], BRAID_WRITE }), .node.place = 2,
                                      .call = fill_as_a_graph, .user_resource = buffers[3] };
    check_ok(braid_graph_add_queue_call(graph, &queued, NULL));
    const braid_host_call host_call = { BRAID_ACCESSES({ buffers[2], BRAID_READ }),
                                        .call = count_host_call, .user = &pair->num_host_calls };
    check_ok(braid_graph_add_host_call(graph, &host_call, NULL));
}

static braid_status make_exec(struct pair *pair)
{
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    fill_graph(pair, graph);
    const braid_exec_options options = { .mode = pair->life->mode,
                                         .frames_in_flight =
                                             pair->life->mode == BRAID_MODE_STREAMS ? 2 : 1 };
    braid_status status = braid_exec_create(pair->group, graph, &options, &pair->exec);
    braid_graph_destroy(graph);
    return status;
}

static braid_status make_stream(struct pair *pair)
{
    return braid_stream_create(pair->devices[0], NULL, &pair->stream);
}

static braid_status set_arg(struct pair *pair)
{
    return braid_exec_set_arg(pair->exec, pair->first, 3, BRAID_ARG(pair->c));
}

static braid_status set_weights(struct pair *pair)
{
    return braid_stream_fill(pair->stream, pair->words[0] + 2, pair->c, 4, 1);
}

static braid_status launch(struct pair *pair)
{
    return braid_exec_launch(pair->exec, pair->stream);
}

static braid_status wait(struct pair *pair)
{
    return braid_exec_wait(pair->exec);
}

static braid_status read_first(struct pair *pair)
{
    return braid_stream_copy(pair->stream, &pair->out[0], pair->words[0] + 1, 4);
}

static braid_status read_second(struct pair *pair)
{
    return braid_stream_copy(pair->stream, &pair->out[1], pair->words[1] + 1, 4);
}

static braid_status read_third(struct pair *pair)
{
    return braid_stream_copy(pair->stream, &pair->out[2], pair->words[1] + 2, 4);
}

static braid_status synchronize(struct pair *pair)
{
    return braid_stream_wait(pair->stream);
}

static void run(struct pair *pair)
{
    for (pair->c = 1; pair->c < 4; pair->c++) {
        do_or_redo(pair, set_arg);
        do_or_redo(pair, set_weights);
        do_or_redo(pair, launch);
    }
    do_or_redo(pair, wait);
    do_or_redo(pair, read_first);
    do_or_redo(pair, read_second);
    do_or_redo(pair, read_third);
    do_or_redo(pair, synchronize);
    assert_int_equal(pair->out[0], 2 * (3 + 3 + 3) + 1);
    assert_int_equal(pair->out[1], 8);
    assert_int_equal(pair->out[2], 2 * 3 + 1);
    life_note(pair->life, launch(pair)); // in flight while all is destroyed
}

void life_live_on_two(struct life *life)
{
    struct pair pair = { .life = life };
    life_begin(life);
    do_or_redo(&pair, open_first);
    do_or_redo(&pair, open_second);
    do_or_redo(&pair, make_group);
    do_or_redo(&pair, allocate_first);
    do_or_redo(&pair, allocate_second);
    do_or_redo(&pair, make_exec);
    do_or_redo(&pair, make_stream);
    run(&pair);
    life_before_destroying(life);
    braid_exec_destroy(pair.exec);
    braid_stream_destroy(pair.stream);
    braid_memory_free(pair.devices[0], pair.words[0]);
    braid_memory_free(pair.devices[1], pair.words[1]);
    braid_device_close(pair.group);
    (void)braid_device_close(pair.devices[0]);
    (void)braid_device_close(pair.devices[1]);
    life_end();
}
