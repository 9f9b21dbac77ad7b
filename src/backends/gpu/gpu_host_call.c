// SPDX-License-Identifier: Apache-2.0
// Host calls with a record, for two reasons.
// A driver may have only stream callbacks, whose functions have another shape. And functions of the
// program are marked while they run.

#include "backends/gpu/gpu_backend.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/inside.h"

// The data to make the call with. Records go back to a list when the call has been made. So
// replaying the same frames allocates nothing.
struct gpu_host_record {
    struct gpu_host_record *next;
    struct gpu_host_record **link; // that points to it, among those that are queued
    struct gpu_backend *gpu;
    gpu_host_function *call;
    void *user;
    bool is_callback; // it runs, or the driver makes it in any case
};

static void insert(struct gpu_host_record **list, struct gpu_host_record *record)
{
    record->link = list;
    record->next = *list;
    if (record->next)
        record->next->link = &record->next;
    *list = record;
}

static void unlink_record(struct gpu_host_record *record)
{
    *record->link = record->next;
    if (record->next)
        record->next->link = record->link;
}

static void put_record(struct gpu_host_record *record)
{
    struct gpu_backend *gpu = record->gpu;
    pthread_mutex_lock(&gpu->record_lock);
    unlink_record(record);
    insert(&gpu->free_records, record);
    // Under the lock: who waits for the last record frees the backend.
    if (record->is_callback && --gpu->num_callbacks == 0)
        pthread_cond_broadcast(&gpu->callbacks_ended);
    pthread_mutex_unlock(&gpu->record_lock);
}

// NULL: no memory.
static struct gpu_host_record *get_record(struct gpu_backend *gpu, gpu_host_function *call,
                                          void *user, bool is_callback)
{
    pthread_mutex_lock(&gpu->record_lock);
    struct gpu_host_record *record = gpu->free_records;
    if (record)
        unlink_record(record);
    else
        record = braid_allocate(sizeof(*record));
    if (record) {
        *record = (struct gpu_host_record){
            .gpu = gpu, .call = call, .user = user, .is_callback = is_callback
        };
        insert(&gpu->queued_records, record);
        gpu->num_callbacks += is_callback;
    }
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
    struct gpu_host_record *record = get_record(gpu, call, user, true);
    if (!record)
        return GPU_OUT_OF_MEMORY;
    gpu_result result = gpu->api->stream_callback(stream, call_back, record, 0);
    if (result)
        put_record(record);
    return result;
}

static void note_running(struct gpu_host_record *record)
{
    pthread_mutex_lock(&record->gpu->record_lock);
    record->is_callback = true;
    record->gpu->num_callbacks++;
    pthread_mutex_unlock(&record->gpu->record_lock);
}

static void call_marked(void *user)
{
    struct gpu_host_record *record = user;
    struct inside inside;
    note_running(record);
    braid_inside_begin(&inside, "a host call", NULL);
    record->call(record->user);
    braid_inside_end(&inside);
    put_record(record);
}

braid_status braid_gpu_submit_marked(struct gpu_backend *gpu, gpu_stream stream,
                                     const struct backend_task *task)
{
    struct gpu_host_record *record = get_record(gpu, task->host.call, task->host.user, false);
    if (!record)
        return braid_error_no_memory("a host call");
    const void *slot = NULL;
    gpu_result result = gpu->vendor->host_call(gpu, stream, call_marked, record, &slot);
    if (result)
        put_record(record);
    return braid_gpu_check_task(gpu, result, slot, task, NULL);
}

static void free_records(struct gpu_host_record *record)
{
    while (record) {
        struct gpu_host_record *next = record->next;
        braid_free(record);
        record = next;
    }
}

// All streams are idle, or the device has failed. A function that is queued still never runs: work
// before it failed.
void braid_gpu_host_records_finish(struct gpu_backend *gpu)
{
    pthread_mutex_lock(&gpu->record_lock);
    while (gpu->num_callbacks)
        pthread_cond_wait(&gpu->callbacks_ended, &gpu->record_lock);
    pthread_mutex_unlock(&gpu->record_lock);
    free_records(gpu->queued_records);
    free_records(gpu->free_records);
    gpu->queued_records = gpu->free_records = NULL;
}
