// SPDX-License-Identifier: Apache-2.0
// Whichever call of the driver fails while loops and branches are imported or updated, the caller
// is told and nothing is left behind, or no order is lost. Tried again, the call works.
#include <sys/mman.h>
#include <unistd.h>

#include "gpu/gpu_testing.h"
#include "import/conditionals.h"

enum { UNKNOWN_ERROR = 999, UNSUPPORTED_TEXT = 222 };

enum { MOST_CALLS = 1 << 10 };

static const char *calls[MOST_CALLS];
static long num_calls;

static void count_call(const char *function)
{
    assert_true(num_calls < MOST_CALLS);
    calls[num_calls++] = function;
}

// The library calls for its thread a second time. Memory of which nothing is known counts as
// watched.
static bool may_be_silent(const char *function)
{
    return strstr(function, "cuCtx") || strcmp(function, "cuPointerGetAttribute") == 0 ||
           strcmp(function, "cuThreadExchangeStreamCaptureMode") == 0;
}

static void count_calls(void)
{
    num_calls = 0;
    standin_watch(count_call);
}

static const char *const texts[] = { conditional_text };
static braid_import_info usual;
static const uint32_t words[WORDS] = { 3, 1, 7, 2 };

// Turns of memory[0], with a branch inside, beside another branch.
static void capture(int to)
{
    CUdeviceptr own;
    begin();
    must(cuMemAllocAsync(&own, 64, here.stream));
    must(cuMemsetD32Async(own, 1, 1, here.stream));
    struct conditional loop = begin_conditional(BRAID_IMPORT_WHILE, here.memory[0]);
    struct conditional branch = begin_branch(here.memory[1], 3, true);
    enter_body(&branch, 0);
    LAUNCH("move", own, here.memory[to]);
    leave_body(&branch);
    enter_body(&branch, 1);
    LAUNCH("hidden", here.memory[to]);
    leave_body(&branch);
    LAUNCH("down", here.memory[0]);
    end_conditional(&loop);
    must(cuMemFreeAsync(own, here.stream));
    must(cuStreamEndCapture(here.stream, &here.graph));
}

static braid_import_options options(void)
{
    braid_import_options made = conditional_options();
    made.texts = texts;
    made.num_texts = 1;
    return made;
}

static void check_plays(braid_import *import)
{
    uint32_t expected[WORDS], found[WORDS];
    here.import = import;
    play_captured(words, expected);
    play_imported(words, found);
    assert_memory_equal(found, expected, sizeof(found));
}

// Whether it failed.
static bool fail_import(long nth)
{
    const braid_import_options all = options();
    const long before = count_objects();
    braid_import_info info;
    braid_import *import = NULL;
    fail_calls("*:%ld=%d", nth, UNKNOWN_ERROR);
    const braid_status status = braid_import_create(here.device, here.graph, &all, &import);
    fail_calls(NULL);
    assert_true(status == BRAID_OK || status == BRAID_DEVICE_ERROR);
    if (!status) {
        if (!may_be_silent(calls[nth - 1]))
            fail_msg("nobody was told of call %ld, of %s", nth, calls[nth - 1]);
        braid_import_get_info(import, &info);
        assert_true(info.num_kept >= usual.num_kept && info.num_captured == usual.num_captured);
        check_plays(import);
    }
    braid_import_destroy(import);
    assert_int_equal(count_objects(), before);
    check_ok(braid_import_create(here.device, here.graph, &all, &import));
    check_plays(import);
    braid_import_destroy(import);
    return status;
}

static long count_import(void)
{
    const braid_import_options all = options();
    braid_import *import;
    check_ok(braid_import_create(here.device, here.graph, &all, &import)); // so that all is known
    check_plays(import);
    braid_import_destroy(import);
    count_calls();
    check_ok(braid_import_create(here.device, here.graph, &all, &import));
    standin_watch(NULL);
    braid_import_get_info(import, &usual);
    assert_int_equal(usual.num_conditionals, 2);
    braid_import_destroy(import);
    return num_calls;
}

static void imports_tell_of_a_failed_call(void **state)
{
    (void)state;
    long num_failed = 0;
    capture(2);
    const long num = count_import();
    for (long nth = 1; nth <= num; nth++)
        num_failed += fail_import(nth);
    print_message("summary: of %ld imports, with a call that fails, %ld failed\n", num, num_failed);
    assert_true(num_failed > num / 2);
    must(cuGraphDestroy(here.graph));
}

static void play_words(braid_exec *exec, uint32_t *out_words)
{
    for (int i = 0; i < WORDS; i++)
        must(cuMemcpyHtoD_v2(here.memory[i], &words[i], sizeof(words[i])));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    for (int i = 0; i < WORDS; i++)
        must(cuMemcpyDtoH_v2(&out_words[i], here.memory[i], sizeof(out_words[i])));
}

// The exec writes memory[2] before, and memory[3] afterwards. Number 0 is no call.
static bool fail_update(long nth)
{
    uint32_t found[WORDS];
    braid_import *import;
    braid_exec *exec;
    capture(2);
    braid_import_options all = options();
    check_ok(braid_import_create(here.device, here.graph, &all, &import));
    must(cuGraphDestroy(here.graph));
    check_ok(braid_exec_create(here.device, braid_import_get_graph(import), NULL, &exec));
    capture(3);
    all = options();
    if (nth)
        fail_calls("*:%ld=%d", nth, UNKNOWN_ERROR);
    count_calls();
    const braid_status status = braid_import_update(import, here.graph, &all, exec);
    standin_watch(NULL);
    fail_calls(NULL);
    play_words(exec, found);
    assert_int_equal(found[status ? 2 : 3], 1);
    assert_int_equal(found[status ? 3 : 2], words[status ? 3 : 2]);
    check_ok(braid_import_update(import, here.graph, &all, exec));
    play_words(exec, found);
    assert_int_equal(found[3], 1);
    must(cuGraphDestroy(here.graph));
    braid_exec_destroy(exec);
    braid_import_destroy(import);
    return status;
}

static void updates_tell_of_a_failed_call(void **state)
{
    (void)state;
    long num_failed = 0;
    assert_false(fail_update(0));
    const long num = num_calls;
    for (long nth = 1; nth <= num; nth++)
        num_failed += fail_update(nth);
    print_message("summary: of %ld updates, with a call that fails, %ld failed\n", num, num_failed);
    assert_true(num_failed > num / 2);
}

static CUgraph capture_wait(CUexternalSemaphore semaphore, uint64_t value)
{
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait = { .params.fence.value = value };
    begin();
    must(cuWaitExternalSemaphoresAsync(&semaphore, &wait, 1, here.stream));
    struct conditional loop = begin_conditional(BRAID_IMPORT_WHILE, here.memory[0]);
    LAUNCH("down", here.memory[0]);
    end_conditional(&loop);
    must(cuStreamEndCapture(here.stream, &here.graph));
    return here.graph;
}

// The driver has no loops for Braid, whose host reads a value when the node's turn comes.
static braid_exec *make_driven(const braid_graph *graph)
{
    braid_exec *exec = NULL;
    braid_exec_info info;
    fail_calls("cuModuleLoadData:1=%d", UNSUPPORTED_TEXT);
    check_ok(braid_exec_create(here.device, graph,
                               &(braid_exec_options){ .mode = BRAID_MODE_STREAMS }, &exec));
    fail_calls(NULL);
    braid_exec_get_info(exec, &info);
    assert_non_null(strstr(info.reason, "the host drives loops"));
    return exec;
}

static void values_of_a_frame_stay_where_the_host_drives_loops(void **state)
{
    close_conditionals(state); // an open device has its kernels of loops already
    open_conditionals(state);
    const int fd = memfd_create("semaphore", MFD_CLOEXEC);
    const uint64_t three = 3;
    CUexternalSemaphore semaphore;
    CUgraph graphs[3];
    braid_import *import = NULL;
    assert_int_equal(ftruncate(fd, sizeof(three)), 0);
    const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc = {
        .type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD, .handle.fd = dup(fd)
    };
    must(cuImportExternalSemaphore(&semaphore, &desc));
    graphs[0] = capture_wait(semaphore, 1);
    braid_import_options all = options();
    check_ok(braid_import_create(here.device, graphs[0], &all, &import));
    braid_exec *exec = make_driven(braid_import_get_graph(import));
    graphs[1] = capture_wait(semaphore, 2);
    all = options();
    check_ok(braid_import_update(import, graphs[1], &all, exec));
    must(cuMemsetD32_v2(here.memory[0], 2, 1));
    check_ok(braid_exec_launch(exec, NULL));
    graphs[2] = capture_wait(semaphore, 3);
    all = options();
    const braid_status status = braid_import_update(import, graphs[2], &all, exec);
    assert_int_equal(pwrite(fd, &three, sizeof(three), 0), sizeof(three)); // the frame ends
    check_fails(status, BRAID_BUSY,
                "node 0 of the captured graph, a wait for a semaphore: the host drives loops, and "
                "a frame in flight would take the values");
    check_ok(braid_exec_wait(exec));
    check_ok(braid_import_update(import, graphs[2], &all, exec));
    braid_exec_destroy(exec);
    braid_import_destroy(import);
    for (int i = 0; i < 3; i++)
        must(cuGraphDestroy(graphs[i]));
    must(cuDestroyExternalSemaphore(semaphore));
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(imports_tell_of_a_failed_call),
        cmocka_unit_test(updates_tell_of_a_failed_call),
        cmocka_unit_test(values_of_a_frame_stay_where_the_host_drives_loops),
    };
    return cmocka_run_group_tests(tests, open_conditionals, close_conditionals);
}
