// SPDX-License-Identifier: Apache-2.0
// Random graphs whose nodes are given values by frames: parameters, and memory that is chosen.
#include "dot/drawn_values.h"

#include <braid/schedule.h>

#include "memory/memory_plan.h"
#include "support/check.h"
#include "support/random.h"

enum { NUM_PARAMETERS = 4, PARAMETER_BYTES = 24 };

// Buffers that nodes are given the addresses of; the first two are written before all else.
enum { TRANSIENT, ALIGNED, VERSION, BEFORE, LONG_BEFORE, KNOWN, NUM_BUFFERS };

struct values {
    struct random random;
    braid_graph *graph;
    braid_resource buffers[NUM_BUFFERS], part, scratch[2], list;
    braid_parameter parameters[NUM_PARAMETERS];
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

static void declare(struct values *values)
{
    braid_graph *graph = values->graph;
    braid_resource *buffers = values->buffers;
    check_ok(braid_graph_add_transient(graph, "transient", 100, 0, &buffers[TRANSIENT]));
    check_ok(braid_graph_add_scratch(graph, "scratch *2", 64, 0, &values->scratch[0]));
    check_ok(braid_graph_add_transient(graph, "aligned", 300, 4096, &buffers[ALIGNED]));
    check_ok(braid_graph_add_range(graph, buffers[ALIGNED], 100, 64, &values->part));
    check_ok(braid_graph_add_versioned_buffer(graph, "state^+", NULL, 3, 48, &buffers[VERSION]));
    check_ok(braid_graph_add_earlier_version(graph, buffers[VERSION], 1, &buffers[BEFORE]));
    check_ok(braid_graph_add_earlier_version(graph, buffers[VERSION], 2, &buffers[LONG_BEFORE]));
    check_ok(braid_graph_add_scratch(graph, "aligned scratch", 640, 1024, &values->scratch[1]));
    check_ok(braid_graph_add_buffer(graph, "known", (void *)0x10000, 256, &buffers[KNOWN]));
    check_ok(braid_graph_add_resource(graph, "list", &values->list));
    static const char *const names[NUM_PARAMETERS] = { "position: 1%", "a b", "steps", "\"q\"" };
    for (int i = 0; i < NUM_PARAMETERS; i++)
        check_ok(
            braid_graph_add_parameter(graph, names[i], PARAMETER_BYTES, &values->parameters[i]));
}

// What a chosen buffer holds at first is nothing.
static void write_first(struct values *values, int buffer)
{
    check_ok(braid_graph_add_fill(
        values->graph,
        &(braid_fill){ BRAID_ACCESSES({ values->buffers[buffer], BRAID_WRITE }),
                       .to_resource = values->buffers[buffer], .value_bytes = 2, .num_values = 3 },
        NULL));
}

static void use(struct values *values, braid_node node, braid_target target, uint64_t bytes,
                uint64_t argument, uint64_t argument_offset)
{
    uint64_t room = PARAMETER_BYTES - bytes;
    check_ok(braid_graph_use_parameter(
        values->graph, values->parameters[random_below(&values->random, NUM_PARAMETERS)],
        &(braid_parameter_use){ .node = node,
                                .target = target,
                                .argument = argument,
                                .argument_offset = argument_offset,
                                .offset = random_below(&values->random, (uint32_t)room + 1),
                                .bytes = bytes }));
}

static bool happens(struct values *values, uint32_t one_in)
{
    return random_below(&values->random, one_in) == 0;
}

static braid_node_options choose_options(struct values *values, braid_access *accesses,
                                         braid_resource *out_first, braid_resource *out_second)
{
    *out_first = values->buffers[random_below(&values->random, NUM_BUFFERS)];
    *out_second = happens(values, 3) ? values->part
                                     : values->buffers[random_below(&values->random, NUM_BUFFERS)];
    uint32_t mode = random_below(&values->random, 3);
    accesses[0] = (braid_access){ *out_first, BRAID_READ };
    accesses[1] = (braid_access){ *out_second, mode == 0   ? BRAID_ACCUMULATE
                                               : mode == 1 ? BRAID_READ_WRITE
                                                           : BRAID_WRITE };
    accesses[2] = (braid_access){ values->list, BRAID_ACCUMULATE };
    return (braid_node_options){ .accesses = accesses,
                                 .num_accesses = 2 + random_below(&values->random, 2),
                                 .cost_ns = random_below(&values->random, 3000) };
}

// Two addresses, scratch, a struct and a number: whatever of it is a parameter.
static void add_kernel(struct values *values)
{
    static const braid_kernel kernels[3] = {
        { .name = "inside", .cpu = drawn_kernel, .source = "i" },
        { .name = "many", .cpu = drawn_kernel },
        { .name = "grid", .cpu = drawn_kernel }
    };
    struct {
        uint32_t words[7];
    } part = { { 0 } };
    uint32_t number = 0, which = random_below(&values->random, 3);
    braid_access accesses[3];
    braid_resource first, second;
    braid_node node;
    braid_kernel_node launch = { .kernel = &kernels[which],
                                 .grid = { 1 + random_below(&values->random, 9), 2 },
                                 .block = { 32 } };
    launch.node = choose_options(values, accesses, &first, &second);
    const braid_arg args[] = { BRAID_ARG(number), braid_resource_address(&first),
                               braid_resource_address(
                                   &values->scratch[random_below(&values->random, 2)]),
                               BRAID_ARG(part), braid_resource_address(&second) };
    launch.args = args;
    launch.num_args = which == 0 ? 2 : 5;
    if (which == 2 && happens(values, 2))
        launch.grid_from_resource = first;
    else if (which == 2)
        launch.grid_from = &values->random;
    check_ok(braid_graph_add_kernel(values->graph, &launch, &node));
    if (happens(values, 2))
        use(values, node, BRAID_TARGET_ARGUMENT, 4, 0, 0);
    if (which && happens(values, 2))
        use(values, node, BRAID_TARGET_ARGUMENT, 12, 3, 8);
    if (which != 2 && happens(values, 4))
        use(values, node, (braid_target)(BRAID_TARGET_GRID_X + random_below(&values->random, 3)), 4,
            0, 0);
    if (which != 2 && happens(values, 8))
        use(values, node, BRAID_TARGET_GRID, 12, 0, 0);
    if (happens(values, 6))
        use(values, node, BRAID_TARGET_ENABLED, 1u << random_below(&values->random, 3), 0, 0);
}

static void add_copy(struct values *values)
{
    static char bytes[64];
    braid_access accesses[3];
    braid_resource first, second;
    braid_copy copy = { .node = choose_options(values, accesses, &first, &second), .bytes = 8 };
    braid_node node;
    if (happens(values, 3))
        copy.from = bytes;
    else
        copy.from_resource = first;
    if (happens(values, 3))
        copy.to = bytes;
    else
        copy.to_resource = second;
    check_ok(braid_graph_add_copy(values->graph, &copy, &node));
    for (int target = BRAID_TARGET_TO; target <= BRAID_TARGET_BYTES; target++) {
        if (happens(values, 3))
            use(values, node, (braid_target)target, 8, 0, 0);
    }
}

static void add_fill(struct values *values)
{
    braid_access accesses[3];
    braid_resource first, second;
    braid_fill fill = { .node = choose_options(values, accesses, &first, &second),
                        .to_resource = second,
                        .value_bytes = 1u << random_below(&values->random, 3),
                        .num_values = 2 };
    braid_node node;
    check_ok(braid_graph_add_fill(values->graph, &fill, &node));
    if (happens(values, 2))
        use(values, node, BRAID_TARGET_VALUE, happens(values, 2) ? 4 : fill.value_bytes, 0, 0);
    if (happens(values, 3))
        use(values, node, BRAID_TARGET_NUM_VALUES, 8, 0, 0);
    if (happens(values, 5))
        use(values, node, BRAID_TARGET_TO, 8, 0, 0);
}

static void add_call(struct values *values)
{
    braid_access accesses[3];
    braid_resource first, second;
    braid_node_options options = choose_options(values, accesses, &first, &second);
    braid_resource user = happens(values, 2) ? first : values->scratch[0];
    braid_node node;
    if (happens(values, 2))
        check_ok(braid_graph_add_host_call(values->graph,
                                           &(braid_host_call){ .node = options,
                                                               .call = drawn_host_call,
                                                               .user_resource = user,
                                                               .blocking = happens(values, 2) },
                                           &node));
    else
        check_ok(braid_graph_add_queue_call(
            values->graph,
            &(braid_queue_call){ .node = options, .call = drawn_queue_call, .user_resource = user },
            &node));
    if (happens(values, 3))
        use(values, node, BRAID_TARGET_USER, 8, 0, 0);
}

braid_graph *make_graph_with_values(uint64_t seed)
{
    static void (*const add[])(struct values *) = { add_kernel, add_kernel, add_copy, add_fill,
                                                    add_call };
    struct values values = { .random.state = seed };
    check_ok(braid_graph_create(&values.graph));
    declare(&values);
    write_first(&values, TRANSIENT);
    write_first(&values, ALIGNED);
    uint32_t num = 1 + random_below(&values.random, 24);
    for (uint32_t i = 0; i < num; i++)
        add[random_below(&values.random, 5)](&values);
    return values.graph;
}

void assert_same_memory(const braid_graph *one, const braid_graph *two)
{
    const braid_graph *graphs[2] = { one, two };
    struct memory_info infos[2];
    for (int i = 0; i < 2; i++) {
        braid_schedule *schedule;
        struct memory_plan plan;
        check_ok(braid_schedule_create(graphs[i], NULL, &schedule));
        check_ok(braid_memory_plan_create(schedule, graphs[i], &plan));
        infos[i] = plan.info;
        braid_memory_plan_finish(&plan);
        braid_schedule_destroy(schedule);
    }
    assert_memory_equal(&infos[0], &infos[1], sizeof(infos[0]));
}
