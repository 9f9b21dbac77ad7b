// SPDX-License-Identifier: Apache-2.0
// A recorded frame is run in the process that was recorded: the memory is then as after the
// program's own next frame.
#include "record/program.h"

#include <braid/braid.h>
#include <braid/import.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 4, BYTES = 4 * WORDS, PAGE = 4096, MUCH = (1 << 20) + 4 };
enum { OF_HOST, OF_MUCH, OF_FREED, OF_VARIABLE, PLAIN, NUM_FRAMES };

// sum(to, from) adds a word of other memory; follow(table, to) puts one that the table points to.
static const char sum_text[] =
    ".version 7.8\n.target sm_90\n.address_size 64\n"
    ".visible .global .align 4 .u32 counter;\n"
    ".visible .entry bump()\n{\n.reg .b64 %d;\n.reg .b32 %r<2>;\nmov.u64 %d, counter;\n"
    "ld.global.u32 %r0, [%d];\nadd.u32 %r1, %r0, 1;\nst.global.u32 [%d], %r1;\nret;\n}\n"
    ".visible .entry sum(.param .u64 to, .param .u64 from)\n{\n"
    ".reg .b64 %d<2>;\n.reg .b32 %r<3>;\nld.param.u64 %d0, [to];\nld.param.u64 %d1, [from];\n"
    "ld.global.u32 %r0, [%d0];\nld.global.u32 %r1, [%d1];\nadd.u32 %r2, %r0, %r1;\n"
    "st.global.u32 [%d0], %r2;\nret;\n}\n"
    ".visible .entry follow(.param .u64 at, .param .u64 to)\n{\n"
    ".reg .b64 %d<3>;\n.reg .b32 %r;\nld.param.u64 %d0, [at];\nld.param.u64 %d1, [to];\n"
    "ld.u64 %d2, [%d0];\nld.u32 %r, [%d2];\nst.u32 [%d1], %r;\nret;\n}\n";

static CUmodule module;
static CUfunction sum, follow, bump;
static CUstream stream, other;
static CUevent event;
static CUdeviceptr memory[3], much, freed, table, counter;
static void *pinned;
static CUgraphExec executable;
static uint32_t received;
static braid_device *device;
static const braid_record_contents *record;

static void launch_sum(CUstream on, CUdeviceptr to, CUdeviceptr from)
{
    void *arguments[] = { &to, &from };
    must(cuLaunchKernel(sum, 1, 1, 1, 1, 1, 1, 0, on, arguments, NULL));
}

// ---- the program ----

static void nothing_to_do(void *user)
{
    (void)user;
}

// Two chains on two streams that meet; a graph; a copy through pinned memory; a copy to the stack.
static void run_plain(void)
{
    const uint32_t sent[WORDS] = { 5, 6, 7, 8 };
    CUdeviceptr to = memory[2] + 12;
    must(cuMemcpyHtoDAsync_v2(memory[0], sent, BYTES, stream));
    launch_add(stream, memory[0], 3);
    launch_add(other, memory[1], 4);
    must(cuEventRecord(event, other));
    must(cuStreamWaitEvent(stream, event, 0));
    launch_sum(stream, memory[0], memory[1]);
    must(cuGraphLaunch(executable, stream));
    must(cuMemcpyDtoHAsync_v2(pinned, memory[0], BYTES, stream));
    must(cuMemcpyHtoDAsync_v2(memory[2], pinned, BYTES, stream));
    must(cuMemsetD32Async(memory[2] + 8, 77, 1, stream));
    // A variable of the module, by its address and by its name.
    must(cuMemcpyHtoDAsync_v2(counter, sent, 4, stream));
    must(cuLaunchKernel(bump, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    void *arguments[] = { &table, &to };
    must(cuLaunchKernel(follow, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
    must(cuMemcpyDtoHAsync_v2(&received, memory[0], 4, stream));
    must(cuStreamSynchronize(stream));
}

static void run_frame(int frame)
{
    static const char bytes[MUCH];
    if (frame == PLAIN)
        run_plain();
    if (frame == OF_HOST)
        must(cuLaunchHostFunc(stream, nothing_to_do, NULL));
    if (frame == OF_MUCH)
        must(cuMemcpyHtoD_v2(much, bytes, MUCH));
    if (frame == OF_FREED)
        launch_add(stream, freed, 1);
    if (frame == OF_VARIABLE)
        launch_sum(stream, memory[0], counter);
    must(cuStreamSynchronize(stream));
}

static void make_graph(void)
{
    CUgraph graph;
    must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    launch_sum(stream, memory[1], memory[0]);
    launch_add(stream, memory[1] + 4, 9);
    must(cuStreamEndCapture(stream, &graph));
    must(cuGraphInstantiateWithFlags(&executable, graph, 0));
    must(cuGraphDestroy(graph));
}

static int run_program(void **state)
{
    open_program(state);
    must(cuMemAlloc_v2(&freed, BYTES));
    must(cuModuleLoadData(&module, sum_text));
    must(cuModuleGetFunction(&sum, module, "sum"));
    must(cuModuleGetFunction(&follow, module, "follow"));
    must(cuModuleGetFunction(&bump, module, "bump"));
    must(cuModuleGetGlobal_v2(&counter, NULL, module, "counter"));
    must(cuStreamCreate(&stream, 0));
    must(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < 3; i++)
        must(cuMemAlloc_v2(&memory[i], BYTES));
    must(cuMemAlloc_v2(&much, MUCH));
    // Its pointer is known by the memory of the record alone.
    must(cuMemAlloc_v2(&table, sizeof(memory[1])));
    must(cuMemcpyHtoD_v2(table, &memory[1], sizeof(memory[1])));
    // It shares no page with memory of the device.
    pinned = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pinned, MAP_FAILED);
    must(cuMemHostRegister_v2(pinned, PAGE, 0));
    make_graph();
    for (int frame = 0; frame < NUM_FRAMES; frame++) {
        assert_true(braid_record_frame_mark());
        run_frame(frame);
        if (frame == OF_FREED)
            must(cuMemFree_v2(freed));
    }
    assert_true(braid_record_frame_mark());
    record = open_own_record();
    assert_int_equal(record->num_frames, NUM_FRAMES);
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
    return 0;
}

static int end_program(void **state)
{
    check_ok(braid_device_close(device));
    close_own_record();
    must(cuGraphExecDestroy(executable));
    for (int i = 0; i < 3; i++)
        must(cuMemFree_v2(memory[i]));
    must(cuMemFree_v2(much));
    must(cuMemFree_v2(table));
    must(cuMemHostUnregister(pinned));
    munmap(pinned, PAGE);
    must(cuEventDestroy_v2(event));
    must(cuStreamDestroy_v2(stream));
    must(cuStreamDestroy_v2(other));
    must(cuModuleUnload(module));
    return close_program(state);
}

// ---- its frames, again ----

static void write_memory(void)
{
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t words[WORDS] = { 100 + i, 200 + i, 300 + i, 400 + i };
        must(cuMemcpyHtoD_v2(memory[i], words, BYTES));
    }
    memset(pinned, 1, BYTES);
    received = 0;
}

static void read_memory(uint32_t (*words)[WORDS])
{
    for (int i = 0; i < 3; i++)
        must(cuMemcpyDtoH_v2(words[i], memory[i], BYTES));
    memcpy(words[3], pinned, BYTES);
}

static braid_import_options options_of(void **functions)
{
    for (uint32_t i = 0; i < record->num_kernels; i++) {
        const char *name = record->kernels[i].name;
        functions[i] = strcmp(name, "add") == 0    ? (void *)program.add
                       : strcmp(name, "sum") == 0  ? (void *)sum
                       : strcmp(name, "bump") == 0 ? (void *)bump
                                                   : (void *)follow;
    }
    return (braid_import_options){ .device = device,
                                   .is_unwatched = true,
                                   .follows_pointers = true,
                                   .functions = functions,
                                   .num_functions = record->num_kernels };
}

static void play_plain(const braid_import_options *options, braid_import_info *out_info)
{
    braid_import *import;
    braid_exec *exec;
    check_ok(braid_import_create_recorded(record, PLAIN, options, &import));
    braid_import_get_info(import, out_info);
    check_ok(braid_exec_create(device, braid_import_get_graph(import), NULL, &exec));
    for (int i = 0; i < 2; i++) {
        write_memory();
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
    }
    braid_exec_destroy(exec);
    braid_import_destroy(import);
}

static void frames_do_what_the_program_does_next(void **state)
{
    uint32_t expected[4][WORDS], found[4][WORDS];
    void *functions[64];
    braid_import_info info;
    (void)state;
    assert_true(record->num_kernels <= 64);
    write_memory();
    run_plain();
    read_memory(expected);
    assert_int_equal(received, 5 + 3 + 101 + 4);
    braid_import_options options = options_of(functions);
    const braid_import_buffer part = { .address = (void *)(uintptr_t)memory[1], .bytes = BYTES };
    options.buffers = &part; // kernels touch some bytes of it
    for (int by_text = 0; by_text < 2; by_text++) {
        options.num_functions = by_text ? 0 : record->num_kernels;
        options.num_buffers = (size_t)by_text;
        play_plain(&options, &info);
        read_memory(found);
        assert_memory_equal(found, expected, sizeof(found));
        assert_int_equal(received, 0); // the stack is the program's
        assert_int_equal(info.num_unproven, 0);
        assert_true(info.num_kept < info.num_captured);
    }
}

// Work that the record does not have, or memory that is gone.
static void other_frames_are_refused_by_name(void **state)
{
    static const struct {
        int frame;
        braid_status status;
        const char *why;
    } cases[] = {
        { OF_HOST, BRAID_UNSUPPORTED, "the record does not have what it does" },
        { OF_MUCH, BRAID_UNSUPPORTED, "the record does not have the bytes that it sends" },
        { OF_FREED, BRAID_INVALID_ARGUMENT, "are no longer memory of this process" },
    };
    void *functions[64];
    braid_import *import;
    (void)state;
    const braid_import_options options = options_of(functions);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_fails(
            braid_import_create_recorded(record, (uint32_t)cases[i].frame, &options, &import),
            cases[i].status, cases[i].why);
}

// The text's variable has another address than the program's, to which an argument points.
static void pointers_to_variables_stay_the_programs(void **state)
{
    void *functions[64];
    braid_import *import;
    (void)state;
    braid_import_options options = options_of(functions);
    check_ok(braid_import_create_recorded(record, OF_VARIABLE, &options, &import));
    braid_import_destroy(import);
    options.num_functions = 0;
    check_fails(braid_import_create_recorded(record, OF_VARIABLE, &options, &import),
                BRAID_UNSUPPORTED, "an argument of the record points to variable 'counter'");
}

static void mistakes_are_refused(void **state)
{
    braid_device *cpu;
    braid_import *import;
    void *functions[64];
    (void)state;
    braid_import_options options = options_of(functions);
    options.device = NULL;
    check_fails(braid_import_create_recorded(record, PLAIN, &options, &import),
                BRAID_INVALID_ARGUMENT, "functions and memory are of a frame to run");
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &cpu));
    options.device = cpu;
    check_fails(braid_import_create_recorded(record, PLAIN, &options, &import), BRAID_UNSUPPORTED,
                "is no single CUDA device");
    check_ok(braid_device_close(cpu));
    options.functions = NULL;
    check_fails(braid_import_create_recorded(record, PLAIN, &options, &import),
                BRAID_INVALID_ARGUMENT, "a list of the options is NULL");
}

// ---- the memory of the record ----

static braid_import *import_with(bool makes_memory, braid_exec **out_exec)
{
    const braid_import_options options = { .device = device,
                                           .is_unwatched = true,
                                           .makes_memory = makes_memory };
    braid_import *import;
    check_ok(braid_import_create_recorded(record, PLAIN, &options, &import));
    check_ok(braid_exec_create(device, braid_import_get_graph(import), NULL, out_exec));
    return import;
}

// Twice, so that the second frame needs the memory of the first one's begin.
static uint64_t digest_of(uint32_t kept)
{
    return braid_record_get_digest(record->memory[kept].bytes, record->memory[kept].num_bytes);
}

static void check_plays_as_recorded(bool makes_memory)
{
    braid_exec *exec;
    braid_import *import = import_with(makes_memory, &exec);
    uint64_t digest;
    uint32_t num = 0;
    for (int i = 0; i < 2; i++) {
        check_ok(braid_import_restore(import));
        for (uint32_t k = 0; k < record->num_memory; k++) {
            check_ok(braid_import_get_memory_digest(import, k, &digest));
            assert_true(digest == digest_of(k) || digest == 0);
        }
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        for (uint32_t k = 0; k < record->num_memory; k++) {
            check_ok(braid_import_get_memory_digest(import, k, &digest));
            assert_true(digest == record->memory[k].digest_behind || digest == 0);
            num += digest != digest_of(k) && digest != 0;
        }
    }
    assert_int_equal(num, 2 * 5); // three of the device, the pinned one, and the variable
    check_fails(braid_import_get_memory_digest(import, record->num_memory, &digest),
                BRAID_INVALID_ARGUMENT, "the record has no memory");
    braid_exec_destroy(exec);
    braid_import_destroy(import);
}

static void frames_end_as_the_recorded_one_did(void **state)
{
    braid_import *import;
    (void)state;
    check_plays_as_recorded(false);
    braid_import_options options = { .device = device, .makes_memory = true };
    check_fails(braid_import_create_recorded(record, PLAIN, &options, &import), BRAID_UNSUPPORTED,
                "are taken in this process");
    check_fails(braid_import_create_recorded(record, OF_HOST, &options, &import), BRAID_UNSUPPORTED,
                "the record does not have the memory of this frame");
}

// This program again, without the memory of the first.
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
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// ---- failures ----

typedef bool configure(const char *setting, const char *value);

static void check_failures(const char *const *calls, size_t num_calls, bool makes_memory)
{
    const braid_import_options options = { .device = device, .makes_memory = makes_memory };
    void *driver = dlopen(getenv("BRAID_RECORD_REAL"), RTLD_LAZY | RTLD_NOLOAD);
    configure *set = (configure *)(uintptr_t)dlsym(driver, "standin_configure");
    assert_non_null(set);
    for (size_t i = 0; i < num_calls; i++) {
        char rule[80];
        braid_import *import;
        snprintf(rule, sizeof(rule), "%s:1=999", calls[i]);
        assert_true(set("BRAID_STANDIN_FAIL", rule));
        check_fails(braid_import_create_recorded(record, PLAIN, &options, &import),
                    BRAID_DEVICE_ERROR, calls[i]);
        assert_true(set("BRAID_STANDIN_FAIL", NULL));
    }
    dlclose(driver);
}

static void any_call_may_fail(void **state)
{
    static const char *const calls[] = {
        "cuModuleGetGlobal",  "cuModuleLoadData",     "cuModuleGetFunction",
        "cuFuncGetAttribute", "cuMemGetAddressRange", "cuMemHostAlloc",
    };
    (void)state;
    check_failures(calls, sizeof(calls) / sizeof(calls[0]), false);
}

// ---- the other process ----

static int open_played(void **state)
{
    braid_record *played;
    (void)state;
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

static void frames_run_at_their_addresses(void **state)
{
    (void)state;
    check_plays_as_recorded(true);
}

static void any_call_for_memory_may_fail(void **state)
{
    static const char *const calls[] = { "cuMemGetAllocationGranularity",
                                         "cuMemAddressReserve",
                                         "cuMemCreate",
                                         "cuMemMap",
                                         "cuMemRelease",
                                         "cuMemSetAccess",
                                         "cuMemHostRegister",
                                         "cuPointerGetAttribute" };
    (void)state;
    check_failures(calls, sizeof(calls) / sizeof(calls[0]), true);
    check_plays_as_recorded(true); // nothing is left behind
}

// Where addresses are not random, those of the first process are taken here.
static bool are_addresses_free(void)
{
    void *state = NULL;
    braid_import *import;
    open_played(&state);
    const braid_import_options options = { .device = device, .makes_memory = true };
    const braid_status status = braid_import_create_recorded(record, PLAIN, &options, &import);
    const bool is_taken =
        status && strstr(braid_error_get_message(), "are taken in this process") != NULL;
    if (!status)
        braid_import_destroy(import);
    close_played(&state);
    return !is_taken;
}

static int play(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_run_at_their_addresses),
        cmocka_unit_test(any_call_for_memory_may_fail),
    };
    if (are_addresses_free())
        return cmocka_run_group_tests(tests, open_played, close_played);
    printf("summary: %s\n", braid_error_get_message());
    return 77;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_do_what_the_program_does_next),
        cmocka_unit_test(other_frames_are_refused_by_name),
        cmocka_unit_test(pointers_to_variables_stay_the_programs),
        cmocka_unit_test(mistakes_are_refused),
        cmocka_unit_test(frames_end_as_the_recorded_one_did),
        cmocka_unit_test(another_process_runs_the_frame),
        cmocka_unit_test(any_call_may_fail),
    };
    if (getenv("BRAID_RECORD_PLAYED"))
        return play();
    return cmocka_run_group_tests(tests, run_program, end_program);
}
