// SPDX-License-Identifier: Apache-2.0
// Memory of all kinds, copies in every direction and fills of every width, on streams and as
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

static void managed_memory_is_the_hosts_and_the_devices(void **state)
{
    struct contract *contract = *state;
    void *memory = NULL;
    if (braid_memory_allocate(contract->device, BRAID_MEMORY_MANAGED, num_bytes, &memory))
        skip_because(braid_error_get_message());
    uint32_t *words = memory;
    words[0] = words[1] = 1;
    braid_prefetch there = { memory, num_bytes, false }, here = { memory, num_bytes, true };
    braid_graph *graph = contract_graph(contract);
    braid_node before = add_queue_call(graph, (braid_node_options){ .place = contract_place(0) },
                                       braid_queue_prefetch, &there);
    const braid_node_options options = { AFTER(before), .place = contract_place(0) };
    braid_node add = add_axpy(graph, options, words + 1, words, 2, 3, 1);
    add_queue_call(graph, (braid_node_options){ AFTER(add), .place = contract_place(0) },
                   braid_queue_prefetch, &here);
    braid_exec *exec = NULL;
    braid_status status = contract_create_exec(
        contract, graph, &(braid_exec_options){ .mode = contract->mode }, &exec);
    if (contract->mode == BRAID_MODE_GRAPH) {
        assert_int_equal(status, BRAID_UNSUPPORTED); // by the name of the node
        assert_non_null(strstr(braid_error_get_message(), "queue call"));
        check_ok(contract_create_exec(contract, graph, &(braid_exec_options){ 0 }, &exec));
        braid_exec_info info;
        braid_exec_get_info(exec, &info);
        assert_int_equal(info.mode, BRAID_MODE_STREAMS);
    } else {
        check_ok(status);
    }
    contract_own_exec(contract, exec);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(words[1], 5);
    contract_destroy_exec(contract, exec);
    uint32_t *others = contract_numbers(contract, 1);
    braid_prefetch wrong = { others, sizeof(*others), false };
    status = braid_queue_prefetch(contract->device, NULL, &wrong);
    // AMD's runtime ignores prefetches on systems that cannot move pages.
    if (!contract_is_on_host() && (status || strcmp(contract->backend, "hip") != 0))
        assert_int_equal(status, BRAID_UNSUPPORTED);
    braid_memory_free(contract->device, memory);
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

enum { box_bytes = 2048, num_kinds = 3 }; // memory of the host, of the device, and ordinary memory

struct box {
    uint64_t bytes;
    braid_rows rows;
};

// NULL: the device refuses several rows by name.
static braid_exec *make_exec_of_rows(struct contract *contract, const braid_graph *graph)
{
    const braid_exec_options options = { .mode = contract->mode };
    braid_exec *exec = NULL;
    if (strcmp(contract_backend(), "hip") != 0)
        return contract_exec(contract, graph);
    check_fails(contract_create_exec(contract, graph, &options, &exec), BRAID_UNSUPPORTED,
                "it has several rows, and hip:");
    return NULL;
}

static uint64_t row_at(const braid_rows *rows, uint32_t pitch, uint32_t height, uint32_t row,
                       uint32_t layer, uint64_t bytes)
{
    return ((uint64_t)layer * (height ? height : rows->num) + row) * (pitch ? pitch : bytes);
}

static void check_box(const unsigned char *seen, const unsigned char *from, const struct box *box)
{
    const braid_rows *rows = &box->rows;
    unsigned char expected[box_bytes];
    memset(expected, 0xee, sizeof(expected));
    for (uint32_t layer = 0; layer < (rows->layers ? rows->layers : 1); layer++) {
        for (uint32_t row = 0; row < rows->num; row++)
            memcpy(expected + row_at(rows, rows->to_pitch, rows->to_height, row, layer, box->bytes),
                   from + row_at(rows, rows->from_pitch, rows->from_height, row, layer, box->bytes),
                   box->bytes);
    }
    assert_memory_equal(seen, expected, sizeof(expected));
}

// Each kind of memory to each: `to` has a part for each kind of `from`.
static void check_boxes(struct contract *contract, unsigned char *const *to,
                        unsigned char *const *from, const struct box *box)
{
    braid_stream *stream = braid_device_get_default_stream(contract->device);
    unsigned char pattern[num_bytes], seen[box_bytes], blank[box_bytes];
    braid_graph *graph = contract_graph(contract);
    memset(blank, 0xee, sizeof(blank));
    for (int t = 0; t < num_kinds; t++) {
        for (int f = 0; f < num_kinds; f++) {
            const braid_copy copy = {
                .to = to[t] + f * box_bytes, .from = from[f], .bytes = box->bytes, .rows = box->rows
            };
            check_ok(braid_graph_add_copy(graph, &copy, NULL));
        }
    }
    braid_exec *exec = make_exec_of_rows(contract, graph);
    if (!exec)
        return;
    for (uint32_t seed = 0; seed < 2; seed++) {
        write_pattern(pattern, seed);
        for (int k = 0; k < num_kinds; k++) {
            check_ok(braid_stream_copy(stream, from[k], pattern, box_bytes));
            for (int part = 0; part < num_kinds; part++)
                check_ok(braid_stream_copy(stream, to[k] + part * box_bytes, blank, box_bytes));
        }
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        for (int k = 0; k < num_kinds * num_kinds; k++) {
            check_ok(braid_stream_copy(stream, seen, to[k / num_kinds] + k % num_kinds * box_bytes,
                                       box_bytes));
            check_ok(braid_stream_wait(stream));
            check_box(seen, pattern, box);
        }
    }
}

static void rows_are_copied_between_all_memories(void **state)
{
    static unsigned char ordinary[(num_kinds + 1) * box_bytes];
    static const struct box boxes[] = {
        { 5, { 7, 0, 16, 9, 0, 0 } },
        { 16, { 3, 4, 32, 20, 5, 6 } },
        { 1, { .num = 40 } },
        { 300, { .num = 1, .layers = 3, .to_height = 2 } },
    };
    struct contract *contract = *state;
    unsigned char *to[num_kinds], *from[num_kinds];
    for (int k = 0; k < 2; k++) {
        to[k] = contract_memory(contract, (braid_memory_kind)k, num_kinds * box_bytes);
        from[k] = contract_memory(contract, (braid_memory_kind)k, box_bytes);
    }
    to[2] = ordinary;
    from[2] = ordinary + num_kinds * box_bytes;
    for (size_t i = 0; i < sizeof(boxes) / sizeof(boxes[0]); i++)
        check_boxes(contract, to, from, &boxes[i]);
}

static void rows_are_filled(void **state)
{
    struct contract *contract = *state;
    unsigned char *device = contract_memory(contract, BRAID_MEMORY_DEVICE, 3 * box_bytes);
    unsigned char expected[3 * box_bytes], seen[3 * box_bytes];
    braid_graph *graph = contract_graph(contract);
    memset(expected, 0x11, sizeof(expected));
    for (uint32_t width = 1, i = 0; width <= 4; width *= 2, i++) {
        const braid_fill fill = { .to = device + i * box_bytes + width,
                                  .value = 0x89abcdef,
                                  .value_bytes = width,
                                  .num_values = 3,
                                  .rows = { .num = 5, .to_pitch = 24 } };
        check_ok(braid_graph_add_fill(graph, &fill, NULL));
        for (int k = 0; k < 15; k++)
            memcpy(expected + i * box_bytes + width + k / 3 * 24 + (uint32_t)k % 3 * width,
                   &fill.value, width);
    }
    braid_exec *exec = make_exec_of_rows(contract, graph);
    if (!exec)
        return;
    check_ok(braid_stream_fill(braid_device_get_default_stream(contract->device), device, 0x11, 1,
                               sizeof(expected)));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    contract_read(contract, seen, device, sizeof(seen));
    assert_memory_equal(seen, expected, sizeof(expected));
}

static void rows_take_other_values_or_refuse_them(void **state)
{
    struct contract *contract = *state;
    unsigned char *device = contract_memory(contract, BRAID_MEMORY_DEVICE, 64);
    unsigned char seen[64], expected[64] = { 0, 1, 2, 0, 16, 17, 18, 0 };
    const braid_copy copy = { .node.name = "box",
                              .to = device + 48,
                              .from = device,
                              .bytes = 3,
                              .rows = { .num = 2, .to_pitch = 4, .from_pitch = 16 } };
    const bool is_refused = contract->mode == BRAID_MODE_GRAPH && !contract_is_on_host();
    braid_graph *graph = contract_graph(contract);
    braid_node node;
    check_ok(braid_graph_add_copy(graph, &copy, &node));
    braid_exec *exec = make_exec_of_rows(contract, graph);
    if (!exec)
        return;
    for (unsigned char i = 0; i < 64; i++)
        seen[i] = i < 48 ? i : 0;
    contract_write(contract, device, seen, sizeof(seen));
    check_fails(braid_exec_set(exec, node, BRAID_TARGET_BYTES, 0, &(uint64_t){ 5 }),
                BRAID_INVALID_ARGUMENT, "'box': its rows are longer than their pitch");
    if (is_refused)
        check_fails(braid_exec_set(exec, node, BRAID_TARGET_BYTES, 0, &(uint64_t){ 2 }),
                    BRAID_UNSUPPORTED, "'box'");
    else
        check_ok(braid_exec_set(exec, node, BRAID_TARGET_BYTES, 0, &(uint64_t){ 2 }));
    expected[2] = is_refused ? 2 : 0;
    expected[6] = is_refused ? 18 : 0;
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    contract_read(contract, seen, device, sizeof(seen));
    assert_memory_equal(seen + 48, expected, 16);
}

// A row of a fill has room up to the next one.
static void filled_rows_grow_up_to_their_pitch(void **state)
{
    struct contract *contract = *state;
    unsigned char *device = contract_memory(contract, BRAID_MEMORY_DEVICE, 8);
    unsigned char seen[8];
    const braid_fill fill = { .to = device, .num_values = 2, .rows = { .num = 2, .to_pitch = 4 } };
    braid_graph *graph = contract_graph(contract);
    braid_node node;
    check_ok(braid_graph_add_fill(graph, &fill, &node));
    braid_exec *exec = make_exec_of_rows(contract, graph);
    if (!exec || (contract->mode == BRAID_MODE_GRAPH && !contract_is_on_host()))
        return;
    check_ok(braid_exec_set(exec, node, BRAID_TARGET_NUM_VALUES, 0, &(uint64_t){ 4 }));
    contract_write(contract, device, "beforeit", sizeof(seen));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    contract_read(contract, seen, device, sizeof(seen));
    assert_memory_equal(seen, "\0\0\0\0\0\0\0\0", sizeof(seen));
}

int run_memory(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(both_kinds_of_memory_are_aligned),
        contract_test(managed_memory_is_the_hosts_and_the_devices),
        contract_test(impossible_allocations_are_refused),
        contract_test(copies_go_in_every_direction),
        contract_test(fills_write_values_of_every_width),
        contract_test(a_fill_without_a_width_writes_bytes),
        contract_test(the_device_describes_itself),
        contract_test(devices_that_are_not_there_are_refused),
        contract_test(copies_of_the_programs_own_memory_keep_their_place),
        contract_test(copies_and_fills_of_host_memory_do_not_block_a_launch),
        contract_test(copies_of_the_programs_own_memory_do_not_block_a_launch),
        contract_test(rows_are_copied_between_all_memories),
        contract_test(rows_are_filled),
        contract_test(rows_take_other_values_or_refuse_them),
        contract_test(filled_rows_grow_up_to_their_pitch),
    };
    return contract_run("memory is copied and filled", tests);
}
