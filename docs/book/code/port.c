// SPDX-License-Identifier: Apache-2.0
// A part that builds and launches a graph of four kernels on an image.
#include "book.h"

static const braid_kernel load = { .name = "load", .cpu = do_nothing };
static const braid_kernel blur = { .name = "blur", .cpu = do_nothing };
static const braid_kernel edges = { .name = "edges", .cpu = do_nothing };
static const braid_kernel merge = { .name = "merge", .cpu = do_nothing };

int main(void)
{
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    braid_stream *stream = NULL;
    braid_resource image, smooth, outline, out;
    CHECK(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    CHECK(braid_graph_create(&graph));
    CHECK(braid_graph_add_buffer(graph, "image", NULL, 1024, &image));
    CHECK(braid_graph_add_buffer(graph, "smooth", NULL, 1024, &smooth));
    CHECK(braid_graph_add_buffer(graph, "outline", NULL, 1024, &outline));
    CHECK(braid_graph_add_buffer(graph, "out", NULL, 1024, &out));
    // here
    CHECK(braid_exec_wait(exec));
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_device_close(device);
    return 0;
}
