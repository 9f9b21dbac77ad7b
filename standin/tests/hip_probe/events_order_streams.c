// SPDX-License-Identifier: Apache-2.0
// The laws of streams and events on which plans rely: what waits, what does not, what overlaps.
#include "probe.h"

#include <sched.h>
#include <string.h>

enum { NUM_BYTES = 4096 };

// Two kernels that each end only when the other has begun.
static const char meet_source[] =
    "extern \"C\" __global__ void meet(volatile unsigned *mine, volatile unsigned *other)\n"
    "{\n"
    "    *mine = 1;\n"
    "    __threadfence_system();\n"
    "    while (*other == 0) {\n"
    "    }\n"
    "}\n";

void braid_standin_meet(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                        void **arguments);
void braid_standin_meet(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                        void **arguments)
{
    (void)grid;
    (void)block;
    (void)shared_bytes;
    unsigned *mine = probe_pointer_argument(arguments, 0);
    unsigned *other = probe_pointer_argument(arguments, 1);
    __atomic_store_n(mine, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(other, __ATOMIC_ACQUIRE) == 0)
        sched_yield();
}

static void kernels_on_two_streams_overlap(void **state)
{
    (void)state;
    hipStream_t streams[2] = { probe_stream(), probe_stream() };
    hipModule_t module = probe_compile(meet_source);
    hipFunction_t meet = probe_function(module, "meet");
    unsigned *flags = NULL;
    check(hip.hipHostMalloc((void **)&flags, 2 * sizeof(*flags), hipHostMallocDefault));
    memset(flags, 0, 2 * sizeof(*flags));
    unsigned *first = &flags[0];
    unsigned *second = &flags[1];
    void *arguments[2][2] = { { &first, &second }, { &second, &first } };
    for (int i = 0; i < 2; i++)
        probe_launch(meet, streams[i], arguments[i]);
    for (int i = 0; i < 2; i++) {
        check(hip.hipStreamSynchronize(streams[i]));
        check(hip.hipStreamDestroy(streams[i]));
    }
    check(hip.hipHostFree(flags));
    check(hip.hipModuleUnload(module));
}

static void a_wait_for_an_event_never_recorded_is_satisfied_at_once(void **state)
{
    (void)state;
    hipStream_t stream = probe_stream();
    hipEvent_t event = probe_event();
    check(hip.hipStreamWaitEvent(stream, event, 0));
    check(hip.hipEventQuery(event));
    check(hip.hipStreamSynchronize(stream));
    check(hip.hipEventDestroy(event));
    check(hip.hipStreamDestroy(stream));
}

static void a_wait_holds_a_stream_until_the_event_is_done(void **state)
{
    (void)state;
    struct probe_gate gate = probe_gate_create();
    hipStream_t first = probe_stream();
    hipStream_t second = probe_stream();
    hipEvent_t event = probe_event();
    unsigned char *host = NULL;
    void *device = NULL;
    check(hip.hipHostMalloc((void **)&host, NUM_BYTES, hipHostMallocDefault));
    check(hip.hipMalloc(&device, NUM_BYTES));
    memset(host, 0, NUM_BYTES);
    probe_gate_close(&gate, first);
    check(hip.hipMemsetD8Async(device, 7, NUM_BYTES, first));
    check(hip.hipEventRecord(event, first));
    check(hip.hipStreamWaitEvent(second, event, 0));
    check(hip.hipMemcpyAsync(host, device, NUM_BYTES, hipMemcpyDeviceToHost, second));
    assert_int_equal(hip.hipEventQuery(event), hipErrorNotReady);
    assert_int_equal(hip.hipStreamQuery(first), hipErrorNotReady);
    assert_int_equal(hip.hipStreamQuery(second), hipErrorNotReady);
    probe_gate_open(&gate);
    check(hip.hipStreamSynchronize(second));
    assert_int_equal(host[0], 7);
    assert_int_equal(host[NUM_BYTES - 1], 7);
    check(hip.hipEventSynchronize(event));
    check(hip.hipEventQuery(event));
    check(hip.hipFree(device));
    check(hip.hipHostFree(host));
    check(hip.hipEventDestroy(event));
    check(hip.hipStreamDestroy(first));
    check(hip.hipStreamDestroy(second));
    probe_gate_destroy(&gate);
}

static void a_wait_keeps_to_the_record_it_saw(void **state)
{
    (void)state;
    struct probe_gate gate = probe_gate_create();
    hipStream_t first = probe_stream();
    hipStream_t second = probe_stream();
    hipStream_t idle = probe_stream();
    hipEvent_t event = probe_event();
    probe_gate_close(&gate, first);
    check(hip.hipEventRecord(event, first));
    check(hip.hipStreamWaitEvent(second, event, 0));
    // The same event again, on a stream that has nothing to do: done at once, for new waits only.
    check(hip.hipEventRecord(event, idle));
    check(hip.hipStreamSynchronize(idle));
    assert_int_equal(hip.hipStreamQuery(second), hipErrorNotReady);
    probe_gate_open(&gate);
    check(hip.hipStreamSynchronize(second));
    check(hip.hipStreamSynchronize(first));
    check(hip.hipEventDestroy(event));
    check(hip.hipStreamDestroy(first));
    check(hip.hipStreamDestroy(second));
    check(hip.hipStreamDestroy(idle));
    probe_gate_destroy(&gate);
}

static void a_non_blocking_stream_does_not_hold_the_null_stream(void **state)
{
    (void)state;
    struct probe_gate gate = probe_gate_create();
    hipStream_t stream = probe_stream();
    void *device = NULL;
    check(hip.hipMalloc(&device, NUM_BYTES));
    probe_gate_close(&gate, stream);
    check(hip.hipMemsetD8Async(device, 1, NUM_BYTES, NULL));
    check(hip.hipStreamSynchronize(NULL));
    assert_int_equal(hip.hipStreamQuery(stream), hipErrorNotReady);
    probe_gate_open(&gate);
    check(hip.hipStreamSynchronize(stream));
    check(hip.hipFree(device));
    check(hip.hipStreamDestroy(stream));
    probe_gate_destroy(&gate);
}

static void timing_events_measure_forwards(void **state)
{
    (void)state;
    hipStream_t stream = probe_stream();
    hipEvent_t events[2];
    float milliseconds = -1;
    void *device = NULL;
    check(hip.hipMalloc(&device, NUM_BYTES));
    for (int i = 0; i < 2; i++)
        check(hip.hipEventCreateWithFlags(&events[i], hipEventDefault));
    check(hip.hipEventRecord(events[0], stream));
    check(hip.hipMemsetD8Async(device, 3, NUM_BYTES, stream));
    check(hip.hipEventRecord(events[1], stream));
    check(hip.hipEventSynchronize(events[1]));
    check(hip.hipEventElapsedTime(&milliseconds, events[0], events[1]));
    assert_true(milliseconds >= 0);
    for (int i = 0; i < 2; i++)
        check(hip.hipEventDestroy(events[i]));
    check(hip.hipFree(device));
    check(hip.hipStreamDestroy(stream));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_on_two_streams_overlap),
        cmocka_unit_test(a_wait_for_an_event_never_recorded_is_satisfied_at_once),
        cmocka_unit_test(a_wait_holds_a_stream_until_the_event_is_done),
        cmocka_unit_test(a_wait_keeps_to_the_record_it_saw),
        cmocka_unit_test(a_non_blocking_stream_does_not_hold_the_null_stream),
        cmocka_unit_test(timing_events_measure_forwards),
    };
    return probe_run(tests);
}
