// SPDX-License-Identifier: Apache-2.0
// A later capture uses allocations of the graph, and kinds of memory, as the first one did, or is
// refused.
#include "import/later_captures.h"

// The driver may give the allocation of a later capture another address.
static void capture_allocation(size_t bytes, size_t offset, size_t copied_at, size_t copied, int to)
{
    CUdeviceptr memory;
    begin_capture();
    must(cuMemAllocAsync(&memory, bytes, here.stream));
    must(cuMemsetD32Async(memory, 40 + (unsigned)to, 8, here.stream));
    LAUNCH("copy", memory + offset, here.memory[to]);
    must(cuMemcpyDtoDAsync_v2(here.memory[3], memory + copied_at, copied, here.stream));
    must(cuMemFreeAsync(memory, here.stream));
}

static void allocations_stay(void **state)
{
    (void)state;
    CUdeviceptr between;
    capture_allocation(BYTES, 0, 0, 4, 1);
    begin();
    must(cuMemAlloc_v2(&between, BYTES));
    capture_allocation(BYTES, 0, 0, 4, 2);
    expect_update();
    play_exec();
    assert_int_equal(word(1, 0), 10);
    assert_int_equal(word(2, 0), 43);
    assert_int_equal(word(3, 0), 42);
    capture_allocation(BYTES, 4, 0, 4, 2);
    expect_refused("use its allocations in another way: import it anew");
    capture_allocation(BYTES, 0, 4, 4, 2);
    expect_refused("node 3 of the captured graph (copy) has another part of an allocation");
    capture_allocation(BYTES, 0, 0, 8, 2);
    expect_refused("node 3 of the captured graph (copy) has another part of an allocation");
    capture_allocation(2 * BYTES, 0, 0, 4, 2);
    expect_refused("node 0 of the captured graph (allocation) has another size: import it anew");
    play_exec();
    assert_int_equal(word(2, 0), 43);
    must(cuMemFree_v2(between));
    end();
}

// The kernel orders both allocations.
static void capture_second(int which, bool fills)
{
    CUdeviceptr own[2];
    begin_capture();
    must(cuMemAllocAsync(&own[0], BYTES, here.stream));
    must(cuMemAllocAsync(&own[1], BYTES, here.stream));
    must(cuMemsetD32Async(own[0], 5, 8, here.stream));
    LAUNCH("copy", own[0], own[1]);
    if (fills)
        must(cuMemsetD32Async(own[which], 9, 8, here.stream));
    else
        must(cuMemcpyDtoDAsync_v2(here.memory[0], own[which], 4, here.stream));
    LAUNCH("copy", own[1], here.memory[1]);
    must(cuMemFreeAsync(own[0], here.stream));
    must(cuMemFreeAsync(own[1], here.stream));
}

static void another_allocation_is_refused(void **state)
{
    (void)state;
    for (int fills = 0; fills < 2; fills++) {
        capture_second(1, fills);
        begin();
        capture_second(0, fills);
        expect_refused("has another part of an allocation: import it anew");
        play_exec();
        assert_int_equal(word(1, 0), fills ? 10 : 7);
        end();
    }
}

// The rows begin at a place in one of two allocations. A copy takes them to a buffer.
static void capture_rows(int which, size_t offset, bool fills, int to)
{
    CUdeviceptr own[2];
    begin_capture();
    for (int i = 0; i < 2; i++) {
        must(cuMemAllocAsync(&own[i], BYTES, here.stream));
        must(cuMemsetD32Async(own[i], 5 + (unsigned)i, BYTES / 4, here.stream));
    }
    LAUNCH("copy", own[0], own[1]); // orders both
    const CUDA_MEMCPY2D rows = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .srcDevice = own[which] + offset,
                                 .srcPitch = 64,
                                 .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .dstDevice = here.memory[to],
                                 .dstPitch = 32,
                                 .WidthInBytes = 8,
                                 .Height = 3 };
    if (fills)
        must(cuMemsetD2D32Async(own[which] + offset, 64, 9, 2, 3, here.stream));
    else
        must(cuMemcpy2DAsync_v2(&rows, here.stream));
    must(cuMemcpyDtoDAsync_v2(here.memory[2], own[1] + 64, 4, here.stream));
    must(cuMemFreeAsync(own[0], here.stream));
    must(cuMemFreeAsync(own[1], here.stream));
}

static void rows_stay_in_their_allocation(void **state)
{
    (void)state;
    for (int fills = 0; fills < 2; fills++) {
        CUdeviceptr between[2];
        capture_rows(1, 0, fills, 1);
        begin();
        for (int i = 0; i < 2; i++)
            must(cuMemAlloc_v2(&between[i], BYTES));
        capture_rows(1, 0, fills, 1);
        expect_update();
        if (!fills) {
            capture_rows(1, 0, false, 3);
            expect_refused("has other rows: import it anew");
        }
        capture_rows(0, 0, fills, 1);
        expect_refused("has another part of an allocation: import it anew");
        capture_rows(1, 4, fills, 1);
        expect_refused("has another part of an allocation: import it anew");
        play_exec();
        assert_int_equal(word(1, 0), fills ? 10 : 6);
        assert_int_equal(word(1, 8), fills ? 10 : 6);
        assert_int_equal(word(2, 0), fills ? 9 : 6);
        for (int i = 0; i < 2; i++)
            must(cuMemFree_v2(between[i]));
        end();
    }
}

static void capture_copy(int kind, void *pinned)
{
    begin_capture();
    if (kind == 0)
        must(cuMemcpyDtoDAsync_v2(here.memory[0], here.memory[1], 4, here.stream));
    else if (kind == 1)
        must(cuMemcpyHtoDAsync_v2(here.memory[0], pinned, 4, here.stream));
    else
        must(cuMemcpyAsync(here.memory[0],
                           kind == 2 ? here.memory[1] : (CUdeviceptr)(uintptr_t)pinned, 4,
                           here.stream));
}

// No graph of the driver takes it in place of the other.
static void memory_of_another_kind_is_refused(void **state)
{
    (void)state;
    void *pinned;
    must(cuMemAllocHost_v2(&pinned, 64));
    for (int kind = 0; kind < 4; kind += 2) {
        capture_copy(kind, pinned);
        begin();
        capture_copy(kind + 1, pinned);
        expect_refused("node 0 of the captured graph (copy) has memory of another kind");
        play_exec();
        assert_int_equal(word(0, 0), 10);
        end();
    }
    must(cuMemFreeHost(pinned));
}

static void capture_any(int kind, CUdeviceptr memory)
{
    begin_capture();
    if (kind == 0)
        must(cuMemcpyAsync(here.memory[0], memory, 4, here.stream));
    else if (kind == 1)
        must(cuMemcpyAsync(memory, here.memory[0], 4, here.stream));
    else
        must(cuMemsetD32Async(memory, 5, 1, here.stream));
}

// It is of another kind also where nobody looks at it during a frame.
static void unwatched_memory_of_another_kind_is_refused(void **state)
{
    (void)state;
    const braid_import_options options = { .is_unwatched = true };
    CUdeviceptr all[3] = { here.memory[1], here.memory[2] };
    void *pinned;
    must(cuMemAllocHost_v2(&pinned, 64));
    all[2] = (uintptr_t)pinned;
    for (int kind = 0; kind < 3; kind++) {
        for (int first = 0; first < 3; first += 2) {
            capture_any(kind, all[first]);
            import_with(&options);
            check_ok(
                braid_exec_create(here.device, braid_import_get_graph(here.import), NULL, &exec));
            capture_any(kind, all[2 - first]);
            check_fails(update_with(&options), BRAID_INVALID_ARGUMENT,
                        "has memory of another kind");
            capture_any(kind, all[first ? 2 : 1]);
            check_ok(update_with(&options));
            play_exec();
            end();
        }
    }
    must(cuMemFreeHost(pinned));
}

static void capture_lives(bool is_other)
{
    CUdeviceptr memory[2];
    begin_capture();
    must(cuMemAllocAsync(&memory[0], BYTES, here.stream));
    must(cuMemAllocAsync(&memory[1], BYTES, here.stream));
    COPY_OF(0, 1);
    must(cuMemFreeAsync(memory[is_other], here.stream));
    COPY_OF(1, 2);
    must(cuMemFreeAsync(memory[!is_other], here.stream));
}

static void allocations_live_as_before(void **state)
{
    (void)state;
    capture_lives(false);
    begin();
    capture_lives(true);
    expect_refused("use its allocations in another way: import it anew");
    end();
}

static void capture_hidden(CUdeviceptr from)
{
    CUdeviceptr memory;
    begin_capture();
    must(cuMemAllocAsync(&memory, BYTES, here.stream));
    must(cuMemsetD32Async(memory, 5, 8, here.stream));
    LAUNCH("copy", memory, here.memory[1]);
    LAUNCH("copy", from, here.memory[1]);
    must(cuMemFreeAsync(memory, here.stream));
}

// A node without proof may use each allocation that lives.
static void nodes_that_lose_their_proof_may_use_allocations(void **state)
{
    (void)state;
    void *pinned;
    must(cuMemAllocHost_v2(&pinned, BYTES));
    capture_hidden(here.memory[0]);
    begin();
    capture_hidden((uintptr_t)pinned);
    expect_refused("use its allocations in another way: import it anew");
    must(cuMemFreeHost(pinned));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(allocations_stay, open_captures, close_captures),
        cmocka_unit_test_setup_teardown(another_allocation_is_refused, open_captures,
                                        close_captures),
        cmocka_unit_test_setup_teardown(rows_stay_in_their_allocation, open_captures,
                                        close_captures),
        cmocka_unit_test_setup_teardown(memory_of_another_kind_is_refused, open_captures,
                                        close_captures),
        cmocka_unit_test_setup_teardown(unwatched_memory_of_another_kind_is_refused, open_captures,
                                        close_captures),
        cmocka_unit_test_setup_teardown(allocations_live_as_before, open_captures, close_captures),
        cmocka_unit_test_setup_teardown(nodes_that_lose_their_proof_may_use_allocations,
                                        open_captures, close_captures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
