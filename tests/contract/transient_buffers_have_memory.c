// SPDX-License-Identifier: Apache-2.0
// An exec allocates the transient buffers of its graph: nodes of every kind are given addresses
// that belong to it, and buffers share memory only where that goes unnoticed.
#include "contract/groups.h"
#include "contract/nodes.h"
#include "support/failing_memory.h"

enum { num_numbers = 97, num_stages = 9, num_chains = 4 };

static braid_resource add_transient(braid_graph *graph, const char *name, uint64_t bytes,
                                    uint64_t alignment)
{
    braid_resource resource;
    check_ok(braid_graph_add_transient(graph, name, bytes, alignment, &resource));
    return resource;
}

// to = from * factor + addend, from buffer to buffer.
static void add_step(braid_graph *graph, braid_resource to, braid_resource from, uint32_t factor,
                     uint32_t addend)
{
    add_axpy_of(graph, to, from, factor, addend, num_numbers);
}

struct chains {
    braid_graph *graph;
    uint32_t *begin, *end; // a part of each for each chain
};

// Each chain goes from a part of `begin` through transient buffers to a part of `end`, which is
// begin * 3^num_stages + something.
static struct chains make_chains(struct contract *contract)
{
    struct chains chains = { contract_graph(contract),
                             contract_numbers(contract, num_chains * num_numbers),
                             contract_numbers(contract, num_chains * num_numbers) };
    uint64_t bytes = num_numbers * sizeof(uint32_t);
    braid_resource begin, end;
    check_ok(
        braid_graph_add_buffer(chains.graph, "begin", chains.begin, num_chains * bytes, &begin));
    check_ok(braid_graph_add_buffer(chains.graph, "end", chains.end, num_chains * bytes, &end));
    for (uint32_t c = 0; c < num_chains; c++) {
        braid_resource last, to;
        check_ok(braid_graph_add_range(chains.graph, begin, c * bytes, bytes, &last));
        for (uint32_t i = 0; i < num_stages - 1; i++) {
            to = add_transient(chains.graph, "between", bytes, i == 3 ? 4096 : 0);
            add_step(chains.graph, to, last, 3, i + c);
            last = to;
        }
        check_ok(braid_graph_add_range(chains.graph, end, c * bytes, bytes, &to));
        add_step(chains.graph, to, last, 3, num_stages - 1 + c);
    }
    return chains;
}

static uint32_t expect(uint32_t value, uint32_t chain)
{
    for (uint32_t i = 0; i < num_stages; i++)
        value = value * 3 + i + chain;
    return value;
}

static void check_chains(struct contract *contract, const struct chains *chains, uint32_t seed)
{
    uint32_t seen[num_chains * num_numbers];
    contract_read(contract, seen, chains->end, sizeof(seen));
    for (uint32_t i = 0; i < num_chains * num_numbers; i++)
        assert_int_equal(seen[i], expect(seed + i, i / num_numbers));
}

static void write_begin(struct contract *contract, const struct chains *chains, uint32_t seed)
{
    uint32_t numbers[num_chains * num_numbers];
    for (uint32_t i = 0; i < num_chains * num_numbers; i++)
        numbers[i] = seed + i;
    contract_write(contract, chains->begin, numbers, sizeof(numbers));
}

static void kernels_share_memory_unnoticed(void **state)
{
    struct contract *contract = *state;
    struct chains chains = make_chains(contract);
    braid_exec *exec = contract_exec(contract, chains.graph);
    for (uint32_t frame = 0; frame < 20; frame++) {
        write_begin(contract, &chains, 1000 * frame);
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        check_chains(contract, &chains, 1000 * frame);
    }
}

static void the_exec_says_how_much(void **state)
{
    struct contract *contract = *state;
    struct chains chains = make_chains(contract);
    braid_exec *exec = contract_exec(contract, chains.graph);
    braid_exec_info info;
    braid_exec_get_info(exec, &info);
    const uint64_t all = num_chains * ((num_stages - 2) * 512 + 4096);
    assert_int_equal(info.unshared_transient_bytes, all);
    if (contract_places() == 1) // with several places, each has an arena, and replicas
        assert_true(info.transient_bytes < all * 2 / 3);
    assert_true(info.transient_bytes >= 4096);
    assert_true(contract->pool || info.memory_bytes >= info.transient_bytes);
    braid_graph *none = contract_graph(contract);
    add_empty(none, (braid_node_options){ 0 });
    if (contract_islands() == BRAID_ISLANDS_WHOLE)
        return; // nothing to put into one
    braid_exec_get_info(contract_exec(contract, none), &info);
    assert_int_equal(info.memory_bytes, 0);
}

// A fill, a copy from the host, a kernel on a range, a copy within the device, and one back.
static void copies_and_fills_are_given_addresses(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    uint32_t *from = contract_host_numbers(contract, num_numbers);
    uint32_t *back = contract_host_numbers(contract, 2 * num_numbers);
    uint64_t bytes = num_numbers * sizeof(uint32_t);
    braid_resource filled = add_transient(graph, "filled", 2 * bytes, 0), half, copied;
    check_ok(braid_graph_add_range(graph, filled, bytes, bytes, &half));
    copied = add_transient(graph, "copied", 2 * bytes, 0);
    check_ok(braid_graph_add_fill(graph,
                                  &(braid_fill){ .node = { USES({ filled, BRAID_WRITE }) },
                                                 .to_resource = filled,
                                                 .value = 77,
                                                 .value_bytes = 4,
                                                 .num_values = 2 * num_numbers },
                                  NULL));
    check_ok(braid_graph_add_copy(graph,
                                  &(braid_copy){ .node = { USES({ half, BRAID_WRITE }) },
                                                 .to_resource = half,
                                                 .from = from,
                                                 .bytes = bytes },
                                  NULL));
    check_ok(braid_graph_add_copy(
        graph,
        &(braid_copy){ .node = { USES({ filled, BRAID_READ }, { copied, BRAID_WRITE }) },
                       .to_resource = copied,
                       .from_resource = filled,
                       .bytes = 2 * bytes },
        NULL));
    check_ok(braid_graph_add_copy(graph,
                                  &(braid_copy){ .node = { USES({ copied, BRAID_READ }) },
                                                 .to = back,
                                                 .from_resource = copied,
                                                 .bytes = 2 * bytes },
                                  NULL));
    braid_exec *exec = contract_exec(contract, graph);
    for (uint32_t frame = 0; frame < 5; frame++) {
        for (uint32_t i = 0; i < num_numbers; i++)
            from[i] = frame + i;
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        for (uint32_t i = 0; i < num_numbers; i++) {
            assert_int_equal(back[i], 77);
            assert_int_equal(back[num_numbers + i], frame + i);
        }
    }
}

static void add_one(void *user)
{
    ++*(uint32_t *)user;
}

static void host_calls_are_given_addresses(void **state)
{
    struct contract *contract = *state;
    if (!contract_is_on_host()) {
        print_message("skipped: memory of the device cannot be read in a host call\n");
        skip();
    }
    braid_graph *graph = contract_graph(contract);
    uint32_t *number = contract_numbers(contract, 1);
    braid_resource known, sum = add_transient(graph, "sum", 64, 64);
    check_ok(braid_graph_add_buffer(graph, "number", number, sizeof(*number), &known));
    check_ok(braid_graph_add_copy(
        graph,
        &(braid_copy){ .node = { USES({ known, BRAID_READ }, { sum, BRAID_WRITE }) },
                       .to_resource = sum,
                       .from_resource = known,
                       .bytes = sizeof(*number) },
        NULL));
    check_ok(braid_graph_add_host_call(
        graph,
        &(braid_host_call){
            .node = { USES({ sum, BRAID_READ_WRITE }) }, .call = add_one, .user_resource = sum },
        NULL));
    check_ok(braid_graph_add_copy(
        graph,
        &(braid_copy){ .node = { USES({ known, BRAID_WRITE }, { sum, BRAID_READ }) },
                       .to_resource = known,
                       .from_resource = sum,
                       .bytes = sizeof(*number) },
        NULL));
    braid_exec *exec = contract_exec(contract, graph);
    for (uint32_t frame = 1; frame < 5; frame++) {
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        assert_int_equal(contract_number(contract, number), frame);
    }
}

// Nodes that run at once keep what they write into scratch, though all name one; what runs before
// and after them shares its memory.
static void scratch_is_each_nodes_own(void **state)
{
    struct contract *contract = *state;
    enum { num_keepers = 6, num_rows = 3, num_frames = 12 };
    braid_graph *graph = contract_graph(contract);
    const uint32_t num = num_numbers;
    const uint64_t bytes = num_numbers * sizeof(uint32_t), delay_ns = 100000;
    uint32_t *results = contract_numbers(contract, num_keepers * num_numbers);
    braid_resource scratch, result[num_keepers];
    check_ok(braid_graph_add_scratch(graph, "scratch", bytes, 512, &scratch));
    for (uint32_t i = 0; i < num_keepers; i++)
        check_ok(
            braid_graph_add_buffer(graph, "result", results + i * num_numbers, bytes, &result[i]));
    for (uint32_t i = 0; i < num_keepers * num_rows; i++) {
        uint32_t *to = results + i % num_keepers * num_numbers, value = 1000 * i;
        check_ok(braid_graph_add_kernel(
            graph,
            &(braid_kernel_node){ .node = { USES({ result[i % num_keepers], BRAID_READ_WRITE }) },
                                  .kernel = &test_keep,
                                  .block = { 32, 1, 1 },
                                  BRAID_ARGS(braid_resource_address(&scratch), BRAID_ARG(to),
                                             BRAID_ARG(value), BRAID_ARG(num),
                                             BRAID_ARG(delay_ns)) },
            NULL));
    }
    braid_exec *exec = contract_exec(contract, graph);
    braid_exec_info info;
    braid_exec_get_info(exec, &info);
    assert_in_range(info.transient_bytes, 512, num_keepers * 512);
    assert_int_equal(info.unshared_transient_bytes, num_keepers * num_rows * 512);
    for (uint32_t frame = 0; frame < num_frames; frame++)
        check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    uint32_t seen[num_keepers * num_numbers];
    contract_read(contract, seen, results, sizeof(seen));
    for (uint32_t i = 0; i < num_keepers * num_numbers; i++) {
        uint32_t keeper = (num_rows - 1) * num_keepers + i / num_numbers;
        assert_int_equal(seen[i], 1000 * keeper + i % num_numbers);
    }
}

// Two nodes at once write as many numbers as they are told, and so many more frame by frame.
static void scratch_grows_between_launches(void **state)
{
    struct contract *contract = *state;
    enum { num_keepers = 2, most = 4096 };
    const uint64_t delay_ns = 20000;
    uint32_t num = 16;
    uint32_t *results = contract_numbers(contract, num_keepers * most);
    braid_graph *graph = contract_graph(contract);
    braid_resource scratch, result[num_keepers];
    braid_parameter size;
    check_ok(braid_graph_add_scratch(graph, "scratch", num * sizeof(uint32_t), 512, &scratch));
    check_ok(braid_graph_add_parameter(graph, "size", sizeof(num), &size));
    for (uint32_t i = 0; i < num_keepers; i++) {
        uint32_t *to = results + i * most, value = 1000 * i;
        braid_node node;
        check_ok(braid_graph_add_buffer(graph, "result", to, most * sizeof(uint32_t), &result[i]));
        check_ok(braid_graph_set_home(graph, result[i], BRAID_EVERYWHERE));
        check_ok(braid_graph_add_kernel(
            graph,
            &(braid_kernel_node){
                .node = { USES({ result[i], BRAID_READ_WRITE }), .place = contract_place(i) },
                .kernel = &test_keep,
                .block = { 32, 1, 1 },
                BRAID_ARGS(braid_resource_address(&scratch), BRAID_ARG(to), BRAID_ARG(value),
                           BRAID_ARG(num), BRAID_ARG(delay_ns)) },
            &node));
        check_ok(braid_graph_use_parameter(graph, size,
                                           &(braid_parameter_use){ .node = node, .argument = 3 }));
    }
    braid_exec *exec = contract_exec(contract, graph);
    braid_exec_info info, before;
    braid_exec_get_info(exec, &before);
    for (; num <= most; num *= 4) {
        check_ok(braid_exec_set_scratch(exec, scratch, num * sizeof(uint32_t)));
        check_ok(braid_exec_set_parameter(exec, size, &num));
        for (int frame = 0; frame < 4; frame++)
            check_ok(braid_exec_launch(exec, NULL));
    }
    check_ok(braid_exec_set_scratch(exec, scratch, 8)); // less is no change
    check_ok(braid_exec_wait(exec));
    braid_exec_get_info(exec, &info);
    uint64_t arena = num_keepers * most * sizeof(uint32_t);
    assert_int_equal(info.transient_bytes, arena);
    if (!contract->pool)
        assert_int_equal(info.memory_bytes - before.memory_bytes,
                         (arena - before.transient_bytes) * info.frames_in_flight);
    static uint32_t seen[num_keepers * most];
    contract_read(contract, seen, results, sizeof(seen));
    for (uint32_t i = 0; i < num_keepers * most; i++)
        assert_int_equal(seen[i], 1000 * (i / most) + i % most);
}

// Kernels, copies, fills and calls that are to use something else instead of what the exec has for
// them go on doing so when the others are given other memory.
static void what_the_program_has_set_stays_when_scratch_grows(void **state)
{
    struct contract *contract = *state;
    enum { least = 16, most = 4096, num_keepers = 2 };
    const uint32_t value = 7;
    const uint64_t delay_ns = 0, bytes = most * sizeof(uint32_t);
    uint32_t *own = contract_numbers(contract, most), num = least;
    uint32_t *results = contract_numbers(contract, num_keepers * most);
    braid_graph *graph = contract_graph(contract);
    braid_resource scratch, result = add_resource(graph, "result");
    braid_node keepers[num_keepers];
    braid_parameter size;
    check_ok(braid_graph_add_scratch(graph, "scratch", least * sizeof(uint32_t), 0, &scratch));
    check_ok(braid_graph_add_parameter(graph, "size", sizeof(num), &size));
    for (uint32_t i = 0; i < num_keepers; i++) {
        uint32_t *to = results + i * most;
        check_ok(braid_graph_add_kernel(
            graph,
            &(braid_kernel_node){ .node = { USES({ result, BRAID_READ_WRITE }) },
                                  .kernel = &test_keep,
                                  .block = { 32, 1, 1 },
                                  BRAID_ARGS(braid_resource_address(&scratch), BRAID_ARG(to),
                                             BRAID_ARG(value), BRAID_ARG(num),
                                             BRAID_ARG(delay_ns)) },
            &keepers[i]));
        check_ok(braid_graph_use_parameter(
            graph, size, &(braid_parameter_use){ .node = keepers[i], .argument = 3 }));
    }
    braid_exec *exec = contract_exec(contract, graph);
    check_ok(braid_exec_set_arg(exec, keepers[0], 0, BRAID_ARG(own)));
    static uint32_t seen[most];
    for (; num <= most; num *= 16) {
        check_ok(braid_exec_set_scratch(exec, scratch, num * sizeof(uint32_t)));
        check_ok(braid_exec_set_parameter(exec, size, &num));
        for (uint32_t frame = 0; frame < 4; frame++)
            check_ok(braid_exec_launch(exec, NULL));
    }
    check_ok(braid_exec_wait(exec));
    for (uint32_t i = 0; i <= num_keepers; i++) {
        contract_read(contract, seen, i < num_keepers ? results + i * most : own, bytes);
        for (uint32_t k = 0; k < most; k++)
            assert_int_equal(seen[k], value + k);
    }
}

static void also_in_copies_fills_and_calls(void **state)
{
    struct contract *contract = *state;
    const uint32_t numbers[2] = { 11, 22 };
    uint32_t *own = contract_numbers(contract, 4);
    uint32_t *counted = contract_host_numbers(contract, 1);
    braid_graph *graph = contract_graph(contract);
    braid_resource buffer = add_transient(graph, "buffer", sizeof(numbers), 0), scratch;
    braid_node fill, copy, call;
    check_ok(braid_graph_add_scratch(graph, "scratch", 256, 0, &scratch));
    check_ok(braid_graph_add_fill(graph,
                                  &(braid_fill){ .node = { USES({ buffer, BRAID_WRITE }) },
                                                 .to_resource = buffer,
                                                 .value = 5,
                                                 .value_bytes = 4,
                                                 .num_values = 2 },
                                  &fill));
    check_ok(braid_graph_add_copy(graph,
                                  &(braid_copy){ .node = { USES({ buffer, BRAID_READ }) },
                                                 .to = own,
                                                 .from_resource = buffer,
                                                 .bytes = sizeof(*own) },
                                  &copy));
    check_ok(braid_graph_add_host_call(
        graph, &(braid_host_call){ .call = add_one, .user_resource = scratch }, &call));
    braid_exec *exec = contract_exec(contract, graph);
    contract_write(contract, own + 1, numbers, sizeof(numbers));
    check_ok(
        braid_exec_set(exec, fill, BRAID_TARGET_FILL, 0, &(braid_fill_values){ own + 2, 2, 5 }));
    check_ok(
        braid_exec_set(exec, copy, BRAID_TARGET_COPY, 0, &(braid_copy_values){ NULL, own + 1, 0 }));
    check_ok(braid_exec_set(exec, call, BRAID_TARGET_USER, 0, &(void *){ counted }));
    for (uint32_t frame = 1; frame < 5; frame++) {
        check_ok(braid_exec_set_scratch(exec, scratch, frame * 4096));
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        assert_int_equal(*counted, frame);
    }
    const uint32_t expected[4] = { 11, 11, 5, 5 };
    uint32_t seen[4];
    contract_read(contract, seen, own, sizeof(seen));
    assert_memory_equal(seen, expected, sizeof(seen));
}

// Nothing is queued, and the next launch tries again.
static void scratch_that_cannot_grow_fails_the_launch(void **state)
{
    struct contract *contract = *state;
    const uint32_t num = num_numbers, value = 7;
    const uint64_t bytes = num * sizeof(uint32_t), delay_ns = 0, huge = UINT64_C(1) << 48;
    uint32_t *to = contract_numbers(contract, num);
    braid_graph *graph = contract_graph(contract);
    braid_resource scratch, other = add_resource(graph, "other");
    check_ok(braid_graph_add_scratch(graph, "scratch", bytes, 0, &scratch));
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .node = { USES({ other, BRAID_READ_WRITE }) },
                              .kernel = &test_keep,
                              .block = { 32, 1, 1 },
                              BRAID_ARGS(braid_resource_address(&scratch), BRAID_ARG(to),
                                         BRAID_ARG(value), BRAID_ARG(num), BRAID_ARG(delay_ns)) },
        NULL));
    braid_exec *exec = contract_exec(contract, graph);
    braid_exec_info before, info;
    braid_exec_get_info(exec, &before);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_set_scratch(exec, scratch, huge));
    for (int i = 0; i < 2; i++)
        check_fails(braid_exec_launch(exec, NULL), BRAID_NO_MEMORY, "transient buffers");
    check_ok(braid_exec_set_scratch(exec, scratch, bytes)); // which it has
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(braid_exec_get_num_launched(exec), 2);
    check_fails(braid_exec_set_scratch(exec, scratch, 0), BRAID_INVALID_ARGUMENT,
                "scratch 'scratch': 0 bytes");
    check_fails(braid_exec_set_scratch(exec, scratch, huge + 1), BRAID_INVALID_ARGUMENT, "to 2^48");
    check_fails(braid_exec_set_scratch(exec, other, 64), BRAID_INVALID_ARGUMENT, "is no scratch");
    failing_memory_arm(1);
    check_ok(braid_exec_set_scratch(exec, scratch, 4 * bytes));
    assert_false(failing_memory_disarm());
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        failing_memory_arm(nth);
        braid_status status = braid_exec_launch(exec, NULL);
        failed = failing_memory_disarm();
        assert_int_equal(status, failed ? BRAID_NO_MEMORY : BRAID_OK);
    }
    check_ok(braid_exec_wait(exec));
    braid_exec_get_info(exec, &info);
    assert_true(info.transient_bytes > before.transient_bytes);
    assert_int_equal(braid_exec_get_num_launched(exec), 3);
    assert_int_equal(contract_number(contract, to + num - 1), value + num - 1);
}

// What cannot be allocated fails the exec, and nothing is left of it.
static void too_much_memory_is_refused(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    braid_resource huge = add_transient(graph, "huge", UINT64_C(1) << 48, 0);
    check_ok(braid_graph_add_fill(graph,
                                  &(braid_fill){ .node = { USES({ huge, BRAID_WRITE }) },
                                                 .to_resource = huge,
                                                 .num_values = 1 },
                                  NULL));
    braid_exec *exec = NULL;
    braid_exec_options options = { .mode = contract_mode() };
    check_fails(braid_exec_create(contract->device, graph, &options, &exec), BRAID_NO_MEMORY,
                "transient buffers");
    assert_null(exec);
}

int run_transients(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(kernels_share_memory_unnoticed),
        contract_test(the_exec_says_how_much),
        contract_test(copies_and_fills_are_given_addresses),
        contract_test(host_calls_are_given_addresses),
        contract_test(scratch_is_each_nodes_own),
        contract_test(scratch_grows_between_launches),
        contract_test(what_the_program_has_set_stays_when_scratch_grows),
        contract_test(also_in_copies_fills_and_calls),
        contract_test(scratch_that_cannot_grow_fails_the_launch),
        contract_test(too_much_memory_is_refused),
    };
    return contract_run("transient buffers have memory", tests);
}
