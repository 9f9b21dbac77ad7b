// SPDX-License-Identifier: Apache-2.0
// The driver tells of an address the kind of its memory, its device, and the allocation around it.
#include "driver.h"

enum kind { DEVICE, POOLED, MANAGED, PINNED, REGISTERED, NUM_KINDS };

// An allocation of 64 bytes of each kind.
struct kinds {
    CUdeviceptr memory[NUM_KINDS];
    char own[64];
};

static void open_kinds(struct kinds *kinds)
{
    void *pinned;
    must(cuMemAlloc_v2(&kinds->memory[DEVICE], 64));
    must(cuMemAllocAsync(&kinds->memory[POOLED], 64, NULL));
    must(cuMemAllocManaged(&kinds->memory[MANAGED], 64, 1));
    must(cuMemHostAlloc(&pinned, 64, 0));
    kinds->memory[PINNED] = device(pinned);
    must(cuMemHostRegister_v2(kinds->own, 64, 0));
    kinds->memory[REGISTERED] = device(kinds->own);
}

static void close_kinds(struct kinds *kinds)
{
    must(cuMemFree_v2(kinds->memory[DEVICE]));
    must(cuMemFreeAsync(kinds->memory[POOLED], NULL));
    must(cuStreamSynchronize(NULL));
    must(cuMemFree_v2(kinds->memory[MANAGED]));
    must(cuMemFreeHost((void *)(uintptr_t)kinds->memory[PINNED]));
    must(cuMemHostUnregister(kinds->own));
}

static unsigned ask(CUdeviceptr memory, CUpointer_attribute attribute)
{
    unsigned value = 99;
    must(cuPointerGetAttribute(&value, attribute, memory));
    return value;
}

static void addresses_tell_the_kind_of_their_memory(void **state)
{
    (void)state;
    const unsigned types[] = { CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE,
                               CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST };
    struct kinds kinds;
    open_kinds(&kinds);
    for (int i = 0; i < NUM_KINDS; i++) {
        CUdeviceptr inside = kinds.memory[i] + 5;
        assert_int_equal(ask(inside, CU_POINTER_ATTRIBUTE_MEMORY_TYPE), types[i]);
        assert_int_equal(ask(inside, CU_POINTER_ATTRIBUTE_IS_MANAGED), i == MANAGED);
        assert_int_equal(ask(inside, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE), i == DEVICE);
        assert_int_equal(ask(inside, CU_POINTER_ATTRIBUTE_MAPPED), 1);
        assert_int_equal(ask(inside, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL), 0);
    }
    close_kinds(&kinds);
}

static void addresses_tell_the_allocation_around_them(void **state)
{
    (void)state;
    struct kinds kinds;
    cuuint64_t ids[NUM_KINDS];
    open_kinds(&kinds);
    for (int i = 0; i < NUM_KINDS; i++) {
        CUdeviceptr start = 0, told = 0;
        size_t bytes = 0, told_bytes = 0;
        must(cuMemGetAddressRange_v2(&start, &bytes, kinds.memory[i] + 63));
        assert_int_equal(start, kinds.memory[i]);
        assert_int_equal(bytes, 64);
        must(cuPointerGetAttribute(&told, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, start + 1));
        must(cuPointerGetAttribute(&told_bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, start + 1));
        assert_int_equal(told, start);
        assert_int_equal(told_bytes, 64);
        must(cuPointerGetAttribute(&ids[i], CU_POINTER_ATTRIBUTE_BUFFER_ID, start + 1));
        for (int j = 0; j < i; j++)
            assert_true(ids[i] != ids[j]);
        must(cuMemGetAddressRange_v2(NULL, NULL, start));
    }
    close_kinds(&kinds);
}

static void memory_of_another_device_tells_that_device(void **state)
{
    (void)state;
    CUcontext first, second, told = NULL;
    CUdeviceptr memory;
    assert_true(standin_configure("BRAID_STANDIN_DEVICES", "2"));
    must(cuCtxGetCurrent(&first));
    must(cuDevicePrimaryCtxRetain(&second, 1));
    must(cuCtxSetCurrent(second));
    must(cuMemAlloc_v2(&memory, 8));
    must(cuCtxSetCurrent(first));
    assert_int_equal(ask(memory, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL), 1);
    must(cuPointerGetAttribute(&told, CU_POINTER_ATTRIBUTE_CONTEXT, memory));
    assert_ptr_equal(told, second);
    must(cuCtxSetCurrent(second));
    must(cuMemFree_v2(memory));
    must(cuCtxSetCurrent(first));
    must(cuDevicePrimaryCtxRelease_v2(1));
}

static void several_attributes_come_at_once(void **state)
{
    (void)state;
    struct kinds kinds;
    unsigned type = 9, managed = 9;
    int ordinal = 9;
    CUdeviceptr host = 9;
    CUpointer_attribute attributes[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                         CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                         CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                         CU_POINTER_ATTRIBUTE_HOST_POINTER };
    void *values[] = { &type, &managed, &ordinal, &host };
    open_kinds(&kinds);
    must(cuPointerGetAttributes(4, attributes, values, kinds.memory[MANAGED]));
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    assert_int_equal(managed, 1);
    assert_int_equal(ordinal, 0);
    assert_int_equal(host, kinds.memory[MANAGED]);
    must(cuPointerGetAttributes(4, attributes, values, kinds.memory[DEVICE]));
    assert_int_equal(managed, 0);
    assert_int_equal(host, 0);
    must(cuPointerGetAttributes(4, attributes, values, device(&kinds))); // pageable: no error
    assert_int_equal(type, 0);
    assert_int_equal(ordinal, -2);
    assert_int_equal(host, device(&kinds));
    values[1] = NULL;
    must_be(cuPointerGetAttributes(4, attributes, values, kinds.memory[DEVICE]),
            CUDA_ERROR_INVALID_VALUE);
    must_be(cuPointerGetAttributes(0, attributes, values, 0), CUDA_ERROR_INVALID_VALUE);
    close_kinds(&kinds);
}

static void addresses_outside_are_errors(void **state)
{
    (void)state;
    unsigned value = 0;
    CUdeviceptr memory, start = 0;
    must(cuMemAlloc_v2(&memory, 64));
    must_be(cuMemGetAddressRange_v2(&start, NULL, device(&value)), CUDA_ERROR_NOT_FOUND);
    must_be(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device(&value)),
            CUDA_ERROR_INVALID_VALUE);
    must_be(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_HOST_POINTER, memory),
            CUDA_ERROR_INVALID_VALUE);
    must_be(cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory),
            CUDA_ERROR_INVALID_VALUE);
    must_be(cuPointerGetAttribute(&value, (CUpointer_attribute)1000, memory),
            CUDA_ERROR_INVALID_VALUE);
    must(cuMemFree_v2(memory));
    must_be(cuMemGetAddressRange_v2(&start, NULL, memory), CUDA_ERROR_NOT_FOUND);
    must_be(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory),
            CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(addresses_tell_the_kind_of_their_memory, open_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(addresses_tell_the_allocation_around_them, open_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(memory_of_another_device_tells_that_device, open_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(several_attributes_come_at_once, open_driver, close_driver),
        cmocka_unit_test_setup_teardown(addresses_outside_are_errors, open_driver, close_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
