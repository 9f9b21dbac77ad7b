// SPDX-License-Identifier: Apache-2.0
// A kernel on a second device that reads a replica of a word of the first.
#include "gpu/replica.h"

#include "standin/standin_control.h"
#include "support/check.h"

void replica_need_second(void)
{
    assert_true(standin_configure("BRAID_STANDIN_DEVICES", "2"));
}

void replica_open(struct replica *replica, braid_device *first)
{
    void *memory;
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda", .ordinal = 1 },
                               &replica->second));
    check_ok(braid_memory_allocate(replica->second, BRAID_MEMORY_DEVICE, 4, &memory));
    replica->there = memory;
    braid_device *const both[] = { first, replica->second };
    check_ok(braid_device_open_group(both, 2, &replica->group));
}

void replica_add_reader(struct replica *replica, braid_graph *graph, uint32_t *word)
{
    braid_resource out;
    uint32_t one = 1;
    check_ok(braid_graph_add_buffer(graph, "weights", word, 4, &replica->weights));
    check_ok(braid_graph_set_home(graph, replica->weights, 1));
    check_ok(braid_graph_add_buffer(graph, "out", replica->there, 4, &out));
    check_ok(braid_graph_set_home(graph, out, 2));
    const braid_access accesses[] = { { out, BRAID_WRITE }, { replica->weights, BRAID_READ } };
    const braid_arg args[] = { braid_resource_address(&out),
                               braid_resource_address(&replica->weights),
                               braid_resource_address(&replica->weights), BRAID_ARG(one) };
    const braid_kernel_node launch = {
        .node = { .accesses = accesses, .num_accesses = 2, .place = 2 },
        .kernel = &sum_kernel,
        .args = args,
        .num_args = 4,
    };
    check_ok(braid_graph_add_kernel(graph, &launch, NULL));
}

void replica_free(struct replica *replica)
{
    braid_device_close(replica->group);
    replica->group = NULL;
    if (replica->second)
        braid_memory_free(replica->second, replica->there);
    replica->there = NULL;
}

void replica_finish(struct replica *replica)
{
    replica_free(replica);
    check_ok(braid_device_close(replica->second));
    replica->second = NULL;
    assert_true(standin_configure("BRAID_STANDIN_DEVICES", NULL));
}
