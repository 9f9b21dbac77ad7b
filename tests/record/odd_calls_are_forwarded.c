// SPDX-License-Identifier: Apache-2.0
// Calls that the driver refuses, and captures and forks at odd times, are as they are without a
// recorder, and leave no trace in the record.
#include "record/program.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 4096, FORKS = 50, PATIENCE_SECONDS = 5 };

static CUstream stream, other;
static CUdeviceptr memory, allocated;
static void *unreadable;
static atomic_bool is_over;

// Nobody may look at the source of a copy that the driver does not take.
static void copy_from_nowhere(void)
{
    const CUDA_MEMCPY2D rows = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                                 .srcHost = unreadable,
                                 .srcPitch = BYTES,
                                 .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .dstDevice = 8,
                                 .dstPitch = 64,
                                 .WidthInBytes = 64,
                                 .Height = 2 };
    assert_int_not_equal(cuMemcpyHtoD_v2(8, NULL, 64), CUDA_SUCCESS);
    assert_int_not_equal(cuMemcpyHtoDAsync_v2(8, unreadable, 64, stream), CUDA_SUCCESS);
    assert_int_not_equal(cuMemcpyHtoDAsync_v2(8, (char *)unreadable - 64, 128, stream),
                         CUDA_SUCCESS);
    assert_int_not_equal(cuMemcpy2DAsync_v2(&rows, (CUstream)(uintptr_t)0xdead), CUDA_SUCCESS);
}

static void capture_allocation(void)
{
    CUgraph graph;
    must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    must(cuMemAllocAsync(&allocated, 256, stream));
    must(cuStreamEndCapture(stream, &graph));
    must(cuGraphDestroy(graph));
}

// Another stream has no capture to end. The one of `stream` goes on.
static void capture_beside_a_failure(void)
{
    CUgraph graph;
    must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    assert_int_not_equal(cuStreamEndCapture(other, &graph), CUDA_SUCCESS);
    launch_add(stream, memory, 77);
    must(cuStreamEndCapture(stream, &graph));
    must(cuGraphDestroy(graph));
}

static void *launch_for_long(void *unused)
{
    (void)unused;
    must(cuCtxSetCurrent(program.context));
    while (!atomic_load(&is_over))
        launch_nothing(other);
    return NULL;
}

// The child takes the lock of the recorder, which the thread may hold when the process forks.
static void fork_beside_launches(void)
{
    pthread_t thread;
    int num_done = 0;
    assert_int_equal(pthread_create(&thread, NULL, launch_for_long, NULL), 0);
    for (int i = 0; i < FORKS; i++) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0) {
            alarm(PATIENCE_SECONDS);
            braid_record_frame_mark();
            braid_record_frame_mark(); // would end the record
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        num_done += WIFEXITED(status);
    }
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    assert_int_equal(num_done, FORKS);
    assert_int_not_equal(access(getenv("BRAID_RECORD_FILE"), F_OK), 0);
}

static void check(const braid_record_contents *contents)
{
    assert_int_equal(contents->num_frames, 1);
    for (uint32_t i = 0; i < contents->num_operations; i++) {
        const braid_record_work *work = &contents->operations[i].work;
        if (work->kind == BRAID_RECORD_KERNEL)
            assert_string_equal(contents->kernels[work->kernel].name, "nothing");
        assert_int_not_equal(work->kind, BRAID_RECORD_COPY);
    }
    for (uint32_t i = 0; i < contents->num_allocations; i++)
        assert_int_not_equal(contents->allocations[i].address, allocated);
}

static void odd_calls_are_forwarded(void **state)
{
    (void)state;
    must(cuMemAlloc_v2(&memory, BYTES));
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    must(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    char *pages = mmap(NULL, 2 * BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    unreadable = pages + BYTES;
    assert_int_equal(mprotect(unreadable, BYTES, PROT_NONE), 0);
    capture_allocation();
    assert_true(braid_record_frame_mark());
    copy_from_nowhere();
    capture_beside_a_failure();
    launch_nothing(stream);
    fork_beside_launches();
    assert_true(braid_record_frame_mark());
    check(open_own_record());
    close_own_record();
    munmap(pages, 2 * BYTES);
    must(cuStreamDestroy_v2(stream));
    must(cuStreamDestroy_v2(other));
    must(cuMemFree_v2(memory));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(odd_calls_are_forwarded) };
    return cmocka_run_group_tests(tests, open_program, close_program);
}
