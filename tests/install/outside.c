// SPDX-License-Identifier: Apache-2.0
// A program of another project: makes and runs a graph, and prints the version of the library.
#include <braid/braid.h>

#include <stdio.h>

static void add_one(void *user)
{
    ++*(int *)user;
}

static braid_status run(braid_device *device, braid_graph *graph, int *calls)
{
    braid_exec *exec = NULL;
    const braid_host_call call = { .call = add_one, .user = calls };
    braid_status status = braid_graph_add_host_call(graph, &call, NULL);
    if (!status)
        status = braid_exec_create(device, graph, NULL, &exec);
    if (!status)
        status = braid_exec_launch(exec, NULL);
    if (!status)
        status = braid_exec_wait(exec);
    braid_exec_destroy(exec);
    return status;
}

int main(void)
{
    int calls = 0;
    const braid_device_options options = { .backend = "cpu" };
    braid_device *device = NULL;
    braid_graph *graph = NULL;
    braid_status status = braid_device_open(&options, &device);
    if (!status)
        status = braid_graph_create(&graph);
    if (!status)
        status = run(device, graph, &calls);
    braid_graph_destroy(graph);
    if (status || calls != 1 || braid_device_close(device)) {
        printf("failed: %s\n", braid_error_get_message());
        return 1;
    }
    printf("braid %s\n", braid_get_version());
    return 0;
}
