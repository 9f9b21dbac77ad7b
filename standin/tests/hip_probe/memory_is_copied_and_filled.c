// SPDX-License-Identifier: Apache-2.0
// Copies in every direction, of any size and in rows, and fills of each width.
#include "probe.h"

#include <stdlib.h>
#include <string.h>

enum { NUM_BYTES = 100003, WIDTH = 13, HEIGHT = 7, PITCH = 32 };

static unsigned char pattern(size_t index)
{
    return (unsigned char)(index * 7 + index / 251);
}

// Sends `host` to the device, there to another place, and back.
static void copy_round_trip(unsigned char *host, unsigned char *back)
{
    hipStream_t stream = probe_stream();
    void *device[2];
    for (int i = 0; i < 2; i++)
        check(hip.hipMalloc(&device[i], NUM_BYTES));
    for (size_t i = 0; i < NUM_BYTES; i++)
        host[i] = pattern(i);
    memset(back, 0, NUM_BYTES);
    check(hip.hipMemcpyAsync(device[0], host, NUM_BYTES, hipMemcpyHostToDevice, stream));
    check(hip.hipMemcpyAsync(device[1], device[0], NUM_BYTES, hipMemcpyDeviceToDevice, stream));
    check(hip.hipMemcpyAsync(back, device[1], NUM_BYTES, hipMemcpyDeviceToHost, stream));
    check(hip.hipStreamSynchronize(stream));
    assert_memory_equal(host, back, NUM_BYTES);
    for (int i = 0; i < 2; i++)
        check(hip.hipFree(device[i]));
    check(hip.hipStreamDestroy(stream));
}

static void pinned_memory_survives_a_round_trip(void **state)
{
    (void)state;
    unsigned char *host[2];
    for (int i = 0; i < 2; i++)
        check(hip.hipHostMalloc((void **)&host[i], NUM_BYTES, hipHostMallocDefault));
    copy_round_trip(host[0], host[1]);
    for (int i = 0; i < 2; i++)
        check(hip.hipHostFree(host[i]));
}

static void pageable_memory_survives_a_round_trip(void **state)
{
    (void)state;
    unsigned char *host[2];
    for (int i = 0; i < 2; i++) {
        host[i] = malloc(NUM_BYTES);
        assert_non_null(host[i]);
    }
    copy_round_trip(host[0], host[1]);
    for (int i = 0; i < 2; i++)
        free(host[i]);
}

static void rows_are_copied_without_what_lies_between(void **state)
{
    (void)state;
    hipStream_t stream = probe_stream();
    unsigned char *host = NULL;
    void *device = NULL;
    check(hip.hipHostMalloc((void **)&host, (size_t)PITCH * HEIGHT, hipHostMallocDefault));
    check(hip.hipMalloc(&device, (size_t)PITCH * HEIGHT));
    unsigned char rows[HEIGHT][WIDTH];
    for (size_t i = 0; i < sizeof(rows); i++)
        rows[i / WIDTH][i % WIDTH] = pattern(i);
    memset(host, 0xee, (size_t)PITCH * HEIGHT);
    check(hip.hipMemcpy2DAsync(device, PITCH, rows, WIDTH, WIDTH, HEIGHT, hipMemcpyHostToDevice,
                               stream));
    check(hip.hipMemcpy2DAsync(host, PITCH, device, PITCH, WIDTH, HEIGHT, hipMemcpyDeviceToHost,
                               stream));
    check(hip.hipStreamSynchronize(stream));
    for (size_t y = 0; y < HEIGHT; y++) {
        assert_memory_equal(host + y * PITCH, rows[y], WIDTH);
        for (size_t x = WIDTH; x < PITCH; x++)
            assert_int_equal(host[y * PITCH + x], 0xee);
    }
    check(hip.hipFree(device));
    check(hip.hipHostFree(host));
    check(hip.hipStreamDestroy(stream));
}

static void fills_write_each_width_and_no_more(void **state)
{
    (void)state;
    enum { COUNT = 33 };
    hipStream_t stream = probe_stream();
    char *device = NULL;
    unsigned char bytes[COUNT + 1];
    uint16_t shorts[COUNT + 1];
    uint32_t ints[COUNT + 1];
    check(hip.hipMalloc((void **)&device, 4096));
    check(hip.hipMemsetD8Async(device, 0, 4096, stream));
    check(hip.hipMemsetD8Async(device, 0x5a, COUNT, stream));
    check(hip.hipMemsetD16Async(device + 1024, 0x1234, COUNT, stream));
    check(hip.hipMemsetD32Async(device + 2048, (int)0xabcd1234u, COUNT, stream));
    check(hip.hipMemcpyAsync(bytes, device, sizeof(bytes), hipMemcpyDeviceToHost, stream));
    check(hip.hipMemcpyAsync(shorts, device + 1024, sizeof(shorts), hipMemcpyDeviceToHost, stream));
    check(hip.hipMemcpyAsync(ints, device + 2048, sizeof(ints), hipMemcpyDeviceToHost, stream));
    check(hip.hipStreamSynchronize(stream));
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(bytes[i], 0x5a);
        assert_int_equal(shorts[i], 0x1234);
        assert_int_equal(ints[i], 0xabcd1234u);
    }
    assert_int_equal(bytes[COUNT], 0);
    assert_int_equal(shorts[COUNT], 0);
    assert_int_equal(ints[COUNT], 0);
    check(hip.hipFree(device));
    check(hip.hipStreamDestroy(stream));
}

static void too_much_memory_is_refused(void **state)
{
    (void)state;
    void *device = NULL;
    assert_int_equal(hip.hipMalloc(&device, (size_t)1 << 60), hipErrorOutOfMemory);
    check(hip.hipMalloc(&device, 4096));
    check(hip.hipFree(device));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pinned_memory_survives_a_round_trip),
        cmocka_unit_test(pageable_memory_survives_a_round_trip),
        cmocka_unit_test(rows_are_copied_without_what_lies_between),
        cmocka_unit_test(fills_write_each_width_and_no_more),
        cmocka_unit_test(too_much_memory_is_refused),
    };
    return probe_run(tests);
}
