// SPDX-License-Identifier: Apache-2.0
// On a real device with Vulkan: a captured graph that waits for a timeline of Vulkan and signals it
// is imported, and each frame has the values of a capture of its own.
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "cuda_abi.h"
#include "gpu/vulkan_device.h"
#include "support/check.h"
#include "support/owner.h"

enum { NUM_FRAMES = 3, NUM_YIELDS = 100000 };

static struct vulkan vulkan;
static braid_device *device;
static CUstream stream;
static CUexternalSemaphore semaphore;
static VkSemaphore timeline;
static CUdeviceptr word;
static void *memory; // a frame copies the word to here, where the host reads it

static void must(CUresult result)
{
    assert_int_equal(result, CUDA_SUCCESS);
}

static _Atomic uint32_t *heard(void)
{
    return memory;
}

static void make_semaphore(void)
{
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc = {
        .type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD
    };
    timeline = vulkan_make_semaphore(&vulkan, true, &desc.handle.fd);
    must(cuImportExternalSemaphore(&semaphore, &desc));
}

static void destroy_semaphore(void)
{
    must(cuDestroyExternalSemaphore(semaphore));
    vulkan_destroy_semaphore(&vulkan, timeline);
}

// Frame i, from 1, waits for 2 * i - 1 and signals 2 * i.
static CUgraph capture(uint32_t i)
{
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait = { .params.fence.value = 2 * i - 1 };
    const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = { .params.fence.value = 2 * i };
    CUgraph graph;
    must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    must(cuWaitExternalSemaphoresAsync(&semaphore, &wait, 1, stream));
    must(cuMemsetD32Async(word, 4711 + i, 1, stream));
    must(cuMemcpyDtoHAsync_v2(memory, word, sizeof(uint32_t), stream));
    must(cuSignalExternalSemaphoresAsync(&semaphore, &signal, 1, stream));
    must(cuStreamEndCapture(stream, &graph));
    return graph;
}

static void update(const braid_import *import, braid_exec *exec, uint32_t i)
{
    CUgraph graph = capture(i);
    check_ok(braid_import_update(import, graph, NULL, exec));
    must(cuGraphDestroy(graph));
}

static void check_waits(braid_exec *exec, uint32_t i)
{
    for (int yields = 0; yields < NUM_YIELDS; yields++)
        sched_yield();
    assert_int_equal(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 0), BRAID_NOT_READY);
    assert_int_equal(vulkan_value(&vulkan, timeline), 2 * (i - 1));
    assert_int_equal(atomic_load(heard()), i == 1 ? 0 : 4711 + i - 1);
}

static void run(braid_exec_mode mode)
{
    braid_import *import;
    make_semaphore();
    atomic_store(heard(), 0);
    CUgraph graph = capture(1);
    check_ok(braid_import_create(device, graph, NULL, &import));
    must(cuGraphDestroy(graph));
    braid_exec *exec =
        own_exec(device, braid_import_get_graph(import), &(braid_exec_options){ .mode = mode });
    for (uint32_t i = 1; i <= NUM_FRAMES; i++) {
        if (i > 1)
            update(import, exec, i);
        check_ok(braid_exec_launch(exec, NULL));
        check_waits(exec, i);
        vulkan_signal(&vulkan, timeline, 2 * i - 1);
        vulkan_wait(&vulkan, timeline, 2 * i);
        assert_int_equal(atomic_load(heard()), 4711 + i);
        check_ok(braid_exec_wait(exec));
    }
    destroy_now(exec);
    braid_import_destroy(import);
    destroy_semaphore();
}

static void captures_count_frames_on_streams(void **state)
{
    (void)state;
    run(BRAID_MODE_STREAMS);
}

static void captures_count_frames_in_a_driver_graph(void **state)
{
    (void)state;
    run(BRAID_MODE_GRAPH);
}

static int open_memory(void **state)
{
    (void)state;
    CUcontext context;
    must(cuDevicePrimaryCtxRetain(&context, 0));
    must(cuCtxSetCurrent(context));
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    must(cuMemAlloc_v2(&word, sizeof(uint32_t)));
    must(cuMemHostAlloc(&memory, sizeof(uint32_t), 0));
    return 0;
}

static int close_memory(void **state)
{
    (void)state;
    must(cuMemFreeHost(memory));
    must(cuMemFree_v2(word));
    must(cuStreamDestroy_v2(stream));
    must(cuDevicePrimaryCtxRelease_v2(0));
    return 0;
}

int main(void)
{
    char reason[256];
    const struct CMUnitTest tests[] = {
        owning_test(captures_count_frames_on_streams),
        owning_test(captures_count_frames_in_a_driver_graph),
    };
    setvbuf(stdout, NULL, _IOLBF, 0); // a frame that never ends is killed
    if (braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device))
        skip_program(braid_error_get_message());
    if (!vulkan_open(&vulkan, reason))
        skip_program(reason);
    const int failed = cmocka_run_group_tests(tests, open_memory, close_memory);
    vulkan_close(&vulkan);
    return braid_device_close(device) || failed;
}
