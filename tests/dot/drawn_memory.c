// SPDX-License-Identifier: Apache-2.0
// Random graphs whose nodes use memory that the plan or frames choose.
#include "dot/drawn_memory.h"

#include <braid/schedule.h>

#include "plan/memory/memory_plan.h"
#include "support/check.h"
#include "support/random.h"
#include "support/wide_plan.h"

// Buffers that nodes are given the addresses of; the first two are written before all else.
enum { TRANSIENT, ALIGNED, VERSION, BEFORE, LONG_BEFORE, KNOWN, NUM_BUFFERS };

struct making {
    struct random random;
    braid_graph *graph;
    braid_resource buffers[NUM_BUFFERS], part, scratch[2], list;
};

void drawn_kernel(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

void drawn_host_call(void *user)
{
    (void)user;
}

braid_status drawn_queue_call(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    (void)stream;
    (void)user;
    return BRAID_OK;
}

static void declare(struct making *making)
{
    braid_graph *graph = making->graph;
    braid_resource *buffers = making->buffers;
    check_ok(braid_graph_add_transient(graph, "transient", 100, 0, &buffers[TRANSIENT]));
    check_ok(braid_graph_add_scratch(graph, "scratch *2", 64, 0, &making->scratch[0]));
    check_ok(braid_graph_add_transient(graph, "aligned", 300, 4096, &buffers[ALIGNED]));
    check_ok(braid_graph_add_range(graph, buffers[ALIGNED], 100, 64, &making->part));
    check_ok(braid_graph_add_versioned_buffer(graph, "state^+", NULL, 3, 48, &buffers[VERSION]));
    check_ok(braid_graph_add_earlier_version(graph, buffers[VERSION], 1, &buffers[BEFORE]));
    check_ok(braid_graph_add_earlier_version(graph, buffers[VERSION], 2, &buffers[LONG_BEFORE]));
    check_ok(braid_graph_add_scratch(graph, "aligned scratch", 640, 1024, &making->scratch[1]));
    check_ok(braid_graph_add_buffer(graph, "known", (void *)0x10000, 256, &buffers[KNOWN]));
    check_ok(braid_graph_add_resource(graph, "list", &making->list));
}

// What a chosen buffer holds at first is nothing.
static void write_first(struct making *making, int buffer)
{
    check_ok(braid_graph_add_fill(
        making->graph,
        &(braid_fill){ BRAID_ACCESSES({ making->buffers[buffer], BRAID_WRITE }),
                       .to_resource = making->buffers[buffer], .value_bytes = 2, .num_values = 3 },
        NULL));
}

static bool happens(struct making *making, uint32_t one_in)
{
    return random_below(&making->random, one_in) == 0;
}

static braid_node_options choose_options(struct making *making, braid_access *accesses,
                                         braid_resource *out_first, braid_resource *out_second)
{
    *out_first = making->buffers[random_below(&making->random, NUM_BUFFERS)];
    *out_second = happens(making, 3) ? making->part
                                     : making->buffers[random_below(&making->random, NUM_BUFFERS)];
    uint32_t mode = random_below(&making->random, 3);
    accesses[0] = (braid_access){ *out_first, BRAID_READ };
    accesses[1] = (braid_access){ *out_second, mode == 0   ? BRAID_ACCUMULATE
                                               : mode == 1 ? BRAID_READ_WRITE
                                                           : BRAID_WRITE };
    accesses[2] = (braid_access){ making->list, BRAID_ACCUMULATE };
    return (braid_node_options){ .accesses = accesses,
                                 .num_accesses = 2 + random_below(&making->random, 2),
                                 .cost_ns = random_below(&making->random, 3000) };
}

// Two addresses, scratch, and a number.
static void add_kernel(struct making *making)
{
    static const braid_kernel kernels[3] = {
        { .name = "inside", .cpu = drawn_kernel, .source = "i" },
        { .name = "many", .cpu = drawn_kernel },
        { .name = "more", .cpu = drawn_kernel }
    };
    uint32_t number = 0, which = random_below(&making->random, 3);
    braid_access accesses[3];
    braid_resource first, second;
    braid_kernel_node launch = { .kernel = &kernels[which],
                                 .grid = { 1 + random_below(&making->random, 9), 2 },
                                 .block = { 32 } };
    launch.node = choose_options(making, accesses, &first, &second);
    const braid_arg args[] = { BRAID_ARG(number), braid_resource_address(&first),
                               braid_resource_address(
                                   &making->scratch[random_below(&making->random, 2)]),
                               braid_resource_address(&second) };
    launch.args = args;
    launch.num_args = which == 0 ? 2 : 4;
    check_ok(braid_graph_add_kernel(making->graph, &launch, NULL));
}

static void add_copy(struct making *making)
{
    static char bytes[64];
    braid_access accesses[3];
    braid_resource first, second;
    braid_copy copy = { .node = choose_options(making, accesses, &first, &second), .bytes = 8 };
    bool may_overlap = first.index == second.index || second.index == making->part.index;
    if (happens(making, 3) || may_overlap)
        copy.from = bytes;
    else
        copy.from_resource = first;
    if (happens(making, 3))
        copy.to = bytes + 32;
    else
        copy.to_resource = second;
    check_ok(braid_graph_add_copy(making->graph, &copy, NULL));
}

static void add_fill(struct making *making)
{
    braid_access accesses[3];
    braid_resource first, second;
    braid_fill fill = { .node = choose_options(making, accesses, &first, &second),
                        .to_resource = second,
                        .value_bytes = 1u << random_below(&making->random, 3),
                        .num_values = 2 };
    check_ok(braid_graph_add_fill(making->graph, &fill, NULL));
}

static void add_call(struct making *making)
{
    braid_access accesses[3];
    braid_resource first, second;
    braid_node_options options = choose_options(making, accesses, &first, &second);
    braid_resource user = happens(making, 2) ? first : making->scratch[0];
    if (happens(making, 2))
        check_ok(braid_graph_add_host_call(making->graph,
                                           &(braid_host_call){ .node = options,
                                                               .call = drawn_host_call,
                                                               .user_resource = user,
                                                               .blocking = happens(making, 2) },
                                           NULL));
    else
        check_ok(braid_graph_add_queue_call(
            making->graph,
            &(braid_queue_call){ .node = options, .call = drawn_queue_call, .user_resource = user },
            NULL));
}

braid_graph *make_graph_with_memory(uint64_t seed)
{
    static void (*const add[])(struct making *) = { add_kernel, add_kernel, add_copy, add_fill,
                                                    add_call };
    struct making making = { .random.state = seed };
    check_ok(braid_graph_create(&making.graph));
    declare(&making);
    write_first(&making, TRANSIENT);
    write_first(&making, ALIGNED);
    uint32_t num = 1 + random_below(&making.random, 24);
    for (uint32_t i = 0; i < num; i++)
        add[random_below(&making.random, 5)](&making);
    return making.graph;
}

void assert_same_memory(const braid_graph *one, const braid_graph *two)
{
    const braid_graph *graphs[2] = { one, two };
    struct memory_info infos[2];
    for (int i = 0; i < 2; i++) {
        braid_schedule *schedule;
        struct memory_plan plan;
        check_ok(braid_schedule_create(graphs[i], &(braid_schedule_options){ .costs = &free_costs },
                                       &schedule));
        check_ok(braid_memory_plan_create(schedule, graphs[i], false, &plan));
        infos[i] = plan.info;
        braid_memory_plan_finish(&plan);
        braid_schedule_destroy(schedule);
    }
    assert_memory_equal(&infos[0], &infos[1], sizeof(infos[0]));
}
