// SPDX-License-Identifier: Apache-2.0
// A node that is given a pointer into a declared buffer declares an access to it, and copies and
// fills end within their buffers: planning refuses all else, and names node, argument and buffer.
#include <braid/graph.h>
#include <braid/schedule.h>

#include "support/check.h"
#include "support/wide_plan.h"

enum { bytes = 32 };

// Two buffers with nothing between them, and one behind a gap.
static _Alignas(16) char memory[4 * bytes];

struct setting {
    braid_graph *graph;
    braid_resource first, second, third;
};

static void run(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static const braid_kernel kernel = { .name = "kernel", .cpu = run };
static const braid_kernel with_grid = { .name = "with grid", .cpu = run };

static struct setting make_setting(void)
{
    struct setting s = { 0 };
    check_ok(braid_graph_create(&s.graph));
    check_ok(braid_graph_add_buffer(s.graph, "third", memory + 3 * bytes, bytes, &s.third));
    check_ok(braid_graph_add_buffer(s.graph, "first", memory, bytes, &s.first));
    check_ok(braid_graph_add_buffer(s.graph, "second", memory + bytes, bytes, &s.second));
    return s;
}

static braid_status plan(struct setting *s)
{
    braid_schedule *schedule = NULL;
    braid_status status = braid_schedule_create(
        s->graph, &(braid_schedule_options){ .costs = &free_costs }, &schedule);
    braid_schedule_destroy(schedule);
    braid_graph_destroy(s->graph);
    return status;
}

// 0 bytes: a pointer that nothing orders.
static braid_arg pointer_of(const char *const *pointer, size_t pointer_bytes)
{
    return (braid_arg){ pointer, pointer_bytes,
                        pointer_bytes ? BRAID_ARG_VALUE : BRAID_ARG_UNCHECKED_POINTER };
}

// A kernel with a number, and a pointer of as many bytes as said, that accesses one buffer.
static braid_status plan_kernel(struct setting *s, const char *pointer, size_t pointer_bytes,
                                braid_resource accessed)
{
    const uint32_t number = 7;
    const braid_access access = { accessed, BRAID_READ };
    const braid_kernel_node launch = { .node = { .accesses = &access, .num_accesses = 1 },
                                       .kernel = &kernel,
                                       BRAID_ARGS(BRAID_ARG(number),
                                                  pointer_of(&pointer, pointer_bytes)) };
    check_ok(braid_graph_add_kernel(s->graph, &launch, NULL));
    return plan(s);
}

static void an_argument_needs_an_access(void **state)
{
    (void)state;
    struct setting s = make_setting();
    check_ok(plan_kernel(&s, memory + 5, sizeof(void *), s.first));
    s = make_setting();
    check_fails(plan_kernel(&s, memory + 5, sizeof(void *), s.third), BRAID_INVALID_ARGUMENT,
                "node 0 'kernel': argument 1 is an address in buffer 'first', to which");
    s = make_setting();
    check_fails(plan_kernel(&s, memory + 4 * bytes - 1, sizeof(void *), s.first),
                BRAID_INVALID_ARGUMENT, "argument 1 is an address in buffer 'third'");
    s = make_setting(); // what nothing is to order
    check_ok(plan_kernel(&s, memory + 5, 0, s.third));
    s = make_setting(); // fewer bytes are no pointer
    check_ok(plan_kernel(&s, memory + 5, sizeof(uint32_t), s.third));
    s = make_setting(); // in no buffer
    check_ok(plan_kernel(&s, memory + 2 * bytes, sizeof(void *), s.third));
}

static void a_part_of_the_buffer_is_an_access(void **state)
{
    (void)state;
    struct setting s = make_setting();
    braid_resource part;
    check_ok(braid_graph_add_range(s.graph, s.first, 16, 8, &part));
    check_ok(plan_kernel(&s, memory, sizeof(void *), part));
}

// The end of a range is the begin of the next.
static void the_end_of_a_buffer_is_no_other_buffer(void **state)
{
    (void)state;
    struct setting s = make_setting();
    check_ok(plan_kernel(&s, memory + bytes, sizeof(void *), s.first));
    s = make_setting();
    check_fails(plan_kernel(&s, memory + bytes + 1, sizeof(void *), s.first),
                BRAID_INVALID_ARGUMENT, "'second'");
    s = make_setting();
    check_fails(plan_kernel(&s, memory + 3 * bytes, sizeof(void *), s.second),
                BRAID_INVALID_ARGUMENT, "'third'");
}

// However the node was given the address, and whatever it is for.
static void addresses_of_resources_need_an_access_too(void **state)
{
    (void)state;
    struct setting s = make_setting();
    braid_resource first = s.first;
    check_ok(braid_graph_add_kernel(
        s.graph,
        &(braid_kernel_node){ .kernel = &kernel, BRAID_ARGS(braid_resource_address(&first)) },
        NULL));
    check_fails(plan(&s), BRAID_INVALID_ARGUMENT, "argument 0 is an address in buffer 'first'");
    s = make_setting();
    check_ok(braid_graph_add_kernel(
        s.graph, &(braid_kernel_node){ .kernel = &with_grid, .grid_from = memory }, NULL));
    check_fails(plan(&s), BRAID_INVALID_ARGUMENT, ".grid_from is an address in buffer 'first'");
}

static braid_status plan_copy(struct setting *s, char *to, const char *from, uint64_t num,
                              braid_resource written, braid_resource read)
{
    const braid_access accesses[] = { { written, BRAID_WRITE }, { read, BRAID_READ } };
    const braid_copy copy = {
        .node = { .accesses = accesses, .num_accesses = 2 }, .to = to, .from = from, .bytes = num
    };
    check_ok(braid_graph_add_copy(s->graph, &copy, NULL));
    return plan(s);
}

static void copies_end_within_their_buffers(void **state)
{
    (void)state;
    static char room[3 * 4096];
    char *elsewhere = room + 4096; // no copy reaches it, wherever the room is
    struct setting s = make_setting();
    check_ok(plan_copy(&s, memory, memory + 3 * bytes, bytes, s.first, s.third));
    s = make_setting();
    check_fails(plan_copy(&s, memory, elsewhere, 4096, s.first, s.third), BRAID_INVALID_ARGUMENT,
                "node 0 'copy': .to: 4096 bytes end 4032 beyond buffer 'second'");
    s = make_setting();
    check_fails(plan_copy(&s, elsewhere, memory + 3 * bytes + 1, bytes, s.first, s.third),
                BRAID_INVALID_ARGUMENT, ".from: 32 bytes end 1 beyond buffer 'third'");
    s = make_setting();
    check_fails(plan_copy(&s, memory, elsewhere, bytes, s.second, s.third), BRAID_INVALID_ARGUMENT,
                "node 0 'copy': .to reaches buffer 'first', to which the node declares no access");
    s = make_setting(); // from one buffer into the next, which it accesses too
    check_ok(plan_copy(&s, memory + 8, elsewhere, 2 * bytes - 8, s.first, s.second));
    s = make_setting();
    check_fails(plan_copy(&s, memory + 8, elsewhere, bytes, s.first, s.third),
                BRAID_INVALID_ARGUMENT, ".to reaches buffer 'second'");
    s = make_setting(); // it begins before a buffer
    check_fails(plan_copy(&s, memory + 2 * bytes, elsewhere, bytes + 1, s.first, s.second),
                BRAID_INVALID_ARGUMENT, ".to reaches buffer 'third'");
    s = make_setting();
    check_ok(plan_copy(&s, memory + 2 * bytes, elsewhere, bytes, s.first, s.second));
}

static void fills_end_within_their_buffers(void **state)
{
    (void)state;
    for (uint64_t num = 7; num <= 9; num++) {
        struct setting s = make_setting();
        const braid_access access = { s.third, BRAID_WRITE };
        const braid_fill fill = { .node = { .accesses = &access, .num_accesses = 1 },
                                  .to = memory + 3 * bytes,
                                  .value_bytes = 4,
                                  .num_values = num };
        check_ok(braid_graph_add_fill(s.graph, &fill, NULL));
        if (num <= 8)
            check_ok(plan(&s));
        else
            check_fails(plan(&s), BRAID_INVALID_ARGUMENT,
                        "node 0 'fill': .to: 36 bytes end 4 beyond buffer 'third'");
    }
}

// Plans half of a pointer, checked or not, or of a number.
static braid_status plan_half(struct setting *s, const char *pointer, size_t pointer_bytes)
{
    const uint32_t number = 7;
    const braid_access access = { s->first, BRAID_READ };
    const braid_kernel_node launch = { .node = { .accesses = &access, .num_accesses = 1 },
                                       .kernel = &kernel,
                                       BRAID_ARGS(BRAID_ARG(number),
                                                  pointer_of(&pointer, pointer_bytes)) };
    braid_node node;
    braid_parameter half;
    check_ok(braid_graph_add_kernel(s->graph, &launch, &node));
    check_ok(braid_graph_add_parameter(s->graph, "half", 4, &half));
    check_ok(braid_graph_use_parameter(s->graph, half, &(braid_parameter_use){ .node = node }));
    check_ok(braid_graph_use_parameter(
        s->graph, half,
        &(braid_parameter_use){ .node = node, .argument = 1, .argument_offset = 4 }));
    return plan(s);
}

static void no_parameter_is_half_a_pointer(void **state)
{
    (void)state;
    struct setting s = make_setting();
    check_fails(plan_half(&s, memory + 5, sizeof(void *)), BRAID_INVALID_ARGUMENT,
                "node 0 'kernel': parameter 'half' changes 4 of the 8 bytes of argument 1, an "
                "address in buffer 'first'");
    s = make_setting();
    check_ok(plan_half(&s, memory + 5, 0));
    s = make_setting();
    check_ok(plan_half(&s, NULL, sizeof(void *)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_argument_needs_an_access),
        cmocka_unit_test(a_part_of_the_buffer_is_an_access),
        cmocka_unit_test(the_end_of_a_buffer_is_no_other_buffer),
        cmocka_unit_test(addresses_of_resources_need_an_access_too),
        cmocka_unit_test(no_parameter_is_half_a_pointer),
        cmocka_unit_test(copies_end_within_their_buffers),
        cmocka_unit_test(fills_end_within_their_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
