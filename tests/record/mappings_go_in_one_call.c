// SPDX-License-Identifier: Apache-2.0
// A program may unmap several mappings by one call. Then the record has none of them, and another
// mapping at their addresses is the only one there. A refused call unmaps nothing.
#include "record/program.h"

enum { PAGE = 4096, NUM = 4, VALUE = 7 };

static CUdeviceptr begin;

static void map(CUdeviceptr at, size_t bytes)
{
    const CUmemAllocationProp properties = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                             .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    const CUmemAccessDesc access = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
                                     CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUmemGenericAllocationHandle mapping;
    must(cuMemCreate(&mapping, bytes, &properties, 0));
    must(cuMemMap(at, bytes, 0, mapping, 0));
    must(cuMemRelease(mapping));
    must(cuMemSetAccess(at, bytes, &access, 1));
    must(cuMemsetD32_v2(at, VALUE, bytes / 4));
}

static void check(const braid_record_contents *contents)
{
    const uint64_t sizes[] = { 3 * PAGE, PAGE, 2 * PAGE };
    const uint32_t num_freed = 2;
    uint32_t num[3] = { 0 }, num_frees = 0;
    for (uint32_t i = 0; i < contents->num_allocations; i++) {
        const braid_record_allocation *row = &contents->allocations[i];
        for (int k = 0; k < 3; k++)
            num[k] += row->kind == BRAID_RECORD_MAPPED && row->bytes == sizes[k];
        assert_true(row->bytes != PAGE || row->freed_at != BRAID_RECORD_NONE);
    }
    assert_int_equal(num[0], 1);
    assert_int_equal(num[1], num_freed);
    assert_int_equal(num[2], 0);
    for (uint32_t i = 0; i < contents->num_operations; i++)
        num_frees += contents->operations[i].work.kind == BRAID_RECORD_FREE;
    assert_int_equal(num_frees, num_freed);
    // The memory of the begin is there: none of it had gone.
    assert_int_equal(contents->num_memory, 1 + num_freed);
    for (uint32_t i = 0; i < contents->num_memory; i++) {
        const bool is_freed = contents->memory[i].num_bytes == PAGE;
        assert_true(is_freed == (contents->memory[i].digest_behind == 0));
    }
}

static void mappings_go_in_one_call(void **state)
{
    CUdeviceptr other;
    (void)state;
    must(cuMemAddressReserve(&begin, NUM * PAGE, 0, 0, 0));
    must(cuMemAddressReserve(&other, NUM * PAGE, 0, 0, 0));
    map(begin, PAGE);
    map(begin + PAGE, 2 * PAGE);
    assert_int_not_equal(cuMemUnmap(begin, 4 * PAGE), CUDA_SUCCESS);
    must(cuMemUnmap(begin, 3 * PAGE));
    map(begin, 3 * PAGE);
    map(other, PAGE);
    map(other + PAGE, PAGE);
    assert_true(braid_record_frame_mark());
    launch_add(NULL, begin + 4, 1);
    must(cuMemUnmap(other, 2 * PAGE));
    assert_true(braid_record_frame_mark());
    check(open_own_record());
    close_own_record();
    must(cuMemUnmap(begin, 3 * PAGE));
    must(cuMemAddressFree(begin, NUM * PAGE));
    must(cuMemAddressFree(other, NUM * PAGE));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(mappings_go_in_one_call) };
    return cmocka_run_group_tests(tests, open_program, close_program);
}
