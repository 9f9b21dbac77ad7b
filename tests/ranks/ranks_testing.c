// SPDX-License-Identifier: Apache-2.0
// What tests of several ranks share.
#include "ranks_testing.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/counted_memory.h"

braid_ranks *ranks;
braid_communicator *world, *other;
uint32_t rank;

int open_ranks(void)
{
    if (braid_ranks_open(NULL, &ranks)) {
        fprintf(stderr, "%s\n", braid_error_get_message());
        return EXIT_FAILURE;
    }
    braid_ranks_info info;
    braid_ranks_get_info(ranks, &info);
    rank = info.rank;
    if (rank != 0 && !freopen("/dev/null", "w", stdout))
        return EXIT_FAILURE;
    bool opened = info.num_ranks == NUM_RANKS &&
                  !braid_communicator_create(ranks, "world", 0, &world) &&
                  !braid_communicator_create(ranks, "other", 0, &other);
    return opened ? 0 : EXIT_FAILURE;
}

int close_ranks(int num_failed)
{
    if (braid_ranks_close(ranks))
        num_failed++;
    return num_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int begin_job(void **state)
{
    struct job *job = calloc(1, sizeof(*job));
    const braid_device_options options = { .backend = "cpu",
                                           .num_workers = 2,
                                           .allocator = &counted_memory };
    check_ok(braid_device_open(&options, &job->device));
    check_ok(braid_graph_create(&job->graph));
    check_ok(braid_graph_add_communicator(job->graph, world, &job->world));
    *state = job;
    return 0;
}

int end_job(void **state)
{
    struct job *job = *state;
    braid_exec_destroy(job->exec);
    braid_graph_destroy(job->graph);
    check_ok(braid_device_close(job->device));
    assert_int_equal(atomic_load(&num_counted), 0);
    free(job);
    return 0;
}

braid_resource add_buffer(struct job *job, const char *name, const double *memory, uint64_t num)
{
    braid_resource buffer;
    check_ok(braid_graph_add_buffer(job->graph, name, memory, num * sizeof(*memory), &buffer));
    return buffer;
}

braid_node add(struct job *job, const char *name, braid_rank_operation operation,
               braid_communication given, const braid_access *accesses, size_t num)
{
    braid_node node;
    given.node.name = name;
    given.node.accesses = accesses;
    given.node.num_accesses = num;
    given.operation = operation;
    given.communicator = given.communicator.graph ? given.communicator : job->world;
    given.element = BRAID_ELEMENT_DOUBLE;
    check_ok(braid_graph_add_communication(job->graph, &given, &node));
    return node;
}
