// SPDX-License-Identifier: Apache-2.0
// A copy or fill that changes ends within the resource or the buffer that it is led to.
#include "contract/groups.h"
#include "contract/nodes.h"

enum { num_words = 7 };

static braid_exec *make_exec(struct contract *contract, const braid_graph *graph, uint32_t frames)
{
    return contract_exec_with(contract, graph,
                              (braid_exec_options){ .frames_in_flight = frames,
                                                    .max_lanes = BRAID_ALL_LANES,
                                                    .fixed_lanes = true });
}

// While an end is a resource, a copy or fill must not go beyond that; elsewhere the program knows.
static void the_end_of_a_resource_is_kept(void **state)
{
    struct contract *contract = *state;
    uint32_t *memory = contract_numbers(contract, 32);
    braid_graph *graph = contract_graph(contract);
    braid_resource buffer, transient;
    braid_node in, out, fill;
    check_ok(braid_graph_add_buffer(graph, "buffer", memory, 16, &buffer));
    check_ok(braid_graph_add_transient(graph, "transient", 16, 0, &transient));
    const braid_copy copies[] = {
        { .node = { .name = "in", USES({ buffer, BRAID_READ }, { transient, BRAID_WRITE }) },
          .to_resource = transient,
          .from_resource = buffer,
          .bytes = 8 },
        { .node = { .name = "out", USES({ transient, BRAID_READ }, { buffer, BRAID_WRITE }) },
          .to = memory + 8,
          .from_resource = transient,
          .bytes = 8 },
    };
    check_ok(braid_graph_add_copy(graph, &copies[0], &in));
    check_ok(braid_graph_add_copy(graph, &copies[1], &out));
    check_ok(braid_graph_add_fill(
        graph,
        &(braid_fill){ .node = { .name = "fill", AFTER(out), USES({ buffer, BRAID_WRITE }) },
                       .to_resource = buffer,
                       .value = 7,
                       .value_bytes = 4,
                       .num_values = 1 },
        &fill));
    braid_exec *exec = make_exec(contract, graph, 2);
    check_fails(
        braid_exec_set(exec, in, BRAID_TARGET_COPY, 0, &(braid_copy_values){ NULL, NULL, 17 }),
        BRAID_INVALID_ARGUMENT, "'in'");
    check_fails(braid_exec_set(exec, out, BRAID_TARGET_COPY, 0,
                               &(braid_copy_values){ memory + 9, NULL, 17 }),
                BRAID_INVALID_ARGUMENT, "'out'");
    check_fails(
        braid_exec_set(exec, fill, BRAID_TARGET_FILL, 0, &(braid_fill_values){ NULL, 5, 5 }),
        BRAID_INVALID_ARGUMENT, "'fill'");
    check_ok(braid_exec_set(exec, in, BRAID_TARGET_COPY, 0,
                            &(braid_copy_values){ NULL, memory + 16, 16 }));
    check_ok(braid_exec_set(exec, out, BRAID_TARGET_COPY, 0,
                            &(braid_copy_values){ memory + 20, NULL, 16 }));
    check_ok(braid_exec_set(exec, fill, BRAID_TARGET_FILL, 0,
                            &(braid_fill_values){ memory + 24, 8, 5 }));
    const uint32_t numbers[4] = { 1, 2, 3, 4 };
    contract_write(contract, memory + 16, numbers, sizeof(numbers));
    for (int i = 0; i < 2; i++) // in both slots
        check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    uint32_t seen[32];
    contract_read(contract, seen, memory, sizeof(seen));
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(seen[i], i < 16 ? 0 : i < 24 ? 1 + i % 4 : 5);
}

// Nodes between `near`, a resource of num_words words, and `far`, memory of the program.
struct moved {
    braid_node out, in, fill; // from `near`, to it, and a fill of it
    braid_exec *exec;
};

static struct moved make_moved(struct contract *contract, uint32_t *near, uint32_t *far)
{
    struct moved moved;
    const uint64_t bytes = num_words * sizeof(uint32_t);
    braid_graph *graph = contract_graph(contract);
    braid_resource resource;
    check_ok(braid_graph_add_buffer(graph, "near", near, bytes, &resource));
    const braid_copy out = { .node = { .name = "out", USES({ resource, BRAID_READ }) },
                             .to = far,
                             .from_resource = resource,
                             .bytes = bytes };
    const braid_copy in = { .node = { .name = "in", USES({ resource, BRAID_WRITE }) },
                            .to_resource = resource,
                            .from = far,
                            .bytes = bytes };
    const braid_fill fill = { .node = { .name = "fill", USES({ resource, BRAID_WRITE }) },
                              .to_resource = resource,
                              .value_bytes = 4,
                              .num_values = num_words };
    check_ok(braid_graph_add_copy(graph, &out, &moved.out));
    check_ok(braid_graph_add_copy(graph, &in, &moved.in));
    check_ok(braid_graph_add_fill(graph, &fill, &moved.fill));
    moved.exec = make_exec(contract, graph, 2);
    return moved;
}

// An end with another address is no resource any more, so nothing is known of where that ends:
// neither in the call that moves it nor in later ones. The other end keeps its own.
static void an_end_that_moves_has_no_bound(void **state)
{
    enum { num_more = 3 * num_words };
    struct contract *contract = *state;
    uint32_t *near = contract_numbers(contract, num_words);
    uint32_t *memory = contract_numbers(contract, 4 * num_more), numbers[num_more];
    uint32_t *from = memory, *to = memory + num_more, *other = memory + 2 * num_more,
             *filled = memory + 3 * num_more;
    const uint64_t bytes = sizeof(numbers), too_many = (num_words + 1) * sizeof(uint32_t);
    struct moved moved = make_moved(contract, near, from);
    braid_exec *exec = moved.exec;
    check_fails(braid_exec_set(exec, moved.out, BRAID_TARGET_COPY, 0,
                               &(braid_copy_values){ to, near, too_many }),
                BRAID_INVALID_ARGUMENT, "'out'");
    check_fails(braid_exec_set(exec, moved.in, BRAID_TARGET_COPY, 0,
                               &(braid_copy_values){ NULL, other, too_many }),
                BRAID_INVALID_ARGUMENT, "'in'");
    check_ok(braid_exec_set(exec, moved.out, BRAID_TARGET_COPY, 0,
                            &(braid_copy_values){ to, from, bytes }));
    check_ok(braid_exec_set(exec, moved.in, BRAID_TARGET_COPY, 0,
                            &(braid_copy_values){ other, NULL, 0 }));
    check_ok(braid_exec_set(exec, moved.in, BRAID_TARGET_COPY, 0,
                            &(braid_copy_values){ NULL, NULL, bytes }));
    check_ok(braid_exec_set(exec, moved.fill, BRAID_TARGET_FILL, 0,
                            &(braid_fill_values){ filled, 0, 9 }));
    check_ok(braid_exec_set(exec, moved.fill, BRAID_TARGET_FILL, 0,
                            &(braid_fill_values){ NULL, num_more, 8 }));
    for (uint32_t i = 0; i < num_more; i++)
        numbers[i] = 100 + i;
    contract_write(contract, from, numbers, bytes);
    for (int i = 0; i < 2; i++) // in both slots
        check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    uint32_t seen[4 * num_more];
    contract_read(contract, seen, memory, sizeof(seen));
    for (uint32_t i = 0; i < 3; i++)
        assert_memory_equal(seen + i * num_more, numbers, bytes);
    for (uint32_t i = 0; i < num_more; i++)
        assert_int_equal(seen[3 * num_more + i], 8);
}

// Wherever they are led: into a declared buffer no further than to its end.
static void copies_and_fills_end_within_buffers(void **state)
{
    struct contract *contract = *state;
    uint32_t *memory = contract_numbers(contract, 32);
    braid_graph *graph = contract_graph(contract);
    braid_resource buffer;
    braid_parameter num_bytes;
    check_ok(braid_graph_add_buffer(graph, "buffer", memory, 16, &buffer));
    check_ok(braid_graph_add_parameter(graph, "bytes", sizeof(uint64_t), &num_bytes));
    braid_node copy = add_copy(graph, (braid_node_options){ .name = "moved" }, memory + 8,
                               memory + 16, 8 * sizeof(uint32_t));
    braid_node fill = add_fill(graph, (braid_node_options){ .name = "led" }, memory + 24, 4, 4);
    check_ok(braid_graph_use_parameter(
        graph, num_bytes, &(braid_parameter_use){ .node = copy, .target = BRAID_TARGET_BYTES }));
    braid_exec *exec = make_exec(contract, graph, 2);
    check_fails(
        braid_exec_set(exec, copy, BRAID_TARGET_COPY, 0, &(braid_copy_values){ memory, NULL, 0 }),
        BRAID_INVALID_ARGUMENT, "'moved': .to: 32 bytes end 16 beyond buffer 'buffer'");
    check_fails(braid_exec_set(exec, copy, BRAID_TARGET_COPY, 0,
                               &(braid_copy_values){ NULL, memory + 3, 8 }),
                BRAID_INVALID_ARGUMENT, "'moved': .from: 8 bytes end 4 beyond buffer 'buffer'");
    check_ok(
        braid_exec_set(exec, copy, BRAID_TARGET_COPY, 0, &(braid_copy_values){ memory, NULL, 8 }));
    const uint64_t fits = 16, exceeds = 20;
    check_ok(braid_exec_set_parameter(exec, num_bytes, &fits));
    check_fails(braid_exec_set_parameter(exec, num_bytes, &exceeds), BRAID_INVALID_ARGUMENT,
                "'moved': .to: 20 bytes end 4 beyond buffer 'buffer'");
    check_fails(
        braid_exec_set(exec, fill, BRAID_TARGET_FILL, 0, &(braid_fill_values){ memory + 1, 4, 5 }),
        BRAID_INVALID_ARGUMENT, "'led': .to: 16 bytes end 4 beyond buffer 'buffer'");
    const uint32_t numbers[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    contract_write(contract, memory + 16, numbers, sizeof(numbers));
    for (int i = 0; i < 2; i++) // in both slots
        check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    uint32_t seen[32];
    contract_read(contract, seen, memory, sizeof(seen));
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(seen[i], i < 4 ? i + 1 : i < 16 ? 0 : i < 24 ? i - 15 : i < 28 ? 4 : 0);
}

int run_bounds(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(the_end_of_a_resource_is_kept),
        contract_test(an_end_that_moves_has_no_bound),
        contract_test(copies_and_fills_end_within_buffers),
    };
    return contract_run("copies and fills keep their bounds", tests);
}
