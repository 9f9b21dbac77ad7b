// SPDX-License-Identifier: Apache-2.0
// Host calls where the driver has only stream callbacks, whose functions have another shape.
#include <stdlib.h>

#include "backends/gpu/gpu_backend.h"

// What a callback needs to make the call. Records go back to a list when their call has been made,
// so that replaying the same frames allocates nothing.
struct gpu_host_record {
    struct gpu_host_record *next;
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

static struct gpu_host_record *get_record(struct gpu_backend *gpu)
{
    pthread_mutex_lock(&gpu->record_lock);
    struct gpu_host_record *record = gpu->free_records;
    if (record)
        gpu->free_records = record->next;
    else
        record = calloc(1, sizeof(*record));
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

void braid_gpu_host_records_finish(struct gpu_backend *gpu)
{
    pthread_mutex_lock(&gpu->record_lock);
    while (gpu->num_queued_records)
        pthread_cond_wait(&gpu->records_ended, &gpu->record_lock);
    pthread_mutex_unlock(&gpu->record_lock);
    while (gpu->free_records) {
        struct gpu_host_record *record = gpu->free_records;
        gpu->free_records = record->next;
        free(record);
    }
}
