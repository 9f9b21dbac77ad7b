// SPDX-License-Identifier: Apache-2.0
// Resources, their versions and their homes that cannot be are refused by name.
#include <stdio.h>

#include "graph/bad_input.h"
#include "graph/graph_state.h"
#include "support/check.h"

void test_resources_without_a_name_or_bytes_are_refused(void **state)
{
    struct world *world = *state;
    braid_graph *graph = world->graph;
    braid_resource out = { 77, 77 };
    char *before = graph_state(graph);
    check_fails(braid_graph_add_buffer(graph, NULL, memory, 8, &out), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_graph_add_buffer(graph, "", memory, 8, &out), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_graph_add_buffer(graph, "tiny", memory, 0, &out), BRAID_INVALID_ARGUMENT,
                "tiny");
    check_fails(braid_graph_add_buffer(graph, "vast", memory, UINT64_MAX, &out),
                BRAID_INVALID_ARGUMENT, "vast");
    check_fails(braid_graph_add_resource(graph, NULL, &out), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_graph_add_resource(graph, "", &out), BRAID_INVALID_ARGUMENT, "");
    assert_int_equal(out.index, 77);
    check_unchanged(world, before);
}

void test_ranges_outside_their_buffer_are_refused(void **state)
{
    struct world *world = *state;
    braid_graph *graph = world->graph;
    braid_resource out = { 77, 77 };
    char *before = graph_state(graph);
    check_fails(braid_graph_add_range(graph, world->image, 0, 0, &out), BRAID_INVALID_ARGUMENT,
                "image");
    check_fails(braid_graph_add_range(graph, world->image, 60, 5, &out), BRAID_INVALID_ARGUMENT,
                "image");
    check_fails(braid_graph_add_range(graph, world->image, 64, 1, &out), BRAID_INVALID_ARGUMENT,
                "image");
    check_fails(braid_graph_add_range(graph, world->image, UINT64_MAX, 2, &out),
                BRAID_INVALID_ARGUMENT, "image");
    check_fails(braid_graph_add_range(graph, world->image, 2, UINT64_MAX, &out),
                BRAID_INVALID_ARGUMENT, "image");
    check_fails(braid_graph_add_range(graph, world->part, 0, 4, &out), BRAID_INVALID_ARGUMENT,
                "image");
    check_fails(braid_graph_add_range(graph, world->list, 0, 4, &out), BRAID_INVALID_ARGUMENT,
                "list");
    check_fails(braid_graph_add_range(graph, world->foreign_resource, 0, 4, &out),
                BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_graph_add_range(graph, (braid_resource){ 0 }, 0, 4, &out),
                BRAID_INVALID_ARGUMENT, "");
    assert_int_equal(out.index, 77);
    check_unchanged(world, before);
}

void test_versions_that_cannot_be_are_refused(void **state)
{
    struct world *world = *state;
    const uintptr_t end = UINTPTR_MAX - 7; // the address space's, where 8 bytes have their place
    void *too_far[] = { memory, (void *)end }, *none[] = { memory, NULL };
    void *shared[] = { memory, memory + 32, memory + 15 };
    const struct {
        void *const *addresses;
        uint32_t num_versions;
        uint64_t bytes;
        const char *named;
    } bad[] = {
        { NULL, 0, 8, "'state': 0 versions, not 2 to 16" },
        { NULL, 1, 8, "'state': 1 versions, not 2 to 16" },
        { NULL, 17, 8, "'state': 17 versions, not 2 to 16" },
        { NULL, 2, 0, "'state': 0 bytes" },
        { NULL, 2, ((uint64_t)1 << 48) + 1, "'state': 281474976710657 bytes, not 1 to 2^48" },
        { too_far, 2, 9, "'state': no 9 bytes at 0xfffffffffffffff8 for version 1" },
        { none, 2, 8, "'state': no 8 bytes at" },
        { shared, 3, 16, "'state': versions 0 and 2 share bytes" },
    };
    braid_resource out = { 77, 77 };
    char *before = graph_state(world->graph);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        check_fails(braid_graph_add_versioned_buffer(world->graph, "state", bad[i].addresses,
                                                     bad[i].num_versions, bad[i].bytes, &out),
                    BRAID_INVALID_ARGUMENT, bad[i].named);
    check_fails(braid_graph_add_versioned_buffer(world->graph, "", NULL, 2, 8, &out),
                BRAID_INVALID_ARGUMENT, "name");
    assert_int_equal(out.index, 77);
    check_unchanged(world, before);
    check_ok(braid_graph_add_versioned_buffer(world->graph, "state", shared, 2, 16, &out));
}

void test_earlier_versions_that_are_none_are_refused(void **state)
{
    struct world *world = *state;
    braid_graph *graph = world->graph;
    braid_resource versioned, earlier, foreign, out = { 77, 77 };
    check_ok(braid_graph_add_versioned_buffer(graph, "state", NULL, 3, 8, &versioned));
    check_ok(braid_graph_add_earlier_version(graph, versioned, 2, &earlier));
    for (uint32_t i = 0; i <= versioned.index; i++) // with an index that is a versioned one here
        check_ok(braid_graph_add_versioned_buffer(world->other, "x", NULL, 2, 8, &foreign));
    char *before = graph_state(graph);
    const braid_resource beyond = { earlier.index + 1, versioned.graph };
    const braid_resource bad[] = { world->image, world->part, world->list, earlier,
                                   foreign,      beyond,      { 0 } };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char name[64];
        snprintf(name, sizeof(name), "resource %u of graph %u is not a versioned buffer",
                 bad[i].index, bad[i].graph);
        check_fails(braid_graph_add_earlier_version(graph, bad[i], 1, &out), BRAID_INVALID_ARGUMENT,
                    name);
    }
    const uint32_t frames[] = { 0, 3, UINT32_MAX };
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        char name[64];
        snprintf(name, sizeof(name), "'state' has 3 versions: none of %u frames before", frames[i]);
        check_fails(braid_graph_add_earlier_version(graph, versioned, frames[i], &out),
                    BRAID_INVALID_ARGUMENT, name);
    }
    check_fails(braid_graph_add_range(graph, versioned, 0, 4, &out), BRAID_INVALID_ARGUMENT,
                "'state' is versioned");
    assert_int_equal(out.index, 77);
    check_ok(braid_graph_add_earlier_version(graph, versioned, 2, &out));
    assert_int_equal(out.index, earlier.index);
    check_unchanged(world, before);
}

void test_homes_of_what_has_none_are_refused(void **state)
{
    struct world *world = *state;
    braid_graph *graph = world->graph;
    braid_resource transient, scratch, slots, versioned, earlier;
    check_ok(braid_graph_add_transient(graph, "passing", 64, 0, &transient));
    check_ok(braid_graph_add_scratch(graph, "notes", 64, 0, &scratch));
    check_ok(braid_graph_add_slots(graph, "seats", 2, &slots));
    check_ok(braid_graph_add_versioned_buffer(graph, "state", NULL, 2, 8, &versioned));
    check_ok(braid_graph_add_earlier_version(graph, versioned, 1, &earlier));
    const struct {
        braid_resource resource;
        uint32_t place;
        const char *named;
    } bad[] = {
        { transient, 1, "'passing' is a transient buffer" },
        { scratch, 1, "'notes' is scratch" },
        { slots, 1, "'seats' is slots" },
        { world->part, 1, "'image' is a range" },
        { earlier, 1, "'state[-1]' is an earlier version" },
        { world->foreign_resource, 1, "is not a resource of this graph" },
        { { earlier.index + 1, earlier.graph }, 1, "is not a resource of this graph" },
        { world->image, 1000, "'image': its home is 1000" },
    };
    char *before = graph_state(graph);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        check_fails(braid_graph_set_home(graph, bad[i].resource, bad[i].place),
                    BRAID_INVALID_ARGUMENT, bad[i].named);
    check_fails(braid_graph_add_range(graph, (braid_resource){ earlier.index + 1, earlier.graph },
                                      0, 4, &transient),
                BRAID_INVALID_ARGUMENT, "is not a resource of this graph");
    check_unchanged(world, before);
    check_ok(braid_graph_set_home(graph, versioned, BRAID_EVERYWHERE));
    check_ok(braid_graph_set_home(graph, world->image, 0));
}

void test_slots_are_held_alone(void **state)
{
    struct world *world = *state;
    braid_graph *graph = world->graph;
    braid_resource slots, out = { .index = 77 };
    check_ok(braid_graph_add_slots(graph, "seats", 1024, &slots));
    char *before = graph_state(graph);
    check_fails(braid_graph_add_slots(graph, "none", 0, &out), BRAID_INVALID_ARGUMENT,
                "'none': 0 slots, not 1 to 1024");
    check_fails(braid_graph_add_slots(graph, "many", 1025, &out), BRAID_INVALID_ARGUMENT,
                "'many': 1025 slots, not 1 to 1024");
    check_fails(braid_graph_add_slots(graph, "", 1, &out), BRAID_INVALID_ARGUMENT, "needs a name");
    assert_int_equal(out.index, 77);
    const braid_access_mode modes[] = { BRAID_READ, BRAID_WRITE, BRAID_READ_WRITE,
                                        BRAID_ACCUMULATE };
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        check_fails(braid_graph_add_empty(
                        graph,
                        &(braid_empty){ .node.name = "sits", BRAID_ACCESSES({ slots, modes[i] }) },
                        NULL),
                    BRAID_INVALID_ARGUMENT, "'sits': .accesses[0] is to slots");
    check_fails(braid_graph_set_output(graph, slots), BRAID_INVALID_ARGUMENT, "'seats' is slots");
    check_fails(braid_graph_add_range(graph, slots, 0, 1, &out), BRAID_INVALID_ARGUMENT,
                "'seats' is not a buffer");
    check_unchanged(world, before);
}

void test_rows_that_do_not_fit_are_refused(void **state)
{
    struct world *world = *state;
    braid_resource buffer;
    check_ok(braid_graph_add_transient(world->graph, "box", 64, 0, &buffer));
    const braid_rows bad[] = {
        { .num = 2, .to_pitch = 7 },
        { .num = 2, .from_pitch = 7 },
        { .num = 2, .layers = 2, .to_height = 1 },
        { .num = 2, .layers = 2, .from_height = 1 },
        { .num = 2, .layers = 1u << 31, .to_height = 2 },
        { .num = 2, .layers = 1u << 31, .from_height = 2 },
    };
    char *before = graph_state(world->graph);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const braid_copy copy = {
            .node.name = "victim", .to = memory, .from = memory + 32, .bytes = 8, .rows = bad[i]
        };
        check_fails(braid_graph_add_copy(world->graph, &copy, NULL), BRAID_INVALID_ARGUMENT,
                    "'victim': .rows has");
    }
    const braid_copy copies[] = {
        // The sixth row of 8 bytes at a pitch of 12 ends at 68, the fifth of the other end at 40.
        { .to_resource = buffer, .from = memory, .bytes = 8, .rows = { .num = 6, .to_pitch = 12 } },
        { .to = memory, .from_resource = buffer, .bytes = 8, .rows = { .num = 9 } },
        // Between rows of another pitch, and in rows side by side that share a byte.
        { .to = memory, .from = memory + 8, .bytes = 8, .rows = { 4, 0, 16, 15, 0, 0 } },
        { .to = memory, .from = memory + 7, .bytes = 8, .rows = { 4, 0, 16, 16, 0, 0 } },
        { .to = memory + 9, .from = memory, .bytes = 8, .rows = { 3, 0, 16, 16, 0, 0 } },
    };
    for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++) {
        braid_copy copy = copies[i];
        const braid_access access = { buffer, BRAID_WRITE };
        copy.node =
            (braid_node_options){ .name = "victim", .accesses = &access, .num_accesses = 1 };
        check_fails(braid_graph_add_copy(world->graph, &copy, NULL), BRAID_INVALID_ARGUMENT,
                    "victim");
    }
    const braid_rows odd[] = { { .num = 2, .layers = 2 }, { .num = 2, .to_pitch = 9 } };
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        const braid_fill fill = {
            .node.name = "victim", .to = memory, .value_bytes = 4, .num_values = 2, .rows = odd[i]
        };
        check_fails(braid_graph_add_fill(world->graph, &fill, NULL), BRAID_INVALID_ARGUMENT,
                    "'victim': .rows has");
    }
    check_unchanged(world, before);
    const braid_copy halves = {
        .to = memory, .from = memory + 8, .bytes = 8, .rows = { 4, 0, 16, 16, 0, 0 }
    };
    check_ok(braid_graph_add_copy(world->graph, &halves, NULL));
}
