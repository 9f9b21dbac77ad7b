// SPDX-License-Identifier: Apache-2.0
// A record that lies about its memory, copies or arguments is refused. It reaches no memory of the
// process that runs its frame, except memory that the import makes.
#include <braid/braid.h>
#include <braid/import.h>
#include <braid/record.h>

#include <string.h>

#include "support/check.h"

enum { PAGE = 4096, NUM_OPERATIONS = 4, NUM_ALLOCATIONS = 4 };
enum { ON_DEVICE, ON_HOST, DEAD, OF_MODULE };

// Addresses that each process has free.
static const uint64_t on_device = UINT64_C(0x200000000000), on_host = UINT64_C(0x200010000000),
                      pageable = UINT64_C(0x300000000000);

static const char text[] = ".version 7.8\n.target sm_90\n.address_size 64\n"
                           ".visible .global .align 4 .u32 counter;\n"
                           ".visible .entry nothing()\n{\nret;\n}\n";
static const char bytes_of_page[PAGE] = "the memory at the begin of the frame";
static char victim[64];

static braid_device *device;
static braid_record_allocation allocations[NUM_ALLOCATIONS];
static braid_record_operation operations[NUM_OPERATIONS];
static braid_record_memory memory[3];
static const braid_record_frame frame = { 1, 3 };
static const braid_record_module module = { .file = "",
                                            .kind = BRAID_RECORD_PTX,
                                            .context = 0,
                                            .text_bytes = sizeof(text),
                                            .text = text,
                                            .all_bytes = sizeof(text) };
static const braid_record_kernel kernel = { .name = "nothing", .max_threads = 1024 };
static const braid_record_stream stream = { .kind = BRAID_RECORD_NULL_STREAM };
static braid_record_contents contents;

// ---- a true record ----

static braid_record_allocation allocation(braid_record_memory_kind kind, uint64_t address,
                                          uint64_t bytes)
{
    return (braid_record_allocation){ .address = address,
                                      .bytes = bytes,
                                      .device_address = address,
                                      .kind = kind,
                                      .module = BRAID_RECORD_NONE,
                                      .name = "",
                                      .born = BRAID_RECORD_NONE,
                                      .freed_at = BRAID_RECORD_NONE };
}

static void clear(braid_record_work *work, braid_record_work_kind kind)
{
    memset(work, 0, sizeof(*work));
    work->kind = kind;
    work->name = "";
    work->kernel = work->memory = work->graph = BRAID_RECORD_NONE;
}

static void set_copy(braid_record_work *work, uint64_t to, uint64_t from, uint64_t bytes)
{
    clear(work, BRAID_RECORD_COPY);
    work->to.address = to;
    work->from.address = from;
    work->to.place = work->from.place = BRAID_RECORD_ANYWHERE;
    work->width = bytes;
    work->height = work->depth = 1;
}

// Before the frame nothing, then two copies: from the device to pinned memory, and from pageable
// memory to the device. The last operation is no work.
static void make_record(void)
{
    allocations[ON_DEVICE] = allocation(BRAID_RECORD_DEVICE, on_device, PAGE);
    allocations[ON_HOST] = allocation(BRAID_RECORD_PINNED, on_host, PAGE);
    allocations[DEAD] = allocation(BRAID_RECORD_DEVICE, UINT64_C(0x280000000000), sizeof(victim));
    allocations[DEAD].freed_at = 0;
    allocations[OF_MODULE] = allocation(BRAID_RECORD_VARIABLE, UINT64_C(0x290000000000), 4);
    allocations[OF_MODULE].module = 0;
    allocations[OF_MODULE].name = "counter";
    clear(&operations[0].work, BRAID_RECORD_EMPTY);
    clear(&operations[3].work, BRAID_RECORD_EMPTY);
    set_copy(&operations[1].work, on_host, on_device, 64);
    set_copy(&operations[2].work, on_device + 64, pageable, 64);
    operations[2].work.from.place = BRAID_RECORD_ON_HOST;
    operations[2].work.bytes = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    operations[2].work.num_bytes = 64;
    for (uint32_t i = 0; i < 2; i++)
        memory[i] =
            (braid_record_memory){ .allocation = i, .num_bytes = PAGE, .bytes = bytes_of_page };
    contents = (braid_record_contents){ .program = "",
                                        .num_contexts = 1,
                                        .modules = &module,
                                        .kernels = &kernel,
                                        .allocations = allocations,
                                        .streams = &stream,
                                        .operations = operations,
                                        .frames = &frame,
                                        .memory = memory,
                                        .num_modules = 1,
                                        .num_kernels = 1,
                                        .num_allocations = NUM_ALLOCATIONS,
                                        .num_streams = 1,
                                        .num_operations = NUM_OPERATIONS,
                                        .num_frames = 1,
                                        .num_memory = 2 };
}

static braid_status import_frame(braid_import **out_import)
{
    const braid_import_options options = { .device = device,
                                           .is_unwatched = true,
                                           .makes_memory = true };
    return braid_import_create_recorded(&contents, 0, &options, out_import);
}

static int open_device(void **state)
{
    (void)state;
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    check_ok(braid_device_close(device));
    return 0;
}

static void a_true_record_runs(void **state)
{
    char expected[PAGE];
    braid_import *import;
    braid_exec *exec;
    uint64_t digest;
    (void)state;
    make_record();
    check_ok(import_frame(&import));
    check_ok(braid_exec_create(device, braid_import_get_graph(import), NULL, &exec));
    check_ok(braid_import_restore(import));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    memcpy(expected, bytes_of_page, PAGE);
    check_ok(braid_import_get_memory_digest(import, ON_HOST, &digest));
    assert_true(digest == braid_record_get_digest(expected, PAGE));
    memcpy(expected + 64, operations[2].work.bytes, 64);
    check_ok(braid_import_get_memory_digest(import, ON_DEVICE, &digest));
    assert_true(digest == braid_record_get_digest(expected, PAGE));
    braid_exec_destroy(exec);
    braid_import_destroy(import);
}

// The row is of memory that was freed before the frame, at an address of this process.
static void memory_that_is_not_made_is_not_filled(void **state)
{
    braid_import *import;
    uint64_t digest;
    (void)state;
    make_record();
    memset(victim, 7, sizeof(victim));
    allocations[DEAD].address = allocations[DEAD].device_address = (uintptr_t)victim;
    memory[2] = (braid_record_memory){ .allocation = DEAD,
                                       .num_bytes = sizeof(victim),
                                       .bytes = bytes_of_page };
    contents.num_memory = 3;
    check_ok(import_frame(&import));
    check_ok(braid_import_restore(import));
    check_ok(braid_import_get_memory_digest(import, 2, &digest));
    assert_int_equal(digest, 0);
    for (size_t i = 0; i < sizeof(victim); i++)
        assert_int_equal(victim[i], 7);
    braid_import_destroy(import);
}

// Bytes of all copies from and to pageable memory have more than 64 bits.
static void copies_of_too_many_bytes_are_refused(void **state)
{
    braid_import *import;
    (void)state;
    for (uint64_t less = 0; less < 128; less += 64) {
        make_record();
        set_copy(&operations[1].work, pageable + PAGE, on_device, UINT64_MAX - less);
        check_fails(import_frame(&import), BRAID_UNSUPPORTED, "more bytes than there can be");
        operations[1].work.height = UINT64_MAX / 64;
        operations[1].work.width = 64 - less % 64;
        check_fails(import_frame(&import), BRAID_UNSUPPORTED, "more bytes than there can be");
        for (int i = 1; i <= 3; i += 2)
            set_copy(&operations[i].work, pageable + PAGE, on_device, INT64_MAX - less);
        check_fails(import_frame(&import), BRAID_UNSUPPORTED, "more bytes than there can be");
    }
}

static void copies_beyond_pinned_memory_are_refused(void **state)
{
    braid_import *import;
    (void)state;
    make_record();
    operations[1].work.width = PAGE + 1;
    check_fails(import_frame(&import), BRAID_UNSUPPORTED, "its pinned memory ends before it");
    make_record();
    set_copy(&operations[2].work, on_device, on_host + PAGE - 8, 9);
    check_fails(import_frame(&import), BRAID_UNSUPPORTED, "its pinned memory ends before it");
}

static void arguments_without_bytes_are_not_read(void **state)
{
    braid_import *import;
    (void)state;
    make_record();
    clear(&operations[1].work, BRAID_RECORD_KERNEL);
    operations[1].work.kernel = 0;
    for (int i = 0; i < 3; i++)
        operations[1].work.grid[i] = operations[1].work.block[i] = 1;
    operations[1].work.parameter_bytes = 64;
    check_ok(import_frame(&import));
    braid_import_destroy(import);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_true_record_runs),
        cmocka_unit_test(memory_that_is_not_made_is_not_filled),
        cmocka_unit_test(copies_of_too_many_bytes_are_refused),
        cmocka_unit_test(copies_beyond_pinned_memory_are_refused),
        cmocka_unit_test(arguments_without_bytes_are_not_read),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
