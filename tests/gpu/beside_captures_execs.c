// SPDX-License-Identifier: Apache-2.0
// The calls of execs and graphs that change, ask, capture, audit or tune. Each makes a graph and an
// exec, and is ordered behind the world's work in flight, which uses the same words.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/beside_captures.h"
#include "gpu/frame.h"

struct own {
    braid_graph *graph;
    braid_exec *exec;
    braid_node node, loop;
    braid_parameter parameter;
    braid_resource words, scratch;
};

static const uint32_t one = 1;

static braid_status add_sum(struct own *own, const struct world *world)
{
    return braid_graph_add_kernel(
        own->graph,
        &(braid_kernel_node){ .kernel = &sum_kernel,
                              BRAID_ACCESSES({ own->words, BRAID_READ_WRITE }),
                              BRAID_ARGS(BRAID_ARG(world->words), BRAID_ARG(world->words),
                                         BRAID_ARG(world->words), BRAID_ARG(one)) },
        &own->node);
}

// A kernel that takes a parameter, and one that writes scratch.
static braid_status add_nodes(struct own *own, const struct world *world)
{
    braid_status status = add_sum(own, world);
    if (!status)
        status = braid_graph_add_parameter(own->graph, "c", sizeof(one), &own->parameter);
    if (!status)
        status = braid_graph_use_parameter(
            own->graph, own->parameter,
            &(braid_parameter_use){ .node = own->node, .argument = 3, .bytes = sizeof(one) });
    if (!status)
        status = braid_graph_add_scratch(own->graph, "scratch", 64, 0, &own->scratch);
    return status ? status
                  : braid_graph_add_kernel(
                        own->graph,
                        &(braid_kernel_node){ .kernel = &sum_kernel,
                                              BRAID_ACCESSES({ own->words, BRAID_READ }),
                                              BRAID_ARGS(braid_resource_address(&own->scratch),
                                                         BRAID_ARG(world->words),
                                                         BRAID_ARG(world->words), BRAID_ARG(one)) },
                        NULL);
}

static braid_status make_graph(struct own *own, const struct world *world)
{
    braid_status status = braid_graph_create(&own->graph);
    if (!status)
        status = braid_graph_add_buffer(own->graph, "words", world->words, 64, &own->words);
    return status;
}

static braid_status make_exec(struct own *own, const struct world *world)
{
    return braid_exec_create(world->device, own->graph,
                             &(braid_exec_options){ .mode = world->mode,
                                                    .black_box = strcmp(world->backend, "hip") != 0,
                                                    .capture = true },
                             &own->exec);
}

static braid_status make_own(struct own *own, const struct world *world)
{
    braid_status status = make_graph(own, world);
    if (!status)
        status = add_nodes(own, world);
    if (!status)
        status = make_exec(own, world);
    return status ? status : braid_exec_launch(own->exec, world->stream);
}

static braid_status finish(struct own *own, braid_status status)
{
    braid_exec_destroy(own->exec);
    braid_graph_destroy(own->graph);
    return status;
}

static braid_status set_values(struct world *world)
{
    struct own own = { 0 };
    const uint32_t two = 2;
    const braid_arg all[] = { BRAID_ARG(world->words), BRAID_ARG(world->words),
                              BRAID_ARG(world->words), BRAID_ARG(two) };
    braid_status status = make_own(&own, world);
    if (!status)
        status = braid_exec_set_args(own.exec, own.node, all, 4);
    if (!status)
        status = braid_exec_set_arg(own.exec, own.node, 3, BRAID_ARG(one));
    if (!status)
        status = braid_exec_set(own.exec, own.node, BRAID_TARGET_GRID, 0, &(braid_dim3){ 1 });
    if (!status)
        status = braid_exec_set_parameter(own.exec, own.parameter, &two);
    if (!status)
        status = braid_exec_launch(own.exec, world->stream);
    return finish(&own, status ? status : braid_exec_wait(own.exec));
}

static braid_status grow_scratch(struct world *world)
{
    struct own own = { 0 };
    braid_status status = make_own(&own, world);
    if (!status)
        status = braid_exec_set_scratch(own.exec, own.scratch, 4096);
    if (!status)
        status = braid_exec_launch(own.exec, world->stream);
    return finish(&own, status ? status : braid_exec_wait(own.exec));
}

static braid_status ask_running(struct world *world)
{
    struct own own = { 0 };
    braid_running_node nodes[4];
    size_t num;
    braid_status status = make_own(&own, world);
    if (!status)
        status = braid_exec_get_running(own.exec, nodes, 4, &num);
    return finish(&own, status);
}

static braid_status cancel(struct world *world)
{
    struct own own = { 0 };
    braid_status status = make_own(&own, world);
    if (!status)
        do {
            status = braid_exec_cancel(own.exec);
        } while (status == BRAID_NOT_READY);
    return finish(&own, status);
}

static braid_status ask_iterations(struct world *world)
{
    struct own own = { 0 };
    uint64_t num = 0;
    braid_status status = make_graph(&own, world);
    if (!status)
        status = braid_graph_begin_loop(own.graph, &(braid_loop){ .times = 2 }, &own.loop);
    if (!status)
        status = add_sum(&own, world);
    if (!status)
        status = braid_graph_end(own.graph);
    if (!status)
        status = make_exec(&own, world);
    if (!status)
        status = braid_exec_launch(own.exec, world->stream);
    if (!status)
        status = braid_exec_wait(own.exec);
    if (!status)
        status = braid_exec_get_iterations(own.exec, own.loop, &num);
    if (!status && num != 2)
        status = BRAID_INTERNAL;
    return finish(&own, status);
}

static braid_status write_frame(struct world *world)
{
    struct own own = { 0 };
    char path[] = "/tmp/braid_capture_XXXXXX";
    const int file = mkstemp(path);
    braid_status status = file < 0 ? BRAID_IO_ERROR : make_own(&own, world);
    if (!status)
        status = braid_exec_save_capture(own.exec, path, NULL);
    if (file >= 0) {
        close(file);
        unlink(path);
    }
    return finish(&own, status);
}

static braid_status audit(struct world *world)
{
    struct own own = { 0 };
    size_t num = 0;
    braid_status status = make_own(&own, world);
    if (!status)
        status = braid_exec_wait(own.exec);
    if (!status)
        status = braid_graph_audit(own.graph, world->device,
                                   &(braid_audit_options){ .orders = true }, &num);
    return finish(&own, status);
}

static braid_status tune(struct world *world)
{
    struct own own = { 0 };
    braid_exec_options way;
    braid_status status = make_own(&own, world);
    if (!status)
        status = braid_exec_wait(own.exec);
    if (!status)
        status = braid_graph_tune(own.graph, world->device,
                                  &(braid_tune_options){ .budget_ns = 1, .max_lanes = 1 }, &way);
    return finish(&own, status);
}

static braid_status play_on_a_group(struct world *world)
{
    braid_device *group = NULL;
    braid_exec *exec = NULL;
    braid_status status = braid_device_open_group(&world->device, 1, &group);
    if (!status)
        status = braid_exec_create(group, world->graph, NULL, &exec);
    if (!status)
        status = braid_exec_launch(exec, world->stream);
    if (!status)
        status = braid_exec_wait(exec);
    braid_exec_destroy(exec);
    const braid_status closed = group ? braid_device_close(group) : BRAID_OK;
    return status ? status : closed;
}

const struct call calls_of_execs[] = {
    { "setters", set_values, DONE },
    { "scratch that grows", grow_scratch, DONE },
    { "running nodes", ask_running, CUDA_ONLY },
    { "cancel", cancel, CUDA_ONLY },
    { "iterations", ask_iterations, DONE },
    { "a captured frame", write_frame, DONE },
    { "an audit", audit, DONE },
    { "tuning", tune, DONE },
    { "a group", play_on_a_group, DONE },
};

const size_t num_calls_of_execs = sizeof(calls_of_execs) / sizeof(calls_of_execs[0]);
