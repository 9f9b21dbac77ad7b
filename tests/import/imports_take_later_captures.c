// SPDX-License-Identifier: Apache-2.0
// An exec of an import takes the values of a later capture of the same shape, or keeps its own.
#include "import/later_captures.h"

#include "gpu/gpu_testing.h"

// ---- values ----

static void arguments_change(void **state)
{
    (void)state;
    begin_capture();
    COPY_OF(0, 1);
    COPY_OF(1, 2);
    begin();
    play_exec();
    assert_int_equal(word(2, 0), 2);
    begin_capture();
    COPY_OF(3, 2);
    COPY_OF(2, 0);
    expect_update();
    play_exec();
    assert_int_equal(word(2, 0), 31);
    assert_int_equal(word(0, 0), 32);
    assert_int_equal(word(1, 0), 10);
    end();
}

static void launch_wide(unsigned blocks)
{
    CUfunction function;
    void *params[] = { &here.memory[0] };
    must(cuModuleGetFunction(&function, here.module, "spread"));
    must(cuLaunchKernel(function, blocks, 1, 1, 1, 1, 1, 0, here.stream, params, NULL));
}

static void grids_change(void **state)
{
    (void)state;
    begin_capture();
    launch_wide(1);
    begin();
    begin_capture();
    launch_wide(5);
    expect_update();
    play_exec();
    assert_int_equal(word(0, 4), 77);
    assert_int_equal(word(0, 5), 0);
    end();
}

static unsigned num_calls[2];

static void call_host(void *user)
{
    ++*(unsigned *)user;
}

static void capture_all(int first, uint32_t value, uint32_t num, unsigned *count)
{
    begin_capture();
    must(cuMemcpyDtoDAsync_v2(here.memory[first + 1], here.memory[first], 4 * (size_t)num,
                              here.stream));
    must(cuMemsetD32Async(here.memory[first] + 8, value, num, here.stream));
    must(cuMemsetD16Async(here.memory[first] + 64, (unsigned short)value, 2, here.stream));
    must(cuLaunchHostFunc(here.stream, call_host, count));
}

static void copies_fills_and_host_calls_change(void **state)
{
    (void)state;
    num_calls[0] = num_calls[1] = 0;
    capture_all(0, 5, 1, &num_calls[0]);
    begin();
    play_exec();
    capture_all(1, 7, 2, &num_calls[1]);
    expect_update();
    play_exec();
    assert_int_equal(word(2, 1), 10);
    assert_int_equal(word(2, 2), 20);
    assert_int_equal(word(1, 2), 7);
    assert_int_equal(word(1, 3), 7);
    assert_int_equal(word(1, 4), 10);
    assert_int_equal(word(1, 16), 7 << 16 | 7);
    assert_int_equal(word(0, 2), 0);
    assert_int_equal(num_calls[0], 1);
    assert_int_equal(num_calls[1], 1);
    end();
}

// ---- orders ----

static void orders_that_lack_are_refused(void **state)
{
    (void)state;
    begin_capture();
    COPY_OF(0, 1);
    COPY_OF(2, 3);
    begin();
    assert_int_equal(here.info.num_kept, 0);
    begin_capture();
    COPY_OF(0, 1);
    COPY_OF(1, 3);
    expect_refused("nodes 0 and 1 of the captured graph may share memory now, and the exec does "
                   "not order them: import it anew");
    play_exec();
    assert_int_equal(word(1, 0), 1);
    assert_int_equal(word(3, 0), 21);
    end();
}

// Its parts tell what two nodes share.
static void buffers_of_the_program_count(void **state)
{
    (void)state;
    const braid_import_buffer parts[] = {
        { .address = (void *)(uintptr_t)here.memory[1], .bytes = 64 },        // NOLINT
        { .address = (void *)(uintptr_t)(here.memory[1] + 64), .bytes = 64 }, // NOLINT
    };
    begin_capture();
    COPY_OF(0, 1);
    COPY_OF(2, 3);
    begin();
    for (size_t num = 0; num <= 2; num += 2) {
        begin_capture();
        COPY_OF(0, 1);
        LAUNCH("copy", here.memory[2], here.memory[1] + 64);
        check_fails(update_with(&(braid_import_options){ .num_buffers = 2 }),
                    BRAID_INVALID_ARGUMENT, "a list of the options is NULL");
        begin_capture();
        COPY_OF(0, 1);
        LAUNCH("copy", here.memory[2], here.memory[1] + 64);
        const braid_status status =
            update_with(&(braid_import_options){ .buffers = parts, .num_buffers = num });
        assert_int_equal(status, num ? BRAID_OK : BRAID_INVALID_ARGUMENT);
    }
    play_exec();
    assert_int_equal(word(1, 0), 1);
    assert_int_equal(word(1, 16), 21);
    end();
}

// ---- shape ----

static void capture_shape(const char *name, uint32_t num, unsigned threads)
{
    CUfunction function;
    void *params[] = { &here.memory[0], &here.memory[1], &here.memory[2] };
    must(cuModuleGetFunction(&function, here.module, name));
    begin_capture();
    for (uint32_t i = 0; i < num; i++)
        must(cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, here.stream, params, NULL));
}

static void other_shapes_are_refused(void **state)
{
    (void)state;
    capture_shape("copy", 2, 1);
    begin();
    capture_shape("copy", 3, 1);
    expect_refused("the captured graph has 3 nodes, and had 2: import it anew");
    capture_shape("sum", 2, 1);
    expect_refused("node 0 of the captured graph (kernel) runs 'sum', and ran 'copy'");
    capture_shape("copy", 2, 2);
    expect_refused("node 0 of the captured graph (kernel) has another block, cluster, shared");
    begin_capture();
    COPY_OF(0, 1);
    must(cuMemsetD32Async(here.memory[1], 1, 1, here.stream));
    expect_refused("node 1 of the captured graph (fill) was a kernel: import it anew");
    begin_capture();
    wait_for(side, here.stream);
    COPY_OF(0, 1);
    LAUNCH_BESIDE("copy", here.memory[0], here.memory[1]);
    wait_for(here.stream, side);
    expect_refused("the captured graph has other edges: import it anew");
    end();
}

static void capture_others(unsigned bytes, CUhostFn call, size_t pitch, CUevent event)
{
    const CUDA_MEMCPY2D rows = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = here.memory[0],
        .srcPitch = 64,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = here.memory[1],
        .dstPitch = pitch,
        .WidthInBytes = 8,
        .Height = 2,
    };
    begin_capture();
    if (bytes == 4)
        must(cuMemsetD32Async(here.memory[2], 1, 1, here.stream));
    else
        must(cuMemsetD8Async(here.memory[2], 1, 4, here.stream));
    must(cuLaunchHostFunc(here.stream, call, &num_calls[0]));
    must(cuMemcpy2DAsync_v2(&rows, here.stream));
    must(cuMemsetD2D8Async(here.memory[3], pitch, 3, 4, 2, here.stream));
    must(cuEventRecordWithFlags(event, here.stream, CU_EVENT_RECORD_EXTERNAL));
}

static void call_twice(void *user)
{
    *(unsigned *)user += 2;
}

static void other_nodes_are_refused(void **state)
{
    (void)state;
    CUevent other;
    must(cuEventCreate(&other, CU_EVENT_DISABLE_TIMING));
    capture_others(4, call_host, 32, here.event);
    begin();
    capture_others(4, call_host, 32, here.event);
    expect_update();
    capture_others(1, call_host, 32, here.event);
    expect_refused("node 0 of the captured graph (fill) has values of another size");
    capture_others(4, call_twice, 32, here.event);
    expect_refused("node 1 of the captured graph (host call) has another function");
    capture_others(4, call_host, 16, here.event);
    expect_refused("node 2 of the captured graph (copy) has other rows");
    capture_others(4, call_host, 32, other);
    expect_refused("node 4 of the captured graph (record of an event) has another event");
    num_calls[0] = 0;
    play_exec();
    assert_int_equal(num_calls[0], 1);
    end();
    must(cuEventDestroy_v2(other));
}

static void another_graphs_exec_is_refused(void **state)
{
    (void)state;
    braid_import *first;
    begin_capture();
    COPY_OF(0, 1);
    begin();
    first = here.import;
    begin_capture();
    COPY_OF(0, 1);
    import_with(NULL);
    begin_capture();
    COPY_OF(0, 1);
    expect_refused("the exec is not one of the import's graph");
    braid_import_destroy(here.import);
    here.import = first;
    end();
}

// ---- failures ----

enum { UNKNOWN_ERROR = 999, MOST_CALLS = 200 };

static int num_driver_calls;

static void note_call(const char *function)
{
    (void)function;
    num_driver_calls++;
}

// The values are all new, or all as before.
static void any_call_may_fail(void **state)
{
    (void)state;
    int num_failed = 0;
    capture_all(0, 5, 1, &num_calls[0]);
    launch_wide(1);
    begin();
    capture_all(1, 7, 2, &num_calls[1]);
    launch_wide(2);
    must(cuStreamEndCapture(here.stream, &here.graph));
    for (int nth = 1; nth <= MOST_CALLS; nth++) {
        braid_exec *const kept = exec;
        check_ok(braid_exec_create(here.device, braid_import_get_graph(here.import), NULL, &exec));
        num_driver_calls = 0;
        standin_watch(note_call);
        fail_calls("*:%d=%d", nth, UNKNOWN_ERROR);
        const braid_status status = braid_import_update(here.import, here.graph, NULL, exec);
        fail_calls(NULL);
        standin_watch(NULL);
        num_calls[0] = num_calls[1] = 0;
        play_exec();
        assert_int_equal(num_calls[0], status != BRAID_OK);
        assert_int_equal(num_calls[1], status == BRAID_OK);
        assert_int_equal(word(1, 3), status ? 10 : 7);
        braid_exec_destroy(exec);
        exec = kept;
        num_failed += status != BRAID_OK;
        if (num_driver_calls < nth)
            break;
    }
    assert_true(num_failed > 20);
    must(cuGraphDestroy(here.graph));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(arguments_change, open_captures, close_captures),
        cmocka_unit_test_setup_teardown(grids_change, open_captures, close_captures),
        cmocka_unit_test_setup_teardown(copies_fills_and_host_calls_change, open_captures,
                                        close_captures),
        cmocka_unit_test_setup_teardown(orders_that_lack_are_refused, open_captures,
                                        close_captures),
        cmocka_unit_test_setup_teardown(buffers_of_the_program_count, open_captures,
                                        close_captures),
        cmocka_unit_test_setup_teardown(other_shapes_are_refused, open_captures, close_captures),
        cmocka_unit_test_setup_teardown(other_nodes_are_refused, open_captures, close_captures),
        cmocka_unit_test_setup_teardown(another_graphs_exec_is_refused, open_captures,
                                        close_captures),
        cmocka_unit_test_setup_teardown(any_call_may_fail, open_captures, close_captures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
