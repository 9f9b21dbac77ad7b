// SPDX-License-Identifier: Apache-2.0
// What tests of ranks on devices share.
#include "devices_testing.h"

#include <stdlib.h>

braid_communicator *world, *other, *hosts;
uint32_t rank, num;
braid_device *device;
braid_exec_mode mode;

int begin_job(void **state)
{
    struct job *job = calloc(1, sizeof(*job));
    check_ok(braid_graph_create(&job->graph));
    check_ok(braid_graph_add_communicator(job->graph, world, &job->world));
    check_ok(braid_graph_add_communicator(job->graph, other, &job->other));
    *state = job;
    return 0;
}

int end_job(void **state)
{
    struct job *job = *state;
    braid_exec_destroy(job->exec);
    braid_graph_destroy(job->graph);
    for (size_t i = 0; i < job->num_memories; i++) {
        braid_memory_free(device, job->memories[i].device);
        braid_memory_free(device, job->memories[i].host);
    }
    free(job);
    return 0;
}

struct memory add_memory(struct job *job, const char *name, uint64_t count, int64_t first,
                         braid_resource *out_buffer)
{
    struct memory *memory = &job->memories[job->num_memories++];
    uint64_t bytes = count * sizeof(int64_t);
    void *made;
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, bytes, &made));
    memory->device = made;
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_HOST, bytes, &made));
    memory->host = made;
    for (uint64_t i = 0; i < count; i++)
        memory->host[i] = first + (int64_t)i;
    check_ok(braid_graph_add_buffer(job->graph, name, memory->device, bytes, out_buffer));
    const braid_access access = { *out_buffer, BRAID_WRITE };
    check_ok(braid_graph_add_copy(
        job->graph,
        &(braid_copy){ .node = { .name = name, .accesses = &access, .num_accesses = 1 },
                       .to = memory->device,
                       .from = memory->host,
                       .bytes = bytes },
        NULL));
    return *memory;
}

void add_return(struct job *job, struct memory memory, uint64_t count, braid_resource buffer)
{
    const braid_access access = { buffer, BRAID_READ };
    check_ok(braid_graph_add_copy(
        job->graph,
        &(braid_copy){ .node = { .name = "back", .accesses = &access, .num_accesses = 1 },
                       .to = memory.host,
                       .from = memory.device,
                       .bytes = count * sizeof(int64_t) },
        NULL));
}

braid_node add(struct job *job, const char *name, braid_rank_operation operation,
               braid_communication given, braid_resource from, braid_resource to)
{
    braid_node node;
    braid_access accesses[] = { { from, BRAID_READ }, { to, BRAID_WRITE } };
    bool both = from.graph && to.graph;
    given.node.name = name;
    given.node.accesses = from.graph ? accesses : accesses + 1;
    given.node.num_accesses = both ? 2 : 1;
    given.operation = operation;
    given.communicator = given.communicator.graph ? given.communicator : job->world;
    given.element = BRAID_ELEMENT_INT64;
    check_ok(braid_graph_add_communication(job->graph, &given, &node));
    return node;
}

void create(struct job *job)
{
    const braid_exec_options options = { .mode = mode };
    check_ok(braid_exec_create(device, job->graph, &options, &job->exec));
}

void run(struct job *job)
{
    check_ok(braid_exec_launch(job->exec, NULL));
    check_ok(braid_exec_wait(job->exec));
}

void add_sum(struct job *job, const char *name, int64_t *cells, braid_resource buffer,
             braid_resource communicator)
{
    add(job, name, BRAID_RANK_ALL_REDUCE,
        (braid_communication){
            .from = cells, .to = cells, .count = COUNT, .communicator = communicator },
        (braid_resource){ 0 }, buffer);
}

void meet(void)
{
    braid_device *cpu;
    braid_graph *graph;
    braid_resource resource;
    braid_exec *exec;
    int64_t value = 1;
    check_ok(
        braid_device_open(&(braid_device_options){ .backend = "cpu", .num_workers = 1 }, &cpu));
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_communicator(graph, hosts, &resource));
    check_ok(
        braid_graph_add_communication(graph,
                                      &(braid_communication){ .node.name = "meet",
                                                              .operation = BRAID_RANK_ALL_REDUCE,
                                                              .communicator = resource,
                                                              .from = &value,
                                                              .to = &value,
                                                              .count = 1,
                                                              .element = BRAID_ELEMENT_INT64 },
                                      NULL));
    check_ok(braid_exec_create(cpu, graph, NULL, &exec));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(value, num);
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    check_ok(braid_device_close(cpu));
}
