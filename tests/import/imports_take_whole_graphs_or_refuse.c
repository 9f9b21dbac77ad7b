// SPDX-License-Identifier: Apache-2.0
// An import takes allocations, child graphs and files, and refuses by its place what it cannot do.
#include <unistd.h>

#include "import/captures.h"

#include <stdatomic.h>
#include <stdlib.h>

// ---- allocations of the graph ----

static void an_end_of_an_allocation_moves_with_it(void **state)
{
    (void)state;
    CUdeviceptr own;
    begin_capture();
    must(cuMemAllocAsync(&own, 64, here.stream));
    must(cuMemsetD32Async(own, 3, 16, here.stream));
    LAUNCH("sum", own, own + 64, here.memory[0]);
    must(cuMemFreeAsync(own, here.stream));
    import_with(&(braid_import_options){ TEXTS(text) });
    assert_int_equal(here.info.num_rewritten, 2);
    assert_int_equal(here.info.num_allocations, 1);
    expect_report("allocations: 1, as transient buffers. 2 words of arguments");
    play();
    uint32_t sum;
    must(cuMemcpyDtoH_v2(&sum, here.memory[0], sizeof(sum)));
    assert_int_equal(sum, 48);
    braid_import_destroy(here.import);
}

// The kernel that is not proven may use both: neither takes the other's bytes.
static void a_kernel_without_proof_holds_allocations(void **state)
{
    (void)state;
    braid_exec *exec;
    braid_exec_info made;
    for (int is_held = 0; is_held < 2; is_held++) {
        CUdeviceptr own[2];
        begin_capture();
        must(cuMemAllocAsync(&own[0], BYTES, here.stream));
        LAUNCH("copy", here.memory[0], own[0]);
        must(cuMemAllocAsync(&own[1], BYTES, here.stream));
        LAUNCH("copy", here.memory[1], own[1]);
        if (is_held)
            LAUNCH("follow", here.memory[2], here.memory[3]);
        must(cuMemFreeAsync(own[0], here.stream));
        must(cuMemFreeAsync(own[1], here.stream));
        import_with(&(braid_import_options){ TEXTS(text) });
        check_ok(braid_exec_create(here.device, braid_import_get_graph(here.import),
                                   &(braid_exec_options){ .max_lanes = 1 }, &exec));
        braid_exec_get_info(exec, &made);
        assert_int_equal(made.transient_bytes, is_held ? 2 * BYTES : BYTES);
        braid_exec_destroy(exec);
        braid_import_destroy(here.import);
    }
}

static void lost_allocations_are_refused(void **state)
{
    (void)state;
    CUdeviceptr own;
    begin_capture();
    LAUNCH("copy", here.memory[0], here.memory[1]);
    must(cuMemAllocAsync(&own, 64, here.stream));
    expect_refusal(NULL, BRAID_UNSUPPORTED,
                   "node 1 of the captured graph, an allocation, is not freed in the graph");
    begin_capture();
    must(cuMemAllocAsync(&own, 64, here.stream));
    must(cuMemFreeAsync(own, here.stream));
    LAUNCH("copy", own, here.memory[1]);
    expect_refusal(&(braid_import_options){ TEXTS(text) }, BRAID_INVALID_ARGUMENT,
                   "node 2 of the captured graph, a kernel, uses memory of node 0, an allocation");
}

// Braid packs the allocation elsewhere, and its rows with it.
static void rows_in_allocations_are_copied(void **state)
{
    (void)state;
    unsigned char bytes[4 * 32];
    for (int i = 0; i < 2; i++) {
        CUdeviceptr other, own;
        braid_exec *exec;
        begin_capture();
        must(cuMemAllocAsync(&other, 512, here.stream));
        must(cuMemAllocAsync(&own, 512, here.stream));
        must(cuMemsetD8Async(other, 1, 512, here.stream));
        must(cuMemsetD8Async(own, 2, 512, here.stream));
        must(cuMemsetD2D16Async(own + 64, 128, 0x0707, 4, 3, here.stream));
        const CUDA_MEMCPY2D rows = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                     .srcDevice = own + 60,
                                     .srcPitch = 128,
                                     .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                     .dstDevice = here.memory[1],
                                     .dstPitch = 32,
                                     .WidthInBytes = 16,
                                     .Height = 3 };
        must(cuMemcpy2DAsync_v2(&rows, here.stream));
        must(cuMemFreeAsync(other, here.stream));
        must(cuMemFreeAsync(own, here.stream));
        import_with(NULL);
        assert_int_equal(here.info.num_unproven, 0);
        const braid_exec_options options = { .mode = i ? BRAID_MODE_AUTO : BRAID_MODE_STREAMS };
        check_ok(
            braid_exec_create(here.device, braid_import_get_graph(here.import), &options, &exec));
        must(cuMemsetD8_v2(here.memory[1], 9, BYTES));
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        must(cuMemcpyDtoH_v2(bytes, here.memory[1], sizeof(bytes)));
        for (int at = 0; at < (int)sizeof(bytes); at++) {
            const int column = at % 32, row = at / 32;
            assert_int_equal(bytes[at], row == 3 || column >= 16        ? 9
                                        : column >= 4 && column < 4 + 8 ? 7
                                                                        : 2);
        }
        braid_exec_destroy(exec);
        braid_import_destroy(here.import);
    }
}

// ---- other nodes ----

static void child_graphs_are_taken_apart(void **state)
{
    (void)state;
    CUgraph child, whole;
    CUgraphNode node, first, last;
    begin_capture();
    LAUNCH("copy", here.memory[0], here.memory[1]);
    LAUNCH("copy", here.memory[1], here.memory[2]);
    must(cuStreamEndCapture(here.stream, &child));
    must(cuGraphCreate(&whole, 0));
    must(cuGraphAddChildGraphNode(&first, whole, NULL, 0, child));
    must(cuGraphAddEmptyNode(&node, whole, &first, 1));
    must(cuGraphAddChildGraphNode(&last, whole, &node, 1, child));
    check_ok(braid_import_create(here.device, whole, &(braid_import_options){ TEXTS(text) },
                                 &here.import));
    braid_import_get_info(here.import, &here.info);
    assert_int_equal(here.info.num_kernels, 4);
    assert_int_equal(here.info.num_captured, 6);
    assert_int_equal(here.info.longest_kept, 4);
    play();
    must(cuGraphDestroy(whole));
    must(cuGraphDestroy(child));
    braid_import_destroy(here.import);
}

// The program waits for an event that each frame records, in both modes.
static void events_are_recorded_and_awaited(void **state)
{
    (void)state;
    braid_exec *exec;
    CUevent own;
    must(cuEventCreate(&own, CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < 2; i++) {
        begin_capture();
        must(cuStreamWaitEvent(here.stream, own, CU_EVENT_WAIT_EXTERNAL));
        LAUNCH("copy", here.memory[0], here.memory[1]);
        must(cuEventRecordWithFlags(own, here.stream, CU_EVENT_RECORD_EXTERNAL));
        LAUNCH("copy", here.memory[2], here.memory[3]);
        import_with(&(braid_import_options){ TEXTS(text) });
        assert_int_equal(here.info.num_kept, 6);
        assert_int_equal(here.info.num_unproven, 2);
        expect_report("others may wait for the event, or record it");
        const braid_exec_options options = { .mode = i ? BRAID_MODE_AUTO : BRAID_MODE_STREAMS };
        check_ok(
            braid_exec_create(here.device, braid_import_get_graph(here.import), &options, &exec));
        const uint32_t five = 5;
        uint32_t word = 0;
        must(cuMemcpyHtoD_v2(here.memory[0], &five, sizeof(five)));
        check_ok(braid_exec_launch(exec, NULL));
        must(cuEventSynchronize(own));
        must(cuMemcpyDtoH_v2(&word, here.memory[1], sizeof(word)));
        assert_int_equal(word, 6);
        check_ok(braid_exec_wait(exec));
        braid_exec_destroy(exec);
        braid_import_destroy(here.import);
    }
    must(cuEventDestroy_v2(own));
}

// The program writes a value that the frame waits for, and waits for one that the frame writes.
static void values_are_written_and_awaited(void **state)
{
    (void)state;
    braid_exec *exec;
    void *flag;
    must(cuMemHostAlloc(&flag, sizeof(uint32_t), 0));
    _Atomic uint32_t *word = flag;
    for (int i = 0; i < 2; i++) {
        begin_capture();
        must(cuStreamWaitValue32_v2(here.stream, (uintptr_t)flag, 5, CU_STREAM_WAIT_VALUE_EQ));
        LAUNCH("copy", here.memory[0], here.memory[1]);
        must(cuStreamWriteValue32_v2(here.stream, (uintptr_t)flag, 6, 0));
        LAUNCH("copy", here.memory[2], here.memory[3]);
        import_with(&(braid_import_options){ TEXTS(text) });
        assert_int_equal(here.info.num_kept, 6);
        assert_int_equal(here.info.num_unproven, 2);
        expect_report("others may wait for the values, or write them");
        const braid_exec_options options = { .mode = i ? BRAID_MODE_AUTO : BRAID_MODE_STREAMS };
        check_ok(
            braid_exec_create(here.device, braid_import_get_graph(here.import), &options, &exec));
        atomic_store(word, 0);
        check_ok(braid_exec_launch(exec, NULL));
        check_fails(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 20000000), BRAID_TIMEOUT, "");
        assert_int_equal(atomic_load(word), 0);
        atomic_store(word, 5);
        check_ok(braid_exec_wait(exec));
        assert_int_equal(atomic_load(word), 6);
        braid_exec_destroy(exec);
        braid_import_destroy(here.import);
    }
    must(cuMemFreeHost(flag));
}

// One lane could run the wait before the write.
static void a_wait_beside_other_nodes_is_refused(void **state)
{
    (void)state;
    for (int writes = 0; writes < 2; writes++) {
        begin_capture();
        LAUNCH("copy", here.memory[0], here.memory[1]);
        wait_for(side, here.stream);
        if (writes)
            must(cuStreamWriteValue32_v2(here.stream, here.memory[2], 5, 0));
        else
            must(cuStreamWaitValue32_v2(here.stream, here.memory[2], 5, CU_STREAM_WAIT_VALUE_EQ));
        LAUNCH_BESIDE("copy", here.memory[0], here.memory[3]);
        wait_for(here.stream, side);
        if (writes) {
            import_with(NULL);
            braid_import_destroy(here.import);
        } else {
            expect_refusal(NULL, BRAID_UNSUPPORTED,
                           "node 1 of the captured graph, a batch of memory operations, waits for "
                           "a value beside other nodes");
        }
    }
}

// The driver would go on using the captured address.
static void a_batch_on_an_allocation_is_refused(void **state)
{
    (void)state;
    for (int waits = 0; waits < 2; waits++) {
        CUdeviceptr own;
        begin_capture();
        must(cuMemAllocAsync(&own, 64, here.stream));
        if (waits)
            must(cuStreamWaitValue32_v2(here.stream, own + 60, 0, CU_STREAM_WAIT_VALUE_EQ));
        else
            must(cuStreamWriteValue32_v2(here.stream, own + 60, 5, 0));
        must(cuStreamWriteValue32_v2(here.stream, here.memory[0], 5, 0));
        must(cuMemFreeAsync(own, here.stream));
        expect_refusal(NULL, BRAID_UNSUPPORTED,
                       "node 1 of the captured graph, a batch of memory operations, has an address "
                       "of node 0, an allocation, whose memory moves");
    }
}

static void an_imported_graph_stays_as_it_is(void **state)
{
    (void)state;
    begin_capture();
    LAUNCH("copy", here.memory[0], here.memory[1]);
    import_with(NULL);
    braid_graph *made = braid_import_get_graph(here.import);
    assert_int_equal(braid_graph_add_empty(made, &(braid_empty){ { 0 } }, NULL),
                     BRAID_INVALID_ARGUMENT);
    assert_non_null(strstr(braid_error_get_message(), "takes no further nodes"));
    braid_import_destroy(here.import);
}

static void an_import_is_measured_and_tuned(void **state)
{
    (void)state;
    braid_exec *exec;
    braid_exec_options way;
    begin_capture();
    for (int i = 0; i < 6; i++)
        LAUNCH("copy", here.memory[i % 4], here.memory[(i + 1) % 4]);
    import_with(&(braid_import_options){ TEXTS(text) });
    braid_graph *made = braid_import_get_graph(here.import);
    check_ok(
        braid_exec_create(here.device, made, &(braid_exec_options){ .frames_kept = 3 }, &exec));
    check_ok(braid_exec_measure(exec, made, 3));
    braid_exec_destroy(exec);
    play();
    check_ok(braid_graph_tune(made, here.device,
                              &(braid_tune_options){ .budget_ns = 1000000, .max_lanes = 2 }, &way));
    check_ok(braid_exec_create(here.device, made, &way, &exec));
    braid_exec_destroy(exec);
    braid_import_destroy(here.import);
}

static void an_empty_graph_is_imported(void **state)
{
    (void)state;
    begin_capture();
    import_with(NULL);
    assert_int_equal(here.info.num_nodes, 0);
    play();
    braid_import_destroy(here.import);
}

static void files_have_texts(void **state)
{
    (void)state;
    char path[] = "/tmp/braid-import-XXXXXX"; // NOLINT
    const int at = mkstemp(path);
    FILE *file = at >= 0 ? fdopen(at, "w") : NULL;
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    begin_capture();
    LAUNCH("copy", here.memory[0], here.memory[1]);
    import_with(&(braid_import_options){ .files = (const char *[]){ path }, .num_files = 1 });
    assert_int_equal(here.info.num_unproven, 0);
    braid_import_destroy(here.import);
    assert_int_equal(remove(path), 0);
    begin_capture();
    LAUNCH("copy", here.memory[0], here.memory[1]);
    expect_refusal(&(braid_import_options){ .files = (const char *[]){ path }, .num_files = 1 },
                   BRAID_IO_ERROR, path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_of_an_allocation_moves_with_it),
        cmocka_unit_test(a_kernel_without_proof_holds_allocations),
        cmocka_unit_test(lost_allocations_are_refused),
        cmocka_unit_test(rows_in_allocations_are_copied),
        cmocka_unit_test(child_graphs_are_taken_apart),
        cmocka_unit_test(events_are_recorded_and_awaited),
        cmocka_unit_test(values_are_written_and_awaited),
        cmocka_unit_test(a_wait_beside_other_nodes_is_refused),
        cmocka_unit_test(a_batch_on_an_allocation_is_refused),
        cmocka_unit_test(an_imported_graph_stays_as_it_is),
        cmocka_unit_test(an_import_is_measured_and_tuned),
        cmocka_unit_test(an_empty_graph_is_imported),
        cmocka_unit_test(files_have_texts),
    };
    return cmocka_run_group_tests(tests, open_captures, close_captures);
}
