// SPDX-License-Identifier: Apache-2.0
// A device of the stand-in driver whose kernels run as PTX, and a graph to audit there.
#ifndef BRAID_TESTS_GPU_AUDITED_WORLD_H
#define BRAID_TESTS_GPU_AUDITED_WORLD_H

#include <string.h>

#include "audit/audit_testing.h"
#include "gpu/gpu_testing.h"

enum { BYTES = 64, AROUND = 16 };

// Two buffers without a gap, and memory around them.
struct world {
    braid_device *device;
    braid_graph *graph;
    unsigned char *memory;
    braid_resource first, second;
    struct findings findings;
};

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

// A kernel gets one address, in %a.
#define KERNEL(body)                                                                               \
    HEAD ".visible .entry given(.param .u64 at)\n{\n"                                              \
         ".reg .pred %p;\n.reg .b32 %r<4>;\n.reg .b64 %a, %d<4>;\n.reg .f32 %f;\n"                 \
         "ld.param.u64 %a, [at];\nsetp.eq.u64 %p, %a, 0;\n" body "ret;\n}\n"

static inline int setup(void **state)
{
    static struct world world;
    void *memory;
    skip_without_audits();
    reset_standin();
    assert_true(standin_configure("BRAID_STANDIN_PTX", "1"));
    world = (struct world){ 0 };
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &world.device));
    check_ok(
        braid_memory_allocate(world.device, BRAID_MEMORY_DEVICE, 2 * BYTES + 2 * AROUND, &memory));
    memset(memory, 0, 2 * BYTES + 2 * AROUND);
    world.memory = (unsigned char *)memory + AROUND;
    check_ok(braid_graph_create(&world.graph));
    check_ok(braid_graph_add_buffer(world.graph, "first", world.memory, BYTES, &world.first));
    check_ok(
        braid_graph_add_buffer(world.graph, "second", world.memory + BYTES, BYTES, &world.second));
    *state = &world;
    return 0;
}

static inline void close_world(const struct world *world)
{
    braid_graph_destroy(world->graph);
    braid_memory_free(world->device, world->memory - AROUND);
    check_ok(braid_device_close(world->device));
}

static inline int teardown(void **state)
{
    close_world(*state);
    check_nothing_is_left();
    return 0;
}

static inline void add(struct world *world, const braid_kernel *kernel, uint32_t threads,
                       const braid_access *accesses, size_t num)
{
    check_ok(braid_graph_add_kernel(
        world->graph,
        &(braid_kernel_node){
            .node = { .accesses = accesses, .num_accesses = num },
            .kernel = kernel,
            .block.x = threads,
            BRAID_ARGS({ &world->memory, sizeof(world->memory), BRAID_ARG_UNCHECKED_POINTER }) },
        NULL));
}
#define ADD_GIVEN(world, kernel, ...)                                                              \
    add(world, kernel, 1, (const braid_access[]){ __VA_ARGS__ },                                   \
        sizeof((const braid_access[]){ __VA_ARGS__ }) / sizeof(braid_access))

static inline braid_status fill_second(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    return braid_stream_fill(stream, user, 5, 1, BYTES);
}

static inline void add_what_may_fail(struct world *world)
{
    static const braid_kernel kernel = {
        .name = "given",
        .cuda.data = KERNEL(".loc 1 2 3\nld.global.u32 %r0, [%a];\n") ".file 1 \"a.cu\"\n"
    };
    *(uint32_t *)world->memory = 1;
    ADD_GIVEN(world, &kernel, { world->second, BRAID_EXCLUSIVE });
    check_ok(braid_graph_begin_if(world->graph, &(braid_if){ .condition = world->first }, NULL));
    ADD_GIVEN(world, &kernel, { world->first, BRAID_READ });
    check_ok(braid_graph_end(world->graph));
    check_ok(braid_graph_add_queue_call(
        world->graph, &(braid_queue_call){ .call = fill_second, .user = world->memory + BYTES },
        NULL));
}

#endif
