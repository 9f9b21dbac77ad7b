// SPDX-License-Identifier: Apache-2.0
// A host function on a stream runs once, after what came before it.
#include "probe.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

// What a host function saw when it ran.
struct seen {
    unsigned char *memory;
    atomic_int num_calls;
    int value;
};

static void look(void *argument)
{
    struct seen *seen = argument;
    seen->value = seen->memory[0];
    atomic_fetch_add_explicit(&seen->num_calls, 1, memory_order_release);
}

static void look_from_callback(hipStream_t stream, hipError_t status, void *argument)
{
    (void)stream;
    if (status == hipSuccess)
        look(argument);
}

// Fills behind a gate, then calls `submit`; the fill must be seen although the gate opens late.
static void run_behind_a_gate(void (*submit)(hipStream_t stream, struct seen *seen))
{
    struct probe_gate gate = probe_gate_create();
    hipStream_t stream = probe_stream();
    struct seen seen = { .value = -1 };
    void *device = NULL;
    check(hip.hipMalloc(&device, 64));
    check(hip.hipHostMalloc((void **)&seen.memory, 64, hipHostMallocDefault));
    memset(seen.memory, 0, 64);
    probe_gate_close(&gate, stream);
    // Not straight to the host memory: AMD's 5.2.3 would fill that with the host waiting.
    check(hip.hipMemsetD8Async(device, 42, 64, stream));
    check(hip.hipMemcpyAsync(seen.memory, device, 64, hipMemcpyDeviceToHost, stream));
    submit(stream, &seen);
    assert_int_equal(atomic_load_explicit(&seen.num_calls, memory_order_acquire), 0);
    probe_gate_open(&gate);
    check(hip.hipStreamSynchronize(stream));
    // A callback, unlike a host function, may still be on its way.
    while (atomic_load_explicit(&seen.num_calls, memory_order_acquire) == 0)
        sched_yield();
    assert_int_equal(seen.value, 42);
    check(hip.hipStreamDestroy(stream));
    assert_int_equal(atomic_load_explicit(&seen.num_calls, memory_order_acquire), 1);
    check(hip.hipHostFree(seen.memory));
    check(hip.hipFree(device));
    probe_gate_destroy(&gate);
}

static void submit_function(hipStream_t stream, struct seen *seen)
{
    check(hip.hipLaunchHostFunc(stream, look, seen));
}

static void submit_callback(hipStream_t stream, struct seen *seen)
{
    check(hip.hipStreamAddCallback(stream, look_from_callback, seen, 0));
}

static void a_host_function_sees_what_came_before(void **state)
{
    (void)state;
    if (!hip.hipLaunchHostFunc) {
        // ROCm 5.2 declares it and does not export it.
        assert_true(probe_rocm_version < ROCM_5_3);
        print_message("SKIP: hipLaunchHostFunc is not in this library\n");
        skip();
    }
    run_behind_a_gate(submit_function);
}

static void a_callback_sees_what_came_before(void **state)
{
    (void)state;
    run_behind_a_gate(submit_callback);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_function_sees_what_came_before),
        cmocka_unit_test(a_callback_sees_what_came_before),
    };
    return probe_run(tests);
}
