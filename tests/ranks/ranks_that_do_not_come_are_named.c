// SPDX-License-Identifier: Apache-2.0
// Four ranks: one is killed and one never launches its frame. The waits of the others end with an
// error that names who is gone and what was pending, and all can be destroyed.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <braid/braid.h>

// Long enough for ranks that are there to come on a busy machine.
#define TIMEOUT_NS 8000000000

#define CHECK(call) check_at((call), #call)

static void check_at(braid_status status, const char *call)
{
    if (!status)
        return;
    fprintf(stderr, "%s: %s\n", call, braid_error_get_message());
    exit(EXIT_FAILURE);
}

static void expect(const char *text)
{
    if (strstr(braid_error_get_message(), text))
        return;
    fprintf(stderr, "'%s' is not in the message: %s\n", text, braid_error_get_message());
    exit(EXIT_FAILURE);
}

static void wait_for_the_dead(braid_ranks *ranks, braid_exec *exec)
{
    if (braid_exec_wait(exec) != BRAID_DEVICE_ERROR) {
        fprintf(stderr, "the wait for rank 3 did not fail\n");
        exit(EXIT_FAILURE);
    }
    expect("rank 3 does not answer");
    expect("all-reduce 'sum'");
    if (braid_exec_launch(exec, NULL) != BRAID_DEVICE_ERROR ||
        braid_ranks_check(ranks) != BRAID_DEVICE_ERROR)
        exit(EXIT_FAILURE);
}

// Its program does something else; it is told all the same.
static void hang(braid_ranks *ranks)
{
    while (!braid_ranks_check(ranks))
        usleep(20000);
    expect("gave up");
    expect("rank 3 does not answer");
}

int main(void)
{
    const braid_ranks_options options = { .timeout_ns = TIMEOUT_NS };
    const braid_device_options cpu = { .backend = "cpu", .num_workers = 2 };
    braid_ranks *ranks;
    braid_communicator *world;
    braid_device *device;
    braid_graph *graph;
    braid_resource resource;
    braid_exec *exec;
    double value = 1;
    CHECK(braid_ranks_open(&options, &ranks));
    CHECK(braid_communicator_create(ranks, "world", 0, &world));
    CHECK(braid_device_open(&cpu, &device));
    CHECK(braid_graph_create(&graph));
    CHECK(braid_graph_add_communicator(graph, world, &resource));
    CHECK(braid_graph_add_communication(graph,
                                        &(braid_communication){ .node.name = "sum",
                                                                .operation = BRAID_RANK_ALL_REDUCE,
                                                                .communicator = resource,
                                                                .from = &value,
                                                                .to = &value,
                                                                .count = 1,
                                                                .element = BRAID_ELEMENT_DOUBLE },
                                        NULL));
    CHECK(braid_exec_create(device, graph, NULL, &exec));
    braid_ranks_info info;
    braid_ranks_get_info(ranks, &info);
    uint32_t rank = info.rank;
    if (rank == 3)
        raise(SIGKILL);
    if (rank == 2) {
        hang(ranks);
    } else {
        CHECK(braid_exec_launch(exec, NULL));
        wait_for_the_dead(ranks, exec);
    }
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    CHECK(braid_device_close(device));
    if (braid_ranks_close(ranks) != BRAID_DEVICE_ERROR)
        return EXIT_FAILURE;
    printf("rank %u was told\n", rank);
    fflush(stdout);
    if (!getenv("BRAID_STANDIN_RANKS"))
        _exit(EXIT_SUCCESS); // MPI's own end would wait
    return EXIT_SUCCESS;
}
