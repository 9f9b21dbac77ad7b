// SPDX-License-Identifier: Apache-2.0
// Plain C on one thread, and Braid, for the bench of loaded machines.
#include <stdio.h>
#include <stdlib.h>

#include <braid/braid.h>

#include "loaded.h"
#include "replay.h"

// ---- plain C ----

static void *create_plain(const struct loaded_work *work)
{
    return (void *)(uintptr_t)work;
}

static void play_plain(void *state)
{
    const struct loaded_work *work = state;
    for (uint32_t k = 0; k < work->times; k++) {
        for (uint32_t i = 0; i < work->num_steps; i++)
            work->steps[i].run(work->steps[i].user, 0, work->steps[i].num_blocks);
    }
}

const struct loaded_way loaded_plain = { "plain C", NULL, create_plain, play_plain };

// ---- Braid ----

static void check(braid_status status)
{
    if (!status)
        return;
    fprintf(stderr, "%s\n", braid_error_get_message());
    exit(EXIT_FAILURE);
}

static void run_blocks(const braid_blocks *blocks, void *const *args)
{
    const struct loaded_step *step = *(const struct loaded_step *const *)args[0];
    step->run(step->user, (uint32_t)blocks->begin, (uint32_t)blocks->end);
}

static void add_step(braid_graph *graph, const struct loaded_step *step, braid_node *nodes,
                     uint32_t index, const struct loaded_step *steps)
{
    static const braid_kernel kernel = { .name = "step", .cpu = run_blocks };
    braid_node before[LOADED_MOST_BEFORE];
    uint32_t num = 0;
    for (uint32_t i = 0; i < step->num_before; i++) {
        if (steps[step->before[i]].main >= 0) // a prelude is before its main node by itself
            before[num++] = nodes[step->before[i]];
    }
    braid_kernel_node node = {
        .node = { .after = before, .num_after = num, .cost_ns = step->cost_ns },
        .kernel = &kernel,
        .grid = { step->num_blocks, 1, 1 },
        BRAID_ARGS(BRAID_ARG(step)),
    };
    if (step->main > 0)
        node.node.epilogue_of = nodes[step->main_step];
    if (step->main < 0)
        node.node.prelude_of = nodes[step->main_step];
    check(braid_graph_add_kernel(graph, &node, &nodes[index]));
}

// A prelude is added behind its main node, which is the next step.
static void add_steps(braid_graph *graph, const struct loaded_work *work)
{
    static braid_node nodes[LOADED_MOST_STEPS];
    for (uint32_t i = 0; i < work->num_steps; i++) {
        if (work->steps[i].main >= 0)
            add_step(graph, &work->steps[i], nodes, i, work->steps);
        if (i && work->steps[i - 1].main < 0)
            add_step(graph, &work->steps[i - 1], nodes, i - 1, work->steps);
    }
}

static braid_exec *create_in(const struct loaded_work *work, braid_exec_mode mode)
{
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    check(braid_device_open(
        &(braid_device_options){ .backend = "cpu", .num_workers = LOADED_WORKERS }, &device));
    check(braid_graph_create(&graph));
    if (work->times > 1)
        check(braid_graph_begin_loop(graph, &(braid_loop){ .times = work->times }, NULL));
    add_steps(graph, work);
    if (work->times > 1)
        check(braid_graph_end(graph));
    check(braid_exec_create(device, graph, &(braid_exec_options){ .mode = mode }, &exec));
    braid_graph_destroy(graph);
    return exec;
}

static void *create_graph(const struct loaded_work *work)
{
    return create_in(work, BRAID_MODE_GRAPH);
}

static void *create_streams(const struct loaded_work *work)
{
    return create_in(work, BRAID_MODE_STREAMS);
}

static void play(void *exec)
{
    check(braid_exec_launch(exec, NULL));
    check(braid_exec_wait(exec));
}

const struct loaded_way loaded_braid = { "Braid", NULL, create_graph, play };
const struct loaded_way loaded_braid_streams = { "Braid streams", NULL, create_streams, play };
