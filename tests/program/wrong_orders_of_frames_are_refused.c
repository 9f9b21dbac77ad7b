// SPDX-License-Identifier: Apache-2.0
// An exec proves the order of as many frames as it takes: whichever order between frames in flight
// is forgotten, the exec is refused, however far apart the frames are.
#include <braid/braid.h>

#include "graph/links.h"
#include "support/check.h"
#include "support/wide_plan.h"

// The order of frames so far apart is forgotten, but for the node that every graph has first; 0:
// none is. No call of the public interface makes that mistake, so the linker puts this function
// before the library's own.
static uint32_t forgotten;

braid_status __real_braid_graph_find_frame_links(const braid_graph *graph, struct array *out_links,
                                                 uint32_t *out_undeclared);
braid_status __wrap_braid_graph_find_frame_links(const braid_graph *graph, struct array *out_links,
                                                 uint32_t *out_undeclared);

braid_status __wrap_braid_graph_find_frame_links(const braid_graph *graph, struct array *out_links,
                                                 uint32_t *out_undeclared)
{
    braid_status status = __real_braid_graph_find_frame_links(graph, out_links, out_undeclared);
    struct frame_link *links = out_links->items;
    size_t num = 0;
    for (size_t i = 0; i < out_links->num; i++) {
        if (links[i].frames_before != forgotten || links[i].to == 0)
            links[num++] = links[i];
    }
    out_links->num = num;
    return status;
}

static void nothing(void *user)
{
    (void)user;
}

static void add_node(braid_graph *graph, const char *name, braid_resource resource,
                     braid_access_mode mode)
{
    const braid_access access = { resource, mode };
    const braid_host_call call = { .node = { .name = name, .accesses = &access, .num_accesses = 1 },
                                   .call = nothing };
    check_ok(braid_graph_add_host_call(graph, &call, NULL));
}

// "write" gives a version, and "read" takes the one of `back` frames before; 0: there is no "read".
static braid_status make_exec(braid_device *device, uint32_t num_versions, uint32_t back,
                              uint32_t num_frames)
{
    braid_graph *graph;
    braid_resource other, value, before;
    braid_exec *exec = NULL;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_versioned_buffer(graph, "value", NULL, num_versions, 16, &value));
    check_ok(braid_graph_add_resource(graph, "other", &other));
    add_node(graph, "other", other, BRAID_READ_WRITE);
    add_node(graph, "write", value, BRAID_WRITE);
    if (back) {
        check_ok(braid_graph_add_earlier_version(graph, value, back, &before));
        add_node(graph, "read", before, BRAID_READ);
    }
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS,
                                         .frames_in_flight = num_frames,
                                         .max_lanes = BRAID_ALL_LANES,
                                         .fixed_lanes = true };
    braid_status status = braid_exec_create(device, graph, &options, &exec);
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    return status;
}

// Frames as far apart as there are in flight follow each other by taking one place.
static void check_order(braid_device *device, uint32_t num_versions, uint32_t back,
                        uint32_t distance)
{
    enum { most_frames = 6 };
    for (uint32_t num_frames = 2; num_frames <= most_frames; num_frames++) {
        forgotten = 0;
        check_ok(make_exec(device, num_versions, back, num_frames));
        forgotten = distance;
        if (distance < num_frames)
            check_fails(make_exec(device, num_versions, back, num_frames), BRAID_INTERNAL,
                        "'write'");
        else
            check_ok(make_exec(device, num_versions, back, num_frames));
    }
}

// A read waits for the write of so many frames before, and the write that has that memory next for
// the read; without reads, for the write before.
static void an_order_that_is_forgotten_is_found(void **state)
{
    enum { most_versions = 4 };
    braid_device *device;
    const braid_device_options options = { .backend = "cpu", .num_workers = 1 };
    (void)state;
    check_ok(braid_device_open(&options, &device));
    for (uint32_t num_versions = 2; num_versions <= most_versions; num_versions++) {
        check_order(device, num_versions, 0, num_versions);
        for (uint32_t back = 1; back < num_versions; back++) {
            check_order(device, num_versions, back, back);
            check_order(device, num_versions, back, num_versions - back);
        }
    }
    check_ok(braid_device_close(device));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_that_is_forgotten_is_found),
    };
    return cmocka_run_group_tests_name("wrong orders of frames are refused", tests, NULL, NULL);
}
