// SPDX-License-Identifier: Apache-2.0
// Memory of both kinds, copies in every direction and fills of every width, on streams and as
// nodes.
#include <string.h>
#include <time.h>

#include "contract/groups.h"
#include "contract/nodes.h"

enum { num_bytes = 4099 }; // odd on purpose

static void both_kinds_of_memory_are_aligned(void **state)
{
    struct contract *contract = *state;
    for (uint64_t bytes = 1; bytes < 100000; bytes = bytes * 3 + 1)
        for (int kind = 0; kind < 2; kind++) {
            void *memory;
            check_ok(
                braid_memory_allocate(contract->device, (braid_memory_kind)kind, bytes, &memory));
            assert_int_equal((uintptr_t)memory % 256, 0);
            braid_memory_free(contract->device, memory);
        }
    braid_memory_free(contract->device, NULL);
}

static void impossible_allocations_are_refused(void **state)
{
    struct contract *contract = *state;
    braid_device *device = contract->device;
    void *memory = contract;
    check_fails(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, 0, &memory),
                BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_memory_allocate(device, (braid_memory_kind)7, 64, &memory),
                BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, 64, NULL),
                BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_memory_allocate(NULL, BRAID_MEMORY_DEVICE, 64, &memory),
                BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, UINT64_MAX - 5, &memory),
                BRAID_NO_MEMORY, "");
    check_fails(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, UINT64_C(1) << 56, &memory),
                BRAID_NO_MEMORY, "");
    assert_ptr_equal(memory, contract);
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, 64, &memory)); // and goes on
    braid_memory_free(device, memory);
}

static void write_pattern(unsigned char *bytes, uint32_t seed)
{
    for (uint32_t i = 0; i < num_bytes; i++)
        bytes[i] = (unsigned char)(i * 7 + seed);
}

static void check_pattern(const unsigned char *bytes, uint32_t seed)
{
    unsigned char expected[num_bytes];
    write_pattern(expected, seed);
    assert_memory_equal(bytes, expected, num_bytes);
}

static void copies_go_in_every_direction(void **state)
{
    struct contract *contract = *state;
    unsigned char *host[2], *device[2];
    for (int i = 0; i < 2; i++) {
        host[i] = contract_memory(contract, BRAID_MEMORY_HOST, num_bytes);
        device[i] = contract_memory(contract, BRAID_MEMORY_DEVICE, num_bytes);
    }
    braid_graph *graph = contract_graph(contract);
    braid_node up = add_copy(graph, (braid_node_options){ 0 }, device[0], host[0], num_bytes);
    braid_node across =
        add_copy(graph, (braid_node_options){ AFTER(up) }, device[1], device[0], num_bytes);
    add_copy(graph, (braid_node_options){ AFTER(across) }, host[1], device[1], num_bytes);
    braid_exec *exec = contract_exec(contract, graph);
    braid_stream *stream = contract_stream(contract);
    for (uint32_t seed = 0; seed < 3; seed++) {
        write_pattern(host[0], seed);
        check_ok(braid_exec_launch(exec, stream));
        check_ok(braid_exec_wait(exec));
        check_pattern(host[1], seed);
        write_pattern(host[0], seed + 100);
        check_ok(braid_stream_copy(stream, device[0], host[0], num_bytes));
        check_ok(braid_stream_copy(stream, device[1], device[0], num_bytes));
        check_ok(braid_stream_copy(stream, host[1], device[1], num_bytes));
        check_ok(braid_stream_wait(stream));
        check_pattern(host[1], seed + 100);
    }
}

// Writes 1, 2 or 4 bytes a value and not a byte beside them.
static void fills_write_values_of_every_width(void **state)
{
    struct contract *contract = *state;
    unsigned char *device = contract_memory(contract, BRAID_MEMORY_DEVICE, num_bytes);
    const uint32_t value = 0x89abcdef;
    for (uint32_t width = 1; width <= 4; width *= 2)
        for (int as_node = 0; as_node < 2; as_node++) {
            uint64_t num = 1000 / width;
            check_ok(braid_stream_fill(braid_device_get_default_stream(contract->device), device,
                                       0x11, 1, num_bytes));
            if (as_node) {
                braid_graph *graph = contract_graph(contract);
                braid_fill fill = {
                    .to = device + width, .value = value, .value_bytes = width, .num_values = num
                };
                check_ok(braid_graph_add_fill(graph, &fill, NULL));
                check_ok(braid_exec_launch(contract_exec(contract, graph), NULL));
            } else {
                check_ok(braid_stream_fill(braid_device_get_default_stream(contract->device),
                                           device + width, value, width, num));
            }
            check_ok(braid_stream_wait(braid_device_get_default_stream(contract->device)));
            unsigned char seen[num_bytes], expected[num_bytes];
            contract_read(contract, seen, device, num_bytes);
            memset(expected, 0x11, num_bytes);
            for (uint64_t i = 0; i < num; i++)
                memcpy(expected + width * (i + 1), &value, width); // little-endian machines
            assert_memory_equal(seen, expected, num_bytes);
        }
}

static void a_fill_without_a_width_writes_bytes(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 2), seen[2];
    braid_stream *stream = braid_device_get_default_stream(contract->device);
    for (int as_node = 0; as_node < 2; as_node++) {
        check_ok(braid_stream_fill(stream, data, 0, 4, 2));
        if (as_node) {
            braid_graph *graph = contract_graph(contract);
            check_ok(braid_graph_add_fill(
                graph, &(braid_fill){ .to = data, .value = 0xab, .num_values = 5 }, NULL));
            check_ok(braid_exec_launch(contract_exec(contract, graph), NULL));
        } else {
            check_ok(braid_stream_fill(stream, data, 0xab, 0, 5));
        }
        check_ok(braid_stream_wait(stream));
        contract_read(contract, seen, data, sizeof(seen));
        assert_int_equal(seen[0], 0xabababab);
        assert_int_equal(seen[1], 0xab);
    }
}

static void the_device_describes_itself(void **state)
{
    struct contract *contract = *state;
    braid_device_info info;
    braid_device_get_info(contract->device, &info);
    assert_true(strlen(info.name) > 0);
    assert_string_equal(info.backend, contract->backend);
    assert_true(info.memory_bytes > 0);
    assert_true(info.num_units > 0);
    braid_backend_info backend;
    check_fails(braid_backend_get_info("abacus", &backend), BRAID_INVALID_ARGUMENT, "abacus");
    if (strcmp(contract->backend, "skeleton") == 0) // which is no backend of the library
        return;
    check_ok(braid_backend_get_info(contract->backend, &backend));
    assert_string_equal(backend.name, contract->backend);
    assert_true(backend.num_devices > 0);
}

static void devices_that_are_not_there_are_refused(void **state)
{
    (void)state;
    braid_device *device;
    check_fails(braid_device_open(&(braid_device_options){ .backend = "abacus" }, &device),
                BRAID_INVALID_ARGUMENT, "abacus");
    braid_device_options options = { .backend = contract_backend(), .ordinal = 1000 };
    braid_status status = braid_device_open(&options, &device);
    assert_true(status == BRAID_INVALID_ARGUMENT || status == BRAID_UNAVAILABLE);
    check_fails(braid_device_open(NULL, NULL), BRAID_INVALID_ARGUMENT, "");
}

// The program's own memory: on GPUs pageable, which a driver may read when a copy is queued, or
// wait for on the host. Static, so that it outlives the exec also where a test fails.
static struct own_memory {
    uint32_t from[64], to[64], last[64];
} own;

static void write_own(void *user)
{
    (void)user;
    nanosleep(&(struct timespec){ .tv_nsec = 3000000 }, NULL); // later than anything is queued
    for (uint32_t i = 0; i < 64; i++)
        own.from[i] += i + 1;
}

static void copies_of_the_programs_own_memory_keep_their_place(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 64), *host = contract_host_numbers(contract, 64);
    braid_graph *graph = contract_graph(contract);
    own = (struct own_memory){ 0 };
    braid_node write = add_host(graph, (braid_node_options){ 0 }, write_own, NULL);
    braid_node up = add_copy(graph, (braid_node_options){ AFTER(write) }, data, own.from, 256);
    braid_node work = add_axpy(graph, (braid_node_options){ AFTER(up) }, data, data, 3, 1, 64);
    braid_node down = add_copy(graph, (braid_node_options){ AFTER(work) }, own.to, data, 256);
    braid_node over = add_copy(graph, (braid_node_options){ AFTER(down) }, host, own.to, 256);
    braid_node fill = add_fill(graph, (braid_node_options){ AFTER(over) }, host, 77, 1);
    add_copy(graph, (braid_node_options){ AFTER(fill) }, own.last, host, 256);
    braid_exec *exec = contract_exec(contract, graph);
    for (int frame = 0; frame < 3; frame++)
        check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(own.last[0], 77);
    for (uint32_t i = 1; i < 64; i++)
        assert_int_equal(own.last[i], 3 * 3 * (i + 1) + 1);
}

static void launch_behind_gate(struct contract *contract, const braid_graph *graph, int frames)
{
    braid_exec *exec = contract_exec(contract, graph);
    braid_stream *stream = contract_stream(contract);
    struct gate gate = contract_close_by_host(contract, stream);
    for (int frame = 0; frame < frames; frame++)
        check_ok(braid_exec_launch(exec, stream));
    check_still_closed(gate);
    gate_open(gate);
    check_ok(braid_exec_wait(exec));
}

static void copies_and_fills_of_host_memory_do_not_block_a_launch(void **state)
{
    struct contract *contract = *state;
    uint32_t *host = contract_host_numbers(contract, 128);
    braid_graph *graph = contract_graph(contract);
    own = (struct own_memory){ .from = { 5, 6, 7 } };
    braid_node in = add_copy(graph, (braid_node_options){ 0 }, host, own.from, 256);
    braid_node fill = add_fill(graph, (braid_node_options){ AFTER(in) }, host + 1, 77, 1);
    braid_node over = add_copy(graph, (braid_node_options){ AFTER(fill) }, host + 64, host, 256);
    add_copy(graph, (braid_node_options){ AFTER(over) }, own.to, host + 64, 256);
    launch_behind_gate(contract, graph, 3);
    assert_int_equal(own.to[0], 5);
    assert_int_equal(own.to[1], 77);
    assert_int_equal(own.to[2], 7);
}

static void copies_of_the_programs_own_memory_do_not_block_a_launch(void **state)
{
    struct contract *contract = *state;
    // AMD's 5.2.3 waits on the host for a callback that follows copies of a frame in flight.
    bool one = strcmp(contract->backend, "hip") == 0;
    uint32_t *data = contract_numbers(contract, 64);
    braid_graph *graph = contract_graph(contract);
    own = (struct own_memory){ .from = { 5, 6, 7 } };
    braid_node up = add_copy(graph, (braid_node_options){ 0 }, data, own.from, 256);
    add_copy(graph, (braid_node_options){ AFTER(up) }, own.to, data, 256);
    launch_behind_gate(contract, graph, one ? 1 : 3);
    assert_memory_equal(own.to, own.from, sizeof(own.to));
}

int run_memory(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(both_kinds_of_memory_are_aligned),
        contract_test(impossible_allocations_are_refused),
        contract_test(copies_go_in_every_direction),
        contract_test(fills_write_values_of_every_width),
        contract_test(a_fill_without_a_width_writes_bytes),
        contract_test(the_device_describes_itself),
        contract_test(devices_that_are_not_there_are_refused),
        contract_test(copies_of_the_programs_own_memory_keep_their_place),
        contract_test(copies_and_fills_of_host_memory_do_not_block_a_launch),
        contract_test(copies_of_the_programs_own_memory_do_not_block_a_launch),
    };
    return contract_run("memory is copied and filled", tests);
}
