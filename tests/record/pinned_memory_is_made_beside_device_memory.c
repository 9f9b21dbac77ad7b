// SPDX-License-Identifier: Apache-2.0
// Another process runs a recorded frame whose pinned memory lies beside memory of the device. The
// driver gives it addresses in pieces, which may have the pinned memory inside. Or the driver has
// an area around them.
#include "record/program.h"

#include <braid/braid.h>
#include <braid/import.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, NUM_KEPT = 3 };

// Addresses that each process has free. In pieces of 32 MiB, the first pinned pages are in the
// piece of the device's memory and in the next one. The last page is in neither.
static const uint64_t on_device = UINT64_C(0x200000000000), near = UINT64_C(0x200001fff000),
                      apart = UINT64_C(0x200010000000);
static const uint64_t moved_bytes[] = { 0, 2 * PAGE, 3 * PAGE }; // by size of pieces

static CUgraphExec executable;
static CUmemGenericAllocationHandle mapping;
static braid_device *device;
static const braid_record_contents *record;

// ---- the program ----

static void *at(uint64_t address)
{
    return (void *)(uintptr_t)address; // NOLINT
}

static bool pin(uint64_t address, size_t bytes)
{
    void *got = mmap(at(address), bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != at(address))
        return false;
    must(cuMemHostRegister_v2(got, bytes, 0));
    return true;
}

static void unpin(uint64_t address, size_t bytes)
{
    must(cuMemHostUnregister(at(address)));
    munmap(at(address), bytes);
}

static void map(void)
{
    const CUmemAllocationProp properties = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                             .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    const CUmemAccessDesc access = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
                                     CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUdeviceptr got;
    must(cuMemAddressReserve(&got, PAGE, 0, on_device, 0));
    assert_true(got == on_device);
    must(cuMemCreate(&mapping, PAGE, &properties, 0));
    must(cuMemMap(on_device, PAGE, 0, mapping, 0));
    must(cuMemSetAccess(on_device, PAGE, &access, 1));
    must(cuMemsetD32_v2(on_device, 1000, PAGE / 4));
}

// A graph's copies have no bytes in the record.
static void make_graph(CUstream stream)
{
    CUgraph graph;
    must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    must(cuMemcpyHtoDAsync_v2(on_device + 8, at(near + 8), 4, stream));
    must(cuMemcpyDtoHAsync_v2(at(apart), on_device, 16, stream));
    must(cuStreamEndCapture(stream, &graph));
    must(cuGraphInstantiateWithFlags(&executable, graph, 0));
    must(cuGraphDestroy(graph));
}

static int run_program(void **state)
{
    CUstream stream;
    open_program(state);
    map();
    assert_true(pin(near, 2 * PAGE) && pin(apart, PAGE));
    for (uint32_t i = 0; i < 4; i++)
        ((uint32_t *)at(near))[i] = 50 + i;
    must(cuStreamCreate(&stream, 0));
    make_graph(stream);
    assert_true(braid_record_frame_mark());
    launch_add(stream, on_device, 3);
    launch_add(stream, near + 8, 4);
    must(cuGraphLaunch(executable, stream));
    must(cuStreamSynchronize(stream));
    assert_true(braid_record_frame_mark());
    assert_int_equal(((const uint32_t *)at(apart))[0], 1003);
    assert_int_equal(((const uint32_t *)at(apart))[2], 56);
    must(cuStreamDestroy_v2(stream));
    record = open_own_record();
    assert_int_equal(record->num_memory, NUM_KEPT);
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
    return 0;
}

static int end_program(void **state)
{
    check_ok(braid_device_close(device));
    close_own_record();
    must(cuGraphExecDestroy(executable));
    unpin(near, 2 * PAGE);
    unpin(apart, PAGE);
    must(cuMemUnmap(on_device, PAGE));
    must(cuMemRelease(mapping));
    must(cuMemAddressFree(on_device, PAGE));
    return close_program(state);
}

static void its_own_process_has_no_room_for_it(void **state)
{
    braid_import_options options = { .device = device, .makes_memory = true };
    braid_import *import;
    (void)state;
    check_fails(braid_import_create_recorded(record, 0, &options, &import), BRAID_UNSUPPORTED,
                "are taken in this process");
    options.makes_memory = false;
    check_fails(braid_import_create_recorded(record, 0, &options, &import), BRAID_UNSUPPORTED,
                "the record does not have the bytes that it sends");
}

static void another_process_runs_the_frame(void **state)
{
    int status;
    (void)state;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("BRAID_RECORD_PLAYED", getenv("BRAID_RECORD_FILE"), 1);
        unsetenv("BRAID_RECORD_FILE");
        execl("/proc/self/exe", "another process", (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// ---- the other process ----

static int open_played(void **state)
{
    braid_record *played;
    check_ok(braid_record_load(getenv("BRAID_RECORD_PLAYED"), &played));
    record = braid_record_get_contents(played);
    *state = played;
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
    return 0;
}

static int close_played(void **state)
{
    check_ok(braid_device_close(device));
    braid_record_destroy(*state);
    return 0;
}

static void configure(const char *setting, const char *value)
{
    typedef bool function(const char *name, const char *text);
    void *driver = dlopen(getenv("BRAID_RECORD_REAL"), RTLD_LAZY | RTLD_NOLOAD);
    function *set = (function *)(uintptr_t)dlsym(driver, "standin_configure");
    assert_true(set && set(setting, value));
    dlclose(driver);
}

// The driver refuses so many wishes: one in each size of pieces.
static void refuse_wishes(unsigned num)
{
    char path[] = "/tmp/braid-taken-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0 && ftruncate(file, num) == 0);
    close(file);
    setenv("BRAID_STANDIN_TAKEN", path, 1);
}

static void grant_wishes(void)
{
    unlink(getenv("BRAID_STANDIN_TAKEN"));
    unsetenv("BRAID_STANDIN_TAKEN");
}

static braid_status import_frame(const braid_record_contents *contents, braid_import **out_import)
{
    const braid_import_options options = { .device = device,
                                           .is_unwatched = true,
                                           .makes_memory = true };
    return braid_import_create_recorded(contents, 0, &options, out_import);
}

// Twice, so that the second frame needs the memory of the first one's begin.
static uint64_t play(void)
{
    braid_import *import;
    braid_import_info info;
    braid_exec *exec;
    uint64_t digest;
    check_ok(import_frame(record, &import));
    check_ok(braid_exec_create(device, braid_import_get_graph(import), NULL, &exec));
    for (int frame = 0; frame < 2; frame++) {
        check_ok(braid_import_restore(import));
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        for (uint32_t i = 0; i < NUM_KEPT; i++) {
            const braid_record_memory *kept = &record->memory[i];
            check_ok(braid_import_get_memory_digest(import, i, &digest));
            assert_true(digest == kept->digest_behind);
            assert_true(digest != braid_record_get_digest(kept->bytes, kept->num_bytes));
        }
    }
    braid_exec_destroy(exec);
    braid_import_get_info(import, &info);
    braid_import_destroy(import);
    return info.moved_bytes;
}

static void pinned_memory_moves_to_the_device_where_a_piece_has_it(void **state)
{
    (void)state;
    for (unsigned num_refused = 0; num_refused < 3; num_refused++) {
        refuse_wishes(num_refused);
        assert_int_equal(play(), moved_bytes[num_refused]);
        grant_wishes();
    }
}

// The driver has the host's addresses around the pieces, and grants wishes there.
static void pinned_memory_moves_to_the_device_in_an_area_of_the_driver(void **state)
{
    (void)state;
    configure("BRAID_STANDIN_AREA", "33554432");
    assert_int_equal(play(), 2 * PAGE);
    configure("BRAID_STANDIN_AREA", "1073741824");
    assert_int_equal(play(), 3 * PAGE);
    configure("BRAID_STANDIN_AREA", NULL);
    assert_int_equal(play(), 0);
}

// The driver keeps memory whose release fails, and LeakSanitizer would tell of that.
#ifdef __SANITIZE_ADDRESS__
static const bool keeps_what_fails = true;
#else
static const bool keeps_what_fails = false;
#endif

static void any_call_may_fail(void **state)
{
    static const char *const calls[] = {
        "cuMemHostRegister",   "cuPointerGetAttribute", "cuMemGetAllocationGranularity",
        "cuMemAddressReserve", "cuMemCreate",           "cuMemMap",
        "cuMemRelease",        "cuMemSetAccess"
    };
    (void)state;
    for (unsigned num_refused = 0; num_refused < 2; num_refused++) {
        for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
            char rule[80];
            braid_import *import;
            if (keeps_what_fails && strcmp(calls[i], "cuMemRelease") == 0)
                continue;
            refuse_wishes(num_refused);
            // The large piece has one page more that is mapped.
            snprintf(rule, sizeof(rule), "%s:%u=999", calls[i], i < 3 ? 1 : 1 + num_refused);
            configure("BRAID_STANDIN_FAIL", rule);
            check_fails(import_frame(record, &import), BRAID_DEVICE_ERROR, calls[i]);
            configure("BRAID_STANDIN_FAIL", NULL);
            grant_wishes();
        }
    }
    assert_int_equal(play(), 0); // nothing is left behind
}

// ---- calls that free ----

static char logged[4096];

static void take_log(braid_status status, const char *message, void *user)
{
    (void)status;
    (void)user;
    strncat(logged, message, sizeof(logged) - strlen(logged) - 1);
}

// The driver keeps the memory or its addresses. The test frees them then.
static void failures_of_freeing_are_logged(void **state)
{
    static const char *const calls[] = { "cuMemHostUnregister", "cuMemUnmap", "cuMemAddressFree" };
    CUcontext context;
    (void)state;
    must(cuDevicePrimaryCtxRetain(&context, 0));
    must(cuCtxPushCurrent_v2(context));
    braid_log_set(take_log, NULL);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        char rule[80];
        braid_import *import;
        logged[0] = '\0';
        check_ok(import_frame(record, &import));
        snprintf(rule, sizeof(rule), "%s:1=999", calls[i]);
        configure("BRAID_STANDIN_FAIL", rule);
        braid_import_destroy(import);
        configure("BRAID_STANDIN_FAIL", NULL);
        assert_non_null(strstr(logged, calls[i]));
        if (i == 0)
            must(cuMemHostUnregister(at(near)));
        else if (i == 1)
            must(cuMemUnmap(on_device, PAGE));
        else
            must(cuMemAddressFree(on_device, PAGE));
    }
    braid_log_set(NULL, NULL);
    must(cuCtxPopCurrent_v2(&context));
    must(cuDevicePrimaryCtxRelease_v2(0));
    assert_int_equal(play(), 0); // nothing is left behind
}

// A driver may give other addresses, which go back to it.
static void failures_of_giving_back_are_logged(void **state)
{
    braid_import *import;
    (void)state;
    braid_log_set(take_log, NULL);
    logged[0] = '\0';
    refuse_wishes(3);
    configure("BRAID_STANDIN_FAIL", "cuMemAddressFree:1=999");
    check_fails(import_frame(record, &import), BRAID_UNSUPPORTED, "are taken in this process");
    configure("BRAID_STANDIN_FAIL", NULL);
    grant_wishes();
    assert_non_null(strstr(logged, "giving up other addresses"));
    assert_non_null(strstr(logged, "cuMemAddressFree"));
    braid_log_set(NULL, NULL);
}

static void two_addresses_are_refused(void **state)
{
    braid_import *import;
    (void)state;
    configure("BRAID_STANDIN_HOST_OFFSET", "4096");
    check_fails(import_frame(record, &import), BRAID_UNSUPPORTED,
                "the device has the pinned memory at 0x2000");
    configure("BRAID_STANDIN_HOST_OFFSET", NULL);
    braid_record_contents contents = *record;
    braid_record_allocation *rows = malloc(record->num_allocations * sizeof(*rows));
    assert_non_null(rows);
    memcpy(rows, record->allocations, record->num_allocations * sizeof(*rows));
    contents.allocations = rows;
    for (uint32_t i = 0; i < record->num_allocations; i++)
        rows[i].device_address += rows[i].address == near ? PAGE : 0;
    check_fails(import_frame(&contents, &import), BRAID_UNSUPPORTED,
                "which the device has at another address");
    free(rows);
    assert_int_equal(play(), 0);
}

// The recorder leaves pinned memory that it cannot read. Memory of the frame has no bytes before
// it.
static void pinned_memory_without_bytes_is_refused(void **state)
{
    braid_import *import;
    braid_record_contents contents = *record;
    braid_record_allocation rows[16];
    braid_record_memory kept[NUM_KEPT];
    (void)state;
    assert_true(record->num_allocations <= 16);
    memcpy(rows, record->allocations, record->num_allocations * sizeof(rows[0]));
    contents.allocations = rows;
    contents.memory = kept;
    contents.num_memory = 0;
    for (uint32_t i = 0; i < NUM_KEPT; i++)
        if (rows[record->memory[i].allocation].address != near)
            kept[contents.num_memory++] = record->memory[i];
    assert_int_equal(contents.num_memory, NUM_KEPT - 1);
    check_fails(import_frame(&contents, &import), BRAID_UNSUPPORTED,
                "pinned memory at 0x200001fff000, and the record does not have its bytes");
    for (uint32_t i = 0; i < record->num_allocations; i++)
        if (rows[i].address == near)
            rows[i].born = record->frames[0].first_operation;
    check_fails(import_frame(&contents, &import), BRAID_UNSUPPORTED,
                "the record does not have the bytes that it sends");
    assert_int_equal(play(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_own_process_has_no_room_for_it),
        cmocka_unit_test(another_process_runs_the_frame),
    };
    const struct CMUnitTest played[] = {
        cmocka_unit_test(pinned_memory_moves_to_the_device_where_a_piece_has_it),
        cmocka_unit_test(pinned_memory_moves_to_the_device_in_an_area_of_the_driver),
        cmocka_unit_test(any_call_may_fail),
        cmocka_unit_test(failures_of_freeing_are_logged),
        cmocka_unit_test(failures_of_giving_back_are_logged),
        cmocka_unit_test(two_addresses_are_refused),
        cmocka_unit_test(pinned_memory_without_bytes_is_refused),
    };
    if (getenv("BRAID_RECORD_PLAYED"))
        return cmocka_run_group_tests(played, open_played, close_played);
    return cmocka_run_group_tests(tests, run_program, end_program);
}
