// SPDX-License-Identifier: Apache-2.0
// A part that calls a library on a stream that it is given.
#include "book.h"

struct product {
    void *handle, *stream;
    int num_calls;
};

static int library_set_stream(void *handle, void *stream)
{
    ((struct product *)handle)->stream = stream;
    return 0;
}

static int library_multiply(void *handle)
{
    ((struct product *)handle)->num_calls++;
    return 0;
}

// here

// The CPU replays queue calls on streams.
int main(void)
{
    struct product product = { .handle = &product };
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    CHECK(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    CHECK(braid_graph_create(&graph));
    CHECK(braid_graph_add_queue_call(
        graph, &(braid_queue_call){ .call = multiply, .user = &product }, NULL));
    CHECK(braid_exec_create(device, graph, &(braid_exec_options){ .mode = BRAID_MODE_STREAMS },
                            &exec));
    CHECK(braid_exec_launch(exec, NULL));
    CHECK(braid_exec_wait(exec));
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_device_close(device);
    return product.num_calls == 1 ? 0 : 1;
}
