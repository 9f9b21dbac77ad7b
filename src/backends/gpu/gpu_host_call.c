// SPDX-License-Identifier: Apache-2.0
// Host calls that need more than the driver hands to them: where it has only stream callbacks,
// whose functions have another shape, and functions of the program's that are marked while they
// run.
#include <stdlib.h>

#include "backends/gpu/gpu_backend.h"
#include "base/error.h"
#include "base/inside.h"

// What a callback needs to make the call. Records go back to a list when their call has been made,
// so that replaying the same frames allocates nothing.
struct gpu_host_record {
    struct gpu_host_record *next;
    struct gpu_host_record **link; // that points to it, among those that are marked and queued
    struct gpu_backend *gpu;
    gpu_host_function *call;
    void *user;
};

static void put_record(struct gpu_host_record *record)
{
    struct gpu_backend *gpu = record->gpu;
    pthread_mutex_lock(&gpu->record_lock);
    record->next = gpu->free_records;
    gpu->free_records = record;
    // Under the lock: who waits for the last record frees the backend.
    if (--gpu->num_queued_records == 0)
        pthread_cond_broadcast(&gpu->records_ended);
    pthread_mutex_unlock(&gpu->record_lock);
}

// With the lock held. NULL: no memory.
static struct gpu_host_record *take_record(struct gpu_backend *gpu)
{
    struct gpu_host_record *record = gpu->free_records;
    if (!record)
        return calloc(1, sizeof(*record));
    gpu->free_records = record->next;
    return record;
}

static struct gpu_host_record *get_record(struct gpu_backend *gpu)
{
    pthread_mutex_lock(&gpu->record_lock);
    struct gpu_host_record *record = take_record(gpu);
    gpu->num_queued_records += record != NULL;
    pthread_mutex_unlock(&gpu->record_lock);
    return record;
}

// A stream that failed still calls back; the work before the call did not happen, so neither does
// the call.
static void call_back(gpu_stream stream, gpu_result status, void *user)
{
    struct gpu_host_record *record = user;
    (void)stream;
    if (status == GPU_SUCCESS)
        record->call(record->user);
    put_record(record);
}

gpu_result braid_gpu_host_call_by_callback(struct gpu_backend *gpu, gpu_stream stream,
                                           gpu_host_function *call, void *user)
{
    struct gpu_host_record *record = get_record(gpu);
    if (!record)
        return GPU_OUT_OF_MEMORY;
    record->gpu = gpu;
    record->call = call;
    record->user = user;
    gpu_result result = gpu->api->stream_callback(stream, call_back, record, 0);
    if (result)
        put_record(record);
    return result;
}

static struct gpu_host_record *get_marked(struct gpu_backend *gpu)
{
    pthread_mutex_lock(&gpu->record_lock);
    struct gpu_host_record *record = take_record(gpu);
    if (record) {
        record->next = gpu->marked_records;
        record->link = &gpu->marked_records;
        if (record->next)
            record->next->link = &record->next;
        gpu->marked_records = record;
    }
    pthread_mutex_unlock(&gpu->record_lock);
    return record;
}

static void put_marked(struct gpu_host_record *record)
{
    struct gpu_backend *gpu = record->gpu;
    pthread_mutex_lock(&gpu->record_lock);
    *record->link = record->next;
    if (record->next)
        record->next->link = record->link;
    record->next = gpu->free_records;
    gpu->free_records = record;
    pthread_mutex_unlock(&gpu->record_lock);
}

static void call_marked(void *user)
{
    struct gpu_host_record *record = user;
    struct inside inside;
    braid_inside_begin(&inside, "a host call", NULL);
    record->call(record->user);
    braid_inside_end(&inside);
    put_marked(record);
}

braid_status braid_gpu_submit_marked(struct gpu_backend *gpu, gpu_stream stream,
                                     const struct backend_task *task)
{
    struct gpu_host_record *record = get_marked(gpu);
    if (!record)
        return braid_error_no_memory("a host call");
    record->gpu = gpu;
    record->call = task->host.call;
    record->user = task->host.user;
    const void *slot = NULL;
    gpu_result result = gpu->vendor->host_call(gpu, stream, call_marked, record, &slot);
    if (result)
        put_marked(record);
    return braid_gpu_check_task(gpu, result, slot, task, NULL);
}

static void free_records(struct gpu_host_record *record)
{
    while (record) {
        struct gpu_host_record *next = record->next;
        free(record);
        record = next;
    }
}

// All streams are idle. A function that is queued still never runs: work before it failed.
void braid_gpu_host_records_finish(struct gpu_backend *gpu)
{
    pthread_mutex_lock(&gpu->record_lock);
    while (gpu->num_queued_records)
        pthread_cond_wait(&gpu->records_ended, &gpu->record_lock);
    pthread_mutex_unlock(&gpu->record_lock);
    free_records(gpu->marked_records);
    free_records(gpu->free_records);
    gpu->marked_records = gpu->free_records = NULL;
}
