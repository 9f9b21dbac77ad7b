// SPDX-License-Identifier: Apache-2.0
// Threads record at once: each has its own operations, in its own order, and all results are right.
#include "record/program.h"

#include <pthread.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 200 };

struct worker {
    pthread_t thread;
    uint32_t number;
    CUdeviceptr memory;
    CUstream stream;
    uint32_t sum;
    bool failed;
};

static void try(struct worker *worker, CUresult result)
{
    worker->failed = worker->failed || result != CUDA_SUCCESS;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    CUevent event;
    CUdeviceptr other;
    uint32_t number = worker->number;
    void *arguments[] = { &worker->memory, &number };
    try(worker, cuCtxSetCurrent(program.context));
    try(worker, cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    try(worker, cuMemsetD32Async(worker->memory, 0, 1, worker->stream));
    for (uint32_t i = 0; i < ROUNDS; i++) {
        number = i;
        try(worker,
            cuLaunchKernel(program.add, 1, 1, 1, 1, 1, 1, 0, worker->stream, arguments, NULL));
        try(worker, cuEventRecord(event, worker->stream));
        try(worker, cuMemAlloc_v2(&other, 64 + i));
        try(worker, cuMemFree_v2(other));
    }
    try(worker, cuEventSynchronize(event));
    try(worker, cuMemcpyDtoH_v2(&worker->sum, worker->memory, 4));
    try(worker, cuEventDestroy_v2(event));
    return NULL;
}

// The launches of a stream carry 0, 1, 2 .. as their number, and are one behind the other.
static void check_stream(const braid_record_contents *contents, uint32_t stream, CUdeviceptr memory)
{
    uint32_t next = 0, last = BRAID_RECORD_NONE, thread = BRAID_RECORD_NONE;
    for (uint32_t i = 0; i < contents->num_operations; i++) {
        const braid_record_operation *row = &contents->operations[i];
        if (row->stream != stream)
            continue;
        if (last != BRAID_RECORD_NONE) {
            const uint32_t *befores = contents->befores + row->first_before;
            bool is_behind = false;
            for (uint32_t k = 0; k < row->num_befores; k++)
                is_behind = is_behind || befores[k] >= last;
            assert_true(is_behind);
            assert_int_equal(row->thread, thread);
        }
        last = i;
        thread = row->thread;
        if (row->work.kind != BRAID_RECORD_KERNEL)
            continue;
        assert_memory_equal(row->work.parameters, &memory, 8);
        assert_memory_equal((const char *)row->work.parameters + 8, &next, 4);
        next++;
    }
    assert_int_equal(next, ROUNDS);
}

static void each_thread_has_its_operations(void **state)
{
    struct worker workers[THREADS];
    uint32_t allocations = 0;
    (void)state;
    memset(workers, 0, sizeof(workers));
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i].number = i;
        must(cuMemAlloc_v2(&workers[i].memory, 4));
        must(cuStreamCreate(&workers[i].stream, CU_STREAM_NON_BLOCKING));
    }
    assert_true(braid_record_frame_mark());
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    assert_true(braid_record_frame_mark());
    for (uint32_t i = 0; i < THREADS; i++) {
        assert_false(workers[i].failed);
        assert_int_equal(workers[i].sum, ROUNDS * (ROUNDS - 1) / 2);
        must(cuStreamDestroy_v2(workers[i].stream));
    }
    const braid_record_contents *contents = open_own_record();
    for (uint32_t i = 0; i < contents->num_streams; i++)
        for (uint32_t k = 0; k < THREADS; k++)
            if (contents->streams[i].handle == (uint64_t)(uintptr_t)workers[k].stream)
                check_stream(contents, i, workers[k].memory);
    // Each short-lived memory was born and freed in the frame.
    for (uint32_t i = 0; i < contents->num_allocations; i++) {
        const braid_record_allocation *row = &contents->allocations[i];
        if (row->bytes < 64 || row->born == BRAID_RECORD_NONE)
            continue;
        assert_true(row->freed_at > row->born && row->freed_at < contents->num_operations);
        allocations++;
    }
    assert_int_equal(allocations, THREADS * ROUNDS);
    assert_int_equal(contents->num_streams, THREADS + 1); // and the null stream of copies
    close_own_record();
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_thread_has_its_operations) };
    return cmocka_run_group_tests(tests, open_program, close_program);
}
