// SPDX-License-Identifier: Apache-2.0
// The calls for buffers, pools, runners, managed memory, signals of others and graphs of the
// driver.
#include <sys/eventfd.h>
#include <unistd.h>

#include "gpu/beside_captures.h"
#include "gpu/frame.h"

static braid_status describe_device(struct world *world)
{
    braid_found_device found;
    return braid_backend_get_device(world->backend, 0, &found);
}

static braid_status make_buffer(struct world *world)
{
    static const uint32_t content[16] = { 1 };
    braid_graph *graph = NULL;
    void *memory = NULL;
    braid_resource buffer;
    braid_status status = braid_graph_create(&graph);
    if (!status)
        status = braid_graph_add_device_buffer(graph, world->device, "content", content,
                                               sizeof(content), &memory, &buffer);
    braid_memory_free(world->device, memory);
    braid_graph_destroy(graph);
    return status;
}

static braid_status managed_memory(struct world *world)
{
    void *memory = NULL;
    braid_status status = braid_memory_allocate(world->device, BRAID_MEMORY_MANAGED, 4096, &memory);
    braid_prefetch prefetch = { .memory = memory, .bytes = 4096 };
    if (!status)
        status = braid_queue_prefetch(world->device, world->stream, &prefetch);
    if (!status)
        status = braid_stream_wait(world->stream);
    braid_memory_free(world->device, memory);
    return status;
}

// A graph with transient memory and versions, which execs of a pool share.
static braid_status add_nodes(struct world *world, braid_graph *graph)
{
    braid_resource words, transient, versions;
    braid_status status = braid_graph_add_buffer(graph, "words", world->words, 64, &words);
    if (!status)
        status = braid_graph_add_transient(graph, "transient", 64, 0, &transient);
    if (!status)
        status = braid_graph_add_versioned_buffer(graph, "versions", NULL, 2, 64, &versions);
    if (!status)
        status = braid_graph_add_copy(
            graph,
            &(braid_copy){ .to_resource = transient,
                           .from = world->words,
                           .bytes = 64,
                           BRAID_ACCESSES({ words, BRAID_READ }, { transient, BRAID_WRITE }) },
            NULL);
    return status ? status
                  : braid_graph_add_copy(graph,
                                         &(braid_copy){ .to_resource = versions,
                                                        .from_resource = transient,
                                                        .bytes = 64,
                                                        BRAID_ACCESSES({ transient, BRAID_READ },
                                                                       { versions, BRAID_WRITE }) },
                                         NULL);
}

static braid_status share_a_pool(struct world *world)
{
    braid_graph *graph = NULL;
    braid_memory_pool *pool = NULL;
    braid_exec *execs[2] = { NULL };
    braid_status status = braid_graph_create(&graph);
    if (!status)
        status = add_nodes(world, graph);
    if (!status)
        status = braid_memory_pool_create(world->device, NULL, &pool);
    for (int i = 0; i < 2 && !status; i++) {
        status = braid_exec_create(world->device, graph,
                                   &(braid_exec_options){ .mode = world->mode, .pool = pool },
                                   &execs[i]);
        if (!status)
            status = braid_exec_launch(execs[i], world->stream);
    }
    if (!status)
        status = braid_exec_wait(execs[1]);
    braid_exec_destroy(execs[0]);
    braid_exec_destroy(execs[1]);
    braid_memory_pool_destroy(pool);
    braid_graph_destroy(graph);
    return status;
}

static braid_status make_sum(struct world *world, braid_graph **out_graph)
{
    braid_resource words;
    braid_status status = braid_graph_create(out_graph);
    if (!status)
        status = braid_graph_add_buffer(*out_graph, "words", world->words, 64, &words);
    return status ? status
                  : braid_graph_add_kernel(
                        *out_graph,
                        &(braid_kernel_node){
                            .kernel = &sum_kernel,
                            BRAID_ACCESSES({ words, BRAID_READ_WRITE }),
                            BRAID_ARGS(BRAID_ARG(world->words), BRAID_ARG(world->words),
                                       BRAID_ARG(world->words), BRAID_ARG(((uint32_t){ 1 }))) },
                        NULL);
}

static braid_status run_a_runner(struct world *world)
{
    braid_graph *graph = NULL;
    braid_runner *runner = NULL;
    braid_status status = braid_event_wait(world->end);
    if (!status)
        status = make_sum(world, &graph);
    if (!status)
        status = braid_runner_create(world->device, graph,
                                     &(braid_runner_options){ .max_lanes = 1 }, &runner);
    for (int i = 0; i < 4 && !status; i++)
        status = braid_runner_launch(runner, world->stream);
    if (!status && braid_runner_query(runner) != BRAID_NOT_READY)
        status = BRAID_OK;
    if (!status)
        status = braid_runner_wait(runner);
    braid_runner_destroy(runner);
    braid_graph_destroy(graph);
    return status;
}

static braid_status wait_for_a_word(struct world *world)
{
    braid_graph *graph = NULL;
    braid_external *word = NULL;
    braid_exec *exec = NULL;
    braid_node node;
    void *memory = NULL;
    braid_status status = braid_event_wait(world->end);
    if (!status)
        status = braid_memory_allocate(world->device, BRAID_MEMORY_DEVICE, 4, &memory);
    if (!status)
        status = braid_external_create(
            world->device, &(braid_external_options){ .kind = BRAID_EXTERNAL_WORD, .word = memory },
            &word);
    if (!status)
        status = braid_graph_create(&graph);
    if (!status)
        status = braid_graph_add_external(
            graph, &(braid_external_node){ .external = word, .signals = true, .value = 1 }, &node);
    if (!status)
        status = braid_exec_create(world->device, graph,
                                   &(braid_exec_options){ .mode = world->mode }, &exec);
    if (!status)
        status = braid_exec_set_external(exec, node, 2);
    if (!status)
        status = braid_exec_launch(exec, world->stream);
    if (!status)
        status = braid_exec_wait(exec);
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_external_destroy(word);
    braid_memory_free(world->device, memory);
    return status;
}

// Threads of the host end the wait and make the signal.
static braid_status wait_for_an_eventfd(struct world *world)
{
    braid_graph *graph = NULL;
    braid_external *external = NULL;
    braid_exec *exec = NULL;
    uint64_t count = 1;
    int fd = eventfd(0, 0);
    braid_status status = braid_external_create(
        world->device, &(braid_external_options){ .kind = BRAID_EXTERNAL_EVENTFD, .fd = fd },
        &external);
    if (!status)
        status = braid_graph_create(&graph);
    if (!status)
        status = braid_graph_add_external(
            graph, &(braid_external_node){ .external = external, .signals = true }, NULL);
    if (!status)
        status = braid_exec_create(world->device, graph,
                                   &(braid_exec_options){ .mode = world->mode }, &exec);
    if (!status)
        status = braid_exec_launch(exec, world->stream);
    if (!status && read(fd, &count, sizeof(count)) < 0)
        status = BRAID_IO_ERROR;
    if (!status)
        status = braid_exec_wait(exec);
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_external_destroy(external);
    close(fd);
    return status;
}

static braid_status make_driver_graph(struct world *world)
{
    braid_graph *graph = NULL;
    braid_exec *exec = NULL;
    void *made = NULL;
    braid_status status = make_sum(world, &graph);
    if (!status)
        status = braid_exec_create(world->device, graph,
                                   &(braid_exec_options){ .mode = world->mode }, &exec);
    if (!status)
        status = braid_exec_make_cuda_graph(exec, &made);
    if (!status && driver.graph_destroy(made))
        status = BRAID_DEVICE_ERROR;
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    return status;
}

const struct call calls_of_others[] = {
    { "a device's description", describe_device, DONE },
    { "a buffer with content", make_buffer, DONE },
    { "managed memory", managed_memory, DONE },
    { "execs of a pool", share_a_pool, DONE },
    { "a runner", run_a_runner, DONE },
    { "a word of others", wait_for_a_word, DONE },
    { "an eventfd", wait_for_an_eventfd, DONE },
    { "a graph of the driver", make_driver_graph, CUDA_ONLY },
};

const size_t num_calls_of_others = sizeof(calls_of_others) / sizeof(calls_of_others[0]);
